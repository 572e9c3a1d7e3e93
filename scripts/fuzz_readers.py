"""Damage good files at random and give them to every reader that takes files of strangers.

A reader may read what it is given or raise a `UserError`. Anything else is a find: another exception, a process that
dies, more than 1.5 GB of memory, more than 20 seconds. What was found is kept as a file, and
`tests/scripts/test_fuzz_readers.py` gives kept files to their readers again, with a few hundred new ones.

    python scripts/fuzz_readers.py --minutes 60 [--reader csv] [--seed 0] [--keep tests/fuzz] [--log FILE]

The same reader and seed make the same file.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

MEMORY = 1.5e9
SECONDS = 20
LONGEST = 200_000
"""Bytes of a damaged file at most: small files find as much, and sooner."""


@dataclass(frozen=True)
class FileReader:
    """What reads a kind of file: the file's name, good contents to start from, and the call."""

    file: str
    good: Callable[[], list[bytes]]
    read: Callable[[Path], Any]


# ---- good files ------------------------------------------------------------------------------------

ROWS = [
    {"id": "a1", "text": "The train, late again 🚆", "lang": "en", "hate.gold": "not hateful", "votes": [0, 1, 0]},
    {"id": "a2", "text": 'She said "no"\nand left', "lang": "en", "hate.gold": "hateful", "votes": [1, 1, 0]},
    {"id": "a3", "text": "Straßenbahn fällt aus; näheres hier", "lang": "de", "hate.gold": None, "votes": []},
]


def _frame() -> Any:
    import polars as pl

    rows = [{**row, "votes": json.dumps(row["votes"])} for row in ROWS]
    return pl.DataFrame(rows)


def _written(write: Callable[[Any, Any], Any]) -> bytes:
    buffer = io.BytesIO()
    write(_frame(), buffer)
    return buffer.getvalue()


def _csv() -> list[bytes]:
    text = _written(lambda frame, out: frame.write_csv(out))
    return [
        text,
        text.replace(b",", b";"),
        text.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"),
    ]


def _jsonl() -> list[bytes]:
    lines = [json.dumps(row, ensure_ascii=False) for row in ROWS]
    return ["\n".join(lines).encode(), ("\n".join(lines * 40) + "\n").encode(), json.dumps(ROWS[0]).encode("latin-1")]


def _archive() -> list[bytes]:
    post = {"id": "x1", "author": "somebody", "subreddit": "trains", "body": "Late again", "created_utc": 1_600_000_000}
    return ["\n".join(json.dumps({**post, "id": f"x{i}"}) for i in range(20)).encode()]


def _spreadsheet() -> list[bytes]:
    return [(Path(__file__).parents[1] / "tests" / "scoring" / "posts.xlsx").read_bytes()]


def _zip() -> list[bytes]:
    made = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            archive.writestr("posts.csv", _csv()[0])
            archive.writestr("img/a.png", _images()[0])
            archive.writestr("table.parquet", _parquet()[0])
        made.append(buffer.getvalue())
    return made


def _parquet() -> list[bytes]:
    def packed(how: str) -> bytes:
        return _written(lambda frame, out: frame.write_parquet(out, compression=how))

    return [packed(how) for how in ("uncompressed", "snappy", "zstd")]


def _images() -> list[bytes]:
    from PIL import Image

    made = []
    for mode, kind in (("RGB", "PNG"), ("P", "PNG"), ("RGB", "JPEG"), ("RGB", "WEBP"), ("P", "GIF"), ("CMYK", "JPEG")):
        buffer = io.BytesIO()
        Image.effect_noise((40, 30), 50).convert("RGB").convert(mode).save(buffer, kind)
        made.append(buffer.getvalue())
    return made


def _zst(contents: list[bytes]) -> list[bytes]:
    import zstandard

    return [zstandard.compress(content) for content in contents]


def _shipped(pattern: str) -> list[bytes]:
    """Return shipped data files of one kind as good ones; the smallest, so that damage lands where it matters."""
    import davy

    paths = sorted(Path(davy.__file__).parent.glob(pattern), key=lambda path: path.stat().st_size)
    if not paths:
        raise FileNotFoundError(f"nothing ships as {pattern}")
    return [path.read_bytes() for path in paths[:6]]


def _layouts() -> list[bytes]:
    from davy.memes.meme_layout import TextBox, stack

    layout = stack([("a.png", 40, 30)])
    box = TextBox("Me\nat eight 😀", 10.0, 10.0, 200.0, 80.0)
    return [json.dumps(layout.with_texts([box, box]).to_dict()).encode()]


@cache
def _model() -> tuple[Path, bytes, bytes]:
    """Return a small model folder, its manifest and its weights."""
    import polars as pl

    from davy.core import Label, Question
    from davy.detectors.tfidf import NgramHasher, Tfidf

    question = Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful")
    posts = pl.DataFrame({
        "text": ["good day", "bad day", "good tea", "bad tea"] * 4,
        "hate.gold": ["not hateful", "hateful"] * 8,
    })  # fmt: skip
    folder = Path(tempfile.mkdtemp(prefix="davy-fuzz-")) / "model"
    Tfidf((question,), pieces=NgramHasher(bits=8, characters=(3, 3))).fit(posts).save(folder)
    weights = next(path for path in folder.iterdir() if path.suffix == ".npz")
    return folder, (folder / "manifest.json").read_bytes(), weights.read_bytes()


# ---- readers ---------------------------------------------------------------------------------------


def _table(path: Path) -> Any:
    from davy.files.tables import read_posts

    return read_posts(path)


def _upload(path: Path) -> Any:
    from davy.files.file_safety import UploadLimits, check_contents

    return check_contents(path, path.name, UploadLimits())


def _checked_table(path: Path) -> Any:
    """Read a Parquet file as the workbench does: measured in a process of its own first."""
    _upload(path)
    return _table(path)


def _collected(path: Path) -> Any:
    from davy.shell.app import run

    out = path.parent / "out.jsonl"
    out.unlink(missing_ok=True)
    return _said(run(["collect", "read", str(path), "--platform", "reddit", "--out", str(out)]))


def _said(status: int) -> None:
    if status not in (0, 2):
        raise RuntimeError(f"the command ended with {status}")


def _picture(path: Path) -> Any:
    from davy.image.picture import read_picture

    return read_picture(path).encode("PNG")


def _layout(path: Path) -> Any:
    from davy.image.picture import read_picture
    from davy.memes.meme_layout import MemeLayout
    from davy.memes.meme_render import render_svg

    picture = read_picture(_images()[0])
    layout = MemeLayout.from_dict(json.loads(path.read_bytes()))
    return render_svg(layout, lambda _: picture)


def _yaml(folder: str, reader: str) -> FileReader:
    """Return the reader of the YAML files that ship in a folder; `reader` is written "module:function"."""
    return FileReader("f.yaml", lambda: _shipped(f"{folder}/*.yaml"), lambda path: resolve_name(reader)(str(path)))


def _manifest(path: Path) -> Any:
    folder, _, weights = _model()
    return _load(folder, path.read_bytes(), weights)


def _weights(path: Path) -> Any:
    """Load damaged weights under a manifest that lists their own hash: what a stranger would send."""
    from davy.files.data_hash import file_hash

    folder, manifest, good = _model()
    name = next(it.name for it in folder.iterdir() if it.suffix == ".npz")
    listed = json.loads(manifest)
    listed["files"][name] = file_hash(path)
    return _load(folder, json.dumps(listed).encode(), path.read_bytes()) if good else None


def _load(folder: Path, manifest: bytes, weights: bytes) -> Any:
    import polars as pl

    from davy.detectors.load import load

    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "model"
        shutil.copytree(folder, copy)
        (copy / "manifest.json").write_bytes(manifest)
        next(path for path in copy.iterdir() if path.suffix == ".npz").write_bytes(weights)
        return load(str(copy)).score(pl.DataFrame({"text": ["good day", "bad tea"]}))


READERS: dict[str, FileReader] = {
    "csv": FileReader("f.csv", _csv, _table),
    "tsv": FileReader("f.tsv", lambda: [it.replace(b",", b"\t") for it in _csv()], _table),
    "jsonl": FileReader("f.jsonl", _jsonl, _table),
    "json": FileReader("f.json", lambda: [json.dumps(ROWS).encode()], _table),
    "text": FileReader("f.txt", lambda: [b"one post\nanother one\n", "Größe\n".encode("latin-1")], _table),
    "gzip": FileReader("f.csv.gz", lambda: [gzip.compress(it) for it in _csv()], _table),
    "zst": FileReader("f.jsonl.zst", lambda: _zst(_jsonl()), _table),
    "excel": FileReader("f.xlsx", _spreadsheet, _table),
    "feather": FileReader("f.feather", lambda: [_written(lambda frame, out: frame.write_ipc(out))], _table),
    "parquet": FileReader("f.parquet", _parquet, _checked_table),
    "zip": FileReader("f.zip", _zip, _upload),
    "upload": FileReader("f", lambda: [*_csv(), *_jsonl(), *_images()], _upload),
    "archive": FileReader("f.jsonl.zst", lambda: _zst(_archive()), _collected),
    "image": FileReader("f.png", _images, _picture),
    "layout": FileReader("f.json", _layouts, _layout),
    "scheme": _yaml("schemes", "davy.schemes.reader:read"),
    "project": _yaml("annotation/project/presets", "davy.annotation.project.project_file:read_plan"),
    "suite": _yaml("testing/suites", "davy.testing.suites.suite_file:load"),
    "recipe": _yaml("corpus/clean/recipes", "davy.corpus.clean.recipe:load"),
    "sampling": _yaml("corpus/sample/plans", "davy.corpus.sample.plan:load"),
    "splitting": _yaml("corpus/split/plans", "davy.corpus.split.plan:load"),
    "config": _yaml("training/configs", "davy.training.config:load_config"),
    "manifest": FileReader("f.json", lambda: [_model()[1]], _manifest),
    "weights": FileReader("f.npz", lambda: [_model()[2]], _weights),
}  # fmt: skip


# ---- damage ----------------------------------------------------------------------------------------

ODD = (
    b"\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\r", b"\n", b'"', b"'", b",", b";", b"\t", b"{", b"}",
    b"[", b"]", b"null", b"NaN", b"1e999", b"-1", b"0", b"99999999999999999999", b"\xef\xbb\xbf", b"\xed\xa0\x80",
    b"\xc3", b"${x}", b"../", b"&a [*a,*a]", b"!!python/object/apply:os.system", b"\\u0000", b"\\ud800", b": ",
    b"- ", b"#", b"\xe2\x80\xae", b"=1+1",
)  # fmt: skip


def damaged(good: list[bytes], seed: str) -> bytes:
    """Return one of the good contents after one to eight changes."""
    rng = random.Random(seed)
    content = bytearray(rng.choice(good))
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        _change(content, rng, good)
    return bytes(content[:LONGEST])


def _change(content: bytearray, rng: random.Random, good: list[bytes]) -> None:
    at = rng.randrange(len(content) + 1)
    end = min(len(content), at + rng.choice((1, 2, 4, 16, 64, 1000)))
    match rng.randrange(8):
        case 0 if at < len(content):
            content[at] ^= 1 << rng.randrange(8)
        case 1 if at < len(content):
            content[at] = rng.randrange(256)
        case 2:
            content[at:at] = rng.choice(ODD)
        case 3:
            content[at:end] = rng.choice(ODD)
        case 4:
            del content[at:end]
        case 5:
            content[at:at] = content[at:end] * rng.choice((1, 2, 100))
        case 6:
            other = rng.choice(good)
            content[at:] = other[rng.randrange(len(other) + 1) :]
        case _:
            del content[at:]


# ---- runs ------------------------------------------------------------------------------------------


def give(reader: str, content: bytes, folder: Path) -> str | None:
    """Give a reader a file; return what is wrong with how it took it, or None."""
    from davy.core.errors import UserError

    path = folder / READERS[reader].file
    path.write_bytes(content)
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the most that it held is counted from here on
    signal.alarm(SECONDS)
    try:
        READERS[reader].read(path)
    except UserError as error:
        return None if str(error).strip() else "an error without words"
    except (ValueError, RecursionError) as error:
        # A layout comes as JSON over HTTP, where the server has parsed it before.
        return None if reader == "layout" and isinstance(error, ValueError) else _named(error)
    except BaseException as error:  # noqa: BLE001 — a panic of polars is no Exception; all of these are finds
        return _named(error)
    finally:
        signal.alarm(0)
    used = _memory("VmHWM") - before
    return f"{used / 1e9:.1f} GB of memory" if used > MEMORY else None


def _memory(what: str) -> int:
    """Return a figure of this process's memory in bytes: what it holds (VmRSS), or held at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:"))


def _named(error: BaseException) -> str:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} seconds")


def _work(pipe: Connection) -> None:
    """Take (reader, content) until there is none, in a process that may die of one."""
    signal.signal(signal.SIGALRM, _too_long)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    with tempfile.TemporaryDirectory() as place:
        while (case := pipe.recv()) is not None:
            pipe.send(give(*case, Path(place)))


class Worker:
    """A process that reads damaged files; a new one takes over where one dies."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self._pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, reader: str, content: bytes) -> str | None:
        """Return what is wrong with how a reader took a file, or None."""
        try:
            self._pipe.send((reader, content))
            if self._pipe.poll(3 * SECONDS):
                return self._pipe.recv()
            found = f"no answer in {3 * SECONDS} seconds"
        except (EOFError, OSError):
            found = "the process died"
        self._process.kill()
        self._process.join()
        self._start()
        return found

    def stop(self) -> None:
        """End the process."""
        with_end = self._process.is_alive()
        if with_end:
            self._pipe.send(None)
        self._process.join(10)


def cases(readers: list[str], seed: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield (reader, seed of the file, content) without end, the readers in turn."""
    good = {name: READERS[name].good() for name in readers}
    number = seed
    while True:
        for name in readers:
            if good[name]:
                yield name, f"{name}:{number}", damaged(good[name], f"{name}:{number}")
        number += 1


def main() -> None:
    """Run for some minutes, say what was found and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--reader", action="append", choices=list(READERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("tests/fuzz"))
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args()
    until = time.monotonic() + 60 * asked.minutes
    worker, given, found, seconds = Worker(), Counter[str](), Counter[str](), Counter[str]()
    last = ""
    for reader, last, content in cases(asked.reader or list(READERS), asked.seed):
        began = time.monotonic()
        if began > until:
            break
        wrong = worker.give(reader, content)
        given[reader] += 1
        seconds[reader] += time.monotonic() - began
        if wrong is not None:
            found[f"{reader}: {wrong}"] += 1
            if found[f"{reader}: {wrong}"] == 1:
                print(f"{last}: {wrong}", flush=True)
                asked.keep.mkdir(parents=True, exist_ok=True)
                (asked.keep / f"{last.replace(':', '-')}.bin").write_bytes(content)
    worker.stop()
    lines = [f"{name:<10} {given[name]:>8,} files {seconds[name]:>8,.0f} s" for name in given]
    lines += [
        f"{sum(given.values()):,} files, {sum(seconds.values()):,.0f} s, up to {last}",
        f"finds: {dict(found) or 'none'}",
    ]
    print("\n".join(lines))
    if asked.log:
        asked.log.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
