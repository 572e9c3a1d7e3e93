"""Pack HarMeme's folds for seeds.py into one archive, cut into parts that travel.

    python pack_seeds.py --run DIR --harmeme HARMEME --out DIR [--part-mib 55] [--wheels DIR] [--few 40]

DIR is folds.py's, with features of grid and regions and the cut text encoder. Features stay as they are, in 16 bits.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
from folds import FOLDS, Memes, read_memes

SOURCE = Path(__file__).resolve().parents[2] / "src" / "davy"


def parts_of(memes: Memes, few: int) -> dict[str, np.ndarray]:
    """Return which memes each training learns from, chooses its checkpoint by, and is measured on, as in folds.py."""
    parts = {}
    for name in (*(f"fold-{n}" for n in range(FOLDS)), "whole"):
        inside = memes.folds == int(name.removeprefix("fold-")) if name != "whole" else memes.folds < 0
        train, dev = memes.hold_back(np.flatnonzero(~inside & (memes.folds >= 0)))
        for what, rows in (("train", train), ("dev", dev), ("test", np.flatnonzero(inside))):
            parts[f"{name}-{what}"] = rows[: few or None]
    return parts


def pack_features(path: Path, vectors: np.ndarray) -> None:
    """Write features as a compressed array."""
    raw = io.BytesIO()
    np.save(raw, vectors)
    path.write_bytes(lzma.compress(raw.getvalue(), preset=1))


def pack_code(work: Path, wheels: Path | None) -> None:
    """Copy our code and the other machine's missing packages."""
    skip = shutil.ignore_patterns("weights", "static", "templates", "__pycache__", "locale*", "artwork", "fonts")
    shutil.copytree(SOURCE, work / "code" / "davy", ignore=skip)
    here = Path(__file__).parent
    shutil.copy(here / "seeds.py", work / "code")
    shutil.copy(here / "seeds.sh", work / "run.sh")
    (work / "wheels").mkdir()
    for wheel in () if wheels is None else wheels.glob("pyyaml*.whl"):
        shutil.copy(wheel, work / "wheels")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=SOURCE, capture_output=True, text=True, check=True)
    (work / "commit.txt").write_text(commit.stdout)


def cut(work: Path, out: Path, size: int) -> None:
    """Write the folder as one archive in parts of a size, each in a folder of its own."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        tar.add(work, "mf")
    data = raw.getvalue()
    for number, start in enumerate(range(0, len(data), size), start=1):
        folder = out / f"gpu-mf-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / f"mf.tar.{number:02}").write_bytes(data[start : start + size])
        print(folder, f"{len(data[start : start + size]) / 2**20:.1f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("run", "harmeme", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--wheels", type=Path, help="packages for the other machine (PyYAML), as wheels")
    parser.add_argument("--part-mib", type=int, default=55)
    parser.add_argument("--few", type=int, default=0, help="so many memes a part only, to try the job out")
    args = parser.parse_args()
    work = args.out / "mf"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    memes = read_memes(args.harmeme, args.run, {"grid", "region"})
    record = {"texts": memes.frame["text"].to_list(), "labels": memes.labels.tolist()}
    (work / "harmeme.json").write_text(json.dumps(record), encoding="utf-8")
    np.savez(work / "harmeme.npz", boxes=memes.pictures["region"].boxes, **parts_of(memes, args.few))
    for kind, pictures in memes.pictures.items():
        pack_features(work / f"harmeme-{kind}.npy.xz", pictures.vectors)
    shutil.copytree(args.run / "minilm", work / "minilm")
    pack_code(work, args.wheels)
    cut(work, args.out, args.part_mib * 2**20)


if __name__ == "__main__":
    main()
