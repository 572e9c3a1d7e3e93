"""Why a ViLBERT stays at chance: the drawn benchmark learnt in variants, with how far its vectors differ between memes.

    python plateau.py --keep PACKED --variants "as it was" "quiet start, low rates" --seeds 1 2 3

PACKED is what drawn.py packed and computed. After every so many updates a line says the loss, dev's AUROC and, for the
pooled words, the pooled regions and their product, which share of their size differs from meme to meme: near 0 all
memes look alike to the classifier. A training that ranks dev at `--enough` is stopped, and one after `--stop` updates,
which leaves the fall of the rates as it is.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from seeds import PackedMemes
from torch import Tensor

from davy.detectors.meme_model import MemeModel, new_meme_model
from davy.detectors.meme_presets import MemePreset, load_preset
from davy.training.meme_trainer import MemeTensors, measure_logits, predict_logits, train_row

FAST, SLOW = {"rate": "2e-4", "new_rate": "3e-4"}, {"rate": "5e-5", "new_rate": "1e-4"}
VARIANTS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "as it was": (FAST, {}),
    "concatenated": (FAST, {"joined": "concat"}),
    "low rates": (SLOW, {}),
    "quiet start": (FAST, {"quiet_start": True}),
    "quiet start, low rates": (SLOW, {"quiet_start": True}),
    "quiet start, low rates, concatenated": (SLOW, {"quiet_start": True, "joined": "concat"}),
}
"""Training and network fields; both rates of `as it was` are those of the benchmark's table."""


class Stopped(Exception):
    """Dev is ranked well enough, or there were updates enough."""


class Watch:
    """Hears the vectors that a network makes of dev."""

    def __init__(self, network: Any) -> None:
        self.seen: dict[str, list[Tensor]] = {"words": [], "regions": [], "joined": []}
        parts = (network.pool_words, network.pool_regions, network.classifier)
        for name, part in zip(self.seen, parts, strict=True):
            part.register_forward_pre_hook(lambda _, given, name=name: self.hear(name, network.training, given[0]))

    def hear(self, name: str, training: bool, vectors: Tensor) -> None:
        if not training:
            self.seen[name].append(vectors.detach().float())

    def differs(self) -> dict[str, float]:
        """Return for each vector which share of its size is not the same in all memes, and forget them."""
        shares = {}
        for name, blocks in self.seen.items():
            of = torch.cat(blocks)
            shares[name] = round(float(of.var(0).mean().sqrt() / of.pow(2).mean().sqrt()), 3)
            blocks.clear()
        return shares


def preset_of(variant: str, args: argparse.Namespace) -> MemePreset:
    training, network = VARIANTS[variant]
    counts = {"updates": str(args.updates), "warmup": str(args.updates // 10), "every": str(args.every)}
    fixed = {"batch": str(args.batch), "max_length": "48", "precision": "bf16", **counts}
    preset = load_preset("vilbert", "small", {**fixed, **training})
    return replace(preset, network=replace(preset.network, **{"quiet_start": False, "joined": "product", **network}))


def learn(variant: str, seed: int, memes: PackedMemes, args: argparse.Namespace) -> str:
    """Train once, print the curve, and return a line about the end."""
    began = (time.time(), time.process_time())
    parts = {part: memes.part(f"benchmark-{part}") for part in ("train", "dev", "test")}
    kept: dict[str, Any] = {}
    name = f"{variant}, seed {seed}"

    def start(preset: MemePreset) -> MemeModel:
        kept["model"] = new_meme_model(preset)
        kept["watch"] = Watch(kept["model"].network)
        return kept["model"]

    def tell(record: dict[str, Any]) -> None:
        kept["updates"] = record["epoch"] * args.every
        print(f"  {name}: {kept['updates']:4} updates, loss {record['loss']:.3f}, dev {record['auroc']:.3f}, "
              f"differs {kept['watch'].differs()}", flush=True)  # fmt: skip
        if record["auroc"] >= args.enough or kept["updates"] >= (args.stop or args.updates):
            raise Stopped

    with suppress(Stopped):
        train_row(preset_of(variant, args), parts["train"], parts["dev"], seed=seed, start=start, tell=tell)
    model = kept["model"]
    figures = {}
    for part in ("dev", "test"):
        tensors = MemeTensors.of(parts[part].texts, parts[part], model, "cpu")
        figures[part] = measure_logits(parts[part].labels, predict_logits(model.network, tensors))["auroc"]
    spent = f"{time.time() - began[0]:.0f} s, {time.process_time() - began[1]:.0f} of the core"
    return f"{name}: {kept['updates']} updates, dev {figures['dev']:.4f}, test {figures['test']:.4f} ({spent})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--enough", type=float, default=0.99)
    parser.add_argument("--stop", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    memes = PackedMemes(args.keep, "benchmark")
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, torch {torch.__version__}, {args.updates} updates of {args.batch}, "
          f"{ {part: len(places) for part, places in memes.parts.items()} }", flush=True)  # fmt: skip
    for seed in args.seeds:
        for variant in args.variants:
            print(learn(variant, seed, memes, args), flush=True)


if __name__ == "__main__":
    main()
