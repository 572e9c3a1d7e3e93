"""The posts that an exit learns from, as the folder's own int8 network sees them after some of its layers.

    python exit_states.py --data DATA --folder DIR --layer 1 --layer 2 --layer 3 --out DIR

Writes `held.npz` (posts that neither the screen nor the exit learns from, all of them) and `learnt-0.npz` … `-3.npz`
(posts that the screen is not sure of): kind, length, the screen's logits and the network's own. `NAME.codes2.npy` has
the states after layer 2, as the next layer takes them, of the posts that a screen with lower marks would let through.
Reddit's last 100,000 lines, which benchmarks take, are left alone. Two quiet cores take about ten minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from corpora import Post, labelled, unlabelled
from network_split import SplitNetwork
from onnx import TensorProto, helper
from screen_nets import QUESTIONS

from davy.detectors.onnx import OnnxScorer, open_session
from davy.detectors.token_batches import TokenRows, map_threads
from davy.files.cores import compute_threads

BENCHMARK, UNSEEN = 100_000, 110_000
"""How many of Reddit's last posts benchmarks take, and how many the screen never saw."""
COPIES = 181_566
"""How many rewritten copies stood between the labelled posts and Reddit's when the screen learnt. What was held back
from it follows from a post's place. Of the numbers that give the counts in its log, this is the one with which it is as
far off on posts held back as on Reddit's last ones (KL 0.089 against 0.088, 0.079 on all others)."""
EMOJI = 1941
"""How many emoji the vocabulary ends with. The screen lets their posts through and has learnt from none."""
LOWER = 0.7
"""How far below the screen's marks a post may lie and still be kept with its states, so that marks can move."""
GENDER, LABELLED = 0.5, 0.3
"""The share of the unsure posts of gender boards, and of labelled posts without emoji's, that is learnt from."""
PARTS = 4


def held_posts(data: Path) -> tuple[list[Post], np.ndarray, np.ndarray]:
    """Return labelled posts, then Reddit's; which neither screen nor exit learn from; and which may be read at all."""
    known, reddit = labelled(data), unlabelled(data)
    everything = [*known, *reddit]
    top = np.flatnonzero([post.corpus == "top" for post in everything])
    place = np.arange(len(everything)) + np.where(np.arange(len(everything)) < len(known), 0, COPIES)
    held = (np.random.default_rng(2).random(int(place[-1]) + 1) < 0.1)[place]
    held[top[-UNSEEN:]] = True
    used = np.array([post.part != "dev" for post in everything])
    used[top[-BENCHMARK:]] = False
    return everything, held, used


class Posts:
    """Labelled training posts, then Reddit's: token ids, kind, and the screen's logits."""

    def __init__(self, data: Path, scorer: OnnxScorer, *, held_alone: bool = False) -> None:
        everything, self.held, self.used = held_posts(data)
        self.used &= self.held | (not held_alone)
        self.kinds = np.array([post.corpus for post in everything])
        texts = [
            (" ".join(it.text.split()) if use else "") or "." for it, use in zip(everything, self.used, strict=True)
        ]
        self.rows = TokenRows.of(
            [ids[: scorer._length] if use else [] for ids, use in zip(scorer._encoded(texts), self.used, strict=True)]
        )
        assert scorer._screen is not None
        self.screen = np.full((len(everything), len(QUESTIONS)), np.nan, dtype=np.float32)
        words = scorer._pieces._tokenizer.get_vocab_size()
        self.emoji = np.zeros(len(everything), dtype=bool)
        self.emoji[np.repeat(np.arange(len(self.rows)), self.rows.lengths)[self.rows.ids >= words - EMOJI]] = True
        marks = scorer._screen.marks

        def screened(part: np.ndarray) -> np.ndarray:
            return scorer._screen.read(taken(self.rows, part))[1]

        order = np.flatnonzero(self.used)[np.argsort(-self.rows.lengths[self.used], kind="stable")]
        parts = np.array_split(order, max(1, len(order) // 2000))
        for part, logits in zip(parts, map_threads(screened, parts, compute_threads()), strict=True):
            self.screen[part] = logits
        self.unsure = (self.screen >= marks - LOWER).any(axis=1) | self.emoji

    def chosen(self) -> dict[str, np.ndarray]:
        """Return the posts of each file."""
        learnt = np.flatnonzero(self.used & self.unsure & ~self.held)
        kinds, keep, rng = self.kinds[learnt], np.ones(len(learnt), dtype=bool), np.random.default_rng(5)
        gender = kinds == "gender"
        keep[gender] = rng.random(gender.sum()) < GENDER
        others = ~np.isin(kinds, ("gender", "top", "hatemojibuild"))
        keep[others] = rng.random(others.sum()) < LABELLED
        learnt = learnt[keep]
        part = np.random.default_rng(6).integers(0, PARTS, len(learnt))
        held = {"held": np.flatnonzero(self.used & self.held)}
        return held | {f"learnt-{i}": learnt[part == i] for i in range(PARTS)}


def taken(rows: TokenRows, places: np.ndarray) -> TokenRows:
    """Return the rows at these places."""
    return TokenRows(rows.ids, rows.starts[places], rows.lengths[places])


def with_codes(folder: Path, codes: list[str], out: Path) -> Any:
    """Return the folder's network, which says its states after some layers too."""
    model = onnx.load(folder / "model.onnx")
    for name in codes:
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.UINT8, ["tokens", "width"]))
    onnx.save(model, out / "with-codes.onnx")
    return open_session(out / "with-codes.onnx")


def read(posts: Posts, places: np.ndarray, cuts: dict[int, SplitNetwork], session: Any, out: Path, name: str) -> None:
    """Write one file of posts and, for each layer, one of states."""
    places = places[np.argsort(-posts.rows.lengths[places], kind="stable")]
    rows, kept = taken(posts.rows, places), posts.unsure[places]
    starts = np.cumsum(np.where(kept, rows.lengths, 0)) - rows.lengths
    tokens = int(rows.lengths[kept].sum())
    files = [
        np.lib.format.open_memmap(out / f"{name}.codes{layer}.npy", "w+", np.uint8, (tokens, cut.width))
        for layer, cut in cuts.items()
    ]
    margins = np.zeros((len(rows), len(QUESTIONS)), dtype=np.float32)

    def run(batch: np.ndarray) -> None:
        ids, mask = rows.padded(batch, 0)
        feed = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        found = session.run([*QUESTIONS, *(cut.codes for cut in cuts.values())], feed)
        margins[batch] = np.stack([it[:, 1] - it[:, 0] for it in found[: len(QUESTIONS)]], axis=1)
        for file, states in zip(files, found[len(QUESTIONS) :], strict=True):
            apart = states.reshape(*mask.shape[::-1], -1)
            for column in np.flatnonzero(kept[batch]):
                start, length = starts[batch[column]], rows.lengths[batch[column]]
                file[start : start + length] = apart[:length, column]

    map_threads(run, rows.batches(np.arange(len(rows)), tokens=256), compute_threads())
    for file in files:
        file.flush()
    np.savez(out / f"{name}.npz", margins=margins, screen=posts.screen[places], kinds=posts.kinds[places],
             lengths=rows.lengths, starts=starts, kept=kept, emoji=posts.emoji[places])  # fmt: skip
    print(name, len(places), "posts,", tokens, "tokens with states", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--folder", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--layer", type=int, action="append", required=True)
    parser.add_argument("--held", action="store_true", help="only what marks are chosen on, for a head from elsewhere")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    cuts = {layer: SplitNetwork(args.folder, layer) for layer in args.layer}
    session = with_codes(args.folder, [cut.codes for cut in cuts.values()], args.out)
    posts = Posts(args.data, OnnxScorer(args.folder), held_alone=args.held)
    for name, places in posts.chosen().items():
        if len(places):
            read(posts, places, cuts, session, args.out, name)


if __name__ == "__main__":
    main()
