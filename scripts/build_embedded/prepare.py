"""Step 1, on any machine: texts, labels, tokenizer and packed base weights for the GPU job.

`python prepare.py --data DATA --weights WEIGHTS --out prepared [--small]`

Writes `texts.xz` (a text a line), `posts.npz` (what each line is), `tokenizer.json`,
`minilm.npz` and `mpnet.npz.0`, `.1` (packed weights in two parts). Everything follows
from the data and the seed.
"""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path
from random import Random

import lexicon as words
import numpy as np
import vocabulary
import weights
from augment import Lexicon, rewrite
from corpora import HEADS, TARGETS, Post, labelled, unlabelled
from english_sentences import judged_apart, sentences

COPIES = {"hatemojibuild": 4, "dynahate": 2, "edos": 2, "davidson": 1, "founta2018": 1, "kennedy2020": 1, "guest": 1}
COPIES |= {"plain": 1}
"""Rewritten copies with the post's own labels, which teachers and students see."""
POOL_COPIES = {"hatemojibuild": 4, "dynahate": 2, "edos": 1}
"""More copies that only the students see, with the teachers' labels."""


def main() -> None:
    """Write everything that the GPU job reads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--small", action="store_true", help="one post in some hundreds, to try the job on a CPU")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    table = vocabulary.emoji_names(args.weights / "package/en/cldr/data.json")
    posts, reddit = labelled(args.data), unlabelled(args.data)
    lexicon = words.make(
        table, [p for p in posts if p.part == "train"], args.weights / "minilm", args.out / "lexicon.json"
    )
    make_encoders(args.weights, args.out, posts, reddit, vocabulary.emoji_tokens(table))
    posts += judged_apart(sentences())
    if args.small:
        posts, reddit = posts[::300], reddit[::2000]
    everything = [
        *posts,
        *copies(posts, lexicon, Random(args.seed)),
        *pool(posts, reddit, lexicon, Random(args.seed + 1)),
    ]
    write_posts(everything, posts, args.out)


def make_encoders(folder: Path, out: Path, posts: list[Post], reddit: list[Post], emoji: dict[str, str]) -> None:
    """Write the tokenizer and both encoders with its vocabulary, unless they are there."""
    if (out / "mpnet.npz.1").is_file():
        return
    base = folder / "minilm/tokenizer.json"
    seen = vocabulary.count_pieces(base, (post.text for post in posts if post.part == "train"))
    wild = vocabulary.count_pieces(base, (post.text for post in reddit))
    vocab = json.loads(base.read_text("utf-8"))["model"]["vocab"]
    keep = {piece for piece, i in vocab.items() if seen[i] >= 3 or wild[i] >= 60}
    tokenizer = vocabulary.build(base, keep, emoji)
    tokenizer.save(str(out / "tokenizer.json"))
    for name, special in (
        ("minilm", {"[CLS]": "[CLS]", "[PAD]": "[PAD]", "[SEP]": "[SEP]", "[UNK]": "[UNK]", "[MASK]": "[MASK]"}),
        ("mpnet", {"[CLS]": "<s>", "[PAD]": "<pad>", "[SEP]": "</s>", "[UNK]": "[UNK]", "[MASK]": "<mask>"}),
    ):
        rows = vocabulary.sources(tokenizer, folder / name / "tokenizer.json", emoji, special)
        data = weights.pack(*weights.with_vocabulary(folder / name, rows))
        if name == "minilm":
            (out / "minilm.npz").write_bytes(data)
        else:
            half = len(data) // 2
            (out / "mpnet.npz.0").write_bytes(data[:half])
            (out / "mpnet.npz.1").write_bytes(data[half:])
        print(name, len(rows), "tokens", len(data) // 1_000_000, "MB packed")


def copies(posts: list[Post], lexicon: Lexicon, rng: Random) -> list[Post]:
    """Return rewritten copies of the training posts under their own labels; `key` leads back to the original."""
    made = []
    for i, post in enumerate(posts):
        if post.part != "train":
            continue
        for _ in range(COPIES[post.corpus]):
            text = rewrite(post.text, _hate(post), lexicon, rng)
            if text:
                made.append(Post(text, post.corpus, "copy", post.answers, str(i)))
    return made


def pool(posts: list[Post], reddit: list[Post], lexicon: Lexicon, rng: Random) -> list[Post]:
    """Return the unlabelled posts that students learn from: Reddit, rewritten Reddit, more copies, and mixtures."""
    made = [Post(post.text, post.corpus, "pool") for post in reddit]
    for post in reddit:
        if rng.random() < 0.25:
            text = rewrite(post.text, None, lexicon, rng, twice=0.3)
            if text:
                made.append(Post(text, "rewritten", "pool"))
    train = [post for post in posts if post.part == "train" and post.corpus in POOL_COPIES]
    for post in train:
        for _ in range(POOL_COPIES[post.corpus]):
            text = rewrite(post.text, _hate(post), lexicon, rng, twice=0.5)
            if text:
                made.append(Post(text, "copies", "pool"))
    for post in rng.sample(train, len(train) // 2):
        other = rng.choice(reddit if rng.random() < 0.5 else train).text
        if len(other) + len(post.text) < 400:
            made.append(
                Post(f"{post.text} {other}" if rng.random() < 0.5 else f"{other} {post.text}", "mixture", "pool")
            )
    return made


def _hate(post: Post) -> int | None:
    answer = post.answers.get("hate") or post.answers.get("sexist")
    return answer[0] if answer else None


def write_posts(everything: list[Post], originals: list[Post], out: Path) -> None:
    """Write one line a text and, beside it, part, corpus, origin and labels."""
    parts = {name: i for i, name in enumerate(("train", "dev", "copy", "pool"))}
    corpora = sorted({post.corpus for post in everything})
    lines = "\n".join(" ".join(post.text.split()) or "." for post in everything)
    (out / "texts.xz").write_bytes(lzma.compress(lines.encode("utf-8", "replace"), preset=6))
    labels = {}
    for head, (kind, _) in HEADS.items():
        if kind == "one":
            labels[head] = np.array([post.answers.get(head, [-1])[0] for post in everything], dtype=np.int8)
    target = np.zeros((len(everything), len(TARGETS)), dtype=bool)
    asked = np.array(["target" in post.answers for post in everything])
    for i, post in enumerate(everything):
        target[i, post.answers.get("target", [])] = True
    np.savez_compressed(
        out / "posts.npz",
        part=np.array([parts[post.part] for post in everything], dtype=np.int8),
        corpus=np.array([corpora.index(post.corpus) for post in everything], dtype=np.int8),
        corpora=np.array(corpora),
        origin=np.array([int(p.key) if p.part == "copy" else i for i, p in enumerate(everything)], dtype=np.int32),
        leaky=leaky(originals, len(everything)),
        target=np.packbits(target, axis=1),
        target_asked=asked,
        **{f"label.{head}": column for head, column in labels.items()},
    )
    print({name: sum(post.part == name for post in everything) for name in parts}, out)


def leaky(posts: list[Post], n: int) -> np.ndarray:
    """Return where a dev post has a twin in train: its matched pair, or four words in five shared."""
    from sklearn.feature_extraction.text import CountVectorizer

    flags = np.zeros(n, dtype=bool)
    bag = (
        CountVectorizer(binary=True, token_pattern=r"\S+")
        .fit_transform([post.text for post in posts])
        .astype(np.float32)
    )
    sizes = np.asarray(bag.sum(axis=1)).ravel()
    train = np.array([i for i, post in enumerate(posts) if post.part == "train"])
    dev = np.array([i for i, post in enumerate(posts) if post.part == "dev"])
    pairs = {posts[i].key for i in train} - {""}
    flags[[i for i in dev if posts[i].key in pairs]] = True
    right = bag[train].T.tocsc()
    for start in range(0, len(dev), 500):
        rows = dev[start : start + 500]
        shared = (bag[rows] @ right).tocoo()
        union = sizes[rows][shared.row] + sizes[train][shared.col] - shared.data
        flags[rows[shared.row[shared.data / union >= 0.8]]] = True
    return flags


if __name__ == "__main__":
    main()
