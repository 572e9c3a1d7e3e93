"""Which emoji means which word, found by Unicode keywords and by a sentence encoder.

The emoji table, MiniLM and the training posts in; an `augment.Lexicon` out, cached
as JSON because the encoder takes a minute. Words that tell hateful posts from others
come with a weight, so that the rewrites break the words that matter.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from augment import WORD, Lexicon
from corpora import Post

COMMON = frozenset(
    "the and you that for are not this with but have they was all his her she him who its our your from just like "
    "what about when there their them would could should one out can get got how why because some more than then "
    "been had has will into only also even very really much any other these those being were did does don doing "
    "too way own most same where which while after before over such every each here still".split()
)


def make(table: dict[str, tuple[str, tuple[str, ...]]], posts: list[Post], minilm: Path, cache: Path) -> Lexicon:
    """Return the lexicon, from the cache where it is there."""
    names = {emoji: name.removeprefix("flag: ").removeprefix("keycap: ") for emoji, (name, _) in table.items()}
    weights = telling(posts)
    if cache.is_file():
        found = json.loads(cache.read_text("utf-8"))
    else:
        found = {word: list(emoji) for word, emoji in by_keyword(table).items()}
        for word, emoji in by_meaning(table, frequent(posts), minilm).items():
            found[word] = list(dict.fromkeys([*found.get(word, []), *emoji]))[:6]
        cache.write_text(json.dumps(found, ensure_ascii=False), "utf-8")
    return Lexicon({word: tuple(emoji) for word, emoji in found.items() if word not in COMMON}, names, weights)


def by_keyword(table: dict[str, tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return word → emoji named so, or that few others share the keyword with."""
    named: dict[str, list[str]] = defaultdict(list)
    tagged: dict[str, list[str]] = defaultdict(list)
    for emoji, (name, tags) in table.items():
        named[name.removesuffix(" face").removeprefix("flag: ")].append(emoji)
        for tag in tags:
            tagged[tag.lower()].append(emoji)
    words = {word for word in (*named, *tagged) if word.isalpha() and len(word) > 2}
    return {w: tuple((named[w] + tagged[w])[:5]) for w in words if named[w] or len(tagged[w]) <= 25}


def frequent(posts: list[Post], least: int = 25) -> list[str]:
    """Return the words that enough training posts use."""
    counts = Counter(word.lower() for post in posts for word in set(WORD.findall(post.text)))
    return [word for word, n in counts.items() if n >= least and word not in COMMON and len(word) > 2]


def by_meaning(
    table: dict[str, tuple[str, tuple[str, ...]]], words: list[str], minilm: Path, least: float = 0.45
) -> dict[str, list[str]]:
    """Return word → the three emoji whose name, or name and keywords, lie nearest to it."""
    emoji = [e for e, (name, _) in table.items() if not name.startswith(("flag:", "keycap", "letter"))]
    names = embed([table[e][0] for e in emoji], minilm)
    full = embed([f"{table[e][0]}, {', '.join(table[e][1][:4])}" for e in emoji], minilm)
    near = embed(words, minilm) @ np.maximum(names, (names + full) / 2).T
    best = np.argsort(-near, axis=1)[:, :3]
    return {
        word: [emoji[j] for j in row if near[i, j] >= least]
        for i, (word, row) in enumerate(zip(words, best, strict=True))
        if near[i, row[0]] >= least
    }


def embed(texts: list[str], minilm: Path) -> np.ndarray:
    """Return MiniLM's unit vectors, one a text."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.enable_padding()
    model = AutoModel.from_pretrained(minilm).eval()
    parts = []
    for i in range(0, len(texts), 256):
        batch = tokenizer.encode_batch(texts[i : i + 256])
        ids = torch.tensor([e.ids for e in batch])
        mask = torch.tensor([e.attention_mask for e in batch])
        with torch.inference_mode():
            states = model(input_ids=ids, attention_mask=mask).last_hidden_state * mask[..., None]
        parts.append(torch.nn.functional.normalize(states.sum(1) / mask.sum(1, keepdim=True), dim=1).numpy())
    return np.concatenate(parts)


def telling(posts: list[Post]) -> dict[str, float]:
    """Return how strongly each word tells hateful or sexist training posts from the others, 0 and up."""
    yes: Counter[str] = Counter()
    no: Counter[str] = Counter()
    for post in posts:
        label = post.answers.get("hate") or post.answers.get("sexist")
        if label:
            (yes if label[0] else no).update({word.lower() for word in WORD.findall(post.text)})
    total_yes, total_no = sum(yes.values()) + 1, sum(no.values()) + 1
    weights = {}
    for word, n in yes.items():
        if n + no[word] >= 8:
            odds = math.log((n + 0.5) / total_yes) - math.log((no[word] + 0.5) / total_no)
            if odds > 0.3:
                weights[word] = odds * min(1.0, math.log10(n))
    return weights
