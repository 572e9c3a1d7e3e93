"""Secrets come from files, once, and a wrong file is one clear line."""

from __future__ import annotations

import pytest

from davy.core.errors import UserError
from davy.shell.app import read_secret_files, run
from davy.store.url import masked_url, parse_url


def test_a_secret_is_read_from_the_file_that_is_named(tmp_path):
    (tmp_path / "key").write_text("k" * 40 + "\n")
    environment = {"DAVY_SECRET_KEY_FILE": str(tmp_path / "key"), "HOME": "/"}
    read_secret_files(environment)
    assert environment == {"DAVY_SECRET_KEY": "k" * 40, "HOME": "/"}


@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        (None, {}, "can't read"),
        (b"", {}, "is empty"),
        (b"\xff\xfe", {}, "not UTF-8"),
        (b"k", {"DAVY_SECRET_KEY": "other"}, "both set"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, content, more, said):
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(UserError, match=said) as error:
        read_secret_files({"DAVY_SECRET_KEY_FILE": str(tmp_path / "key"), **more})
    assert error.value.message.startswith("DAVY_SECRET_KEY")


def test_a_command_reads_its_database_from_a_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "url").write_text(f"sqlite:///{tmp_path / 'work.sqlite'}\n")
    monkeypatch.delenv("DAVY_DATABASE", raising=False)
    monkeypatch.setenv("DAVY_DATABASE_FILE", str(tmp_path / "url"))
    assert run(["database", "create"]) == 0
    assert (tmp_path / "work.sqlite").exists()
    monkeypatch.delenv("DAVY_DATABASE", raising=False)


def test_the_databases_password_may_come_apart_from_its_address(monkeypatch):
    pytest.importorskip("psycopg")
    monkeypatch.setenv("DAVY_DATABASE_PASSWORD", "p@ss/word")
    assert parse_url("postgresql://davy@database/davy").password == "p@ss/word"
    assert parse_url("postgresql://davy:own@database/davy").password == "own"
    assert "ss/word" not in masked_url(parse_url("postgresql://davy@database/davy"))
