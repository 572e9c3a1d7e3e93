"""The candidates for the next target, and which of them is chosen.

Architectures, ways to read emoji and factors in, a grid of candidates out; their counts by split and round in, the
winner by weighted accuracy out: half on this round, half on all prior rounds pooled. The paper chooses on its test
parts. A test part that chose can't measure any more, so dev chooses here; the table also names test's choice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from davy.core import Metric
from davy.core.errors import UserError, nearest
from davy.measure.intervals import proportion
from davy.report import Column, Table

EMOJI: tuple[str, ...] = ("tokens", "names", "leave")
"""Each emoji a token of its own; its Unicode name in words, as BERTweet reads it; as the tokenizer finds it."""
TIMES: tuple[int, ...] = (1, 5, 10, 100)
"""How often an entry of the round stands in an epoch: the paper's multipliers."""
BASE = "tfidf"
"""The architecture of the base install: n-grams and a regression, which train in seconds without torch."""
MOST_TIMES = 1000

CHOOSE_BY: tuple[str, ...] = ("dev", "test")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model to try: `tfidf`, or an encoder by folder or hub name."""

    architecture: str
    emoji: str
    times: int

    @property
    def kind(self) -> str:
        """What `davy train` calls it."""
        return BASE if self.architecture == BASE else "transformer"

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{Path(self.architecture).name}, emoji {self.emoji}, ×{self.times}"

    @property
    def slug(self) -> str:
        """What its folder is called."""
        plain = re.sub(r"[^a-z0-9]+", "-", Path(self.architecture).name.lower()).strip("-")
        return f"{plain}-{self.emoji}-{self.times}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def make_grid(
    architectures: Sequence[str], emoji: Sequence[str] = EMOJI, times: Sequence[int] = TIMES
) -> tuple[Candidate, ...]:
    """Return every combination, the plainest first. N-grams hold emoji as they are, so `tfidf` is tried one way."""
    for way in emoji:
        if way not in EMOJI:
            raise UserError(f"Emoji are read as {', '.join(EMOJI)}, not as {way!r}.{nearest(way, list(EMOJI))}")
    for each in times:
        if not 1 <= each <= MOST_TIMES:
            raise UserError(f"A round can count 1 to {MOST_TIMES} times, not {each}.")
    if not architectures or not emoji or not times:
        raise UserError(
            "A round is closed with one candidate at least: an architecture, a way to read emoji, a factor."
        )
    grid = tuple(
        Candidate(architecture, way, each)
        for architecture in dict.fromkeys(architectures)
        for way in (("leave",) if architecture == BASE else tuple(dict.fromkeys(emoji)))
        for each in dict.fromkeys(times)
    )
    slugs = [candidate.slug for candidate in grid]
    if len(set(slugs)) < len(slugs):
        raise UserError("Two architectures have the same last name. Name folders whose last parts differ.")
    return grid


@dataclass(frozen=True, slots=True)
class YesNoCounts:
    """How often a detector said yes and no, rightly and wrongly."""

    true_yes: int = 0
    false_yes: int = 0
    false_no: int = 0
    true_no: int = 0

    def __add__(self, other: YesNoCounts) -> YesNoCounts:
        return YesNoCounts(*(a + b for a, b in zip(self.cells, other.cells, strict=True)))

    @property
    def cells(self) -> tuple[int, int, int, int]:
        return (self.true_yes, self.false_yes, self.false_no, self.true_no)

    @property
    def n(self) -> int:
        return sum(self.cells)

    @property
    def accuracy(self) -> Metric:
        return proportion("accuracy", self.true_yes + self.true_no, self.n, undefined="no posts")

    @property
    def f1(self) -> float | None:
        """The F1 of yes; None where nobody said yes and nothing is."""
        asked = 2 * self.true_yes + self.false_yes + self.false_no
        return 2 * self.true_yes / asked if asked else None


Measured = Mapping[str, Mapping[str, YesNoCounts]]
"""Split → round → counts."""


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """What a candidate came to: its model and its counts, or why it failed."""

    candidate: Candidate
    model: str = ""
    version: str = ""
    seconds: float = 0.0
    measured: Measured = field(default_factory=dict)
    error: str = ""

    def measured_on(self, split: str) -> int:
        """Return on how many posts of a part it was measured."""
        return pooled(self.measured.get(split, {})).n

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**asdict(self), "measured": measured_record(self.measured)}

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> CandidateResult:
        """Return what `to_dict` wrote."""
        return CandidateResult(
            Candidate(**record["candidate"]),
            record["model"],
            record["version"],
            record["seconds"],
            read_measured(record["measured"]),
            record["error"],
        )


def measured_record(measured: Measured) -> dict[str, dict[str, list[int]]]:
    """Return counts as JSON has them."""
    return {split: {name: list(each.cells) for name, each in parts.items()} for split, parts in measured.items()}


def read_measured(record: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, dict[str, YesNoCounts]]:
    """Return what `measured_record` wrote."""
    return {split: {name: YesNoCounts(*cells) for name, cells in parts.items()} for split, parts in record.items()}


def pooled(parts: Mapping[str, YesNoCounts], names: Sequence[str] | None = None) -> YesNoCounts:
    """Return the counts of several rounds as of one set of posts."""
    total = YesNoCounts()
    for name, each in parts.items():
        if names is None or name in names:
            total += each
    return total


def weighted_accuracy(parts: Mapping[str, YesNoCounts], this: str) -> float | None:
    """Return the mean of the accuracy on this round and on all others pooled; the one there is, where one is empty."""
    own = parts.get(this, YesNoCounts()).accuracy.value
    prior = pooled(parts, [name for name in parts if name != this]).accuracy.value
    if own is None or prior is None:
        return prior if own is None else own
    return (own + prior) / 2


def choose(results: Sequence[CandidateResult], this: str, *, by: str = "dev") -> CandidateResult | None:
    """Return the candidate with the highest weighted accuracy, the plainer of two equal ones; None without figures."""
    if by not in CHOOSE_BY:
        raise UserError(f"Candidates are chosen by {' or '.join(CHOOSE_BY)}, not by {by!r}.")
    best: CandidateResult | None = None
    highest = -1.0
    for result in results:
        score = None if result.error else weighted_accuracy(result.measured.get(by, {}), this)
        if score is not None and score > highest:
            best, highest = result, score
    return best


def choice_table(
    results: Sequence[CandidateResult],
    this: str,
    *,
    by: str = "dev",
    incumbent: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
) -> Table:
    """Return all candidates with their figures on dev and on test, and who won by which; failures say why.

    `incumbent` are the counts of the round's own target, which stands below them.
    """
    winners = {split: choose(results, this, by=split) for split in CHOOSE_BY}
    columns = [Column("candidate")]
    for split in CHOOSE_BY:
        columns += [Column(f"{split}: weighted", "number"), Column(this, "number"), Column("prior", "number")]
    rows = []
    for result in results:
        cells = _choice_cells(result.measured, this)
        won = " and ".join(split for split, winner in winners.items() if winner is result)
        rows.append((result.candidate.name, *cells, f"failed: {result.error}" if result.error else won))
    if incumbent is not None:
        rows.append(("this round's target", *_choice_cells(read_measured(incumbent), this), ""))
    note = f"Weighted accuracy: half {this}, half prior rounds pooled. Chosen by {by}; what test would choose is shown."
    return Table.of([*columns, Column("best by")], rows, title=f"Candidates after {this}", note=note)


def _choice_cells(measured: Measured, this: str) -> list[Any]:
    """Return weighted accuracy, accuracy on this round and on prior ones, for each part that may choose."""
    cells: list[Any] = []
    for split in CHOOSE_BY:
        parts = measured.get(split, {})
        prior = pooled(parts, [name for name in parts if name != this])
        own = parts.get(this, YesNoCounts())
        cells += [weighted_accuracy(parts, this), own.accuracy.value, prior.accuracy.value]
    return cells


def target_table(targets: Mapping[str, Measured], groups: Mapping[str, Sequence[str]], *, split: str) -> Table:
    """Return each target on every set, as Table 2 has them: accuracy and F1 on groups of rounds pooled, with n.

    `groups` are heads → rounds; a target that was not measured on a group's rounds has no figures there.
    """
    columns = [Column("target")]
    for head in groups:
        columns += [Column(f"{head}: accuracy", "metric"), Column("F1", "number"), Column("n", "count")]
    rows = []
    for name, measured in targets.items():
        parts = measured.get(split, {})
        cells: list[Any] = []
        for names in groups.values():
            total = pooled(parts, names) if all(each in parts for each in names) else YesNoCounts()
            cells += [total.accuracy, total.f1, total.n] if total.n else [None, None, None]
        rows.append((name, *cells))
    return Table.of(columns, rows, title=f"Targets on the {split} parts")
