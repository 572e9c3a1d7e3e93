"""The German detector on a GPU: a teacher that reads German through English, and the small network.

    python german_job.py opinions            what the large English detector says of every English post
    python german_job.py cross               its body learns to say the same from multilingual pieces
    python german_job.py mini                so does the small English detector's body
    python german_job.py base                and the multilingual sentence encoder
    python german_job.py cv --of cross …     fine-tune on GMHP7k and GermEval, fold by fold
    python german_job.py distil …            both small networks learn from the fine-tuned teachers

Every step reads and writes `--keep`, where `german.py` put its files. No network has seen the
posts that it is judged on, nor have its teachers.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import weights as packing
from german import FOLDS, folds, read_tokens
from german_nets import GERMAN, Cross, Grams, Pair, Reader, feel_4_bits, small
from job import HEAD_LIST, PARENT, SHARE, _part, encoder_of
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from davy.models.network import Network, columns_of, probabilities
from davy.train.data import Targets, Tokens, by_length, in_order
from davy.train.loop import Loop, Schedule
from davy.train.losses import agreement_loss, masked_loss

HEADS = (*HEAD_LIST, *GERMAN)
COLUMNS = columns_of(HEADS)
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
LAST = slice(COLUMNS["hate.de"].start, None)


@dataclass
class Bench:
    """What every step shares."""

    keep: Path
    name: str

    def __post_init__(self) -> None:
        self.posts = dict(np.load(self.keep / "posts.npz"))
        self.corpus, self.dev = self.posts["corpus"], self.posts["dev"]
        self.german = np.isin(self.corpus, ("gmhp7k", "germeval"))
        self.ours = np.flatnonzero(self.corpus == "gmhp7k")
        self.fold = folds(*(self.posts[f"label.{it}"][self.ours] for it in ("hate.de", "misogynistic.de")))
        self.use = dict(np.load(self.keep / "use.npz"))
        self.vocab = [str(it) for it in self.use.pop("vocab")]
        self.table = torch.from_numpy(self.use.pop("table").astype(np.float32) * float(self.use.pop("scale")))
        self.kept = int(self.use.pop("german"))
        self.tokens = packed(self.keep / "use.tokens", 0)
        self.lengths = self.tokens.lengths.cpu().numpy()
        self.started = time.monotonic()

    def tell(self, record: dict[str, Any]) -> None:
        line = json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()})
        print(f"{self.name} {time.monotonic() - self.started:.0f}s {line}", flush=True)

    def label(self, head: str, rows: np.ndarray) -> np.ndarray:
        return self.posts[f"label.{head}"][rows].astype(np.int64)


def packed(path: Path, pad: int) -> Tokens:
    """Return a file of tokens on the device."""
    flat, lengths = read_tokens(path)
    sizes = lengths.astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return Tokens(*(torch.from_numpy(a).to(DEVICE) for a in (flat.astype(np.int32), starts, sizes)), pad)


def english_network(keep: Path, name: str = "english") -> tuple[Network, dict[str, Tensor]]:
    """Return the large English detector, or the small one (`mini`), and where the map into its space starts."""
    from transformers import AutoConfig

    state, config = packing.unpack(b"".join(path.read_bytes() for path in sorted(keep.glob(f"{name}.?"))))
    tensors = {key: torch.from_numpy(np.ascontiguousarray(value)) for key, value in state.items()}
    start = {name: tensors.pop(name) for name in ("map", "shift")}
    kind = config.pop("model_type")
    network = Network(encoder_of(_part(tensors, "encoder."), AutoConfig.for_model(kind, **config)), HEAD_LIST)
    network.load_state_dict(tensors)
    return network, start


@torch.inference_mode()
def read(network: nn.Module, tokens: Tokens, rows: np.ndarray, batch: int = 512, *, exact: bool = False) -> Tensor:
    """Return logits for some posts, on the device."""
    network.eval()
    lengths = tokens.lengths.cpu().numpy()[rows]
    out: Tensor | None = None
    for part in in_order(lengths, batch):
        index = torch.from_numpy(rows[part]).to(DEVICE)
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=CUDA and not exact):
            logits = network(*tokens.batch(index, int(lengths[part].max()))).float()
        out = logits.new_empty(len(rows), logits.shape[1]) if out is None else out
        out[torch.from_numpy(part.copy()).to(DEVICE)] = logits
    assert out is not None
    return out


@torch.inference_mode()
def opinions(args: argparse.Namespace) -> None:
    """Write the English detector's probabilities and vectors for every English post."""
    bench = Bench(args.keep, "opinions")
    network, _ = english_network(args.keep)
    network.to(DEVICE).eval()
    store = packed(args.keep / "mpnet.tokens", 1)
    lengths = store.lengths.cpu().numpy()
    chances = torch.zeros(len(store), sum(head.labels for head in HEAD_LIST), dtype=torch.float16)
    vectors = torch.zeros(len(store), 768, dtype=torch.float16)
    for rows in in_order(lengths, args.batch):
        ids, mask = store.batch(torch.from_numpy(rows.copy()).to(DEVICE), int(lengths[rows].max()))
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=CUDA):
            states = network.pooled(network.encoder(input_ids=ids, attention_mask=mask).last_hidden_state, mask)
            logits = network.out(states)
        chances[rows] = probabilities(logits.float(), HEAD_LIST).half().cpu()
        vectors[rows] = states.half().cpu()
    save_file({"chances": chances, "vectors": vectors}, args.keep / "opinions.safetensors")
    bench.tell({"posts": len(store)})


def all_targets(bench: Bench, hard: float) -> tuple[Targets, Tensor]:
    """Return what each head should say of each post but GMHP7k's, and the English detector's vectors."""
    opinion = load_file(bench.keep / "opinions.safetensors")
    first = int(bench.german.sum())
    targets = Targets.empty(HEADS, len(bench.corpus))
    soft = opinion["chances"].float()
    for place, head in enumerate(HEAD_LIST):
        block = COLUMNS[head.name]
        targets.values[first:, block] = soft[:, block]
        weight = torch.full((len(soft),), SHARE.get(head.name, 1.0))
        if head.name in PARENT:
            weight *= soft[:, COLUMNS[PARENT[head.name]]][:, 1] + 0.1
        targets.weights[first:, place] = weight
        if head.kind == "one":
            gold = torch.from_numpy(bench.posts[f"label.{head.name}"].astype(np.int64))
            rows = torch.nonzero(gold >= 0)[:, 0]
            known = F.one_hot(gold[rows], head.labels).float()
            targets.values[rows, block] = (1 - hard) * targets.values[rows, block] + hard * known
    answer(bench, targets, ("aux.offence", "aux.kind"), np.flatnonzero(bench.corpus == "germeval"), 1.0)
    return targets.to(DEVICE), opinion["vectors"].to(DEVICE)


def answer(bench: Bench, targets: Targets, heads: tuple[str, ...], rows: np.ndarray, weight: float) -> None:
    """Set hard answers; a rare yes counts more, by the root of how rare it is."""
    for head in heads:
        gold = bench.label(head, rows)
        counts = np.bincount(gold).clip(1)
        rare = (counts.max() / counts) ** 0.5 if head == "misogynistic.de" else np.ones(len(counts))
        share = (weight * rare[gold]).astype(np.float32)
        targets.answer(head, torch.from_numpy(rows), torch.from_numpy(gold), torch.from_numpy(share))


def thin(mask: Tensor, most: float) -> Tensor:
    """Return a mask in which each post lost some of its pieces, but few of them where it is short."""
    chance = torch.rand(len(mask), 1, device=mask.device) * most
    kept = torch.rand(mask.shape, device=mask.device) >= chance
    return mask * (kept | (mask.sum(1, keepdim=True) < 5)).long()


def cross_network(bench: Bench, seed: int, name: str = "english") -> Reader:
    """Return a network as it starts: an English body, mapped pieces, and the English heads."""
    torch.manual_seed(seed)
    network, start = english_network(bench.keep, name)
    encoder = Cross(network.encoder, bench.table, (start["map"], start["shift"]))
    size = network.out.in_features
    grams = Grams(bench.vocab) if name == "english" else Grams(bench.vocab, 2**15, 8)
    reader = Reader(encoder, size, HEADS, grams, 0.1)
    width = network.out.out_features
    with torch.no_grad():
        reader.out.linear.weight[:width, :size] = network.out.weight
        reader.out.linear.bias[:width] = network.out.bias
    return reader


def transfer(args: argparse.Namespace) -> None:
    """Train the teacher's body or the small network to agree with the English detector, and on GermEval."""
    bench = Bench(args.keep, args.step)
    if args.step == "base":
        torch.manual_seed(args.seed)
        network = small(bench.use, bench.table, HEADS, Grams(bench.vocab), 0.1)
        network.encoder.words.weight.requires_grad_(False)  # else the languages would drift apart
    else:
        network = cross_network(bench, args.seed, "english" if args.step == "cross" else "mini")
    network.to(DEVICE)
    targets, vectors = all_targets(bench, 0.4)
    first = int(bench.german.sum())
    english = np.flatnonzero(~bench.german & ~bench.dev)
    plain = np.isin(bench.corpus[english], ("gender", "top"))
    germeval = np.flatnonzero(bench.corpus == "germeval")

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        rows = english[~plain | (rng.random(len(english)) < 0.6)]
        return by_length(rng.permutation(np.concatenate([rows, *[germeval] * 2])), bench.lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        rows = torch.from_numpy(batch).to(DEVICE)
        ids, mask = bench.tokens.batch(rows, int(bench.lengths[batch].max()))
        logits, vector = network.read(ids, thin(mask, 0.15))
        value = masked_loss(logits, targets.values[rows], targets.weights[rows], HEADS)
        if args.step == "cross":
            known = rows >= first
            goal = vectors[(rows - first).clamp(min=0)].float()
            value = value + 4 * ((1 - F.cosine_similarity(vector.float(), goal)) * known).mean()
        return value

    schedule = Schedule(
        epochs=args.epochs, rate=args.rate, head_rate=max(args.rate, 1e-3), average=0.998, weight_decay=0.01,
        precision="bf16" if CUDA and args.step != "base" else "fp32", seconds=args.seconds,
    )  # fmt: skip
    Loop(network, schedule, batches, loss, lambda: judge(bench, network), args.seed, tell=bench.tell).run()
    save(network, args.keep / f"{args.step}.safetensors")


def judge(bench: Bench, network: Reader) -> dict[str, float]:
    """Return how well a network does on English dev, and on GMHP7k without having seen it (nothing is chosen by it)."""
    figures = {}
    for head, corpus in (("hate", "dynahate"), ("hate", "hatemojibuild"), ("sexist", "edos")):
        rows = np.flatnonzero((bench.corpus == corpus) & bench.dev)
        if len(rows):
            pick = read(network, bench.tokens, rows)[:, COLUMNS[head]].argmax(1).cpu().numpy()
            figures[corpus] = float((pick == bench.label(head, rows)).mean())
    logits = read(network, bench.tokens, bench.ours).cpu().numpy()
    for head, gold in (("hate", "hate.de"), ("aux.offence", "hate.de"), ("sexist", "misogynistic.de")):
        block = logits[:, COLUMNS[head]]
        figures[f"zero {head}"] = auroc(bench.label(gold, bench.ours), block[:, 1] - block[:, 0])
    return figures | {"score": time.monotonic()}  # the last epoch wins


def auroc(gold: np.ndarray, score: np.ndarray) -> float:
    """Return the chance that a yes scores above a no."""
    ranks = score.argsort().argsort() + 1
    yes = gold == 1
    return float((ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / max(1, yes.sum() * (~yes).sum()))


def save(network: nn.Module, path: Path) -> None:
    save_file({k: v.detach().half().cpu().contiguous().clone() for k, v in network.state_dict().items()}, path)


def open_reader(bench: Bench, of: str, seed: int, start: str) -> Reader:
    """Return a network with the weights called `start`, ready to learn German."""
    torch.manual_seed(seed)
    if of == "small":
        network = small(bench.use, bench.table, HEADS, Grams(bench.vocab))
    else:
        network = cross_network(bench, seed, "english" if of == "cross" else "mini")
    state = {k: v.float() for k, v in load_file(bench.keep / f"{start}.safetensors").items()}
    network.load_state_dict(state)
    with torch.no_grad():  # what GermEval calls an offence and EDOS sexist is where our two questions start
        linear = network.out.linear
        for head, like in (("hate.de", "aux.offence"), ("misogynistic.de", "sexist")):
            linear.weight[COLUMNS[head]] = linear.weight[COLUMNS[like]]
            linear.bias[COLUMNS[head]] = linear.bias[COLUMNS[like]]
    if of == "mini":
        network.encoder.unfold()
    return network.to(DEVICE)


def german_targets(bench: Bench, known: np.ndarray) -> tuple[Targets, np.ndarray]:
    """Return what is known of the German posts, and GermEval's rows."""
    germeval = np.flatnonzero(bench.corpus == "germeval")
    targets = Targets.empty(HEADS, len(bench.corpus))
    answer(bench, targets, ("hate.de", "misogynistic.de"), known, 1.0)
    answer(bench, targets, ("aux.offence", "aux.kind"), germeval, 0.3)
    return targets.to(DEVICE), germeval


def plan(args: argparse.Namespace) -> Schedule:
    return Schedule(
        epochs=args.epochs, rate=args.rate, head_rate=args.head_rate, layer_decay=args.decay, average=args.average,
        weight_decay=0.01, precision="bf16" if CUDA else "fp32", seconds=args.seconds,
    )  # fmt: skip


def fine_tune(bench: Bench, network: Reader, known: np.ndarray, args: argparse.Namespace) -> None:
    """Train on the known GMHP7k posts and on GermEval; two passes through dropout must agree."""
    targets, germeval = german_targets(bench, known)

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return by_length(rng.permutation(np.concatenate([known, germeval])), bench.lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        rows = torch.from_numpy(batch).to(DEVICE)
        ids, mask = bench.tokens.batch(rows, int(bench.lengths[batch].max()))
        mask = thin(mask, args.thin)
        values, share = targets.values[rows], targets.weights[rows]
        one, other = network(torch.cat([ids, ids]), torch.cat([mask, mask])).chunk(2)
        value = (masked_loss(one, values, share, HEADS) + masked_loss(other, values, share, HEADS)) / 2
        return value + args.agreement * agreement_loss(one, other, HEADS, share)

    Loop(network, plan(args), batches, loss, seed=args.seed).run()


def learn_from(bench: Bench, pair: Pair, teachers: list[Reader], known: np.ndarray, args: argparse.Namespace) -> None:
    """Train both small networks to say what the teachers say, of thinned and mixed posts too, and what is known."""
    targets, germeval = german_targets(bench, known)
    ours = np.concatenate([known, germeval])
    english = np.flatnonzero(~bench.german & ~bench.dev)
    dice = np.random.default_rng(args.seed)

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        rows = np.concatenate([ours, rng.choice(english, min(args.english, len(english)), replace=False)])
        return by_length(rng.permutation(rows), bench.lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        rows = torch.from_numpy(batch).to(DEVICE)
        ids, mask = bench.tokens.batch(rows, int(bench.lengths[batch].max()))
        mixed = dice.random() < args.mix
        if mixed:
            more = dice.choice(ours, len(batch))
            other = bench.tokens.batch(torch.from_numpy(more).to(DEVICE), int(bench.lengths[more].max()))
            ids, mask = torch.cat([ids, other[0]], 1)[:, :120], torch.cat([mask, other[1]], 1)[:, :120]
        mask = thin(mask, args.thin)
        with torch.no_grad():
            wanted = torch.stack([it(ids, mask)[:, LAST].float() for it in teachers]).mean(0)
        value = wanted.new_zeros(())
        for reader in pair.readers.values():
            said = reader(ids, mask).float()
            for head, weight in (("hate.de", 1.0), ("misogynistic.de", 1.0), ("aux.offence", 0.3), ("aux.kind", 0.3)):
                block = COLUMNS[head]
                goal = wanted[:, block.start - LAST.start : block.stop - LAST.start].softmax(1)
                value = value - weight * (goal * F.log_softmax(said[:, block], 1)).sum(1).mean()
            if not mixed:
                value = value + args.hard * masked_loss(said, targets.values[rows], targets.weights[rows], HEADS)
        return value

    def wrap_up(share: float) -> None:
        if share >= args.rounds and "mini" in pair.readers and not pair.readers["mini"].encoder.rounds:
            feel_4_bits(pair.readers["mini"].encoder)

    Loop(pair, plan(args), batches, loss, seed=args.seed, wrap_up=wrap_up).run()


def distil(args: argparse.Namespace) -> None:
    """Distil fold by fold (`all` knows every post); write both networks, and their logits for what was held out."""
    bench = Bench(args.keep, args.name)
    for fold in [FOLDS if it == "all" else int(it) for it in args.folds.split(",")]:
        known, held = bench.ours[bench.fold != fold], bench.ours[bench.fold == fold]
        label = "all" if fold == FOLDS else str(fold)
        teachers = [teacher(bench, int(seed), label) for seed in args.teachers.split(",")]
        readers = {"cnn": open_reader(bench, "small", args.seed, "base")}
        if not args.alone:
            readers["mini"] = open_reader(bench, "mini", 1, "mini")
        pair = Pair(readers).to(DEVICE)
        learn_from(bench, pair, teachers, known, args)
        for name, reader in readers.items():
            save_trimmed(bench, reader, args.keep / f"{args.name}.{name}-{label}.safetensors")
            if len(held):
                logits = read(reader, bench.tokens, held, exact=True)[:, LAST].cpu().numpy()
                np.savez(args.keep / f"oof-{args.name}.{name}-{label}.npz", rows=held, logits=logits)
                bench.tell({"fold": label, "of": name} | figures(bench, held, logits))
        bench.tell({"done": label})


def save_trimmed(bench: Bench, reader: Reader, path: Path) -> None:
    """Write a small network with the German pieces and heads alone."""
    state = {k: v.detach().float().cpu() for k, v in reader.state_dict().items() if "word_embeddings" not in k}
    state["encoder.words.weight"] = state["encoder.words.weight"][: bench.kept]
    state |= {f"out.linear.{name}": state[f"out.linear.{name}"][LAST] for name in ("weight", "bias")}
    save_file({k: v.contiguous().clone() for k, v in state.items()}, path)


def cv(args: argparse.Namespace) -> None:
    """Train teachers fold by fold (`all` knows every post), and write the logits of the posts that were held out."""
    bench = Bench(args.keep, args.name)
    for label in args.folds.split(","):
        fold = FOLDS if label == "all" else int(label)
        known, held = bench.ours[bench.fold != fold], bench.ours[bench.fold == fold]
        network = open_reader(bench, args.of, args.seed, args.start)
        fine_tune(bench, network, known, args)
        save(network, args.keep / f"{args.name}-{label}.safetensors")
        if len(held):
            logits = read(network, bench.tokens, held)[:, LAST].cpu().numpy()
            np.savez(args.keep / f"oof-{args.name}-{label}.npz", rows=held, logits=logits)
            bench.tell({"fold": label} | figures(bench, held, logits))
    bench.tell({"done": args.folds})


def teacher(bench: Bench, seed: int, label: str) -> Reader:
    """Return a teacher that has not seen a fold."""
    network = cross_network(bench, seed)
    state = load_file(bench.keep / f"cross{seed}-{label}.safetensors")
    network.load_state_dict({k: v.float() for k, v in state.items()})
    return network.to(DEVICE).eval()


def figures(bench: Bench, rows: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """Return AUROC and the best macro-F1 over thresholds, for a first look only."""
    found = {}
    for i, head in enumerate(("hate.de", "misogynistic.de")):
        gold, odds = bench.label(head, rows), logits[:, 2 * i + 1] - logits[:, 2 * i]
        best = max(macro_f1(gold, (odds >= cut).astype(int)) for cut in np.linspace(-4, 3, 71))
        found |= {f"{head} auc": auroc(gold, odds), f"{head} f1": best}
    return found


def macro_f1(gold: np.ndarray, pick: np.ndarray) -> float:
    """Return the mean of the F1 of no and of yes."""
    both = [2 * ((gold == k) & (pick == k)).sum() / max(1, (gold == k).sum() + (pick == k).sum()) for k in (0, 1)]
    return float(np.mean(both))


def total(args: argparse.Namespace) -> None:
    """Print the figures of each variant over all folds that are there."""
    bench = Bench(args.keep, "total")
    names = sorted({path.stem.removeprefix("oof-").rpartition("-")[0] for path in args.keep.glob("oof-*.npz")})
    sums: dict[str, list[np.ndarray]] = {}
    for name in names:
        parts = [dict(np.load(path)) for path in sorted(args.keep.glob(f"oof-{name}-*.npz"))]
        rows, logits = (np.concatenate([part[key] for part in parts]) for key in ("rows", "logits"))
        bench.tell({"variant": name, "n": len(rows)} | figures(bench, rows, logits))
        if len(rows) == len(bench.ours):
            sums.setdefault("teachers" if name.startswith("cross") else "students", []).append(logits[rows.argsort()])
            np.savez(args.to / f"oof-{name}.npz", rows=bench.ours, logits=logits[rows.argsort()])
    for name, parts in sums.items():
        bench.tell({"variant": f"mean of {len(parts)} {name}"} | figures(bench, bench.ours, np.mean(parts, axis=0)))


def parser() -> argparse.ArgumentParser:
    """Return the options of all steps."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("step", choices=STEPS)
    found.add_argument("--keep", type=Path, required=True)
    found.add_argument("--to", type=Path, default=Path())
    for name, value in (("of", "cross"), ("name", ""), ("start", ""), ("folds", "0,1,2,3,4"), ("teachers", "1,2")):
        found.add_argument(f"--{name}", default=value)
    for name, number in (("seed", 1), ("epochs", 4), ("batch", 64), ("english", 6000)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, real in (("rate", 3e-4), ("head-rate", 2e-3), ("decay", 1.0), ("average", 0.995), ("agreement", 0.5)):
        found.add_argument(f"--{name}", type=float, default=real)
    for name, real in (("thin", 0.15), ("mix", 0.3), ("hard", 0.3), ("rounds", 0.6)):
        found.add_argument(f"--{name}", type=float, default=real)
    found.add_argument("--seconds", type=float)
    found.add_argument("--alone", action="store_true", help="distil into the sentence encoder only")
    return found


def pack(args: argparse.Namespace) -> None:
    """Write small networks packed, so that they travel: those called `--name`, of these folds."""
    for path in [args.keep / f"{args.name}-{label}.safetensors" for label in args.folds.split(",")]:
        state = {k: v.float().numpy() for k, v in load_file(path).items()}
        (args.to / f"{path.stem}.npz").write_bytes(packing.pack(state, {}))


STEPS = {"opinions": opinions, "cross": transfer, "mini": transfer, "base": transfer}
STEPS |= {"cv": cv, "distil": distil, "total": total, "pack": pack}


def main() -> None:
    """Run one step."""
    args = parser().parse_args()
    torch.set_float32_matmul_precision("high")
    STEPS[args.step](args)


if __name__ == "__main__":
    main()
