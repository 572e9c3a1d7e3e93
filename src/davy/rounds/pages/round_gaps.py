"""What a round still lacks, as the round's page and the form for entries show it: a few of each list, and how many."""

from __future__ import annotations

from dataclasses import dataclass

from davy.core.scheme import Scheme
from davy.rounds.round import Round
from davy.rounds.round_gaps import RoundGap, find_gaps
from davy.store import Connection
from davy.web.i18n import Translator, translated_title

SHOWN = 8


@dataclass(frozen=True, slots=True)
class ShownGap:
    """One list: what it is called, what is missing (some of it), how many more are, and how long the list is."""

    title: str
    missing: tuple[str, ...]
    more: int
    n: int
    size: int


def gaps_shown(db: Connection, round_: Round, scheme: Scheme, words: Translator, *, first: int = 0) -> list[ShownGap]:
    """Return the lists that have gaps; `first` turns each list, so that not the same few are always on top."""
    return [_shown(gap, scheme, words, first) for gap in find_gaps(db, round_, scheme) if gap.missing]


def _shown(gap: RoundGap, scheme: Scheme, words: Translator, first: int) -> ShownGap:
    start = first % len(gap.missing)
    some = (gap.missing[start:] + gap.missing[:start])[:SHOWN]
    if gap.kind == "emoji":
        title, names = words("rounds.gaps.emoji"), some
    elif gap.kind == "strategy":
        title = words("rounds.gaps.strategy")
        names = tuple(words(f"rounds.strategy.{name.replace(' ', '_').replace(',', '')}") for name in some)
    else:
        question = scheme.question(gap.kind)
        title = translated_title(question.title, question.name, words.lang)
        names = tuple(translated_title(question.label(name).title, name, words.lang) for name in some)
    return ShownGap(title, names, len(gap.missing) - len(some), len(gap.missing), gap.size)
