"""The paper's tables: our copy of the published figures holds together, and our columns stand beside them."""

import json

import pytest

from davy.shell import console
from davy.shell.app import run
from davy.testing import hatemoji, suites

PAPER = hatemoji.load_published()
MODELS = range(5)


@pytest.mark.parametrize("model", MODELS)
def test_the_cells_of_table_4_add_up_to_table_3(model):
    cells = suites.counts(suites.load("emoji-en"))["cells"]
    for name in ("original", "identity", "polarity", "no emoji"):
        right = sum(PAPER["table_4"][f][name][model] * cells[f][name] for f in cells)
        total = sum(cells[f][name] for f in cells)
        assert right / total == pytest.approx(PAPER["table_3"][name][model], abs=0.006), "cells are rounded to 0.01"


@pytest.mark.parametrize("model", MODELS)
def test_published_differences_are_those_of_their_sets(model):
    table = PAPER["table_3"]
    assert table["original"][model] - table["no emoji"][model] == pytest.approx(
        table["emoji difference"][model], abs=0.0015
    )
    for name, sets in PAPER["table_4"].items():
        if name != "append":
            found = sets["original"][model] - sets["no emoji"][model]
            assert found == pytest.approx(sets["emoji difference"][model], abs=0.0151)
    eight = PAPER["table_8"]["hatemojicheck"]["accuracy"]
    place = PAPER["table_8"]["models"].index(PAPER["models"][model])
    assert eight[place] == table["overall"][model]


def test_f1_is_scikit_learn_s():
    from sklearn.metrics import accuracy_score, f1_score

    gold = ["hateful"] * 6 + ["not hateful"] * 5
    said = ["hateful", "not hateful"] * 5 + ["hateful"]
    found = hatemoji.hatemoji_metrics(gold, said, "hateful")
    assert found.f1 == pytest.approx(f1_score(gold, said, pos_label="hateful"))
    assert found.accuracy.value == pytest.approx(accuracy_score(gold, said))


@pytest.fixture
def davy(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    yield call
    console.settings.plain = False


def test_without_the_published_suite_our_own_is_run_and_the_tables_say_so(davy, tmp_path):
    words = tmp_path / "w.txt"
    words.write_text("disgusting\nkill\n")
    code, out, err = davy("reproduce", "hatemoji", "--model", f"keywords:{words}", "--resamples", 20, "--json")
    assert code == 0, err
    tables = json.loads(out)
    assert [title.split(":")[0] for title in tables] == ["Table 3", "Table 4", "Table 8", "Table 9"]
    overall = tables["Table 3: accuracy, aggregated"][0]
    assert overall["R8-T"] == 0.871
    assert overall[f"keywords:{words}"]["n"] == 3930
    code, out, _ = davy(
        "reproduce", "hatemoji", "--model", f"keywords:{words}", "--resamples", 20, "--out", tmp_path / "r"
    )
    assert "other sentences" in " ".join(out.split())
    assert {file.name for file in (tmp_path / "r").iterdir()} == {
        "report.html",
        *(f"table-{n}.csv" for n in (3, 4, 8, 9)),
    }


def test_test_sets_in_the_data_folder_fill_table_8(davy, tmp_path):
    data = tmp_path / "data"
    (data / "hatemojibuild").mkdir(parents=True)
    words = tmp_path / "w.txt"
    words.write_text("away\n")
    suites.table(suites.load("emoji-en")).head(400).write_csv(data / "hatemojicheck.csv")
    rows = "e1,Away with bakers,1,none,[],test\ne2,Bakers are fine,0,none,[],test\ne3,Away with cooks,1,none,[],train\n"
    (data / "hatemojibuild" / "test.csv").write_text("entry_id,text,label_gold,type,target,split\n" + rows)
    (data / "dynahate.csv").write_text("text,label,split\nAway with cooks,hate,test\nAway we go,nothate,test\n")
    code, out, err = davy(
        "reproduce", "hatemoji", "--data", data, "--model", f"keywords:{words}", "--resamples", 20, "--json"
    )
    assert code == 0, err
    table = {(row["test set"], row["figure"]): row for row in json.loads(out)["Table 8: emoji and text test sets"]}
    name = f"keywords:{words}"
    assert table["HatemojiBuild test (R5-R7)", "accuracy"][name]["value"] == 1.0
    assert table["HatemojiBuild test (R5-R7)", "accuracy"][name]["n"] == 2
    assert table["Dynamically generated, test (R1-R4)", "F1"][name] == "0.667"
    assert table["both rounds' test sets (R1-R7)", "accuracy"][name]["n"] == 4
    assert table["HatemojiCheck", "accuracy"][name]["n"] == 400
    assert table["HateCheck (not in the data folder)", "accuracy"][name] is None


def test_a_baseline_of_the_paper_is_trained_here_as_a_column_of_our_own(davy, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from tiny_encoder import make_tiny_encoder

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = tmp_path / "w.txt"
    words.write_text("away\n")
    data = tmp_path / "data" / "davidson2017"
    data.mkdir(parents=True)
    rows = "".join(f"{i},3,0,0,3,{i % 3},they are bad {i}\n" for i in range(40))
    (data / "labeled_data.csv").write_text(",count,hate_speech,offensive_language,neither,class,tweet\n" + rows)
    encoder = make_tiny_encoder(tmp_path / "tiny")
    asked = ("reproduce", "hatemoji", "--data", data.parent, "--model", f"keywords:{words}", "--resamples", 9, "--json")
    code, out, err = davy(*asked, "--encoder", f"B-D={encoder}", "--set", "epochs=1", "--set", "max_length=16")
    assert code == 0, err
    row = json.loads(out)["Table 3: accuracy, aggregated"][0]
    assert row["B-D, ours"]["n"] == 3930
    code, out, err = davy(*asked, "--encoder", f"B-F={encoder}")
    assert code == 2
    assert "founta2018 is not in the data folder" in err
