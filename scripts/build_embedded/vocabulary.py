"""The embedded detectors' tokenizer: BERT's word pieces, trimmed, with a token for every emoji.

A base `tokenizer.json`, texts and an emoji table in; one tokenizer out that both
MiniLM and mpnet use with the same ids, so that every post is tokenised once.
Emoji match after normalisation, which drops joiners and variation selectors: a
sequence and its variants are one token, a skin tone is a token of its own, and
an emoji glued to letters is cut off from them.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIALS = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")  # mpnet hard-codes 1 as its padding
MARKS = ("[user]", "[url]")
TONES = {
    "🏻": "light skin white person",
    "🏼": "medium light skin white person",
    "🏽": "medium brown skin person",
    "🏾": "medium dark brown skin black person",
    "🏿": "dark skin black person",
}
BODY = normalizers.Sequence(
    [
        normalizers.NFKC(),
        normalizers.Replace(Regex(r"https?://\S+|www\.\S+"), "[url]"),
        normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True),
        normalizers.Replace("@user", "[user]"),
    ]
)


def emoji_names(path: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return emoji → (name, keywords) from emoji-picker-element-data, without skin-tone variants, with the tones."""
    table = {it["emoji"]: (it["annotation"].lower(), tuple(it["tags"])) for it in json.loads(path.read_text("utf-8"))}
    table |= {tone: (name, ("skin",)) for tone, name in TONES.items()}
    for i in range(26):  # letters of flags, which people also write words with
        table[chr(0x1F1E6 + i)] = (f"letter {chr(97 + i)}", ("letter",))
    return table


def emoji_tokens(table: dict[str, tuple[str, tuple[str, ...]]]) -> dict[str, str]:
    """Return normalised emoji → name; what normalisation turns into plain characters needs no token."""
    kept: dict[str, str] = {}
    for emoji, (name, _) in table.items():
        form = BODY.normalize_str(emoji)
        plain = form.isascii() or all(unicodedata.category(c)[0] in "LN" for c in form)
        if form and not plain:
            kept.setdefault(form, name.replace("flag:", "flag").replace("keycap:", "digit"))
    return kept


def count_pieces(base: Path, texts: Iterable[str]) -> Counter[int]:
    """Return how often each word piece of the base tokenizer occurs."""
    tokenizer = Tokenizer.from_file(str(base))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.normalizer = BODY
    counts: Counter[int] = Counter()
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == 20_000:
            for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                counts.update(encoding.ids)
            batch.clear()
    for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
        counts.update(encoding.ids)
    return counts


def build(base: Path, keep: set[str], emoji: dict[str, str]) -> Tokenizer:
    """Return the tokenizer: specials, marks, the kept pieces, every single character, then emoji."""
    vocab = json.loads(base.read_text("utf-8"))["model"]["vocab"]
    single = {p for p in vocab if len(p.removeprefix("##")) == 1 and ord(p[-1]) < 0x250}
    pieces = [p for p in vocab if (p in keep or p in single) and p not in SPECIALS and not p.startswith("[unused")]
    pieces = [p for p in pieces if p not in ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "[PAD]")]
    ids = {token: i for i, token in enumerate([*SPECIALS, *pieces])}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=60))
    tokenizer.normalizer = BODY
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    tokenizer.add_tokens([AddedToken(mark, normalized=True, special=False) for mark in MARKS])
    tokenizer.add_tokens([AddedToken(form, normalized=True, special=False) for form in emoji])
    return tokenizer


def sources(tokenizer: Tokenizer, base: Path, emoji: dict[str, str], specials: dict[str, str]) -> list[list[int]]:
    """Return, for each id, the base vocabulary's ids whose mean vector it starts from."""
    old = Tokenizer.from_file(str(base))
    old.no_truncation()
    old.no_padding()
    vocab = old.get_vocab()
    rows: list[list[int]] = []
    for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda it: it[1]):
        if token in specials:
            rows.append([vocab[specials[token]]])
        elif token in MARKS:
            rows.append(old.encode(token.strip("[]"), add_special_tokens=False).ids)
        elif token in emoji:
            rows.append(old.encode(emoji[token], add_special_tokens=False).ids)
        else:
            rows.append([vocab[token]])
    return rows
