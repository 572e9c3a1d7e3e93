"""What a picture shows, as numbers that can be compared: PDQ's 256 bits, and 320 numbers of colours and edges.

An image in; a hash with a quality from 0 to 100, or a vector of length 1, out. Near hashes are copies that were scaled,
packed again or slightly changed. Two vectors' product says how alike pictures look, not what they mean.
All that PDQ does before its median is linear, so blurring twice and thinning out are one weighted sum of few neighbours
a side (`_neighbours`), cached by length. Sums are `einsum`s: matrix products this small are slowed down by the threads
of BLAS when cores are busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

    from davy.image.ocr import OcrLine


BITS = 256
NEAR = 31
"""Bits that may differ; PDQ's authors call pictures at most this far apart the same."""
MIN_QUALITY = 50
"""Below it a picture is too plain for its hash to mean anything, says PDQ's paper."""
_LONGEST = 2048
_GRID = 64
_WAVES = 16


def pdq(image: Image) -> tuple[np.ndarray, int]:
    """Return a picture's hash as 32 bytes, and its quality; of very large ones squares of pixels are averaged first.

    Up to 2,048 pixels a side the bits are those of the library that PDQ's authors published.
    """
    import numpy as np

    if max(image.size) > _LONGEST:
        image = image.convert("RGB").reduce((-(-image.width // _LONGEST), -(-image.height // _LONGEST)))
    luma = np.asarray(image.convert("RGB"), dtype=np.float32) @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    rows, row_weights = _neighbours(luma.shape[0])
    columns, column_weights = _neighbours(luma.shape[1])
    thinned = np.einsum("pk,pkx->px", row_weights, luma[rows])
    thinned = np.einsum("qk,pqk->pq", column_weights, thinned[:, columns])
    waves = np.einsum("wp,pq->wq", _cosines(), thinned)
    waves = np.einsum("vq,wq->wv", _cosines(), waves)
    # The library gives the bits from the last to the first.
    return np.packbits((waves > np.median(waves)).ravel()[::-1]), _quality(thinned)


def distance(one: np.ndarray, other: np.ndarray) -> int:
    """Return in how many bits two hashes differ."""
    import numpy as np

    return int(np.bitwise_count(np.bitwise_xor(one, other)).sum())


def near_pairs(hashes: np.ndarray, most: int = NEAR) -> Iterator[tuple[int, int]]:
    """Yield all pairs (i, j), i < j, of hashes (n × 32 bytes) that differ in at most `most` bits; none is missed.

    All pairs are compared, in blocks, 64 bits at a time: half a second for 10,000 hashes, a hundred times that for ten
    times as many.
    """
    import numpy as np

    words = np.ascontiguousarray(hashes).view(np.uint64)
    block = max(1, 4_000_000 // max(1, len(words)))
    for start in range(0, len(words), block):
        part = words[start : start + block]
        apart = np.zeros((len(part), len(words) - start), dtype=np.uint16)
        for column in range(words.shape[1]):
            apart += np.bitwise_count(part[:, column, None] ^ words[None, start:, column])
        rows, columns = np.nonzero(apart <= most)
        after = columns > rows
        yield from zip((rows[after] + start).tolist(), (columns[after] + start).tolist(), strict=True)


def groups_of(n: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return for each of `n` things the first one that pairs link it to, itself where none does."""
    first = list(range(n))

    def root(thing: int) -> int:
        while first[thing] != thing:
            first[thing] = first[first[thing]]
            thing = first[thing]
        return thing

    for one, other in pairs:
        a, b = sorted((root(one), root(other)))
        first[b] = a
    return [root(thing) for thing in range(n)]


def without_text(image: Image, lines: Iterable[OcrLine] | None = None) -> Image:
    """Return a picture without its text: lines that were read are filled in; with None, the middle is cut out."""
    if lines is None:
        return image.crop((0, round(image.height * 0.25), image.width, max(1, round(image.height * 0.75))))
    from PIL import ImageDraw

    plain = image.convert("RGB")
    draw = ImageDraw.Draw(plain)
    for line in lines:
        left, top, right, bottom = line.box
        grown = 0.15 * (bottom - top)
        area = (left - grown, top - grown, right + grown, bottom + grown)
        around = image.crop((area[0], area[1] - 4 * grown, area[2], area[3] + 4 * grown))
        draw.rectangle(area, fill=around.convert("RGB").resize((1, 1)).getpixel((0, 0)))
    return plain


@lru_cache(maxsize=1024)
def _neighbours(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each of 64 points of a side which places PDQ's two box blurs mix into it, and how much of each."""
    import numpy as np

    full = (length + 2 * _GRID - 1) // (2 * _GRID)
    half = (full + 2) // 2
    places = np.arange(length)
    starts, ends = np.clip(places + half - full, 0, None), np.clip(places + half, None, length)
    points = ((np.arange(_GRID) + 0.5) * length / _GRID).astype(int)
    once = (starts[points, None] <= places) & (places < ends[points, None])
    weights = once / once.sum(axis=1, keepdims=True) / (ends - starts)
    # Each place spreads its weight over its own box: steps up at the start, down at the end, then their sum.
    steps = np.zeros((_GRID, length + 1))
    rows = np.arange(_GRID)[:, None]
    np.add.at(steps, (rows, starts[None]), weights)
    np.add.at(steps, (rows, ends[None]), -weights)
    matrix = steps.cumsum(axis=1)[:, :length]
    used = matrix > 1e-12
    most = int(used.sum(axis=1).max())
    columns = np.minimum(used.argmax(axis=1), length - most)[:, None] + np.arange(most)
    return columns, np.take_along_axis(matrix, columns, axis=1).astype(np.float32)


@lru_cache(maxsize=1)
def _cosines() -> np.ndarray:
    import numpy as np

    waves, places = np.arange(1, _WAVES + 1)[:, None], np.arange(_GRID)[None, :]
    matrix: np.ndarray = np.sqrt(2 / _GRID) * np.cos(np.pi / 2 / _GRID * waves * (2 * places + 1))
    return matrix.astype(np.float32)


def _quality(thinned: Any) -> int:
    """Return how much the picture changes from point to point, as PDQ counts it."""
    import numpy as np

    steps = sum(np.trunc(np.abs(np.diff(thinned, axis=axis)) * 100 / 255).sum() for axis in (0, 1))
    return int(min(100, steps // 90))


LIKENESS_LENGTH = 320
_SCALE = 400.0
_COLOUR_GRID, _EDGE_GRID, _DIRECTIONS = 8, 4, 8


def likeness(image: Image) -> np.ndarray:
    """Return the vector of a picture: half of its weight on colours, half on edges."""
    import numpy as np

    small = image.convert("RGB").resize((64, 64))
    colours = np.asarray(small.convert("YCbCr").resize((_COLOUR_GRID, _COLOUR_GRID)), dtype=np.float32) - 128
    light = np.asarray(small.convert("L"), dtype=np.float32)
    down, across = np.gradient(light)
    strength = np.hypot(down, across)
    # An edge has a direction but no sign: dark on light is light on dark.
    direction = ((np.arctan2(down, across) % np.pi) / np.pi * _DIRECTIONS).astype(int) % _DIRECTIONS
    edges = np.zeros((_EDGE_GRID, _EDGE_GRID, _DIRECTIONS), dtype=np.float32)
    cells = np.arange(64) // (64 // _EDGE_GRID)
    np.add.at(edges, (cells[:, None], cells[None, :], direction), strength)
    return _unit(np.concatenate([_unit(colours.ravel()), _unit(np.sqrt(edges.ravel()))]))


def pack_likeness(vector: np.ndarray) -> str:
    """Return a vector as text, a byte a number."""
    import numpy as np

    return np.clip(np.round(vector * _SCALE), -127, 127).astype(np.int8).tobytes().hex()


def unpack_likenesses(texts: list[str]) -> np.ndarray:
    """Return packed vectors as the rows of a table."""
    import numpy as np

    rows = (
        np.frombuffer(bytes.fromhex("".join(texts)), dtype=np.int8)
        .reshape(len(texts), LIKENESS_LENGTH)
        .astype(np.float32)
    )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _unit(vector: np.ndarray) -> np.ndarray:
    import numpy as np

    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector
