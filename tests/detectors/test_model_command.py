"""`davy model add|activate|retire|default|list`: which detectors a server knows, from the shell."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from davy import schemes
from davy.detectors.baselines import Majority
from davy.shell.app import app
from davy.store import open_store


@pytest.fixture
def davy(tmp_path):
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    open_store(url, create=True).close()

    def run(*words):
        done = CliRunner().invoke(app, ["model", *map(str, words), "--database", url, "--json"])
        return json.loads(done.stdout) if done.exit_code == 0 else done

    return run


def save_model(folder, answer="not hateful"):
    Majority((schemes.load("hate").question("hate"),), {"hate": answer}, "comments").save(folder)
    return folder


def test_a_folder_is_added_made_the_default_and_retired(davy, tmp_path):
    folder = save_model(tmp_path / "model")
    added = davy("add", folder, "--threshold", "hate=0.7")
    assert (added["source"], added["state"], added["is_default"]) == (str(folder), "active", False)
    assert (added["questions"], added["thresholds"], added["data_hash"]) == (["hate"], {"hate": 0.7}, None)
    assert davy("default", "comments")["is_default"]
    assert [entry["state"] for entry in davy("list")] == ["active"]
    assert davy("retire", "comments")["state"] == "retired"
    assert davy("activate", f"comments@{added['version']}")["state"] == "active"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "no/such/folder"), "no model folder"),
        (("add", "keywords:words.txt"), "Save it first"),
        (("add", "MODEL", "--threshold", "hate"), "hate=0.7"),
        (("add", "MODEL", "--threshold", "hate=7"), "between 0 and 1"),
        (("add", "MODEL", "--threshold", "other=0.5"), "it answers hate"),
        (("retire", "nobody"), "davy model add"),
    ],
)
def test_what_can_not_be_done_says_why(davy, tmp_path, words, says):
    model = save_model(tmp_path / "model")
    done = davy(*(model if word == "MODEL" else word for word in words))
    assert done.exit_code != 0
    assert says in f"{done.exception}"
