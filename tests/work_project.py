"""A small labelling project for tests: a scheme, posts, people and one open phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import items
from davy.annotation.project.project import Member, Phase, Project
from davy.annotation.project.store import members, phases, posts, projects
from davy.core import Guideline, Label, Question, Scheme, Wording
from davy.people.store import users
from davy.schemes import to_yaml
from davy.schemes.store import schemes
from davy.store import Connection, Store
from davy.store.columns import new_id

SCHEME = Scheme(
    "grumble",
    1,
    (
        Question("grumpy", (Label("yes"), Label("no")), positive="yes"),
        Question("about", (Label("tea"), Label("rain")), kind="many", under=("grumpy", ("yes",))),
    ),
    title=Wording("Grumbling"),
    guidelines=(Guideline(1, Wording("Be kind.")),),
)
YES = {"grumpy": ("yes",), "about": ("tea",)}
NO = {"grumpy": ("no",)}


@dataclass
class Bench:
    """A project with its people, by name."""

    store: Store
    project: Project
    phase: Phase
    people: dict[str, Member]

    def next(self, name: str, **options: Any) -> labelling.Sheet | None:
        """Give a person their next sheet."""
        with self.store.write() as db:
            return labelling.next_sheet(db, self.project, self.people[name], **options)

    def open(self, name: str, assignment_id: str) -> labelling.Sheet:
        """Open a sheet by its id."""
        with self.store.write() as db:
            return labelling.open_sheet(db, self.project, self.people[name], assignment_id)

    def save(self, name: str, sheet: labelling.Sheet, answers: Any = None, **options: Any) -> labelling.SavedAnswer:
        """Open a sheet and save answers to it, as the page does: in one transaction."""
        with self.store.write() as db:
            found = labelling.open_sheet(db, self.project, self.people[name], sheet.assignment.id)
            return labelling.save(db, found, answers or NO, **{"annotation_id": new_id(), **options})

    def answer(self, name: str, answers: Any = None, **options: Any) -> labelling.Sheet | None:
        """Let a person answer their next sheet; return it."""
        sheet = self.next(name)
        if sheet is not None:
            self.save(name, sheet, answers, **options)
        return sheet

    def item(self, sheet: labelling.Sheet) -> Any:
        """Return a sheet's item as it is now."""
        with self.store.read() as db:
            return items.get(db, sheet.item.id)

    def everything(self) -> list[Any]:
        """Return the phase's items as they are now."""
        with self.store.read() as db:
            return list(items.iter_items(db, self.phase.id))


def make_bench(
    store: Store,
    *,
    n: int = 6,
    people: Sequence[str] = ("ada", "bo", "cy", "di"),
    kind: str = "production",
    answers: int | None = 3,
    gold: Any = None,
    settings: Any = None,
    rows: Any = None,
    metas: Any = None,
    roles: Sequence[str] = ("annotator",),
    shuffled: bool = False,
) -> Bench:
    """Return a project with one open phase of `n` posts."""
    with store.write() as db:
        schemes.save(db, SCHEME, to_yaml(SCHEME), by="shell")
        ids = [f"p{number:05}" for number in range(n)]
        frame = pl.DataFrame({"id": ids, "text": ["grumblefop"] * n, "meta": metas or [None] * n})
        project = projects.create(
            db, id="pilot", title="Pilot", scheme="grumble", scheme_version=1, settings={}, by="shell"
        )
        posts.ensure(db, frame.with_columns(pl.col("meta").cast(pl.String)), project="pilot", by="shell")
        roster = {name: add_member(db, project, name, roles) for name in people}
        phase = add_phase(db, project, "main", kind=kind, answers=answers, settings=settings)
        items.add(db, phase, rows or [(it, gold, None) for it in ids], by="shell", shuffled=shuffled)
        phase = phases.get(db, phase.id)
    return Bench(store, project, phase, roster)


def add_member(db: Connection, project: Project, name: str, roles: Sequence[str] = ("annotator",)) -> Member:
    """Make an account and put it on the roster."""
    user = users.add(db, login=f"{name}@example.org", name=name, role="annotator", by="shell")
    return members.add(db, project.id, user.id, roles, by="shell")


def add_phase(
    db: Connection, project: Project, name: str, *, kind: str, answers: int | None = None, settings: Any = None
) -> Phase:
    """Add a phase and open it."""
    made = phases.add(
        db,
        project.id,
        name=name,
        kind=kind,
        answers=answers,
        in_corpus=kind in ("production", "expert"),
        settings=settings or {},
        by="shell",
    )
    return phases.open_phase(db, made.id, by="shell")
