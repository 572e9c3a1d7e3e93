"""Mask hurtful words for display: the first vowel becomes `*`.

Text in, text of the same length out. Every door shows texts through this; a
click or `--plain` shows them as they are. It protects eyes, it does not
detect: what it leaves alone may still be hateful.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

    from davy.text.lexicons.read import Lexicon
    from davy.text.match import Span


class Segment(NamedTuple):
    """A piece of a text, and whether it is a hurtful word; `mask(segment.text)` is what to show first."""

    text: str
    hurtful: bool


def mask(text: str, lexicon: Lexicon | None = None) -> str:
    """Return the text with the first vowel of every hurtful word as `*`; all else and the length stay.

    A stretched vowel is covered whole, a word without a vowel at its second
    letter. Masking twice is masking once. Cost grows with the length alone.
    """
    for _ in range(4):  # a word can come to light only when another one was covered: once, in practice
        spans = _find(text, lexicon)
        if not spans:
            break
        chars = list(text)
        for span in spans:
            for position in span.covered:
                chars[position] = "*"
        text = "".join(chars)
    return text


def mask_segments(text: str, lexicon: Lexicon | None = None) -> list[Segment]:
    """Return the text in pieces, hurtful words apart, so that a page can show one on a click.

    The pieces are plain text: joined they are the text, and a page must escape each.
    """
    segments: list[Segment] = []
    last = 0
    for span in _find(text, lexicon):
        if span.start > last:
            segments.append(Segment(text[last : span.start], False))
        segments.append(Segment(text[span.start : span.end], True))
        last = span.end
    if last < len(text):
        segments.append(Segment(text[last:], False))
    return segments


def mask_series(series: pl.Series, lexicon: Lexicon | None = None) -> pl.Series:
    """Return a text column masked; nulls stay null."""
    import polars as pl

    return pl.Series(series.name, [None if text is None else mask(text, lexicon) for text in series], dtype=pl.String)


def mask_frame(frame: pl.DataFrame, columns: list[str] | None = None, lexicon: Lexicon | None = None) -> pl.DataFrame:
    """Return the frame with the named columns masked, or all of its text columns."""
    import polars as pl

    names = columns if columns is not None else [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(mask_series(frame[name], lexicon) for name in names)


class MaskFilter(logging.Filter):
    """Masks every log record that passes, arguments and traceback included. Add it to handlers, not to loggers.

    A logger's own filter sees only what is logged on that logger; a handler's sees everything that it writes.
    """

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        super().__init__()
        self._lexicon = lexicon

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record in place and let it pass."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # a broken format: let logging report it, but not with the arguments
            message = str(record.msg)
        record.msg, record.args = mask(message, self._lexicon), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = mask(record.exc_text, self._lexicon)
        return True


def _find(text: str, lexicon: Lexicon | None) -> list[Span]:
    from davy.text.lexicons.read import load
    from davy.text.match import matcher

    return matcher(lexicon or load("masking")).find(text)
