"""The tables of a round against the paper's own counts, another library, and figures worked by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from entry_frames import NO, QUESTION, SCHEME, YES, make_frame, paper_round
from statsmodels.stats.inter_rater import fleiss_kappa

from davy.core.metric import Metric
from davy.measure.intervals import Bootstrap
from davy.rounds.frame import SHARES, places, split_entries, straddling_pairs
from davy.rounds.round import PAIR_DROPPED
from davy.rounds.round_figures import (
    QualityRow,
    compose_rounds,
    composition_table,
    error_rate_plot,
    error_rate_table,
    error_rates,
    frequent,
    label_counts,
    quality_rows,
    quality_table,
    randolph,
    seconds_table,
    without_dropped,
)

QUICK = Bootstrap(resamples=50)


@pytest.mark.parametrize(
    ("number", "entries", "dropped", "reviewed", "final"),
    [
        (5, 1020, (6, 17), (273, 131), (1014, 997)),
        (6, 1008, (8, 17), (189, 167), (1000, 983)),
        (7, 993, (12, 5), (169, 168), (981, 976)),
    ],
)
def test_the_chain_of_the_papers_table_7_comes_out_of_its_own_counts(number, entries, dropped, reviewed, final):
    frame = paper_round(number, entries, dropped, reviewed)
    originals, contrasts = quality_rows(frame, QUESTION, bootstrap=QUICK)
    assert (originals.entries, originals.reviewed, originals.dropped, originals.final) == (
        entries, reviewed[0], dropped[0], final[0],
    )  # fmt: skip
    assert (contrasts.entries, contrasts.reviewed, contrasts.dropped, contrasts.final) == (
        final[0], reviewed[1], dropped[1], final[1],
    )  # fmt: skip
    left = without_dropped(frame)
    assert left["set"].value_counts().sort("set").rows() == [("contrast", final[1]), ("original", final[1])]


def test_randolphs_kappa_over_three_labels_is_statsmodels():
    rng = np.random.default_rng(3)
    labels = rng.choice([YES, NO], (200, 3), p=[0.7, 0.3])
    cells = ["|".join(row) for row in labels.tolist()]
    ours = randolph(cells, QUESTION, QUICK)
    assert ours.value == pytest.approx(fleiss_kappa(label_counts(cells, QUESTION), method="randolph"))
    assert ours.n == 200
    assert ours.low is not None
    assert ours.low < ours.value < ours.high


def test_an_entry_with_one_label_is_not_counted_in_agreement():
    frame = make_frame([{"labels": f"{YES}|{YES}|{NO}"}, {"labels": YES}, {"labels": None}])
    (row,) = quality_rows(frame, QUESTION, bootstrap=QUICK)
    assert row.agreement.n == 1
    assert row.agreement.value == pytest.approx(2 * (1 / 3) - 1)
    assert quality_table([row]).rows[0][4] == 1


def test_composition_counts_what_is_kept_and_emoji_as_a_reader_sees_them():
    frame = make_frame(
        [
            {"text": "👩‍🚀🦞 garden", "type.gold": "derogation", "target.gold": "women|trans people"},
            {"text": "wuzzle 🏳️‍🌈", "hate.gold": NO, "set": "contrast", "pair": "e0"},
            {"text": "gone 🦞🦞🦞🦞", "dropped": "unclear", "hate.gold": None},
        ]
    ).with_columns(split=pl.Series(["train", "train", None]))
    (made,) = compose_rounds(frame, SCHEME.questions)
    assert made.n == 2
    assert (made.emoji_mean, made.emoji_deviation) == (1.5, pytest.approx(0.5**0.5))
    assert made.counts["hate"] == {NO: 1, YES: 1}
    assert made.counts["type"]["derogation"] == 1
    assert made.counts["type"]["none"] == 1
    assert made.counts["set"] == {"original": 1, "contrast": 1}
    cells = {row[1] or row[0]: row[2] for row in composition_table([made]).rows}
    assert cells["train"] == "2 (100.0)"
    assert cells["emoji, μ (σ)"] == "1.5 (0.7)"
    assert frequent(frame, "target") == {1: [("trans people", 1), ("women", 1)]}
    assert frequent(frame, "intersection") == {1: [("trans people + women", 1)]}
    assert ("🦞", 1) in frequent(frame, "emoji")[1]


def test_table_6_of_the_paper_comes_out_of_its_own_counts():
    kinds = {"derogation": 718, "animosity": 74, "threatening language": 101, "dehumanising language": 113}
    rows = [{"type.gold": kind} for kind, n in kinds.items() for _ in range(n)] + [{"hate.gold": NO}] * 988
    for place, row in enumerate(rows := [dict(row) for row in rows]):
        row |= {"round": 5, "set": "original" if place < 997 else "contrast"}
    (made,) = compose_rounds(make_frame(rows), SCHEME.questions)
    cells = {(row[0], row[1]): row[2] for row in composition_table([made]).rows}
    shown = set(cells.values())
    paper = ["1,006 (50.5)", "988 (49.5)", "997 (50.0)", "718 (36.0)", "74 (3.7)", "101 (5.1)", "113 (5.7)"]
    assert set(paper) <= shown
    assert cells[("n", "")] == "1,994"


def test_only_confirmed_originals_count_in_the_error_rate_and_contrasts_never_do():
    frame = make_frame(
        [
            {},  # fooled, confirmed
            {"labels": f"{YES}|{NO}|{NO}", "hate.gold": NO},  # fooled by the author's label, which people refused
            {"model.label": YES},  # not fooled
            {"dropped": "unclear", "hate.gold": None},  # raw only
            {"dropped": PAIR_DROPPED},  # its contrast was dropped: it fooled the target all the same
            {"set": "contrast", "pair": "e0", "hate.gold": NO, "model.label": YES},
            {"labels": YES, "hate.gold": None},  # nobody has settled it yet
        ]
    )
    (rate,) = error_rates(frame, QUESTION)
    assert (rate.raw.value, rate.raw.n) == (pytest.approx(5 / 6), 6)
    assert (rate.confirmed.value, rate.confirmed.n) == (pytest.approx(2 / 4), 4)
    assert rate.unsettled == 1
    assert rate.confirmed.low < 0.5 < rate.confirmed.high
    assert error_rate_table([rate]).rows[0][0] == 1
    assert "R1, confirmed" in error_rate_plot([rate]).svg()


def test_a_round_without_predictions_has_no_error_rate_and_says_so():
    (rate,) = error_rates(make_frame([{"model.label": None, "model": None}]), QUESTION)
    assert rate.raw.value is None
    assert rate.raw.note == "no original has a prediction"


def test_pairs_stay_together_in_an_80_10_10_split_that_depends_on_nothing_but_entries_and_seed():
    frame = without_dropped(paper_round(5, 1020, (6, 17), (0, 0)))
    split = split_entries(frame, QUESTION, seed=1)
    assert straddling_pairs(split) == (0, 997)
    sizes = dict(split["split"].value_counts().rows())
    assert all(abs(sizes[name] - share * len(frame)) <= 2 for name, share in SHARES.items())
    again = split_entries(frame.sample(fraction=1, shuffle=True, seed=9), QUESTION, seed=1)
    assert again.select("id", "split").equals(split.select("id", "split"))
    assert not split_entries(frame, QUESTION, seed=2).select("id", "split").equals(split.select("id", "split"))


def test_a_contrast_to_an_earlier_rounds_entry_goes_where_that_entry_is():
    first = split_entries(make_frame([{"hate.gold": YES if i % 2 else NO} for i in range(40)]), QUESTION, seed=0)
    later = make_frame([{"id": f"late{i}", "pair": f"e{i}", "set": "contrast", "round": 2} for i in range(40)])
    second = split_entries(later, QUESTION, seed=0, placed=places(first))
    assert dict(second.select("pair", "split").rows()) == dict(first.select("id", "split").rows())


def test_time_per_entry_is_shown_with_its_n():
    frame = make_frame([{"seconds": 10.0}, {"seconds": 30.0}, {"seconds": None}])
    assert seconds_table(frame).rows == ((1, "original", 2, 20.0, 15.0, 25.0),)


def test_agreement_over_the_few_entries_that_somebody_doubted_is_told_as_that():
    doubted = QualityRow(2, "original", 3_512, Metric("randolph", -1.0, 63, -1.0, -1.0), reviewed=223, dropped=0)
    every = QualityRow(1, "original", 100, Metric("randolph", 0.8, 90, 0.7, 0.9), reviewed=100, dropped=0)
    assert "in round 2 (63 of 3,512):" in quality_table([every, doubted]).note
    assert "doubt" not in quality_table([every]).note
