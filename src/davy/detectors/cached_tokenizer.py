"""Texts as token ids, word by word where the tokenizer allows it.

Texts in, ids out, exactly as the tokenizer gives them. Most words of a post were in
posts before it, so each word's ids are kept, and a plain English word that is new is cut
into pieces here: a text costs a tenth of what the tokenizer takes. That holds only
where no step of the tokenizer looks beyond white space; any other tokenizer, and any
text with ideographs (which some steps put spaces around), is left to the tokenizer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

KEPT = 100_000
"""How many words are kept. The first ones stay: what is frequent comes early."""
LONGEST = 40
"""Longer words are not kept: they seldom come again, and could be of any size."""

FEW = 32
"""From this many texts on a tokenizer's words are kept."""

_WORDS = re.compile(r"[^ \t\n\r]+")
_SPACED = re.compile("[\u2e80-\u9fff\uf900-\ufaff\U0001f200-\U0001f2ff\U00020000-\U0003ffff]")
_PLAIN_WORD = re.compile(r"[\"'(]*[A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*[.,!?;:\"')]*")
_PARTS = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]")
_WITHIN_WORDS = re.compile(r"(?:[A-Za-z0-9:/?+|@#_-]|\\S|\\\.)+")
"""Patterns that can't match across white space: they have no class but `\\S`, no dot, no anchor."""
_NOT_PLAIN = re.compile(r"[/@#_]|\\\.\\S\+")
"""What a pattern must ask for to match in no plain word: a sign that those don't have, or more after a full stop."""
_CALM = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer"}


class CachedTokenizer:
    """A tokenizer that remembers words."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._words: _Words | None = None
        self._asked = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle leaves out the words, which other threads may be adding to."""
        return CachedTokenizer, (self._tokenizer,)

    @property
    def by_word(self) -> bool:
        """Whether the tokenizer treats the words of a text one by one."""
        if self._words is None:
            self._words = _Words(self._tokenizer)
        return self._words.apart

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special tokens and all."""
        self._asked += len(texts)
        # Looking into a tokenizer takes longer than it takes for a text, and a shell asks about one.
        if self._asked < FEW or not self.by_word:
            return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)]
        assert self._words is not None
        return self._words.ids(texts)


class _Words:
    """The words of a tokenizer that splits texts at spaces; `apart` says whether it does."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}
        parts = json.loads(tokenizer.to_str())
        steps = _steps(parts["normalizer"])
        self.apart = _splits_at_spaces(parts, steps)
        self._model: dict[str, Any] | None = None
        if self.apart:
            self._start, self._end = _around(tokenizer)
            self._lower = any(it["type"] == "Lowercase" or it.get("lowercase") for it in steps)
            self._model = parts["model"] if _leaves_plain_words(parts, steps) else None

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special tokens and all."""
        start, end, known = self._start, self._end, self._known.__getitem__
        rows: list[list[int]] = []
        whole, waiting = [], {}
        for i, text in enumerate(texts):
            words = _WORDS.findall(text)
            try:
                rows.append([*start, *chain.from_iterable(map(known, words)), *end])
            except KeyError:
                rows.append([])
                waiting[i] = words
            if not text.isascii() and _SPACED.search(text):
                whole.append(i)
                waiting.pop(i, None)
        fresh = self._learnt({word for words in waiting.values() for word in words if word not in self._known})
        for i, words in waiting.items():
            each = (self._known[word] if word in self._known else fresh[word] for word in words)
            rows[i] = [*start, *chain.from_iterable(each), *end]
        for i, encoding in zip(whole, self._tokenizer.encode_batch_fast([texts[i] for i in whole]), strict=True):
            rows[i] = encoding.ids
        return rows

    def _learnt(self, new: set[str]) -> dict[str, list[int]]:
        """Return the ids of new words, which are kept where there is room."""
        plain = {word for word in new if _PLAIN_WORD.fullmatch(word)} if self._model else set()
        fresh = {word: self._cut(word) for word in plain}
        rest = list(new - plain)
        encodings = self._tokenizer.encode_batch_fast(rest, add_special_tokens=False) if rest else []
        fresh.update((word, encoding.ids) for word, encoding in zip(rest, encodings, strict=True))
        kept = (word for word in fresh if len(word) <= LONGEST)
        room = max(0, KEPT - len(self._known))
        self._known.update((word, fresh[word]) for word in islice(kept, room))
        return fresh

    def _cut(self, word: str) -> list[int]:
        """Return the ids of a plain word: of its letters, and of each sign before, in or after it."""
        assert self._model is not None
        vocab, most = self._model["vocab"], self._model["max_input_chars_per_word"]
        found: list[int] = []
        for part in _PARTS.findall(word.lower() if self._lower else word):
            if part in vocab and len(part) <= most:
                found.append(vocab[part])
            else:
                found += self._longest_pieces(part)
        return found

    def _longest_pieces(self, part: str) -> list[int]:
        """Return the ids of a run of letters: always the longest piece that fits next, as WordPiece does."""
        assert self._model is not None
        vocab, prefix = self._model["vocab"], self._model["continuing_subword_prefix"]
        unknown = [vocab[self._model["unk_token"]]]
        if len(part) > self._model["max_input_chars_per_word"]:
            return unknown
        pieces, start, before = [], 0, ""
        while start < len(part):
            end = len(part)
            while end > start and before + part[start:end] not in vocab:
                end -= 1
            if end == start:
                return unknown
            pieces.append(vocab[before + part[start:end]])
            start, before = end, prefix
        return pieces


def _around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the ids that the tokenizer puts before and after every text."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    ids = tokenizer.encode("a").ids
    at = next(i for i in range(len(ids)) if ids[i : i + len(bare)] == bare)
    return ids[:at], ids[at + len(bare) :]


def _steps(normalizer: Any) -> list[Any]:
    if not normalizer:
        return []
    return list(normalizer["normalizers"]) if normalizer["type"] == "Sequence" else [normalizer]


def _splits_at_spaces(parts: Any, steps: Sequence[Any]) -> bool:
    """Return whether a tokenizer, given by its parts, treats the words of a text one by one."""
    kinds = [(parts[name] or {}).get("type") for name in ("model", "pre_tokenizer", "post_processor")]
    if kinds[:2] != ["WordPiece", "BertPreTokenizer"] or kinds[2] not in ("TemplateProcessing", "BertProcessing"):
        return False
    added = (token["content"] for token in parts["added_tokens"])
    # An added token with a space in it could begin in one word and end in the next.
    return all(map(_stays_within, steps)) and all(_SPACED.search(it) for it in added if it.split() != [it])


def _stays_within(step: Any) -> bool:
    """Return whether a normaliser leaves the space between two words alone and never looks across it."""
    if step["type"] != "Replace":
        return step["type"] in _CALM
    if " " in step["content"]:
        return False
    pattern = step["pattern"]
    if "String" in pattern:
        return bool(pattern["String"].split() == [pattern["String"]])
    return bool(_WITHIN_WORDS.fullmatch(pattern.get("Regex", "")))


def _leaves_plain_words(parts: Any, steps: Sequence[Any]) -> bool:
    """Return whether a plain word's ids follow from the vocabulary: nothing is replaced or added within it."""
    for step in steps:
        pattern = step.get("pattern", {})
        choices = [pattern["String"]] if "String" in pattern else pattern.get("Regex", "@").split("|")
        if not all(_NOT_PLAIN.search(choice) for choice in choices):
            return False
    signs = re.compile(r"[\"'().,!?;:A-Za-z0-9-]+")
    return not any(signs.fullmatch(token["content"]) for token in parts["added_tokens"])
