"""What an hour is paid: a project and somebody's roles in, a rate out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from davy.annotation.project.project import Project


def pay_of(project: Project) -> dict[str, Any] | None:
    """Return what an hour is paid, where the project says it."""
    pay = project.settings.get("pay") or {}
    per_hour = pay.get("per_hour")
    if not isinstance(per_hour, int | float) or per_hour <= 0:
        return None
    return {"currency": str(pay.get("currency") or ""), "per_hour": float(per_hour)}


def rate_of(project: Project, roles: Sequence[str]) -> float:
    """Return what an hour of somebody with these roles is paid: experts may have a rate of their own."""
    pay = project.settings.get("pay") or {}
    own = pay.get("expert_per_hour") if "expert" in roles else None
    return float(own or pay.get("per_hour") or 0.0)
