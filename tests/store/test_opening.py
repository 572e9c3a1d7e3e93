"""Opening a database: ours or not, older or newer, there or not. Every refusal says what to do."""

from __future__ import annotations

import builtins
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import CheckConstraint, inspect, text

from davy.core import UserError
from davy.people.store import users
from davy.store import default_url, open_store, schema_versions
from davy.store.backup import row_counts
from davy.store.connection import inspect_versions, open_any_version
from davy.store.schema import metadata
from davy.store.store import Store, make_engine
from davy.store.url import parse_url

NOW, LATER = schema_versions.newest_version(), "9998"
N_TABLES = 58


def described(store: Store) -> dict[str, object]:
    """Everything that a database tells about its tables."""
    found = inspect(store.engine)
    return {
        name: {
            "columns": [
                {key: str(value) for key, value in column.items() if key != "comment"}
                for column in found.get_columns(name)
            ],
            "key": found.get_pk_constraint(name),
            "foreign": sorted(found.get_foreign_keys(name), key=str),
            "unique": sorted(found.get_unique_constraints(name), key=str),
            "indexes": sorted(map(plain, found.get_indexes(name))),
            "checks": sorted(found.get_check_constraints(name), key=str),
        }
        for name in sorted(found.get_table_names())
        if name != schema_versions.VERSION_TABLE
    }


def plain(value: object) -> str:
    """A reflected value as text, the same for equal ones: conditions come as objects of SQLAlchemy's."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {plain(value[key])}" for key in sorted(value))
    return str(value)


def test_the_migrations_make_exactly_the_tables_of_tables_py(database_url, tmp_path, request):
    with open_store(database_url, create=True) as store:
        migrated = described(store)
        with store.write() as db:
            metadata.drop_all(db)
            metadata.create_all(db)
        declared = described(store)
    assert sorted(migrated) == sorted(table.name for table in metadata.sorted_tables)
    assert migrated == declared


def test_a_fresh_process_makes_every_table(tmp_path):
    """In this one other tests have imported the modules that declare tables."""
    program = (
        "import sys; from davy.store import open_store; from davy.store.backup import row_counts\n"
        "with open_store(sys.argv[1], create=True) as store, store.read() as db: print(len(row_counts(db)))"
    )
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    made = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=True)
    assert int(made.stdout) == N_TABLES


def test_every_foreign_key_and_check_has_a_name():
    for table in metadata.sorted_tables:
        for constraint in table.foreign_key_constraints | {
            it for it in table.constraints if isinstance(it, CheckConstraint)
        }:
            assert constraint.name, f"{table.name} has a constraint without a name"


def test_an_upgrade_from_the_first_version_keeps_every_row(database_url):
    first = schema_versions.list_versions()[0]
    if database_url.startswith("sqlite"):
        Path(database_url.removeprefix("sqlite:///")).touch()
    with Store(parse_url(database_url), make_engine(parse_url(database_url))) as bare, bare.write() as db:
        schema_versions.upgrade(db, first)
        db.execute(
            text(
                "INSERT INTO users (id, login, name, role, language, created_at) "
                "VALUES ('u1', 'ada', 'Ada', 'admin', 'en', '2026-01-02 03:04:05.000000')"
            )
        )
        db.execute(text("INSERT INTO posts (id, text, added_at) VALUES ('p', 'x', '2026-01-02 03:04:05.000000')"))
    with open_store(database_url, upgrade=True) as store, store.read() as db:
        assert schema_versions.version_of(db) == schema_versions.newest_version()
        assert users.find(db, "ada").id == "u1"
        assert db.execute(text("SELECT text FROM posts")).scalar_one() == "x"


def test_a_database_is_created_once_and_opened_again(database_url):
    open_store(database_url, create=True).close()
    with open_store(database_url, create=True) as store, store.write() as db:
        users.add(db, login="ada", name="Ada", role="admin", by="shell")
    with open_store(database_url) as store, store.read() as db:
        assert users.count(db) == 1
    assert inspect_versions(database_url) == (schema_versions.newest_version(), schema_versions.newest_version())


def test_many_who_create_one_database_at_once_all_succeed(database_url):
    errors: list[BaseException] = []
    barrier = threading.Barrier(4)

    def create() -> None:
        barrier.wait()
        try:
            open_store(database_url, create=True).close()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_an_empty_database_is_not_filled_unasked(database_url):
    if database_url.startswith("sqlite"):
        Path(database_url.removeprefix("sqlite:///")).touch()
    with pytest.raises(UserError, match="davy database create"):
        open_store(database_url)


def set_version(url: str, version: str) -> None:
    with open_store(url, create=True) as store, store.write() as db:
        db.execute(text(f"UPDATE {schema_versions.VERSION_TABLE} SET version_num = '{version}'"))


def test_a_newer_database_is_left_alone(database_url):
    set_version(database_url, "9999")
    for options in ({}, {"create": True}, {"upgrade": True}):
        with pytest.raises(UserError, match=r"newer Davy: it is of version 9999.*git pull"):
            open_store(database_url, **options)


@pytest.mark.parametrize("version", ["0001", "0018"])
def test_a_database_from_before_the_first_release_says_how_to_export_it_and_stays(database_url, version, tmp_path):
    set_version(database_url, version)
    before = content(database_url)
    for options in ({}, {"create": True}, {"upgrade": True}):
        with pytest.raises(UserError) as caught:
            open_store(database_url, **options)
        assert f"before the first release (version {version})" in caught.value.message
        assert "checkout from before 2026-11-19" in caught.value.message
        assert "davy project export PROJECT --phase all --out FILE --database " in caught.value.message
        assert "\n" not in caught.value.message
    with pytest.raises(UserError, match="before the first release"):
        inspect_versions(database_url)
    assert content(database_url) == before
    assert not list(tmp_path.glob("*.bak"))


def content(url: str) -> object:
    """A SQLite file's bytes, or the tables of a PostgreSQL database and its version."""
    if url.startswith("sqlite"):
        return Path(url.removeprefix("sqlite:///")).read_bytes()
    with open_any_version(url) as store, store.read() as db:
        return described(store), row_counts(db), schema_versions.version_of(db)


def test_an_older_database_asks_for_an_upgrade(database_url, monkeypatch):
    open_store(database_url, create=True).close()
    monkeypatch.setattr(schema_versions, "list_versions", lambda: [NOW, LATER])
    with pytest.raises(UserError, match=rf"is of version {NOW}.*needs {LATER}.*davy database upgrade"):
        open_store(database_url)
    with pytest.raises(UserError, match="davy database upgrade"):
        open_store(database_url, create=True)


def test_an_upgrade_copies_a_sqlite_file_first(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    with open_store(url, create=True) as store, store.write() as db:
        users.add(db, login="ada", name="Ada", role="admin", by="shell")
    monkeypatch.setattr(schema_versions, "list_versions", lambda: [NOW, LATER])
    open_store(url, upgrade=True).close()
    (copy,) = tmp_path.glob(f"davy.sqlite.{NOW}-*.bak")
    with sqlite3.connect(copy) as db:
        assert db.execute("SELECT login FROM users").fetchall() == [("ada",)]
    db.close()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_failed_upgrade_changes_nothing(database_url, monkeypatch):
    def breaks(db):
        db.execute(text("CREATE TABLE half_way (id INTEGER)"))
        raise RuntimeError("on purpose")

    open_store(database_url, create=True).close()
    monkeypatch.setattr(schema_versions, "list_versions", lambda: [NOW, LATER])
    monkeypatch.setattr(schema_versions, "upgrade", breaks)
    with pytest.raises(RuntimeError, match="on purpose"):
        open_store(database_url, upgrade=True)
    monkeypatch.undo()
    with open_store(database_url) as store:
        assert "half_way" not in inspect(store.engine).get_table_names()


def test_someone_elses_database_is_left_alone(database_url):
    if database_url.startswith("sqlite"):
        Path(database_url.removeprefix("sqlite:///")).touch()
    with Store(parse_url(database_url), make_engine(parse_url(database_url))) as bare, bare.write() as db:
        db.execute(text("CREATE TABLE recipes (id INTEGER)"))
    for options in ({}, {"create": True}, {"upgrade": True}):
        with pytest.raises(UserError, match="not one of Davy's"):
            open_store(database_url, **options)
    with pytest.raises(UserError, match="not one of Davy's"):
        inspect_versions(database_url)


def test_what_is_no_sqlite_database_is_refused_and_left_as_it_was(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_bytes(b"just some notes, long enough to be looked at as a database header " * 20)
    before = file.read_bytes()
    for options in ({}, {"create": True}, {"upgrade": True}):
        with pytest.raises(UserError, match="is not a SQLite database"):
            open_store(f"sqlite:///{file}", **options)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("davy.sqlite", "write sqlite:///davy.sqlite"),
        ("", "DEFAULT"),
        ("mysql://root@localhost/davy", "not in 'mysql'"),
        ("sqlite://", "plain file"),
        ("sqlite:///:memory:", "plain file"),
        ("sqlite:///x?mode=ro", "plain file"),
        ("postgresql://localhost", "names no database"),
        ("postgresql://user:secret@host:port/x", "can't be read"),
        ("postgresql://nobody:secret@127.0.0.1:1/x", "can't be reached"),
        ("postgresql://nobody:secret@does-not-exist.invalid/x", "."),
        ("sqlite:////proc/davy.sqlite", "can't be made"),
        ("sqlite:////no/such/folder/davy.sqlite", "can't be made"),
    ],
)
@pytest.mark.parametrize("create", [True, False])
def test_a_wrong_url_says_what_is_right(url, said, create, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DAVY_DATABASE", raising=False)
    if said == "DEFAULT":
        assert default_url() == "sqlite:///davy.sqlite"
        return
    with pytest.raises(UserError) as caught:
        open_store(url, create=create)
    if create or "can't be made" not in said:
        assert said in caught.value.message
    assert "secret" not in caught.value.message
    assert "\n" not in caught.value.message
    assert os.listdir(tmp_path) == []


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(UserError, match="davy database create"):
        open_store(f"sqlite:///{tmp_path}/davy.sqlite")
    with pytest.raises(UserError, match=r"is a folder. Name a file in it"):
        open_store(f"sqlite:///{tmp_path}", create=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become someone else")
def test_a_database_that_one_may_not_write_to_is_refused(tmp_path):
    """Root may write everywhere, so the try is made as nobody."""
    file = tmp_path / "davy.sqlite"
    open_store(f"sqlite:///{file}", create=True).close()
    file.chmod(0o444)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            try:
                open_store(f"sqlite:///{file}").close()
                said = "opened"
            except UserError as error:
                said = error.message
            except BaseException as error:  # noqa: BLE001
                said = repr(error)
            os.write(write, said.encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    said = os.read(read, 10_000).decode()
    os.close(read)
    assert "can't be written to" in said or "can't be opened" in said


def test_postgresql_without_its_driver_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "psycopg":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError, match=r"pip install '.\[postgres\]'"):
        open_store("postgresql://localhost/davy")


def test_a_wrong_password_or_database_is_told_apart(postgres):
    with pytest.raises(UserError, match="does not exist"):
        open_store(f"postgresql://davy@/nothing_here?host={postgres}", create=True)


def test_sqlite_is_safe_by_its_settings(tmp_path):
    with open_store(f"sqlite:///{tmp_path / 'davy.sqlite'}", create=True) as store, store.read() as db:
        pragmas = {
            name: db.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}
    assert stat.S_IMODE((tmp_path / "davy.sqlite").stat().st_mode) == 0o600


def test_a_read_sees_one_moment_while_others_write(store):
    with store.read() as db:
        assert users.count(db) == 0
        with store.write() as other:
            users.add(other, login="ada", name="Ada", role="admin", by="shell")
        assert users.count(db) == 0
    with store.read() as db:
        assert users.count(db) == 1


def test_a_write_within_a_write_is_our_bug_and_says_so(store):
    with pytest.raises(RuntimeError, match="already writing"), store.write(), store.write():
        pass
    with store.write() as db:
        users.add(db, login="ada", name="Ada", role="admin", by="shell")


def test_the_default_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("DAVY_DATABASE", "postgresql://x/y")
    assert default_url() == "postgresql://x/y"
