"""Does a detector treat the groups that it reads about alike? And any metric, split by group.

Gold and predicted yes/no, and for each item the group or groups it is about, in; figures for each group and between
groups out. Ratios are the lowest group's rate over the highest's (1 is parity), as fairlearn defines them. A group
without gold negatives has no false positive rate and is left out of that ratio. A cell that names several groups
(`women|black people`) counts in each of them; an empty one in none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from davy.core import Metric, UserError
from davy.core.errors import nearest
from davy.measure.clusters import clustered_share
from davy.measure.columns import is_missing, to_flags
from davy.measure.intervals import Bootstrap, Floats, Ints, distinct_rows
from davy.measure.ranking import Ranked, check_scores
from davy.measure.ratings import split_labels

if TYPE_CHECKING:
    import polars as pl


def memberships(cells: Sequence[str | None]) -> dict[str, NDArray[np.bool_]]:
    """Return for each group which items belong to it, groups in order of name."""
    places: dict[str, list[int]] = {}
    for i, cell in enumerate(cells):
        for name in split_labels(None if is_missing(cell) else str(cell)):
            places.setdefault(name, []).append(i)
    masks = {}
    for name in sorted(places):
        masks[name] = np.zeros(len(cells), dtype=bool)
        masks[name][places[name]] = True
    return masks


def by_group(
    frame: pl.DataFrame,
    by: str,
    metric: Callable[..., Metric | Sequence[Metric]],
    *columns: str,
    overall: str | None = "all",
) -> pl.DataFrame:
    """Return the metric of each group: columns `by`, metric, value, low, high, n, note.

    `metric` is called with the named columns as numpy arrays and returns one metric or several. The first rows are
    those of everyone, under the name `overall`; None leaves them out.
    """
    import polars as pl

    for name in (by, *columns):
        if name not in frame.columns:
            hint = nearest(name, frame.columns)
            raise UserError(f"There is no column {name!r}; the columns are {', '.join(frame.columns)}.{hint}")
    arrays = [frame[name].to_numpy() for name in columns]
    parts: dict[str, NDArray[np.bool_]] = {} if overall is None else {overall: np.ones(len(frame), dtype=bool)}
    parts |= memberships(frame[by].cast(pl.String).to_list())
    rows = [
        (name, *_row(one))
        for name, mask in parts.items()
        for one in _several(metric(*(array[mask] for array in arrays)))
    ]
    types = {by: pl.String, "metric": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=types | {"n": pl.Int64, "note": pl.String}, orient="row")


def _several(found: Metric | Sequence[Metric]) -> Sequence[Metric]:
    return [found] if isinstance(found, Metric) else found


def _row(metric: Metric) -> tuple[str, float | None, float | None, float | None, int, str | None]:
    return metric.name, metric.value, metric.low, metric.high, metric.n, metric.note


def gap(values: Mapping[str, float | None]) -> tuple[str, str, float] | None:
    """Return the group with the highest value, the one with the lowest, and their difference; None below two groups."""
    known = {name: value for name, value in values.items() if value is not None}
    if len(known) < 2:
        return None
    best, worst = max(known, key=lambda name: known[name]), min(known, key=lambda name: known[name])
    return best, worst, known[best] - known[worst]


Masks = Mapping[str, NDArray[np.bool_]]

BETWEEN: tuple[str, ...] = (
    "demographic_parity_ratio",
    "demographic_parity_difference",
    "equalised_odds_ratio",
    "equalised_odds_difference",
)


def group_rates(
    gold: ArrayLike,
    chosen: ArrayLike,
    groups: Masks | Sequence[str | None],
    *,
    level: float = 0.95,
    clusters: Ints | None = None,
) -> dict[str, list[Metric]]:
    """Return accuracy, precision, recall, FPR, FNR and selection rate for each group, with Wilson intervals.

    `clusters` numbers the items that stand or fall together, such as cases of one template.
    """
    yes, flagged, masks = _checked(gold, chosen, groups)
    numbers = np.arange(len(yes)) if clusters is None else clusters
    return {name: _rates(yes[mask], flagged[mask], numbers[mask], level) for name, mask in masks.items()}


def between_groups(
    gold: ArrayLike,
    chosen: ArrayLike,
    groups: Masks | Sequence[str | None],
    *,
    bootstrap: Bootstrap | None = None,
    clusters: Ints | None = None,
) -> list[Metric]:
    """Return demographic parity and equalised odds, as ratio and as difference, with bootstrap intervals.

    Equalised odds is the worse of two: that of the true positive rates and that of the false positive rates. With
    `clusters`, whole clusters are resampled.
    """
    yes, flagged, masks = _checked(gold, chosen, groups)
    bootstrap = bootstrap or Bootstrap()
    n = int(np.any(list(masks.values()), axis=0).sum()) if masks else 0
    if len(masks) < 2:
        why = f"not defined: {len(masks)} groups, and two are needed"
        return [Metric(name, None, n, level=bootstrap.level, note=why) for name in BETWEEN]
    rows = np.stack([yes, flagged, *masks.values()], axis=1).astype(np.int64)
    aimed = rows[:, 2:].any(axis=1)
    together = None if clusters is None else _renumber_clusters(clusters[aimed])
    if together is None:
        rows, copies = distinct_rows(rows[aimed])
        features = _features(rows)
    else:
        features = np.zeros((int(together.max()) + 1, 5 * len(masks)))
        np.add.at(features, together, _features(rows[aimed]))
        copies = np.ones(len(features), dtype=np.int64)
    metrics = bootstrap.metrics(
        BETWEEN,
        features,
        lambda sums: _between(sums, len(masks)),
        copies=copies,
        n=n,
        undefined="not defined: fewer than two groups have the rates, or the highest rate is 0",
    )
    return metrics if together is None else [replace(metric, clusters=len(features)) for metric in metrics]


def counterfactual_gap(
    scores: ArrayLike, flagged: ArrayLike, sentences: Ints, *, bootstrap: Bootstrap | None = None
) -> list[Metric]:
    """Return how much a score moves when one identity stands for another (Garg and others, 2019).

    `sentences` numbers the items that differ in the identity alone. `counterfactual_gap` is the mean difference of the
    scores of two such items, first within a sentence and then over sentences; `counterfactual_flips` is the share of
    such pairs with two answers. Sentences with one item are left out; whole sentences are resampled.
    """
    values, said = np.asarray(scores, dtype=np.float64), to_flags(flagged)
    if not len(values) == len(said) == len(sentences):
        raise UserError(f"{len(values)} scores, {len(said)} answers and {len(sentences)} sentences; give one a row")
    bootstrap = bootstrap or Bootstrap()
    features = []
    for number in np.unique(sentences):
        inside = sentences == number
        n = int(inside.sum())
        if n > 1:
            ordered, yes, pairs = np.sort(values[inside]), int(said[inside].sum()), n * (n - 1) / 2
            apart = float((ordered * (2 * np.arange(n) - n + 1)).sum())  # the sum of all pairs' differences
            features.append([apart / pairs, yes * (n - yes) / pairs, 1.0])
    names = ("counterfactual_gap", "counterfactual_flips")
    if not features:
        return [Metric(name, None, 0, level=bootstrap.level, note="not defined: no sentence twice") for name in names]
    return bootstrap.metrics(names, np.array(features), lambda sums: sums[..., :2] / sums[..., 2:])


def auc_by_group(
    gold: ArrayLike,
    scores: ArrayLike,
    groups: Masks | Sequence[str | None],
    *,
    bootstrap: Bootstrap | None = None,
    clusters: Ints | None = None,
) -> dict[str, list[Metric]]:
    """Return for each group the subgroup, BPSN and BNSP AUC of Borkan and others (2019).

    Subgroup: the group's own items. BPSN: the background's positives and the group's negatives; low where the
    detector takes harmless mentions of the group for hate. BNSP: the background's negatives and the group's positives;
    low where it misses hate against the group. The background is every item that is not about the group. With
    `clusters`, whole clusters are resampled.
    """
    yes, values = check_scores(gold, scores)
    numbers = np.arange(len(yes)) if clusters is None else clusters
    metrics = {}
    for name, mask in _masks(groups, len(yes)).items():
        parts = {
            "subgroup_auc": mask,
            "bpsn_auc": (mask & ~yes) | (~mask & yes),
            "bnsp_auc": (mask & yes) | (~mask & ~yes),
        }
        metrics[name] = [
            _auc(title, yes[part], values[part], numbers[part], bootstrap) for title, part in parts.items()
        ]
    return metrics


def _auc(name: str, yes: NDArray[np.bool_], scores: Floats, clusters: Ints, bootstrap: Bootstrap | None) -> Metric:
    bootstrap = bootstrap or Bootstrap()
    ranked = Ranked.of(yes, scores)
    value = float(ranked.auroc(ranked.copies[None, :].astype(np.float64))[0])
    why = "not defined: no positives, or no negatives, to compare"
    together = _renumber_clusters(clusters)
    if together is None:
        blocks = bootstrap.weights(ranked.copies)
    else:
        held = np.zeros((int(together.max()) + 1, len(ranked.copies)))
        np.add.at(held, (together, ranked.kind_of(yes, scores)), 1)
        blocks = (block @ held for block in bootstrap.weights(np.ones(len(held), dtype=np.int64)))
    draws = [ranked.auroc(block) for block in blocks] if ranked.n > 1 else []
    found = bootstrap.metric(name, value, np.concatenate(draws) if draws else np.empty(0), ranked.n, why)
    return found if together is None else replace(found, clusters=len(held))


def _renumber_clusters(clusters: Ints) -> Ints | None:
    """Return the clusters numbered without gaps, or None where each holds one item and none is needed."""
    numbers, place = np.unique(clusters, return_inverse=True)
    return None if len(numbers) == len(clusters) else place


def _rates(yes: NDArray[np.bool_], flagged: NDArray[np.bool_], clusters: Ints, level: float) -> list[Metric]:
    never, harmful, harmless = (
        f"not defined: {why}" for why in ("nothing was flagged", "no gold positives", "no gold negatives")
    )
    everyone = np.ones(len(yes), dtype=bool)
    shares = (
        ("accuracy", yes == flagged, everyone, ""),
        ("precision", yes, flagged, never),
        ("recall", flagged, yes, harmful),
        ("fpr", flagged, ~yes, harmless),
        ("fnr", ~flagged, yes, harmful),
        ("selection_rate", flagged, everyone, ""),
    )
    return [
        clustered_share(name, counted[within], clusters[within], level=level, undefined=why)
        for name, counted, within, why in shares
    ]


def _features(rows: Ints) -> Floats:
    """Return for each distinct item and each of its groups: is it there, chosen, a positive, a hit, a false alarm."""
    yes, flagged, inside = rows[:, :1], rows[:, 1:2], rows[:, 2:]
    return np.concatenate(
        [inside, inside * flagged, inside * yes, inside * yes * flagged, inside * (1 - yes) * flagged],
        axis=1,
        dtype=np.float64,
    )


def _between(sums: Floats, width: int) -> Floats:
    sizes, chosen, true, hits, alarms = (sums[..., i * width : (i + 1) * width] for i in range(5))
    selection = _extremes(chosen, sizes)
    found_, false = _extremes(hits, true), _extremes(alarms, sizes - true)
    return np.stack(
        [
            _ratio(selection),
            selection[1] - selection[0],
            np.minimum(_ratio(found_), _ratio(false)),
            np.maximum(found_[1] - found_[0], false[1] - false[0]),
        ],
        axis=-1,
    )


def _extremes(above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """Return the lowest and the highest rate over the groups that have one; nan where fewer than two do."""
    has = below > 0
    shares = above / np.where(has, below, 1)
    low, high = np.where(has, shares, np.inf).min(axis=-1), np.where(has, shares, -np.inf).max(axis=-1)
    enough = has.sum(axis=-1) > 1
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)


def _ratio(extremes: tuple[Floats, Floats]) -> Floats:
    low, high = extremes
    return np.where(high > 0, low / np.where(high > 0, high, 1), np.nan)


def _checked(
    gold: ArrayLike, chosen: ArrayLike, groups: Masks | Sequence[str | None]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Masks]:
    yes, flagged = to_flags(gold), to_flags(chosen)
    if yes.shape != flagged.shape:
        raise UserError(f"{len(yes)} gold labels and {len(flagged)} predictions can't be compared; give one a row")
    return yes, flagged, _masks(groups, len(yes))


def _masks(groups: Masks | Sequence[str | None], n: int) -> Masks:
    masks = groups if isinstance(groups, Mapping) else memberships(groups)
    sizes = {len(mask) for mask in masks.values()} or {n}
    if sizes != {n} or (not isinstance(groups, Mapping) and len(groups) != n):
        raise UserError(f"Groups are given for {max(sizes)} items, gold labels for {n}; give one a row")
    return masks
