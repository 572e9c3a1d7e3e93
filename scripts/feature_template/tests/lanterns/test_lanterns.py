"""Lanterns: in the shell, and on their page."""

from __future__ import annotations

import json

import pytest
from davy.lanterns import store as lanterns
from davy.lanterns.lantern import clean_name

from davy.core.errors import UserError
from davy.shell.app import run
from web_site import post


def test_a_name_has_no_outer_spaces_and_is_not_empty():
    assert clean_name("  the first one ") == "the first one"
    with pytest.raises(UserError, match="1 to 80 characters"):
        clean_name(" ")


def test_what_the_shell_adds_it_lists(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["database", "create"]) == 0
    assert run(["lantern", "add", "the first one"]) == 0
    capsys.readouterr()
    assert run(["lantern", "list", "--json"]) == 0
    assert [it["name"] for it in json.loads(capsys.readouterr().out)] == ["the first one"]


def test_the_page_adds_one_and_keeps_nobody_else_in(site):
    expert = site.as_("expert")
    assert post(expert, "/lanterns", {"name": "the first one"}, page="/lanterns").status_code == 303
    assert "the first one" in expert.get("/lanterns").text
    assert post(expert, "/lanterns", {"name": " "}, page="/lanterns").status_code >= 400
    assert site.as_("annotator").get("/lanterns").status_code == 403
    with site.store.read() as db:
        assert [it.name for it in lanterns.list_lanterns(db)] == ["the first one"]
