"""A small project with a round for tests: five people, one expert, a target that calls nothing hateful."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from davy.annotation.labelling import labelling
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.project import Member, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members
from davy.annotation.settling import expert_cases
from davy.core import Scheme
from davy.people.store import users
from davy.rounds import entries
from davy.rounds.open_round import open_round
from davy.rounds.round import Entry, Round, TargetPrediction
from davy.rounds.store import entries as stored
from davy.rounds.store import rounds
from davy.store import Store
from davy.store.columns import new_id

TARGET = "harmless@1"
HATEFUL = {"hate": ("hateful",), "type": ("derogation",), "target": ("women",)}
HARMLESS = {"hate": ("not hateful",)}


@dataclass
class RoundBench:
    """A project with an open round and its people, by name."""

    store: Store
    project: Project
    round: Round
    scheme: Scheme
    people: dict[str, Member]

    def enter(self, name: str, text: str, answers: Any = None, *, said: str = "not hateful", **more: Any) -> Entry:
        """Let a person enter a text; the target says `said`."""
        given = {"predictions": [TargetPrediction(TARGET, said, 0.1 if said == "not hateful" else 0.9)], **more}
        with self.store.write() as db:
            return entries.enter(
                db,
                rounds.get(db, self.round.id),
                self.scheme,
                **{"entry_id": new_id(), **given},
                author=self.people[name].user,
                text=text,
                answers=answers or HATEFUL,
            )

    def contrast(self, name: str, original: Entry, text: str, answers: Any = None, **more: Any) -> Entry:
        """Let a person write the contrast of an entry."""
        with self.store.read() as db:
            found = stored.get_text(db, self.project.id, original.id)
        return self.enter(name, text, answers or HARMLESS, original=found, **more)

    def label(self, name: str, answers: Any = None, **more: Any) -> labelling.Sheet | None:
        """Let a person label the next entry of others; return its sheet."""
        with self.store.write() as db:
            sheet = labelling.next_sheet(db, self.project, self.people[name])
        if sheet is None:
            return None
        with self.store.write() as db:
            again = labelling.open_sheet(db, self.project, self.people[name], sheet.assignment.id)
            labelling.save(db, again, answers or HATEFUL, annotation_id=new_id(), **more)
        return sheet

    def decide(self, name: str, answers: Any) -> None:
        """Let an expert decide the next case."""
        with self.store.write() as db:
            case = expert_cases.take_case(db, self.project, self.people[name])
            assert case is not None
            expert_cases.decide(db, self.project, case.id, self.people[name], self.scheme, answers, "because")

    def drop(self, name: str, reason: str = "nobody would write it") -> None:
        """Let an expert drop the post of the next case."""
        with self.store.write() as db:
            case = expert_cases.take_case(db, self.project, self.people[name])
            assert case is not None
            expert_cases.drop_post(db, self.project, case.id, self.people[name], reason)

    def now(self, entry: Entry) -> Entry:
        """Return an entry as it is now."""
        with self.store.read() as db:
            return stored.get_text(db, self.project.id, entry.id).entry

    def settled(self, name: str, text: str, answers: Any = None, **more: Any) -> Entry:
        """Let a person enter a text that two others confirm; return it settled. Nothing else may wait."""
        entry = self.enter(name, text, answers, **more)
        for other in [it for it in ("ada", "bo", "cy", "di") if it != name][:2]:
            self.label(other, answers or HATEFUL)
        return self.now(entry)


def make_round(store: Store, *, name: str = "duel", **options: Any) -> RoundBench:
    """Return a project of the preset `rounds` with an open round."""
    with store.write() as db:
        plan = project_file.parse_plan(f"name: {name}\npreset: rounds\n".encode(), "rounds.yaml")
        project = project_creation.create_project(db, plan, by="shell").project
        people = {}
        for person in ("ada", "bo", "cy", "di", "eve"):
            roles = ["expert"] if person == "eve" else ["annotator"]
            user = users.add(db, login=f"{person}@{name}.example", name=person, role="annotator", by="shell")
            people[person] = members.add(db, project.id, user.id, roles, by="shell")
        round_ = open_round(db, project, targets=[TARGET], by="shell", **options)
        scheme = scheme_of(db, project)
    return RoundBench(store, project, round_, scheme, people)
