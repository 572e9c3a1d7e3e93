"""The screen of an embedded detector, from what `screen_job.py` made.

    python screen.py --net NAME --folder DIR --prepared DIR --made DIR

Writes `screen.onnx` into the model folder and sets its marks, on posts that it did not learn from and as the
folder's own int8 network flags them, so that of the flagged posts all but a few in a hundred are still read, on
every kind of text. Posts with emoji, or with letters that are not ASCII, are always read.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import screen_graph
import torch
from screen_nets import QUESTIONS

from davy.detectors import folder as folders
from davy.detectors.cascade_screen import FILE
from davy.detectors.onnx import OnnxScorer
from davy.detectors.token_batches import TokenRows
from davy.training.onnx.embedding_tables import PackedEmbedding

LOST = {"top": 0.025, "gender": 0.02}
LOST_ELSEWHERE = 0.01
"""The share of flagged posts that may be cleared: a little more on Reddit, where little is flagged."""
LEVELS = (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08)
ALWAYS = 3e4
"""The weight of a piece whose posts are always read."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", required=True)
    for option in ("--folder", "--prepared", "--made"):
        parser.add_argument(option, type=Path, required=True)
    args = parser.parse_args()
    held = np.load(args.made / "screen-held.npz")
    lines = lzma.decompress((args.prepared / "texts.xz").read_bytes()).decode("utf-8").split("\n")
    texts = pl.DataFrame({"text": [lines[row] for row in held["rows"]]})
    manifest = folders.read(args.folder)
    manifest.settings.pop("screen", None)
    (args.folder / FILE).unlink(missing_ok=True)
    plain = OnnxScorer(args.folder, manifest).score(texts)
    flags = np.stack([positive(plain, name) >= manifest.thresholds.get(name, 0.5) for name in QUESTIONS], axis=1)

    write(args.net, args.made, args.folder)
    open_marks = {**manifest.settings, "screen": dict.fromkeys(QUESTIONS, 0.0)}
    drafted = folders.write(args.folder, replace(manifest, settings=open_marks))
    scorer = OnnxScorer(args.folder, drafted)
    assert scorer._screen is not None
    logits = scorer._screen.read(TokenRows.of(scorer._encoded(texts["text"].to_list())))[1]
    marks, report = best_marks(logits, flags, held["kinds"])
    chosen = {name: round(float(mark), 4) for name, mark in zip(QUESTIONS, marks, strict=True)}
    written = folders.write(args.folder, replace(manifest, settings={**manifest.settings, "screen": chosen}))
    print(json.dumps({"version": written.version, "marks": chosen, "held back": report}, indent=2))


def positive(scores, name: str) -> np.ndarray:
    """Return the probability of yes to a question."""
    question = next(it for it in scores.questions if it.name == name)
    return scores.probabilities[name][:, question.label_names.index(question.positive)]


def best_marks(logits: np.ndarray, flags: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, dict]:
    """Return the marks that clear most of Reddit's sample while no kind of text loses more than its share."""
    flagged = flags.any(axis=1)
    choices = [np.quantile(logits[(kinds == "top") & flags[:, q], q], LEVELS, method="lower") for q in range(3)]
    groups = {str(kind): kinds == kind for kind in np.unique(kinds)}
    best, most = None, -1.0
    for marks in itertools.product(*choices):
        cleared = (logits < np.array(marks)).all(axis=1)
        lost = {
            kind: (cleared & flagged & among).sum() / max(1, (flagged & among).sum()) for kind, among in groups.items()
        }
        if all(share <= LOST.get(kind, LOST_ELSEWHERE) for kind, share in lost.items()):
            share = float(cleared[groups["top"]].mean())
            if share > most:
                best, most = np.array(marks), share
    assert best is not None, "no marks are safe"
    cleared = (logits < best).all(axis=1)
    report = {
        kind: {
            "posts": int(among.sum()),
            "cleared": round(float(cleared[among].mean()), 4),
            "flagged": int((flagged & among).sum()),
            "flagged and cleared": round(float((cleared & flagged & among).sum() / max(1, (flagged & among).sum())), 4),
        }
        for kind, among in groups.items()
    }
    return best, report


def wary_pieces(folder: Path) -> np.ndarray:
    """Return the ids of pieces whose posts are always read: emoji, unknown words, letters that are not ASCII."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    plain = {"[CLS]", "[SEP]", "[PAD]", "[MASK]"}
    pieces = {**tokenizer["model"]["vocab"], **added}
    strange = [any(char.isalpha() and not char.isascii() for char in text) for text in pieces]
    wary = [text in added and text not in plain for text in pieces]
    return np.array([at for at, odd, ours in zip(pieces.values(), strange, wary, strict=True) if odd or ours])


def write(name: str, made_in: Path, folder: Path) -> None:
    """Write a trained network of windows as `screen.onnx`: word vectors in four bits, wary pieces always read."""
    weights = dict(np.load(made_in / f"screen-{name}.npz"))
    weights["lone.weight"][wary_pieces(folder)] = ALWAYS
    vectors = torch.from_numpy(weights.pop("vectors.weight").astype(np.float32))
    packed = PackedEmbedding(torch.nn.Embedding.from_pretrained(vectors))
    weights |= {f"vectors.{key}": it.numpy() for key, it in packed.state_dict().items()}
    screen_graph.write(weights, folder / FILE)


if __name__ == "__main__":
    main()
