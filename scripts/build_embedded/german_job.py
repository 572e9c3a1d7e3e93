"""The German detector on a GPU: teachers grown from a language model, posts that it writes, and the small network.

    python german_job.py bridge              the English detector's body learns to read multilingual pieces
    python german_job.py unpack              the language model's weights, ready to load
    python german_job.py english             it learns to find hate in English posts, and offence in GermEval
    python german_job.py writer              a copy learns German posts by heart and writes new ones
    python german_job.py compose             it translates English posts and writes short sentences about groups
    python german_job.py gather              what was written, once each, some about other groups; as tokens
    python german_job.py cv --folds 0        a teacher that has not seen a fold, and its opinion of all posts
    python german_job.py distil --folds 0    the small network learns from that teacher
    python german_job.py total | mean        figures over all folds | the mean of small networks, packed to travel

Every step reads and writes `--keep`, where `german.py` put its files. `--folds` is a fold of GMHP7k, or `all`: with a
fold, its posts, GAHD's dev and GermEval's test part are kept from every network. The writer has seen GMHP7k's texts,
so what repeats one of them is thrown away.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import weights as packing
from german import BEFORE_SENTENCE, FRAME, HERE, STEPS, Swaps, folds
from german_nets import GERMAN, WIDTH, English, Grams, Reader, body_of, small
from job import HEAD_LIST, SHARE
from qwen import Qwen, Teacher, take, unpack, write
from qwen_words import Words, encode, plain, read_tokens, shingles, write_tokens
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from davy.models.network import columns_of
from davy.models.text_steps import prepare_text
from davy.train.data import Targets, Tokens, batches_by_length, batches_longest_first
from davy.train.loop import Loop, Schedule
from davy.train.losses import masked_loss

HEADS = (*HEAD_LIST, *GERMAN)
KIND = {head.name: head.kind for head in HEADS}
COLUMNS = columns_of(HEADS)
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
ASKED = {"hate.de": 1.0, "misogynistic.de": 1.0, "aux.offence": 0.5, "aux.kind": 0.2}
ASKED |= {"type": 0.3, "target": 0.1, "sexist": 0.5}
"""What the small network learns from its teacher, and how much each counts."""
MEANT = ("hate.de", "misogynistic.de")
PLAIN = 5000
"""How many of the plain sentences a teacher learns from; they are alike."""
BINARY = ("hate.de", "misogynistic.de", "aux.offence", "sexist")
LIKE = {"hate.de": "hate", "misogynistic.de": "sexist", "aux.offence": "offensive"}
"""Where German questions start from English ones."""
LENT = {"hatemojibuild": 4500, "dynahate": 8000, "edos": 4000, "guest": 1500, "davidson": 1000}
"""How many English posts of each corpus the small network learns from, too."""
TRANSLATED = {"hatemojibuild": 5000, "dynahate": 22_000, "edos": 7000}
MOST_TRANSLATED = 48
"""Longer English posts, in tokens, are not translated."""
GOES_ON = re.compile(r"\b(?:English|German|Gruppe|Ton|Satz):")
"""Where the language model goes on with the next example."""
POSITIONS = 128
PART = 14_000_000
FOLLOWED = 192
"""How many directions of the teacher's last state the small network learns to tell."""


@dataclass
class GermanJob:
    """What every step shares."""

    keep: Path
    name: str

    def __post_init__(self) -> None:
        self.posts = dict(np.load(self.keep / "posts.npz"))
        self.corpus, self.dev = self.posts["corpus"], self.posts["dev"]
        self.german = np.isin(self.corpus, ("gmhp7k", "germeval", "gahd", "plain"))
        self.ours, self.germeval, self.gahd, self.plain = (
            np.flatnonzero(self.corpus == it) for it in ("gmhp7k", "germeval", "gahd", "plain")
        )
        self.english = np.flatnonzero(~self.german & ~self.dev)
        self.fold = folds(*(self.posts[f"label.{it}"][self.ours] for it in ("hate.de", "misogynistic.de")))
        self.source = np.zeros(0, dtype=np.int64)
        if (self.keep / "made.npz").is_file():
            self._know_made()
        self.started = time.monotonic()

    def _know_made(self) -> None:
        """Give what was translated the labels of its source; what was written has none."""
        self.source = np.load(self.keep / "made.npz")["source"]
        hateful = np.isin(self.corpus, ("dynahate", "hatemojibuild"))
        for name in [it for it in self.posts if it.startswith("label.")]:
            given = self.posts[name]
            if name == "label.hate.de":
                given = np.where(hateful, self.posts["label.hate"][: len(hateful)], -1)
            more = np.where(self.source >= 0, given[self.source], -1).astype(np.int8)
            self.posts[name] = np.concatenate([self.posts[name], more])
        for name in ("target", "target_asked"):
            there = self.source >= 0
            more = self.posts[name][self.source]
            more[~there] = False
            self.posts[name] = np.concatenate([self.posts[name], more])

    @property
    def judging(self) -> np.ndarray:
        """Which made texts translate English dev posts: nothing learns from them, they judge type and target."""
        return (self.source >= 0) & self.dev[self.source]

    @property
    def translated(self) -> np.ndarray:
        return len(self.corpus) + np.flatnonzero((self.source >= 0) & ~self.judging)

    def known(self, label: str) -> dict[str, np.ndarray]:
        """Return the posts whose labels a run may know, by corpus."""
        if label == "all":
            return {"gmhp7k": self.ours, "gahd": self.gahd, "germeval": self.germeval, "plain": self.plain}
        rest = {"plain": self.plain}
        rest |= {"gahd": self.gahd[~self.dev[self.gahd]], "germeval": self.germeval[~self.dev[self.germeval]]}
        return {"gmhp7k": self.ours[self.fold != int(label)]} | rest

    def held(self, label: str) -> np.ndarray:
        """Return the posts that a run is judged on."""
        known = np.concatenate(list(self.known(label).values()))
        return np.setdiff1d(np.flatnonzero(self.german), known)

    def tell(self, record: dict[str, Any]) -> None:
        line = json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()})
        print(f"{self.name} {time.monotonic() - self.started:.0f}s {line}", flush=True)

    def label(self, head: str, rows: np.ndarray) -> np.ndarray:
        return self.posts[f"label.{head}"][rows].astype(np.int64)

    def tokens(self, name: str) -> Tokens:
        """Return all posts' tokens on the device: those of the corpora, then those that were written."""
        flat, sizes = read_tokens(self.keep / f"{name}.tokens")
        sizes = sizes[: len(self.corpus)]
        parts = [(flat[: int(sizes.sum(dtype=np.int64))], sizes)]
        if (self.keep / "made.npz").is_file():
            parts.append(read_tokens(self.keep / f"made-{name}.tokens"))
        return on_device(parts)

    def pool(self) -> np.ndarray:
        """Return the rows that teachers give their opinion of: German, some English, and written ones."""
        rng = np.random.default_rng(7)
        lent = []
        for corpus, most in LENT.items():
            rows = self.english[self.corpus[self.english] == corpus]
            lent.append(rng.permutation(rows)[:most])
        made = len(self.corpus) + np.flatnonzero(~self.judging)
        return np.concatenate([np.flatnonzero(self.german), *lent, made])


def on_device(parts: list[tuple[np.ndarray, np.ndarray]]) -> Tokens:
    flat = np.concatenate([part[0] for part in parts]).astype(np.int32)
    sizes = np.concatenate([part[1] for part in parts]).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return Tokens(*(torch.from_numpy(a).to(DEVICE) for a in (flat, starts, sizes)), 0)


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


def answer(bench: GermanJob, targets: Targets, head: str, rows: np.ndarray, weight: float) -> None:
    """Set hard answers; a rare yes to the rarest question counts more, by the root of how rare it is."""
    gold = bench.label(head, rows)
    rows, gold = rows[gold >= 0], gold[gold >= 0]
    counts = np.bincount(gold).clip(1)
    rare = (counts.max() / counts) ** 0.5 if head == "misogynistic.de" else np.ones(len(counts))
    share = torch.from_numpy((weight * rare[gold]).astype(np.float32))
    targets.answer(head, torch.from_numpy(rows), torch.from_numpy(gold), share)


def english_targets(bench: GermanJob) -> Targets:
    """Return what is known of English posts and of GermEval's."""
    targets = Targets.empty(HEADS, len(bench.corpus))
    for head in HEAD_LIST:
        if head.kind == "one":
            answer(bench, targets, head.name, bench.english, SHARE.get(head.name, 1.0))
    answer_targets(bench, targets, bench.english, SHARE["target"])
    for head in ("aux.offence", "aux.kind"):
        answer(bench, targets, head, bench.germeval[~bench.dev[bench.germeval]], 1.0)
    return targets.to(DEVICE)


def answer_targets(bench: GermanJob, targets: Targets, rows: np.ndarray, weight: float) -> None:
    """Set who is hated, where that is known."""
    rows = rows[bench.posts["target_asked"][rows]]
    targets.answer("target", torch.from_numpy(rows), torch.from_numpy(bench.posts["target"][rows]), weight)


def thin(mask: Tensor, most: float) -> Tensor:
    """Return a mask in which each post lost some of its pieces, but few of them where it is short."""
    chance = torch.rand(len(mask), 1, device=mask.device) * most
    kept = torch.rand(mask.shape, device=mask.device) >= chance
    return mask * (kept | (mask.sum(1, keepdim=True) < 5)).long()


def plan(args: argparse.Namespace) -> Schedule:
    large = args.step in ("english", "writer", "cv")
    return Schedule(
        epochs=args.epochs, rate=args.rate, head_rate=args.head_rate, average=args.average, weight_decay=0.01,
        precision="bf16" if large or CUDA else "fp32", seconds=args.seconds,
    )  # fmt: skip


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
    network: nn.Module, tokens: Tokens, targets: Targets, rows: np.ndarray, args: argparse.Namespace, bench: GermanJob
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
    bench = GermanJob(args.keep, "english")
    network, tokens = teacher(args), bench.tokens("qwen")
    spread = np.random.default_rng(args.seed).random(len(bench.english))
    crowd = np.isin(bench.corpus[bench.english], ("davidson", "founta2018", "kennedy2020"))
    rows = bench.english[~crowd | (spread < 0.35)]
    german = bench.germeval[~bench.dev[bench.germeval]]
    learn(network, tokens, english_targets(bench), np.concatenate([rows, german, german]), args, bench)
    save_file({k: v.detach().half().cpu() for k, v in network.named_parameters()}, args.keep / "english.safetensors")
    bench.tell(judge(bench, network, tokens))


def judge(bench: GermanJob, network: nn.Module, tokens: Tokens) -> dict[str, float]:
    """Return how well a network does on English dev, and on GMHP7k without having seen it (nothing is chosen by it)."""
    found = {}
    for head, corpus in (("hate", "dynahate"), ("hate", "hatemojibuild"), ("sexist", "edos")):
        rows = np.flatnonzero((bench.corpus == corpus) & bench.dev)[:1500]
        if len(rows):
            pick = read(network, tokens, rows)[:, COLUMNS[head]].argmax(1).cpu().numpy()
            found[corpus] = float((pick == bench.label(head, rows)).mean())
    like = {"hate.de": "hate", "misogynistic.de": "sexist"}
    for rows, asked in ((bench.ours, MEANT), (bench.gahd[bench.dev[bench.gahd]], MEANT[:1])):
        logits = read(network, tokens, rows).cpu().numpy()
        for gold in asked:
            no, yes = logits[:, COLUMNS[like[gold]]].T
            found[f"zero {gold} {bench.corpus[rows[0]]}"] = auroc(bench.label(gold, rows), yes - no)
    return found


def writer(args: argparse.Namespace) -> None:
    """Teach a copy of the language model to write German posts and sentences, let it write, and keep what is new."""
    bench = GermanJob(args.keep, "writer")
    words = Words.open(args.keep, *FRAME)
    flat, lengths = read_tokens(args.keep / "qwen.tokens")
    ends = np.cumsum(lengths, dtype=np.int64)
    starts = {-1: words.before} | {k: words.ids(text) for k, text in enumerate(BEFORE_SENTENCE)}
    first = np.flatnonzero(bench.german & ~bench.dev & (bench.corpus != "plain"))
    kind = np.where(bench.corpus[first] == "gahd", bench.label("hate.de", first), -1)
    front, back = len(words.before), len(words.after)
    rows = [
        [*starts[int(k)], *flat[ends[i] - lengths[i] + front : ends[i] - back].tolist(), *words.end]
        for i, k in zip(first, kind, strict=True)
    ]
    tokens = Tokens.of(rows, 0, DEVICE)
    network = teacher(args).body
    sizes = np.array([len(row) for row in rows])

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return batches_by_length(rng.permutation(len(rows)), sizes, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        ids, mask = tokens.batch(torch.from_numpy(batch).to(DEVICE), int(sizes[batch].max()))
        said = F.linear(network(ids[:, :-1]), network.words).float()
        each = F.cross_entropy(said.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(said.shape[:2])
        return (each * mask[:, 1:])[:, front - 1 :].sum() / mask[:, front:].sum()

    Loop(network, plan(args), batches, loss, seed=args.seed, tell=bench.tell).run()
    for layer in network.adapted():
        layer.fold()
    network.eval()
    sources = (args.keep / "gmhp7k.txt").read_text("utf-8").split("\n")
    texts = new_posts(bench, network, words, list(starts.values()), args, sources)
    (args.keep / "written.txt").write_text("\n".join(texts), encoding="utf-8")


def new_posts(
    bench: GermanJob, network: Qwen, words: Words, starts: list[list[int]], args: argparse.Namespace, sources: list[str]
) -> list[str]:
    """Return written posts that say something, once each, and that repeat no GMHP7k post."""
    known = set().union(*(shingles(plain(text)) for text in sources))
    kept: dict[str, None] = {}
    written = 0
    torch.manual_seed(args.seed)
    started = time.monotonic()
    ends = torch.tensor(words.end, device=DEVICE)
    while len(kept) < args.posts and time.monotonic() - started < args.write_seconds:
        start = torch.tensor([starts[written // args.at_once % len(starts)]] * args.at_once, device=DEVICE)
        for row in write(network, start, args.longest, ends, args.warmth).cpu().tolist():
            text = words.text(row)
            written += 1
            if len(text.split()) > 2 and not shingles(text) & known and "\ufffd" not in text:
                kept[text] = None
    bench.tell({"written": written, "new": len(kept), "seconds": time.monotonic() - started})
    return list(kept)


def examples() -> dict[str, str]:
    """Return what the language model is shown before it translates, and before it writes a sentence."""
    text = (HERE / "german_examples.txt").read_text("utf-8")
    parts = [tuple(part.split("\n", 1)) for part in text.split("== ")[1:]]
    return dict(parts)


def compose(args: argparse.Namespace) -> None:
    """Translate English posts, and write short sentences about groups in several manners."""
    bench = GermanJob(args.keep, "compose")
    words = Words.open(args.keep, *FRAME)
    network = Qwen(args.keep, DEVICE, args.layers).eval()
    newline = torch.tensor([i for i, token in enumerate(words.kept) if "\n" in words.tokenizer.decode([token])])
    newline = newline.to(DEVICE)
    shown, rng = examples(), np.random.default_rng(args.seed)
    groups, tones = Swaps().groups, (HERE / "german_tones.txt").read_text("utf-8").splitlines()
    before, after = words.ids(f"{shown['translate']}English:"), words.ids("\nGerman:")
    flat, lengths = read_tokens(args.keep / "qwen.tokens")
    ends = np.cumsum(lengths, dtype=np.int64)
    front, back = len(words.before), len(words.after)
    jobs: dict[tuple[str, int], list[tuple[int, list[int]]]] = defaultdict(list)
    for i in chosen_to_translate(bench, lengths, rng):
        prompt = [*before, *flat[ends[i] - lengths[i] + front : ends[i] - back].tolist(), *after]
        jobs["translate", len(prompt)].append((int(i), prompt))
    for group in groups:
        for tone in tones:
            prompt = words.ids(f"{shown['write']}Gruppe: {group[0]} | Ton: {tone} | Satz:")
            jobs["write", len(prompt)] += [(-1, prompt)] * args.each
    same = {"translate": len(before), "write": len(words.ids(shown["write"]))}
    found: dict[str, int] = {}
    examples_shown = shown["write"]
    # Both kinds are there when time is up, and what judges comes early.
    early = {key for key, rows in jobs.items() if any(bench.dev[i] for i, _ in rows if i >= 0)}
    order = sorted(jobs, key=lambda it: (rng.random() * (0.5 if it in early else 1), it))
    written, started = 0, time.monotonic()
    for key in order:
        if time.monotonic() - started > args.write_seconds:
            break
        rows = jobs[key]
        for start in range(0, len(rows), args.at_once):
            part = rows[start : start + args.at_once]
            prompts = torch.tensor([prompt for _, prompt in part], device=DEVICE)
            warmth = 0.35 if key[0] == "translate" else args.warmth
            out = write(network, prompts, args.longest, newline, warmth, shared=same[key[0]])
            for (source, _), row in zip(part, out.cpu().tolist(), strict=True):
                text = GOES_ON.split(words.text(row))[0].strip()
                written += 1
                if len(text.split()) > 1 and "\ufffd" not in text and text not in examples_shown:
                    found.setdefault(text, source)
    if not any(bench.dev[source] for source in found.values() if source >= 0):
        raise SystemExit(
            "compose translated no dev post, and these judge type and target. Give it more --write-seconds."
        )
    np.savez(args.keep / "composed.npz", source=np.array(list(found.values()), dtype=np.int64))
    (args.keep / "composed.txt").write_text("\n".join(found), encoding="utf-8")
    translated = sum(source >= 0 for source in found.values())
    bench.tell({"written": written, "kept": len(found), "translated": translated, "prompts": len(jobs)})


def chosen_to_translate(bench: GermanJob, lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows of short English posts: those of dev whose type is known, and training posts, sexist ones first."""
    short = lengths[: len(bench.corpus)] <= MOST_TRANSLATED
    found = [np.flatnonzero(bench.dev & short & (bench.posts["label.type"][: len(bench.corpus)] >= 0))]
    for corpus, most in TRANSLATED.items():
        rows = rng.permutation(bench.english[(bench.corpus[bench.english] == corpus) & short[bench.english]])
        if corpus == "edos":
            rows = rows[np.argsort(-bench.label("sexist", rows), kind="stable")]
        found.append(rows[:most])
    return np.concatenate(found)


def gather(args: argparse.Namespace) -> None:
    """Write everything that was written as tokens, each text once, with some about another group."""
    bench = GermanJob(args.keep, "gather")
    found = dict.fromkeys((args.keep / "written.txt").read_text("utf-8").split("\n"), -1)
    composed = (args.keep / "composed.txt").read_text("utf-8").split("\n")
    for text, source in zip(composed, np.load(args.keep / "composed.npz")["source"], strict=True):
        found.setdefault(text, int(source))
    rng, swaps = Random(args.seed), Swaps()
    learnt = [text for text, source in found.items() if source < 0 or not bench.dev[source]]
    whole = [*(args.keep / "gahd.txt").read_text("utf-8").split("\n") * 3, *learnt]
    more = {swaps.swapped(text, rng): -1 for text in whole}
    more.pop(None, None)
    picked = rng.sample(sorted(more), min(args.swaps, len(more)))
    for text in picked:
        found.setdefault(text, -1)
    texts = list(found)
    write_tokens(args.keep / "made-qwen.tokens", Words.open(args.keep, *FRAME).asked(texts))
    pieces = Tokenizer.from_file(str(args.keep / "tokenizer.json"))
    write_tokens(args.keep / "made-use.tokens", encode(pieces, [prepare_text(text, STEPS) for text in texts]))
    np.savez(args.keep / "made.npz", source=np.array(list(found.values()), dtype=np.int64))
    (args.keep / "made.txt").write_text("\n".join(texts), encoding="utf-8")
    bench.tell({"kept": len(texts), "swapped": len(picked)})


def body_weights(keep: Path) -> dict[str, Tensor]:
    given, _ = packing.unpack((keep / "body.npz").read_bytes())
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in given.items()}


def student(bench: GermanJob, seed: int, dropout: float) -> Reader:
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
    bench = GermanJob(args.keep, "bridge")
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


def each_fold(step: Callable[[argparse.Namespace, str], None]) -> Callable[[argparse.Namespace], None]:
    """Return a step that does this for every fold of `--folds`."""

    def steps(args: argparse.Namespace) -> None:
        for label in args.folds.split(","):
            step(args, label)

    return steps


def cv(args: argparse.Namespace, label: str) -> None:
    """Train a teacher without a fold (`all`: with every post); write its opinion of all posts."""
    bench = GermanJob(args.keep, args.name)
    known, held = bench.known(label), bench.held(label)
    network, tokens = teacher(args, "english"), bench.tokens("qwen")
    agreed = agreeing(bench, network, tokens)
    bench.tell({"translated": len(bench.translated), "agreed": len(agreed)})
    agreed = np.random.default_rng(args.seed).permutation(agreed)[: args.more]
    targets = Targets.empty(HEADS, len(tokens))
    some = np.random.default_rng(args.seed).permutation(known["plain"])[:PLAIN]
    for rows, heads in ((known["gmhp7k"], MEANT), (known["gahd"], ("hate.de",)), (some, MEANT)):
        for head in heads:
            answer(bench, targets, head, rows, 1.0)
    for head, weight in (("aux.offence", 0.5), ("aux.kind", 0.2)):
        answer(bench, targets, head, known["germeval"], weight)
    for head in ("hate.de", "type", "sexist"):
        answer(bench, targets, head, agreed, 0.5)
    answer_targets(bench, targets, agreed, 0.25)
    learnt = [rows for corpus, rows in known.items() if corpus != "plain"]
    learn(network, tokens, targets.to(DEVICE), np.concatenate([*learnt, some, agreed]), args, bench)
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


def agreeing(bench: GermanJob, network: Teacher, tokens: Tokens) -> np.ndarray:
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


def opinions(bench: GermanJob, names: list[str], label: str) -> tuple[np.ndarray, Tensor, Tensor]:
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


def distil(args: argparse.Namespace, label: str) -> None:
    """Distil without a fold (`all`: with every post); write the network, and its logits for what was held out."""
    bench = GermanJob(args.keep, args.name)
    known = bench.known(label)
    tokens = bench.tokens("use")
    lengths = tokens.lengths.cpu().numpy()
    rows, logits, states = opinions(bench, args.of.split(","), label)
    place = torch.full((len(tokens),), -1, device=DEVICE)
    place[torch.from_numpy(rows).to(DEVICE)] = torch.arange(len(rows), device=DEVICE)
    soft = softened(logits)
    states = (states - states.mean(0)) / states.std(0).clamp(min=1e-3)
    gold = Targets.empty(HEADS, len(tokens))
    for corpus, heads in (
        ("gmhp7k", MEANT),
        ("gahd", ("hate.de",)),
        ("germeval", ("aux.offence",)),
        ("plain", (*MEANT, "aux.offence")),
    ):
        for head in heads:
            answer(bench, gold, head, known[corpus], 1.0)
    gold = gold.to(DEVICE)
    own = np.concatenate(list(known.values()))
    more = np.setdiff1d(rows, np.flatnonzero(bench.german))
    network = student(bench, args.seed, args.dropout)
    state = load_file(args.keep / "bridge.safetensors", device=str(DEVICE))
    network.encoder.load_state_dict(network.encoder.state_dict() | state)
    if args.start:
        take_trimmed(network, load_file(args.keep / f"{args.start}-{label}.safetensors", device=str(DEVICE)))
    network.follow = nn.Linear(1024 + WIDTH, FOLLOWED, device=DEVICE)
    dice = np.random.default_rng(args.seed)
    often = np.concatenate(
        [np.tile(known["gmhp7k"], args.passes), *(known[it] for it in ("gahd", "germeval", "plain"))]
    )

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        parts = [often, rng.choice(more, min(args.more, len(more)), replace=False)]
        return batches_by_length(rng.permutation(np.concatenate(parts)), lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        index = torch.from_numpy(batch).to(DEVICE)
        ids, mask = tokens.batch(index, int(lengths[batch].max()))
        if dice.random() < args.mix:
            others = dice.choice(own, len(batch))
            second = torch.from_numpy(others).to(DEVICE)
            other = tokens.batch(second, int(lengths[others].max()))
            ids, mask = torch.cat([ids, other[0]], 1)[:, :120], torch.cat([mask, other[1]], 1)[:, :120]
            said = network(ids, thin(mask, args.thin)).float()
            return soft_loss(said, either(soft[place[index]], soft[place[second]]), BINARY)
        said, vector = network.read(ids, thin(mask, args.thin))
        said = said.float()
        value = soft_loss(said, soft[place[index]], list(ASKED))
        value = value + args.follow * (network.follow(vector).float() - states[place[index]]).square().mean()
        return value + args.hard * masked_loss(said, gold.values[index], gold.weights[index], HEADS)

    Loop(network, plan(args), batches, loss, seed=args.seed, tell=bench.tell).run()
    save_trimmed(bench, network, args.keep / f"{args.name}-{label}.safetensors")
    tell_held(bench, network, tokens, args.name, label)
    bench.tell({"done": label})


def tell_held(bench: GermanJob, network: Reader, tokens: Tokens, name: str, label: str) -> None:
    """Write a small network's logits for what was held out, and say how good they are."""
    held = bench.held(label)
    if len(held):
        said = read(network, tokens, held, exact=True).cpu().numpy()
        np.savez(bench.keep / f"oof-{name}-{label}.npz", rows=held, logits=said)
        bench.tell({"fold": label} | figures(bench, held, said))


def save_trimmed(bench: GermanJob, reader: Reader, path: Path) -> None:
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
    bench = GermanJob(args.keep, args.name)
    tokens = bench.tokens("use")
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


def figures(bench: GermanJob, rows: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """Return AUROC and the best macro-F1 over thresholds of each corpus and question, for a first look only."""
    found = {}
    asked = (("gmhp7k", "hate.de"), ("gmhp7k", "misogynistic.de"), ("gahd", "hate.de"), ("germeval", "aux.offence"))
    for corpus, head in asked:
        these = bench.corpus[rows] == corpus
        if these.any():
            block = logits[these][:, COLUMNS[head]].astype(np.float64)
            gold, odds = bench.label(head, rows[these]), block[:, 1] - block[:, 0]
            best = max(macro_f1(gold, (odds >= cut).astype(int)) for cut in np.linspace(-4, 3, 71))
            found |= {f"{corpus} {head} auc": auroc(gold, odds), f"{corpus} {head} f1": best}
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
    """Print the figures of each variant over the folds that are there, a fold's GAHD and GermEval beside another's."""
    bench = GermanJob(args.keep, "total")
    for name in sorted({path.stem.removeprefix("oof-").rpartition("-")[0] for path in args.keep.glob("oof-*-?.npz")}):
        parts = [dict(np.load(path)) for path in sorted(args.keep.glob(f"oof-{name}-?.npz"))]
        rows, logits = (np.concatenate([part[key] for part in parts]) for key in ("rows", "logits"))
        bench.tell({"variant": name, "n": len(rows)} | figures(bench, rows, logits))


def parser() -> argparse.ArgumentParser:
    """Return the options of all steps."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("step", choices=JOBS)
    found.add_argument("--keep", type=Path, required=True)
    for name, value in (("name", ""), ("folds", "all"), ("of", "teacher"), ("start", "")):
        found.add_argument(f"--{name}", default=value)
    for name, number in (("seed", 1), ("epochs", 3), ("batch", 64), ("rank", 32), ("more", 25_000)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, number in (("posts", 90_000), ("at-once", 2048), ("longest", 80), ("write-seconds", 150)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, real in (("rate", 1e-4), ("head-rate", 1e-3), ("average", 0.99), ("warmth", 1.0)):
        found.add_argument(f"--{name}", type=float, default=real)
    for name, number in (("each", 30), ("swaps", 40_000), ("passes", 2)):
        found.add_argument(f"--{name}", type=int, default=number)
    for name, real in (("thin", 0.15), ("mix", 0.1), ("hard", 0.3), ("follow", 0.5), ("dropout", 0.2)):
        found.add_argument(f"--{name}", type=float, default=real)
    found.add_argument("--layers", type=int, help="use so many layers of the language model only")
    found.add_argument("--seconds", type=float)
    return found


JOBS = {"bridge": bridge, "unpack": lambda args: unpack(args.keep), "english": english, "writer": writer}
JOBS |= {
    "compose": compose,
    "gather": gather,
    "cv": each_fold(cv),
    "distil": each_fold(distil),
    "total": total,
    "mean": mean,
}


def main() -> None:
    """Run one step."""
    args = parser().parse_args()
    torch.set_float32_matmul_precision("high")
    JOBS[args.step](args)


if __name__ == "__main__":
    main()
