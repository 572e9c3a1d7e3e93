"""Filter posts by a rule in the syntax of X's stream.

A rule's text and a frame of records in, yes or no for each record out, a column
at a time. Words match whole, as people write them: case, `ä` or `ae` and
drawn-out letters make no difference. What a record does not say (null) is no,
save the language: where it is missing it is detected, and only for posts that
match all else.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from davy.core.errors import UserError
from davy.corpus.collect.rule_parse import (
    SERVER_ONLY,
    AllNode,
    AnyNode,
    MentionNode,
    Node,
    NotNode,
    OperatorNode,
    TagNode,
    WordsNode,
    parse,
)
from davy.text.column_match import ColumnMatcher, fold_series
from davy.text.emoji import count as count_emoji
from davy.text.lexicons.read import LexiconEntry

SURE = 0.5
"""A detected language counts from this probability on."""
SHORT = 200
_WORDY = re.compile(r"[^\W_]")
_LINK = r"(?i)\bhttps?://|\bwww\.\w|\b(?:t\.co|bit\.ly|youtu\.be)/\w"
_TAG = r"(?:^|[^\p{L}\p{N}_&/])[#＃]([\p{L}\p{N}_]+)"
_MENTION = r"(?:^|[^\p{L}\p{N}_/.])@([A-Za-z0-9_](?:[\w.\-]*\w)?)"
_CASHTAG = r"(?:^|\s)\$[A-Za-z]{1,6}\b"
_SHOWS = {"links": _LINK, "hashtags": _TAG, "mentions": _MENTION, "cashtags": _CASHTAG}
_FLAGS: dict[tuple[str, str], str] = {
    ("is", "retweet"): "retweet",
    ("is", "reply"): "reply",
    ("is", "quote"): "quote",
    ("filter", "retweets"): "retweet",
    ("filter", "replies"): "reply",
    ("filter", "quote"): "quote",
    ("has", "media"): "media",
    ("has", "images"): "images",
    ("has", "videos"): "videos",
    ("filter", "media"): "media",
    ("filter", "images"): "images",
    ("filter", "videos"): "videos",
}


@dataclass(frozen=True)
class FilterRule:
    """A rule that was read. `matches` asks for the columns of `davy.corpus.collect.records`; missing ones are null."""

    text: str
    tree: Node

    @staticmethod
    def of(text: str, *, archive: bool = True) -> FilterRule:
        """Return the rule; a fault in it is an error with a caret, and so is what no archive can tell (`archive`)."""
        rule = FilterRule(text, parse(text))
        if archive:
            _ = rule._plan
        return rule

    @property
    def shown(self) -> str:
        """The rule in one line; a long one as its start and a digest, which tells two long rules apart."""
        line = " ".join(self.text.split())
        if len(line) <= SHORT:
            return line
        return f"{line[: SHORT - 24].rstrip()}… (sha256 {hashlib.sha256(line.encode()).hexdigest()[:12]})"

    def matches(self, records: pl.DataFrame) -> pl.Series:
        """Return for each record whether the rule matches it."""
        return self._plan.holds(records)

    @cached_property
    def _plan(self) -> _Part:
        return _part(self.tree)


class _Part:
    """A piece of a rule made ready; `cost` orders the pieces that must all match, dear ones last."""

    cost = 1

    def holds(self, records: pl.DataFrame) -> pl.Series:
        """Return yes or no for each record."""
        raise NotImplementedError


class _AnyTerm(_Part):
    """Keywords and phrases of which one must be there: one automaton however many they are."""

    def __init__(self, words: list[str]) -> None:
        self._terms = ColumnMatcher([LexiconEntry(word) for word in words if _WORDY.search(word)])
        self._signs = [word for word in words if not _WORDY.search(word)]  # emoji and signs: taken as they stand

    def holds(self, records: pl.DataFrame) -> pl.Series:
        found = self._terms.contains_any(records["text"]) if len(self._terms) else _no(records)
        return found | records["text"].str.contains_any(self._signs).fill_null(False) if self._signs else found


class _Among(_Part):
    """Hashtags or mentions of which one must be there, whatever their case."""

    cost = 2

    def __init__(self, pattern: str, names: list[str]) -> None:
        self._pattern = pattern
        self._names = fold_series(pl.Series([name.replace("_", "").replace(".", "") for name in names])).to_list()

    def holds(self, records: pl.DataFrame) -> pl.Series:
        sign = "[#＃]" if self._pattern == _TAG else "@"
        rows = records["text"].str.contains(sign).fill_null(False).arg_true()
        if not len(rows):
            return _no(records)
        found = records["text"].gather(rows).to_frame("t").select(pl.col("t").str.extract_all(self._pattern))
        each = found.with_row_index("row").explode("t", empty_as_null=True).drop_nulls()
        names = fold_series(each["t"].str.extract(self._pattern, 1).str.replace_all(r"[_.]", ""))
        hit = each.filter(names.is_in(self._names))["row"].unique()
        return _no(records).scatter(rows.gather(hit), True) if len(hit) else _no(records)


class _Says(_Part):
    """An operator: what the record says of itself, or what its text shows."""

    def __init__(self, operator: OperatorNode) -> None:
        self._name, self._value = operator.name, operator.value
        if (written := f"{self._name}:{self._value}") in SERVER_ONLY or f"{self._name}:" in SERVER_ONLY:
            raise UserError(f"Only X itself can tell {written[:60]}; an archive can't. Leave it out of the rule.")
        self.cost = {"lang": 9, "has": 3}.get(operator.name, 0)

    def holds(self, records: pl.DataFrame) -> pl.Series:
        if (self._name, self._value) in _FLAGS:
            return _column(records, _FLAGS[self._name, self._value], pl.Boolean).fill_null(False)
        text = records["text"]
        if self._name in ("has", "filter") and self._value in _SHOWS:
            pattern = _SHOWS[self._value]
            shown = text.str.contains(pattern).fill_null(False)
            return shown | _column(records, "links", pl.Boolean).fill_null(False) if self._value == "links" else shown
        if self._value == "emoji" and self._name == "has":
            return pl.Series([bool(value and count_emoji(value)) for value in text], dtype=pl.Boolean)
        return getattr(self, f"_{self._name}")(records)  # type: ignore[no-any-return]

    def _from(self, records: pl.DataFrame) -> pl.Series:
        wanted = self._value.lstrip("@").casefold()
        names, keys = _column(records, "author"), _column(records, "author_id")
        return (names.str.to_lowercase() == wanted).fill_null(False) | (keys == self._value).fill_null(False)

    def _to(self, records: pl.DataFrame) -> pl.Series:
        wanted = self._value.lstrip("@").casefold()
        matches = (_column(records, "to").str.to_lowercase() == wanted).fill_null(False)
        return matches | records["text"].str.contains(rf"(?i)^\s*@{re.escape(wanted)}\b").fill_null(False)

    def _url(self, records: pl.DataFrame) -> pl.Series:
        wanted = self._value.lower()
        matches = _column(records, "urls").str.to_lowercase().str.contains(wanted, literal=True).fill_null(False)
        inner = records["text"].str.extract_all(r"(?i)(?:https?://|www\.)\S+").list.join(" ").str.to_lowercase()
        return matches | inner.str.contains(wanted, literal=True).fill_null(False)

    def _in_reply_to_tweet_id(self, records: pl.DataFrame) -> pl.Series:
        return (_column(records, "reply_to") == f"x:{self._value.removeprefix('x:')}").fill_null(False)

    def _retweets_of(self, records: pl.DataFrame) -> pl.Series:
        wanted = re.escape(self._value.lstrip("@"))
        return records["text"].str.contains(rf"(?i)^RT @{wanted}\b").fill_null(False)

    def _conversation_id(self, records: pl.DataFrame) -> pl.Series:
        return (_column(records, "conversation") == self._value).fill_null(False)

    def _platform(self, records: pl.DataFrame) -> pl.Series:
        return (_column(records, "platform").str.to_lowercase() == self._value).fill_null(False)

    def _community(self, records: pl.DataFrame) -> pl.Series:
        wanted = self._value.casefold().removeprefix("r/")
        return (_column(records, "community").str.to_lowercase() == wanted).fill_null(False)

    _subreddit = _community

    def _since(self, records: pl.DataFrame) -> pl.Series:
        return (_column(records, "time") >= _moment(self._value)).fill_null(False)

    def _until(self, records: pl.DataFrame) -> pl.Series:
        return (_column(records, "time") < _moment(self._value)).fill_null(False)

    def _lang(self, records: pl.DataFrame) -> pl.Series:
        from davy.text.language import detect_many

        languages = _column(records, "lang").str.to_lowercase().str.split("-").list.first()
        unknown = (languages.is_null() | languages.is_in(["und", "", "qme", "qht", "zxx"])).arg_true()
        if len(unknown):
            found = detect_many(records["text"].gather(unknown))
            languages = languages.scatter(unknown, [lang if share >= SURE else "und" for lang, share in found])
        return (languages == self._value.split("-")[0]).fill_null(False)


class _None(_Part):
    def __init__(self, part: _Part) -> None:
        self._part, self.cost = part, part.cost

    def holds(self, records: pl.DataFrame) -> pl.Series:
        return ~self._part.holds(records)


class _Every(_Part):
    """Parts that must all hold; each looks only at the records that those before it left."""

    def __init__(self, parts: list[_Part]) -> None:
        self._parts = sorted(parts, key=lambda part: part.cost)
        self.cost = max(part.cost for part in parts)

    def holds(self, records: pl.DataFrame) -> pl.Series:
        rows = pl.int_range(len(records), eager=True, dtype=pl.UInt32)
        for part in self._parts:
            if not len(rows):
                break
            rows = rows.filter(part.holds(records if len(rows) == len(records) else records[rows]))
        return _no(records).scatter(rows, True) if len(rows) else _no(records)


class _Some(_Part):
    def __init__(self, parts: list[_Part]) -> None:
        self._parts = sorted(parts, key=lambda part: part.cost)
        self.cost = max(part.cost for part in parts)

    def holds(self, records: pl.DataFrame) -> pl.Series:
        found = self._parts[0].holds(records)
        for part in self._parts[1:]:
            rest = (~found).arg_true()
            if len(rest):
                found = found.scatter(rest, part.holds(records[rest]))
        return found


def _part(node: Node) -> _Part:
    match node:
        case WordsNode(text):
            return _AnyTerm([text])
        case TagNode(name):
            return _Among(_TAG, [name])
        case MentionNode(name):
            return _Among(_MENTION, [name])
        case OperatorNode():
            return _Says(node)
        case NotNode(part):
            return _None(_part(part))
        case AllNode(parts):
            return _Every([_part(part) for part in parts])
        case AnyNode(parts):
            return _gathered(parts)


def _gathered(parts: tuple[Node, ...]) -> _Part:
    """Return an OR with all its words, tags and mentions looked for at once."""
    words = [part.text for part in parts if isinstance(part, WordsNode)]
    tags = [part.name for part in parts if isinstance(part, TagNode)]
    mentions = [part.name for part in parts if isinstance(part, MentionNode)]
    made: list[_Part] = [_AnyTerm(words)] if words else []
    made += [_Among(_TAG, tags)] if tags else []
    made += [_Among(_MENTION, mentions)] if mentions else []
    made += [_part(part) for part in parts if not isinstance(part, WordsNode | TagNode | MentionNode)]
    return made[0] if len(made) == 1 else _Some(made)


def _no(records: pl.DataFrame) -> pl.Series:
    return pl.Series([False], dtype=pl.Boolean).new_from_index(0, len(records))


def _column(records: pl.DataFrame, name: str, dtype: type[pl.DataType] = pl.String) -> pl.Series:
    """Return a column, or nulls where the records have none."""
    if name not in records.columns:
        return pl.Series(name, [None], dtype=dtype).new_from_index(0, len(records))
    return records[name].cast(dtype) if records.schema[name] != dtype else records[name]


def _moment(value: str) -> str:
    """Return a rule's day or time as the times of records are spelt, which sort as text."""
    day, _, clock = value.replace("_", "T").rstrip("Z").partition("T")
    clock = clock or "00:00:00"
    return f"{day}T{clock if clock.count(':') == 2 else clock + ':00'}Z"
