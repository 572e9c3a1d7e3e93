"""A file or folder takes its name complete or not at all, and nothing else in the source renames over one."""

import errno
import os
import re
import stat
from pathlib import Path

import pytest

import davy
from davy.core import UserError
from davy.files import atomic


def test_a_file_takes_its_name_when_the_block_ends_well(tmp_path):
    with atomic.atomic_path(tmp_path / "a.txt") as hidden:
        hidden.write_text("new")
        assert not (tmp_path / "a.txt").exists()
        assert hidden.parent == tmp_path
    assert (tmp_path / "a.txt").read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("x"), OSError(errno.EIO, "broken")])
def test_a_block_that_fails_leaves_the_file_as_it_was(tmp_path, error):
    (tmp_path / "a.txt").write_text("old")

    def write():
        with atomic.atomic_path(tmp_path / "a.txt") as hidden:
            hidden.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_takes_the_place_of_another_whole_or_not_at_all(tmp_path):
    model = tmp_path / "model"
    for content in ("old", "new"):
        with atomic.replaced_folder(model) as draft:
            (draft / "a.txt").write_text(content)
            (draft / f"{content}.txt").touch()

    def write():
        with atomic.replaced_folder(model) as draft:
            (draft / "a.txt").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert (model / "a.txt").read_text() == "new"
    assert sorted(os.listdir(model)) == ["a.txt", "new.txt"]
    assert os.listdir(tmp_path) == ["model"]


def test_the_draft_of_a_killed_run_is_emptied_by_the_next(tmp_path):
    (atomic.new_draft(tmp_path / "model") / "half.txt").touch()
    assert os.listdir(atomic.new_draft(tmp_path / "model")) == []


def test_a_full_disk_is_one_line(tmp_path):
    with (
        pytest.raises(UserError, match=r"No room left to write .*a\.txt: No space left"),
        atomic.atomic_path(tmp_path / "a.txt"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode(tmp_path):
    before = os.umask(0o027)
    try:
        atomic.write_text(tmp_path / "new", "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o600)
    atomic.write_text(tmp_path / "new", "b")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_the_contents_and_the_name_are_synced(tmp_path, monkeypatch):
    synced = []
    real = os.fsync

    def fsync(handle):
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    atomic.write_json(tmp_path / "a.json", {"word": "Grüße"})
    file, folder = synced
    assert Path(file).name.startswith(".a.json.")
    assert folder == str(tmp_path)
    assert (tmp_path / "a.json").read_text("utf-8") == '{\n  "word": "Grüße"\n}\n'


def test_a_folder_takes_its_name_with_all_its_files_and_never_one_that_is_taken(tmp_path):
    with atomic.atomic_folder(tmp_path / "made") as hidden:
        (hidden / "inner").mkdir()
        (hidden / "inner" / "a").write_text("a")
    assert (tmp_path / "made" / "inner" / "a").read_text() == "a"
    with pytest.raises(UserError, match="there already"), atomic.atomic_folder(tmp_path / "made"):
        pass

    def fail():
        with atomic.atomic_folder(tmp_path / "other") as hidden:
            (hidden / "a").write_text("a")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert os.listdir(tmp_path) == ["made"]


def test_where_nothing_can_be_written_is_said_before_the_work(tmp_path):
    with pytest.raises(UserError, match=r"The folder .*none does not exist. Make it first: mkdir -p"):
        atomic.write_text(tmp_path / "none" / "a", "a")
    with pytest.raises(UserError, match="is a folder"):
        atomic.require_writable(tmp_path)
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(UserError, match="is the input"):
        atomic.refuse_input(tmp_path / "b", tmp_path / "a")
    atomic.refuse_input("-", tmp_path / "a")
    atomic.refuse_input(tmp_path / "new", tmp_path / "a")


def test_a_text_file_that_can_not_be_read_is_named_with_what_it_is_for(tmp_path):
    with pytest.raises(UserError, match=r"Can't read the rule .*none: No such file"):
        atomic.read_text(tmp_path / "none", "rule")
    (tmp_path / "odd").write_bytes(b"ab\xff")
    with pytest.raises(UserError, match=r"The rule .*odd is not UTF-8 \(byte 2\)"):
        atomic.read_text(tmp_path / "odd", "rule")
    (tmp_path / "bom").write_bytes("\ufeffword".encode())
    assert atomic.read_text(tmp_path / "bom") == "word"


def test_one_place_renames_over_a_file():
    """`os.replace`, and a path's `replace` with one argument, are what an atomic write ends with."""
    source = Path(davy.__file__).parent
    found = [
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if re.search(r"os\.(replace|rename)\(|\w\.replace\([\w./ ]+\)", path.read_text("utf-8"))
    ]
    assert found == ["files/atomic.py"]
