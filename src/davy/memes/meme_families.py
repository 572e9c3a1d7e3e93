"""A hateful meme with its confounders, the kinds of all memes of a project, and how far they are.

What was settled about each meme and what people answered for each side go in; `core.meme` gives the kind. A side is
flipped only once its confounder is settled as harmless; if people still call the confounder hateful, or drop it, the
side is open again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from davy.annotation.exchange.store.export_rows import ExportedPost
from davy.annotation.labelling.store import items
from davy.annotation.project.project import Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases
from davy.annotation.settling.store import phase_answers
from davy.core import Question, Scheme, UserError
from davy.core.meme import DISCARDS, FLIPPED, NOTHING_FLIPS, SIDES, meme_kind
from davy.memes.store import meme_steps
from davy.memes.store.meme_steps import MemeStep, RatedMeme
from davy.store import Connection, events

PAPER_MINUTES = 27.0
"""Minutes that people spent for each final meme of Hateful Memes, over all phases (section 2)."""


@dataclass(frozen=True, slots=True)
class MemePhases:
    """The phases of a project that memes go through; None where it has none of that kind."""

    filter: Phase | None = None
    build: Phase | None = None
    rating: Phase | None = None
    confounders: Phase | None = None

    @property
    def present(self) -> list[Phase]:
        """Those that it has, in the order of the work."""
        return [phase for phase in (self.filter, self.build, self.rating, self.confounders) if phase is not None]


@dataclass(frozen=True, slots=True)
class MemeSide:
    """What people answered for one side of a hateful meme, and the confounder where there is one."""

    side: str
    answer: str | None = None
    """What they answered last."""
    confounder: RatedMeme | None = None
    holds: bool = False
    """Whether the answer stands: always, but for a confounder that is not settled as harmless."""
    failed: bool = False
    """Whether its confounder was settled as hateful, or dropped, so that another one is wanted."""


@dataclass(frozen=True, slots=True)
class MemeFamily:
    """A meme in the middle, its two sides beside it, and its kind; None until it is settled."""

    meme: RatedMeme
    sides: Mapping[str, MemeSide]
    kind: str | None
    hateful: bool | None

    @property
    def open_sides(self) -> list[str]:
        """The sides that still want an answer."""
        return [name for name, side in self.sides.items() if side.answer is None or side.failed]


def meme_phases(db: Connection, project: Project) -> MemePhases:
    """Return the phases that a project's memes go through, the first of each kind."""
    return _meme_phases(db, project.id)


def fed_phases(db: Connection, project_id: str) -> set[str]:
    """Return the phases that get more memes: from an earlier phase that is not closed, or as ratings settle."""
    known = _meme_phases(db, project_id)
    pairs = ((known.filter, known.build), (known.build, known.rating), (known.confounders, known.rating))
    fed = {phase.id for source, phase in pairs if source and phase and source.state != "closed"}
    if known.confounders and known.rating:
        states = phase_answers.count_states(db, known.rating.id)
        unrated = known.build is not None and known.build.state != "closed"
        if unrated or states.get("open") or states.get("full"):
            fed.add(known.confounders.id)
    return fed


def _meme_phases(db: Connection, project_id: str) -> MemePhases:
    by_task: dict[str, Phase] = {}
    for phase in phases.of_project(db, project_id):
        kind = phase.behaviour
        name = kind.task or ("rating" if kind.rates_memes else None)
        if name is not None:
            by_task.setdefault(name, phase)
    return MemePhases(**by_task)


def deciding_question(scheme: Scheme) -> Question:
    """Return the yes/no question whose yes makes a meme hateful: the first one of the scheme."""
    question = next((it for it in scheme.questions if it.positive is not None), None)
    if question is None:
        raise UserError(f"Scheme {scheme.name!r} has no yes/no question, so no meme of it is hateful or not.")
    return question


def waiting_hateful(db: Connection, project: Project, phase: Phase) -> bool:
    """Return whether memes were settled as hateful that do not stand in this open phase of confounders yet."""
    rating = (
        meme_phases(db, project).rating if phase.behaviour.task == "confounders" and phase.state == "open" else None
    )
    if rating is None:
        return False
    asked = deciding_question(scheme_of(db, project))
    return bool(meme_steps.hateful_without_item(db, rating, phase, question=asked.name, positive=str(asked.positive)))


def add_hateful(db: Connection, project: Project, phase: Phase) -> int:
    """Let the memes that were settled as hateful since wait in the phase of confounders; return how many.

    One whose confounder turned out to be hateful waits there again, for somebody else.
    """
    rating = meme_phases(db, project).rating
    if phase.behaviour.task != "confounders" or rating is None:
        return 0
    asked = deciding_question(scheme_of(db, project))
    fresh = meme_steps.hateful_without_item(db, rating, phase, question=asked.name, positive=str(asked.positive))
    n = meme_steps.enqueue(db, phase, fresh, by=events.SYSTEM) if fresh else 0
    for key in meme_steps.failed_parents(db, rating, phase, question=asked.name, harmless=str(asked.no)):
        if family_of(db, project, key).open_sides:
            items.offer_again(db, phase.id, key)
    return n


def family_of(db: Connection, project: Project, key: str) -> MemeFamily:
    """Return a meme of the rating phase, by its post's key, with its confounders."""
    rating = meme_phases(db, project).rating
    asked = deciding_question(scheme_of(db, project))
    memes = meme_steps.rated_memes(db, rating, asked.name, only=[key]) if rating else []
    if rating is None or not memes:
        raise UserError("There is no such meme in this project.", status=404)
    steps = meme_steps.of_post(db, key)
    made = [it.made for it in steps if it.made is not None and it.step in SIDES]
    others = meme_steps.rated_memes(db, rating, asked.name, only=made) if made else []
    own = meme_steps.made_by(db, key)
    side = own.step if own is not None and own.step in SIDES else None
    return _family(memes[0], asked, steps, {it.key: it for it in others}, side)


def families(db: Connection, project: Project) -> list[MemeFamily]:
    """Return every meme of a project's rating phase that is no confounder, with its own, in their order."""
    memes, asked, steps = _all(db, project)
    by_key = {it.key: it for it in memes}
    confounders = {it.made for it in steps if it.step in SIDES}
    of_post = _by_post(steps)
    return [_family(it, asked, of_post.get(it.key, ()), by_key, None) for it in memes if it.key not in confounders]


def kinds_of(db: Connection, project: Project) -> dict[str, str]:
    """Return the kind of every settled meme of a project, by the key of its post; nothing for a project without any."""
    found = meme_phases(db, project)
    if found.rating is None or found.confounders is None:
        return {}
    memes, asked, steps = _all(db, project)
    by_key = {it.key: it for it in memes}
    sides = {it.made: it.step for it in steps if it.step in SIDES and it.made}
    of_post = _by_post(steps)
    kinds = ((it.key, _family(it, asked, of_post.get(it.key, ()), by_key, sides.get(it.key)).kind) for it in memes)
    return {key: kind for key, kind in kinds if kind is not None}


def meme_facts(db: Connection, project: Project) -> dict[str, dict[str, Any]]:
    """Return the kind of each settled meme, by its post's key, and minutes of work by phase, without its ratings'.

    Minutes of the filter and the build are those of the source meme that it came from.
    """
    kinds = kinds_of(db, project)
    if not kinds:
        return {}
    steps = meme_steps.of_project(db, project.id)
    source = {it.made: it.post for it in steps if it.made and it.step == "build"}
    spent: dict[str, dict[str, float]] = {}
    for step in steps:
        name = "confounders" if step.step in SIDES else step.step
        own = spent.setdefault(step.post, {})
        own[name] = own.get(name, 0.0) + (step.seconds or 0.0)
    facts: dict[str, dict[str, Any]] = {}
    newest = {(step.post, step.step): step.result for step in steps if step.step in SIDES}
    for key, kind in kinds.items():
        seconds = {**spent.get(source.get(key, ""), {}), **spent.get(key, {})}
        facts[key] = {"kind": kind, "minutes": {name: round(n / 60, 2) for name, n in seconds.items()}}
        # No picture flips what its text says, and the other way round.
        alone = [
            other for other, side in zip(SIDES[::-1], SIDES, strict=True) if newest.get((key, side)) == NOTHING_FLIPS
        ]
        facts[key] |= {"hateful_alone": alone} if alone else {}
    return facts


def export_facts(db: Connection, project: Project) -> Callable[[ExportedPost], Mapping[str, Any]]:
    """Return what gives a settled meme's kind and the minutes of work on it by phase; nothing for other posts."""
    facts = meme_facts(db, project)

    def facts_of(post: ExportedPost) -> Mapping[str, Any]:
        own = facts.get(post.key)
        if own is None:
            return {}
        rated = [it.seconds for it in post.annotations if it.seconds is not None]
        return {**own, "minutes": own["minutes"] | ({"rating": round(sum(rated) / 60, 2)} if rated else {})}

    return facts_of


def count_kinds(kinds: Mapping[str, str]) -> Counter[str]:
    """Return how many memes there are of each kind."""
    return Counter(kinds.values())


def _all(db: Connection, project: Project) -> tuple[list[RatedMeme], Question, list[MemeStep]]:
    rating = meme_phases(db, project).rating
    asked = deciding_question(scheme_of(db, project))
    memes = meme_steps.rated_memes(db, rating, asked.name) if rating else []
    return memes, asked, meme_steps.of_project(db, project.id)


def _by_post(steps: Iterable[MemeStep]) -> dict[str, list[MemeStep]]:
    found: dict[str, list[MemeStep]] = {}
    for step in steps:
        found.setdefault(step.post, []).append(step)
    return found


def _family(
    meme: RatedMeme, asked: Question, steps: Iterable[MemeStep], by_key: Mapping[str, RatedMeme], side: str | None
) -> MemeFamily:
    """Return a meme's family from its own steps; `side` is what it replaces where it is a confounder itself."""
    newest = {step.step: step for step in steps if step.step in SIDES}
    sides = {name: _side(name, newest.get(name), asked, by_key) for name in SIDES}
    if meme.label is None:
        return MemeFamily(meme, sides, None, None)
    hateful = meme.label == asked.positive
    answers = {name: it.answer if it.holds else None for name, it in sides.items()}
    return MemeFamily(meme, sides, meme_kind(hateful, side=side, **answers), hateful)


def _side(name: str, step: MemeStep | None, asked: Question, by_key: Mapping[str, RatedMeme]) -> MemeSide:
    if step is None:
        return MemeSide(name)
    if step.result != FLIPPED:
        return MemeSide(name, step.result, holds=True)
    confounder = by_key.get(step.made or "")
    harmless = confounder is not None and confounder.label is not None and confounder.label != asked.positive
    gone = confounder is None or confounder.state == "dropped"
    failed = gone or (confounder is not None and confounder.label == asked.positive)
    return MemeSide(name, step.result, confounder, holds=harmless, failed=failed)


@dataclass(frozen=True, slots=True)
class MemePhaseProgress:
    """One phase: memes that wait, that are done and that were dropped, and the seconds that people spent."""

    phase: Phase
    step: str
    """filter, build, rating or confounders."""
    waiting: int
    done: int
    dropped: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MemeProgress:
    """All phases. `settled` are the memes whose label is settled: the ones that minutes are counted for."""

    phases: tuple[MemePhaseProgress, ...]
    discarded: Mapping[str, int]
    """Why source memes were discarded (`core.meme.DISCARDS`), with how many."""
    settled: int

    def minutes(self, phase: MemePhaseProgress | None = None) -> float | None:
        """Return minutes of work for each settled meme, in one phase or in all; None before any is settled."""
        seconds = sum(it.seconds for it in self.phases) if phase is None else phase.seconds
        return seconds / 60 / self.settled if self.settled else None


def meme_progress(db: Connection, project: Project) -> MemeProgress:
    """Return how far a project's memes are; without phases where it has none for memes."""
    meme_kinds = meme_phases(db, project)
    ids = [phase.id for phase in meme_kinds.present]
    states, seconds = meme_steps.item_states(db, ids), meme_steps.seconds_of(db, ids)
    results = meme_steps.count_results(db, project.id)
    rows = tuple(
        MemePhaseProgress(
            phase,
            phase.behaviour.task or "rating",
            waiting=states.get((phase.id, "open"), 0) + states.get((phase.id, "full"), 0),
            done=states.get((phase.id, "settled"), 0),
            dropped=states.get((phase.id, "dropped"), 0),
            seconds=seconds.get(phase.id, (0.0, 0))[0],
        )
        for phase in meme_kinds.present
    )
    settled = next((row.done for row in rows if row.step == "rating"), 0)
    return MemeProgress(rows, {why: results.get(("filter", why), 0) for why in DISCARDS}, settled)
