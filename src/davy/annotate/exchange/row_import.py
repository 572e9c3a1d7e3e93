"""Neutral rows into a project: posts become items of a phase, answers stand under the names of the file.

`check` reads everything and writes nothing; `place` then writes in the caller's
one transaction, so that a file comes in whole or not at all. Verdicts of the
file count as they are; where it has none, the project's own rules settle what
became full. In training and screening, what is settled becomes the gold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

from davy.annotate import adjudicate
from davy.annotate.exchange.import_checks import ImportPlan, fit_row
from davy.annotate.exchange.rows import POST_FIELDS, AnsweredPost, GivenAnswer
from davy.core import Annotation, Item, Phase, UserError, Verdict
from davy.store import Connection, import_rows, posts
from davy.store.columns import new_id, now
from davy.store.export_rows import IMPORTED

CHUNK = 300


@dataclass
class ImportSummary:
    """What came in."""

    posts: int = 0
    known: int = 0
    answers: int = 0
    settled: int = 0
    people: set[str] = field(default_factory=set)


Progress = Callable[[int, int], object]
"""Called with how many rows are done, of how many."""


def check_rows(rows: Iterable[AnsweredPost], plan: ImportPlan, progress: Progress | None = None) -> int:
    """Read rows through, refuse what does not fit, and return how many there are."""
    n = 0
    for row in rows:
        fit_row(row, plan)
        n += 1
        if progress is not None and n % CHUNK == 0:
            progress(0, n)
    if not n:
        raise UserError("The file holds no posts, so nothing was imported.")
    return n


def place_rows(
    db: Connection,
    rows: Iterable[AnsweredPost],
    plan: ImportPlan,
    total: int,
    *,
    by: str,
    progress: Progress | None = None,
) -> ImportSummary:
    """Write `total` rows into the project and return what came in."""
    done, n = ImportSummary(), 0
    work = _Work(db, plan, by)
    rest = iter(rows)
    while part := list(islice(rest, CHUNK)):
        work.take([fit_row(row, plan) for row in part], done)
        n += len(part)
        if progress is not None:
            progress(n, max(n, total))
    work.finish(done)
    return done


class _Work:
    """One import under way: what it has to remember between parts."""

    def __init__(self, db: Connection, plan: ImportPlan, by: str) -> None:
        self._db, self._plan, self._by = db, plan, by
        self._after: dict[str, int] = {}
        self._tallies: dict[str, dict[str, tuple[int, int, float, datetime]]] = {}
        self._now = now()

    def take(self, part: list[AnsweredPost], done: ImportSummary) -> None:
        self._add_posts(part, done)
        for phase, wanted in self._by_phase(part).items():
            found = self._add_items(self._plan.phases[phase], wanted)
            if self._plan.posts_only:
                continue
            target = self._plan.phases[phase]
            ids = self._add_answers(target, wanted, found, done)
            self._settle(target, wanted, found, ids, done)

    def finish(self, done: ImportSummary) -> None:
        for name, people in self._tallies.items():
            import_rows.count_people(self._db, self._plan.phases[name], people)
        counts = {"posts": done.posts, "answers": done.answers, "verdicts": done.settled, "people": len(done.people)}
        import_rows.record(self._db, self._plan.project.id, by=self._by, **counts)

    def _add_posts(self, part: list[AnsweredPost], done: ImportSummary) -> None:
        known = import_rows.texts_of(self._db, self._plan.project.id, [row.id for row in part])
        fresh: dict[str, AnsweredPost] = {}
        for row in part:
            there = known.get(row.id, fresh[row.id].text if row.id in fresh else None)
            if there is None:
                if row.text is None:
                    raise UserError(f"{row.place}: there is no post {row.id[:60]!r} here, and the file has no texts.")
                fresh[row.id] = row
            elif row.text is not None and row.text != there:
                raise UserError(
                    f"{row.place}: post {row.id[:60]!r} is there already, with another text. Add --prefix NEW-",
                    status=409,
                )
        posts.insert_rows(self._db, [_columns(row) for row in fresh.values()], project=self._plan.project.id)
        done.posts += len(fresh)
        done.known += len({row.id for row in part}) - len(fresh)

    def _by_phase(self, part: list[AnsweredPost]) -> dict[str, list[AnsweredPost]]:
        """Return the rows by the name of the phase that they go into, each with the answers of that phase."""
        found: dict[str, list[AnsweredPost]] = {}
        for row in part:
            split: dict[str, list[GivenAnswer]] = {}
            for given in row.given:
                split.setdefault(self._plan.phase_of(row, given).name, []).append(given)
            if not split:
                split[self._plan.phase_of(row, None).name] = []
            for name, answered in split.items():
                found.setdefault(name, []).append(replace(row, given=tuple(answered)))
        return found

    def _add_items(self, phase: Phase, wanted: list[AnsweredPost]) -> dict[str, Item]:
        ids = list(dict.fromkeys(row.id for row in wanted))
        there = import_rows.items_of(self._db, phase, ids)
        gold = {row.id: _gold(row) for row in wanted} if phase.behaviour.needs_gold else {}
        fresh = {post: gold.get(post) for post in ids if post not in there}
        if phase.name not in self._after:
            self._after[phase.name] = import_rows.last_position(self._db, phase.id)
        import_rows.add_items(self._db, phase, fresh, after=self._after[phase.name])
        self._after[phase.name] += len(fresh)
        return import_rows.items_of(self._db, phase, ids) if fresh else there

    def _add_answers(
        self, phase: Phase, wanted: list[AnsweredPost], found: dict[str, Item], done: ImportSummary
    ) -> dict[str, list[Annotation]]:
        """Add the answers of a phase and return them by post."""
        taken = import_rows.answered_pairs(self._db, [item.id for item in found.values()])
        room = {item.id: item.room for item in found.values()}
        incoming: list[import_rows.IncomingAnswer] = []
        made: dict[str, list[Annotation]] = {}
        for row in wanted:
            item = found[row.id]
            for given in row.given:
                annotation = self._annotation(item.post, given, phase)
                if (item.id, annotation.annotator) in taken:
                    raise UserError(
                        f"{row.place}: {given.annotator!r} has answered post {row.id[:60]!r} in phase {phase.name!r} "
                        "already.",
                        status=409,
                    )
                taken.add((item.id, annotation.annotator))
                room[item.id] -= not annotation.refused
                if phase.answers is not None and room[item.id] < 0:
                    raise UserError(
                        f"{row.place}: post {row.id[:60]!r} would have more answers than the {phase.answers} that "
                        f"phase {phase.name!r} asks for. Import into a phase that asks for more.",
                        status=409,
                    )
                incoming.append(import_rows.IncomingAnswer(item.id, annotation))
                made.setdefault(row.id, []).append(annotation)
                self._count(phase, annotation)
                done.people.add(given.annotator)
        import_rows.add_answers(self._db, phase, incoming)
        done.answers += len(incoming)
        return made

    def _annotation(self, post: str, given: GivenAnswer, phase: Phase) -> Annotation:
        versions = {guideline.version for guideline in self._plan.scheme.guidelines}
        return Annotation(
            id=new_id(),
            post=post,
            annotator=IMPORTED + given.annotator,
            scheme=self._plan.scheme.name,
            scheme_version=self._plan.scheme.version,
            guideline_version=given.guideline if given.guideline in versions else 0,
            answers=given.answers,
            at=given.at or self._now,
            seconds=given.seconds,
            flags=given.flags,
            comment=given.comment,
            project=self._plan.project.id,
            phase=phase.id,
        )

    def _count(self, phase: Phase, annotation: Annotation) -> None:
        people = self._tallies.setdefault(phase.name, {})
        given, refused, seconds, last = people.get(annotation.annotator, (0, 0, 0.0, annotation.at))
        people[annotation.annotator] = (
            given + (not annotation.refused),
            refused + annotation.refused,
            seconds + (annotation.seconds or 0.0),
            max(last, annotation.at),
        )

    def _settle(
        self,
        phase: Phase,
        wanted: list[AnsweredPost],
        found: dict[str, Item],
        made: Mapping[str, Sequence[Annotation]],
        done: ImportSummary,
    ) -> None:
        """Write the file's verdicts; where it has none, the project's rules settle what became full."""
        if phase.behaviour.needs_gold or not phase.in_corpus:
            return
        full = import_rows.close_full(self._db, phase, [found[row.id].id for row in wanted])
        told = {found[row.id].post: row for row in wanted if row.settled}
        found_verdicts = [it for key, row in told.items() for it in _verdicts(key, row, made.get(row.id, ()))]
        import_rows.add_verdicts(self._db, self._plan.project.id, self._plan.scheme, found_verdicts, by=self._by)
        done.settled += len(found_verdicts)
        import_rows.mark_settled(self._db, [item.id for item in full if item.post in told])
        for item in full:
            if item.post not in told:
                adjudicate.settle_item(self._db, self._plan.project, phase, item, self._plan.scheme)


def _verdicts(post: str, row: AnsweredPost, made: Sequence[Annotation]) -> Iterator[Verdict]:
    for name, settled in row.settled.items():
        rests_on = tuple(it.id for it in made if name in it.answers)
        shared = settled.basis in ("unanimous", "majority")
        basis = "published" if shared and len(rests_on) < 2 else settled.basis
        yield Verdict(post, name, settled.labels, basis, rests_on if shared else (), settled.reason)


def _gold(row: AnsweredPost) -> dict[str, list[str]] | None:
    return {name: list(settled.labels) for name, settled in row.settled.items()} or None


def _columns(row: AnsweredPost) -> dict[str, Any]:
    meta = json.dumps(dict(row.meta), ensure_ascii=False) if row.meta else None
    return {"id": row.id, "text": row.text, **{name: getattr(row, name) for name in POST_FIELDS}, "meta": meta}
