"""What the networks that ship learn on from: tokens and labels of posts, packed to travel to a GPU.

    python learn_on_data.py english --data DIR --folder DIR [--weights DIR] --out DIR [--small]
    python learn_on_data.py german --data DIR --folder DIR --out DIR [--small]

`--folder` is the shipped detector, whose tokenizer cuts the posts. `--weights` holds MiniLM (`minilm`) and the table of
emoji (`package`), for the copies with emoji and look-alikes and for networks that start anew. Without it there are no
copies, but all of Reddit's posts: enough for a cascade. Writes `NAME.npz.xz`.
"""

from __future__ import annotations

import argparse
import lzma
from pathlib import Path
from random import Random

import lexicon as words
import numpy as np
import vocabulary
import weights as packing
from augment import rewrite
from corpora import TARGETS, Post
from english_sentences import sentences
from exit_states import held_posts
from german import gahd, germeval, gmhp7k
from german_sentences import person_sentences
from german_sentences import sentences as german_sentences
from offence import ATTRIBUTES, attributes_of, germeval2021, offensive_of, olid
from prepare import COPIES, POOL_COPIES, _hate
from tokenizers import Tokenizer

from davy.detectors import folder as folders
from davy.detectors.token_batches import prepare_text

MOST = 128
HEADS = {
    "english": ("hate", "type", "sexist", "category", "vector"),
    "german": ("hate", "misogynistic"),
}
GERMAN_NAMES = {"hate": "hate.de", "misogynistic": "misogynistic.de"}
REDDIT = {"gender": 60_000, "top": 130_000}
PARTS = ("train", "dev", "copy", "pool")


def english(args: argparse.Namespace) -> None:
    """Pack the English posts and, with `--weights`, rewritten copies and MiniLM with the shipped vocabulary."""
    everything, held, used = held_posts(args.data)
    known = [post for post in everything if post.corpus not in REDDIT]
    posts = [*known, *olid(args.data), *sentences()]
    apart = np.concatenate([held[: len(known)], np.zeros(len(posts) - len(known), dtype=bool)])
    rng = np.random.default_rng(4)
    reddit = []
    for name, most in REDDIT.items():
        its = np.flatnonzero([post.corpus == name for post in everything])
        its = its[used[its]]
        reddit += sorted(rng.choice(its, min(most, len(its)) if args.weights else len(its), replace=False))
    if not args.weights:
        whole = [*posts, *(everything[i] for i in reddit)]
        parts = [*(post.part for post in posts), *("pool" for _ in reddit)]
        write(args, "english", whole, parts, np.concatenate([apart, held[reddit]]), np.zeros(0, int))
        return
    table = vocabulary.emoji_names(args.weights / "package/en/cldr/data.json")
    train = [post for post in posts if post.part == "train"]
    if args.small:
        posts, apart, reddit = posts[:: args.small], apart[:: args.small], reddit[:: args.small]
    lexicon = words.make(table, train, args.weights / "minilm", args.out / "lexicon.json")
    more, origin = copies(posts, lexicon, Random(7))
    whole = [*posts, *more, *(everything[i] for i in reddit)]
    apart = np.concatenate([apart, np.zeros(len(more), dtype=bool), held[reddit]])
    parts = [*(post.part for post in posts), *("copy" for _ in more), *("pool" for _ in reddit)]
    write(args, "english", whole, parts, apart, origin)
    tokenizer = Tokenizer.from_file(str(args.folder / "tokenizer.json"))
    emoji = vocabulary.emoji_tokens(table)
    special = {token: token for token in ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")}
    rows = vocabulary.sources(tokenizer, args.weights / "minilm/tokenizer.json", emoji, special)
    data = packing.pack(*packing.with_vocabulary(args.weights / "minilm", rows))
    (args.out / "minilm.npz").write_bytes(data)


def copies(posts: list[Post], lexicon, rng: Random) -> tuple[list[Post], np.ndarray]:
    """Return rewritten copies of training posts with their answers, and the place of each original."""
    made, origin = [], []
    for i, post in enumerate(posts):
        each = COPIES.get(post.corpus, 1) + POOL_COPIES.get(post.corpus, 0) if post.corpus != "plain" else 0
        for _ in range(each if post.part == "train" else 0):
            text = rewrite(post.text, _hate(post), lexicon, rng)
            if text:
                made.append(Post(text, post.corpus, "copy", post.answers, post.key))
                origin.append(i)
    return made, np.array(origin)


def german(args: argparse.Namespace) -> None:
    """Pack the German posts."""
    posts = [*gmhp7k(args.data), *gahd(args.data), *germeval(args.data), *germeval2021(args.data)]
    posts += [*german_sentences(), *person_sentences()]
    posts = posts[:: args.small] if args.small else posts
    for post in posts:
        for name, key in GERMAN_NAMES.items():
            if key in post.answers:
                post.answers[name] = post.answers[key]
    write(args, "german", posts, [post.part for post in posts], np.zeros(len(posts), dtype=bool), np.zeros(0, int))


def write(
    args: argparse.Namespace, name: str, posts: list[Post], parts: list[str], apart: np.ndarray, origin: np.ndarray
) -> None:
    """Write tokens and labels of posts."""
    language, lists = name[:2] if name == "english" else "de", args.data / "lexicons"
    steps = tuple(folders.read(args.folder).settings.get("prepare", ()))
    tokenizer = Tokenizer.from_file(str(args.folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = [prepare_text(" ".join(post.text.split()) or ".", steps) for post in posts]
    rows = []
    for start in range(0, len(texts), 20_000):
        for encoding in tokenizer.encode_batch_fast(texts[start : start + 20_000]):
            ids = encoding.ids
            rows.append(np.array(ids if len(ids) <= MOST else ids[: MOST - 32] + ids[-32:], dtype=np.uint16))
    corpora = sorted({post.corpus for post in posts})
    target = np.zeros((len(posts), len(TARGETS)), dtype=bool)
    for i, post in enumerate(posts):
        target[i, post.answers.get("target", [])] = True
    labels = {head: np.array([post.answers.get(head, [-1])[0] for post in posts], np.int8) for head in HEADS[name]}
    labels["offensive"] = np.array([offensive_of(post) for post in posts], np.int8)
    first = len(posts) - len(origin) - sum(part == "pool" for part in parts)
    attributes = np.full((len(posts), len(ATTRIBUTES)), -1, np.int8)
    for i, post in enumerate(posts):
        if parts[i] == "copy":  # a word that is spelt with emoji is still that word
            attributes[i] = attributes[origin[i - first]]
        elif parts[i] != "pool":
            attributes[i] = attributes_of(post, language, lists)
    out = {
        "flat": np.concatenate(rows), "lengths": np.array([len(row) for row in rows], np.uint8),
        "corpus": np.array([corpora.index(post.corpus) for post in posts], np.int8), "corpora": np.array(corpora),
        "part": np.array([PARTS.index(part) for part in parts], np.int8), "apart": apart,
        "target": np.packbits(target, axis=1), "asked": np.array(["target" in post.answers for post in posts]),
        "attributes": attributes, **{f"label.{head}": column for head, column in labels.items()},
    }  # fmt: skip
    np.savez(args.out / "plain.npz", **out)
    packed = lzma.compress((args.out / "plain.npz").read_bytes(), preset=4)
    (args.out / "plain.npz").unlink()
    (args.out / f"{name}.npz.xz").write_bytes(packed)
    print(name, len(posts), "posts,", int(out["lengths"].astype(int).sum()), "tokens,", len(packed) // 1000, "kB")
    for head, column in labels.items():
        print(head, np.unique(column, return_counts=True))
    for place, attribute in enumerate(ATTRIBUTES):
        print(attribute, np.unique(attributes[:, place], return_counts=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=HEADS)
    for option in ("--data", "--folder", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--small", type=int, default=0, help="one post in so many, to try the job on a CPU")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    {"english": english, "german": german}[args.language](args)


if __name__ == "__main__":
    main()
