"""From the store to neutral rows: pseudonyms in place of people, phase names in place of ids.

Reads page by page, so memory stays the same for a thousand posts and for a
million. Whatever in a post's meta is the id of an account (the author of an
entry) becomes that person's pseudonym, or goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from davy.annotation.exchange.rows import AnsweredPost, GivenAnswer, SettledAnswer
from davy.annotation.exchange.store import export_rows
from davy.annotation.project.project import Phase, Project
from davy.annotation.project.store import phases
from davy.annotation.settling.adjudication import TOGETHER
from davy.annotation.settling.rules import applicable_verdicts
from davy.core import Annotation, Scheme, UserError
from davy.core.feature import features
from davy.store import Connection


def choose_phases(db: Connection, project: Project, wanted: str | Sequence[str] | None) -> list[Phase]:
    """Return the phases to export: those whose answers enter the corpus, `all`, or names (in text, with commas)."""
    every = phases.of_project(db, project.id)
    if wanted is None:
        chosen = [phase for phase in every if phase.in_corpus]
        if not chosen:
            raise UserError(f"No phase of project {project.id!r} enters the corpus yet. Add --phase all.", status=409)
        return chosen
    if wanted == "all":
        if not every:
            raise UserError(f"Project {project.id!r} has no phases yet.", status=409)
        return every
    listed = wanted.split(",") if isinstance(wanted, str) else wanted
    names = [name.strip() for name in listed if name.strip()]
    by_name = {phase.name: phase for phase in every}
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        raise UserError(f"Project {project.id!r} has no phase {''.join(unknown[:1])!r}; it has {', '.join(by_name)}.")
    return [phase for phase in every if phase.name in names]


def size_of(chosen: Sequence[Phase]) -> int:
    """Return how many posts are to be read, at most: a post in two phases is counted twice."""
    return sum(phase.size for phase in chosen)


def gather_rows(
    db: Connection, project: Project, scheme: Scheme, chosen: Sequence[Phase], *, comments: bool = True
) -> Iterator[AnsweredPost]:
    """Yield the posts of the phases by id, with their current answers and their verdicts; keep `db` open meanwhile."""
    people = Pseudonyms.of_project(db, project.id)
    names = {phase.id: phase.name for phase in chosen}
    facts = [resolve_name(each.export_facts)(db, project) for each in features() if each.export_facts is not None]
    for kept in export_rows.iter_posts(db, project, list(names)):
        post: dict[str, Any] = dict(kept.post)
        meta = json.loads(post.pop("meta") or "{}", parse_constant=lambda _: None)
        text = post.pop("text") or ""
        for facts_of in facts:
            meta |= facts_of(kept)
        settled = applicable_verdicts(scheme, {it.question: it for it in kept.verdicts})
        yield AnsweredPost(
            **post,
            text=text,
            meta=people.without_ids(meta),
            given=tuple(_exported_answer(it, scheme, people, names, comments) for it in kept.annotations),
            settled={name: SettledAnswer(it.labels, it.basis, it.reason) for name, it in settled.items()},
        )


def _exported_answer(
    annotation: Annotation, scheme: Scheme, people: Pseudonyms, names: Mapping[str, str], comments: bool
) -> GivenAnswer:
    return GivenAnswer(
        annotator=people.pseudonym(annotation.annotator),
        phase=names[annotation.phase or ""],
        answers=scheme.completed(annotation.answers),
        flags=annotation.flags,
        comment=(annotation.comment or None) if comments else None,
        seconds=annotation.seconds,
        at=annotation.at,
        guideline=annotation.guideline_version,
    )


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """Who is who, so that no file says it."""

    pseudonyms: Mapping[str, str]
    accounts: frozenset[str]

    @classmethod
    def of_project(cls, db: Connection, project_id: str) -> Pseudonyms:
        """Return the people of a project."""
        return cls(export_rows.pseudonyms(db, project_id), frozenset(export_rows.account_ids(db)))

    def pseudonym(self, annotator: str) -> str:
        """Return what an annotator is called in files: always the same for one person in one project."""
        known = self.pseudonyms.get(annotator)
        if known is not None:
            return known
        if annotator.startswith(export_rows.IMPORTED):
            name = annotator.removeprefix(export_rows.IMPORTED)
            # Someone who came later may have drawn the same name by chance: two people must not become one.
            return f"{name}~" if name in self.pseudonyms.values() else name
        return annotator if annotator == TOGETHER else _unknown(annotator)

    def without_ids(self, value: Any) -> Any:
        """Return a post's meta with accounts' ids replaced by pseudonyms; people outside the project are left out."""
        if isinstance(value, dict):
            return {key: self.without_ids(part) for key, part in value.items() if not self._stranger(part)}
        if isinstance(value, list):
            return [self.without_ids(part) for part in value if not self._stranger(part)]
        return self.pseudonyms.get(value, value) if isinstance(value, str) else value

    def _stranger(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.accounts and value not in self.pseudonyms


def _unknown(annotator: str) -> str:
    """Return a name for somebody who is no longer known, such as one who had their account removed."""
    import hashlib

    return "X" + hashlib.sha256(annotator.encode()).hexdigest()[:8]
