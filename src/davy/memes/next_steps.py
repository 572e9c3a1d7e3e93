"""What a project of memes needs before its phases open: pictures in the image library."""

from __future__ import annotations

from collections.abc import Sequence

from davy.annotation.project.next_steps import DONE, NOW, Step
from davy.annotation.project.phase_gates import PhaseStatus
from davy.memes.store import image_library
from davy.store import Connection


def preparations(db: Connection, statuses: Sequence[PhaseStatus]) -> list[Step]:
    """Return the checklist's line for the image library, where memes are filtered or built, or are confounded now."""
    tasks = {row.phase.behaviour.task for row in statuses if row.phase.behaviour.task}
    open_tasks = {row.phase.behaviour.task for row in statuses if row.phase.state == "open"}
    if not tasks & {"filter", "build"} and "confounders" not in open_tasks:
        return []
    return [Step("library", NOW if image_library.is_empty(db) else DONE, "fill_library", "/library")]
