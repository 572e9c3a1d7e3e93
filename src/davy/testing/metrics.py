"""What the outcomes of a run come to: accuracy by cell, emoji difference, pairs, confusions, worst cases, fairness.

Outcomes in, `Metric`s out, each with its n and its interval. Cases that do not
apply are counted apart and never as right or wrong. Intervals take the cases of
one template to stand or fall together (`davy.measure.clusters`). For fairness,
only MFT cases that are about somebody count, as in the paper; the numbers are
`davy.measure.fairness`'s, and those between targets are BCa.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from davy.core import Metric
from davy.measure.clusters import cluster_numbers, clustered_difference, clustered_share
from davy.measure.fairness import auc_by_group, between_groups, gap, group_rates
from davy.measure.intervals import Bootstrap
from davy.testing.run import SuiteRun
from davy.testing.suite import DISPUTED, Case, Outcome, Suite

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


def cluster_of(case: Case) -> str:
    """Return the name of the cases that stand or fall with this one: its template or test group, else itself."""
    return case.template or case.id


def cells(suite: Suite, run: SuiteRun, parts: Sequence[str] = PARTS) -> Iterator[Cell]:
    """Yield the accuracy of every cell that has cases, for all splits by these parts, the whole first.

    A cell of all functionalities counts cases with a right label (MFT) alone: an answer that stayed the same (INV) is
    not yet a right one. `passed_by_test` has the others.
    """
    pairs = judged_cases(suite, run)
    clusters = cluster_numbers([cluster_of(case) for case, _ in pairs]).tolist()
    members: dict[tuple[str, ...], list[tuple[bool, int]]] = defaultdict(list)
    masks = [mask for mask in product((False, True), repeat=len(PARTS)) if _within(mask, parts)]
    for (case, out), cluster in zip(pairs, clusters, strict=True):
        key = (case.functionality, case.set, case.expected, case.target or "none")
        for mask in masks:
            if not mask[0] and case.test != "MFT":
                continue
            cell = tuple(value if split else ALL for value, split in zip(key, mask, strict=True))
            members[cell].append((bool(out.correct), cluster))
    for cell in sorted(members, key=lambda cell: sum(value != ALL for value in cell)):
        functionality, set_, label, target = cell
        accuracy = clustered_share("accuracy", *zip(*members[cell], strict=True))
        yield Cell(functionality, set_, label, target, accuracy)


def passed_by_test(
    suite: Suite, run: SuiteRun, by: Callable[[Case], str] | None = None
) -> dict[tuple[str, str], Metric]:
    """Return the share of cases that passed, by kind of test (MFT, INV, DIR) and, with `by`, by a part of the suite."""
    members: dict[tuple[str, str], list[tuple[bool, str]]] = defaultdict(list)
    for case, out in judged_cases(suite, run):
        for part in (ALL, by(case)) if by else (ALL,):
            members[part, case.test].append((bool(out.correct), cluster_of(case)))
    return {key: _share("passed", found) for key, found in members.items()}


def accuracy_after_change(suite: Suite, run: SuiteRun, functionality: str | None = None) -> Metric | None:
    """Return the share of changed cases (INV) that got the label of the case they came from; None without any.

    A detector that is wrong before and after a change has not moved, but is still wrong: this counts it as wrong.
    """
    gold = {case.id: case.expected for case in suite.cases if case.test == "MFT"}
    pairs = [
        (out.label == gold[str(case.pair)], cluster_of(case))
        for case, out in judged_cases(suite, run)
        if case.test == "INV" and case.pair in gold and functionality in (None, case.functionality)
    ]
    return _share("accuracy after the change", pairs) if pairs else None


def failure_rate(passed: Metric | None) -> Metric | None:
    """Return the share that failed, of a share that passed."""
    if passed is None or passed.value is None:
        return passed
    low, high = (None if end is None else 1 - end for end in (passed.high, passed.low))
    return replace(passed, name="failure rate", value=1 - passed.value, low=low, high=high)


def accuracy_by_dispute(suite: Suite, run: SuiteRun) -> dict[bool, Metric]:
    """Return the accuracy on cases that their annotators disagreed on (True) or not; empty where nobody says."""
    members: dict[bool, list[tuple[bool, str]]] = defaultdict(list)
    for case, out in judged_cases(suite, run):
        if DISPUTED in case.meta:
            members[case.meta[DISPUTED] == "yes"].append((bool(out.correct), cluster_of(case)))
    return {disputed: _share("accuracy", found) for disputed, found in members.items()}


def _share(name: str, found: Sequence[tuple[bool, str]]) -> Metric:
    return clustered_share(name, [right for right, _ in found], cluster_numbers([cluster for _, cluster in found]))


@dataclass(frozen=True, slots=True)
class Constant:
    """What a detector would reach that gives every case the same label: the better of the two."""

    label: str
    accuracy: float


def best_constant(suite: Suite, run: SuiteRun) -> Constant | None:
    """Return the best constant answer to the cases that this run judged and that have a right label (MFT)."""
    cases = [case for case, _ in judged_cases(suite, run) if case.test == "MFT"]
    if not cases:
        return None
    right = {label: sum(case.expected == label for case in cases) for label in suite.labels}
    best = max(suite.labels, key=lambda label: right[label])
    return Constant(best, right[best] / len(cases))


def constant_warning(model: str, accuracy: Metric | None, constant: Constant | None) -> str | None:
    """Return a sentence where a detector's accuracy does not beat, or not clearly, the best constant answer."""
    if accuracy is None or accuracy.value is None or constant is None:
        return None
    low = accuracy.value if accuracy.low is None else accuracy.low
    if low > constant.accuracy:
        return None
    how = "is no better than" if accuracy.value <= constant.accuracy else "is not clearly better than"
    return (
        f"{model} {how} always saying {constant.label!r}: it is right in {accuracy.value:.3f} "
        f"[{low:.3f}, {accuracy.high or accuracy.value:.3f}] of the cases, the constant answer in "
        f"{constant.accuracy:.3f}."
    )


def emoji_difference(suite: Suite, run: SuiteRun, functionality: str | None = None) -> Metric:
    """Return accuracy on originals less accuracy on the cases without emoji, with Newcombe's interval by template.

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
    return difference(name, with_, without)


def difference(name: str, first: Sequence[Judged], second: Sequence[Judged]) -> Metric:
    """Return the accuracy on the first cases less that on the second, templates counted once for both."""
    clusters = cluster_numbers([cluster_of(case) for case, _ in (*first, *second)])
    right = [bool(out.correct) for _, out in (*first, *second)]
    cut = len(first)
    return clustered_difference(name, (right[:cut], clusters[:cut]), (right[cut:], clusters[cut:]))


def pairs_right(suite: Suite, run: SuiteRun, by: Callable[[Case], str] | None = None) -> dict[str, Metric]:
    """Return the share of pairs whose both sides are right, for all and, with `by`, for each kind of perturbed case.

    A pair belongs to the template of its original.
    """
    cases = {case.id: case for case in suite.cases}
    outcomes = {out.case: out for out in run.outcomes if out.applies}
    members: dict[str, list[tuple[bool, str]]] = defaultdict(list)
    for original, perturbed in suite.links:
        one, other = outcomes.get(original), outcomes.get(perturbed)
        if one is None or other is None:
            continue
        for key in (ALL, by(cases[perturbed])) if by else (ALL,):
            members[key].append((bool(one.correct and other.correct), cluster_of(cases[original])))
    return {key: _share("pairs right", found) for key, found in members.items()}


def pair_coverage(suite: Suite) -> list[tuple[str, str, int, int]]:
    """Return for each functionality and set of perturbed cases how many there are, and how many have an original."""
    linked = {perturbed for _, perturbed in suite.links}
    perturbed = [case for case in suite.cases if case.set and case.set != "original"]
    every = Counter((case.functionality, case.set) for case in perturbed)
    paired = Counter((case.functionality, case.set) for case in perturbed if case.id in linked)
    return [(*key, n, paired[key]) for key, n in sorted(every.items())]


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


RATES: tuple[str, ...] = ("accuracy", "precision", "recall", "fpr", "fnr", "selection_rate")
RATE_TITLES: dict[str, str] = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "fpr": "false positive rate",
    "fnr": "false negative rate",
    "selection_rate": "selection rate",
}


@dataclass(frozen=True, slots=True)
class Fairness:
    """Figures of one run by target. `true_rate` is the share of each target's cases whose right label is yes."""

    by_target: dict[str, dict[str, Metric]]
    between: dict[str, Metric]
    auc: dict[str, dict[str, Metric]]
    true_rate: dict[str, float]

    def gap(self, rate: str) -> tuple[str, str, float] | None:
        """Return the target with the highest rate, the one with the lowest, and how far they are apart."""
        return gap({name: rates[rate].value for name, rates in self.by_target.items()})


def measure_fairness(suite: Suite, run: SuiteRun, *, bootstrap: Bootstrap | None = None) -> Fairness | None:
    """Return the figures by target, or None where fewer than two targets have cases."""
    pairs = [(case, out) for case, out in judged_cases(suite, run) if case.test == "MFT"]
    yes = suite.labels[0]
    aimed = [(case, out) for case, out in pairs if case.target]
    if len({case.target for case, _ in aimed}) < 2:
        return None
    gold = [case.expected == yes for case, _ in aimed]
    predicted = [out.label == yes for _, out in aimed]
    groups = [case.target for case, _ in aimed]
    clusters = cluster_numbers([cluster_of(case) for case, _ in aimed])
    rates = group_rates(gold, predicted, groups, clusters=clusters)
    every = auc_by_group(
        [case.expected == yes for case, _ in pairs],
        [out.probability or 0.0 for _, out in pairs],
        [case.target for case, _ in pairs],
        bootstrap=bootstrap,
        clusters=cluster_numbers([cluster_of(case) for case, _ in pairs]),
    )
    corrected = replace(bootstrap or Bootstrap(), method="bca")
    between = between_groups(gold, predicted, groups, bootstrap=corrected, clusters=clusters)
    counts = {
        name: [g for g, group in zip(gold, groups, strict=True) if name in str(group).split("|")] for name in rates
    }
    return Fairness(
        by_target={name: {metric.name: metric for metric in found} for name, found in rates.items()},
        between={metric.name: metric for metric in between},
        auc={name: {metric.name: metric for metric in found} for name, found in every.items()},
        true_rate={name: sum(found) / len(found) for name, found in counts.items()},
    )
