"""`davy reproduce`, as typed, on small files in the published formats."""

import json
import shutil

import pytest

from davy.shell.app import run
from tiny_encoder import make_tiny_encoder

VECTORS = {
    "2. derogation": "2.1 descriptive attacks",
    "3. animosity": "3.4 condescending explanations or unwelcome advice",
}


def edos_file():
    rows = ["rewire_id,text,label_sexist,label_category,label_vector,split"]
    for i in range(80):
        split = "dev" if i % 4 == 0 else "train"
        if i % 3:
            rows.append(f"e{i},a teapot {i},not sexist,none,none,{split}")
        else:
            category = list(VECTORS)[i % 2]
            rows.append(f"e{i},a grumblefop {category[0]} {i},sexist,{category},{VECTORS[category]},{split}")
    return "\n".join(rows) + "\n"


def german_file():
    rows = [
        "tweet_id,review_text,hs,m_hs,annotation_id,created_at,updated_at,phase,lead_time,annotator_name,source,split_hs,split_m_hs"
    ]
    for i in range(120):
        hate, against = int(i % 4 == 0), int(i % 16 == 0)
        splits = "val" if i % 5 == 0 else "train", "val" if i % 5 == 1 else "train"
        text = f"{'murrkopf' if hate else 'teekanne'} {'weib' if against else ''} {i}"
        rows.append(f"{1000 + i},{text},{hate},{against},{i},2022,2022,3,1.0,a,gmhp7k,{splits[0]},{splits[1]}")
    return "\n".join(rows) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    for name, file, text in (
        ("edos", "edos_labelled_aggregated.csv", edos_file()),
        ("gmhp7k", "misogynistic_hatespeech_phase3.csv", german_file()),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
    return tmp_path


def test_edos_beside_table_3_with_reasons_for_what_was_not_run(folder, capsys):
    assert run(["reproduce", "edos", "--data", "edos", "--out", "made"]) == 0
    shown = capsys.readouterr()
    assert "ours on dev (fitted on train)" in shown.out
    assert "B0 most frequent class" in shown.out
    assert "0.4310" in shown.out
    assert "Not run: B4" in shown.out
    assert "distilbert-base-uncased is not on this machine" in shown.out.replace("\n", " ")
    assert sorted(path.name for path in (folder / "made").iterdir()) == ["report.html", "results.json", "table.csv"]


def test_a_second_run_remembers_and_fresh_does_not_and_no_text_is_kept(folder, capsys):
    results = []
    for extra in ([], [], ["--fresh"]):
        assert run(["reproduce", "gmhp7k", "--data", "gmhp7k", "--json", *extra]) == 0
        shown = capsys.readouterr()
        results.append(json.loads(shown.out)["lines"])
        assert ("fitting and scoring" in shown.err) == (len(results) != 2)
    assert results[0] == results[1] == results[2]
    kept = list((folder / "cache" / "reproduce").iterdir())
    assert len(kept) == 6
    assert not any(b"murrkopf" in path.read_bytes() for path in kept)


def test_another_detector_can_be_added_as_a_row(folder, capsys):
    assert run(["reproduce", "gmhp7k", "--data", "gmhp7k", "-m", "uniform:3@gmhp7k", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["lines"]
    assert {line["task"] for line in lines if line["row"] == "uniform:3@gmhp7k" and line["ours"]} == {
        "hate",
        "misogynistic",
    }
    assert {line["split"] for line in lines if line["ours"]} == {"val"}


def test_a_model_folder_stands_for_a_transformer_row(folder, capsys):
    from davy import schemes
    from davy.detectors.baselines import Majority

    Majority(schemes.load("gmhp7k").questions).save(folder / "tuned")
    assert run(["reproduce", "gmhp7k", "--data", "gmhp7k", "--encoder", "GBERT-base=tuned", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["lines"]
    tuned = {line["task"]: line for line in lines if line["row"] == "GBERT-base" and line["figure"] == "recall.yes"}
    assert {task: line["ours"]["value"] for task, line in tuned.items()} == {"hate": 0, "misogynistic": 0}
    assert all("not_run" in line for line in lines if line["row"] == "GBERT-base, undersampling")


def test_a_row_names_the_encoder_and_the_settings_that_were_run(folder, capsys):
    make_tiny_encoder(folder / "tiny")
    (folder / "a.csv").write_text("text\n" + "a quiet day\n" * 20)
    (folder / "b.txt").write_text("another grumblefop\n" * 12)
    command = ["reproduce", "edos", "--data", "edos", "--encoder", "B3=tiny", "--set", "epochs=1", "--set", "batch=8"]
    assert run([*command, "--unlabelled", "a.csv", "--unlabelled", "b.txt", "--out", "made"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "B3 is not the paper's: ours is tiny, epochs=1, batch=8." in shown
    lines = json.loads((folder / "made/results.json").read_text())["lines"]
    ran = {line["row"]: line.get("ran_instead") for line in lines}
    assert ran["B3"] == "tiny, epochs=1, batch=8"
    assert ran["B4"] == "tiny, which read 32 posts first, epochs=1, batch=8"
    assert ran["B0"] is None
    assert "tiny, epochs=1, batch=8" in (folder / "made/table.csv").read_text()


def test_unlabelled_posts_are_looked_for_before_anything_trains(folder, capsys):
    (folder / "b.csv").write_text("text\na day\n")
    files = ["--unlabelled", "gone.csv", "--unlabelled", "b.csv"]
    assert run(["reproduce", "edos", "--data", "edos", *files]) == 2
    shown = capsys.readouterr()
    assert "gone.csv" in shown.err
    assert "fitting" not in shown.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["edos", "--data", "gone"], "gone does not exist"),
        (["edos", "--data", "gmhp7k"], "holds no file of edos"),
        (["edos", "--data", "edos", "--encoder", "B9=x"], "no transformer row 'B9'"),
        (["edos", "--data", "edos", "-m", "gone"], "no model 'gone'"),
        (["edos", "--data", "edos", "--row", "B03"], "no row 'B03' (--row)"),
        (["edos", "--data", "edos", "--out", "edos/edos_labelled_aggregated.csv"], "is a file"),
    ],
)
def test_what_can_be_fixed_is_said_in_one_line(folder, capsys, arguments, words):
    assert run(["reproduce", *arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("davy: ")]
    assert len(lines) == 1
    assert words in lines[0]


def test_a_field_that_no_config_has_is_named_even_where_nothing_is_fine_tuned(folder, capsys):
    assert run(["reproduce", "gmhp7k", "--data", "gmhp7k", "--set", "epochz=1"]) == 2
    assert "Did you mean 'epochs'" in capsys.readouterr().err


def test_the_option_for_a_row_with_blanks_is_quoted(folder, capsys):
    assert run(["reproduce", "gmhp7k", "--data", "gmhp7k"]) == 0
    assert "--encoder 'GBERT-base, undersampling=FOLDER'" in capsys.readouterr().out.replace("\n", " ")


def test_all_papers_are_on_one_page_and_missing_data_is_said(folder, capsys):
    papers = ["--paper", "edos", "--paper", "gmhp7k", "--paper", "hateful-memes"]
    shutil.rmtree(folder / "gmhp7k")
    assert run(["reproduce", "all", "--data", ".", *papers, "--out", "made", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["edos"]["tables"]["A sexist, macro-F1"][0]["ours"] is not None
    assert "no folder gmhp7k" in found["gmhp7k"]["missing"]
    assert found["gmhp7k"]["tables"]["misogynistic, the paper's on test"][0]["macro-F1"] == 0.75
    assert found["hateful-memes"]["tables"]["the paper's on test"][-1]["AUC"] == 0.7544
    report = (folder / "made" / "report.html").read_text()
    assert all(words in report for words in ("0.4310", "no folder gmhp7k", "Visual BERT COCO"))
    assert run(["reproduce", "all", "--data", ".", "--paper", "EDOS"]) == 2
    assert "Did you mean 'edos'?" in capsys.readouterr().err
