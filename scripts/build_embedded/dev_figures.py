"""Every question's figures on dev, as a folder answers (decoded together) and with its heads apart, for its card.

    python dev_figures.py --folder DIR --data DIR --cache DIR [--before DIR] > NAME.figures.json

`--before` is the folder that it replaces: its figures stand beside the others. What was scored is kept in the cache.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from corpora import labelled
from finish import report
from offence import olid
from prepare import leaky

from davy.detectors import folder as folders
from davy.detectors.joint_answers import JointAnswers
from davy.detectors.onnx import OnnxScorer

sys.path.insert(0, str(Path(__file__).parents[1]))
from detector_scores import score_texts


def readings(folder: Path, texts: list[str], cache: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return a folder's probabilities with its heads apart, and decoded together."""
    manifest = folders.read(folder)
    settings = {name: it for name, it in manifest.settings.items() if name != "joint"}
    apart = replace(manifest, settings=settings, version=f"{manifest.version}-apart")
    blocks = score_texts(OnnxScorer(folder, apart), texts, cache).probabilities
    joint = JointAnswers.of(folder, manifest)
    decoded = blocks if joint is None else joint.decode(texts, blocks, np.ones(len(texts), dtype=bool))
    return {"decoded": decoded, "apart": blocks}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--folder", "--data", "--cache"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--before", type=Path)
    args = parser.parse_args()
    everything = labelled(args.data)
    twins = leaky(everything, len(everything))
    dev = [(post, bool(twin)) for post, twin in zip(everything, twins, strict=True) if post.part == "dev"]
    dev += [(post, False) for post in olid(args.data) if post.part == "dev"]
    texts = [post.text for post, _ in dev]
    found = {}
    for title, folder in (("", args.folder), ("before, ", args.before)):
        for reading, blocks in readings(folder, texts, args.cache).items() if folder else ():
            manifest = folders.read(folder)
            figures = report(blocks, manifest.thresholds, dev)
            found[title + reading] = {"version": manifest.version, "figures": figures}
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
