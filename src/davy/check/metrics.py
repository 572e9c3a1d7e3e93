"""What the outcomes of a run come to: accuracy by cell, emoji difference, pairs, confusions, worst cases.

Outcomes in, `Metric`s out, each with its n and its interval. Cases that do not
apply are counted apart and never as right or wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt

from davy.check.run import SuiteRun
from davy.core import Case, Metric, Outcome, Suite
from davy.measure.intervals import proportion, wilson

ALL = "all"
PARTS: tuple[str, ...] = ("functionality", "set", "label", "target")

Judged = tuple[Case, Outcome]


@dataclass(frozen=True, slots=True)
class Cell:
    """The accuracy on the cases of one functionality, set, label and target; `all` where a part is not split."""

    functionality: str
    set: str
    label: str
    target: str
    accuracy: Metric


def judged_cases(suite: Suite, run: SuiteRun) -> list[Judged]:
    """Return the cases that apply, with their outcomes."""
    return [(case, out) for case, out in zip(suite.cases, run.outcomes, strict=True) if out.applies]


def cells(suite: Suite, run: SuiteRun, parts: Sequence[str] = PARTS) -> Iterator[Cell]:
    """Yield the accuracy of every cell that has cases, for all splits by these parts, the whole first."""
    right: Counter[tuple[str, ...]] = Counter()
    total: Counter[tuple[str, ...]] = Counter()
    masks = [mask for mask in product((False, True), repeat=len(PARTS)) if _within(mask, parts)]
    for case, out in judged_cases(suite, run):
        key = (case.functionality, case.set, case.expected, case.target or "none")
        for mask in masks:
            cell = tuple(value if split else ALL for value, split in zip(key, mask, strict=True))
            total[cell] += 1
            right[cell] += bool(out.correct)
    for cell in sorted(total, key=lambda cell: sum(value != ALL for value in cell)):
        functionality, set_, label, target = cell
        yield Cell(functionality, set_, label, target, proportion("accuracy", right[cell], total[cell]))


def emoji_difference(suite: Suite, run: SuiteRun, functionality: str | None = None) -> Metric:
    """Return accuracy on originals less accuracy on the cases without emoji, with Newcombe's interval.

    Of one functionality it is not defined where removing the emoji flips the label: the two sets then ask for
    different things. Overall it is taken over all of both sets, as the paper does.
    """
    name = "emoji difference"
    pairs = [p for p in judged_cases(suite, run) if functionality is None or p[0].functionality == functionality]
    with_, without = ([p for p in pairs if p[0].set == each] for each in ("original", "no emoji"))
    n = len(with_) + len(without)
    if not with_ or not without:
        return Metric(name, None, n, note="not defined: no cases with and without emoji")
    if functionality is not None and {c.expected for c, _ in with_} != {c.expected for c, _ in without}:
        return Metric(name, None, n, note="not defined: without its emoji a case has the other label")
    return difference(name, _right(with_), len(with_), _right(without), len(without))


def difference(name: str, first: int, n_first: int, second: int, n_second: int) -> Metric:
    """Return the difference of two shares of different items, with Newcombe's interval (1998, method 10)."""
    one, two = first / n_first, second / n_second
    (low1, high1), (low2, high2) = wilson(first, n_first), wilson(second, n_second)
    low = one - two - sqrt((one - low1) ** 2 + (high2 - two) ** 2)
    high = one - two + sqrt((high1 - one) ** 2 + (two - low2) ** 2)
    return Metric(name, one - two, n_first + n_second, max(-1.0, low), min(1.0, high))


def pairs_right(suite: Suite, run: SuiteRun, by: Callable[[Case], str] | None = None) -> dict[str, Metric]:
    """Return the share of pairs whose both sides are right, for all and, with `by`, for each kind of perturbed case."""
    cases = {case.id: case for case in suite.cases}
    outcomes = {out.case: out for out in run.outcomes if out.applies}
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for original, perturbed in suite.links:
        one, other = outcomes.get(original), outcomes.get(perturbed)
        if one is None or other is None:
            continue
        for key in (ALL, by(cases[perturbed])) if by else (ALL,):
            total[key] += 1
            right[key] += bool(one.correct and other.correct)
    return {key: proportion("pairs right", right[key], n) for key, n in total.items()}


def confusions(suite: Suite, run: SuiteRun) -> dict[tuple[str, str], int]:
    """Return how often each expected label got each label, over MFT cases."""
    counts = Counter((case.expected, str(out.label)) for case, out in judged_cases(suite, run) if case.test == "MFT")
    return {(gold, predicted): counts[gold, predicted] for gold in suite.labels for predicted in suite.labels}


def worst_cases(suite: Suite, run: SuiteRun) -> list[Judged]:
    """Return the wrong cases, those that the detector is surest about first; among equals templates take turns."""
    wrong = [(case, out) for case, out in judged_cases(suite, run) if not out.correct]
    yes = suite.labels[0]

    def sureness(out: Outcome) -> float:
        probability = out.probability or 0.0
        return probability if out.label == yes else 1 - probability

    seen: Counter[tuple[float, str | None]] = Counter()
    ranked: list[tuple[float, int, str, Judged]] = []
    for case, out in wrong:
        key = (sureness(out), case.template)
        ranked.append((-key[0], seen[key], case.id, (case, out)))
        seen[key] += 1
    return [pair for _, _, _, pair in sorted(ranked, key=lambda entry: entry[:3])]


def _within(mask: tuple[bool, ...], parts: Sequence[str]) -> bool:
    return all(name in parts for name, split in zip(PARTS, mask, strict=True) if split)


def _right(pairs: Sequence[Judged]) -> int:
    return sum(bool(out.correct) for _, out in pairs)
