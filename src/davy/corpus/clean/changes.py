"""Steps of a recipe that change texts and drop nothing; their fields are their parameters.

A column of texts in, a column of texts out, nulls left null. They look at one
post at a time, so they run in any process.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from davy.text import post_entities

if TYPE_CHECKING:
    import polars as pl

# Texts that `tidy` leaves alone: ASCII, single spaces, at most one empty line. The others are few.
_UNTIDY = r"[^\x20-\x7e\n]|  | \n|\n |\n\n\n|^[ \n]|[ \n]$"


class ChangeStep:
    """A step that changes texts."""

    def changed(self, texts: pl.Series) -> pl.Series:
        """Return the texts after the step."""
        raise NotImplementedError


@dataclass(frozen=True)
class UnifySpace(ChangeStep):
    """Plain spaces and line breaks, no control or stray invisible characters, NFC; emoji stay whole."""

    one_line: bool = False

    def changed(self, texts: pl.Series) -> pl.Series:
        """Return the texts tidied; only those that need it are taken out of polars."""
        from davy.text.normalise import tidy

        pattern = f"{_UNTIDY}|\n" if self.one_line else _UNTIDY
        rows = texts.str.contains(pattern).fill_null(False).arg_true()
        return _change_rows(texts, rows, lambda text: tidy(text, one_line=self.one_line))


@dataclass(frozen=True)
class RemoveControls(ChangeStep):
    """No control characters; line breaks and tabs become spaces, for they part words."""

    def changed(self, texts: pl.Series) -> pl.Series:
        """Return the texts without control characters."""
        return texts.str.replace_all(r"[\t\n\x0b\x0c\r\x{85}]+", " ").str.replace_all(r"\p{Cc}+", "")


@dataclass(frozen=True)
class DecodeEntities(ChangeStep):
    """`&amp;` becomes `&`, `&#128512;` the emoji it stands for."""

    def changed(self, texts: pl.Series) -> pl.Series:
        """Return the texts with HTML entities decoded."""
        rows = texts.str.contains(r"&[#\w]+;").fill_null(False).arg_true()
        return _change_rows(texts, rows, html.unescape)


class _Replace(ChangeStep):
    """Everything of one kind replaced by the same word, or removed where there is none."""

    kind: ClassVar[str]
    with_: str = ""

    def changed(self, texts: pl.Series) -> pl.Series:
        """Return the texts with everything of the kind replaced."""
        return post_entities.replace_kind(texts, self.kind, self.with_)


class _Mask(_Replace):
    def __post_init__(self) -> None:
        if not self.with_.strip():
            raise ValueError("a mask needs a word. To remove, use the step that starts with remove-")


@dataclass(frozen=True)
class MaskUrls(_Mask):
    """Links become one word."""

    kind = "urls"
    with_: str = "[URL]"


@dataclass(frozen=True)
class RemoveUrls(_Replace):
    """Links go."""

    kind = "urls"


@dataclass(frozen=True)
class MaskMentions(_Mask):
    """Names of users become one word: `@name`, `@name@server`, `u/name`."""

    kind = "mentions"
    with_: str = "[USER]"


@dataclass(frozen=True)
class RemoveMentions(_Replace):
    """Names of users go."""

    kind = "mentions"


@dataclass(frozen=True)
class MaskEmoji(ChangeStep):
    """Emoji become one word, each sequence whole."""

    with_: str = "[EMOJI]"

    def __post_init__(self) -> None:
        if not self.with_.strip():
            raise ValueError("a mask needs a word")

    def changed(self, texts: pl.Series) -> pl.Series:
        """Return the texts with each emoji replaced; only those that can hold one are taken out of polars."""
        from davy.text import emoji

        rows = texts.str.contains(r"[^\x00-\x7f]|\x{20e3}").fill_null(False).arg_true()
        return _change_rows(texts, rows, lambda text: emoji.replace(text, self.with_))


@dataclass(frozen=True)
class MaskEmails(_Mask):
    """E-mail addresses become one word."""

    kind = "emails"
    with_: str = "[EMAIL]"


@dataclass(frozen=True)
class MaskPhones(_Mask):
    """Phone numbers become one word."""

    kind = "phones"
    with_: str = "[PHONE]"


@dataclass(frozen=True)
class MaskHashtags(_Mask):
    """Hashtags become one word."""

    kind = "hashtags"
    with_: str = "[HASHTAG]"


@dataclass(frozen=True)
class RemoveHashtags(_Replace):
    """Hashtags go, their words with them."""

    kind = "hashtags"


@dataclass(frozen=True)
class MaskNames(ChangeStep):
    """Names of people become one word: after a title, and from a known given name on. `names` are more of these."""

    with_: str = "[NAME]"
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.with_.strip():
            raise ValueError("a mask needs a word")

    def changed(self, texts: pl.Series) -> pl.Series:
        """Return the texts with the names replaced that can be found; only those with a capital are looked at."""
        from davy.text.person_names import mask_names

        rows = texts.str.contains(r"\p{Lu}").fill_null(False).arg_true()
        return _change_rows(texts, rows, lambda text: mask_names(text, self.with_, self.names))


def _change_rows(texts: pl.Series, rows: pl.Series, change: Callable[[str], str]) -> pl.Series:
    """Return the texts with those at these places changed one by one."""
    import polars as pl

    return post_entities.scatter_rows(
        texts, rows, pl.Series([change(text) for text in texts.gather(rows)], dtype=pl.String)
    )
