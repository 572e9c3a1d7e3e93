"""Made-up corpora in the files of the public ones, tiny encoders and a tiny language model, to try every English step.

    python tiny.py --out DIR

Writes `DIR/data`, `DIR/weights` and `DIR/qwen.gguf`. The posts are nonsense: bakers are praised, or scolded with a
made-up word.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import struct
from pathlib import Path
from random import Random
from typing import Any

from corpora import VECTORS

GROUPS = ("bakers", "cooks", "waiters", "gardeners", "plumbers")
KIND = ("lovely", "helpful", "welcome", "brave", "clever")
UNKIND = ("wuzzles", "grumblefops", "snorbles", "flimps")
PLACES = ("today", "in our town", "at the market", "by the river", "again", "this morning", "over there")
EMOJI = {"😀": "grinning face", "🐀": "rat", "🍰": "cake", "🔪": "knife", "👩": "woman", "👨": "man"}
SPECIALS = {
    "minilm": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    "mpnet": ("<s>", "<pad>", "</s>", "[UNK]", "<mask>", "[PAD]"),
}


def post(rng: Random, bad: bool) -> str:
    """Return a made-up post, scolding or kind."""
    word = rng.choice(UNKIND if bad else KIND)
    emoji = rng.choice(("", "", f" {rng.choice(list(EMOJI))}"))
    return f"{rng.choice(GROUPS)} are {word} {rng.choice(PLACES)} {rng.choice(PLACES)}{emoji} {rng.randrange(60)}"


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_data(out: Path, rng: Random) -> None:
    """Write a few hundred posts in the files of each corpus."""
    answers = [i % 2 for i in range(120)]
    parts = ["dev" if i % 5 == 0 else "train" for i in range(120)]
    both = list(zip(answers, parts, strict=True))
    write_rows(out / "dynahate/dynahate.csv", [{"text": post(rng, b == 1), "label": b, "split": s} for b, s in both])
    kinds = ("derogation", "animosity", "threateninglanguage", "dehumanizinglanguage")
    for name, part in (("train", "train"), ("validation", "dev")):
        rows = [
            {"entry_id": 2 * i + (part == "dev") * 1000, "text": post(rng, i % 2 == 1), "label_gold": i % 2,
             "type": kinds[i // 2 % 4] if i % 2 else "none", "target": "['wom']" if i % 2 else "['none']",
             "matched_id": ""}
            for i in range(80 if part == "train" else 40)
        ]  # fmt: skip
        write_rows(out / f"hatemojibuild/{name}.csv", rows)
    edos = []
    for i, (bad, part) in enumerate([*both, *both]):
        vector = VECTORS[i // 2 % len(VECTORS)] if bad else "none"
        label = "sexist" if bad else "not sexist"
        edos.append({"text": post(rng, bad == 1), "label_sexist": label, "label_vector": vector, "split": part})
    write_rows(out / "edos/edos_labelled_aggregated.csv", edos)
    write_rows(
        out / "davidson2017/labeled_data.csv", [{"tweet": post(rng, i % 3 < 2), "class": i % 3} for i in range(240)]
    )
    levels = ["id\ttweet\tsubtask_a\tsubtask_b\tsubtask_c"]
    for i in range(60):
        levels.append(f"{i}\t{post(rng, i % 3 == 0)}\t" + ("OFF\tTIN\tIND" if i % 3 == 0 else "NOT\tNULL\tNULL"))
    (out / "olid").mkdir(parents=True, exist_ok=True)
    (out / "olid/olid-training-v1.0.tsv").write_text("\n".join(levels) + "\n", encoding="utf-8")
    for folder in ("founta2018", "kennedy2020"):
        for name in ("dev_500", "train_20000"):
            rows = [{"text": post(rng, i % 2 == 1), "label": i % 2} for i in range(60)]
            write_rows(out / folder / f"{name}.csv", rows)
    rows = [
        {"body": post(rng, i % 2 == 1), "level_1": ("Nonmisogynistic", "Misogynistic")[i % 2], "split": "train"}
        for i in range(60)
    ]
    write_rows(out / "guest2021/final_labels.csv", rows)
    (out / "reddit").mkdir(exist_ok=True)
    for name in ("reddit_gender_dating_posts", "reddit_top_posts_350k"):
        lines = "\n".join(post(rng, rng.random() < 0.2) for _ in range(300))
        (out / f"reddit/{name}.txt.xz").write_bytes(lzma.compress(lines.encode()))


def write_weights(out: Path) -> None:
    """Write random encoders two layers deep, with tokenizers of the words that posts have, and the emoji table."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

    known = " ".join((*GROUPS, *KIND, *UNKIND, *PLACES, *EMOJI.values(), "are user url letter light skin")).split()
    signs = [sign for letter in "abcdefghijklmnopqrstuvwxyz0123456789" for sign in (letter, f"##{letter}")]
    torch.manual_seed(0)
    shape: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    for name, specials in SPECIALS.items():
        vocab = {piece: i for i, piece in enumerate(dict.fromkeys([*specials, *signs, *known]))}
        first, last = specials[2 if name == "minilm" else 0], specials[3 if name == "minilm" else 2]
        tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}", special_tokens=[(first, vocab[first]), (last, vocab[last])]
        )
        tokenizer.add_special_tokens(list(specials))
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"))
        sizes = {**shape, "vocab_size": len(vocab)}
        if name == "minilm":
            BertModel(BertConfig(max_position_embeddings=130, **sizes)).save_pretrained(folder)
        else:
            MPNetModel(MPNetConfig(max_position_embeddings=132, **sizes)).save_pretrained(folder)
    table = [{"emoji": sign, "annotation": name, "tags": name.split()} for sign, name in EMOJI.items()]
    names = out / "package/en/cldr/data.json"
    names.parent.mkdir(parents=True, exist_ok=True)
    names.write_text(json.dumps(table, ensure_ascii=False), "utf-8")


def letter_pieces(texts: list[str]) -> tuple[list[str], list[str]]:
    """Return the tokens of a language model, ASCII letters and what they often form in texts, and how they merge."""
    from tokenizers import Tokenizer, models, trainers
    from tokenizers.pre_tokenizers import ByteLevel

    letters = [*(chr(code) for code in range(33, 127)), "Ġ", "Ċ"]  # the last two stand for space and new line
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=letters, show_progress=False)
    tokenizer.train_from_iterator([text.encode("ascii", "ignore").decode() for text in texts], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].get), [" ".join(pair) for pair in model["merges"]]


def write_language_model(path: Path, texts: list[str]) -> None:
    """Write a random language model of two layers that knows pieces of some texts, as a GGUF file of plain numbers."""
    import numpy as np

    pieces, merges = letter_pieces(texts)
    shapes: dict[str, tuple[int, ...]] = {f"{name}.weight": (len(pieces), 256) for name in ("token_embd", "output")}
    shapes |= {"output_norm.weight": (256,)}
    for at in range(2):
        for name, rows in (("attn_q", 256), ("attn_k", 128), ("attn_v", 128)):
            shapes |= {f"blk.{at}.{name}.weight": (rows, 256), f"blk.{at}.{name}.bias": (rows,)}
        for name in ("attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            shapes[f"blk.{at}.{name}.weight"] = (256, 256)
        shapes |= {f"blk.{at}.{name}.weight": (256,) for name in ("attn_norm", "ffn_norm")}

    def text(it: str) -> bytes:
        return struct.pack("<Q", len(it.encode())) + it.encode()

    head = text("qwen2.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-6)
    for name, listed in (("tokens", pieces), ("merges", merges)):
        head += text(f"tokenizer.ggml.{name}") + struct.pack("<IIQ", 9, 8, len(listed)) + b"".join(map(text, listed))
    rng, index, body = np.random.default_rng(0), b"", b""
    for name, shape in shapes.items():
        index += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], 0, len(body))
        values = np.ones(shape) if "norm" in name else rng.normal(0, 0.05, shape)
        body += values.astype(np.float32).tobytes()
    start = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), 3) + head + index
    path.write_bytes(start + b"\0" * (-len(start) % 32) + body)


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rng = Random(4)
    write_data(args.out / "data", rng)
    write_weights(args.out / "weights")
    write_language_model(args.out / "qwen.gguf", [post(rng, bad) for bad in (True, False) for _ in range(100)])


if __name__ == "__main__":
    main()
