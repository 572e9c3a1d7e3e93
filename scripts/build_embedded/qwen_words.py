"""What the language model reads and writes: posts as its tokens, only those that posts use, and back.

A GGUF file and texts in; a packed model with a smaller vocabulary and token lists out. German and English frame posts
with words of their own.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import gguf
import numpy as np
import qwen
from tokenizers import Tokenizer

MOST_WORDS = 60_000
LENGTH = 96
SHINGLE = 6
"""A written post that has so many words in a row with another repeats it."""
QWEN = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
ALWAYS = "\n", ".\n", "!\n", "?\n", " @user", " http"


def plain(text: str) -> str:
    """Return a post as the language model reads and writes it: nobody is named, links are only said to be there."""
    text = re.sub(r"(?:https?://|www\.)\S+|\[URL\]", "http", " ".join(text.split()))
    return re.sub(r"(?:(?:@\w+|\[USER\])[\s.,:]*)+", "@user ", text).strip()


def shingles(text: str) -> set[str]:
    """Return the runs of words that tell a text; all of it where it is short."""
    words = [word for word in "".join(c if c.isalnum() else " " for c in text.lower()).split() if word != "user"]
    return {" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))}


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


def pack(path: Path, frames: Iterable[str], texts: list[list[str]], out: Path, *, layers: int | None = None) -> None:
    """Write the language model's tokenizer and its weights without the tokens that no frame and no post has.

    Where there are too many, earlier lists of texts keep theirs. `layers` keeps the first ones only.
    """
    about, tensors = gguf.read(path)
    tokenizer = qwen.tokenizer_of(about)
    tokenizer.save(str(out / "qwen-tokenizer.json"), pretty=False)
    frame = [i for text in (*frames, *ALWAYS) for i in tokenizer.encode(text).ids]
    usual: list[int] = []
    for some in texts:
        counts: Counter[int] = Counter()
        for start in range(0, len(some), 20_000):
            for row in encode(tokenizer, [f" {plain(text)}" for text in some[start : start + 20_000]]):
                counts.update(row)
        usual += [i for i, _ in counts.most_common()]
    kept = list(dict.fromkeys([*frame, *range(min(256, tokenizer.get_vocab_size())), *usual]))[:MOST_WORDS]
    np.save(out / "qwen-kept.npy", np.array(kept, dtype=np.uint32))
    tensors["output.weight"] = tensors["output.weight"].rows(np.array(kept))
    del tensors["token_embd.weight"]  # the same words once more, in fewer bits
    if layers:
        tensors = {k: v for k, v in tensors.items() if not k.startswith("blk.") or int(k.split(".")[1]) < layers}
    qwen.pack(tensors, about, out)
    print(len(kept), "words of", len(about["tokenizer.ggml.tokens"]))


def refuse_another(path: Path) -> None:
    """Stop where a file is not the language model that the shipped detectors learnt from."""
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != QWEN:
            raise SystemExit(f"{path} is not the language model that this was built with.")


class Words:
    """The language model's tokenizer with the tokens that posts use, under new ids; `asked` frames a post."""

    def __init__(self, tokenizer: Tokenizer, kept: list[int], before: str, after: str) -> None:
        self.tokenizer, self.kept = tokenizer, kept
        self.place = {i: n for n, i in enumerate(kept)}
        self.before, self.after = self.ids(before), self.ids(after)
        self.end = self.ids("\n")

    @classmethod
    def open(cls, keep: Path, before: str, after: str) -> Words:
        tokenizer = Tokenizer.from_file(str(keep / "qwen-tokenizer.json"))
        return cls(tokenizer, np.load(keep / "qwen-kept.npy").astype(int).tolist(), before, after)

    def ids(self, text: str) -> list[int]:
        return [self.place[i] for i in self.tokenizer.encode(text).ids if i in self.place]

    def asked(self, texts: list[str]) -> list[list[int]]:
        """Return the tokens of posts between what stands before and after each."""
        rows = encode(self.tokenizer, [f" {plain(text)}" for text in texts])
        return [[*self.before, *(self.place[i] for i in row if i in self.place), *self.after] for row in rows]

    def text(self, ids: list[int]) -> str:
        """Return written tokens as a text, up to the first new line."""
        return " ".join(self.tokenizer.decode([self.kept[i] for i in ids]).split("\n")[0].split())
