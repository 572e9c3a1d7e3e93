"""A small project whose posts get their answers at once: what tests of settling, experts and audits start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from davy.annotation.labelling.store import annotations, items
from davy.annotation.project.project import Item, Member, Phase, Project
from davy.annotation.project.store import members, phases, projects
from davy.annotation.settling.adjudication import settle_item
from davy.core import Annotation, Label, Post, Question, Scheme
from davy.people.store import users
from davy.schemes import to_yaml
from davy.schemes.store import schemes
from davy.store import Connection, Store
from davy.store.columns import new_id
from post_rows import add_post

AT = datetime(2026, 1, 2, tzinfo=UTC)
GRUMBLE = Scheme(
    "grumble",
    1,
    (
        Question("grumpy", (Label("no"), Label("yes")), positive="yes"),
        Question("about", (Label("tea"), Label("rain"), Label("wind")), under=("grumpy", ("yes",))),
    ),
)
ANNOTATORS = ("ada", "bob", "cat", "dan", "eve")
EXPERTS = ("xena", "yves", "zoe")


@dataclass
class Case:
    """A project in a store, with five annotators and three experts."""

    store: Store
    scheme: Scheme
    project: Project
    phase: Phase
    people: Mapping[str, Member]

    def put(self, db: Connection, post: str, given: Sequence[Mapping[str, Any] | None], **more: Any) -> Item:
        """Add a post with one answer from each of the first annotators (None refuses), settle it, return its item."""
        add_post(db, Post(post, "a text", meta=more.pop("meta", {})), project=self.project.id)
        items.add(db, self.phase, [(post, more.pop("gold", None), None)], by="shell")
        item = items.of_post(db, self.phase, post)
        assert item is not None
        for number, answers in enumerate(given):
            flags = more.get("flags", {}).get(number, ())
            self.say(db, post, ANNOTATORS[number], answers, flags=flags, comment=more.get("comments", {}).get(number))
        return self.settle(db, item)

    def say(self, db: Connection, post: str, who: str, answers: Mapping[str, Any] | None, **more: Any) -> Annotation:
        """Add one answer and return it."""
        full = {name: (it,) if isinstance(it, str) else tuple(it) for name, it in (answers or {}).items()}
        if answers is None:
            more["flags"] = ("refused",)
        annotation = Annotation(
            new_id(),
            post,
            self.people[who].user,
            self.scheme.name,
            self.scheme.version,
            0,
            full,
            AT,
            project=self.project.id,
            phase=self.phase.id,
            **more,
        )
        annotations.add(db, annotation, self.scheme)
        return annotation

    def settle(self, db: Connection, item: Item) -> Item:
        """Settle an item and return it as it is now."""
        settle_item(db, self.project, self.phase, item, self.scheme)
        return items.get(db, item.id)


def make(
    store: Store, scheme: Scheme = GRUMBLE, *, kind: str = "production", answers: int = 3, **settings: Any
) -> Case:
    """Return a project with one open phase and its people."""
    with store.write() as db:
        schemes.save(db, scheme, to_yaml(scheme), by="shell")
        key = {"scheme": scheme.name, "scheme_version": scheme.version}
        project = projects.create(db, id="pilot", title="Pilot", settings=settings, by="shell", **key)
        people = {}
        for login in (*ANNOTATORS, *EXPERTS):
            user = users.add(db, login=login, name=login.title(), role="annotator", by="shell")
            role = "expert" if login in EXPERTS else "annotator"
            people[login] = members.add(db, project.id, user.id, [role], by="shell", pool="trained")
        made = phases.add(
            db, project.id, name="main", kind=kind, answers=answers, in_corpus=True, settings={}, by="shell"
        )
        phase = phases.open_phase(db, made.id, by="shell")
    return Case(store, scheme, project, phase, people)
