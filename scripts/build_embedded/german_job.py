"""The German detector on a GPU: teachers grown from a language model, posts that it writes, and the small network.

    python german_job.py unpack              the language model's weights, ready to load
    python german_job.py english             it learns to find hate in English posts, and offence in GermEval
    python german_job.py writer              a copy learns German posts by heart and writes new ones
    python german_job.py base                the multilingual sentence encoder learns the same English
    python german_job.py cv --folds 0        a teacher for GMHP7k that has not seen a fold, and its opinion of all posts
    python german_job.py distil --folds 0    the small network learns from that teacher
    python german_job.py total | pack        figures over all folds | small networks that travel

Every step reads and writes `--keep`, where `german.py` put its files. No network has seen the labels of posts that
it is judged on, nor has its teacher. The writer has seen their texts, so what repeats one of them is thrown away.
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
from german import FOLDS, STEPS, Words, encode, folds, plain, read_tokens, write_tokens
from german_nets import GERMAN, Grams, Reader, small
from job import HEAD_LIST, SHARE
from qwen import Qwen, Teacher, unpack, write
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from davy.models.network import columns_of
from davy.models.text_steps import prepare_text
from davy.train.data import Targets, Tokens, batches_by_length, batches_longest_first
from davy.train.loop import Loop, Schedule
from davy.train.losses import masked_loss

HEADS = (*HEAD_LIST, *GERMAN)
COLUMNS = columns_of(HEADS)
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
LAST = slice(COLUMNS["hate.de"].start, None)
ASKED = {"hate.de": 1.0, "misogynistic.de": 1.0, "aux.offence": 0.3, "aux.kind": 0.3}
"""What the small network learns from its teacher, and how much each counts."""
LENT = {"hatemojibuild": 4500, "dynahate": 5000, "edos": 3000, "guest": 1500, "davidson": 1000}
"""How many English posts of each corpus the small network learns from, too."""
SHINGLE = 6
"""A written post that has so many words in a row with a GMHP7k post repeats it."""


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
        self.germeval = np.flatnonzero(self.corpus == "germeval")
        self.english = np.flatnonzero(~self.german & ~self.dev)
        self.fold = folds(*(self.posts[f"label.{it}"][self.ours] for it in ("hate.de", "misogynistic.de")))
        self.started = time.monotonic()

    def tell(self, record: dict[str, Any]) -> None:
        line = json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()})
        print(f"{self.name} {time.monotonic() - self.started:.0f}s {line}", flush=True)

    def label(self, head: str, rows: np.ndarray) -> np.ndarray:
        return self.posts[f"label.{head}"][rows].astype(np.int64)

    def tokens(self, name: str) -> Tokens:
        """Return all posts' tokens on the device: those of the corpora, then those that were written."""
        paths = [self.keep / f"{name}.tokens", self.keep / f"made-{name}.tokens"]
        parts = [read_tokens(path) for path in paths if path.exists()]
        flat = np.concatenate([part[0] for part in parts]).astype(np.int32)
        sizes = np.concatenate([part[1] for part in parts]).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        return Tokens(*(torch.from_numpy(a).to(DEVICE) for a in (flat, starts, sizes)), 0)

    def pool(self, posts: int) -> np.ndarray:
        """Return the rows that teachers give their opinion of: German, some English, and written ones."""
        rng = np.random.default_rng(7)
        lent = []
        for corpus, most in LENT.items():
            rows = self.english[self.corpus[self.english] == corpus]
            lent.append(rng.permutation(rows)[:most])
        return np.concatenate([np.flatnonzero(self.german), *lent, np.arange(len(self.corpus), posts)])


@torch.inference_mode()
def read(network: nn.Module, tokens: Tokens, rows: np.ndarray, batch: int = 512, *, exact: bool = False) -> Tensor:
    """Return logits for some posts, on the device."""
    network.eval()
    lengths = tokens.lengths.cpu().numpy()[rows]
    out: Tensor | None = None
    for part in batches_longest_first(lengths, batch):
        index = torch.from_numpy(rows[part]).to(DEVICE)
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=not exact and (CUDA or isinstance(network, Teacher))):
            logits = network(*tokens.batch(index, int(lengths[part].max()))).float()
        out = logits.new_empty(len(rows), logits.shape[1]) if out is None else out
        out[torch.from_numpy(part.copy()).to(DEVICE)] = logits
    assert out is not None
    return out


def answer(bench: Bench, targets: Targets, head: str, rows: np.ndarray, weight: float) -> None:
    """Set hard answers; a rare yes to the rarest question counts more, by the root of how rare it is."""
    gold = bench.label(head, rows)
    rows, gold = rows[gold >= 0], gold[gold >= 0]
    counts = np.bincount(gold).clip(1)
    rare = (counts.max() / counts) ** 0.5 if head == "misogynistic.de" else np.ones(len(counts))
    share = torch.from_numpy((weight * rare[gold]).astype(np.float32))
    targets.answer(head, torch.from_numpy(rows), torch.from_numpy(gold), share)


def english_targets(bench: Bench) -> Targets:
    """Return what is known of English posts and of GermEval's."""
    targets = Targets.empty(HEADS, len(bench.corpus))
    for head in HEAD_LIST:
        if head.kind == "one":
            answer(bench, targets, head.name, bench.english, SHARE.get(head.name, 1.0))
    for head in ("aux.offence", "aux.kind"):
        answer(bench, targets, head, bench.germeval, 1.0)
    return targets.to(DEVICE)


def thin(mask: Tensor, most: float) -> Tensor:
    """Return a mask in which each post lost some of its pieces, but few of them where it is short."""
    chance = torch.rand(len(mask), 1, device=mask.device) * most
    kept = torch.rand(mask.shape, device=mask.device) >= chance
    return mask * (kept | (mask.sum(1, keepdim=True) < 5)).long()


def plan(args: argparse.Namespace) -> Schedule:
    large = args.step in ("english", "writer", "cv")
    return Schedule(
        epochs=args.epochs, rate=args.rate, head_rate=args.head_rate, average=args.average, weight_decay=0.01,
        precision="bf16" if large or (CUDA and args.step == "distil") else "fp32", seconds=args.seconds,
    )  # fmt: skip


def teacher(args: argparse.Namespace, start: str = "") -> Teacher:
    """Return the language model with heads and new thin layers; `start` names what it learnt before."""
    torch.manual_seed(args.seed)
    network = Teacher(Qwen(args.keep, DEVICE, args.layers), sum(head.labels for head in HEADS))
    if start:
        take(network, load_file(args.keep / f"{start}.safetensors", device=str(DEVICE)))
        with torch.no_grad():  # what GermEval calls an offence and EDOS sexist is where our two questions start
            for head, like in (("hate.de", "aux.offence"), ("misogynistic.de", "sexist")):
                network.out.weight[COLUMNS[head]] = network.out.weight[COLUMNS[like]]
                network.out.bias[COLUMNS[head]] = network.out.bias[COLUMNS[like]]
    for layer in network.body.adapted():
        layer.adapt(args.rank)
    return network


def take(network: nn.Module, state: dict[str, Tensor]) -> None:
    """Load thin layers and heads, and fold the layers into the matrices."""
    for name, layer in network.named_modules():
        if hasattr(layer, "fold"):
            layer.down, layer.up = (nn.Parameter(state[f"{name}.{it}"].float()) for it in ("down", "up"))
            layer.fold()
    network.out.load_state_dict({it: state[f"out.{it}"].float() for it in ("weight", "bias")})


def learn(
    network: nn.Module, tokens: Tokens, targets: Targets, rows: np.ndarray, args: argparse.Namespace, bench: Bench
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
    bench = Bench(args.keep, "english")
    network, tokens = teacher(args), bench.tokens("qwen")
    spread = np.random.default_rng(args.seed).random(len(bench.english))
    known = np.isin(bench.corpus[bench.english], ("gender",))
    crowd = np.isin(bench.corpus[bench.english], ("davidson", "founta2018", "kennedy2020"))
    rows = bench.english[~known & (~crowd | (spread < 0.4))]
    learn(network, tokens, english_targets(bench), np.concatenate([rows, *[bench.germeval] * 2]), args, bench)
    save_file({k: v.detach().half().cpu() for k, v in network.named_parameters()}, args.keep / "english.safetensors")
    bench.tell(judge(bench, network, tokens))


def judge(bench: Bench, network: nn.Module, tokens: Tokens) -> dict[str, float]:
    """Return how well a network does on English dev, and on GMHP7k without having seen it (nothing is chosen by it)."""
    found = {}
    for head, corpus in (("hate", "dynahate"), ("hate", "hatemojibuild"), ("sexist", "edos")):
        rows = np.flatnonzero((bench.corpus == corpus) & bench.dev)[:1500]
        if len(rows):
            pick = read(network, tokens, rows)[:, COLUMNS[head]].argmax(1).cpu().numpy()
            found[corpus] = float((pick == bench.label(head, rows)).mean())
    logits = read(network, tokens, bench.ours).cpu().numpy()
    for head, gold in (("hate", "hate.de"), ("aux.offence", "hate.de"), ("sexist", "misogynistic.de")):
        block = logits[:, COLUMNS[head]]
        found[f"zero {head}"] = auroc(bench.label(gold, bench.ours), block[:, 1] - block[:, 0])
    return found


def writer(args: argparse.Namespace) -> None:
    """Teach a copy of the language model to write German posts, let it write, and keep what is new."""
    bench = Bench(args.keep, "writer")
    words = Words.open(args.keep)
    flat, lengths = read_tokens(args.keep / "qwen.tokens")
    ends = np.cumsum(lengths, dtype=np.int64)
    first = np.flatnonzero(bench.german)
    after = len(words.after)
    rows = [[*flat[ends[i] - lengths[i] : ends[i] - after].tolist(), *words.end] for i in first]
    tokens = Tokens.of(rows, 0, DEVICE)
    network = teacher(args).body
    sizes = np.array([len(row) for row in rows])
    # GMHP7k's posts are what we are asked about, so they are read twice as often.
    often = np.concatenate([np.arange(len(rows)), np.flatnonzero(bench.corpus[first] == "gmhp7k")])

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return batches_by_length(rng.permutation(often), sizes, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        ids, mask = tokens.batch(torch.from_numpy(batch).to(DEVICE), int(sizes[batch].max()))
        said = F.linear(network(ids[:, :-1]), network.words).float()
        each = F.cross_entropy(said.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(said.shape[:2])
        each = each * mask[:, 1:]
        return each[:, len(words.before) - 1 :].sum() / mask[:, len(words.before) :].sum()

    Loop(network, plan(args), batches, loss, seed=args.seed, tell=bench.tell).run()
    for layer in network.adapted():
        layer.fold()
    network.eval()
    sources = args.keep / "gmhp7k.txt"
    texts = new_posts(bench, network, words, args, sources.read_text("utf-8").split("\n"))
    (args.keep / "made.txt").write_text("\n".join(texts), encoding="utf-8")
    write_tokens(args.keep / "made-qwen.tokens", words.asked(texts))
    pieces = Tokenizer.from_file(str(args.keep / "tokenizer.json"))
    write_tokens(args.keep / "made-use.tokens", encode(pieces, [prepare_text(text, STEPS) for text in texts]))
    bench.tell({"kept": len(texts)})


def shingles(text: str) -> set[str]:
    """Return the runs of words that tell a text; all of it where it is short."""
    words = [word for word in "".join(c if c.isalnum() else " " for c in text.lower()).split() if word != "user"]
    return {" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))}


def new_posts(bench: Bench, network: Qwen, words: Words, args: argparse.Namespace, sources: list[str]) -> list[str]:
    """Return written posts that say something, once each, and that repeat no GMHP7k post."""
    known = set().union(*(shingles(plain(text)) for text in sources))
    kept: dict[str, None] = {}
    written = 0
    torch.manual_seed(args.seed)
    started = time.monotonic()
    while len(kept) < args.posts and time.monotonic() - started < args.write_seconds:
        ids = write(network, words.before, args.at_once, args.longest, words.end[0], args.warmth)
        for row in ids.cpu().tolist():
            text = words.text(row)
            written += 1
            if len(text.split()) > 2 and not shingles(text) & known and "�" not in text:
                kept[text] = None
    bench.tell({"written": written, "new": len(kept), "seconds": time.monotonic() - started})
    return list(kept)


def base(args: argparse.Namespace) -> None:
    """Teach the sentence encoder English hate, offence and sexism, and GermEval."""
    bench = Bench(args.keep, "base")
    network = student(bench, args.seed, 0.1)
    network.encoder.words.weight.requires_grad_(False)  # else the languages would drift apart
    tokens = bench.tokens("use")
    rows = bench.english[bench.corpus[bench.english] != "gender"]
    learn(network, tokens, english_targets(bench), np.concatenate([rows, *[bench.germeval] * 2]), args, bench)
    save_file({k: v.detach().cpu() for k, v in network.state_dict().items()}, args.keep / "base.safetensors")
    bench.tell(judge(bench, network, tokens))


def student(bench: Bench, seed: int, dropout: float) -> Reader:
    """Return the small network as it starts."""
    torch.manual_seed(seed)
    use = dict(np.load(bench.keep / "use.npz"))
    vocab = [str(it) for it in use.pop("vocab")]
    table = torch.from_numpy(use.pop("table").astype(np.float32) * float(use.pop("scale")))
    use.pop("german")
    return small(use, table, HEADS, Grams(vocab), dropout).to(DEVICE)


def cv(args: argparse.Namespace) -> None:
    """Train a teacher without a fold (`all`: with every post); write its opinion of all posts."""
    bench = Bench(args.keep, args.name)
    label = args.folds
    fold = FOLDS if label == "all" else int(label)
    known, held = bench.ours[bench.fold != fold], bench.ours[bench.fold == fold]
    network, tokens = teacher(args, "english"), bench.tokens("qwen")
    targets = Targets.empty(HEADS, len(bench.corpus))
    for head in ("hate.de", "misogynistic.de"):
        answer(bench, targets, head, known, 1.0)
    for head in ("aux.offence", "aux.kind"):
        answer(bench, targets, head, bench.germeval, 0.3)
    learn(network, tokens, targets.to(DEVICE), np.concatenate([known, bench.germeval]), args, bench)
    for layer in network.body.adapted():
        layer.fold()
    if len(held):
        logits = read(network, tokens, held)[:, LAST].cpu().numpy()
        np.savez(args.keep / f"oof-{args.name}-{label}.npz", rows=held, logits=logits)
        bench.tell({"fold": label} | figures(bench, held, logits))
    rows = bench.pool(len(tokens))
    logits = read(network, tokens, rows)[:, LAST].half().cpu().numpy()
    np.savez(args.keep / f"opinion-{args.name}-{label}.npz", rows=rows, logits=logits)
    bench.tell({"done": label})


def opinions(bench: Bench, names: list[str], label: str) -> tuple[np.ndarray, Tensor]:
    """Return the rows that teachers have an opinion of, and their mean logits."""
    parts = [dict(np.load(bench.keep / f"opinion-{name}-{label}.npz")) for name in names]
    mean = np.mean([part["logits"].astype(np.float32) for part in parts], axis=0)
    return parts[0]["rows"], torch.from_numpy(mean).to(DEVICE)


def softened(logits: Tensor) -> Tensor:
    """Return a teacher's probabilities for each question, side by side."""
    return torch.cat([logits[:, _own(head)].softmax(1) for head in ASKED], dim=1)


def _own(head: str) -> slice:
    return slice(COLUMNS[head].start - LAST.start, COLUMNS[head].stop - LAST.start)


def either(one: Tensor, other: Tensor) -> Tensor:
    """Return the chances of two posts read as one: no only where both are a no."""
    mixed = one.clone()
    for head in ("hate.de", "misogynistic.de", "aux.offence"):
        no = _own(head).start
        mixed[:, no] = one[:, no] * other[:, no]
        mixed[:, no + 1] = 1 - mixed[:, no]
    return mixed


def distil(args: argparse.Namespace) -> None:
    """Distil without a fold (`all`: with every post); write the network, and its logits for what was held out."""
    bench = Bench(args.keep, args.name)
    label = args.folds
    fold = FOLDS if label == "all" else int(label)
    known, held = bench.ours[bench.fold != fold], bench.ours[bench.fold == fold]
    tokens = bench.tokens("use")
    lengths = tokens.lengths.cpu().numpy()
    rows, logits = opinions(bench, args.teachers.split(","), label)
    soft = torch.zeros(len(tokens), logits.shape[1], device=DEVICE)
    soft[torch.from_numpy(rows).to(DEVICE)] = softened(logits)
    gold = Targets.empty(HEADS, len(tokens))
    for head in ("hate.de", "misogynistic.de"):
        answer(bench, gold, head, known, 1.0)
    gold = gold.to(DEVICE)
    more = rows[~np.isin(rows, np.concatenate([bench.ours, bench.germeval]))]
    own = np.concatenate([known, bench.germeval])
    network = student(bench, args.seed, 0.3)
    network.load_state_dict(load_file(args.keep / "base.safetensors", device=str(DEVICE)))
    with torch.no_grad():
        linear = network.out.linear
        for head, like in (("hate.de", "aux.offence"), ("misogynistic.de", "sexist")):
            linear.weight[COLUMNS[head]] = linear.weight[COLUMNS[like]]
            linear.bias[COLUMNS[head]] = linear.bias[COLUMNS[like]]
    dice = np.random.default_rng(args.seed)

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        parts = [known, own, rng.choice(more, min(args.more, len(more)), replace=False)]
        return batches_by_length(rng.permutation(np.concatenate(parts)), lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        index = torch.from_numpy(batch).to(DEVICE)
        ids, mask = tokens.batch(index, int(lengths[batch].max()))
        wanted, mixed = soft[index], dice.random() < args.mix
        if mixed:
            others = dice.choice(own, len(batch))
            second = torch.from_numpy(others).to(DEVICE)
            other = tokens.batch(second, int(lengths[others].max()))
            ids, mask = torch.cat([ids, other[0]], 1)[:, :120], torch.cat([mask, other[1]], 1)[:, :120]
            wanted = either(wanted, soft[second])
        said = network(ids, thin(mask, args.thin)).float()
        value = said.new_zeros(())
        for head, weight in ASKED.items():
            each = (wanted[:, _own(head)] * F.log_softmax(said[:, COLUMNS[head]], 1)).sum(1)
            value = value - weight * each.mean()
        if not mixed:
            value = value + args.hard * masked_loss(said, gold.values[index], gold.weights[index], HEADS)
        return value

    Loop(network, plan(args), batches, loss, seed=args.seed).run()
    save_trimmed(bench, network, args.keep / f"{args.name}-{label}.safetensors")
    if len(held):
        said = read(network, tokens, held, exact=True)[:, LAST].cpu().numpy()
        np.savez(args.keep / f"oof-{args.name}-{label}.npz", rows=held, logits=said)
        bench.tell({"fold": label} | figures(bench, held, said))
    bench.tell({"done": label})


def save_trimmed(bench: Bench, reader: Reader, path: Path) -> None:
    """Write a small network with the German pieces and heads alone."""
    kept = int(np.load(bench.keep / "use.npz")["german"])
    state = {k: v.detach().float().cpu() for k, v in reader.state_dict().items()}
    state["encoder.words.weight"] = state["encoder.words.weight"][:kept]
    state |= {f"out.linear.{name}": state[f"out.linear.{name}"][LAST] for name in ("weight", "bias")}
    save_file({k: v.contiguous().clone() for k, v in state.items()}, path)


def figures(bench: Bench, rows: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """Return AUROC and the best macro-F1 over thresholds, for a first look only."""
    found = {}
    for i, head in enumerate(("hate.de", "misogynistic.de")):
        gold, odds = bench.label(head, rows), logits[:, 2 * i + 1] - logits[:, 2 * i]
        best = max(macro_f1(gold, (odds >= cut).astype(int)) for cut in np.linspace(-4, 3, 71))
        found |= {f"{head} auc": auroc(gold, odds), f"{head} f1": best}
    return found


def auroc(gold: np.ndarray, score: np.ndarray) -> float:
    """Return the chance that a yes scores above a no."""
    ranks = score.argsort().argsort() + 1
    yes = gold == 1
    return float((ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / max(1, yes.sum() * (~yes).sum()))


def macro_f1(gold: np.ndarray, pick: np.ndarray) -> float:
    """Return the mean of the F1 of no and of yes."""
    both = [2 * ((gold == k) & (pick == k)).sum() / max(1, (gold == k).sum() + (pick == k).sum()) for k in (0, 1)]
    return float(np.mean(both))


def total(args: argparse.Namespace) -> None:
    """Print the figures of each variant over all folds that are there, and of the mean of those that have all."""
    bench = Bench(args.keep, "total")
    names = sorted({path.stem.removeprefix("oof-").rpartition("-")[0] for path in args.keep.glob("oof-*-?.npz")})
    whole = []
    for name in names:
        parts = [dict(np.load(path)) for path in sorted(args.keep.glob(f"oof-{name}-?.npz"))]
        rows, logits = (np.concatenate([part[key] for part in parts]) for key in ("rows", "logits"))
        bench.tell({"variant": name, "n": len(rows)} | figures(bench, rows, logits))
        if len(rows) == len(bench.ours):
            whole.append(logits[rows.argsort()])
            np.savez(args.to / f"oof-{name}.npz", rows=bench.ours, logits=whole[-1])
    if len(whole) > 1:
        bench.tell({"variant": f"mean of {len(whole)}"} | figures(bench, bench.ours, np.mean(whole, axis=0)))


def pack(args: argparse.Namespace) -> None:
    """Write small networks packed, so that they travel: those called `--name`, of these folds."""
    for path in [args.keep / f"{args.name}-{label}.safetensors" for label in args.folds.split(",")]:
        state = {k: v.float().numpy() for k, v in load_file(path).items()}
        (args.to / f"{path.stem}.npz").write_bytes(packing.pack(state, {}))


def parser() -> argparse.ArgumentParser:
    """Return the options of all steps."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("step", choices=JOBS)
    found.add_argument("--keep", type=Path, required=True)
    found.add_argument("--to", type=Path, default=Path())
    for name, value in (("name", ""), ("folds", "all"), ("teachers", "teacher")):
        found.add_argument(f"--{name}", default=value)
    for name, number in (("seed", 1), ("epochs", 3), ("batch", 64), ("rank", 32), ("more", 25_000)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, number in (("posts", 45_000), ("at-once", 2048), ("longest", 80), ("write-seconds", 150)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, real in (("rate", 1e-4), ("head-rate", 1e-3), ("average", 0.99), ("warmth", 1.0)):
        found.add_argument(f"--{name}", type=float, default=real)
    for name, real in (("thin", 0.25), ("mix", 0.15), ("hard", 0.3)):
        found.add_argument(f"--{name}", type=float, default=real)
    found.add_argument("--layers", type=int, help="use so many layers of the language model only")
    found.add_argument("--seconds", type=float)
    return found


JOBS = {"unpack": lambda args: unpack(args.keep), "english": english, "writer": writer, "base": base}
JOBS |= {"cv": cv, "distil": distil, "total": total, "pack": pack}


def main() -> None:
    """Run one step."""
    args = parser().parse_args()
    torch.set_float32_matmul_precision("high")
    JOBS[args.step](args)


if __name__ == "__main__":
    main()
