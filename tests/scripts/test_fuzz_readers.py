"""Readers of files: damaged ones are read or refused with one line, and what was once found stays mended."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import fuzz_readers

FOUND = sorted((Path(__file__).parents[1] / "fuzz").glob("*.bin"))


@pytest.fixture(scope="module")
def worker():
    worker = fuzz_readers.Worker()
    yield worker
    worker.stop()


def test_every_reader_takes_good_files_as_they_are(worker):
    for name, reader in fuzz_readers.READERS.items():
        good = reader.good()
        assert good, name
        assert [worker.give(name, content) for content in good] == [None] * len(good), name


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_a_file_that_once_broke_its_reader_is_refused_with_one_line(worker, file):
    assert worker.give(file.stem.partition("-")[0], file.read_bytes()) is None


@pytest.mark.parametrize("reader", sorted(fuzz_readers.READERS))
def test_damaged_files_are_read_or_refused(worker, reader):
    many = 12 if reader in ("parquet", "feather", "suite") else 40  # these take a process, or a second, each
    cases = fuzz_readers.cases([reader], seed=0)
    wrong = {seed: worker.give(reader, content) for _, (_, seed, content) in zip(range(many), cases, strict=False)}
    assert {seed: what for seed, what in wrong.items() if what} == {}


def test_a_reader_that_breaks_is_found(worker, tmp_path):
    """The fuzzer itself can fail: a reader that lets an error through, and one that dies, are both told."""
    assert fuzz_readers.give("layout", b"[", tmp_path) is None
    fuzz_readers.READERS["broken"] = fuzz_readers.FileReader("f", lambda: [b"x"], lambda path: 1 // 0)
    try:
        assert "ZeroDivisionError" in (fuzz_readers.give("broken", b"x", tmp_path) or "")
    finally:
        del fuzz_readers.READERS["broken"]
    worker._process.kill()
    assert worker.give("text", b"one\n") == "the process died"
    assert worker.give("text", b"one\n") is None
