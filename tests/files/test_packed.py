"""Packed files are read to their end in bounded memory, or it is said that they are damaged."""

import gzip
import io
import json
import subprocess
import sys

import pytest
import zstandard

from davy.core import UserError
from davy.files import json_stream, tables
from davy.files.compression import FAULTS, open_compressed, open_packed

LINES = b"".join(json.dumps({"id": str(i), "text": f"text {i} " * 9}).encode() + b"\n" for i in range(5_000))


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2", "zst"])
def test_what_is_packed_comes_back(tmp_path, ending):
    with open_compressed(tmp_path / f"a.jsonl.{ending}", ending) as file:
        file.write(LINES)
    with open_packed(tmp_path / f"a.jsonl.{ending}") as file:
        assert file.read() == LINES
    assert sum(map(len, tables.batches(tmp_path / f"a.jsonl.{ending}"))) == 5_000
    assert sum(1 for _ in json_stream.read_values(tmp_path / f"a.jsonl.{ending}")) == 5_000


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2", "zst"])
def test_a_file_that_is_cut_off_is_an_error_in_every_reader(tmp_path, ending):
    path = tmp_path / f"a.jsonl.{ending}"
    with open_compressed(path, ending) as file:
        file.write(LINES)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FAULTS), open_packed(path) as file:
        file.read()
    with pytest.raises(UserError, match="cut off or damaged"):
        list(tables.batches(path))
    with pytest.raises(json_stream.DamagedFile, match="cut off or damaged at unpacked byte"):
        list(json_stream.read_values(path))


def test_a_zst_file_of_several_frames_is_read_to_its_end(tmp_path):
    packer = zstandard.ZstdCompressor()
    half = len(LINES) // 2
    (tmp_path / "a.zst").write_bytes(
        packer.compress(LINES[:half]) + packer.compress(b"") + packer.compress(LINES[half:])
    )
    with open_packed(tmp_path / "a.zst") as file:
        assert file.read() == LINES


@pytest.mark.parametrize(("start", "most"), [(b"", 500), (b'{"a":\n', 1_800)], ids=["one line", "one document"])
def test_a_bomb_ends_in_an_error_and_not_in_the_memory(tmp_path, start, most):
    """3 GiB of one byte in a hundred kilobytes; a line may have 64 MiB, a document that is held whole 512 MiB."""
    with (tmp_path / "bomb.jsonl.zst").open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as packed:
        packed.write(start)
        for _ in range(192):
            packed.write(b"a" * (16 << 20))
    assert (tmp_path / "bomb.jsonl.zst").stat().st_size < 1 << 20
    program = f"""
from davy.core import UserError
from davy.files import json_stream
from pathlib import Path
try:
    list(json_stream.read_values(Path({str(tmp_path / "bomb.jsonl.zst")!r})))
except UserError as error:
    print(error)
print(int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024)
"""
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    assert "is longer than" in told
    assert int(told.split()[-1]) < most


def test_a_packed_text_that_is_damaged_is_said_to_be(tmp_path):
    from davy.files.tables import read_all

    packed = io.BytesIO()
    with gzip.open(packed, "wb") as file:
        file.write(b"one\ntwo\n")
    (tmp_path / "a.txt.gz").write_bytes(packed.getvalue()[:-6])
    with pytest.raises(UserError, match="cut off or damaged"):
        read_all([tmp_path / "a.txt.gz"])
