"""A part of the drawn benchmark for plateau.py: packed first, its features computed here or on a machine with a GPU.

    python drawn.py pack --benchmark BENCHMARK --out PACKED --few 9000
    python drawn.py features --keep PACKED [--workers 6] [--windows]

Pictures travel without loss, as numbers of colours; boxes are found by the object detector's graph, whole groups stay.
`--windows` looks at nine overlapping windows in place of boxes, which saves a core half of the time.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

PARTS = {"train": 10 / 16, "dev": 2 / 16, "test": 4 / 16}
SIDE = 256
COLOURS = 256 * 3
_finder = None


def pack(benchmark: Path, out: Path, few: int) -> None:
    """Write texts, labels, parts, pictures and the two image networks."""
    import torch
    from PIL import Image

    from davy.detectors.image_encoder import load_image_encoder
    from davy.training.onnx.box_graph import write_box_graph

    out.mkdir(parents=True, exist_ok=True)
    rows, parts = [], {}
    for part, share in PARTS.items():
        memes = [json.loads(line) for line in (benchmark / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()]
        groups = list(dict.fromkeys(meme["group"] for meme in memes))
        kept = set(groups[: round(len(groups) * few * share / len(memes))])
        some = sorted((meme for meme in memes if meme["group"] in kept), key=lambda it: (it["group"], it["object"]))
        parts[f"benchmark-{part}"] = np.arange(len(rows), len(rows) + len(some))
        rows += some
    record = {"texts": [row["text"] for row in rows], "labels": [row["label"] for row in rows]}
    (out / "benchmark.json").write_text(json.dumps(record), encoding="utf-8")
    np.savez(out / "parts.npz", **parts)
    pixels = bytearray()
    for row in rows:
        image = Image.open(benchmark / row["img"])
        if image.mode != "P" or image.size != (SIDE, SIDE):
            raise SystemExit(f"{row['img']} is {image.mode} {image.size}")
        colours = bytes(image.getpalette() or [])
        pixels += np.asarray(image).tobytes() + colours.ljust(COLOURS, b"\0")
    (out / "pictures.xz").write_bytes(lzma.compress(bytes(pixels), preset=4))
    write_box_graph(out / "boxes.onnx")
    state = load_image_encoder().network.state_dict()
    torch.save({name: it.half() if it.is_floating_point() else it for name, it in state.items()}, out / "lite0.pth")
    print({part: len(places) for part, places in parts.items()})


def _start(graph: str) -> None:
    global _finder
    from davy.detectors.onnx import open_session

    _finder = open_session(Path(graph))


def find(pixels: np.ndarray) -> np.ndarray:
    """Return the whole picture and its nine best boxes."""
    from davy.detectors.image_features import REGIONS, WHOLE
    from davy.detectors.object_boxes import best_boxes, squeezed_pixels

    boxes, scores = _finder.run(None, {"pixels": squeezed_pixels(pixels)[None]})  # type: ignore[attr-defined]
    found = [WHOLE, *best_boxes(boxes[0], scores[0], REGIONS - 1)]
    return np.array(found + [WHOLE] * (REGIONS - len(found)), np.float32)


def window_features(blocks: list[dict[str, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole picture and a grid of three by three as regions, with where they lie."""
    from davy.detectors.image_features import WHOLE

    edges = [(0 / 7, 3 / 7), (2 / 7, 5 / 7), (4 / 7, 7 / 7)]
    boxes = [WHOLE, *((left, top, right, bottom) for top, bottom in edges for left, right in edges)]
    regions = np.concatenate([np.concatenate([block["one"], block["nine"]], axis=1) for block in blocks])
    return regions, np.tile(np.array(boxes, np.float32), (len(regions), 1, 1))


def compute_features(keep: Path, workers: int, windows: bool = False) -> None:
    """Write `benchmark-region.npy` and `benchmark.npz`, as seeds.py's PackedMemes reads them."""
    import torch
    from features import encode

    from davy.detectors.image_encoder import SCALES, EfficientNetLite0, ImageEncoder

    began = time.time()
    packed = np.frombuffer(lzma.decompress((keep / "pictures.xz").read_bytes()), np.uint8)
    packed = packed.reshape(-1, SIDE * SIDE + COLOURS)
    places, colours = packed[:, : SIDE * SIDE].reshape(-1, SIDE, SIDE), packed[:, SIDE * SIDE :].reshape(-1, 256, 3)
    pixels = np.stack([of[at] for of, at in zip(colours, places, strict=True)])
    boxes = np.zeros((len(pixels), 10, 4), np.float32)
    if not windows:
        with ProcessPoolExecutor(workers, get_context("spawn"), partial(_start, str(keep / "boxes.onnx"))) as pool:
            boxes = np.stack(list(pool.map(find, pixels, chunksize=16)))
        print(f"boxes of {len(pixels)} pictures: {time.time() - began:.0f} s", flush=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = EfficientNetLite0()
    state = torch.load(keep / "lite0.pth", map_location="cpu", weights_only=True)
    network.load_state_dict({name: it.float() if it.is_floating_point() else it for name, it in state.items()})
    encoder = ImageEncoder("efficientnet-lite0", network.eval(), SCALES["efficientnet-lite0"], 1280).to(device).eval()
    blocks = list(encode(pixels, boxes, encoder, device, 128 if device == "cuda" else 8))
    regions = np.concatenate([block["region"] for block in blocks])
    if windows:
        regions, boxes = window_features(blocks)
    np.save(keep / "benchmark-region.npy", regions)
    with np.load(keep / "parts.npz") as parts:
        np.savez(keep / "benchmark.npz", boxes=boxes, **dict(parts))
    print(f"features: {time.time() - began:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("pack", "features"))
    parser.add_argument("--benchmark", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--few", type=int, default=9000)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--windows", action="store_true")
    args = parser.parse_args()
    if args.step == "pack":
        pack(args.benchmark, args.out, args.few)
    else:
        compute_features(args.keep, args.workers, args.windows)


if __name__ == "__main__":
    main()
