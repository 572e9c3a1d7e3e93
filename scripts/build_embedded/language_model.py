"""The language model as one more teacher of the English detectors, and as a writer of posts like those they fail on.

    python language_model.py pack --qwen FILE    before the GPU: the model without tokens that no post has, in parts
    python language_model.py unpack              its weights, ready to load
    python language_model.py tokens              every post as its tokens
    python language_model.py teacher             thin layers and heads learn every corpus at once
    python language_model.py writer              a copy learns training posts by heart and writes new ones
    python language_model.py gather              what was written, as tokens of both
    python language_model.py opinions            its probabilities, the posts nearest to the corpora first

Every step reads and writes `--keep`, where `prepare.py` put its files. A written text that repeats a dev post or is a
case of our suites is thrown away.
"""

from __future__ import annotations

import argparse
import lzma
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from job import COPY, DEV, DEVICE, HEAD_LIST, POOL, TRAIN, Bench, encoded, hard_targets, judge, teacher_order
from qwen import Qwen, Teacher, unpack, write
from qwen_words import Words, encode, pack, plain, refuse_another, shingles
from safetensors.torch import load_file, save_file
from torch import Tensor

from davy.detectors.network import probabilities
from davy.training.data import Tokens, batches_by_length, batches_longest_first
from davy.training.fit import masked_loss
from davy.training.loop import Loop, Schedule

FRAME = "Post:", "\nHate:"
STARTS = {
    ("dynahate", 0): "Post without hate:",
    ("dynahate", 1): "Post with hate:",
    ("hatemojibuild", 0): "Post with emoji, without hate:",
    ("hatemojibuild", 1): "Post with emoji, with hate:",
    ("edos", 0): "Comment about women, not sexist:",
    ("edos", 1): "Comment about women, sexist:",
}
"""What the writer reads before a post of a corpus and label, and what it goes on from."""


def texts_of(keep: Path) -> list[str]:
    return lzma.decompress((keep / "texts.xz").read_bytes()).decode("utf-8").split("\n")


def packed(args: argparse.Namespace) -> None:
    """Write the model in parts that travel, and what a written text must not repeat."""
    from patterns import plain_text, suite_cases

    bench, texts = Bench(args.keep, "pack"), texts_of(args.keep)
    if not args.any_model:
        refuse_another(args.qwen)
    near = [text for text, part in zip(texts, bench.part, strict=True) if part in (TRAIN, COPY, DEV)]
    far = [text for text, part in zip(texts, bench.part, strict=True) if part == POOL][::5]
    pack(args.qwen, (*FRAME, *STARTS.values()), [near, far], args.keep, layers=args.layers)
    dev = [text for text, part in zip(texts, bench.part, strict=True) if part == DEV]
    known = set().union(*(shingles(plain(text)) for text in dev)) | {plain_text(it.text) for it in suite_cases("en")}
    (args.keep / "not-written.xz").write_bytes(lzma.compress("\n".join(sorted(known)).encode("utf-8")))


def token_file(keep: Path, name: str, rows: list[list[int]]) -> None:
    flat = np.concatenate([np.asarray(row, dtype=np.uint16) for row in rows])
    np.savez(keep / f"{name}.npz", flat=flat, lengths=np.array([len(row) for row in rows], dtype=np.uint8))


def tokens(args: argparse.Namespace) -> None:
    """Write every post as the language model's tokens."""
    bench, words = Bench(args.keep, "language-tokens"), Words.open(args.keep, *FRAME)
    token_file(args.keep, "language-tokens", words.asked(texts_of(args.keep)))
    bench.tell({"posts": len(bench.part)})


def adapted(args: argparse.Namespace) -> Teacher:
    """Return the language model with heads and new thin layers."""
    torch.manual_seed(args.seed)
    network = Teacher(Qwen(args.keep, DEVICE, args.layers), sum(head.labels for head in HEAD_LIST))
    for layer in network.body.adapted():
        layer.adapt(args.rank)
    return network


def plan(args: argparse.Namespace, average: float) -> Schedule:
    return Schedule(
        epochs=args.epochs, rate=args.rate, head_rate=1e-3, average=average, weight_decay=0.01, precision="bf16",
        seconds=args.seconds,
    )  # fmt: skip


@torch.inference_mode()
def read(network: Teacher, store: Tokens, rows: np.ndarray, until: float = float("inf")) -> tuple[np.ndarray, Tensor]:
    """Return how many of some posts were read before the clock said `until`, as their places, and their logits."""
    network.eval()
    lengths = store.lengths.cpu().numpy()
    done, found = [], []
    for start in range(0, len(rows), 65_536):  # within a part from long to short, the parts in their order
        if time.monotonic() > until:
            break
        part = rows[start : start + 65_536]
        for batch in batches_longest_first(lengths[part], 512):
            index = torch.from_numpy(part[batch]).to(DEVICE)
            with torch.autocast(DEVICE.type, torch.bfloat16):
                found.append(network(*store.batch(index, int(lengths[part[batch]].max()))).float())
            done.append(part[batch])
    return np.concatenate(done), torch.cat(found)


def teacher(args: argparse.Namespace) -> None:
    """Teach the language model every corpus at once, and write what it learnt."""
    bench = Bench(args.keep, "language-teacher")
    network, store = adapted(args), bench.tokens("language-tokens")
    targets = hard_targets(bench, natural=0.2).to(DEVICE)
    lengths = store.lengths.cpu().numpy()

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return batches_by_length(teacher_order(bench, rng, 0.5), lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        index = torch.from_numpy(batch).to(DEVICE)
        said = network(*store.batch(index, int(lengths[batch].max())))
        return masked_loss(said, targets.values[index], targets.weights[index], HEAD_LIST)

    Loop(network, plan(args, 0.998), batches, loss, seed=args.seed, tell=bench.tell).run()
    state = {k: v.detach().half().cpu() for k, v in network.named_parameters()}
    save_file(state, args.keep / "language-teacher.safetensors")
    rows, logits = read(network, store, np.flatnonzero(bench.part == DEV))
    bench.tell(judge(bench, logits, rows))


def writer(args: argparse.Namespace) -> None:
    """Teach a copy of the language model to write posts of each corpus and label, and let it write."""
    bench, words = Bench(args.keep, "writer"), Words.open(args.keep, *FRAME)
    texts = texts_of(args.keep)
    rows, sizes = [], []
    starts = [words.ids(text) for text in STARTS.values()]
    for (corpus, label), start in zip(STARTS, starts, strict=True):
        asked = bench.posts["label.sexist" if corpus == "edos" else "label.hate"]
        these = np.flatnonzero((bench.part == TRAIN) & (bench.corpus == corpus) & (asked == label))
        for row in encode(words.tokenizer, [f" {plain(texts[i])}" for i in these]):
            rows.append([*start, *(words.place[i] for i in row if i in words.place), *words.end])
            sizes.append(len(start))
    store, before = Tokens.of(rows, 0, DEVICE), torch.tensor(sizes, device=DEVICE)
    lengths = store.lengths.cpu().numpy()
    body = adapted(args).body

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return batches_by_length(rng.permutation(len(rows)), lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> Tensor:
        index = torch.from_numpy(batch).to(DEVICE)
        ids, mask = store.batch(index, int(lengths[batch].max()))
        said = F.linear(body(ids[:, :-1]), body.words).float()
        each = F.cross_entropy(said.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(said.shape[:2])
        place = torch.arange(1, ids.shape[1], device=DEVICE)
        counted = mask[:, 1:] * (place >= before[index][:, None])
        return (each * counted).sum() / counted.sum()

    Loop(body, plan(args, 0.99), batches, loss, seed=args.seed, tell=bench.tell).run()
    for layer in body.adapted():
        layer.fold()
    body.eval()
    kept, written = new_posts(body, words, starts, args)
    bench.tell({"written": written, "new": len(kept), "seconds": args.write_seconds})
    (args.keep / "written.txt").write_text("\n".join(kept), encoding="utf-8")


def new_posts(body: Qwen, words: Words, starts: list[list[int]], args: argparse.Namespace) -> tuple[list[str], int]:
    """Return written posts that say something, once each, and how many were written."""
    known = set(lzma.decompress((args.keep / "not-written.xz").read_bytes()).decode("utf-8").split("\n"))
    kept: dict[str, None] = {}
    torch.manual_seed(args.seed)
    ends, written = torch.tensor(words.end, device=DEVICE), 0
    until = time.monotonic() + args.write_seconds
    turns = [0, 1, 2, 3, 0, 1, 4, 5, 2, 3]  # the corpora of adversarial rounds more often
    while time.monotonic() < until:
        start = torch.tensor([starts[turns[written // args.at_once % len(turns)]]] * args.at_once, device=DEVICE)
        for row in write(body, start, args.longest, ends, args.warmth).cpu().tolist():
            text = words.text(row)
            written += 1
            if len(text.split()) > 2 and "\ufffd" not in text and not shingles(text) & known:
                kept[text] = None
    return list(kept), written


def gather(args: argparse.Namespace) -> None:
    """Write what was written as tokens: the students' and the language model's."""
    bench = Bench(args.keep, "gather")
    texts = (args.keep / "written.txt").read_text("utf-8").split("\n")
    token_file(args.keep, "written", list(encoded(args.keep / "tokenizer.json", texts)))
    token_file(args.keep, "language-written", Words.open(args.keep, *FRAME).asked(texts))
    bench.tell({"written": len(texts)})


def opinions(args: argparse.Namespace) -> None:
    """Write the language model's probabilities for as many posts as there is time for."""
    bench = Bench(args.keep, "language-opinions")
    until = time.monotonic() + (args.seconds or float("inf"))
    network = adapted(args)
    state = load_file(args.keep / "language-teacher.safetensors", device=str(DEVICE))
    network.load_state_dict({k: v.float() for k, v in state.items()}, strict=False)
    for layer in network.body.adapted():
        layer.fold()
    names = ["language-tokens", *(["language-written"] if (args.keep / "language-written.npz").is_file() else [])]
    store = bench.tokens(*names)
    first = [np.flatnonzero(bench.part == part) for part in (DEV, TRAIN)]
    first += [np.arange(len(bench.part), len(store)), np.flatnonzero(bench.part == COPY)]
    first += [np.flatnonzero((bench.corpus == it) & (bench.part == POOL)) for it in ("copies", "gender", "mixture")]
    rng = np.random.default_rng(args.seed)
    rows, logits = read(network, store, np.concatenate([rng.permutation(it) for it in first]), until)
    chances = probabilities(logits, HEAD_LIST).half().cpu().numpy()
    np.savez(args.keep / "language-opinions.npz", rows=rows, chances=chances, posts=len(bench.part))
    bench.tell({"read": len(rows), "of": sum(len(it) for it in first)})


STEPS = {"pack": packed, "unpack": lambda args: unpack(args.keep), "tokens": tokens, "teacher": teacher}
STEPS |= {"writer": writer, "gather": gather, "opinions": opinions}


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--qwen", type=Path)
    parser.add_argument("--any-model", action="store_true", help="another language model than the known one will do")
    for name, number in (("seed", 1), ("epochs", 2), ("batch", 64), ("rank", 32), ("at-once", 2048), ("longest", 90)):
        parser.add_argument(f"--{name}", type=int, default=number)
    for name, real in (("rate", 2e-4), ("warmth", 1.0), ("write-seconds", 150.0)):
        parser.add_argument(f"--{name}", type=float, default=real)
    parser.add_argument("--layers", type=int, help="use so many layers of the language model only")
    parser.add_argument("--seconds", type=float)
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    STEPS[args.step](args)


if __name__ == "__main__":
    main()
