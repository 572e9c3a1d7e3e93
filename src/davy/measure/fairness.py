"""Does a detector treat the groups that it reads about alike?

Gold and predicted yes/no, and for each item the group or groups it is about, in; figures for each group and between
groups out. Ratios are the lowest group's rate over the highest's (1 is parity), as fairlearn defines them. A group
without gold negatives has no false positive rate and is left out of that ratio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from davy.core import Metric, UserError
from davy.measure.classification import Confusion, rates
from davy.measure.groups import memberships
from davy.measure.intervals import Bootstrap, Floats, Ints, distinct_rows, proportion
from davy.measure.ranking import Ranked, check_scores

Masks = Mapping[str, NDArray[np.bool_]]

BETWEEN: tuple[str, ...] = (
    "demographic_parity_ratio",
    "demographic_parity_difference",
    "equalised_odds_ratio",
    "equalised_odds_difference",
)


def group_rates(
    gold: ArrayLike, chosen: ArrayLike, groups: Masks | Sequence[str | None], *, level: float = 0.95
) -> dict[str, list[Metric]]:
    """Return accuracy, precision, recall, FPR, FNR and selection rate for each group, with Wilson intervals."""
    yes, said, masks = _checked(gold, chosen, groups)
    return {name: _rates(yes[mask], said[mask], level) for name, mask in masks.items()}


def between_groups(
    gold: ArrayLike,
    chosen: ArrayLike,
    groups: Masks | Sequence[str | None],
    *,
    bootstrap: Bootstrap | None = None,
) -> list[Metric]:
    """Return demographic parity and equalised odds, as ratio and as difference, with bootstrap intervals.

    Equalised odds is the worse of two: that of the true positive rates and that of the false positive rates.
    """
    yes, said, masks = _checked(gold, chosen, groups)
    bootstrap = bootstrap or Bootstrap()
    n = int(np.any(list(masks.values()), axis=0).sum()) if masks else 0
    if len(masks) < 2:
        why = f"not defined: {len(masks)} groups, and two are needed"
        return [Metric(name, None, n, level=bootstrap.level, note=why) for name in BETWEEN]
    rows, copies = distinct_rows(np.stack([yes, said, *masks.values()], axis=1).astype(np.int64))
    rows, copies = rows[rows[:, 2:].any(axis=1)], copies[rows[:, 2:].any(axis=1)]
    return bootstrap.metrics(
        BETWEEN,
        _features(rows),
        lambda sums: _between(sums, len(masks)),
        copies=copies,
        n=n,
        undefined="not defined: fewer than two groups have the rates, or the highest rate is 0",
    )


def auc_by_group(
    gold: ArrayLike, scores: ArrayLike, groups: Masks | Sequence[str | None], *, bootstrap: Bootstrap | None = None
) -> dict[str, list[Metric]]:
    """Return for each group the subgroup, BPSN and BNSP AUC of Borkan and others (2019).

    Subgroup: the group's own items. BPSN: the background's positives and the group's negatives; low where the
    detector takes harmless mentions of the group for hate. BNSP: the background's negatives and the group's positives;
    low where it misses hate against the group. The background is every item that is not about the group.
    """
    yes, values = check_scores(gold, scores)
    found = {}
    for name, mask in _masks(groups, len(yes)).items():
        parts = {
            "subgroup_auc": mask,
            "bpsn_auc": (mask & ~yes) | (~mask & yes),
            "bnsp_auc": (mask & yes) | (~mask & ~yes),
        }
        found[name] = [_auc(title, yes[part], values[part], bootstrap) for title, part in parts.items()]
    return found


def _auc(name: str, yes: NDArray[np.bool_], scores: Floats, bootstrap: Bootstrap | None) -> Metric:
    bootstrap = bootstrap or Bootstrap()
    ranked = Ranked.of(yes, scores)
    value = float(ranked.auroc(ranked.copies[None, :].astype(np.float64))[0])
    draws = [ranked.auroc(block) for block in bootstrap.weights(ranked.copies)] if ranked.n > 1 else []
    why = "not defined: no positives, or no negatives, to compare"
    return bootstrap.metric(name, value, np.concatenate(draws) if draws else np.empty(0), ranked.n, why)


def _rates(yes: NDArray[np.bool_], said: NDArray[np.bool_], level: float) -> list[Metric]:
    hit, alarm, missed = int((yes & said).sum()), int((~yes & said).sum()), int((yes & ~said).sum())
    cleared = len(yes) - hit - alarm - missed
    table = Confusion(np.array([[hit, missed], [alarm, cleared]]), ("yes", "no"))
    never, none = "not defined: nothing was flagged", "not defined: no gold positives"
    return [
        proportion("accuracy", hit + cleared, len(yes), level=level),
        proportion("precision", hit, hit + alarm, level=level, undefined=never),
        proportion("recall", hit, hit + missed, level=level, undefined=none),
        *rates(table, "yes", level=level),
    ]


def _features(rows: Ints) -> Floats:
    """Return for each distinct item and each of its groups: is it there, chosen, a positive, a hit, a false alarm."""
    yes, said, inside = rows[:, :1], rows[:, 1:2], rows[:, 2:]
    return np.concatenate(
        [inside, inside * said, inside * yes, inside * yes * said, inside * (1 - yes) * said], axis=1, dtype=np.float64
    )


def _between(sums: Floats, width: int) -> Floats:
    there, chosen, true, hits, alarms = (sums[..., i * width : (i + 1) * width] for i in range(5))
    selection = _extremes(chosen, there)
    found_, false = _extremes(hits, true), _extremes(alarms, there - true)
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
    yes, said = np.asarray(gold, dtype=bool), np.asarray(chosen, dtype=bool)
    if yes.shape != said.shape:
        raise UserError(f"{len(yes)} gold labels and {len(said)} predictions can't be compared; give one a row")
    return yes, said, _masks(groups, len(yes))


def _masks(groups: Masks | Sequence[str | None], n: int) -> Masks:
    masks = groups if isinstance(groups, Mapping) else memberships(groups)
    sizes = {len(mask) for mask in masks.values()} or {n}
    if sizes != {n} or (not isinstance(groups, Mapping) and len(groups) != n):
        raise UserError(f"Groups are given for {max(sizes)} items, gold labels for {n}; give one a row")
    return masks
