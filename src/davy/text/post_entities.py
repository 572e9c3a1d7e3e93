"""URLs, mentions, hashtags, e-mail addresses and phone numbers in posts: find, replace, remove.

A column of texts in, a column of texts or of yes and no out. All run inside
polars, on those texts alone that can hold such a thing. No pattern reaches into an emoji: what stands right behind a
link stays whole, joiners and selectors included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from davy.text import emoji

if TYPE_CHECKING:
    import polars as pl

_PICTURE = r"\p{Extended_Pictographic}\p{Regional_Indicator}\x{200d}\x{fe0f}\x{20e3}"
_LINK = rf'[^\s<>"\[\]{{}}|\\^`{_PICTURE}]'
_LINK_END = rf"""[^\s<>"'\[\]{{}}|\\^`.,;:!?)*_…{_PICTURE}]"""
_HOSTS = r"(?:com|org|net|de|at|ch|eu|uk|us|io|co|gov|edu|info|tv|me|be|ly|gl|fm|to|app|social|gg|ru|fr|it|es|nl|pl)"
_WORD = r"[\p{L}\p{M}\p{N}_]"

PATTERNS: Mapping[str, str] = {
    "urls": (
        rf"(?i)\b(?:https?|ftp)://{_LINK}*{_LINK_END}/?"
        rf"|\bwww\.{_LINK}*{_LINK_END}/?"
        rf"|\b(?:[a-z0-9-]+\.)+{_HOSTS}/{_LINK}*{_LINK_END}"
    ),
    "phones": (
        r"(?:\+|\b00)\d[\d\t ()/.-]{6,16}\d\b"
        r"|\(\d{3}\)[\t ]?\d{3}[\t .-]\d{4}\b"
        r"|\b\d{3}[\t .-]\d{3}[\t .-]\d{4}\b"
        r"|\b0\d{2,5}[\t ]?[/-][\t ]?\d[\d\t -]{3,12}\d\b"
    ),
}
"""What can be replaced wherever it stands."""

AFTER: Mapping[str, str] = {
    "emails": r"(?i)(^|[^\p{L}\p{N}_@.%+-])[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\b",
    "mentions": (
        rf"(^|[^\p{{L}}\p{{M}}\p{{N}}_@./])@{_WORD}{{1,50}}"
        rf"(?:@[\p{{L}}\p{{N}}.-]+\.\p{{L}}{{2,}}|(?i:(?:\.[a-z0-9-]+)*\.{_HOSTS})\b)?"
        r"|(^|[\s(\x22])/?u/[A-Za-z0-9_-]{2,30}\b"
    ),
    "hashtags": rf"(^|[^\p{{L}}\p{{M}}\p{{N}}_&/])#{_WORD}*[\p{{L}}_]{_WORD}*",
}
"""What must not follow a letter; the groups hold what stood before and stay."""

KINDS: tuple[str, ...] = (*PATTERNS, *AFTER)

MASKS: Mapping[str, tuple[str, ...]] = {
    "urls": ("[URL]", "<URL>", "HTTPURL"),
    "mentions": ("[USER]", "<USER>", "@USER", "@TwitterUser"),
    "emails": ("[EMAIL]",),
    "phones": ("[PHONE]",),
    "hashtags": ("[HASHTAG]",),
}
"""What masked posts write in the place of each; `only` takes them for the thing itself."""


HINTS: Mapping[str, str] = {
    "urls": r"(?i)://|www\.|\.[a-z]{2,6}/",
    "emails": "@",
    "phones": r"\d{3}",
    "mentions": "@|u/",
    "hashtags": "#",
}
"""What every thing of a kind has in it: most texts do not, and go no further."""


def replace_kind(texts: pl.Series, kind: str, by: str) -> pl.Series:
    """Return the texts with everything of a kind replaced by the same words, or removed where `by` is empty."""
    rows = texts.str.contains(HINTS[kind]).fill_null(False).arg_true()
    if not len(rows):
        return texts
    some = texts.gather(rows)
    safe = by.replace("$", "$$")
    if kind in PATTERNS:
        done = some.str.replace_all(PATTERNS[kind], safe)
    else:
        # Twice: in "@one,@two" the comma belongs to the first match, so the second is found only when that is gone.
        groups = "${1}${2}" if kind == "mentions" else "${1}"
        done = some.str.replace_all(AFTER[kind], groups + safe).str.replace_all(AFTER[kind], groups + safe)
    return scatter_rows(texts, rows, done)


def scatter_rows(texts: pl.Series, rows: pl.Series, values: pl.Series) -> pl.Series:
    """Return the texts with those at these places exchanged; the column given stays as it was."""
    return texts.clone().scatter(rows, values) if len(rows) else texts


def has_only(texts: pl.Series, kinds: Sequence[str], masks: Sequence[str] = ()) -> pl.Series:
    """Return whether each text is nothing but things of these kinds; a text of white space alone is not.

    Kinds are those above and `emoji`, `signs` (punctuation and symbols) and `digits`; `masks` are further
    words that stand for such things.
    """
    rest = remove_kinds(texts, kinds, masks)
    if "digits" in kinds:
        rest = rest.str.replace_all(r"\p{N}+", " ")
    if "emoji" in kinds:
        rest = _without_emoji(rest)
    if "signs" in kinds:
        rest = rest.str.replace_all(r"[\p{P}\p{S}\p{M}\p{Cf}]+", "")
    return (texts.str.contains(r"\S") & ~rest.str.contains(r"\S")).fill_null(False)


def remove_kinds(
    texts: pl.Series, kinds: Sequence[str] = ("urls", "mentions", "emails"), masks: Sequence[str] = ()
) -> pl.Series:
    """Return the texts without things of these kinds and without the words that stand for them."""
    stand = sorted({*masks, *(mask for kind in kinds for mask in MASKS.get(kind, ()))}, key=len, reverse=True)
    if stand:
        texts = texts.str.replace_many(stand, [" "] * len(stand))
    for kind in kinds:
        if kind in KINDS:
            texts = replace_kind(texts, kind, " ")
    return texts


def _without_emoji(rest: pl.Series) -> pl.Series:
    """Return texts without their emoji; those with a letter, which are most, are left as they are."""
    import polars as pl

    rows = (~rest.str.contains(r"\p{L}") & rest.str.contains(r"[^\x00-\x7f]")).fill_null(False).arg_true()
    if not len(rows):
        return rest
    stripped = [emoji.replace(text, "").strip("\ufe0f\u200d ") for text in rest.gather(rows)]
    return scatter_rows(rest, rows, pl.Series(stripped, dtype=pl.String))
