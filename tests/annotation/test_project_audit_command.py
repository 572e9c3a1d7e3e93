"""`davy project audit` and `davy project pools` from the shell."""

import json

import pytest

from adjudication_case import make
from davy.annotation.settling.store import cases
from davy.core import Label, Question, Scheme
from davy.shell.app import run
from davy.store import open_store

HATE = Scheme("rude", 1, (Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful"),))
NO, YES = {"hate": "not hateful"}, {"hate": "hateful"}


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """A settled project, one of whose majorities is doubtful, and a word list that finds fault with another post."""
    url = f"sqlite:///{tmp_path / 'd.sqlite'}"
    monkeypatch.setenv("DAVY_DATABASE", url)
    (tmp_path / "words.txt").write_text("text\t0.9\n")
    with open_store(url, create=True) as store:
        case = make(store, HATE)
        given = [[YES, YES, YES]] * 5 + [[YES, YES, NO]] * 4 + [[YES, NO, YES]] * 3 + [[NO, NO, NO]] * 12
        with store.write() as db:
            for number, answers in enumerate([*given, [YES, NO, NO]]):
                case.put(db, f"p{number}", answers, gold=YES if number == 24 else None)

    def command(*words: str):
        code = run(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return command, url, tmp_path


def test_an_audit_looks_first_and_then_sends_back(shell):
    command, url, _ = shell
    code, out, _ = command("project", "audit", "pilot", "--dry-run", "--json")
    found = json.loads(out)
    assert (code, found["looked_at"], found["doubted"], found["sent_back"]) == (0, 25, 1, [])
    assert (found["doubts"][0]["post"], found["doubts"][0]["instead"]) == ("p24", "hateful")
    code, _, err = command("project", "audit", "pilot", "--phase", "main")
    assert (code, "1 doubted, 1 sent back" in err) == (0, True)
    with open_store(url) as store, store.read() as db:
        assert cases.counts(db, "pilot") == {("audit", "open"): 1}


def test_a_detector_doubts_too(shell):
    command, _, folder = shell
    code, out, err = command(
        "project", "audit", "pilot", "--doubter", f"keywords:{folder / 'words.txt'}", "--most", "3", "--json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert (found["doubted"], len(found["sent_back"])) == (13, 3)


def test_what_can_not_be_audited_is_said_in_one_line(shell):
    for words, said in (
        (("nothing",), "no project"),
        (("pilot", "--phase", "second"), "no phase 'second'"),
        (("pilot", "--most", "-1"), "budget"),
        (("pilot", "--doubt", "1.5"), "between 0 and 1"),
        (("pilot", "--doubter", "no-such-detector"), "no-such-detector"),
    ):
        code, _, err = shell[0]("project", "audit", *words)
        assert (code, said in err, err.count("\n")) == (2, True, 1), words


def test_pools_are_compared_with_gold(shell):
    command = shell[0]
    code, out, _ = command("project", "pools", "pilot", "--json")
    assert code == 0
    found = [it for it in json.loads(out) if it["among"] is None]
    assert [(it["pool"], it["question"]) for it in found] == [("trained", "hate")]
    assert (found[0]["right"]["n"], found[0]["right"]["value"]) == (1, 0.0)
    assert "against gold" in command("project", "pools", "pilot")[1]
