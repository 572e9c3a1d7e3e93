"""The small German network: its body learns to read multilingual pieces, then the whole learns from teachers.

The English detector's body, piece vectors and teachers' opinions in; a network for each fold out, and the mean of
several, packed in parts that travel.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import weights as packing
from german_bench import (
    COLUMNS,
    DEVICE,
    FOLLOWED,
    HEADS,
    KIND,
    MEANT,
    POSITIONS,
    GermanBench,
    answer,
    on_device,
    plan,
    read,
)
from german_figures import figures, judge
from german_nets import WIDTH, English, Grams, Reader, body_of, small
from qwen_words import read_tokens
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from davy.training.data import Targets, Tokens, batches_by_length
from davy.training.fit import masked_loss
from davy.training.loop import Loop

ASKED = {"hate.de": 1.0, "misogynistic.de": 1.0, "aux.offence": 0.5, "aux.kind": 0.2}
ASKED |= {"type": 0.3, "target": 0.1, "sexist": 0.5}
"""What the small network learns from its teacher, and how much each counts."""
BINARY = ("hate.de", "misogynistic.de", "aux.offence", "sexist")
LIKE = {"hate.de": "hate", "misogynistic.de": "sexist", "aux.offence": "offensive"}
"""Where German questions start from English ones."""
LABELS = {
    "gmhp7k": MEANT,
    "gahd": MEANT[:1],
    "germeval": ("aux.offence",),
    "plain": (*MEANT, "aux.offence"),
}
"""Which labels of each corpus the small network learns from, too."""
PART = 14_000_000


def body_weights(keep: Path) -> dict[str, Tensor]:
    given, _ = packing.unpack((keep / "body.npz").read_bytes())
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in given.items()}


def student(bench: GermanBench, seed: int, dropout: float) -> Reader:
    """Return the small network as it starts."""
    torch.manual_seed(seed)
    use = dict(np.load(bench.keep / "use.npz"))
    vocab = [str(it) for it in use.pop("vocab")]
    table = torch.from_numpy(use.pop("table").astype(np.float32) * float(use.pop("scale")))
    use.pop("german")
    given = body_weights(bench.keep)
    network = small(use, table, body_of(given, POSITIONS), HEADS, Grams(vocab), dropout)
    with torch.no_grad():
        network.encoder.into.weight.copy_(given["into"][:-1].T)
        network.encoder.into.bias.copy_(given["into"][-1])
        for head in HEADS:
            like = given.get(f"answer.{LIKE.get(head.name, head.name)}")
            if like is not None:
                network.out.linear.weight[COLUMNS[head.name], 1024 : 1024 + WIDTH] = like
    return network.to(DEVICE)


def bridge(args: argparse.Namespace) -> None:
    """Teach the body to read multilingual pieces as it read its own, on English posts; the pieces stay as they are."""
    bench = GermanBench(args.keep, "bridge")
    network = student(bench, args.seed, 0.0)
    given = body_weights(args.keep)
    model = English(given).to(DEVICE).eval().requires_grad_(False)
    answers = torch.cat([given[it] for it in sorted(given) if it.startswith("answer.")]).to(DEVICE)
    everything, own = (
        on_device([read_tokens(args.keep / "use.tokens")]),
        on_device([read_tokens(args.keep / "english.tokens")]),
    )
    first = len(everything) - len(own)
    lengths = everything.lengths.cpu().numpy()
    rows = np.setdiff1d(np.arange(first, len(everything)), np.flatnonzero(bench.dev))
    bench.tell({"posts": len(rows)})
    encoder = network.encoder
    encoder.use.requires_grad_(False)  # else the languages would drift apart

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return batches_by_length(rng.permutation(rows), lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        index = torch.from_numpy(batch).to(DEVICE)
        ids, mask = everything.batch(index, int(lengths[batch].max()))
        with torch.no_grad():
            wanted = model(*own.batch(index - first))
        said = encoder(ids, mask)[:, 1024:]
        far = (said @ answers.T - wanted @ answers.T).square().mean() / 4
        return (said - wanted).square().mean() / wanted.var() + far

    learnt = nn.ModuleDict({"into": encoder.into, "convolved": encoder.convolved, "body": encoder.body})
    Loop(learnt, plan(args), batches, loss, seed=args.seed, tell=bench.tell).run()
    save_file(
        {k: v.detach().cpu().contiguous() for k, v in learnt.state_dict().items()}, args.keep / "bridge.safetensors"
    )
    bench.tell(judge(bench, network, bench.tokens("use")))


def opinions(bench: GermanBench, names: list[str], label: str) -> tuple[np.ndarray, Tensor, Tensor]:
    """Return the rows that teachers have an opinion of, and their mean logits and states."""
    parts = [dict(np.load(bench.keep / f"opinion-{name}-{label}.npz")) for name in names]
    mean = [
        torch.from_numpy(np.mean([part[key].astype(np.float32) for part in parts], axis=0)).to(DEVICE)
        for key in ("logits", "states")
    ]
    return parts[0]["rows"], mean[0], mean[1]


def softened(logits: Tensor) -> Tensor:
    """Return a teacher's probabilities for each question, in the columns of the logits."""
    found = torch.zeros_like(logits)
    for head in ASKED:
        block = logits[:, COLUMNS[head]]
        found[:, COLUMNS[head]] = block.sigmoid() if KIND[head] == "many" else block.softmax(1)
    return found


def either(one: Tensor, other: Tensor) -> Tensor:
    """Return the chances of two posts read as one: no only where both are a no."""
    mixed = one.clone()
    for head in BINARY:
        no = COLUMNS[head].start
        mixed[:, no] = one[:, no] * other[:, no]
        mixed[:, no + 1] = 1 - mixed[:, no]
    return mixed


def soft_loss(said: Tensor, wanted: Tensor, heads: list[str] | tuple[str, ...]) -> Tensor:
    """Return how far the answers are from the teacher's."""
    total = said.new_zeros(())
    for head in heads:
        block, chance = said[:, COLUMNS[head]], wanted[:, COLUMNS[head]]
        if KIND[head] == "many":
            each = F.binary_cross_entropy_with_logits(block, chance, reduction="none").sum(1)
        else:
            each = -(chance * F.log_softmax(block, 1)).sum(1)
        total = total + ASKED[head] * each.mean()
    return total


def thin(mask: Tensor, most: float) -> Tensor:
    """Return a mask in which each post lost some of its pieces, but few of them where it is short."""
    chance = torch.rand(len(mask), 1, device=mask.device) * most
    kept = torch.rand(mask.shape, device=mask.device) >= chance
    return mask * (kept | (mask.sum(1, keepdim=True) < 5)).long()


def distil(args: argparse.Namespace, label: str) -> None:
    """Distil without a fold (`all`: with every post); write the network, and its logits for what was held out."""
    bench = GermanBench(args.keep, args.name)
    known, tokens = bench.known(label), bench.tokens("use")
    lengths = tokens.lengths.cpu().numpy()
    network = student(bench, args.seed, args.dropout)
    state = load_file(args.keep / "bridge.safetensors", device=str(DEVICE))
    network.encoder.load_state_dict(network.encoder.state_dict() | state)
    if args.start:
        take_trimmed(network, load_file(args.keep / f"{args.start}-{label}.safetensors", device=str(DEVICE)))
    network.follow = nn.Linear(1024 + WIDTH, FOLLOWED, device=DEVICE)
    lesson = Lesson(bench, tokens, known, args, label)
    more = np.setdiff1d(lesson.rows, np.flatnonzero(bench.german))
    often = np.concatenate(
        [np.tile(known["gmhp7k"], args.passes), *(known[it] for it in ("gahd", "germeval", "plain"))]
    )

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        parts = [often, rng.choice(more, min(args.more, len(more)), replace=False)]
        return batches_by_length(rng.permutation(np.concatenate(parts)), lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        return lesson.loss(network, batch)

    Loop(network, plan(args), batches, loss, seed=args.seed, tell=bench.tell).run()
    save_trimmed(bench, network, args.keep / f"{args.name}-{label}.safetensors")
    tell_held(bench, network, tokens, args.name, label)
    bench.tell({"done": label})


class Lesson:
    """What the small network learns from: teachers' opinions, their last states, and labels."""

    def __init__(
        self, bench: GermanBench, tokens: Tokens, known: dict[str, np.ndarray], args: argparse.Namespace, label: str
    ) -> None:
        self.tokens, self.args, self.lengths = tokens, args, tokens.lengths.cpu().numpy()
        self.rows, logits, states = opinions(bench, args.of.split(","), label)
        self.place = torch.full((len(tokens),), -1, device=DEVICE)
        self.place[torch.from_numpy(self.rows).to(DEVICE)] = torch.arange(len(self.rows), device=DEVICE)
        self.soft = softened(logits)
        self.states = (states - states.mean(0)) / states.std(0).clamp(min=1e-3)
        gold = Targets.empty(HEADS, len(tokens))
        for corpus, heads in LABELS.items():
            for head in heads:
                answer(bench, gold, head, known[corpus], 1.0)
        self.gold, self.own = gold.to(DEVICE), np.concatenate(list(known.values()))
        self.dice = np.random.default_rng(args.seed)

    def loss(self, network: Reader, batch: np.ndarray) -> Tensor:
        """Return how far the network is from teachers and labels; now and then, from two posts read as one."""
        index, args = torch.from_numpy(batch).to(DEVICE), self.args
        ids, mask = self.tokens.batch(index, int(self.lengths[batch].max()))
        soft = self.soft[self.place[index]]
        if self.dice.random() < args.mix:
            others = self.dice.choice(self.own, len(batch))
            second = torch.from_numpy(others).to(DEVICE)
            other = self.tokens.batch(second, int(self.lengths[others].max()))
            ids, mask = torch.cat([ids, other[0]], 1)[:, :120], torch.cat([mask, other[1]], 1)[:, :120]
            said = network(ids, thin(mask, args.thin)).float()
            return soft_loss(said, either(soft, self.soft[self.place[second]]), BINARY)
        said, vector = network.read(ids, thin(mask, args.thin))
        said = said.float()
        value = soft_loss(said, soft, list(ASKED))
        value = value + args.follow * (network.follow(vector).float() - self.states[self.place[index]]).square().mean()
        return value + args.hard * masked_loss(said, self.gold.values[index], self.gold.weights[index], HEADS)


def tell_held(bench: GermanBench, network: Reader, tokens: Tokens, name: str, label: str) -> None:
    """Write a small network's logits for what was held out, and say how good they are."""
    held = bench.held(label)
    if len(held):
        said = read(network, tokens, held, exact=True).cpu().numpy()
        np.savez(bench.keep / f"oof-{name}-{label}.npz", rows=held, logits=said)
        bench.tell({"fold": label} | figures(bench, held, said))


def save_trimmed(bench: GermanBench, reader: Reader, path: Path) -> None:
    """Write a small network with the German pieces alone."""
    kept = int(np.load(bench.keep / "use.npz")["german"])
    state = {k: v.detach().float().cpu() for k, v in reader.state_dict().items() if not k.startswith("follow.")}
    state["encoder.use.words.weight"] = state["encoder.use.words.weight"][:kept]
    save_file({k: v.contiguous().clone() for k, v in state.items()}, path)


def take_trimmed(network: Reader, state: dict[str, Tensor]) -> None:
    """Load what `save_trimmed` wrote; pieces that are not German stay as they are."""
    table = network.state_dict()["encoder.use.words.weight"].clone()
    given = state["encoder.use.words.weight"]
    table[: len(given)] = given
    network.load_state_dict(state | {"encoder.use.words.weight": table})


def mean(args: argparse.Namespace) -> None:
    """Write the mean of the small networks that `--of` names, for every fold, packed in parts that travel."""
    bench = GermanBench(args.keep, args.name)
    tokens = bench.tokens("use")
    bench.tell({"mean of": args.of.split(",")})
    for label in args.folds.split(","):
        states = [load_file(args.keep / f"{name}-{label}.safetensors") for name in args.of.split(",")]
        state = {key: torch.stack([it[key] for it in states]).mean(0) for key in states[0]}
        network = student(bench, 1, 0.0)
        take_trimmed(network, state)
        save_file(state, args.keep / f"{args.name}-{label}.safetensors")
        tell_held(bench, network, tokens, args.name, label)
        data = packing.pack({k: v.numpy() for k, v in state.items()}, {})
        for at in range(0, len(data), PART):
            (args.keep / "parts" / f"{args.name}-{label}.npz.{at // PART}").write_bytes(data[at : at + PART])
