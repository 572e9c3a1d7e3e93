"""Replaying recorded rounds, from small files in the shape of the published ones."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from davy.core.errors import UserError
from davy.rounds.replay import ReplaySettings, replay_rounds
from davy.shell.app import run

HATED, LIKED = "wuzzle grumblefop blorp", "lovely garden lobster"
QUICK = ReplaySettings(times=(1, 5))


def write(path: Path, columns: list[str], rows: list[list[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


@pytest.fixture
def hatemoji(tmp_path: Path) -> Path:
    """Write rounds 1 to 4 without their rounds, and rounds 5 and 6 in pairs, some of which part."""
    rows = [[f"{HATED if i % 2 else LIKED} {i}", i % 2, "dev" if i % 5 == 0 else "train"] for i in range(80)]
    write(tmp_path / "dynahate" / "dynahate.csv", ["text", "label", "split"], rows)
    columns = [
        "entry_id",
        "text",
        "type",
        "target",
        "round.base",
        "round.set",
        "set",
        "split",
        "label_gold",
        "matched_id",
    ]
    build: dict[str, list[list[object]]] = {"train": [], "validation": []}
    for pair in range(80):
        number, label = 5 + pair // 40, pair % 2
        for half, kind in enumerate(("original", "perturbation")):
            yes = label if half == 0 else 1 - label
            # The emoji turns what the words say: a target that has seen no emoji is wrong.
            text = f"{LIKED if yes else HATED} {pair} {'🦠' if yes else '🦋'}"
            file = "validation" if (pair + half) % 6 == 0 else "train"
            split = "dev" if file == "validation" else "train"
            row = [2 * pair + half, text, "derogation" if yes else "none", "['wom']" if yes else "[]", number,
                   f"{number}a", kind, split, yes, 2 * pair + 1 - half]  # fmt: skip
            build[file].append(row)
    for name, lines in build.items():
        write(tmp_path / "hatemojibuild" / f"{name}.csv", columns, lines)
    return tmp_path


@pytest.fixture
def gahd(tmp_path: Path) -> Path:
    columns = "gahd_id text label round source split contrastive_gahd_id model_prediction annotator_id"
    columns += " annotator_labels expert_labels"
    rows: list[list[object]] = []
    for i in range(60):
        gold = i % 2
        rows.append([f"g{i}", f"{HATED if gold else LIKED} {i}", gold, f"R{1 + i // 40}", "dynabench", "train", "",
                     1 - gold if i % 4 == 0 else gold, "p1", f"{gold}/{gold}/{1 - gold if i == 0 else gold}",
                     gold if i == 0 else ""])  # fmt: skip
    rows.append(["c1", f"{HATED} 999", 1, "R2", "contrastive", "train", "g2", 0, "p1", "1", "1"])
    write(tmp_path / "gahd" / "train.csv", columns.split(), rows)
    return tmp_path / "gahd"


def test_hatemojis_rounds_are_replayed_after_rounds_1_to_4(hatemoji, tmp_path):
    replay = replay_rounds(
        "hatemojibuild", hatemoji / "hatemojibuild", tmp_path / "out", QUICK, base=hatemoji / "dynahate"
    )
    assert [outcome.this for outcome in replay.outcomes] == ["R5", "R6"]
    assert list(replay.targets) == ["R5-T", "R6-T", "R7-T"]
    before, after = (replay.targets[name]["dev"]["R5"].accuracy.value for name in ("R5-T", "R6-T"))
    assert before < 0.5 < after
    assert [rate.round for rate in replay.rates] == [5, 6]
    assert replay.rates[0].raw.value > 0.9, "the first target has seen no emoji"
    assert replay.rates[0].raw.n == 40, "originals alone"
    assert replay.rates[0].confirmed.value is None, "the files have no label of another person"
    composition = next(table for table in replay.tables() if table.title == "What the rounds are made of")
    assert "type" in {row[0] for row in composition.rows}
    text = " ".join(replay.notes)
    assert "one round" in text
    assert "never released" in text
    assert "lie in different parts; on ours none does" in text
    titles = [table.title for table in replay.tables()]
    assert {"Choices", "Targets on the dev parts", "Targets on the test parts", "Model error rate"} <= set(titles)
    assert "Table 2 of the paper, on its test parts" in titles
    choices = next(table for table in replay.tables() if table.title == "Choices")
    assert [row[-1] for row in choices.rows] == ["DeBERTa, ×100", "DeBERTa, ×1"]
    assert json.loads((tmp_path / "out" / "replay.json").read_text())["closes"][1]["multipliers"]["R5"] in (1, 5)


def test_on_official_splits_there_is_no_test_part_to_print(hatemoji, tmp_path):
    settings = ReplaySettings(times=(1,), splits="official", rounds=(5,))
    replay = replay_rounds(
        "hatemojibuild", hatemoji / "hatemojibuild", tmp_path / "out", settings, base=hatemoji / "dynahate"
    )
    assert replay.outcomes[0].by_test is None
    assert not any("test parts" in table.title and "paper" not in table.title for table in replay.tables())


def test_gahds_recorded_predictions_and_labels_give_error_rate_and_agreement_each_with_its_n(gahd, tmp_path):
    replay = replay_rounds("gahd", gahd, tmp_path / "out", train=False)
    assert [(rate.round, rate.raw.n) for rate in replay.rates] == [(1, 40), (2, 20)]
    assert replay.rates[0].raw.value == 0.25
    (quality,) = (table for table in replay.tables() if "where labels were published" in table.title)
    assert [row[4] for row in quality.rows] == [40, 20]
    assert [row[5] for row in quality.rows] == [1, 0]


def test_a_contrast_to_an_earlier_round_never_leaves_its_originals_part(gahd, tmp_path):
    replay = replay_rounds("gahd", gahd, tmp_path / "out", train=False)
    parts = dict(replay.entries.select("id", "split").iter_rows())
    assert parts["c1"] == parts["g2"]


def test_the_shell_prints_the_tables_and_writes_the_page(gahd, tmp_path, capsys):
    assert run(["round", "replay", "gahd", "--data", str(gahd), "--recorded", "--out", str(tmp_path / "out")]) == 0
    assert "Model error rate" in capsys.readouterr().out
    assert "Model error rate" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("corpus", "settings", "message"),
    [
        ("edos", {}, "Rounds were recorded in hatemojibuild and gahd"),
        ("gahd", {"splits": "mine"}, "Splits are ours or official"),
        ("gahd", {"emoji": ("glyphs",)}, "not as 'glyphs'"),
        ("gahd", {"choose_by": "luck"}, "chosen by dev or test"),
    ],
)
def test_what_can_not_be_replayed_is_one_clear_line(gahd, tmp_path, corpus, settings, message):
    with pytest.raises(UserError, match=message):
        replay_rounds(corpus, gahd, tmp_path / "out", ReplaySettings(**{"architectures": ("./enc",), **settings}))


def test_a_way_to_read_emoji_that_n_grams_do_not_have_is_noted(hatemoji, tmp_path):
    settings = ReplaySettings(times=(1,), emoji=("tokens",), rounds=(5,))
    replay = replay_rounds("hatemojibuild", hatemoji / "hatemojibuild", tmp_path / "out", settings)
    assert "N-grams hold emoji as they are: tfidf is tried one way, and --emoji goes with encoders." in replay.notes
