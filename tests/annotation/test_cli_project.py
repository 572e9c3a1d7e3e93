"""`davy project` from the shell: a project from a file to its last phase, and errors in one line."""

from __future__ import annotations

import json

import pytest

from davy.shell.app import run


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Run commands in a folder of its own with a database and a file of posts; returns (exit code, out, err)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAVY_DATABASE", f"sqlite:///{tmp_path / 'd.sqlite'}")
    rows = [json.dumps({"id": f"p{i}", "text": f"words {i}"}) for i in range(20)]
    (tmp_path / "posts.jsonl").write_text("\n".join(rows))
    run(["database", "create"])

    def command(*words: str):
        code = run(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    capsys.readouterr()
    return command


FILE = """
name: pilot
title: Pilot
preset: gmhp7k
posts: posts.jsonl
phases: {"1": {posts: 2}, 2a: {posts: 4}, 2b: {posts: 4}, 2c: {posts: 4}}
roster:
  - {login: lin@example.org, roles: [manager]}
"""


def test_a_project_is_made_shown_and_staffed(shell, tmp_path):
    (tmp_path / "pilot.yaml").write_text(FILE)
    code, out, _ = shell("project", "create", "pilot.yaml", "--json", "--base-url", "https://davy.example.org")
    assert code == 0
    made = json.loads(out)
    assert [(it["name"], it["posts"]) for it in made["phases"]] == [("1", 2), ("2a", 4), ("2b", 4), ("2c", 4), ("3", 6)]
    assert made["invitations"]["lin@example.org"].startswith("https://davy.example.org/invitation/")
    code, out, _ = shell("project", "show", "pilot", "--json")
    first = json.loads(out)["phases"][0]
    assert first["may_open"]
    assert shell("project", "open", "pilot", "1")[0] == 0
    code, _, err = shell("project", "open", "pilot", "2a")
    assert (code, "Phase 1 is still open" in err, err.count("\n")) == (2, True, 1)
    assert shell("project", "close", "pilot", "1", "--anyway", "talked it over")[0] == 0
    code, out, _ = shell("project", "invite", "pilot", "--role", "expert", "--json")
    assert json.loads(out)["roles"] == ["expert"]
    code, out, err = shell("project", "invite", "pilot", "--base-url", "https://davy.example.org/")
    assert (out.startswith("https://davy.example.org/invitation/"), "before /invitation" in err) == (True, False)
    code, out, err = shell("project", "invite", "pilot")
    assert out.startswith("/invitation/")
    assert "Put the server's address before /invitation" in " ".join(err.split())
    code, out, _ = shell("project", "roster", "pilot", "--json")
    assert [it["state"] for it in json.loads(out)["invitations"]] == ["open"] * 4
    code, out, _ = shell("project", "next-set", "pilot", "2a", "--most", "2")
    assert code == 0
    code, out, _ = shell("project", "list", "--json")
    assert [it["name"] for it in json.loads(out)[0]["phases"]] == ["1", "2a", "2b", "2c", "2d", "3"]


def test_what_is_wrong_is_one_line_and_nothing_is_made(shell, tmp_path):
    (tmp_path / "bad.yaml").write_text("name: x\npreset: edos\nkare: {}\n")
    (tmp_path / "few.yaml").write_text("name: x\npreset: gmhp7k\nposts: posts.jsonl\n")
    for words, said in (
        (("create", "bad.yaml"), "bad.yaml:3:"),
        (("create", "edoz"), "Did you mean 'edos'?"),
        (("create", "few.yaml"), "Phase '2a' takes 46 posts"),
        (("create", "hatemoji-check", "--posts", "nowhere.csv"), "nowhere.csv"),
        (("create", "hatemoji-check", "--name", "A B"), "can't name a project"),
        (("show", "nowhere"), "There is no project 'nowhere'"),
        (("open", "nowhere", "1"), "There is no project"),
    ):
        code, _, err = shell("project", *words)
        assert code == 2, words
        assert said in err, words
        assert err.count("\n") == 1, words
    assert json.loads(shell("project", "list", "--json")[1]) == []


def test_posts_are_added_to_a_phase_and_gold_is_asked_for_where_it_is_needed(shell, tmp_path):
    assert shell("project", "create", "edos", "--name", "s")[0] == 0
    code, _, err = shell("project", "add-posts", "s", "screening", "posts.jsonl")
    assert (code, "needs its right answers" in err) == (2, True)
    code, _, err = shell("project", "add-posts", "s", "main", "posts.jsonl")
    assert (code, "20 posts" in err) == (0, True)
    code, _, err = shell("project", "add-posts", "s", "main", "posts.jsonl")
    assert (code, "twice" in err) == (2, True)


def test_a_phase_is_added_from_the_shell(shell):
    assert shell("project", "create", "hatemoji-check", "--name", "s")[0] == 0
    added = ("project", "add-phase", "s", "2a", "--kind", "calibration", "--kappa", "0.6", "--posts", "posts.jsonl")
    assert shell(*added)[0] == 0
    code, out, _ = shell("project", "show", "s", "--json")
    assert [(it["name"], it["posts"]) for it in json.loads(out)["phases"]] == [("validation", 0), ("2a", 20)]
    for words, said in (
        (("2a", "--kind", "calibration"), "already"),
        (("x", "--kind", "calibraton"), "Did you mean 'calibration'?"),
        (("x", "--kind", "production", "--answers", "none"), "how many people"),
        (("x", "--kind", "calibration", "--kappa", "2"), "between -1 and 1"),
    ):
        code, _, err = shell("project", "add-phase", "s", *words)
        assert (code, said in err, err.count("\n")) == (2, True, 1), (words, err)


def test_right_answers_are_read_from_the_column_that_is_named(shell, tmp_path):
    rows = "".join(f"g{i},text {i},{'sexist' if i % 2 else 'not sexist'}\n" for i in range(200))
    (tmp_path / "gold.csv").write_text(f"id,text,label_sexist\n{rows}")
    command = ("project", "create", "edos", "--name", "g", "--posts", "gold.csv")
    for gold, said in (
        ("sexist", "none of the files"),
        ("sexist=lable", "none of the files"),
        ("sexst=label_sexist", ""),
    ):
        code, _, err = shell(*command, "--gold", gold)
        assert (code, said in err, err.count("\n")) == (2, True, 1), gold
    assert shell(*command, "--gold", "sexist=label_sexist")[0] == 0
    code, out, err = shell("project", "create", "edos", "--name", "h", "--posts", "gold.csv")
    assert (code, "screening" in out) == (0, False)
    assert "no post has right answers" in err


def test_the_sampler_that_took_a_post_is_in_the_corpus_that_people_made_of_it(shell, tmp_path):
    rows = [{"id": f"s{i}", "text": f"words {i}", "sampler": "random" if i % 2 else "keyword"} for i in range(4)]
    rows[3]["meta"] = {"sampler": "told before", "likes": 3}
    rows[2]["sampler"] = None
    (tmp_path / "sample.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert shell("project", "create", "edos", "--name", "pilot", "--posts", "sample.jsonl")[0] == 0
    answers = [f"s{i},{who},not sexist,words {i}" for i in range(4) for who in ("ada", "ben", "cay")]
    (tmp_path / "people.csv").write_text("item,annotator,sexist,text\n" + "\n".join(answers))
    assert shell("project", "import", "pilot", "people.csv")[0] == 0
    assert shell("project", "corpus", "pilot", "--out", "corpus.jsonl")[0] == 0
    made = {row["id"]: row for row in map(json.loads, (tmp_path / "corpus.jsonl").read_text().splitlines())}
    assert {key: row["sampler"] for key, row in made.items()} == {
        "s0": "keyword", "s1": "random", "s2": None, "s3": "told before",
    }  # fmt: skip
    assert made["s3"]["meta"]["likes"] == 3


def test_a_phase_whose_answers_came_with_a_file_needs_no_people_and_names_the_cases_that_wait(shell, tmp_path):
    assert shell("project", "create", "edos", "--name", "pilot", "--posts", "posts.jsonl")[0] == 0
    assert "Annotators needed: 3" in shell("project", "open", "pilot", "main")[2]
    labels = {"ada": "sexist", "ben": "not sexist", "cay": "not sexist"}
    rows = [f"p{i},{who},{label if i < 4 else 'not sexist'}" for i in range(20) for who, label in labels.items()]
    (tmp_path / "people.csv").write_text("item,annotator,sexist\n" + "\n".join(rows))
    assert shell("project", "import", "pilot", "people.csv")[0] == 0
    assert json.loads(shell("project", "show", "pilot", "--json")[1])["phases"][0]["may_open"]
    assert shell("project", "open", "pilot", "main")[0] == 0
    assert "4 cases wait" in shell("project", "show", "pilot")[1]


def test_a_deleted_project_is_not_found_and_restored(shell, tmp_path):
    (tmp_path / "pilot.yaml").write_text(FILE)
    assert shell("project", "create", "pilot.yaml")[0] == 0
    code, _, err = shell("project", "delete", "pilot")
    assert (code, "davy project restore pilot" in err) == (0, True)
    code, _, err = shell("project", "show", "pilot")
    assert (code, "There is no project 'pilot'." in err) == (2, True)
    assert "A deleted project has the name 'pilot'" in shell("project", "create", "pilot.yaml")[2]
    assert shell("project", "list", "--json")[1].strip() == "[]"
    assert shell("project", "restore", "pilot")[0] == 0
    assert [it["name"] for it in json.loads(shell("project", "list", "--json")[1])] == ["pilot"]
    code, _, err = shell("project", "restore", "pilot")
    assert (code, "There is no deleted project 'pilot' that can be restored." in err) == (2, True)
