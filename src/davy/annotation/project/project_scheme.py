"""The scheme that a project asks, and its guideline, which grows during the work.

`scheme_of` gives the `Scheme` with the project's own guidelines and the translations that came with a newer Davy.
Reading its YAML takes tens of milliseconds, so what was read is kept under the scheme's stamp, which differs whenever
its questions, words or guidelines do. `publish_guideline` adds a version that says what changed, announces it and asks
for second looks. Another project with the same scheme keeps its own guideline; answers keep the version that they were
given under.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from davy.annotation.labelling.store import assignments
from davy.annotation.project.project import Project
from davy.annotation.project.store import messages, project_schemes, projects
from davy.core import Guideline, Scheme, UserError, Wording
from davy.core.errors import nearest
from davy.schemes.store import schemes
from davy.store import Connection

MOST = 64

# What was read, by stamp. The key holds all that the value depends on, so it is a memory and no state.
_read: dict[tuple[Any, ...], Scheme] = {}
LONGEST_GUIDELINE = 100_000
LONGEST_CHANGES = 2_000


def scheme_of(db: Connection, project: Project) -> Scheme:
    """Return a project's scheme; in a write transaction its questions can't change until that ends."""
    stamp = project_schemes.stamp_of(db, project)
    known = _read.get(stamp)
    if known is None:
        if len(_read) >= MOST:
            _read.clear()
        known = _read[stamp] = _from_store(db, project)
    return known


def _from_store(db: Connection, project: Project) -> Scheme:
    from davy.schemes import parse, with_translations

    stored = schemes.get(db, project.scheme, project.scheme_version)
    kept = replace(parse(stored.yaml), guidelines=tuple(projects.guidelines_of(db, project.id)))
    return with_translations(kept)


@dataclass(frozen=True, slots=True)
class GuidelineRelease:
    """A new guideline; `again` answers were put before their people for a second look."""

    guideline: Guideline
    again: int = 0


@dataclass(frozen=True, slots=True)
class SecondLook:
    """Which answers to look at again: those with these labels of a question, or without one, all older answers."""

    question: str | None = None
    labels: tuple[str, ...] = ()


def publish_guideline(
    db: Connection,
    project: Project,
    scheme: Scheme,
    text: Mapping[str, str],
    *,
    changes: str,
    by: str,
    again: SecondLook | None = None,
    announcement: str | None = None,
    answers: str | None = None,
) -> GuidelineRelease:
    """Add a version of the guideline and return it. `announcement` is what the channel says (`{version}` and
    `{changes}` are filled in); `answers` is the message in the channel that this version answers."""
    before = current_guideline(db, project)
    words = Wording({lang: said.replace("\r\n", "\n").strip() for lang, said in text.items()})
    changes = changes.strip()
    _check_guideline(words, changes, before)
    made = Guideline(
        version=1 + (before.version if before else 0),
        text=words,
        notes=before.notes if before else {},
        changes=changes,
    )
    if again is not None:
        _check_again(again, scheme)
    projects.add_guideline(db, project, made, by=by)
    said = (announcement or "Guideline {version}: {changes}").format(version=made.version, changes=made.changes)
    if project.state == "open":
        messages.announce(db, project.id, said, by=by)
    if answers is not None:
        messages.into_guideline(db, project.id, answers, made.version, by=by)
    asked = 0
    if again is not None:
        asked = assignments.request_second_look(
            db,
            project.id,
            by=by,
            question=again.question,
            labels=list(again.labels) or None,
            before_guideline=made.version,
        )
    return GuidelineRelease(made, asked)


def current_guideline(db: Connection, project: Project) -> Guideline | None:
    """Return the guideline in force, or None where the project has none yet."""
    return scheme_of(db, project).guideline


def guideline_difference(before: str, after: str) -> list[tuple[str, str]]:
    """Return the lines of two texts as (kind, line): "same", "gone" or "new"; long stretches that stayed are cut."""
    lines: list[tuple[str, str]] = []
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2):
        if line.startswith(("---", "+++")):
            continue
        if line.startswith("@@"):
            lines.append(("cut", "…"))
            continue
        kind = {"+": "new", "-": "gone"}.get(line[:1], "same")
        lines.append((kind, line[1:]))
    return lines[1:] if lines[:1] == [("cut", "…")] else lines


def _check_guideline(words: Wording, changes: str, before: Guideline | None) -> None:
    if not words:
        raise UserError("The guideline is empty. Write what people should read.")
    for lang, said in words.items():
        if len(said) > LONGEST_GUIDELINE:
            raise UserError(
                f"The guideline in {lang!r} has {len(said):,} characters; at most {LONGEST_GUIDELINE:,} are taken."
            )
    if not 3 <= len(changes) <= LONGEST_CHANGES:
        raise UserError(f"Say what changed in 3 to {LONGEST_CHANGES:,} characters; this has {len(changes):,}.")
    if before is not None and dict(before.text) == dict(words):
        raise UserError(f"These are the words of guideline {before.version}. Change something first.", status=409)


def _check_again(again: SecondLook, scheme: Scheme) -> None:
    if again.question is None:
        return
    names = [question.name for question in scheme.questions]
    if again.question not in names:
        raise UserError(f"There is no question {again.question!r}.{nearest(again.question, names)}")
    question = scheme.question(again.question)
    for label in again.labels:
        if label not in question.label_names and not question.open:
            raise UserError(
                f"{label!r} is not a label of {question.name!r}.{nearest(label, list(question.label_names))}"
            )
