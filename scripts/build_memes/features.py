"""Compute the features of all pictures once: boxes on the processor's cores, EfficientNet-Lite0 on the GPU.

    python features.py --keep DIR
    OMP_NUM_THREADS=1 python features.py --keep DIR --workers 1 --regions --part benchmark-dev

Reads what prepare.py packed, in DIR; writes `NAME-PART-{one,nine,region,boxes}.npy` beside it: the mean over the grid,
the grid averaged to 3 × 3, the vectors of ten regions and their boxes. `--regions` leaves the grid out.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

PARTS = (("benchmark", "train"), ("benchmark", "dev"), ("benchmark", "test"), ("harmeme", "train"), ("harmeme", "val"))
REGIONS = 10
SIDE = 256
_detector = None


def windows() -> list[tuple[float, float, float, float]]:
    """Return nine overlapping windows: what stands in for boxes where there is no detector."""
    places = (0.0, 0.25, 0.5)
    return [(x, y, x + 0.5, y + 0.5) for y in places for x in places]


def _start(folder: str) -> None:
    global _detector
    try:
        import cv2

        from davy.detectors.object_boxes import ObjectDetector

        cv2.setNumThreads(1)
        _detector = ObjectDetector(Path(folder))
    except Exception as error:  # noqa: BLE001 any failure means windows, which the log says
        print(f"no detector ({error!r}): windows stand in", file=sys.stderr, flush=True)


def look_at(file: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return a picture as (SIDE, SIDE, 3) bytes, and its boxes: the whole and nine more."""
    from PIL import Image

    from davy.image.picture import Picture

    image = Image.open(io.BytesIO(file)).convert("RGB")
    found = (
        windows()
        if _detector is None
        else [box.box for box in _detector.find(Picture(image, "", "PNG", 1), REGIONS - 1)]
    )
    whole = (0.0, 0.0, 1.0, 1.0)
    boxes = [whole, *found] + [whole] * (REGIONS - 1 - len(found))
    pixels = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR), np.uint8)
    return pixels, np.array(boxes, np.float32)


def files_of(keep: Path, name: str, part: str) -> list[bytes]:
    """Return the picture files of one part."""
    data, lengths = (keep / f"{name}-{part}.bin").read_bytes(), np.load(keep / f"{name}-{part}.npy")
    ends = np.cumsum(lengths)
    return [data[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def encode(  # type: ignore[no-untyped-def]
    pixels: np.ndarray, boxes: np.ndarray, encoder, device: str, batch: int, regions_alone: bool = False
):
    """Yield the features of one batch after another, by kind, as `davy.detectors.image_features` computes them."""
    import torch
    from torch.nn import functional

    from davy.detectors.image_features import box_weights

    for start in range(0, len(pixels), batch):
        block = torch.from_numpy(pixels[start : start + batch]).to(device).permute(0, 3, 1, 2).float()
        with torch.inference_mode():
            large = functional.interpolate(block, (448, 448), mode="bilinear", antialias=True).round().clamp(0, 255)
            weights = torch.from_numpy(box_weights(boxes[start : start + batch], 14)).to(device)
            found = {"region": weights @ encoder(large).half().float()}
            if not regions_alone:
                small = functional.interpolate(block, (224, 224), mode="bilinear", antialias=True).round().clamp(0, 255)
                grid = encoder(small)
                cells = functional.adaptive_avg_pool2d(grid.transpose(1, 2).unflatten(2, (7, 7)), 3)
                found |= {"one": grid.mean(1, keepdim=True), "nine": cells.flatten(2).transpose(1, 2)}
        yield {kind: each.half().cpu().numpy() for kind, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--regions", action="store_true", help="regions alone, for the rows that look at no grid")
    parser.add_argument("--part", action="append", help="some of the parts, such as benchmark-dev; all without")
    args = parser.parse_args()
    import torch

    from davy.detectors.image_encoder import SCALES, EfficientNetLite0, ImageEncoder

    packed = args.keep / "ssd" / "frozen_inference_graph.pb.gz"
    graph = packed.with_suffix("")
    if not graph.exists():
        graph.write_bytes(gzip.decompress(packed.read_bytes()))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = EfficientNetLite0()
    network.load_state_dict(torch.load(args.keep / "lite0.pth", map_location="cpu", weights_only=True))
    encoder = ImageEncoder("efficientnet-lite0", network.eval(), SCALES["efficientnet-lite0"], 1280).to(device).eval()
    began = time.time()
    pool = ProcessPoolExecutor(args.workers, get_context("spawn"), partial(_start, str(args.keep / "ssd")))
    with pool:
        for name, part in PARTS:
            target = args.keep / f"{name}-{part}"
            if Path(f"{target}-boxes.npy").exists() or target.name not in (args.part or [target.name]):
                continue
            looked = list(pool.map(look_at, files_of(args.keep, name, part), chunksize=32))
            pixels, boxes = np.stack([it[0] for it in looked]), np.stack([it[1] for it in looked])
            blocks = list(encode(pixels, boxes, encoder, device, 128 if device == "cuda" else 8, args.regions))
            for kind in blocks[0]:
                np.save(f"{target}-{kind}.npy", np.concatenate([block[kind] for block in blocks]))
            np.save(f"{target}-boxes.npy", boxes)
            print(f"{name} {part}: {len(pixels)} pictures, {time.time() - began:.0f} s, "
                  f"{len(np.unique(boxes.round(3).reshape(-1, 4), axis=0))} different boxes", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
