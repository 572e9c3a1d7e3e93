"""People who label by a known confusion: the truth of a post in, an answer under the gmhp7k scheme out.

They work over the real store, through the same functions as the labelling page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from davy.annotation.labelling import labelling
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.project import Phase, Project
from davy.annotation.project.store import members, phases, projects
from davy.people.store import users
from davy.store import Store, columns

SAID: tuple[dict[str, tuple[str, ...]], ...] = (
    {"hate": ("not hateful",)},
    {"hate": ("hateful",), "misogynistic": ("not misogynistic",)},
    {"hate": ("hateful",), "misogynistic": ("misogynistic",)},
)
"""Code 0, 1 or 2 → answers."""


@dataclass
class Person:
    """Somebody who takes a post of truth t for code c with probability `confusion[t][c]`, and may refuse some."""

    user: str
    confusion: np.ndarray
    refuses: float = 0.0
    pseudonym: str = ""

    def code(self, truth: int, rng: np.random.Generator) -> int | None:
        """Return what they take a post for, or None where they refuse it."""
        return None if rng.random() < self.refuses else int(rng.choice(3, p=self.confusion[truth]))


def careful(right: float) -> np.ndarray:
    """Return the confusion of somebody who is right so often, and otherwise errs evenly."""
    return np.full((3, 3), (1 - right) / 2) + np.eye(3) * (right - (1 - right) / 2)


def truth_of(post: str) -> int:
    """Return what a made-up post really is, by the number in its id: more harmless ones than hateful ones."""
    return (0, 0, 1, 2, 0, 1, 0, 2, 0, 1)[int(post.removeprefix("post")) % 10]


def posts_frame(n: int) -> Any:
    """Return so many made-up posts."""
    import polars as pl

    return pl.DataFrame(
        {"id": [f"post{i}" for i in range(n)], "text": [f"You grumblefop number {i}." for i in range(n)]}
    ).with_columns(pl.lit("de").alias("lang"))


def gmhp7k(
    store: Store,
    *,
    posts: int = 206,
    people: int = 6,
    right: float = 0.9,
    by: str | None = None,
    each: int | None = None,
) -> tuple[Project, list[Phase], list[Person]]:
    """Make a project from the gmhp7k preset with so many simulated people; the second of them reads things oddly.

    `each` makes every calibration set that small, where the paper's sizes don't matter.
    """
    plan = project_file.read_plan("gmhp7k")
    if each is not None:
        sets = (replace(it, posts=str(each)) if it.kind == "calibration" else it for it in plan.phases)
        plan = replace(plan, phases=tuple(sets))
    with store.write() as db:
        manager = by or users.add(db, login="manager", name="Mo", role="expert", by="shell").id
        made = project_creation.create_project(db, plan, by=manager, posts_in=[posts_frame(posts)])
        team = []
        for number in range(people):
            account = users.add(db, login=f"person{number}", name=f"Person {number}", role="annotator", by="shell")
            member = members.add(db, made.project.id, account.id, ["annotator"], by=manager)
            odd = careful(right - 0.25) if number == 1 else careful(right)
            team.append(Person(account.id, odd, pseudonym=member.pseudonym))
        return projects.get(db, made.project.id), phases.of_project(db, made.project.id), team


def label(
    store: Store, project: Project, phase: Phase, team: list[Person], seed: int, *, most: int | None = None
) -> dict[tuple[str, str], int]:
    """Let people answer a phase in turn until nothing is left for them (or `most` answers); return what they said.

    The result maps (post, pseudonym) to the code; refused posts are not in it.
    """
    rng = np.random.default_rng(seed)
    said: dict[tuple[str, str], int] = {}
    waiting = list(team)
    while waiting and (most is None or len(said) < most):
        with store.write() as db:  # several answers in one transaction, to save the disk
            for _ in range(20 if most is None else min(20, most - len(said))):
                if waiting:
                    _answer_one(db, project, phase, waiting, rng, said)
    return said


def _answer_one(
    db: Any, project: Project, phase: Phase, waiting: list[Person], rng: np.random.Generator, said: dict[Any, int]
) -> None:
    person = waiting[int(rng.integers(len(waiting)))]
    member = members.get(db, project.id, person.user)
    sheet = labelling.next_sheet(db, project, member, phase_id=phase.id)
    if sheet is None:
        waiting.remove(person)
        return
    code = person.code(truth_of(sheet.post.id), rng)
    if code is None:
        labelling.refuse(db, sheet, annotation_id=columns.new_id())
        return
    labelling.save(db, sheet, SAID[code], annotation_id=columns.new_id(), seconds=10 + 20 * rng.random())
    said[sheet.post.id, person.pseudonym] = code
