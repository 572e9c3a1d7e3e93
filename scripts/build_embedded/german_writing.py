"""German texts that the language model writes: posts, translations, short sentences about groups.

Posts and the language model in; `made.txt` with its tokens out, each text once, and the post that each translates. The
writer has seen GMHP7k's texts, so what repeats one of them is thrown away.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import torch
import torch.nn.functional as F
from german import BEFORE_SENTENCE, FRAME, HERE, STEPS, Swaps
from german_bench import DEVICE, GermanBench, plan
from german_teachers import teacher
from qwen import Qwen, write
from qwen_words import Words, encode, plain, read_tokens, shingles, write_tokens
from tokenizers import Tokenizer
from torch import Tensor

from davy.detectors.token_batches import prepare_text
from davy.training.data import Tokens, batches_by_length
from davy.training.loop import Loop

TRANSLATED = {"hatemojibuild": 5000, "dynahate": 22_000, "edos": 7000}
MOST_TRANSLATED = 48
"""Longer English posts, in tokens, are not translated."""
GOES_ON = re.compile(r"\b(?:English|German|Gruppe|Ton|Satz):")
"""Where the language model goes on with the next example."""
Prompts = dict[tuple[str, int], list[tuple[int, list[int]]]]
"""Kind and length → the post to translate (-1: none) and the prompt."""


def unframed(keep: Path, words: Words) -> Callable[[int], list[int]]:
    """Return what gives a post's own tokens by its row, without what stands before and after it."""
    flat, lengths = read_tokens(keep / "qwen.tokens")
    ends = np.cumsum(lengths, dtype=np.int64)
    front, back = len(words.before), len(words.after)
    return lambda row: flat[ends[row] - lengths[row] + front : ends[row] - back].tolist()


def writer(args: argparse.Namespace) -> None:
    """Teach a copy of the language model to write German posts and sentences, let it write, and keep what is new."""
    bench = GermanBench(args.keep, "writer")
    words = Words.open(args.keep, *FRAME)
    own = unframed(args.keep, words)
    starts = {-1: words.before} | {k: words.ids(text) for k, text in enumerate(BEFORE_SENTENCE)}
    posts = np.flatnonzero(bench.german & ~bench.dev & (bench.corpus != "plain"))
    kinds = np.where(bench.corpus[posts] == "gahd", bench.label("hate.de", posts), -1)
    network = teacher(args).body
    rows = [[*starts[int(kind)], *own(post), *words.end] for post, kind in zip(posts, kinds, strict=True)]
    learn_by_heart(bench, network, rows, len(words.before), args)
    sources = (args.keep / "gmhp7k.txt").read_text("utf-8").split("\n")
    texts = new_posts(bench, network, words, list(starts.values()), args, sources)
    (args.keep / "written.txt").write_text("\n".join(texts), encoding="utf-8")


def learn_by_heart(
    bench: GermanBench, network: Qwen, rows: list[list[int]], given: int, args: argparse.Namespace
) -> None:
    """Teach the language model to write these tokens; the first `given` of each row are there already."""
    tokens, sizes = Tokens.of(rows, 0, DEVICE), np.array([len(row) for row in rows])

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return batches_by_length(rng.permutation(len(rows)), sizes, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        ids, mask = tokens.batch(torch.from_numpy(batch).to(DEVICE), int(sizes[batch].max()))
        said = F.linear(network(ids[:, :-1]), network.words).float()
        each = F.cross_entropy(said.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(said.shape[:2])
        return (each * mask[:, 1:])[:, given - 1 :].sum() / mask[:, given:].sum()

    Loop(network, plan(args), batches, loss, seed=args.seed, tell=bench.tell).run()
    for layer in network.adapted():
        layer.fold()
    network.eval()


def new_posts(
    bench: GermanBench,
    network: Qwen,
    words: Words,
    starts: list[list[int]],
    args: argparse.Namespace,
    sources: list[str],
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
    bench = GermanBench(args.keep, "compose")
    words, rng = Words.open(args.keep, *FRAME), np.random.default_rng(args.seed)
    network = Qwen(args.keep, DEVICE, args.layers).eval()
    newlines = [i for i, token in enumerate(words.kept) if "\n" in words.tokenizer.decode([token])]
    ends, shown = torch.tensor(newlines, device=DEVICE), examples()
    asked = prompts(bench, words, shown, args.each, rng)
    same = {"translate": len(words.ids(f"{shown['translate']}English:")), "write": len(words.ids(shown["write"]))}
    found: dict[str, int] = {}
    written, started = 0, time.monotonic()
    for kind, length in in_order(bench, asked, rng):
        if time.monotonic() - started > args.write_seconds:
            break
        rows = asked[kind, length]
        for start in range(0, len(rows), args.at_once):
            part = rows[start : start + args.at_once]
            given = torch.tensor([prompt for _, prompt in part], device=DEVICE)
            warmth = 0.35 if kind == "translate" else args.warmth
            out = write(network, given, args.longest, ends, warmth, shared=same[kind])
            for (source, _), row in zip(part, out.cpu().tolist(), strict=True):
                text = GOES_ON.split(words.text(row))[0].strip()
                written += 1
                if len(text.split()) > 1 and "\ufffd" not in text and text not in shown["write"]:
                    found.setdefault(text, source)
    keep_composed(bench, found)
    translated = sum(source >= 0 for source in found.values())
    bench.tell({"written": written, "kept": len(found), "translated": translated, "prompts": len(asked)})


def prompts(bench: GermanBench, words: Words, shown: dict[str, str], each: int, rng: np.random.Generator) -> Prompts:
    """Return what to translate and, `each` times, which group to write about in which tone; prompts of one length."""
    found: Prompts = defaultdict(list)
    own = unframed(bench.keep, words)
    before, after = words.ids(f"{shown['translate']}English:"), words.ids("\nGerman:")
    for post in chosen_to_translate(bench, read_tokens(bench.keep / "qwen.tokens")[1], rng):
        prompt = [*before, *own(post), *after]
        found["translate", len(prompt)].append((int(post), prompt))
    for group in Swaps().groups:
        for tone in (HERE / "german_tones.txt").read_text("utf-8").splitlines():
            prompt = words.ids(f"{shown['write']}Gruppe: {group[0]} | Ton: {tone} | Satz:")
            found["write", len(prompt)] += [(-1, prompt)] * each
    return found


def in_order(bench: GermanBench, asked: Prompts, rng: np.random.Generator) -> list[tuple[str, int]]:
    """Return the keys of prompts so that both kinds are there when time is up, and what judges comes early."""
    early = {key for key, rows in asked.items() if any(bench.dev[post] for post, _ in rows if post >= 0)}
    return sorted(asked, key=lambda key: (rng.random() * (0.5 if key in early else 1), key))


def keep_composed(bench: GermanBench, found: dict[str, int]) -> None:
    """Write the texts and the post that each translates (-1: none)."""
    if not any(bench.dev[source] for source in found.values() if source >= 0):
        raise SystemExit("No dev post was translated, and these judge type and target. Give more --write-seconds.")
    np.savez(bench.keep / "composed.npz", source=np.array(list(found.values()), dtype=np.int64))
    (bench.keep / "composed.txt").write_text("\n".join(found), encoding="utf-8")


def chosen_to_translate(bench: GermanBench, lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
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
    bench = GermanBench(args.keep, "gather")
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
