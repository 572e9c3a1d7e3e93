"""Networks that ship learn on, all their questions together, on a machine with a GPU.

    python learn_on.py large --keep DIR --seconds S        the large English one: what it said before, and new labels
    python learn_on.py small --keep DIR --seconds S        the small one, from the large one's opinions and from labels
    python learn_on.py cascade --keep DIR --seconds S      what the screen and the exit need of the small one
    python learn_on.py german --keep DIR --seconds S
    python learn_on.py fresh --keep DIR --without CORPUS [--old]     MiniLM anew, without one corpus

`--keep` holds what `learn_on_data.py` wrote, the graphs (`large.onnx`, `small.onnx`, `german.onnx`) and, after a step,
what it gave. `--without` leaves a corpus out; what a network then says of it is the honest estimate for others' posts.
`--old` is the recipe of the detectors before: `offensive` from Davidson's tweets and patterns alone.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import weights as packing
from graph_network import GraphNetwork
from learn_on_posts import ATTRIBUTE, COPY, DEV, POOL, TRAIN, Posts, Wanted, figures

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
EXTRA = 5
PADDING = 1
"""Padding of every tokenizer here."""
AVERAGE = 0.999
OLD = ("davidson", "plain")
"""What taught `offensive` before."""


class Log:
    """JSON lines on the screen and in a file."""

    def __init__(self, keep: Path, name: str) -> None:
        self.path, self.name, self.began = keep / f"{name}.jsonl", name, time.monotonic()

    def tell(self, **record: Any) -> None:
        line = json.dumps(record)
        with self.path.open("a") as file:
            file.write(line + "\n")
        print(self.name, f"{time.monotonic() - self.began:.0f}s", line, flush=True)


def opened(keep: Path, name: str, dropout: float = 0.1) -> GraphNetwork:
    """Return a network on the device."""
    return GraphNetwork(keep / f"{name}.onnx", extra=EXTRA, dropout=dropout).to(DEVICE)


def questions_of(network: GraphNetwork, posts: Posts) -> dict[str, int]:
    """Return each question with its number of labels."""
    network.eval()
    with torch.no_grad():
        answers = network(*posts.batch(np.arange(2), PADDING))
    return {name: it.shape[1] for name, it in answers.items()}


@torch.no_grad()
def said(network: GraphNetwork, posts: Posts, rows: np.ndarray, size: int = 1024) -> dict[str, torch.Tensor]:
    """Return the probabilities of posts, a tensor for each question."""
    network.eval()
    found: dict[str, torch.Tensor] = {}
    for batch in posts.batches(np.arange(len(rows)) if len(rows) == len(posts) else rows, size):
        for name, logits in network(*posts.batch(batch, PADDING)).items():
            chance = logits.sigmoid() if name in ("target", ATTRIBUTE) else logits.softmax(1)
            if name not in found:
                found[name] = torch.zeros(len(posts), chance.shape[1], dtype=torch.half, device=DEVICE)
            found[name][torch.from_numpy(batch).to(DEVICE)] = chance.half()
    return found


def judged(network: GraphNetwork, posts: Posts, rows: np.ndarray) -> dict[str, float]:
    """Return the figures of some posts."""
    answers = {name: it.float().cpu().numpy()[rows] for name, it in said(network, posts, rows).items()}
    return figures(posts, answers, rows)


def learn(
    network: GraphNetwork, posts: Posts, wanted: Wanted, rows: np.ndarray, log: Log, *, rate: float, size: int,
    seconds: float, epochs: float, seed: int = 1, told: float = 0.25,
) -> None:  # fmt: skip
    """Train in place, for so many epochs or seconds, whichever ends first; the weights' average stays."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    fast = list(network.further.parameters()) if network.further is not None else []
    groups = [{"params": list(network.learnt.parameters()), "lr": rate}, {"params": fast, "lr": 5 * rate}]
    rates = [group["lr"] for group in groups]
    optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=CUDA)
    live = [it for it in network.parameters() if it.requires_grad]
    average = [it.detach().clone() for it in live]
    began, steps, share, loss_sum, seen = time.monotonic(), 0, 0.0, 0.0, 0
    total, next_told = max(1, int(epochs * len(rows) / size)), told
    while share < 1:
        for batch in posts.batches(rows, size, rng):
            share = max(steps / total, (time.monotonic() - began) / seconds if steps else 0)
            if share >= 1:
                break
            network.train()
            slope = min(1.0, share / 0.05) * (1 - share)
            for group, top in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = top * slope
            loss = wanted.loss(network(*posts.batch(batch, PADDING)), batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(live, 1.0, foreach=True)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            steps, seen = steps + 1, seen + len(batch)
            with torch.no_grad():
                torch._foreach_lerp_(
                    average, [it.detach() for it in live], 1 - min(AVERAGE, (1 + steps) / (10 + steps))
                )
            if steps % 50 == 0:
                loss_sum = float(loss.detach())
            if share >= next_told:
                log.tell(share=round(share, 3), steps=steps, posts=seen, loss=round(loss_sum, 4),
                         rate=round(seen / (time.monotonic() - began)))  # fmt: skip
                next_told += told
    with torch.no_grad():
        for parameter, mean in zip(live, average, strict=True):
            parameter.copy_(mean)
    log.tell(steps=steps, posts=seen, seconds=round(time.monotonic() - began, 1))


def save(network: GraphNetwork, keep: Path, name: str) -> None:
    """Write the network as a graph."""
    network.cpu().write(keep / f"{name}.onnx")


def dev(posts: Posts) -> np.ndarray:
    return np.flatnonzero(posts.part == DEV)


def large(args: argparse.Namespace) -> None:
    """The large network learns the new labels and keeps to what it said; then it says what it thinks of every post."""
    log, posts = Log(args.keep, f"{args.net}{args.tag}"), Posts(args.keep / "english.npz.xz", DEVICE)
    network = opened(args.keep, args.net)
    wanted = Wanted(posts, questions_of(network, posts), natural=0.0, without=args.without)
    log.tell(before=judged(network, posts, dev(posts)))
    old = said(network, posts, np.arange(len(posts)))
    held = {"hate": 1.0, "type": 1.0, "target": 1.0, "sexist": 1.0, "category": 1.0, "vector": 1.0, "offensive": 0.1}
    wanted.follow(old, hard=0.35, weights=held, sure=("offensive",))
    allowed = ~np.isin(posts.corpus, args.without) & (posts.part != DEV)
    pool = np.random.default_rng(2).random(len(posts)) < np.where(posts.part == POOL, 0.5, 1.0)
    rows = np.flatnonzero(allowed & pool)
    learn(network, posts, wanted, rows, log, rate=args.rate or 5e-5, size=args.size or 384, seconds=args.seconds,
          epochs=args.epochs or 3)  # fmt: skip
    log.tell(after=judged(network, posts, dev(posts)))
    new = said(network, posts, np.arange(len(posts)))
    for name in held:
        if name != "offensive":
            new[name] = (new[name] + old[name]) / 2
    if args.net == "large":
        torch.save({name: it.cpu() for name, it in new.items()}, args.keep / f"opinions{args.tag}.pt")
    save_left_out(args, posts, new, f"{args.net}{args.tag}")
    save(network, args.keep, f"{args.net}-new{args.tag}")


def save_left_out(args: argparse.Namespace, posts: Posts, answers: dict[str, torch.Tensor], name: str) -> None:
    """Write the chances of offence of posts in dev and of the corpora that were left out."""
    rows = np.flatnonzero((posts.part == DEV) | (np.isin(posts.corpus, args.without) & (posts.part != COPY)))
    np.savez_compressed(
        args.keep / f"said-{name}.npz", rows=rows, corpus=posts.corpus[rows], gold=posts.labels["offensive"][rows],
        attributes=posts.attributes[rows],
        **{f"of {key}": it[torch.from_numpy(rows).to(it.device)].float().cpu().numpy()
           for key, it in answers.items() if key in ("offensive", "hate", "sexist", ATTRIBUTE)},
    )  # fmt: skip


def small(args: argparse.Namespace) -> None:
    """The small network learns from the large one's opinions and from labels."""
    log, posts = Log(args.keep, f"small{args.tag}"), Posts(args.keep / "english.npz.xz", DEVICE)
    network = opened(args.keep, "small", dropout=0.05)
    wanted = Wanted(posts, questions_of(network, posts), natural=0.0, without=args.without)
    opinions = {name: it.to(DEVICE) for name, it in torch.load(args.keep / f"opinions{args.tag}.pt").items()}
    follow = dict.fromkeys(opinions, 1.0) | {ATTRIBUTE: 0.5}
    wanted.follow(opinions, hard=0.35, weights=follow)
    log.tell(before=judged(network, posts, dev(posts)))
    rows = np.flatnonzero(~np.isin(posts.corpus, args.without) & (posts.part != DEV))
    learn(network, posts, wanted, rows, log, rate=args.rate or 2e-4, size=args.size or 384, seconds=args.seconds,
          epochs=args.epochs or 30, seed=args.seed)  # fmt: skip
    log.tell(after=judged(network, posts, dev(posts)))
    save_left_out(args, posts, said(network, posts, np.arange(len(posts))), f"small{args.tag}")
    save(network, args.keep, f"small-new{args.tag}")


def german(args: argparse.Namespace) -> None:
    """The German network learns the new labels and keeps to what it said of hate, types and targets."""
    log, posts = Log(args.keep, f"german{args.tag}"), Posts(args.keep / "german.npz.xz", DEVICE)
    network = opened(args.keep, "german", dropout=0.1)
    wanted = Wanted(posts, questions_of(network, posts), natural=0.0, without=args.without)
    log.tell(before=judged(network, posts, dev(posts)))
    old = said(network, posts, np.arange(len(posts)))
    held = {"hate": 1.0, "misogynistic": 1.0, "type": 1.0, "target": 1.0, "offensive": 0.05}
    wanted.follow(old, hard=args.hard, weights=held, sure=("offensive",))
    rows = np.flatnonzero(~np.isin(posts.corpus, args.without) & (posts.part != DEV))
    learn(network, posts, wanted, rows, log, rate=args.rate or 1e-4, size=args.size or 128, seconds=args.seconds,
          epochs=args.epochs or 4, seed=args.seed)  # fmt: skip
    left = np.flatnonzero(np.isin(posts.corpus, args.without))
    log.tell(after=judged(network, posts, dev(posts)), left_out=judged(network, posts, left) if len(left) else {})
    save_left_out(args, posts, said(network, posts, np.arange(len(posts))), f"german{args.tag}")
    save(network, args.keep, f"german-new{args.tag}")


def fresh(args: argparse.Namespace) -> None:
    """MiniLM learns every question from labels alone, without one corpus: nothing here has seen that corpus."""
    name = f"fresh-{'old' if args.old else 'new'}-{'-'.join(args.without)}"
    log, posts = Log(args.keep, name), Posts(args.keep / "english.npz.xz", DEVICE)
    network = opened(args.keep, "small")
    tensors, _ = packing.unpack((args.keep / "minilm.npz").read_bytes())
    network.cpu().start_from({key: torch.from_numpy(np.ascontiguousarray(it)) for key, it in tensors.items()})
    network.to(DEVICE).rounded = False
    without = (*args.without, "olid") if args.old else args.without
    questions = questions_of(network, posts)
    if args.old:
        posts.labels["offensive"] = np.where(np.isin(posts.corpus, OLD), posts.labels["offensive"], -1)
    wanted = Wanted(posts, questions, natural=0.2, without=without)
    rows = np.flatnonzero(~np.isin(posts.corpus, without) & np.isin(posts.part, (TRAIN, COPY)))
    copy = np.random.default_rng(3).random(len(rows)) < np.where(posts.part[rows] == COPY, 0.25, 1.0)
    learn(network, posts, wanted, rows[copy], log, rate=args.rate or 2e-4, size=args.size or 256,
          seconds=args.seconds, epochs=args.epochs or 3, seed=args.seed)  # fmt: skip
    posts = Posts(args.keep / "english.npz.xz", DEVICE)
    left = np.flatnonzero(np.isin(posts.corpus, args.without) & (posts.part != COPY))
    log.tell(left_out=judged(network, posts, left), dev=judged(network, posts, dev(posts)))
    save_left_out(args, posts, said(network, posts, np.concatenate([left, dev(posts)])), name)


def cascade(args: argparse.Namespace) -> None:
    """A screen and an exit's head learn to foresee what the small network says."""
    import learn_on_cascade

    log, posts = Log(args.keep, f"cascade{args.tag}"), Posts(args.keep / "english.npz.xz", DEVICE)
    network = opened_plain(args.keep / "small-new.onnx")
    learn_on_cascade.teach(network, posts, args.keep, log, args.seconds, args.tag, args.more)


def opened_plain(path: Path) -> GraphNetwork:
    """Return a network that has its further question in its graph."""
    return GraphNetwork(path, dropout=0.0).to(DEVICE)


STEPS = {it.__name__: it for it in (large, small, german, fresh, cascade)}


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--without", type=lambda it: tuple(it.split(",")), default=())
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--tag", default="")
    parser.add_argument("--net", default="large", help="which network learns on from its own opinions")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--epochs", type=float, default=None)
    parser.add_argument("--rate", type=float, default=None)
    parser.add_argument("--size", type=int, default=None, help="posts in a batch")
    parser.add_argument("--more", type=float, default=5.0, help="how much more a yes counts for screen and exit")
    parser.add_argument("--hard", type=float, default=0.35)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    STEPS[args.step](args)


if __name__ == "__main__":
    main()
