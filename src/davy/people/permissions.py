"""Who may do what: one line a permission.

A page or an API route names the permission it needs (`may("invite people")`);
nothing else in the web door looks at a role.
"""

from __future__ import annotations

MAY: dict[str, tuple[str, ...]] = {
    "see projects": ("admin", "expert", "annotator"),
    "make projects": ("admin", "expert"),
    "score texts": ("admin", "expert", "annotator"),
    "score files": ("admin", "expert"),
    "browse posts": ("admin", "expert", "annotator"),
    "browse the shelf": ("admin", "expert"),
    "change own account": ("admin", "expert", "annotator"),
    "make own keys": ("admin", "expert"),
    # Their own, and those of projects that they manage; admins all.
    "see jobs": ("admin", "expert", "annotator"),
    "cancel jobs": ("admin", "expert", "annotator"),
    "see people": ("admin",),
    "invite people": ("admin",),
    "disable people": ("admin",),
    "revoke any key": ("admin",),
    "manage detectors": ("admin",),
    "manage communities": ("admin",),
    "see the audit": ("admin",),
    "set retention": ("admin",),
    "see metrics": ("admin", "expert"),
}


def may(role: str, act: str) -> bool:
    """Return whether a role has a permission; an unknown permission is a bug and raises KeyError."""
    return role in MAY[act]
