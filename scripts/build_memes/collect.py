"""Turn what came back from the GPU into the files that `davy reproduce memes --results` and the page of figures read.

    python collect.py --packed DIR --back DIR [--back DIR] --out DIR

`--packed` is what prepare.py packed (ids), `--back` what job.py sent; a later one wins. Writes
`results.jsonl` (one line a row and seed), `search.jsonl` (the rates that dev did not choose), and for each data set
`NAME.npz` with `valid-id`, `test-id` and the logits `valid-ROW-SEED`, `test-ROW-SEED`.
"""

from __future__ import annotations

import argparse
import json
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from job import Memes, Task, data_of

from davy.detectors.meme_presets import load_preset

SHOWN = ("benchmark", "harmeme")


def ids_of(packed: Path, data: str) -> dict[str, np.ndarray]:
    """Return the ids of a data set's dev and test parts, in the order of the logits."""

    class Named(Memes):
        """The packed data with ids in the place of texts."""

        def part(self, name: str, part: str, preset: Any) -> Any:
            memes = super().part(name, part, preset)
            rows = (packed / f"{name}-{part}.jsonl").read_text(encoding="utf-8").splitlines()
            return type(memes)([json.loads(row)["id"] for row in rows], memes.labels, {})

    parts = data_of(Task(data, "text", 1), Named(packed), load_preset("text"))
    named = {"valid": parts["dev"], "test": parts["test"]}
    return {f"{part}-id": np.array(memes.texts) for part, memes in named.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packed", type=Path, required=True)
    parser.add_argument("--back", type=Path, action="append", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    last = args.back[-1]
    records = [json.loads(line) for line in (last / "results.jsonl").read_text().splitlines()]
    logits = np.load(last / "predictions.npz")
    arrays = {data: ids_of(args.packed, data) for data in SHOWN}
    chosen = [record for record in records if record.pop("chosen")]
    for record in chosen:
        if record["data"] not in SHOWN:
            continue
        stem = record["predictions"].removesuffix(".npz")
        for part, source in (("valid", "dev"), ("test", "test")):
            arrays[record["data"]][f"{part}-{record['row']}-{record['seed']}"] = logits[f"{stem}:{source}"]
        record["predictions"] = f"{record['data']}.npz"
    for data, found in arrays.items():
        np.savez_compressed(args.out / f"{data}.npz", **found)
    order = sorted(chosen, key=lambda it: (it["data"], it["row"], it["seed"]))
    searched = [record for record in records if record not in chosen]
    for name, lines in (("results", order), ("search", searched)):
        (args.out / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for back in args.back:
        for first in back.glob("*.tar.0"):
            data = b"".join(part.read_bytes() for part in sorted(back.glob(f"{first.stem}.*")))
            with tarfile.open(fileobj=BytesIO(data)) as tar:
                tar.extractall(args.out / "models" / first.name.removesuffix(".tar.0"), filter="data")


if __name__ == "__main__":
    main()
