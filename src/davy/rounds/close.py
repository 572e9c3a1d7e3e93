"""Close a round: split its entries, train the candidates, choose the next target. Started again, it goes on.

Entries and earlier data in; a folder with the data, every candidate's figures and the winner's model out. The data
and its splits are frozen before the first candidate: an attempt after a crash reads them back, so no entry is there
twice and no split changes. A candidate that fails is reported, and the others go on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.answers import GOLD
from davy.core.errors import UserError
from davy.core.scheme import Question, Scheme
from davy.engines.child_process import end_with_parent
from davy.files.atomic import make_folder, write_json
from davy.files.run_folder import RunFolder, open_run_folder
from davy.rounds.candidates import CHOOSE_BY, Candidate, CandidateResult, YesNoCounts, choose, weighted_accuracy

if TYPE_CHECKING:
    import polars as pl

    from davy.core.scorer import Scorer

POSTS = "posts.parquet"
RECORD = "close.json"


@dataclass(frozen=True, slots=True)
class CandidateTask:
    """What the training of one candidate is told. It can be sent to another process."""

    candidate: Candidate
    posts: Path
    """An Arrow file: the frozen posts with `part` (the round's name), `split` and the settled answers."""
    this: str
    multipliers: Mapping[str, int]
    """Round → how often its entries stand in an epoch; this round's is the candidate's."""
    folder: Path
    scheme: Scheme
    question: Question
    name: str
    seed: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    """Fields of the training's config, as text."""


Train = Callable[[CandidateTask], CandidateResult]


@dataclass(frozen=True, slots=True)
class ClosePlan:
    """Which candidates are tried on which round, and how the winner is chosen."""

    this: str
    candidates: tuple[Candidate, ...]
    scheme: Scheme
    question: Question
    multipliers: Mapping[str, int] = field(default_factory=dict)
    name: str = "target"
    choose_by: str = "dev"
    seed: int = 0
    workers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.choose_by not in CHOOSE_BY:
            raise UserError(f"Candidates are chosen by {' or '.join(CHOOSE_BY)}, not by {self.choose_by!r}.")
        if self.workers < 1:
            raise UserError(f"{self.workers} workers train nothing; give 1 or more.")

    def identity(self) -> dict[str, Any]:
        """Return what the outcome depends on; the folder of another plan is not gone on from."""
        return {
            "round": self.this,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "question": self.question.name,
            "multipliers": dict(self.multipliers),
            "choose_by": self.choose_by,
            "seed": self.seed,
            "settings": dict(self.settings),
        }


@dataclass(frozen=True, slots=True)
class CloseOutcome:
    """What closing a round gave."""

    this: str
    folder: Path
    results: tuple[CandidateResult, ...]
    winner: CandidateResult
    by_test: CandidateResult | None
    """What the paper's way, choosing on test, would have taken; None where there is no test part."""
    multipliers: Mapping[str, int]
    choose_by: str = "dev"

    @property
    def posts(self) -> Path:
        """The frozen data with its splits."""
        return self.folder / POSTS

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "round": self.this,
            "chosen_by": self.choose_by,
            "winner": self.winner.to_dict(),
            "by_test": None if self.by_test is None else self.by_test.to_dict(),
            "multipliers": dict(self.multipliers),
            "results": [result.to_dict() for result in self.results],
        }


def close_round(
    out: Path,
    plan: ClosePlan,
    gather: Callable[[], pl.DataFrame],
    train: Train,
    *,
    note: Callable[[str], None] = lambda _: None,
    check: Callable[[], None] = lambda: None,
) -> CloseOutcome:
    """Close a round in the folder `out` and return what came of it; a folder that is complete is only read.

    `gather` gives the posts of this round and of all data so far, with `part`, `split` and settled answers; it is
    called once, whatever happens. `check` is called between candidates and may raise to stop.
    """
    if (out / RECORD).is_file():
        return read_outcome(out, plan.identity())
    make_folder(out)
    with open_run_folder(out / "run", plan.identity()) as run:
        if not run.resumed:
            run.add(check_posts(gather(), plan))
            run.save(results={})
        results = dict(run.progress["results"])
        # One that failed before is tried again: what it lacked may be there by now.
        waiting = [each for each in plan.candidates if results.get(each.slug, {"error": "not tried"})["error"]]
        note(f"{plan.this}: {run.rows:,} posts; {len(waiting)} of {len(plan.candidates)} candidates to train.")
        for result in _train_all([_task(plan, each, run, out) for each in waiting], train, plan.workers, check):
            results[result.candidate.slug] = result.to_dict()
            run.save(results=results)
            note(_line(result, plan))
        done = [CandidateResult.from_dict(results[candidate.slug]) for candidate in plan.candidates]
        outcome = _outcome(out, plan, done)
        run.finish(lambda frames: _write(outcome, frames, plan))
    _remove_losers(outcome)
    return outcome


def check_posts(posts: pl.DataFrame, plan: ClosePlan) -> pl.DataFrame:
    """Return the posts; an id that is there twice, or a round without posts to learn from, is an error."""
    import polars as pl

    twice = posts.filter(pl.struct("part", "id").is_duplicated())
    if len(twice):
        raise UserError(f"Entry {twice['id'][0]!r} is there twice in {twice['part'][0]}. Give every entry once.")
    gold = f"{plan.question.name}{GOLD}"
    posts = posts.filter(pl.col(gold).is_not_null() & pl.col("text").is_not_null())
    own = posts.filter(pl.col("part") == plan.this)
    learnt = posts.filter(pl.col("split") == "train")
    if not len(own.filter(pl.col("split") == "train")) or learnt[gold].n_unique() < 2:
        raise UserError(
            f"{plan.this} has {len(own)} settled entries, too few to train on. Validate more entries, then close it."
        )
    if not len(posts.filter(pl.col("split") == plan.choose_by)):
        raise UserError(f"No post is in the part {plan.choose_by!r}, which chooses the winner. Add entries.")
    return posts


def _task(plan: ClosePlan, candidate: Candidate, run: RunFolder, out: Path) -> CandidateTask:
    folder = out / "candidates" / candidate.slug
    multipliers = {**plan.multipliers, plan.this: candidate.times}
    return CandidateTask(
        candidate,
        run.paths[0].resolve(),
        plan.this,
        multipliers,
        folder,
        plan.scheme,
        plan.question,
        plan.name,
        plan.seed,
        plan.settings,
    )


def _train_all(
    tasks: Sequence[CandidateTask], train: Train, workers: int, check: Callable[[], None]
) -> Iterator[CandidateResult]:
    """Yield each candidate's result as it comes; several processes train side by side where asked for."""
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            check()
            yield _attempt(train, task)
        return
    spawn = get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=spawn, initializer=end_with_parent) as pool:
        futures = [pool.submit(_attempt, train, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
                check()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _attempt(train: Train, task: CandidateTask) -> CandidateResult:
    """Return the result of a training, or why it failed: out of memory, an encoder that is not there, any other."""
    try:
        return train(task)
    except UserError as error:
        return CandidateResult(task.candidate, error=error.message)
    except (ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        return CandidateResult(task.candidate, error=f"{type(error).__name__}: {reason}")


def _outcome(out: Path, plan: ClosePlan, results: Sequence[CandidateResult]) -> CloseOutcome:
    winner = choose(results, plan.this, by=plan.choose_by)
    if winner is None:
        errors = "; ".join(dict.fromkeys(result.error for result in results if result.error))
        raise UserError(f"No candidate could be trained: {errors[:300]}")
    by_test = choose(results, plan.this, by="test")
    multipliers = {**plan.multipliers, plan.this: winner.candidate.times}
    return CloseOutcome(plan.this, out, tuple(results), winner, by_test, multipliers, plan.choose_by)


def _write(outcome: CloseOutcome, frames: Iterable[pl.DataFrame], plan: ClosePlan) -> None:
    """Write the frozen data, then the record, whose presence means that the close completed."""
    import polars as pl

    from davy.files import tables

    tables.write([pl.concat(list(frames))], outcome.posts)
    write_json(outcome.folder / RECORD, {**outcome.to_dict(), "plan": plan.identity()})


def read_outcome(folder: Path, identity: Mapping[str, Any] | None = None) -> CloseOutcome:
    """Return the outcome of a complete close; one of another plan than `identity` is an error."""
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    if identity is not None and record["plan"] != json.loads(json.dumps(identity)):
        known = record["plan"]
        changed = ", ".join(sorted(key for key in {*known, *identity} if known.get(key) != identity.get(key)))
        raise UserError(f"{folder} holds a close with other {changed}. Take the same, or name another folder.")
    by_test = record["by_test"]
    return CloseOutcome(
        record["round"],
        folder,
        tuple(CandidateResult.from_dict(each) for each in record["results"]),
        CandidateResult.from_dict(record["winner"]),
        None if by_test is None else CandidateResult.from_dict(by_test),
        record["multipliers"],
        record["chosen_by"],
    )


def _remove_losers(outcome: CloseOutcome) -> None:
    """Remove the weights of candidates that did not win: a dozen encoders are a gigabyte."""
    for result in outcome.results:
        if result.candidate != outcome.winner.candidate:
            shutil.rmtree(outcome.folder / "candidates" / result.candidate.slug, ignore_errors=True)


def _line(result: CandidateResult, plan: ClosePlan) -> str:
    if result.error:
        return f"{result.candidate.name}: failed ({result.error}); the others go on."
    score = weighted_accuracy(result.measured.get(plan.choose_by, {}), plan.this)
    return (
        f"{result.candidate.name}: {plan.choose_by} {'–' if score is None else f'{score:.3f}'}, {result.seconds:.0f} s"
    )


def measure_posts(scorer: Scorer, posts: pl.DataFrame, question: Question) -> dict[str, dict[str, YesNoCounts]]:
    """Return a scorer's counts on dev and test of each round; labels other than the question's yes are its no."""
    import polars as pl

    found: dict[str, dict[str, YesNoCounts]] = {}
    held = posts.filter(pl.col("split").is_in(list(CHOOSE_BY)))
    for (split, part), rows in held.group_by("split", "part", maintain_order=True):
        found.setdefault(str(split), {})[str(part)] = count_answers(scorer, rows, question)
    return found


def count_answers(scorer: Scorer, posts: pl.DataFrame, question: Question) -> YesNoCounts:
    """Return how often a scorer's answers to the question are right on posts with settled ones."""
    yes = question.positive or question.label_names[-1]
    predicted = [yes in labels for labels in scorer.score(posts).chosen(question.name)]
    gold = [value == yes for value in posts[f"{question.name}{GOLD}"].to_list()]
    pairs = list(zip(gold, predicted, strict=True))
    return YesNoCounts(*(pairs.count(pair) for pair in ((True, True), (False, True), (True, False), (False, False))))
