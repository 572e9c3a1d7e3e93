"""Unify white space and control characters, and fold letters for matching.

Text in, text out. `tidy` changes what nobody can see and keeps what emoji need
(joiners, variation selectors, tags). `fold` is for comparing only: what it
returns is never shown, because it loses case, accents and look-alikes.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

ZWJ = "\u200d"
EMOJI_GLUE = frozenset({ZWJ, "\ufe0e", "\ufe0f", "\u20e3", *(chr(c) for c in range(0xE0020, 0xE0080))})
"""Characters that have no look of their own but make an emoji what it is."""

_SPACES = re.compile(r"[^\S\n]+")
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_MANY_BREAKS = re.compile(r"\n{3,}")
_SPACE_ROUND_BREAK = re.compile(r" ?\n ?")


def tidy(text: str, *, one_line: bool = False) -> str:
    """Return text in NFC with plain spaces and `\\n` breaks and without control, bidi and stray zero-width characters.

    Joiners and variation selectors stay, so every emoji survives; at most one
    empty line stays between paragraphs. With `one_line`, breaks become spaces.
    """
    if text.isprintable() and "  " not in text and unicodedata.is_normalized("NFC", text):
        return text.strip(" ")  # printable means no control, no break, no space but the plain one: most texts are
    text = unicodedata.normalize("NFC", _BREAKS.sub("\n", text)).translate(_tidy_table())
    text = _SPACE_ROUND_BREAK.sub("\n", _SPACES.sub(" ", text))
    text = text.replace("\n", " ") if one_line else _MANY_BREAKS.sub("\n\n", text)
    return _SPACES.sub(" ", text).strip(" \n")


def fold(text: str) -> str:
    """Return text in lower-case plain letters for matching: no accents, no look-alikes, no invisible characters.

    Ligatures and `ß` become two letters, so offsets into the result are not offsets into `text`.
    """
    return text.translate(fold_table())


class _Table(dict[int, str]):
    """A translation table that works a character out when it is first met."""

    def __init__(self, rule: object) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str:
        self[code] = found = self._rule(chr(code))  # type: ignore[operator]
        return str(found)


@cache
def _tidy_table() -> _Table:
    return _Table(_tidied)


@cache
def fold_table() -> _Table:
    """Return the table behind `fold`, for callers that keep an offset map of their own."""
    return _Table(fold_char)


def _tidied(char: str) -> str:
    if char == "\n" or char in EMOJI_GLUE:
        return char
    kind = unicodedata.category(char)
    if char == "\t" or kind == "Zs":
        return " "
    # Cc controls, Cf invisible formatting and bidi marks, Cs lone surrogates: nothing a reader sees.
    return "" if kind in ("Cc", "Cf", "Cs") else char


def fold_char(char: str) -> str:
    """Return one character folded for matching; nothing for marks and invisible characters."""
    if char.isascii():
        return char.lower()
    if is_ignorable(char):
        return ""
    plain = LOOK_ALIKES.get(char)
    if plain:
        return plain
    parts = unicodedata.normalize("NFKD", char.casefold())
    kept = "".join(LOOK_ALIKES.get(part, part) for part in parts if not is_ignorable(part))
    return kept.casefold()


def is_ignorable(char: str) -> bool:
    """Return whether a character is drawn on or between others: accents, joiners, soft hyphens, selectors."""
    return unicodedata.category(char) in ("Mn", "Me", "Cf") or char in "\u115f\u1160\u3164\uffa0"


def _look_alikes() -> dict[str, str]:
    """Return letters of other scripts that are drawn like Latin ones, with the Latin letter."""
    pairs = (
        # Cyrillic, both cases where both look alike
        "аa еe оo рp сc уy хx іi јj ѕs ԁd ԛq ԝw һh ӏl гr кk мm тt вb нh зe ьb пn "
        "АA ЕE ОO РP СC УY ХX ІI ЈJ ЅS ԀD ԚQ ԜW НH ӀL КK МM ТT ВB ҮY үy ғf Ғf "
        # Greek
        "αa βb εe ηn ιi κk νv οo ρp τt υu χx γy ωw ϲc ϳj ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX "
        # Armenian, Cherokee and Latin letters that do not decompose
        "աw օo ոn սu հh ցg ѡw ᎪA ᏴB ᏟC ᎠD ᎬE ᎻH ᎫJ ᏦK ᏞL ᎷM ᏢP ᎡR ᏚS ᎢT ᏙV ᎳW ᏃZ "
        "ıi ȷj łl øo đd ħh ŧt ŋn ɑa ɡg ɩi ɪi ʏy ʀr ɴn ɢg ʜh ʟl ʙb ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz "
        "ꜰf ꜱs ɐa ǝe ɯm ʇt ʌv ʎy"
    )
    table = {pair[0]: pair[1:].lower() for pair in pairs.split()}
    # White letters in black circles: they do not decompose, and are letters, not emoji.
    table |= {chr(0x1F150 + i): chr(ord("a") + i) for i in range(26)}
    return table | {"Ł": "l", "Ø": "o", "Đ": "d", "ß": "ss", "ẞ": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe"}


LOOK_ALIKES = _look_alikes()
