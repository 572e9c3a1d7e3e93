"""The exit of an embedded detector, from the states that `exit_states.py` wrote.

    OMP_NUM_THREADS=1 python exit.py --layer 2 --states DIR --folder DIR [--parts 4] [--epochs 6] [--write] > exit.json
    … --work 0.2            of the marks with at most this work those that lose the least, in place of the least work
    … --again --learnt N    a head that was learnt elsewhere (STATES/head2.pt, from N posts); marks alone are chosen

A small head learns, from the network's states after a layer, to foresee what the network will say. Then its marks and
the screen's are chosen together, on posts that neither learnt from: those that make the encoder's work on Reddit's
sample least while no kind of text loses more of its flagged posts than its share. `--write` puts `exit.onnx`,
`rest.onnx` and the marks into the folder; without it the report alone is printed, to compare layers. Read the states
again (`exit_states.py`) after the screen or the network has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from exit_net import Net
from network_split import SplitNetwork
from screen_nets import QUESTIONS

from davy.detectors import folder as folders
from davy.detectors.token_batches import TokenRows

LOST = {"top": 0.02, "gender": 0.02}
LOST_ELSEWHERE = 0.01
"""The share of flagged posts that screen and exit together may clear: more on Reddit, where few are flagged."""
LEVELS = np.concatenate([np.linspace(0, 0.04, 33), np.linspace(0.045, 0.12, 16)])
"""Where marks may lie: below these shares of the flagged posts of a question."""
HEAD_COST = 0.01
"""What the head costs, as a share of the whole network."""
BATCH, RATE = 192, 2e-3


class Part:
    """Posts of one file: states by batch, what the network says, and which questions it says yes to."""

    def __init__(
        self, states: Path, name: str, layer: int, manifest: folders.Manifest, scale: tuple[float, int]
    ) -> None:
        held = np.load(states / f"{name}.npz")
        self.kinds, self.screen, self.lengths = held["kinds"], held["screen"], held["lengths"]
        self.kept, self.scale = held["kept"], scale
        self.rows = TokenRows(np.load(states / f"{name}.codes{layer}.npy", mmap_mode="r"), held["starts"], self.lengths)
        temperatures = np.array([manifest.temperatures.get(name, 1.0) for name in QUESTIONS], dtype=np.float32)
        self.thresholds = np.array([manifest.thresholds.get(name, 0.5) for name in QUESTIONS], dtype=np.float32)
        self.chances = 1 / (1 + np.exp(-held["margins"] / temperatures))
        self.flags = self.chances >= self.thresholds

    def batch(self, places: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Return states and mask of some posts."""
        step, zero = self.scale
        codes, mask = self.rows.padded(places, zero)
        return (torch.from_numpy(codes).float() - zero) * step, torch.from_numpy(mask).float()

    def shuffled(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Return batches of posts of nearly one length, others each time."""
        places = np.flatnonzero(self.kept)
        order = places[np.argsort(self.lengths[places] * np.exp(rng.normal(0, 0.08, len(places))))]
        return [order[at : at + BATCH] for at in range(0, len(order), BATCH)]


def learn(parts: list[Part], width: int, epochs: int) -> Net:
    """Return the average of a head's weights while it learns."""
    torch.manual_seed(0)
    rng, net = np.random.default_rng(0), Net(width)
    optimiser = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=1e-3)
    average = {name: it.clone() for name, it in net.state_dict().items()}
    total, steps, began = epochs * sum(-(-int(part.kept.sum()) // BATCH) for part in parts), 0, time.monotonic()
    for epoch in range(epochs):
        batches = [(part, places) for part in parts for places in part.shuffled(rng)]
        losses = []
        for at in rng.permutation(len(batches)):
            part, places = batches[at]
            wanted = torch.from_numpy(part.chances[places])
            weight = 1 + 5 * torch.from_numpy(part.flags[places]).float() + 2 * (wanted >= 0.2).float()
            for group in optimiser.param_groups:
                group["lr"] = RATE * min(1.0, steps / 100) * (0.02 + 0.98 * (1 - steps / total))
            loss = F.binary_cross_entropy_with_logits(net(*part.batch(places)), wanted, weight)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
            keep = 1 - min(0.995, steps / (steps + 20))
            torch._foreach_lerp_(list(average.values()), list(net.state_dict().values()), keep)
            steps += 1
        print(
            f"epoch {epoch + 1}: {np.mean(losses):.4f}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True
        )
    net.load_state_dict(average)
    return net.eval()


@torch.no_grad()
def seen_by(net: Net, part: Part) -> np.ndarray:
    """Return the head's logits of every post with states; far below every mark for others, which a screen clears."""
    logits = np.full((len(part.lengths), len(QUESTIONS)), -1e6, dtype=np.float32)
    for places in part.rows.batches(np.flatnonzero(part.kept), tokens=16384):
        logits[places] = net(*part.batch(places)).numpy()
    return logits


class Marks:
    """The search for six marks, three of the screen and three of the exit: what they cost and what they lose."""

    def __init__(self, part: Part, logits: np.ndarray, share: float, lost: float = LOST["top"]) -> None:
        self.share = share
        may = LOST | {"top": lost}
        self.values = np.concatenate([part.screen, logits], axis=1)
        top = part.kinds == "top"
        self.yes, self.flagged = part.flags, part.flags.any(axis=1)
        self.levels = [
            np.quantile(self.values[top & part.kept & part.flags[:, i % 3], i], LEVELS, method="lower")
            for i in range(6)
        ]
        # A screen's mark must not lie where posts have no states.
        floor = part.screen[~part.kept].max(axis=0)
        self.levels[:3] = [np.maximum(it, floor[i]) for i, it in enumerate(self.levels[:3])]
        self.kinds = {str(kind): part.kinds == kind for kind in np.unique(part.kinds)}
        # Posts without states are cleared whatever the marks are, so the search leaves them out.
        self._asked = part.kept & (top | self.flagged)
        self._values = self.values[self._asked]
        self._work = (np.where(top, part.lengths, 0) / part.lengths[top].sum())[self._asked]
        self._may_lose = [
            ((among & self.flagged)[self._asked], may.get(kind, LOST_ELSEWHERE) * (among & self.flagged).sum()
             - (among & self.flagged & ~part.kept).sum())
            for kind, among in self.kinds.items()
        ]  # fmt: skip

    def passed(self, places: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which posts pass the screen, and which the exit too, with marks at these levels."""
        above = values >= self.at(places)
        screen = above[:, 0] | above[:, 1] | above[:, 2]
        return screen, screen & (above[:, 3] | above[:, 4] | above[:, 5])

    def at(self, places: np.ndarray) -> np.ndarray:
        """Return the marks at these levels."""
        return np.array([levels[at] for levels, at in zip(self.levels, places, strict=True)])

    def cost(self, places: np.ndarray) -> float:
        """Return the encoder's work on Reddit's sample, as a share of reading all; infinite where marks are unsafe."""
        screen, both = self.passed(places, self._values)
        if any((flagged & ~both).sum() > most for flagged, most in self._may_lose):
            return np.inf
        return float(self._work[screen].sum() * (self.share + HEAD_COST) + self._work[both].sum() * (1 - self.share))

    def best(self, tries: int = 12_000) -> np.ndarray:
        """Return the levels of the cheapest safe marks that a cooling random walk finds."""
        rng, places = np.random.default_rng(0), np.zeros(6, dtype=int)
        now = least = self.cost(places)
        found = places
        for heat in np.geomspace(3e-3, 3e-5, tries):
            step = np.zeros(6, dtype=int)
            step[rng.choice(6, rng.integers(1, 4), replace=False)] = rng.integers(-4, 5)
            there = np.clip(places + np.where(rng.random(6) < 0.5, step, -step), 0, len(LEVELS) - 1)
            cost = self.cost(there)
            if cost < now + heat * rng.exponential():
                places, now = there, cost
                if cost < least:
                    found, least = there, cost
        return found

    def fewest_lost(self, part: Part, logits: np.ndarray, work: float) -> tuple[Marks, np.ndarray]:
        """Return the search and the marks that lose the least of Reddit's flagged posts with at most this work."""
        found = None
        for lost in np.arange(LOST["top"], 0.0, -0.0005):
            marks = Marks(part, logits, self.share, float(lost))
            places = marks.best(tries=30_000)
            if marks.cost(places) > work:
                break
            found = marks, places
        if found is None:
            raise SystemExit(
                f"No marks that lose at most {LOST['top']:.0%} of Reddit's flagged posts stay within {work}."
            )
        return found

    def report(self, places: np.ndarray) -> dict[str, dict[str, float]]:
        """Return for each kind of text how much is cleared and how much of what is flagged."""
        screen, both = self.passed(places, self.values)
        found = {}
        for kind, among in self.kinds.items():
            flagged = among & self.flagged
            found[kind] = {
                "posts": int(among.sum()),
                "cleared by the screen": round(float(1 - screen[among].mean()), 4),
                "cleared": round(float(1 - both[among].mean()), 4),
                "flagged": int(flagged.sum()),
                "flagged and cleared by the screen": round(float((flagged & ~screen).sum() / max(1, flagged.sum())), 4),
                "flagged and cleared": round(float((flagged & ~both).sum() / max(1, flagged.sum())), 4),
                "labels that stay": {
                    name: round(1 - float((among & ~both & self.yes[:, i]).sum() / among.sum()), 5)
                    for i, name in enumerate(QUESTIONS)
                },
            }
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--layer", type=int, required=True)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--again", action="store_true", help="take the head that was learnt before; choose marks only")
    parser.add_argument("--learnt", type=int, help="with --again: from how many posts it was")
    parser.add_argument("--lost", type=float, default=LOST["top"], help="share of Reddit's flagged posts that may go")
    parser.add_argument("--work", type=float, help="of the marks with at most this work, those that lose the least")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    manifest, halves = folders.read(args.folder), SplitNetwork(args.folder, args.layer)
    told = (args.layer, manifest, halves.scale)
    parts = [] if args.learnt else [Part(args.states, f"learnt-{i}", *told) for i in range(args.parts)]
    if args.again:
        net = Net(halves.width).eval()
        net.load_state_dict(torch.load(args.states / f"head{args.layer}.pt", weights_only=True))
    else:
        net = learn(parts, halves.width, args.epochs)
        torch.save(net.state_dict(), args.states / f"head{args.layer}.pt")
    held = Part(args.states, "held", *told)
    seen = seen_by(net.rounded(), held)
    marks = Marks(held, seen, args.layer / args.layers, args.lost)
    marks, places = marks.fewest_lost(held, seen, args.work) if args.work else (marks, marks.best())
    if not np.isfinite(marks.cost(places)):
        raise SystemExit(
            "No marks are safe: the screen clears too much. Teach it again (screen_again.py), then the exit."
        )
    # Rounded down, so that the post which a mark was taken from still passes.
    chosen = [round(float(mark), 4) for mark in np.floor(marks.at(places) * 1e4) / 1e4]
    found = {
        "screen": dict(zip(QUESTIONS, chosen[:3], strict=True)),
        "exit": dict(zip(QUESTIONS, chosen[3:], strict=True)),
    }
    learnt = args.learnt or sum(int(part.kept.sum()) for part in parts)
    report = {
        "layer": args.layer,
        "learnt": learnt,
        "cost": round(marks.cost(places), 4),
        **found,
        "held back": marks.report(places),
    }
    if args.write:
        halves.write(net.head())
        report["version"] = folders.write(
            args.folder, replace(manifest, settings={**manifest.settings, **found})
        ).version
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
