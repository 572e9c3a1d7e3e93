"""The screen of an embedded detector, from what `screen_job.py` made on the GPU machine.

    python screen.py texts --data DIR --out FILE          posts to learn from, for the job
    python screen.py make  --folder DIR --keep DIR --made DIR
                                                          write screen.onnx into the model folder, set the marks

It learns from the detector, not from labels. Marks are set on texts that it did not
learn from, for each kind of text apart, so that of the posts which the detector
flags, all but a few in a hundred are still read. Posts with emoji, or with letters
that are not ASCII, are always read.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from corpora import labelled, unlabelled
from onnx import TensorProto, helper, numpy_helper
from screen_job import encoded, held_back

from davy.models import folder as folders
from davy.models.screen import FILE, Screen

QUESTIONS = ("hate", "offensive", "sexist")
MISSED = {"top": 0.02, "gender": 0.02}
MISSED_ELSEWHERE = 0.01
"""The share of flagged posts that may be cleared: a little more on Reddit, where little is flagged."""
ALWAYS = 3e4
"""The weight of a piece whose posts are always read."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("texts", "make"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--made", type=Path)
    args = parser.parse_args()
    if args.step == "texts":
        texts(args.data, args.out)
    else:
        make(args.folder, args.keep, args.made)


def texts(data: Path, out: Path, seed: int = 5) -> None:
    """Write texts and their kinds: unlabelled posts, and the train parts of the labelled sets.

    The last quarter of the unlabelled ones is left alone, so that a benchmark can take it.
    """
    loose = unlabelled(data)
    posts = [*loose[: len(loose) * 3 // 4], *(post for post in labelled(data) if post.part == "train")]
    rows = [[post.text, post.corpus] for post in posts]
    random.Random(seed).shuffle(rows)
    with lzma.open(out, "wt", encoding="utf-8", preset=3) as file:
        json.dump(rows, file, ensure_ascii=False)


def make(folder: Path, keep: Path, made: Path) -> None:
    """Write the screen into the folder and set its marks as it then is; print what it clears and what it misses."""
    manifest = folders.read(folder)
    thresholds = np.array([manifest.thresholds.get(name, 0.5) for name in QUESTIONS], dtype=np.float32)
    weights = {name: it.astype(np.float32) for name, it in np.load(made / "screen.npz").items()}
    weights["lone.weight"][wary_pieces(folder)] = ALWAYS
    onnx.save(graph(weights), str(folder / FILE))
    with lzma.open(keep / "texts.json.xz", "rt", encoding="utf-8") as file:
        pairs = json.load(file)
    held = np.flatnonzero(held_back(len(pairs)))
    open_marks = {"screen": dict.fromkeys(QUESTIONS, 0.0)}
    screen = Screen.open(folder, open_marks, lambda path: onnxruntime.InferenceSession(str(path)))
    assert screen is not None
    logits = screen.read(encoded(folder, [pairs[i][0] for i in held]))[1]
    flags = np.load(made / "taught.npz")["p"][held] >= thresholds
    marks, report = set_marks(logits, flags, np.array([pairs[i][1] for i in held]))
    settings = {**manifest.settings, "screen": {name: float(mark) for name, mark in zip(QUESTIONS, marks, strict=True)}}
    written = folders.write(folder, replace(manifest, settings=settings))
    print(json.dumps({"version": written.version, "marks": settings["screen"], "held back": report}, indent=2))


def set_marks(logits: np.ndarray, flags: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, dict[str, object]]:
    """Return the highest marks at which each kind of text loses at most its share of flagged posts."""
    marks = np.full(len(QUESTIONS), np.inf)
    for kind in np.unique(kinds):
        allowed = MISSED.get(str(kind), MISSED_ELSEWHERE)
        for place in range(len(QUESTIONS)):
            flagged = np.sort(logits[(kinds == kind) & flags[:, place], place])
            if len(flagged) >= 100:
                marks[place] = min(marks[place], flagged[int(allowed * len(flagged))])
    read = (logits >= marks).any(axis=1)
    report: dict[str, object] = {}
    for kind in np.unique(kinds):
        among = kinds == kind
        flagged = flags.any(axis=1) & among
        report[str(kind)] = {
            "posts": int(among.sum()),
            "cleared": round(float((~read & among).sum() / among.sum()), 4),
            "flagged": int(flagged.sum()),
            "flagged and cleared": round(float((flagged & ~read).sum() / max(1, flagged.sum())), 4),
        }
    return marks, report


def wary_pieces(folder: Path) -> np.ndarray:
    """Return the ids of pieces whose posts are always read: emoji, unknown words, letters that are not ASCII."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    plain = {"[CLS]", "[SEP]", "[PAD]", "[MASK]"}
    pieces = {**tokenizer["model"]["vocab"], **added}
    return np.array([at for text, at in pieces.items() if (text in added and text not in plain) or not text.isascii()])


def graph(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Return the network for ONNX: word vectors in four bits with a scale a word, two in a byte."""
    vectors = weights["vectors.weight"]
    scale = np.abs(vectors).max(axis=1, keepdims=True) / 7
    rounded = (np.round(vectors / np.maximum(scale, 1e-12)) + 8).astype(np.uint8)
    half = rounded.shape[1] // 2
    names = ("three", "one", "middle", "last")
    held = {
        "table": rounded[:, :half] * 16 + rounded[:, half:],
        "scale": scale.astype(np.float16),
        "lone": weights["lone.weight"].astype(np.float16),
        **{f"{name}_w16": weights[f"{name}.weight"].astype(np.float16) for name in names},
        **{f"{name}_b": weights[f"{name}.bias"] for name in names},
        "sixteen": np.array(16, dtype=np.float32),
        "eight": np.array(8, dtype=np.float32),
        "one_axis": np.array([1], dtype=np.int64),
        "two_axis": np.array([2], dtype=np.int64),
        "least": np.array(1, dtype=np.float32),
    }
    steps = [
        *(("Cast", [f"{name}_w16"], f"{name}_w", {"to": TensorProto.FLOAT}) for name in names),
        ("Gather", ["table", "ids"], "bytes", {}),
        ("Cast", ["bytes"], "both", {"to": TensorProto.FLOAT}),
        ("Div", ["both", "sixteen"], "shifted", {}),
        ("Floor", ["shifted"], "high", {}),
        ("Mul", ["high", "sixteen"], "high_part", {}),
        ("Sub", ["both", "high_part"], "low", {}),
        ("Concat", ["high", "low"], "numbers", {"axis": 2}),
        ("Sub", ["numbers", "eight"], "signed", {}),
        ("Gather", ["scale", "ids"], "scales16", {}),
        ("Cast", ["scales16"], "scales", {"to": TensorProto.FLOAT}),
        ("Mul", ["signed", "scales"], "plain", {}),
        ("Unsqueeze", ["mask", "two_axis"], "tall", {}),
        ("Mul", ["plain", "tall"], "kept", {}),
        ("Transpose", ["kept"], "words", {"perm": [0, 2, 1]}),
        ("Unsqueeze", ["mask", "one_axis"], "wide", {}),
        ("Conv", ["words", "three_w", "three_b"], "three_c", {"pads": [1, 1]}),
        ("Relu", ["three_c"], "three_r", {}),
        ("Mul", ["three_r", "wide"], "three_m", {}),
        ("ReduceMax", ["three_m", "two_axis"], "three_x", {"keepdims": 0}),
        ("Conv", ["words", "one_w", "one_b"], "one_c", {}),
        ("Relu", ["one_c"], "one_r", {}),
        ("Mul", ["one_r", "wide"], "one_m", {}),
        ("ReduceMax", ["one_m", "two_axis"], "one_x", {"keepdims": 0}),
        ("ReduceSum", ["mask", "one_axis"], "count", {"keepdims": 1}),
        ("Max", ["count", "least"], "counted", {}),
        ("ReduceSum", ["words", "two_axis"], "sum", {"keepdims": 0}),
        ("Div", ["sum", "counted"], "mean", {}),
        ("Concat", ["three_x", "one_x", "mean"], "seen", {"axis": 1}),
        ("Gemm", ["seen", "middle_w", "middle_b"], "middle_g", {"transB": 1}),
        ("Relu", ["middle_g"], "middle_r", {}),
        ("Gemm", ["middle_r", "last_w", "last_b"], "deep", {"transB": 1}),
        ("Gather", ["lone", "ids"], "lone16", {}),
        ("Cast", ["lone16"], "lone_g", {"to": TensorProto.FLOAT}),
        ("Mul", ["lone_g", "tall"], "lone_m", {}),
        ("ReduceSum", ["lone_m", "one_axis"], "lone_s", {"keepdims": 0}),
        ("Sqrt", ["counted"], "root", {}),
        ("Div", ["lone_s", "root"], "shallow", {}),
        ("Add", ["deep", "shallow"], "logits", {}),
    ]
    nodes = [helper.make_node(kind, given, [out], **more) for kind, given, out, more in steps]
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["posts", "length"]),
        helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["posts", "length"]),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["posts", len(QUESTIONS)])
    constants = [numpy_helper.from_array(array, name) for name, array in held.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "screen", inputs, [output], constants),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    main()
