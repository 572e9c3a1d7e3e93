"""The transformer rows of `davy reproduce`: fine-tuned where an encoder is there, and only once."""

import json

import pytest

from davy.shell.app import run


def edos_file() -> str:
    rows = ["rewire_id,text,label_sexist,label_category,label_vector,split"]
    for i in range(60):
        split = ("test", "dev", "train", "train")[i % 4]
        if i % 3:
            rows.append(f"e{i},lovely garden,not sexist,none,none,{split}")
        else:
            rows.append(f"e{i},bad grumblefop,sexist,2. derogation,2.1 descriptive attacks,{split}")
    return "\n".join(rows) + "\n"


@pytest.mark.slow
def test_rows_are_fine_tuned_pre_trained_further_and_kept(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "edos").mkdir()
    (tmp_path / "edos" / "edos_labelled_aggregated.csv").write_text(edos_file())
    (tmp_path / "more.csv").write_text("text\n" + "they are all nice people the garden\n" * 20)
    line = ["reproduce", "edos", "--data", str(tmp_path / "edos"), "--encoder", f"B3={tiny}"]
    line += [
        "--unlabelled",
        str(tmp_path / "more.csv"),
        "--set",
        "epochs=12",
        "--set",
        "batch=4",
        "--set",
        "rate=0.005",
        "--json",
    ]
    found = []
    for _ in range(2):
        assert run(line) == 0
        shown = capsys.readouterr()
        found.append({(it["row"], it["task"]): it for it in json.loads(shown.out)["lines"]})
    assert "fine-tuning" not in shown.err
    for row in ("B3", "B4"):
        ours = found[0][row, "A sexist"]["ours"]
        assert ours["value"] == 1.0, "the words tell the two apart"
        assert found[1][row, "A sexist"]["ours"] == ours
    assert found[0]["B3", "A sexist"]["model_version"] != found[0]["B4", "A sexist"]["model_version"]
    assert found[0]["B5", "A sexist"]["ours"] is None
