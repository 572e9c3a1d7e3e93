"""Features of many pictures at once: grids, regions, and files of them.

Pictures in, float16 arrays out: a grid has one vector a cell (n, cells, d), regions have one a box (n, k, d). Pictures
are squeezed to a square, not cropped: a meme's text stands at its edges. A region's vector is the mean of the cells
under its box, weighted by how much of each the box covers, on a grid of twice the usual side: one pass gives all boxes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from davy.core.errors import UserError
from davy.image.picture import Picture, on_white

if TYPE_CHECKING:
    from davy.detectors.image_encoder import ImageEncoder
    from davy.detectors.object_boxes import ObjectDetector

BATCH = 32
REGIONS = 10
"""Boxes a picture, unless asked otherwise; the first is the whole picture."""
WHOLE = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class RegionFeatures:
    """Regions of pictures, one row a picture, whose order is that of `ids`."""

    ids: tuple[str, ...]
    features: np.ndarray
    """(n, k, d)."""
    boxes: np.ndarray
    """(n, k, 4): left, top, right, bottom as shares of the picture."""
    labels: tuple[tuple[str, ...], ...] = ()
    """What the boxes hold, with `scores`; empty where nobody knows."""
    scores: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ids)


def pixel_array(picture: Picture, side: int) -> np.ndarray:
    """Return a picture as (side, side, 3) RGB bytes."""
    from PIL import Image

    image = on_white(picture.image) if picture.image.mode == "RGBA" else picture.image
    return np.asarray(image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR), dtype=np.uint8)


def grid_features(encoder: ImageEncoder, pictures: Iterable[Picture], *, device: str = "cpu") -> np.ndarray:
    """Return (n, cells, d) float16; the mean over cells is the pooled vector."""
    grids = list(_grids(encoder, pictures, encoder.side, device))
    return np.concatenate(grids) if grids else np.zeros((0, 0, encoder.width), np.float16)


def region_features(
    encoder: ImageEncoder,
    detector: ObjectDetector,
    ids: Sequence[str],
    pictures: Iterable[Picture],
    *,
    k: int = REGIONS,
    device: str = "cpu",
) -> RegionFeatures:
    """Return the whole picture and its `k` − 1 best boxes; where there are fewer, the whole picture stands in."""
    regions: list[list[tuple[str, float, tuple[float, float, float, float]]]] = []

    def watched() -> Iterator[Picture]:
        for picture in pictures:
            boxes = [("", 1.0, WHOLE), *((box.label, box.score, box.box) for box in detector.find(picture, k - 1))]
            regions.append(boxes + [("", 0.0, WHOLE)] * (k - len(boxes)))
            yield picture

    vectors = []
    for grid in _grids(encoder, watched(), encoder.side * 2, device):
        boxes = np.array([[box for *_, box in row] for row in regions[-len(grid) :]])
        vectors.append((box_weights(boxes, _square(grid.shape[1])) @ grid.astype(np.float32)).astype(np.float16))
    return RegionFeatures(
        tuple(ids),
        np.concatenate(vectors) if vectors else np.zeros((0, k, encoder.width), np.float16),
        np.array([[box for *_, box in row] for row in regions], np.float32).reshape(-1, k, 4),
        tuple(tuple(label for label, *_ in row) for row in regions),
        np.array([[score for _, score, _ in row] for row in regions], np.float32).reshape(-1, k),
    )


def box_weights(boxes: np.ndarray, cells: int) -> np.ndarray:
    """Return how much of each cell of a cells × cells grid lies in each box, adding up to one: (…, k, cells²)."""
    edges = np.arange(cells) / cells
    starts, ends = boxes[..., :2], boxes[..., 2:]

    def overlap(axis: int) -> np.ndarray:
        start, end = starts[..., axis, None], ends[..., axis, None]
        return np.asarray(np.clip(np.minimum(end, edges + 1 / cells) - np.maximum(start, edges), 0, None))

    cover = overlap(1)[..., :, None] * overlap(0)[..., None, :]
    flat = cover.reshape(*boxes.shape[:-1], cells * cells)
    return np.asarray(flat / np.maximum(flat.sum(-1, keepdims=True), 1e-9), np.float32)


def _grids(encoder: ImageEncoder, pictures: Iterable[Picture], side: int, device: str) -> Iterator[np.ndarray]:
    """Yield the grids of one batch of pictures after another, pictures being read as they are needed."""
    import torch

    encoder = encoder.to(device).eval()
    for batch in _batches(pictures, side):
        pixels = torch.from_numpy(batch).to(device).permute(0, 3, 1, 2).float()
        with torch.inference_mode():
            yield encoder(pixels).to(torch.float16).cpu().numpy()


def _batches(pictures: Iterable[Picture], side: int) -> Iterator[np.ndarray]:
    rows: list[np.ndarray] = []
    for picture in pictures:
        rows.append(pixel_array(picture, side))
        if len(rows) == BATCH:
            yield np.stack(rows)
            rows = []
    if rows:
        yield np.stack(rows)


def _square(cells: int) -> int:
    side = math.isqrt(cells)
    if side * side != cells:
        raise UserError(
            f"This encoder gives {cells} vectors a picture, which is no square grid: it can't be cut into regions. "
            "Use efficientnet-lite0, resnet50 or a ViT."
        )
    return side
