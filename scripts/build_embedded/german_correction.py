"""A small correction at the end of the German network, learnt from plain sentences, on any machine in minutes.

    python german_correction.py --data DIR --texts FILE --folder DIR [--write]

The network's vector of a text goes through 32 units, whose answer is added to the log odds of each question. It learns
from the sentences of `german_sentences.py`; on all other texts (`--texts`, one a line, and the German corpora, without
their labels) it learns to change nothing. Every quarter of the patterns is judged by a correction that never saw it.
With `--write` the correction of all patterns goes into the folder's graph.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from german import gahd, germeval, gmhp7k
from german_sentences import EACH, HERE, sections, sentences
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from davy.models import folder as folders
from davy.models.onnx import OnnxScorer
from davy.models.token_batches import TokenRows

VECTOR = "/network/out/Concat_1_output_0"
"""What the last layer of the exported network reads."""
HEADS = {"hate": "hate.de", "misogynistic": "misogynistic.de", "offensive": "aux.offence"}
UNITS, EPOCHS, CALM, PARTS = 32, 6, 4.0, 4
"""`CALM` is how much it counts that other texts keep their answers."""


def read(folder: Path, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the network's vector of each text, and the log odds of yes to each question."""
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made) / "model"
        shutil.copytree(folder, copy)
        model = onnx.load(str(copy / "model.onnx"))
        model.graph.output.append(helper.make_tensor_value_info(VECTOR, TensorProto.FLOAT, [None, None]))
        onnx.save(model, str(copy / "model.onnx"))
        scorer = OnnxScorer(copy, folders.read(folder))
        rows = TokenRows.of([ids[: scorer._length] for ids in scorer._encoded(texts)])
        vectors, odds = None, np.zeros((len(texts), len(HEADS)), np.float32)
        for batch in rows.batches(np.arange(len(rows)), tokens=1024):
            ids, mask = rows.padded(batch, scorer._padding)
            feed = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
            vector, *logits = scorer._session.run([VECTOR, *HEADS], feed)
            vectors = np.zeros((len(texts), vector.shape[1]), np.float32) if vectors is None else vectors
            vectors[batch] = vector
            odds[batch] = np.stack([block[:, 1] - block[:, 0] for block in logits], axis=1)
    return vectors, odds


def patterns(texts: list[str]) -> np.ndarray:
    """Return the pattern that each sentence came from, the one with most words of its own where several fit."""
    found = sections(HERE / "german_sentences.txt")
    lines = list(dict.fromkeys(line for heading in EACH for line in found[heading]))
    forms = [re.compile(re.sub(r"\\\{[ADWPTE]\\\}", ".*", re.escape(line)), re.IGNORECASE) for line in lines]
    own = [len(re.sub(r"\{.\}", "", line)) for line in lines]
    return np.array([max((k for k, it in enumerate(forms) if it.fullmatch(t)), key=own.__getitem__) for t in texts])


class Correction(nn.Module):
    """What is added to the log odds; nothing, before it has learnt."""

    def __init__(self, vectors: np.ndarray) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.mean, self.spread = torch.tensor(vectors.mean(0)), torch.tensor(vectors.std(0) + 1e-3)
        self.first, self.last = nn.Linear(vectors.shape[1], UNITS), nn.Linear(UNITS, len(HEADS))
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        return self.last(F.gelu(self.first((vectors - self.mean) / self.spread)))


def learn(plain: tuple, other: tuple, temperatures: torch.Tensor) -> Correction:
    """Return a correction that knows plain sentences (vectors, odds, gold) and leaves others (vectors, odds) alone."""
    correction = Correction(other[0])
    optimizer = torch.optim.AdamW(correction.parameters(), lr=1e-3, weight_decay=0.05)
    vectors, odds, gold = (torch.tensor(np.asarray(it, np.float32)) for it in plain)
    calm, before = (torch.tensor(it) for it in other)
    kept = torch.sigmoid(before / temperatures)
    for _ in range(EPOCHS):
        order = torch.randperm(len(calm))
        for start in range(0, len(calm), 256):
            rows, some = order[start : start + 256], torch.randint(0, len(vectors), (128,))
            said = (odds[some] + correction(vectors[some])) / temperatures
            each = F.binary_cross_entropy_with_logits(said, gold[some].clamp(min=0), reduction="none")
            now = (before[rows] + correction(calm[rows])) / temperatures
            loss = (each * (gold[some] >= 0)).mean() + CALM * F.binary_cross_entropy_with_logits(now, kept[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return correction.eval()


@torch.no_grad()
def corrected(correction: Correction, vectors: np.ndarray, odds: np.ndarray) -> np.ndarray:
    return odds + correction(torch.tensor(vectors)).numpy()


def insert(folder: Path, correction: Correction) -> str:
    """Write the correction into the folder's graph; return the new version."""
    path = folder / "model.onnx"
    model = onnx.load(str(path))
    graph = model.graph
    with torch.no_grad():
        first = (correction.first.weight / correction.spread).T.numpy().copy()
        shift = (correction.first.bias - (correction.first.weight * correction.mean / correction.spread).sum(1)).numpy()
        last, bias = correction.last.weight.T.numpy().copy(), correction.last.bias.numpy()
    arrays = {"first": first, "shift": shift, "root": np.float32(2**0.5), "half": np.float32(0.5), "one": np.float32(1)}
    nodes = [
        ("MatMul", [VECTOR, "c.first"], "c.a"),
        ("Add", ["c.a", "c.shift"], "c.b"),
        ("Div", ["c.b", "c.root"], "c.c"),
    ]
    nodes += [("Erf", ["c.c"], "c.d"), ("Add", ["c.d", "c.one"], "c.e"), ("Mul", ["c.b", "c.e"], "c.f")]
    nodes += [("Mul", ["c.f", "c.half"], "c.g")]
    for column, name in enumerate(HEADS):
        # A no stays as it is, so that the odds of yes move by the correction.
        arrays[f"{name}.last"] = np.stack([np.zeros(UNITS, np.float32), last[:, column]], axis=1)
        arrays[f"{name}.bias"] = np.array([0, bias[column]], np.float32)
        producer = next(node for node in graph.node if name in node.output)
        producer.output[list(producer.output).index(name)] = f"{name}.before"
        nodes += [
            ("MatMul", ["c.g", f"c.{name}.last"], f"c.{name}.h"),
            ("Add", [f"c.{name}.h", f"c.{name}.bias"], f"c.{name}.i"),
        ]
        nodes += [("Add", [f"{name}.before", f"c.{name}.i"], name)]
    graph.initializer.extend(numpy_helper.from_array(np.asarray(it, np.float32), f"c.{k}") for k, it in arrays.items())
    graph.node.extend(helper.make_node(kind, inputs, [out], name=f"correct {out}") for kind, inputs, out in nodes)
    onnx.save(model, str(path))
    return folders.write(folder, folders.read(folder, check=False)).version


def interval(right: np.ndarray, group: np.ndarray) -> list[float]:
    """Return a share and the middle 95 % of 1,000 bootstrap samples of whole patterns."""
    rng, names = np.random.default_rng(5), np.unique(group)
    rows = {name: np.flatnonzero(group == name) for name in names}
    draws = [right[np.concatenate([rows[k] for k in rng.choice(names, len(names))])].mean() for _ in range(1000)]
    return [round(float(it), 4) for it in (right.mean(), *np.percentile(draws, [2.5, 97.5]))]


def main() -> None:
    """Judge the correction on held-out patterns; with --write, put it into the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--texts", "--folder"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--most", type=int, default=9000, help="how many of the texts to read")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    manifest = folders.read(args.folder)
    temperatures = torch.tensor([manifest.temperatures[name] for name in HEADS])
    cut = np.array(
        [manifest.temperatures[it] * np.log(manifest.thresholds[it] / (1 - manifest.thresholds[it])) for it in HEADS]
    )
    posts = sentences()
    gold = np.array([[post.answers[head][0] for head in HEADS.values()] for post in posts])
    vectors, odds = read(args.folder, [post.text for post in posts])
    lines = args.texts.read_text("utf-8").split("\n")
    drawn = np.random.default_rng(3).choice(len(lines), min(args.most, len(lines)), replace=False)
    corpora = {"written": [lines[i] for i in drawn]}
    corpora |= {
        name: [post.text for post in make(args.data)]
        for name, make in (("gmhp7k", gmhp7k), ("gahd", gahd), ("germeval", germeval))
    }
    sizes = {name: len(texts) for name, texts in corpora.items()}
    other = read(args.folder, [text for texts in corpora.values() for text in texts])
    source = np.repeat(list(sizes), list(sizes.values()))
    rng = np.random.default_rng(0)
    held = rng.random(len(source)) < 0.2
    group = patterns([post.text for post in posts])
    part = rng.permutation(len(np.unique(group)))[np.unique(group, return_inverse=True)[1]] % PARTS
    after, record = np.zeros_like(odds), {}
    for k in range(PARTS):
        there = part != k
        correction = learn((vectors[there], odds[there], gold[there]), tuple(it[~held] for it in other), temperatures)
        after[~there] = corrected(correction, vectors[~there], odds[~there])
    now = corrected(correction, other[0][held], other[1][held])
    for column, name in enumerate(HEADS):
        same = (now[:, column] >= cut[column]) == (other[1][held][:, column] >= cut[column])
        record[name] = {"unchanged": {it: round(float(same[source[held] == it].mean()), 4) for it in sizes}}
        for title, said in (("before", odds), ("after", after)):
            for kind, rows in (
                ("all", gold[:, column] >= 0),
                ("harmless", gold[:, column] == 0),
                ("yes", gold[:, column] == 1),
            ):
                right = (said[:, column] >= cut[column]) == (gold[:, column] == 1)
                record[name][f"{title} {kind}"] = interval(right[rows], group[rows])
    print(json.dumps({"sentences": len(posts), "patterns": len(np.unique(group)), "questions": record}, indent=1))
    if args.write:
        whole = learn((vectors, odds, gold), other, temperatures)
        print(insert(args.folder, whole))


if __name__ == "__main__":
    main()
