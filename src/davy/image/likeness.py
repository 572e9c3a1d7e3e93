"""What a picture looks like, in 320 numbers that any machine makes in a few milliseconds: colours and edges by place.

An image in, a vector out, of length 1, as bytes too. Two vectors' product says how alike the pictures look. The one
thing to know: it compares looks, not meaning; a skunk and a badger in the snow are alike, two skunks may not be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

LENGTH = 320
_SCALE = 400.0
_COLOUR_GRID, _EDGE_GRID, _DIRECTIONS = 8, 4, 8


def describe(image: Image) -> np.ndarray:
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


def pack(vector: np.ndarray) -> str:
    """Return a vector as text, a byte a number."""
    import numpy as np

    return np.clip(np.round(vector * _SCALE), -127, 127).astype(np.int8).tobytes().hex()


def unpack(texts: list[str]) -> np.ndarray:
    """Return packed vectors as the rows of a table."""
    import numpy as np

    rows = np.frombuffer(bytes.fromhex("".join(texts)), dtype=np.int8).reshape(len(texts), LENGTH).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _unit(vector: np.ndarray) -> np.ndarray:
    import numpy as np

    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector
