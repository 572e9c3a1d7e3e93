"""Open a round in a project, its phase, targets and rules in one transaction, and give it texts to start from.

A project and targets by name in, an open round out. Targets are pinned to their version: a detector that is renewed
while a round runs does not change what people write against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from davy.annotation.project import phase_gates
from davy.annotation.project.phase_gates import GateReason, OpenPhase
from davy.annotation.project.project import Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, posts
from davy.core import UserError
from davy.core.answers import GOLD, parse_cell
from davy.detectors import store as detectors
from davy.detectors.load import load
from davy.detectors.registered import register_detector
from davy.detectors.store import RegisteredDetector
from davy.rounds.round import EntryRules, Round, RoundGoals
from davy.rounds.store import round_seeds, rounds
from davy.store import Connection, Store

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Question
    from davy.rounds.round import TargetPrediction

KIND = "round"

SEED_KINDS: tuple[str, ...] = ("seed", "news")


def why_open(work: OpenPhase) -> GateReason | None:
    """Return why a round's phase stays open: while people may enter, there is always more to come."""
    round_ = rounds.by_phase(work.db, work.phase.id)
    if round_ is not None and round_.state == "open":
        return GateReason("round_open", {"n": round_.number})
    return phase_gates.posts_settled(work)


def open_round(
    db: Connection,
    project: Project,
    *,
    targets: Sequence[str],
    by: str,
    name: str | None = None,
    rules: EntryRules | None = None,
    goals: RoundGoals | None = None,
    anyway: str | None = None,
    accept_worse: bool = False,
) -> Round:
    """Add a round and its phase to a project and open both; return the round.

    `targets` are detectors as name@version that answer the scheme's first question. `anyway` is the reason to open it
    although an earlier phase says not yet. `accept_worse` takes a target that is worse than the one that it replaced.
    """
    scheme = scheme_of(db, project)
    number = 1 + len(rounds.of_project(db, project.id))
    # A phase has at most 40 characters, and a round may share its name with one that is there.
    title = (name or "").strip() or f"Round {number}"
    if len(title) > 80:
        raise UserError(f"A round's name has at most 80 characters, this one has {len(title)}.")
    if current := rounds.current(db, project.id):
        raise UserError(
            f"Round {current.number} is {current.state}. Close it first: davy round close {project.id}", status=409
        )
    worse = worse_targets(rounds.of_project(db, project.id))
    if (named := next((it for it in targets if it in worse), None)) and not accept_worse:
        raise UserError(
            f"{named} is worse than the target before it: {'; '.join(worse[named])}. "
            "Take it all the same: --accept-worse. Or name another target.",
            status=409,
        )
    taken = {phase.name for phase in phases.of_project(db, project.id)}
    phase_name = next(
        it for it in (f"round {number}", *(f"round {number}-{n}" for n in range(2, 99))) if it not in taken
    )
    phase = phases.add(db, project.id, name=phase_name, kind=KIND, answers=3, in_corpus=True, settings={}, by=by)
    phase_gates.open_phase(db, project, phase, by=by, anyway=anyway)
    try:
        return rounds.add(
            db,
            project.id,
            name=title,
            phase=phase.id,
            question=scheme.questions[0].name,
            targets=targets,
            rules=rules,
            goals=goals,
            by=by,
        )
    except ValueError as error:
        raise UserError(f"The round can't be opened: {error}.") from None


def worse_targets(every: Sequence[Round]) -> dict[str, list[str]]:
    """Return the targets of closed rounds that are worse than the one they replaced, each with where, in words."""
    closed = [it.outcome for it in every if it.outcome.get("worse")]
    return {str(it["target"]): [worse_line(each) for each in it["worse"]] for it in closed}


def worse_line(where: Mapping[str, Any]) -> str:
    """Return in words where a new target is worse than the one that it replaces."""
    return f"{where['now']:.3f} on {where['on']}, {where['then']:.3f} before"


def find_target(store: Store, wanted: str, question: str, *, by: str) -> str:
    """Return a target as name@version; one that the server does not know is loaded and registered as a shadow.

    `wanted` is a name or name@version that the server knows, or whatever `--model` takes: a folder, an embedded
    detector, `url:http…`.
    """
    with store.read() as db:
        known = detectors.list_detectors(db)
    entry = _registered(known, wanted) or _register(store, known, wanted, by=by)
    if question not in entry.questions:
        raise UserError(
            f"{entry.full_name} does not answer {question!r}, so it can't be fooled on it; "
            f"it answers {', '.join(entry.questions)}."
        )
    return entry.full_name


def _registered(known: Sequence[RegisteredDetector], wanted: str) -> RegisteredDetector | None:
    live = [entry for entry in known if entry.state != "retired"]
    exact = [entry for entry in live if wanted == entry.full_name]
    named = [entry for entry in live if wanted == entry.name]
    return next(iter([*exact, *(it for it in named if it.state == "active"), *reversed(named)]), None)


def _register(store: Store, known: Sequence[RegisteredDetector], wanted: str, *, by: str) -> RegisteredDetector:
    scorer = load(wanted)
    same = [entry for entry in known if (entry.name, entry.version) == (scorer.name, scorer.version)]
    if not same:
        return register_detector(store, wanted, by=by, shadow=True)
    if same[0].state == "retired":
        raise UserError(f"{same[0].full_name} is retired. Use it again first: davy model activate {same[0].full_name}")
    return same[0]


def wrong_rows(frame: pl.DataFrame, predictions: Sequence[Sequence[TargetPrediction]], question: Question) -> list[int]:
    """Return the rows that the first target gets wrong; without a gold column, a sentence counts as harmless."""
    column = f"{question.name}{GOLD}"
    cells = frame[column].to_list() if column in frame.columns else [None] * len(frame)
    harmless = question.no or question.label_names[0]
    right = [(parse_cell(cell, question) or (harmless,))[0] for cell in cells]
    return [
        row for row, (label, answers) in enumerate(zip(right, predictions, strict=True)) if answers[0].label != label
    ]


def add_seeds(
    db: Connection,
    round_: Round,
    support: str,
    frame: pl.DataFrame,
    predictions: Sequence[Sequence[TargetPrediction]],
    *,
    by: str,
) -> int:
    """Add the posts of a frame to a project and offer them in a round; return how many are new in it."""
    if not len(frame):
        return 0
    posts.ensure(db, frame, project=round_.project, by=by)
    ids = [str(post) for post in frame["id"]]
    return round_seeds.add(db, round_, support, list(zip(ids, predictions, strict=True)), by=by)
