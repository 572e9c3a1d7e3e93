"""A project's consent text, filled from its own figures, so that it never says what is not so.

A text with names in braces and a project in, the text as people read it out. A line that names a figure
which the project does not have (a screening, a wage) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from davy.annotation.care.care import rules_of
from davy.annotation.project.project import Phase, Project
from davy.annotation.project.settings import pay_of, rate_of
from davy.annotation.project.store import phases, posts
from davy.store import Connection

FIGURES: tuple[str, ...] = ("posts", "sources", "screening", "training", "pay", "break", "day")
"""What a text may name: `{posts}`."""
MOST_SOURCES = 6
_NAME = re.compile(r"\{(" + "|".join(FIGURES) + r")\}")


def consent_figures(db: Connection, project: Project, roles: Sequence[str] = ()) -> dict[str, str]:
    """Return the project's figures by name; one that it does not have is not there. `roles` decide the wage."""
    every = phases.of_project(db, project.id)
    rules = rules_of(project)
    pay = pay_of(project)
    named = posts.sources(db, project.id, most=MOST_SOURCES + 1)
    figures = {
        "posts": _posts(every),
        "sources": ", ".join(named) if len(named) <= MOST_SOURCES else "",
        "screening": _posts([phase for phase in every if phase.behaviour.screens]),
        "training": _posts([phase for phase in every if phase.behaviour.feedback]),
        "pay": f"{rate_of(project, roles):g} {pay['currency']}" if pay else "",
        "break": _minutes(rules.break_after_minutes),
        "day": _minutes(rules.daily_minutes),
    }
    return {name: value for name, value in figures.items() if value}


def fill_consent(text: str, figures: Mapping[str, str]) -> str:
    """Return a text with its figures filled in, without the lines whose figure is not there."""
    kept = [line for line in text.splitlines() if all(name in figures for name in _NAME.findall(line))]
    return "\n".join(_NAME.sub(lambda found: figures[found[1]], line) for line in kept)


def _posts(every: Sequence[Phase]) -> str:
    n = sum(phase.size for phase in every)
    return f"{n:,}" if n else ""


def _minutes(value: float | None) -> str:
    return f"{value:g}" if value else ""
