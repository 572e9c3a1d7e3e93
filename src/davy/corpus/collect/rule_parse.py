"""Read a filter rule in the syntax of X's stream: text in, a tree out, faults pointed at with a caret.

`(a OR "b c" OR #tag) lang:de -is:retweet`: a space means and, which binds
tighter than OR; `-` before anything negates it; line breaks are spaces. A rule
printed as a numbered listing is read without its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from davy.core.errors import UserError, nearest

WIDTH = 76
"""How much of a long rule an error shows around the fault."""
DEEPEST = 100
LONGEST = 1_000_000

VALUES: dict[str, tuple[str, ...] | None] = {
    "from": None,
    "to": None,
    "lang": None,
    "url": None,
    "conversation_id": None,
    "in_reply_to_tweet_id": None,
    "retweets_of": None,
    "platform": None,
    "community": None,
    "subreddit": None,
    "since": None,
    "until": None,
    "is": ("retweet", "reply", "quote", "verified", "nullcast"),
    "has": ("links", "media", "images", "videos", "hashtags", "mentions", "cashtags", "emoji", "geo"),
    "filter": ("links", "media", "images", "videos", "hashtags", "mentions", "retweets", "replies", "quote"),
}
"""What can stand before a colon, and what after it; None is anything."""
SERVER_ONLY: tuple[str, ...] = (
    "is:verified", "is:nullcast", "has:geo", "place:", "place_country:", "context:", "entity:", "sample:", "bio:",
    "bio_name:", "bio_location:",
)  # fmt: skip
"""What only X itself can tell: fine in a rule for its stream, an error over archives."""
VALUES |= {name.rstrip(":"): None for name in SERVER_ONLY if name.endswith(":")}


@dataclass(frozen=True, slots=True)
class WordsNode:
    """A keyword or phrase: these words, one after the other."""

    text: str


@dataclass(frozen=True, slots=True)
class TagNode:
    """A hashtag, without its `#`."""

    name: str


@dataclass(frozen=True, slots=True)
class MentionNode:
    """A mentioned account, without its `@`."""

    name: str


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """`name:value`."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class NotNode:
    """What must not match."""

    part: Node


@dataclass(frozen=True, slots=True)
class AllNode:
    """Parts that must all match."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyNode:
    """Parts of which one must match."""

    parts: tuple[Node, ...]


Node = WordsNode | TagNode | MentionNode | OperatorNode | NotNode | AllNode | AnyNode


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    quoted: bool = False


_TOKEN = re.compile(
    r'(?P<space>\s+)|(?P<open>\()|(?P<close>\))|(?P<minus>-(?=[^\s)]))|(?P<phrase>"(?:[^"\\]|\\.)*")'
    r'|(?P<operator>[A-Za-z_]+:(?:"(?:[^"\\]|\\.)*"|[^\s()"]*))|(?P<tag>[#＃][^\s()"]*)|(?P<mention>@[^\s()"]*)'
    r'|(?P<word>[^\s()"]+)'
)
_LISTING = re.compile(r"[ \t]*(?:-[ \t]+)?(\d+)[ \t]+(?=\S)")


def parse(text: str) -> Node:
    """Return the tree of a rule; a fault is an error whose second and third line show where it is."""
    if len(text) > LONGEST:
        raise UserError(f"The rule has {len(text):,} characters; at most {LONGEST:,}. Split it into several rules.")
    return _Parser(text, _tokens(_unnumbered(text), text)).rule()


def _unnumbered(text: str) -> str:
    """Return a listing with blanks for its line numbers, so that places stay; any other rule as it is."""
    lines = text.splitlines(keepends=True)
    full = [line for line in lines if line.strip()]
    found = [_LISTING.match(line) for line in full]
    if len(full) < 2 or [match and match[1] for match in found] != [str(n) for n in range(1, len(full) + 1)]:
        return text
    return "".join(_LISTING.sub(lambda match: " " * len(match[0]), line, count=1) for line in lines)


def _tokens(text: str, shown: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise rule_error(shown, place, "This quote is never closed. Add another one behind the phrase")
        if match.lastgroup != "space":
            tokens.append(_Token(match.lastgroup, match[0], place))
        place = match.end()
    return tokens


class _Parser:
    """One pass over the tokens, a method for each level of the grammar."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text, self._tokens, self._at, self._deep = text, tokens, 0, 0

    def rule(self) -> Node:
        """Return the tree of the whole rule."""
        if not self._tokens:
            raise UserError('The rule is empty. Give at least one word, such as: --rule "word lang:de"')
        node = self._any()
        if (rest := self._next()) is not None:
            raise rule_error(self._text, rest.start, "This bracket closes nothing. Take it out, or open one before it")
        return node

    def _next(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _any(self) -> Node:
        parts = [self._all()]
        while (token := self._next()) is not None and _is(token, "OR"):
            self._at += 1
            parts.append(self._all(after=token))
        return parts[0] if len(parts) == 1 else AnyNode(tuple(parts))

    def _all(self, after: _Token | None = None) -> Node:
        parts: list[Node] = []
        while (token := self._next()) is not None and token.kind != "close" and not _is(token, "OR"):
            parts.append(self._one())
        if parts:
            return parts[0] if len(parts) == 1 else AllNode(tuple(parts))
        here = after or self._next()
        place = len(self._text.rstrip()) if here is None else here.start
        if after is not None:
            raise rule_error(self._text, place, "Nothing follows this OR. Add a word behind it, or take it out")
        if here is not None and _is(here, "OR"):
            raise rule_error(self._text, place, "Nothing stands before this OR. Add a word before it, or take it out")
        raise rule_error(self._text, place, "Nothing stands in these brackets. Add a word, or take them out")

    def _one(self) -> Node:
        token = self._tokens[self._at]
        self._at += 1
        makers: dict[str, Callable[[_Token], Node]] = {
            "minus": self._not,
            "open": self._group,
            "phrase": self._phrase,
            "operator": self._operator,
            "tag": self._tag,
            "mention": self._mention,
            "word": self._word,
        }
        return makers[token.kind](token)

    def _not(self, minus: _Token) -> Node:
        token = self._next()
        if token is None or token.kind in ("close", "minus") or _is(token, "OR"):
            raise rule_error(
                self._text, minus.start, "This minus stands before nothing. Put a word or a bracket behind it"
            )
        return NotNode(self._one())

    def _group(self, bracket: _Token) -> Node:
        self._deep += 1
        if self._deep > DEEPEST:
            raise rule_error(
                self._text, bracket.start, f"More than {DEEPEST} brackets inside each other. Take some out"
            )
        node = self._any()
        token = self._next()
        if token is None:
            raise rule_error(self._text, bracket.start, "This bracket is never closed. Add ) where it should end")
        self._at += 1
        self._deep -= 1
        return node

    def _phrase(self, token: _Token) -> Node:
        inner = _unquoted(token.text)
        if not inner.strip():
            raise rule_error(self._text, token.start, "These quotes hold nothing. Add a phrase, or take them out")
        return WordsNode(inner)

    def _operator(self, token: _Token) -> Node:
        name, _, value = token.text.partition(":")
        known, value = name.lower(), _unquoted(value)
        if known not in VALUES:
            hint = nearest(known, list(VALUES))
            raise rule_error(
                self._text, token.start,
                f"There is no {name[:30]}: in rules; known are {', '.join(f'{n}:' for n in VALUES)}.{hint}"
                " To look for the words, put them in quotes",
            )  # fmt: skip
        choices = VALUES[known]
        place = token.start + len(name) + 1
        if not value:
            raise rule_error(self._text, place, f"Nothing follows {known}: here. Put a value right behind the colon")
        if choices is not None and value.lower() not in choices:
            hint = nearest(value.lower(), list(choices))
            raise rule_error(self._text, place, f"{known}: takes {', '.join(choices)}.{hint}")
        if known in ("since", "until") and not re.fullmatch(r"\d{4}-\d\d-\d\d([T_]\d\d:\d\d(:\d\d)?Z?)?", value):
            raise rule_error(self._text, place, f"{known}: takes a day such as 2022-03-16, or a time 2022-03-16T12:00Z")
        return OperatorNode(known, value.lower() if choices or known in ("lang", "platform") else value)

    def _tag(self, token: _Token) -> Node:
        if not token.text[1:].strip("#＃"):
            raise rule_error(self._text, token.start, "This # stands alone. Put the tag right behind it")
        return TagNode(token.text.lstrip("#＃"))

    def _mention(self, token: _Token) -> Node:
        if not token.text[1:].strip("@"):
            raise rule_error(self._text, token.start, "This @ stands alone. Put the name right behind it")
        return MentionNode(token.text.lstrip("@"))

    def _word(self, token: _Token) -> Node:
        if token.text in ("AND", "NOT"):
            ask = "a space means and: leave it out" if token.text == "AND" else "write - before what must not match"
            raise rule_error(self._text, token.start, f"{token.text} is no operator here; {ask}")
        if token.text == "-":
            raise rule_error(
                self._text, token.start, "This minus stands before nothing. Put a word or a bracket behind it"
            )
        return WordsNode(token.text)


def _is(token: _Token, word: str) -> bool:
    return token.kind == "word" and token.text == word


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if len(text) > 1 and text[0] == text[-1] == '"' else text


def rule_error(text: str, place: int, what: str) -> UserError:
    """Return the error: what is wrong, then the rule's line with a caret under the place; hurtful words masked."""
    from davy.text.mask import mask

    line_start = text.rfind("\n", 0, place) + 1
    line_end = text.find("\n", place)
    line = mask(text[line_start : len(text) if line_end < 0 else line_end].replace("\t", " ").rstrip("\r"))
    column = place - line_start
    left = max(0, min(column - WIDTH // 2, len(line) - WIDTH))
    cut = line[left : left + WIDTH]
    before, after = "…" if left else "", "…" if left + WIDTH < len(line) else ""
    number = f"line {text.count(chr(10), 0, place) + 1}, " if "\n" in text.strip() else ""
    return UserError(
        f"The rule, {number}column {column + 1}: {what.rstrip('.')}.\n"
        f"  {before}{cut}{after}\n  {' ' * (len(before) + column - left)}^"
    )
