"""Kinds of background job: those of every feature, by name. A kind's function is imported when a job runs.

A worker process has threads for long kinds and for quick ones, so that a training never holds up an export.
"""

from __future__ import annotations

from davy.core.errors import UserError, nearest
from davy.core.feature import JobKind, features


def job_kinds() -> dict[str, JobKind]:
    """Return all kinds by name."""
    return {kind.name: kind for feature in features() for kind in feature.jobs}


def job_functions(*, long: bool) -> dict[str, str]:
    """Return the functions of the long kinds, or of the quick ones, by name."""
    return {name: kind.function for name, kind in job_kinds().items() if kind.long == long}


def check_kinds(names: list[str]) -> list[str]:
    """Return the kinds; one that there isn't is an error."""
    known = list(job_kinds())
    for name in names:
        if name not in known:
            raise UserError(f"There is no kind of job {name!r}; there are {', '.join(known)}.{nearest(name, known)}")
    return names
