"""`davy explain`: a detector's words against those that people marked."""

import json

import pytest

from davy.shell.app import run

POSTS = """id,text,lang,rationale.gold,hate.gold
1,you grumblefop of a lamp,en,4-14,hateful
2,the grumblefop and the lamp,en,4-14|23-27,hateful
3,nothing to see here,en,8-14,hateful
4,a fine day,en,none,not hateful
5,another fine day,en,,not hateful
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "posts.csv").write_text(POSTS, encoding="utf-8")
    (tmp_path / "words.txt").write_text("grumblefop\n", encoding="utf-8")
    return tmp_path


def test_a_list_of_words_is_measured_against_people_s_marks(folder, capsys):
    arguments = ["explain", "posts.csv", "--model", "keywords:words.txt", "--resamples", "0", "--json"]
    assert run([*arguments, "--out", "figures.json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    assert (found["posts"], found["posts_without_marks"]) == (3, 1)
    assert found["marked_share"] == pytest.approx((1 / 5 + 2 / 5 + 2 / 4) / 3)
    values = {metric["name"]: metric["value"] for metric in found["weights"]["keywords:words.txt"]}
    # People mark 0.37 of a post, so two words of five and one of four are chosen. The list weighs one word or none;
    # ties go to the first: (you, grumblefop), (the, grumblefop), (nothing), each in one passage.
    # F1: 2·1/3, 2·1/4, 0. Passages: 1–2 against 0–2, overlap 1/2, 1; 1–2 and 4–5 against 0–2, one hit, 2·1/3; 0.
    assert values["token_f1"] == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert values["iou_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)
    # AUPRC: 1; 1/2 + 1/2 · 2/5; all words tie, 2/4.
    assert values["auprc"] == pytest.approx((1 + (1 / 2 + 1 / 2 * 2 / 5) + 1 / 2) / 3)
    assert run(["explain", "posts.csv", "--model", "keywords:words.txt", "--resamples", "20"]) == 0
    shown = capsys.readouterr().out
    assert "random" in shown
    assert "3 posts, of which people marked 37% on average" in shown


@pytest.mark.parametrize(
    ("old", "new", "arguments", "said"),
    [
        ("", "", [], "Say whose explanations to measure"),
        ("rationale.gold", "words", ["--model", "keywords:words.txt"], "There is no column 'rationale.gold'"),
        ("4-14,", "4-140,", ["--model", "keywords:words.txt"], "Row 1 of rationale.gold marks more than the text"),
        ("4-14,", "lamp,", ["--model", "keywords:words.txt"], "Row 1 of rationale.gold: 'lamp' is no span"),
    ],
)
def test_what_can_not_be_measured_is_one_line(folder, capsys, old, new, arguments, said):
    text = POSTS.replace(old, new, 1) if old else POSTS
    (folder / "posts.csv").write_text(text, encoding="utf-8")
    assert run(["explain", "posts.csv", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_marked_words_are_no_labels_to_learn_to_measure_or_to_balance_by(folder, capsys):
    rows = ["id,text,lang,hate.gold,rationale.gold,rationale.gold.words"]
    for n in range(40):
        hateful = n % 2
        text = f"{'grumblefop' if hateful else 'a fine day'} number {n} of the {'dim' if hateful else 'calm'} lake"
        rows.append(f"{n},{text},en,{'hateful' if hateful else 'not hateful'},{f'0-{4 + n}' if hateful else ''},")
    (folder / "corpus.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert run(["train", "corpus.csv", "--kind", "tfidf", "--out", "run"]) == 0
    assert "Left out, words that people marked: rationale." in capsys.readouterr().err
    assert run(["evaluate", "corpus.csv", "--model", "keywords:words.txt", "--resamples", "20", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["questions"]) == ["hate"]
    assert run(["split", "corpus.csv", "--out", "split.csv"]) == 0
    assert "rationale" not in capsys.readouterr().out
    assert run(["describe", "corpus.csv", "--out", "described"]) == 0
    described = json.loads((folder / "described/description.json").read_text(encoding="utf-8"))
    assert [level["question"] for level in described["levels"]] == ["hate"]
