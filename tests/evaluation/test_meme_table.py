"""The Hateful Memes paper's Table 1 beside ours: means, intervals, rows that can't run."""

import json

import numpy as np
import pytest

from davy.core.errors import UserError
from davy.evaluation.reproduce.memes_table import (
    HEADINGS,
    ROWS,
    MeasuredMemes,
    MemeRun,
    mean_draws,
    mean_figure,
    table_1,
)
from davy.evaluation.reproduce.paper_table import load_published, page, record
from davy.measure.intervals import Bootstrap
from davy.memes.meme_data import load_memes
from davy.memes.reproduce import fuse_logits, read_results, reproduce_memes
from davy.shell.app import run

FEW = Bootstrap(200)


def made_runs(n=80, seeds=3):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    runs = []
    for seed in range(seeds):
        logits = labels * 1.5 - 0.75 + rng.normal(size=n)
        reached = {"dev": {"auroc": 0.6, "accuracy": 0.5}, "test": figures(labels, logits)}
        runs.append(MemeRun("concat", seed, reached, {"test": logits}))
    return labels, runs


def figures(labels, logits):
    from sklearn.metrics import accuracy_score, roc_auc_score

    return {"auroc": roc_auc_score(labels, logits), "accuracy": accuracy_score(labels, logits >= 0)}


def test_the_papers_figures_and_rows_are_those_of_table_1():
    paper = load_published("hateful-memes")
    assert list(paper.figures) == ["Human", *ROWS.values()]
    assert paper.figure("Visual BERT COCO", "test", "auroc") == 0.7544
    assert paper.figure("MMBT-Region", "validation", "accuracy") == 0.6475
    assert [row for rows in HEADINGS.values() for row in rows] == list(ROWS)
    assert [len(rows) for rows in HEADINGS.values()] == [3, 6, 2]
    networks = pytest.importorskip("davy.detectors.meme_networks")
    assert networks.ROWS == ROWS


def test_a_mean_over_seeds_has_an_interval_over_memes():
    labels, runs = made_runs()
    metric = mean_figure("auroc", runs, "test", labels, FEW)
    assert metric.value == pytest.approx(np.mean([run.figures["test"]["auroc"] for run in runs]))
    rng = np.random.default_rng(5)
    draws = []
    for _ in range(300):
        rows = rng.integers(0, len(labels), len(labels))
        draws.append(np.mean([figures(labels[rows], run.logits["test"][rows])["auroc"] for run in runs]))
    low, high = np.percentile(draws, [2.5, 97.5])
    assert metric.low == pytest.approx(low, abs=0.025)
    assert metric.high == pytest.approx(high, abs=0.025)
    assert mean_figure("auroc", runs, "dev", None, FEW).note == "no interval: the answers were not kept"
    assert mean_figure("auroc", [], "test", labels, FEW) is None


def test_the_table_names_what_ran_what_did_not_and_the_papers_figures():
    labels, runs = made_runs()
    task = MeasuredMemes("benchmark", "hash", {"test": labels}, {"dev": "dev", "test": "test"})
    found = table_1(task, runs, {"vilbert-cc": "no captions"}, ran="updates=4", bootstrap=FEW)
    lines = [line for line in record(found)["lines"] if line["row"] == "ViLBERT CC"]
    assert all(line["not_run"] == "no captions" for line in lines)
    (auroc,) = [x for x in found.lines if (x.row, x.task, x.figure) == ("Concat BERT", "test", "auroc")]
    assert auroc.paper == 0.6777
    assert auroc.ran == "updates=4"
    assert len(found.layout) == 3
    values = [run.figures["test"]["auroc"] for run in runs]
    cell = f"{100 * np.mean(values):.2f} ± {100 * np.std(values, ddof=1):.2f}"
    assert cell in found.layout[1].csv()
    assert "84.70" in found.layout[0].csv()
    assert "no captions" in page(found).html()


def test_late_fusion_is_the_mean_of_two_probabilities():
    fused = fuse_logits(np.array([0.0, 2.0]), np.array([0.0, -2.0]))
    np.testing.assert_allclose(fused, [0.0, 0.0], atol=1e-9)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "img").mkdir()
    for part in ("train", "dev", "test"):
        rows = [{"id": f"{part}{i}", "img": "a.png", "label": i % 2, "text": "tea"} for i in range(8)]
        (tmp_path / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_rows_that_were_trained_elsewhere_come_from_a_file(folder, capsys):
    line = {"row": "text", "seed": 0, "data": "hateful-memes", "valid": {"auroc": 0.7, "accuracy": 0.6}}
    line |= {"test": {"auroc": 0.5, "accuracy": 0.5}, "predictions": "t.npz"}
    others = [{**line, "data": "else"}, {**line, "chosen": False, "seed": 9}]
    results = folder / "results.jsonl"
    results.write_text("\n".join(map(json.dumps, [line, *others])))
    ids = {"valid-id": ["train0", "train3"], "test-id": [f"test{i}" for i in range(8)]}
    np.savez(folder / "t.npz", **ids, **{"test-text-0": np.linspace(-1, 1, 8)})
    (found,), labels = read_results([results], load_memes(folder))
    assert (found.seed, list(found.logits)) == (0, ["test"])
    assert labels["dev"].tolist() == [0, 1], "the memes that were measured, here of train"
    command = ["reproduce", "memes", "--data", str(folder), "--results", str(results), "--json"]
    assert run([*command, "--resamples", "50"]) == 0
    told = json.loads(capsys.readouterr().out)
    (line,) = [x for x in told["lines"] if (x["row"], x["task"], x["figure"]) == ("Text BERT", "test", "auroc")]
    assert line["ours"]["value"] == 0.5
    assert line["ours"]["low"] is not None
    np.savez(folder / "t.npz", **{"test-id": ["other"], "test-text-0": np.zeros(1)})
    with pytest.raises(UserError, match="has answers to other"):
        read_results([results], load_memes(folder))
    results.write_text("{}\n")
    with pytest.raises(UserError, match="is no result of a row"):
        read_results([results], load_memes(folder))


def test_of_a_row_that_several_files_have_the_last_one_counts(folder):
    def write(name, *rows, seeds=2, dev="train0"):
        lines = [
            {"row": row, "seed": seed, "data": "hateful-memes", "predictions": f"{name}.npz",
             "valid": {"auroc": 0.7, "accuracy": 0.6}, "test": {"auroc": 0.5 + seed / 10, "accuracy": 0.5}}
            for row in rows for seed in range(seeds)
        ]  # fmt: skip
        np.savez(folder / f"{name}.npz", **{"valid-id": [dev], "test-id": [f"test{i}" for i in range(8)]})
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        return folder / f"{name}.jsonl"

    memes = load_memes(folder)
    first, second = write("first", "text", "vilbert", seeds=3), write("second", "vilbert")
    runs, _ = read_results([first, second], memes)
    assert [(run.row, run.seed) for run in runs] == [
        ("text", 0),
        ("text", 1),
        ("text", 2),
        ("vilbert", 0),
        ("vilbert", 1),
    ]
    with pytest.raises(UserError, match="other memes of dev"):
        read_results([first, write("third", "vilbert", dev="train1")], memes)


def test_a_row_that_can_not_run_says_why_and_the_others_stay(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    pytest.importorskip("torch")
    changes = {"text_encoder": str(tmp_path / "gone")}
    found = reproduce_memes(folder, rows=["text"], seeds=1, changes=changes, bootstrap=FEW)
    notes = {line.row: line.note for line in found.lines if line.note}
    assert "gone" in notes["Text BERT"]
    with pytest.raises(UserError, match="Did you mean 'text'"):
        reproduce_memes(folder, rows=["txt"])


def test_memes_of_one_group_are_drawn_together():
    labels, runs = made_runs()
    logits = [runs[0].logits["test"]]
    alone = mean_draws("auroc", labels, logits, FEW)
    np.testing.assert_array_equal(mean_draws("auroc", labels, logits, FEW, np.arange(len(labels))), alone)
    # Every meme twice, drawn in pairs, says no more than each once: the interval stays as wide.
    doubled = mean_draws("auroc", np.tile(labels, 2), [np.tile(logits[0], 2)], FEW, np.tile(np.arange(len(labels)), 2))
    np.testing.assert_allclose(doubled, alone)
