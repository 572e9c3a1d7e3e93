"""Detectors measured on labelled posts: figures equal scikit-learn's, and every post that counts is accounted for."""

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as reference

from davy import schemes
from davy.core import UserError
from davy.core.gold import gold_columns
from davy.corpus.gold import answer_columns, settled_answers
from davy.evaluation.evaluate import evaluate
from davy.evaluation.metrics import NO_ANSWER, confusion_with_gaps, macro_averages, macro_precision, macro_recall
from davy.evaluation.page import page
from davy.evaluation.predictions import Predictions, align_predictions, read_predictions
from davy.evaluation.results import figures_table, overall_table, record
from davy.files.data_hash import data_hash
from davy.measure.intervals import Bootstrap
from davy.measure.paired_tests import holm

EDOS = schemes.load("edos")
QUICK = Bootstrap(resamples=200)


def posts(n=400, seed=3):
    """Posts with EDOS answers: about a third are sexist, the vector always fits the category."""
    chance = np.random.default_rng(seed)
    sexist = chance.random(n) < 0.35
    vectors = [EDOS.question("vector").labels[i] for i in chance.integers(0, 11, n)]
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "text": [f"text {i}" for i in range(n)],
            "sexist.gold": ["sexist" if yes else "not sexist" for yes in sexist],
            "category.gold": [label.under[0] if yes else "none" for label, yes in zip(vectors, sexist, strict=True)],
            "vector.gold": [label.name if yes else None for label, yes in zip(vectors, sexist, strict=True)],
        }
    )


def guesses(frame, seed):
    """What a detector said: right now and then, else anything; a probability for the yes/no question."""
    chance = np.random.default_rng(seed)
    columns = {}
    for question in EDOS.questions:
        names = question.label_names
        gold = frame[f"{question.name}.gold"].to_list()
        random = [names[i] for i in chance.integers(0, len(names), len(frame))]
        keep = chance.random(len(frame)) < 0.5
        columns[f"{question.name}.label"] = [
            g if k and g in names else r for g, r, k in zip(gold, random, keep, strict=True)
        ]
    columns["sexist"] = chance.random(len(frame)).round(2) * 0.5 + 0.5 * (frame["sexist.gold"] == "sexist").to_numpy()
    return pl.DataFrame(columns)


def measured(frame, *frames, **options):
    columns = gold_columns(frame.columns, [], EDOS.questions, [])
    detectors = [read_predictions(f"detector {i}", "1", one, EDOS) for i, one in enumerate(frames)]
    golds = settled_answers(frame, EDOS, columns, **options)
    return evaluate(golds, detectors, title="test", data=data_hash(frame, columns), bootstrap=QUICK)


def test_figures_equal_scikit_learns_on_the_same_arrays():
    frame = posts()
    answers = guesses(frame, 1)
    results = {result.question.name: result for result in measured(frame, answers).results}
    for name in ("sexist", "category", "vector"):
        sexist = (frame["sexist.gold"] == "sexist").to_numpy()
        rows = np.ones(len(frame), dtype=bool) if name == "sexist" else sexist
        gold = frame[f"{name}.gold"].to_numpy()[rows]
        predicted = answers[f"{name}.label"].to_numpy()[rows]
        report = results[name].models[0].report
        assert report["macro_f1"].n == rows.sum()
        assert report["macro_f1"].value == pytest.approx(reference.f1_score(gold, predicted, average="macro"))
        assert report["accuracy"].value == pytest.approx(reference.accuracy_score(gold, predicted))
        labels = list(EDOS.question(name).label_names)
        precision, recall, f1, _ = reference.precision_recall_fscore_support(
            gold, predicted, labels=labels, zero_division=np.nan
        )
        for i, label in enumerate(labels):
            assert report[f"precision.{label}"].value == pytest.approx(precision[i])
            assert report[f"recall.{label}"].value == pytest.approx(recall[i])
            assert report[f"f1.{label}"].value == pytest.approx(f1[i])
        matrix = reference.confusion_matrix(gold, predicted, labels=labels)
        assert (results[name].models[0].table.matrix == matrix).all()
    yes = frame["sexist.gold"] == "sexist"
    auroc = reference.roc_auc_score(yes.to_numpy(), answers["sexist"].to_numpy())
    assert results["sexist"].models[0].report["auroc"].value == pytest.approx(auroc)


def test_always_the_most_frequent_answer_scores_what_the_label_counts_say():
    frame = posts()
    said_no = pl.DataFrame({"sexist.label": ["not sexist"] * len(frame)})
    figure = measured(frame, said_no, questions=["sexist"]).results[0].models[0].report["macro_f1"]
    share = (frame["sexist.gold"] == "not sexist").mean()
    assert figure.value == pytest.approx(2 * share / (1 + share) / 2)


def test_a_child_question_counts_only_where_its_parent_leads_to_it():
    frame = posts()
    result = {r.question.name: r for r in measured(frame, guesses(frame, 1)).results}
    sexist = (frame["sexist.gold"] == "sexist").sum()
    assert len(result["sexist"].gold.rows) == len(frame)
    assert len(result["category"].gold.rows) == len(result["vector"].gold.rows) == sexist
    assert f"{len(frame) - sexist} posts left out" in result["category"].gold.note


def test_a_yes_or_no_child_can_be_measured_everywhere():
    scheme = schemes.load("gmhp7k")
    frame = pl.DataFrame(
        {
            "hate.gold": ["hateful", "not hateful", "hateful", None],
            "misogynistic.gold": ["misogynistic", None, None, None],
        }
    )
    columns = gold_columns(frame.columns, [], scheme.questions, [])
    below = settled_answers(frame, scheme, columns)[1]
    assert below.rows == (0,)
    everywhere = settled_answers(frame, scheme, columns, everywhere=True)[1]
    assert everywhere.rows == (0, 1)
    assert everywhere.cells == ["misogynistic", "not misogynistic"]


def test_a_post_without_an_answer_counts_against_the_detector():
    frame = posts()
    answers = guesses(frame, 1).with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col("sexist.label")).alias("sexist.label")
    )
    other = guesses(frame, 2)
    result = measured(frame, answers, other, questions=["sexist"]).results[0]
    model = result.models[0]
    filled = answers["sexist.label"].fill_null(NO_ANSWER).to_list()
    labels = list(EDOS.question("sexist").label_names)
    expected = reference.f1_score(frame["sexist.gold"].to_list(), filled, labels=labels, average="macro")
    assert model.unanswered == len(range(0, len(frame), 7))
    assert model.report["macro_f1"].value == pytest.approx(expected)
    assert model.report["macro_f1"].low < expected < model.report["macro_f1"].high
    assert not any(NO_ANSWER in metric.name for metric in model.report.metrics)
    [pair] = [pair for pair in result.pairs if pair.comparison.metric == "macro_f1"]
    both = expected, reference.f1_score(frame["sexist.gold"], other["sexist.label"], average="macro")
    assert pair.comparison.difference.value == pytest.approx(both[0] - both[1])


def test_means_over_labels_equal_scikit_learns():
    frame = posts()
    answers = guesses(frame, 5)
    gold, predicted = frame["sexist.gold"].to_list(), answers["sexist.label"].to_list()
    table = confusion_with_gaps(gold, predicted, EDOS.question("sexist").label_names)
    means = {"precision": lambda m: macro_precision(m, 2), "recall": lambda m: macro_recall(m, 2)}
    found = macro_averages(table, means, QUICK)
    assert found[0].value == pytest.approx(reference.precision_score(gold, predicted, average="macro"))
    assert found[1].value == pytest.approx(reference.recall_score(gold, predicted, average="macro"))


def test_a_detector_against_itself_differs_by_nothing_and_a_better_one_is_found():
    frame = posts()
    good = pl.DataFrame({"sexist.label": frame["sexist.gold"]})
    poor = guesses(frame, 1)
    same = measured(frame, poor, poor, questions=["sexist"]).results[0].pairs
    assert all(pair.comparison.difference.value == 0 and pair.adjusted == 1 for pair in same)
    better = measured(frame, good, poor, questions=["sexist"]).results[0].pairs
    assert all(pair.comparison.difference.low > 0 and pair.adjusted < 0.02 for pair in better)


def test_holms_correction_on_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_several_labels_are_measured_as_sets():
    scheme = schemes.load("hatemoji")
    names = scheme.question("target").label_names[:2]
    frame = pl.DataFrame({"hate.gold": ["hateful"] * 3, "target.gold": ["|".join(names), names[0], "another group"]})
    answers = pl.DataFrame({"target.label": ["|".join(names), names[1], ""]})
    golds = settled_answers(frame, scheme, gold_columns(frame.columns, [], scheme.questions, []), questions=["target"])
    found = evaluate(golds, [read_predictions("d", "1", answers, scheme)], title="t", data="x", bootstrap=QUICK)
    report = found.results[0].models[0].report
    assert report["exact_match"].value == pytest.approx(2 / 3)
    assert report[f"recall.{names[0]}"].value == 0.5


def test_several_labels_in_another_order_are_the_same_answer_and_no_answer_is_an_error():
    scheme = schemes.load("hatemoji")
    one, other = scheme.question("target").label_names[:2]
    frame = pl.DataFrame(
        {"hate.gold": ["hateful"] * 40, "target.gold": [f"{one}|{other}"] * 20 + ["another group"] * 20}
    )
    said = [pl.DataFrame({"target.label": [cell] * 20 + [last] * 20})
            for cell, last in ((f"{one}|{other}", ""), (f"{other}|{one}", ""), (f"{one}|{other}", None))]  # fmt: skip
    golds = settled_answers(frame, scheme, gold_columns(frame.columns, [], scheme.questions, []), questions=["target"])
    detectors = [read_predictions(f"d{i}", "1", answers, scheme) for i, answers in enumerate(said)]
    result = evaluate(golds, detectors, title="t", data="x", bootstrap=QUICK).results[0]
    tests = {(pair.first, pair.second): pair.comparison for pair in result.pairs}
    assert tests["d0", "d1"].difference.value == 0
    assert tests["d0", "d1"].p == 1
    assert tests["d0", "d2"].difference.value == pytest.approx(0.5)
    reports = [model.report for model in result.models]
    assert [report["exact_match"].value for report in reports] == [1, 1, 0.5]
    assert [report["samples_f1"].value for report in reports] == [1, 1, 0.5]


def test_a_model_that_does_not_answer_a_question_is_named():
    frame = posts()
    short = guesses(frame, 1).select("sexist.label")
    result = measured(frame, guesses(frame, 2), short).results[1]
    assert result.silent == ("detector 1",)
    assert "detector 1 does not answer it" in overall_table(result).note
    with pytest.raises(UserError, match="No model answers"):
        measured(frame, short, questions=["vector"])


def test_the_same_seed_gives_the_same_intervals():
    frame = posts()
    one, two = (record(measured(frame, guesses(frame, 1)))["questions"] for _ in range(2))
    assert one == two


def test_the_page_holds_curves_and_matrices_and_asks_the_network_for_nothing():
    frame = posts()
    html = page(measured(frame, guesses(frame, 1), guesses(frame, 2))).html()
    assert html.count("<figure>") == 3 + 3 * 2  # three curves of the yes/no question, and the matrices
    assert "sexist: is one better?" in html
    assert 'src="http' not in html
    rows = figures_table(measured(frame, guesses(frame, 1))).csv().splitlines()
    assert rows[0] == "question,model,version,figure,label,value,low,high,level,n,note,learnt from"
    assert rows[1].startswith("sexist,detector 0,1,macro_f1,,0.")


def test_the_scheme_is_guessed_from_columns_and_labels():
    assert answer_columns(posts())[0].name == "edos"
    assert answer_columns(pl.DataFrame({"hate.gold": ["hateful"]}))[0].name == "hate"
    with pytest.raises(UserError, match="All answers to 'hate' are 'grumpy'"):
        answer_columns(pl.DataFrame({"hate.gold": ["grumpy"]}))
    with pytest.raises(UserError, match="no column of settled answers"):
        answer_columns(pl.DataFrame({"text": ["a"]}))


def test_a_label_outside_the_scheme_is_named_with_its_row():
    frame = posts(5).with_columns(pl.Series("sexist.gold", ["sexist", "not sexist", "sexits", "sexist", "sexist"]))
    with pytest.raises(UserError, match=r"row 3, column 'sexist.gold' has 'sexits'.*Did you mean 'sexist'"):
        measured(frame, guesses(posts(5), 1))
    with pytest.raises(UserError, match=r"mine.csv: row 2, column 'sexist.label' has 'maybe'"):
        read_predictions("mine", "1", pl.DataFrame({"sexist.label": ["sexist", "maybe"]}), EDOS, file="mine.csv")


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", "b", "b"], "more than once"),
        (["a", "b", "z"], "does not have, such as 'z'"),
        (["a"], "no prediction for 1 of 2 posts.*'b'"),
        (["a", None], "row 2 has no id"),
    ],
)
def test_predictions_with_missing_extra_or_repeated_ids_are_refused(ids, words):
    predictions = pl.DataFrame({"id": ids, "sexist.label": ["sexist"] * len(ids)})
    with pytest.raises(UserError, match=words):
        align_predictions(predictions, ["a", "b"], ["a", "b", "c"], file="mine.csv", posts="posts.csv")


def test_predictions_may_cover_more_of_the_file_than_the_split_in_any_order():
    predictions = pl.DataFrame({"id": ["c", "b", "a"], "sexist.label": ["3", "2", "1"]})
    assert align_predictions(predictions, ["a", "b"], ["a", "b", "c"], file="f", posts="g")[
        "sexist.label"
    ].to_list() == ["1", "2"]


def test_a_score_that_is_no_probability_is_named():
    frame = pl.DataFrame({"sexist": ["0.2", "NaN"], "sexist.label": ["sexist", "sexist"]})
    with pytest.raises(UserError, match=r"row 2, column 'sexist' has 'NaN', which is no probability"):
        read_predictions("mine", "1", frame, EDOS)


def test_answers_come_in_any_known_spelling():
    answers = read_predictions("d", "1", pl.DataFrame({"category.label": ["2. derogation", "Animosity"]}), EDOS)
    assert isinstance(answers, Predictions)
    assert answers.labels["category"] == [("derogation",), ("animosity",)]
