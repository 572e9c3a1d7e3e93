"""A screen learns anew what its folder's network says, after the network has changed; on any machine.

    python screen_again.py --data DIR --folder DIR --cache DIR [--epochs 5]

Starts from the folder's `screen.onnx` and keeps its word vectors; filters, layers and the words' own weights learn.
Writes the screen and first marks for it, chosen as `screen.py` does on posts that it has not learnt from.
It learns from the sentences of the correction, too. `exit_states.py` and `exit.py` come after it.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import screen_graph
import torch
import torch.nn.functional as F
from english_sentences import sentences
from exit_states import held_posts, taken
from onnx import numpy_helper
from screen import ALWAYS, best_marks
from screen_nets import QUESTIONS, Windows

from davy.detectors import folder as folders
from davy.detectors.cascade_screen import FILE
from davy.detectors.onnx import OnnxScorer
from davy.detectors.token_batches import TokenRows, map_threads
from davy.files.cores import compute_threads

CUT = 0.5
"""So many of the posts are cut to a run of their own words: short texts are rare otherwise."""
BATCH, RATE = 512, 1e-3


class Texts:
    """Posts as token ids, some of them cut, with their kind and whether they are held back from learning."""

    def __init__(self, data: Path, scorer: OnnxScorer) -> None:
        everything, held, used = held_posts(data)
        more = sentences()
        posts = [post for post, use in zip(everything, used, strict=True) if use] + more
        self.held = np.concatenate([held[used], np.zeros(len(more), dtype=bool)])
        self.kinds = np.array([post.corpus for post in posts])
        rng = np.random.default_rng(8)
        found = scorer._encoded([" ".join(post.text.split()) or "." for post in posts])
        whole = self.held | (self.kinds == "plain") | (rng.random(len(posts)) >= CUT)
        self.rows = TokenRows.of(
            [ids[: scorer._length] if keep else run_of(ids, rng) for ids, keep in zip(found, whole, strict=True)]
        )


def run_of(ids: list[int], rng: np.random.Generator) -> list[int]:
    """Return a random run of a post's own tokens between its first and last one."""
    inner = list(ids)[1:-1][:120]
    length = max(min(3, len(inner)), int(rng.random() * len(inner)))
    start = int(rng.integers(0, len(inner) - length + 1))
    return [ids[0], *inner[start : start + length], ids[-1]]


def network_margins(scorer: OnnxScorer, rows: TokenRows) -> np.ndarray:
    """Return the log odds of yes to each question, as the whole network says."""
    margins = np.zeros((len(rows), len(QUESTIONS)), dtype=np.float32)

    def run(batch: np.ndarray) -> None:
        ids, mask = rows.padded(batch, scorer._padding)
        found = scorer._session.run([*QUESTIONS], {"input_ids": ids, "attention_mask": mask.astype(np.int64)})
        margins[batch] = np.stack([it[:, 1] - it[:, 0] for it in found], axis=1)

    map_threads(run, rows.batches(np.arange(len(rows)), tokens=256), compute_threads())
    return margins


def weights_of(path: Path) -> dict[str, np.ndarray]:
    """Return a written screen's weights by their names in the network, and its packed word vectors."""
    graph = onnx.load(str(path)).graph
    arrays = {it.name: numpy_helper.to_array(it) for it in graph.initializer}
    of = {node.op_type: [arrays.get(name) for name in node.input] for node in graph.node}
    wide = [it for it in arrays.values() if it.ndim == 2]
    table, scale, lone = wide[:3]
    product = of["MatMulIntegerToFloat"]
    zero = 0 if product[5] is None else product[5].item()
    filters = ((product[1].astype(np.float32) - zero) * product[3]).reshape(3, -1, len(product[6]))
    (middle, last), biases = wide[-2:], [it for it in arrays.values() if it.ndim == 1][-2:]
    width, three = filters.shape[1], 2 * filters.shape[2] // 3
    return {
        "vectors.table": table[:-1], "vectors.scale": scale[:-1], "lone.weight": lone[:-1].astype(np.float32),
        "three.weight": filters[:, :, :three].transpose(2, 1, 0), "three.bias": product[6][:three],
        "one.weight": filters[1, :, three:].T[:, :, None], "one.bias": product[6][three:],
        "middle.weight": middle.astype(np.float32), "middle.bias": biases[0],
        "last.weight": last.astype(np.float32), "last.bias": biases[1],
        "vectors.weight": unpacked(table[:-1], scale[:-1], width),
    }  # fmt: skip


def unpacked(table: np.ndarray, scale: np.ndarray, width: int) -> np.ndarray:
    """Return word vectors from their four-bit codes."""
    codes = np.concatenate([table & 15, table >> 4], axis=1).astype(np.float32) - 8
    groups = codes.reshape(len(table), -1, screen_graph.GROUP) * scale.astype(np.float32)[:, :, None]
    return groups.reshape(len(table), width)


def network(weights: dict[str, np.ndarray]) -> Windows:
    """Return the screen as a network that learns, but for its word vectors."""
    words, width = weights["vectors.weight"].shape
    net = Windows(words, width, len(weights["three.bias"]), len(weights["middle.bias"]))
    learnt = {key: torch.tensor(it) for key, it in weights.items() if key not in ("vectors.table", "vectors.scale")}
    net.load_state_dict(learnt)
    net.vectors.weight.requires_grad_(False)
    return net


def learn(net: Windows, rows: TokenRows, chances: np.ndarray, flags: np.ndarray, epochs: int) -> Windows:
    """Return the network with the average of its weights while it learns to foresee the chances."""
    torch.manual_seed(0)
    rng, began = np.random.default_rng(0), time.monotonic()
    learns = {name: it for name, it in net.named_parameters() if it.requires_grad}
    optimiser = torch.optim.AdamW(learns.values(), lr=RATE, weight_decay=1e-3)
    average = {name: it.detach().clone() for name, it in learns.items()}
    steps, total = 0, epochs * -(-len(rows) // BATCH)
    for epoch in range(epochs):
        order, losses = np.argsort(rows.lengths * np.exp(rng.normal(0, 0.1, len(rows)))), []
        batches = np.array_split(order, -(-len(order) // BATCH))
        for at in rng.permutation(len(batches)):
            batch = batches[at]
            ids, mask = rows.padded(batch, 0)
            wanted = torch.from_numpy(chances[batch])
            weight = 1 + 5 * torch.from_numpy(flags[batch]).float() + 2 * (wanted >= 0.2).float()
            for group in optimiser.param_groups:
                group["lr"] = RATE * min(1.0, steps / 100) * (0.02 + 0.98 * (1 - steps / total))
            said = net(torch.from_numpy(ids), torch.from_numpy(mask).float())
            loss = F.binary_cross_entropy_with_logits(said, wanted, weight)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
            torch._foreach_lerp_(list(average.values()), [it.detach() for it in learns.values()],
                                 1 - min(0.998, steps / (steps + 50)))  # fmt: skip
            steps += 1
        print(f"epoch {epoch + 1}: {np.mean(losses):.4f}, {time.monotonic() - began:.0f} s", flush=True)
    net.load_state_dict(average, strict=False)
    return net.eval()


def main() -> None:
    """Read the posts, teach the screen, write it and its marks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--folder", "--cache"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    manifest = folders.read(args.folder)
    scorer = OnnxScorer(args.folder, manifest)
    texts = Texts(args.data, scorer)
    kept = args.cache / f"screen-margins-{manifest.version}.npy"
    if not kept.is_file():
        args.cache.mkdir(parents=True, exist_ok=True)
        np.save(kept, network_margins(scorer, texts.rows))
    heat = np.array([manifest.temperatures.get(name, 1.0) for name in QUESTIONS], dtype=np.float32)
    chances = 1 / (1 + np.exp(-np.load(kept) / heat))
    flags = chances >= np.array([manifest.thresholds.get(name, 0.5) for name in QUESTIONS], dtype=np.float32)
    weights = weights_of(args.folder / FILE)
    always = np.flatnonzero((weights["lone.weight"] >= ALWAYS / 2).any(axis=1))
    wary = np.zeros(len(texts.rows), dtype=bool)
    wary[np.repeat(np.arange(len(texts.rows)), texts.rows.lengths)[np.isin(texts.rows.ids, always)]] = True
    learnt = np.flatnonzero(~texts.held & ~wary)
    weights["lone.weight"][always] = 0
    print(len(learnt), "posts to learn from,", int(flags[learnt].any(axis=1).sum()), "flagged", flush=True)
    net = learn(network(weights), taken(texts.rows, learnt), chances[learnt], flags[learnt], args.epochs)
    new = {key: it.detach().numpy() for key, it in net.state_dict().items() if key != "vectors.weight"}
    new["lone.weight"][always] = ALWAYS
    screen_graph.write(weights | new, args.folder / FILE)
    open_marks = {**manifest.settings, "screen": dict.fromkeys(QUESTIONS, 0.0)}
    screen = OnnxScorer(args.folder, folders.write(args.folder, replace(manifest, settings=open_marks)))._screen
    assert screen is not None
    held = np.flatnonzero(texts.held & ~wary)
    logits = screen.read(taken(texts.rows, held))[1]
    marks, report = best_marks(logits, flags[held], texts.kinds[held])
    chosen = {name: round(float(mark), 4) for name, mark in zip(QUESTIONS, marks, strict=True)}
    written = folders.write(args.folder, replace(manifest, settings={**manifest.settings, "screen": chosen}))
    print(json.dumps({"version": written.version, "marks": chosen, "held back": report}, indent=2))


if __name__ == "__main__":
    main()
