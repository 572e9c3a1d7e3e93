"""Validate a suite in the workbench: its cases as a project's posts, people's answers and experts' decisions back.

A post's id is the case's id and a hash of its text. A reworded case is another post, so that it is labelled anew and
nobody's old answer counts for a new sentence. An expert who drops a post finds the case at fault, one who decides
about it the annotators.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from davy.annotation.exchange.store.export_rows import iter_posts
from davy.annotation.labelling.store import items
from davy.annotation.project.project_creation import add_posts
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, posts, projects
from davy.core import UserError
from davy.files import tables
from davy.files.atomic import make_folder, write_text
from davy.reviews.validation import ValidationAnswer, text_hash
from davy.store import Store
from davy.testing.suite import Case, Suite

if TYPE_CHECKING:
    import polars as pl

PHASE = "validation"
Decisions = dict[tuple[str, str], str]


def suite_posts(suite: Suite) -> pl.DataFrame:
    """Return a suite's cases as posts, without a hint at the right label."""
    import polars as pl

    return pl.DataFrame(
        {
            "id": [post_id(case) for case in suite.cases],
            "text": [case.text for case in suite.cases],
            "lang": [case.lang or suite.lang for case in suite.cases],
            "source": [f"suite {suite.name}"] * len(suite.cases),
            "meta": [json.dumps({"suite": suite.name, "case": case.id}) for case in suite.cases],
        }
    )


def post_id(case: Case) -> str:
    """Return the id that a case's post has while its text is this one."""
    return f"{case.id}.{text_hash(case)}"


def write_validation_project(suite: Suite, scheme: str, folder: Path) -> tuple[Path, Path]:
    """Write project.yaml and posts.csv for `davy project create`; return their paths."""
    make_folder(folder)
    plan = {
        "preset": "hatemoji-check",
        "name": f"{suite.name}-validation",
        "title": f"Validation of {suite.title or suite.name}",
        "scheme": scheme,
        "languages": [suite.lang],
    }
    project = write_text(folder / "project.yaml", yaml.safe_dump(plan, allow_unicode=True, sort_keys=False, width=110))
    tables.write(suite_posts(suite).lazy(), folder / "posts.csv")
    return project, folder / "posts.csv"


def read_project(store: Store, project_id: str, suite: Suite) -> tuple[list[ValidationAnswer], Decisions]:
    """Return what annotators answered to a suite's cases in a project, and whose fault experts found."""
    answers: list[ValidationAnswer] = []
    decided: Decisions = {}
    people: dict[str, str] = {}
    with store.read() as db:
        project = projects.get(db, project_id)
        giving = [phase for phase in phases.of_project(db, project_id) if phase.behaviour.gives_verdicts]
        dropped = {item.post for phase in giving for item in items.iter_items(db, phase.id) if item.state == "dropped"}
        for row in iter_posts(db, project, [phase.id for phase in giving]):
            case, _, hashed = str(row.post["id"]).rpartition(".")
            for annotation in row.annotations:
                labels = annotation.answers.get(suite.question, ())
                if annotation.refused or not labels:
                    continue
                who = people.setdefault(annotation.annotator, f"annotator {len(people) + 1}")
                flagged = "unrealistic" in annotation.flags
                answers.append(ValidationAnswer(case, who, labels[0], flagged, annotation.comment or "", hashed))
            if row.key in dropped:
                decided[case, hashed] = "case"
            elif any(verdict.basis == "expert" for verdict in row.verdicts):
                decided[case, hashed] = "annotator"
    if not answers:
        raise UserError(f"Project {project_id!r} holds no answers to {suite.question!r} yet.")
    return answers, decided


def issue_again(store: Store, project_id: str, suite: Suite, *, by: str) -> int:
    """Add the cases whose present text the project does not have, and return how many there are."""
    import polars as pl

    frame = suite_posts(suite)
    with store.write() as db:
        project = projects.get(db, project_id)
        phase = next((one for one in phases.of_project(db, project_id) if one.name == PHASE), None)
        if phase is None:
            raise UserError(f"Project {project_id!r} has no phase {PHASE!r}. Make one: davy suite project")
        known = posts.keys_of(db, project_id, frame["id"].to_list())
        new = frame.filter(~pl.col("id").is_in(list(known)))
        return add_posts(db, project, phase, new, scheme_of(db, project), by=by) if len(new) else 0
