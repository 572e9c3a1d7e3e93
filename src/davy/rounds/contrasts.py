"""Contrasts: the smallest change that flips an entry's label, in its emoji or in its words, never in both.

Two texts in; which rule the change follows, how large it is, and the difference piece by piece out. Emoji count with
their skin tones; the variation selector, which nobody sees, does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from davy.rounds.rules import EntryRefused
from davy.rounds.store.entries import EntryText
from davy.text import emoji

FEW_WORDS = 3
"""So many words may always change; beyond, at most half of the original's words."""
_TOKEN = re.compile(r"\s+|\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TextChange:
    """What a contrast changed. `words` and `emoji` count what was taken out, put in or replaced."""

    words: int
    emoji: int
    of_words: int
    """How many words the original has."""

    @property
    def kind(self) -> str:
        """`emoji`, `text`, `both` or `neither`."""
        if self.words and self.emoji:
            return "both"
        return "text" if self.words else "emoji" if self.emoji else "neither"

    @property
    def most_words(self) -> int:
        """How many words may change."""
        return max(FEW_WORDS, self.of_words // 2)


@dataclass(frozen=True, slots=True)
class DifferencePiece:
    """A piece of two texts: `same` in both, `gone` from the first, or `new` in the second."""

    kind: str
    text: str


def measure_change(original: str, contrast: str) -> TextChange:
    """Return how many words and emoji differ between two texts."""
    before, after = _parts(original), _parts(contrast)
    return TextChange(_edits(before[0], after[0]), _edits(before[1], after[1]), len(before[0]))


def difference(original: str, contrast: str) -> tuple[list[DifferencePiece], list[DifferencePiece]]:
    """Return both texts in pieces, for showing them side by side; joined, each is its text."""
    one, other = _tokens(original), _tokens(contrast)
    left: list[DifferencePiece] = []
    right: list[DifferencePiece] = []
    for what, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        gone, new = "".join(one[a:b]), "".join(other[c:d])
        if gone:
            left.append(DifferencePiece("same" if what == "equal" else "gone", gone))
        if new:
            right.append(DifferencePiece("same" if what == "equal" else "new", new))
    return left, right


def check_contrast(original: EntryText, text: str, label: str, *, change: str | None = None) -> str:
    """Return which rule a contrast follows, `emoji` or `text`; refuse one that follows neither or does not flip.

    `change` is the rule that its author chose.
    """
    if original.entry.set != "original":
        raise EntryRefused("not_original")
    if original.entry.dropped is not None:
        raise EntryRefused("dropped", status=409)
    if original.entry.settled is None:
        raise EntryRefused("unsettled", status=409)
    found = measure_change(original.text, text)
    if found.kind in ("both", "neither"):
        raise EntryRefused(found.kind)
    if change is not None and change != found.kind:
        raise EntryRefused("wrong_change", wanted=change, got=found.kind)
    if found.words > found.most_words:
        raise EntryRefused("much", got=found.words, most=found.most_words)
    if label == original.entry.settled:
        raise EntryRefused("no_flip", label=label)
    return found.kind


def _parts(text: str) -> tuple[list[str], list[str]]:
    """Return a text's words and marks, and its emoji, each in their order."""
    words: list[str] = []
    emojis: list[str] = []
    for piece, is_emoji in emoji.split(text):
        if is_emoji:
            emojis.append(piece.replace("\ufe0f", ""))
        else:
            words += [token for token in _TOKEN.findall(piece.replace("\ufe0f", "")) if not token.isspace()]
    return words, emojis


def _tokens(text: str) -> list[str]:
    """Return a text in words, white space, marks and whole emoji."""
    return [
        token for piece, is_emoji in emoji.split(text) for token in ([piece] if is_emoji else _TOKEN.findall(piece))
    ]


def _edits(one: list[str], other: list[str]) -> int:
    """Return the fewest insertions, deletions and replacements that turn one list into the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]
