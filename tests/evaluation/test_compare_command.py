"""`davy compare` from files: boards, a wide file, a scheme's questions, finished boards, bad input."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

from davy.shell.app import run as main

LABELS = np.array(["not sexist", "sexist"])


@pytest.fixture
def eighty(tmp_path):
    """A gold file and a wide file of eighty simulated systems; returns their folder and codes."""
    rng = np.random.default_rng(1)
    gold = (rng.random(250) < 0.35).astype(int)
    said = {f"team-{i:02}": np.where(rng.random(250) < 0.55 + i / 200, gold, 1 - gold) for i in range(80)}
    ids = [f"p{i}" for i in range(250)]
    pl.DataFrame({"id": ids, "text": ["a day"] * 250, "sexist.gold": LABELS[gold]}).write_csv(tmp_path / "gold.csv")
    pl.DataFrame({"id": ids, **{name: LABELS[codes] for name, codes in said.items()}}).write_csv(tmp_path / "wide.csv")
    return tmp_path, gold, said


def run(capsys, *arguments: object) -> dict:
    assert main(["compare", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_eighty_simulated_systems_have_the_quartiles_that_numpy_gives(eighty, capsys):
    folder, gold, said = eighty
    options = ["--scheme", "edos", "--question", "sexist", "--resamples", 60, "--baseline", "team-40"]
    task = run(capsys, folder / "gold.csv", "-p", folder / "wide.csv", *options)["tasks"]["sexist"]
    figures = {name: f1_score(gold, codes, average="macro") for name, codes in said.items()}
    kept = np.array([value for name, value in figures.items() if name != "team-40"])
    summary = task["summary"]
    expected = [np.percentile(kept, 25), np.median(kept), np.percentile(kept, 75), kept.mean(), kept.std(ddof=1)]
    found = [summary[name] for name in ("q1", "median", "q3", "mean", "sd")]
    assert found == pytest.approx(expected, abs=1e-9)
    assert summary["count"] == 79
    assert summary["beats"]["team-40"] == pytest.approx((kept > figures["team-40"]).mean())
    assert len(task["pairs"]) == 78
    assert len(task["errors"]["systems"]) == 10


def test_one_file_a_system_and_a_folder_of_them_give_a_report(eighty, capsys):
    folder, _, _ = eighty
    wide = pl.read_csv(folder / "wide.csv")
    (folder / "systems").mkdir()
    for name in ("team-10", "team-40", "team-70"):
        frame = wide.select("id", pl.col(name).alias("sexist.label")).sample(fraction=1, shuffle=True, seed=1)
        frame.write_csv(folder / "systems" / f"{name}.csv")
    options = ["--resamples", "50", "--test", "mcnemar", "--test-pairs", "all", "--out", str(folder / "report")]
    arguments = ["compare", str(folder / "gold.csv"), "-p", str(folder / "systems"), "--scheme", "edos", *options]
    assert main([*arguments]) == 0
    printed = capsys.readouterr().out
    assert "team-70" in printed
    assert "McNemar" in printed
    page = (folder / "report" / "report.html").read_text()
    assert "pooled confusion matrix" in page
    assert json.loads((folder / "report" / "results.json").read_text())["tasks"]["sexist"]["n"] == 250
    assert (folder / "report" / "board-sexist.csv").read_text().startswith("rank,system,mark,macro_f1,macro_f1.low,")


def test_scored_files_that_keep_the_gold_column_are_ranked_by_what_the_detector_said(tmp_path, capsys):
    gold = [int(i % 4 == 0) for i in range(80)]
    said = ["hateful" if i % 3 == 0 else "not hateful" for i in range(80)]
    posts = pl.DataFrame({"id": [str(i) for i in range(80)], "text": ["a day"] * 80, "label": gold})
    posts.write_csv(tmp_path / "posts.csv")
    posts.with_columns(pl.Series("hate.label", said)).write_csv(tmp_path / "scored.csv")
    expected = f1_score(gold, [int(label == "hateful") for label in said], average="macro")
    for more in ([], ["--gold", "hate=label"]):
        found = run(capsys, tmp_path / "posts.csv", "-p", tmp_path / "scored.csv", "--resamples", 20, *more)
        assert found["tasks"]["hate"]["rows"][0]["figure"]["value"] == pytest.approx(expected)


def test_gold_with_a_plain_column_needs_no_scheme_and_scores_are_ranked_by_auroc(tmp_path, capsys):
    gold = pl.DataFrame({"id": ["a", "b", "c", "d"], "label": [0, 1, 0, 1]})
    gold.write_csv(tmp_path / "gold.csv")
    for name, scores in {"good": [0.1, 3.0, 0.2, 2.0], "bad": [2.0, 0.1, 0.3, 0.2]}.items():
        pl.DataFrame({"id": gold["id"], "score": scores}).write_csv(tmp_path / f"{name}.csv")
    files = ["-p", tmp_path / "good.csv", "-p", tmp_path / "bad.csv"]
    options = ["--metric", "auroc", "--positive", "1", "--resamples", 20]
    rows = run(capsys, tmp_path / "gold.csv", *files, *options)["tasks"]["label"]["rows"]
    assert [(row["system"], row["figure"]["value"]) for row in rows] == [("good", 1.0), ("bad", 0.0)]


def test_a_finished_board_is_summarised(tmp_path, capsys):
    pl.DataFrame({"team": list("abcd"), "f1": [0.9, 0.8, 0.6, 0.7]}).write_csv(tmp_path / "board.csv")
    found = run(capsys, "--scores", tmp_path / "board.csv", "--score-column", "f1", "--baseline", "B6=0.75")
    assert found["q1"] == pytest.approx(0.675)
    assert found["sd"] == pytest.approx(np.std([0.9, 0.8, 0.6, 0.7], ddof=1), abs=1e-12)
    assert found["beats"] == {"B6": 0.5}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scores", "{}/board.csv", "--score-column", "f2"], "no column 'f2'"),
        (["--scores", "{}/board.csv", "--score-column", "team"], "row 1, column 'team'"),
        (["--scores", "{}/board.csv", "--baseline", "B6"], "NAME=FIGURE"),
        (["{}/gold.csv"], "Say what to compare"),
        (["{}/gold.csv", "-p", "{}/short.csv"], "no prediction for 1 of 2"),
        (["{}/gold.csv", "-p", "{}/odd.csv"], "'maybe'"),
        (["{}/gold.csv", "-p", "{}/short.csv", "--baseline", "b9"], "no system 'b9'"),
    ],
)
def test_bad_input_gets_one_line(tmp_path, capsys, arguments, words):
    pl.DataFrame({"team": ["a"], "f1": [0.5]}).write_csv(tmp_path / "board.csv")
    gold = pl.DataFrame({"id": ["1", "2"], "hate.gold": ["hateful", "not hateful"]})
    gold.write_csv(tmp_path / "gold.csv")
    pl.DataFrame({"id": ["1"], "hate.label": ["hateful"]}).write_csv(tmp_path / "short.csv")
    pl.DataFrame({"id": ["1", "2"], "hate.label": ["hateful", "maybe"]}).write_csv(tmp_path / "odd.csv")
    assert main(["compare", *(each.format(tmp_path) for each in arguments)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error
