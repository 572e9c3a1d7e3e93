"""Emoji near in meaning and opposite in tone: what to swap to so that a text says the opposite.

An emoji in, emoji with names out. The families and tones are data (`emoji_meanings.tsv`, which names its source); an
emoji that is not in them gets a few that turn most sentences.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib import resources

from davy.text.emoji import plain

OPPOSITE: dict[str, str] = {"positive": "negative", "negative": "positive", "identity": "thing", "thing": "identity"}
ANY: dict[str, tuple[str, ...]] = {"liking": ("positive", "negative"), "judgement": ("positive", "negative")}
"""Families that an emoji without a family of its own gets swaps from, both tones in turn."""
MOST = 8


@dataclass(frozen=True, slots=True)
class Emoji:
    """One emoji with its name in a language and its tone: positive, negative, identity or thing."""

    emoji: str
    name: str
    tone: str


@cache
def _families() -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    """Return (emoji, English name, German name) by family and tone, in the file's order."""
    families: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    lines = resources.files("davy.text").joinpath("emoji_meanings.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            family, tone, emoji, english, german = line.split("\t")
            families[family, tone].append((emoji, english, german))
    return dict(families)


def suggest_swaps(emoji: str, lang: str = "en", *, most: int = MOST) -> list[Emoji]:
    """Return emoji of the same family and the opposite tone, nearest family first; names in English or German."""
    key = plain(emoji)
    own = [place for place, rows in _families().items() if any(plain(row[0]) == key for row in rows)]
    places = [(family, OPPOSITE[tone]) for family, tone in own]
    if not places:
        places = [(family, tone) for family, tones in ANY.items() for tone in tones]
        most_each = max(1, most // len(places))
    else:
        most_each = most
    swaps: dict[str, Emoji] = {}
    for place in places:
        for one, english, german in _families()[place][:most_each]:
            if plain(one) != key:
                swaps.setdefault(one, Emoji(one, german if lang == "de" else english, place[1]))
    return list(swaps.values())[:most]


def tones(emoji: str) -> set[str]:
    """Return the tones that an emoji has in the families that name it; empty where none does."""
    key = plain(emoji)
    return {tone for (_, tone), rows in _families().items() if any(plain(row[0]) == key for row in rows)}
