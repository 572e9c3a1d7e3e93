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
from davy.annotate.exchange.rows import POST_FIELDS, Answered, Given, moment
from davy.core import Annotation, Item, Phase, Project, Scheme, UserError, Verdict
from davy.core.annotation import Answers
from davy.store import Connection, importing, items, verdicts
from davy.store.columns import new_id, now
from davy.store.exporting import IMPORTED

CHUNK = 300
GOLD_KINDS = ("training", "screening")
MOST_NAME = 100
MOST_COMMENT = 5_000
MOST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Into which project rows go, and how. `phase` takes everything; without it each answer's own phase does."""

    project: Project
    scheme: Scheme
    phases: Mapping[str, Phase]
    phase: Phase | None = None
    prefix: str = ""
    posts_only: bool = False

    def phase_of(self, row: Answered, given: Given | None) -> Phase:
        """Return the phase that an answer, or a post without one, goes into."""
        if self.phase is not None:
            return self.phase
        name = None if given is None else given.phase
        if name is None:
            if len(self.phases) == 1:
                return next(iter(self.phases.values()))
            raise UserError(f"{row.place} names no phase. Say which: --phase {next(iter(self.phases), 'NAME')}")
        if name not in self.phases:
            known = ", ".join(self.phases) or "none"
            raise UserError(f"{row.place}: the project has no phase {name[:40]!r}; it has {known}. Say which: --phase")
        return self.phases[name]


@dataclass
class Placed:
    """What came in."""

    posts: int = 0
    known: int = 0
    answers: int = 0
    settled: int = 0
    people: set[str] = field(default_factory=set)


def check(rows: Iterable[Answered], plan: Plan) -> int:
    """Read rows through, refuse what does not fit, and return how many posts there are."""
    n = 0
    for row in rows:
        _fitted(row, plan)
        n += 1
    if not n:
        raise UserError("The file holds no posts, so nothing was imported.")
    return n


def place(
    db: Connection, rows: Iterable[Answered], plan: Plan, *, by: str, progress: Callable[[int], object] | None = None
) -> Placed:
    """Write rows into the project and return what came in."""
    done = Placed()
    work = _Work(db, plan, by)
    rest = iter(rows)
    while part := list(islice(rest, CHUNK)):
        work.take([_fitted(row, plan) for row in part], done)
        if progress is not None:
            progress(len(part))
    work.finish(done)
    return done


class _Work:
    """One import under way: what it has to remember between parts."""

    def __init__(self, db: Connection, plan: Plan, by: str) -> None:
        self._db, self._plan, self._by = db, plan, by
        self._after: dict[str, int] = {}
        self._tallies: dict[str, dict[str, tuple[int, int, float, datetime]]] = {}
        self._now = now()

    def take(self, part: list[Answered], done: Placed) -> None:
        self._add_posts(part, done)
        for phase, wanted in self._by_phase(part).items():
            found = self._add_items(self._plan.phases[phase], wanted)
            if self._plan.posts_only:
                continue
            target = self._plan.phases[phase]
            ids = self._add_answers(target, wanted, found, done)
            self._settle(target, wanted, found, ids, done)

    def finish(self, done: Placed) -> None:
        for name, people in self._tallies.items():
            importing.count_people(self._db, self._plan.phases[name], people)
        counts = {"posts": done.posts, "answers": done.answers, "verdicts": done.settled, "people": len(done.people)}
        importing.record(self._db, self._plan.project.id, by=self._by, **counts)

    def _add_posts(self, part: list[Answered], done: Placed) -> None:
        known = importing.texts_of(self._db, [row.id for row in part])
        fresh: dict[str, Answered] = {}
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
        importing.add_posts(self._db, [_columns(row) for row in fresh.values()])
        done.posts += len(fresh)
        done.known += len({row.id for row in part}) - len(fresh)

    def _by_phase(self, part: list[Answered]) -> dict[str, list[Answered]]:
        """Return the rows by the name of the phase that they go into, each with the answers of that phase."""
        found: dict[str, list[Answered]] = {}
        for row in part:
            split: dict[str, list[Given]] = {}
            for given in row.given:
                split.setdefault(self._plan.phase_of(row, given).name, []).append(given)
            if not split:
                split[self._plan.phase_of(row, None).name] = []
            for name, answered in split.items():
                found.setdefault(name, []).append(replace(row, given=tuple(answered)))
        return found

    def _add_items(self, phase: Phase, wanted: list[Answered]) -> dict[str, Item]:
        ids = list(dict.fromkeys(row.id for row in wanted))
        there = importing.items_of(self._db, phase.id, ids)
        gold = {row.id: _gold(row) for row in wanted} if phase.kind in GOLD_KINDS else {}
        fresh = {post: gold.get(post) for post in ids if post not in there}
        if phase.name not in self._after:
            self._after[phase.name] = importing.last_position(self._db, phase.id)
        importing.add_items(self._db, phase, fresh, after=self._after[phase.name])
        self._after[phase.name] += len(fresh)
        return importing.items_of(self._db, phase.id, ids) if fresh else there

    def _add_answers(
        self, phase: Phase, wanted: list[Answered], found: dict[str, Item], done: Placed
    ) -> dict[str, list[Annotation]]:
        """Add the answers of a phase and return them by post."""
        taken = importing.answered(self._db, [item.id for item in found.values()])
        room = {item.id: item.room for item in found.values()}
        incoming: list[importing.Incoming] = []
        made: dict[str, list[Annotation]] = {}
        for row in wanted:
            item = found[row.id]
            for given in row.given:
                annotation = self._annotation(row, given, phase)
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
                incoming.append(importing.Incoming(item.id, annotation))
                made.setdefault(row.id, []).append(annotation)
                self._count(phase, annotation)
                done.people.add(given.annotator)
        importing.add_answers(self._db, phase, incoming)
        done.answers += len(incoming)
        return made

    def _annotation(self, row: Answered, given: Given, phase: Phase) -> Annotation:
        versions = {guideline.version for guideline in self._plan.scheme.guidelines}
        return Annotation(
            id=new_id(),
            post=row.id,
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
        wanted: list[Answered],
        found: dict[str, Item],
        made: Mapping[str, Sequence[Annotation]],
        done: Placed,
    ) -> None:
        """Write the file's verdicts; where it has none, the project's rules settle what became full."""
        if phase.kind in GOLD_KINDS or not phase.in_corpus:
            return
        full = importing.close_full(self._db, phase, [found[row.id].id for row in wanted])
        told = {row.id: row for row in wanted if row.settled}
        for row in told.values():
            found_verdicts = list(_verdicts(row, made.get(row.id, ())))
            verdicts.add_settled(
                self._db,
                [(verdict, self._by) for verdict in found_verdicts],
                self._plan.scheme,
                project=self._plan.project.id,
                post=row.id,
            )
            done.settled += len(found_verdicts)
        for item in full:
            if item.post in told:
                items.mark(self._db, item.id, "settled")
            else:
                adjudicate.settle_item(self._db, self._plan.project, phase, item, self._plan.scheme)


def _fitted(row: Answered, plan: Plan) -> Answered:
    """Return a row with labels spelt as the scheme spells them; what does not fit is refused by its place."""
    if len(row.text or "") > MOST_TEXT:
        raise UserError(f"{row.place} has a text of {len(row.text or ''):,} characters; at most {MOST_TEXT:,}.")
    if not row.id or len(row.id) > 200:
        raise UserError(f"{row.place} has an id of {len(row.id)} characters; it takes 1 to 200.")
    for value in (row.id, row.text or "", *row.known.values()):
        _storable(value, row.place)
    moment(row.collected_at, row.place)
    parent = None if row.parent is None else plan.prefix + row.parent
    row = replace(row, id=plan.prefix + row.id, parent=parent)
    given = () if plan.posts_only else tuple(_fitted_answer(row, it, plan) for it in row.given)
    for it in given or (None,):
        plan.phase_of(row, it)
    settled = {}
    for name, verdict in row.settled.items():
        labels = _spelt(plan.scheme, {name: verdict.labels}, row.place).get(name)
        if labels is not None:
            settled[name] = replace(verdict, labels=labels)
            _refuse(plan.scheme.faults({**{k: v.labels for k, v in settled.items()}}), row.place, verdict=True)
    return replace(row, given=given, settled=settled)


def _storable(value: str, place: str) -> None:
    if "\0" in value:
        raise UserError(f"{place} has a NUL character (U+0000). Remove it and try again.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(f"{place} has half of a surrogate pair, so it is not Unicode. Write the file again.") from None


def _fitted_answer(row: Answered, given: Given, plan: Plan) -> Given:
    name = given.annotator.strip()
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise UserError(f"{row.place}: an annotator's name has 1 to {MOST_NAME} printable characters.")
    _storable(given.annotator, row.place)
    _storable(given.comment or "", row.place)
    if len(given.comment or "") > MOST_COMMENT:
        raise UserError(f"{row.place}: a comment has more than {MOST_COMMENT:,} characters.")
    answers = _spelt(plan.scheme, given.answers, row.place)
    if "refused" in given.flags and answers:
        raise UserError(f"{row.place}: a refused post has no answers.")
    if "refused" not in given.flags and not answers:
        raise UserError(f"{row.place}: {name!r} answers no question of scheme {plan.scheme.name!r}.")
    _refuse(plan.scheme.faults(answers), row.place)
    asked = {k: v for k, v in answers.items() if plan.scheme.question(k).derived is None}
    return replace(given, annotator=name, answers=asked)


def _spelt(scheme: Scheme, answers: Answers, place: str) -> dict[str, tuple[str, ...]]:
    """Return answers in the scheme's own spelling; those that say "does not apply" are left out."""
    found: dict[str, tuple[str, ...]] = {}
    for name, labels in answers.items():
        try:
            question = scheme.question(name)
        except KeyError:
            asked = ", ".join(it.name for it in scheme.questions)
            raise UserError(
                f"{place}: scheme {scheme.name!r} has no question {name[:40]!r}; it asks {asked}."
            ) from None
        kept = []
        for label in labels:
            if label not in question.label_names and question.is_absent(label):
                continue
            try:
                kept.append(label if label in question.label_names else question.label(label).name)
            except KeyError:
                kept.append(label)
        if kept or not labels:
            found[name] = tuple(dict.fromkeys(kept))
    return found


def _refuse(faults: Sequence[str], place: str, *, verdict: bool = False) -> None:
    if faults and verdict:  # a verdict on one question may come without those above it
        faults = [line for line in faults if "applies only where" not in line and "belongs under" not in line]
    if faults:
        raise UserError(f"{place}: {faults[0]}")


def _verdicts(row: Answered, made: Sequence[Annotation]) -> Iterator[Verdict]:
    for name, settled in row.settled.items():
        rests_on = tuple(it.id for it in made if name in it.answers)
        shared = settled.basis in ("unanimous", "majority")
        basis = "published" if shared and len(rests_on) < 2 else settled.basis
        yield Verdict(row.id, name, settled.labels, basis, rests_on if shared else (), settled.reason)


def _gold(row: Answered) -> dict[str, list[str]] | None:
    return {name: list(settled.labels) for name, settled in row.settled.items()} or None


def _columns(row: Answered) -> dict[str, Any]:
    meta = json.dumps(dict(row.meta), ensure_ascii=False) if row.meta else None
    return {"id": row.id, "text": row.text, **{name: getattr(row, name) for name in POST_FIELDS}, "meta": meta}
