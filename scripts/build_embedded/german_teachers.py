"""The German detector's teachers: the language model learns English hate, then German posts without a fold.

Posts and the language model in; a teacher's opinion of all posts and written texts out, and its logits for the fold.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
import torch.nn.functional as F
from german_bench import COLUMNS, DEVICE, FOLLOWED, HEADS, MEANT, GermanBench, answer, answer_targets, plan, read
from german_figures import figures, judge
from job import HEAD_LIST, SHARE
from qwen import Qwen, Teacher, take
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from davy.training.data import Targets, Tokens, batches_by_length, batches_longest_first
from davy.training.fit import masked_loss
from davy.training.loop import Loop

PLAIN = 5000
"""How many of the plain sentences a teacher learns from; they are alike."""


def teacher(args: argparse.Namespace, start: str = "") -> Teacher:
    """Return the language model with heads and new thin layers; `start` names what it learnt before."""
    torch.manual_seed(args.seed)
    network = Teacher(Qwen(args.keep, DEVICE, args.layers), sum(head.labels for head in HEADS))
    if start:
        take(network, load_file(args.keep / f"{start}.safetensors", device=str(DEVICE)))
        with torch.no_grad():
            for head, like in (("hate.de", "hate"), ("misogynistic.de", "sexist")):
                network.out.weight[COLUMNS[head]] = network.out.weight[COLUMNS[like]]
                network.out.bias[COLUMNS[head]] = network.out.bias[COLUMNS[like]]
    for layer in network.body.adapted():
        layer.adapt(args.rank)
    return network


def learn(
    network: nn.Module, tokens: Tokens, targets: Targets, rows: np.ndarray, args: argparse.Namespace, bench: GermanBench
) -> None:
    """Train a teacher on some posts."""
    lengths = tokens.lengths.cpu().numpy()

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return batches_by_length(rng.permutation(rows), lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        index = torch.from_numpy(batch).to(DEVICE)
        logits = network(*tokens.batch(index, int(lengths[batch].max())))
        return masked_loss(logits, targets.values[index], targets.weights[index], HEADS)

    Loop(network, plan(args), batches, loss, seed=args.seed, tell=bench.tell).run()


def english(args: argparse.Namespace) -> None:
    """Teach the language model hate, offence and sexism on English posts and GermEval."""
    bench = GermanBench(args.keep, "english")
    network, tokens = teacher(args), bench.tokens("qwen")
    spread = np.random.default_rng(args.seed).random(len(bench.english))
    crowd = np.isin(bench.corpus[bench.english], ("davidson", "founta2018", "kennedy2020"))
    rows = bench.english[~crowd | (spread < 0.35)]
    german = bench.germeval[~bench.dev[bench.germeval]]
    learn(network, tokens, english_targets(bench), np.concatenate([rows, german, german]), args, bench)
    save_file({k: v.detach().half().cpu() for k, v in network.named_parameters()}, args.keep / "english.safetensors")
    bench.tell(judge(bench, network, tokens))


def english_targets(bench: GermanBench) -> Targets:
    """Return what is known of English posts and of GermEval's."""
    targets = Targets.empty(HEADS, len(bench.corpus))
    for head in HEAD_LIST:
        if head.kind == "one":
            answer(bench, targets, head.name, bench.english, SHARE.get(head.name, 1.0))
    answer_targets(bench, targets, bench.english, SHARE["target"])
    for head in ("aux.offence", "aux.kind"):
        answer(bench, targets, head, bench.germeval[~bench.dev[bench.germeval]], 1.0)
    return targets.to(DEVICE)


def cv(args: argparse.Namespace, label: str) -> None:
    """Train a teacher without a fold (`all`: with every post); write its opinion of all posts."""
    bench = GermanBench(args.keep, args.name)
    known, held = bench.known(label), bench.held(label)
    network, tokens = teacher(args, "english"), bench.tokens("qwen")
    agreed = agreeing(bench, network, tokens)
    taught = np.random.default_rng(args.seed).permutation(agreed)[: args.more]
    bench.tell({"translated": len(bench.translated), "agreed": len(agreed), "taught": len(taught)})
    known["plain"] = np.random.default_rng(args.seed).permutation(known["plain"])[:PLAIN]
    targets = german_targets(bench, known, taught, len(tokens)).to(DEVICE)
    learn(network, tokens, targets, np.concatenate([*known.values(), taught]), args, bench)
    for layer in network.body.adapted():
        layer.fold()
    if len(held):
        logits = read(network, tokens, held).cpu().numpy()
        np.savez(args.keep / f"oof-{args.name}-{label}.npz", rows=held, logits=logits)
        bench.tell({"fold": label} | figures(bench, held, logits))
    rows = bench.pool()
    logits, states = opinion(network, tokens, rows)
    np.savez(args.keep / f"opinion-{args.name}-{label}.npz", rows=rows, logits=logits, states=states)
    bench.tell({"done": label})


def german_targets(bench: GermanBench, known: dict[str, np.ndarray], translated: np.ndarray, posts: int) -> Targets:
    """Return what is known of German posts, and, counting less, of translated ones."""
    targets = Targets.empty(HEADS, posts)
    for rows, heads in ((known["gmhp7k"], MEANT), (known["gahd"], ("hate.de",)), (known["plain"], MEANT)):
        for head in heads:
            answer(bench, targets, head, rows, 1.0)
    for head, weight in (("aux.offence", 0.5), ("aux.kind", 0.2)):
        answer(bench, targets, head, known["germeval"], weight)
    for head in ("hate.de", "type", "sexist"):
        answer(bench, targets, head, translated, 0.5)
    answer_targets(bench, targets, translated, 0.25)
    return targets


def agreeing(bench: GermanBench, network: Teacher, tokens: Tokens) -> np.ndarray:
    """Return the translated posts of which the language model, taught in English, says what their label says."""
    rows = bench.translated
    if not len(rows):
        return rows
    logits = read(network, tokens, rows).cpu().numpy()
    keep = np.ones(len(rows), dtype=bool)
    for head in ("hate", "sexist"):
        gold = bench.label(head, rows)
        keep &= (gold < 0) | (logits[:, COLUMNS[head]].argmax(1) == gold)
    return rows[keep]


@torch.inference_mode()
def opinion(network: Teacher, tokens: Tokens, rows: np.ndarray, batch: int = 512) -> tuple[np.ndarray, np.ndarray]:
    """Return a teacher's logits for some posts, and some directions of its last state, the same for every teacher."""
    network.eval()
    width = network.out.in_features
    chance = torch.randn(width, FOLLOWED, generator=torch.Generator().manual_seed(3))
    turn = torch.linalg.qr(chance)[0].to(DEVICE)
    lengths = tokens.lengths.cpu().numpy()[rows]
    logits = torch.empty(len(rows), network.out.out_features, device=DEVICE, dtype=torch.float16)
    states = torch.empty(len(rows), FOLLOWED, device=DEVICE, dtype=torch.float16)
    for part in batches_longest_first(lengths, batch):
        index, place = torch.from_numpy(rows[part]).to(DEVICE), torch.from_numpy(part.copy()).to(DEVICE)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            last = network.last(*tokens.batch(index, int(lengths[part].max())))
        logits[place] = network.out(last).half()
        states[place] = (F.normalize(last, dim=1) @ turn * width**0.5).half()
    return logits.cpu().numpy(), states.cpu().numpy()
