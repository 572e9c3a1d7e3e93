"""Neutral rows into a project: posts become items of a phase, answers stand under the names of the file.

`check_rows` reads everything, looks at what is there and writes nothing; `place_rows`
then writes in many short transactions, so that people go on labelling. A file with
anything wrong in it changes nothing. What is in already is passed over, so an import
that was stopped goes on when the file is given again. Verdicts of the file count as
they are; where it has none, the project's own rules settle what became full. In
training and screening, what is settled becomes the gold.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

from davy.annotation.exchange.import_checks import ImportPlan, fit_row
from davy.annotation.exchange.rows import POST_FIELDS, AnsweredPost, GivenAnswer
from davy.annotation.exchange.store import import_rows
from davy.annotation.exchange.store.export_rows import IMPORTED
from davy.annotation.project.project import Item, Phase
from davy.annotation.project.store import posts
from davy.annotation.settling import adjudication
from davy.core import Annotation, UserError, Verdict
from davy.store import Connection
from davy.store.columns import new_id, now

CHUNK = 100
"""Rows a transaction at most."""
LEAST_CHUNK = 20
"""Fewer would cost more in commits than they save in waiting."""
HOLD = 0.010
"""Seconds that a transaction should take where writers wait for each other; the next one is sized by the last."""
PAUSE = 1.0
"""Seconds of pause for each second of writing, where writers wait for each other."""
LEAST_PAUSE = 0.003
"""Long enough for everybody who waits to ask again (`store.ASK_EVERY`)."""


@dataclass
class ImportSummary:
    """What came in."""

    posts: int = 0
    known: int = 0
    answers: int = 0
    settled: int = 0
    people: set[str] = field(default_factory=set)
    rows: int = 0
    """Rows of the file that are in."""
    seen: set[int] = field(default_factory=set, compare=False)
    """Hashes of the posts' ids, of this process alone: a post may have rows in many parts, and counts once."""

    def copy(self) -> ImportSummary:
        """Return the same counts, to count on from."""
        return replace(self, people=set(self.people), seen=set(self.seen))


Progress = Callable[[int, int], object]
"""Called with how many rows are done, of how many."""
OpenTransaction = Callable[[ImportSummary], AbstractContextManager[Connection]]
"""Opens a transaction; what it is given holds, when the transaction ends, what is in."""


def check_rows(db: Connection, rows: Iterable[AnsweredPost], plan: ImportPlan, progress: Progress | None = None) -> int:
    """Read rows through, refuse what fits neither the project nor what is in it, and return how many there are."""
    n = 0
    seen = _SeenRows(db, plan)
    rest = iter(rows)
    while part := list(islice(rest, CHUNK)):
        seen.check([fit_row(row, plan) for row in part])
        n += len(part)
        if progress is not None:
            progress(0, n)
    if not n:
        raise UserError("The file holds no posts, so nothing was imported.")
    return n


def place_rows(
    writing: OpenTransaction,
    rows: Iterable[AnsweredPost],
    plan: ImportPlan,
    total: int,
    *,
    by: str,
    done: ImportSummary | None = None,
    pause: float = PAUSE,
    progress: Progress | None = None,
) -> ImportSummary:
    """Write `total` rows into the project, a part a transaction, and return what came in.

    `done` is what an earlier attempt brought in: as many rows are passed over. `writing` opens a transaction and is
    told what is in when it ends.
    """
    done = done.copy() if done else ImportSummary()
    rest = iter(rows)
    done.seen |= {hash(row.id) for row in islice(rest, done.rows)}
    chunk = CHUNK
    while part := list(islice(rest, chunk)):
        came = done.copy()
        try:
            fitted = [fit_row(row, plan) for row in part]
            with writing(came) as db:
                began = time.monotonic()
                _Work(db, plan, by).take(fitted, came)
        except UserError as error:  # somebody else brought it in after the check
            before = f" The {done.rows:,} rows before it are in, and are passed over when you give the file again."
            raise UserError(error.message + before * bool(done.rows), status=error.status) from error
        held = time.monotonic() - began
        done = came
        if progress is not None:
            progress(done.rows, max(done.rows, total))
        if pause:
            chunk = min(CHUNK, max(LEAST_CHUNK, round(len(part) * HOLD / held)))
            time.sleep(max(LEAST_PAUSE, pause * held))
    with writing(done) as db:
        counts = {"posts": done.posts, "answers": done.answers, "verdicts": done.settled, "people": len(done.people)}
        import_rows.record(db, plan.project.id, by=by, **counts)
    return done


def _by_phase(part: list[AnsweredPost], plan: ImportPlan) -> dict[str, list[AnsweredPost]]:
    """Return the rows by the name of the phase that they go into, each with the answers of that phase."""
    by_phase: dict[str, list[AnsweredPost]] = {}
    for row in part:
        split: dict[str, list[GivenAnswer]] = {}
        for given in row.given:
            split.setdefault(plan.phase_of(row, given).name, []).append(given)
        if not split:
            split[plan.phase_of(row, None).name] = []
        for name, answered in split.items():
            by_phase.setdefault(name, []).append(replace(row, given=tuple(answered)))
    return by_phase


def _text_clash(row: AnsweredPost) -> UserError:
    return UserError(
        f"{row.place}: post {row.id[:60]!r} is there already, with another text. Add --prefix NEW-", status=409
    )


def _is_new(row: AnsweredPost, given: GivenAnswer, phase: Phase, stored: Mapping[str, Any] | None) -> bool:
    """Return whether an answer is still to come in; one that says something else than what is there is refused."""
    if stored is None:
        return True
    if stored != {name: tuple(labels) for name, labels in given.answers.items()}:
        raise UserError(
            f"{row.place}: {given.annotator!r} has answered post {row.id[:60]!r} in phase {phase.name!r} already.",
            status=409,
        )
    return False


class _SeenRows:
    """What a file would add, so far: enough to find rows that can't stand beside it or beside what is there.

    Ids and texts are kept as hashes, because a file may hold a million of them.
    """

    def __init__(self, db: Connection, plan: ImportPlan) -> None:
        self._db, self._plan = db, plan
        self._texts: dict[int, int] = {}
        self._answered: set[int] = set()
        self._given: Counter[int] = Counter()

    def check(self, part: list[AnsweredPost]) -> None:
        self._check_texts(part)
        if not self._plan.posts_only:
            for name, wanted in _by_phase(part, self._plan).items():
                self._check_answers(self._plan.phases[name], wanted)

    def _check_texts(self, part: list[AnsweredPost]) -> None:
        known = import_rows.texts_of(self._db, self._plan.project.id, [row.id for row in part])
        for row in part:
            stored = hash(known[row.id]) if row.id in known else self._texts.get(hash(row.id))
            if stored is None and row.text is None:
                raise UserError(f"{row.place}: there is no post {row.id[:60]!r} here, and the file has no texts.")
            if stored is not None and row.text is not None and hash(row.text) != stored:
                raise _text_clash(row)
            if stored is None:
                self._texts[hash(row.id)] = hash(row.text)

    def _check_answers(self, phase: Phase, wanted: list[AnsweredPost]) -> None:
        found = import_rows.items_of(self._db, phase, list({row.id for row in wanted}))
        stored = import_rows.answers_by_pair(self._db, [item.id for item in found.values()])
        for row in wanted:
            item = found.get(row.id)
            for given in row.given:
                pair = hash((phase.name, row.id, given.annotator))
                if pair in self._answered:
                    raise UserError(
                        f"{row.place}: {given.annotator!r} has answered post {row.id[:60]!r} in phase {phase.name!r} "
                        "already.",
                        status=409,
                    )
                self._answered.add(pair)
                held = stored.get((item.id, IMPORTED + given.annotator)) if item else None
                if not _is_new(row, given, phase, held):
                    continue
                self._given[hash((phase.name, row.id))] += "refused" not in given.flags
                room = item.room if item else phase.answers
                if phase.answers is not None and self._given[hash((phase.name, row.id))] > (room or 0):
                    raise _no_room(row, phase)


def _no_room(row: AnsweredPost, phase: Phase) -> UserError:
    return UserError(
        f"{row.place}: post {row.id[:60]!r} would have more answers than the {phase.answers} that phase "
        f"{phase.name!r} asks for. Import into a phase that asks for more.",
        status=409,
    )


class _Work:
    """One part of an import, in one transaction."""

    def __init__(self, db: Connection, plan: ImportPlan, by: str) -> None:
        self._db, self._plan, self._by = db, plan, by
        self._tallies: dict[str, dict[str, tuple[int, int, float, datetime]]] = {}
        self._now = now()

    def take(self, part: list[AnsweredPost], done: ImportSummary) -> None:
        self._add_posts(part, done)
        for phase, wanted in _by_phase(part, self._plan).items():
            item_ids = self._add_items(self._plan.phases[phase], wanted)
            if self._plan.posts_only:
                continue
            target = self._plan.phases[phase]
            ids = self._add_answers(target, wanted, item_ids, done)
            self._settle(target, wanted, item_ids, ids, done)
        for name, people in self._tallies.items():
            import_rows.count_people(self._db, self._plan.phases[name], people)
        done.rows += len(part)

    def _add_posts(self, part: list[AnsweredPost], done: ImportSummary) -> None:
        known = import_rows.texts_of(self._db, self._plan.project.id, [row.id for row in part])
        fresh: dict[str, AnsweredPost] = {}
        for row in part:
            stored = known.get(row.id, fresh[row.id].text if row.id in fresh else None)
            if stored is None:
                if row.text is None:
                    raise UserError(f"{row.place}: there is no post {row.id[:60]!r} here, and the file has no texts.")
                fresh[row.id] = row
            elif row.text is not None and row.text != stored:
                raise _text_clash(row)
        posts.insert_rows(self._db, [_columns(row) for row in fresh.values()], project=self._plan.project.id)
        done.posts += len(fresh)
        ids = {hash(row.id) for row in part} - done.seen
        done.known += len(ids - {hash(id) for id in fresh})
        done.seen |= ids

    def _add_items(self, phase: Phase, wanted: list[AnsweredPost]) -> dict[str, Item]:
        ids = list(dict.fromkeys(row.id for row in wanted))
        stored = import_rows.items_of(self._db, phase, ids)
        gold = {row.id: _gold(row) for row in wanted} if phase.behaviour.needs_gold else {}
        fresh = {post: gold.get(post) for post in ids if post not in stored}
        if fresh:
            import_rows.add_items(self._db, phase, fresh, after=import_rows.last_position(self._db, phase.id))
        return import_rows.items_of(self._db, phase, ids) if fresh else stored

    def _add_answers(
        self, phase: Phase, wanted: list[AnsweredPost], found: dict[str, Item], done: ImportSummary
    ) -> dict[str, list[Annotation]]:
        """Add the answers of a phase and return them by post."""
        stored = import_rows.answers_by_pair(self._db, [item.id for item in found.values()])
        room = {item.id: item.room for item in found.values()}
        incoming: list[import_rows.IncomingAnswer] = []
        made: dict[str, list[Annotation]] = {}
        for row in wanted:
            item = found[row.id]
            for given in row.given:
                annotation = self._annotation(item.post, given, phase)
                if not _is_new(row, given, phase, stored.get((item.id, annotation.annotator))):
                    continue
                room[item.id] -= not annotation.refused
                if phase.answers is not None and room[item.id] < 0:
                    raise _no_room(row, phase)
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
        settled = {found[row.id].post: row for row in wanted if row.settled}
        found_verdicts = [it for key, row in settled.items() for it in _verdicts(key, row, made.get(row.id, ()))]
        done.settled += import_rows.add_verdicts(
            self._db, self._plan.project.id, self._plan.scheme, found_verdicts, by=self._by
        )
        import_rows.mark_settled(self._db, [item.id for item in full if item.post in settled])
        for item in full:
            if item.post not in settled:
                adjudication.settle_item(self._db, self._plan.project, phase, item, self._plan.scheme)


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
