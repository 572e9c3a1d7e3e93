"""Read word lists: the masking lexicon and harmless fill-ins that we ship, and plain text files of a user's.

A name or a path in, a `Lexicon` out. The shipped files of hurtful words are encoded line by line (rot13, then base64),
so that nobody meets the words by browsing the repository, and a change to one entry is a change to one line. Fill-ins
are names, places and the like by language: suites take them for slots, and swaps put one in another's place.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from davy.core.errors import UserError, nearest
from davy.files import yaml_nodes
from davy.files.atomic import read_text
from davy.files.yaml_nodes import Problems, YamlList, YamlMap

SHIPPED: tuple[str, ...] = ("en", "de")
KINDS: tuple[str, ...] = ("slur", "profanity", "sexual", "insult", "harmless", "term")
MODES: tuple[str, ...] = ("word", "start", "end", "inside")
LONGEST_TERM = 200
LARGEST_FILE = 50_000_000


@dataclass(frozen=True, slots=True)
class LexiconEntry:
    """One term. `mode` says where in a longer word it may match; `harmless` entries protect words that contain others.

    `inflect` names the endings that count as the same word: `s`, `noun`,
    `verb`, `adj` or nothing. `only` is the language a text must not
    contradict, for words that mean something harmless in the other one.
    """

    term: str
    kind: str = "term"
    lang: str = ""
    mode: str = "word"
    inflect: str = ""
    only: str = ""
    weight: float = 1.0
    label: str = ""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Entries under a name. Compared by identity, so that what was compiled from one can be kept beside it."""

    name: str
    entries: tuple[LexiconEntry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[LexiconEntry]:
        return iter(self.entries)

    @staticmethod
    def of(*terms: str | LexiconEntry, name: str = "made here") -> Lexicon:
        """Return a lexicon of whole words, or of the entries given."""
        return Lexicon(name, tuple(term if isinstance(term, LexiconEntry) else LexiconEntry(term) for term in terms))


def load(name_or_path: str | Path) -> Lexicon:
    """Return a shipped lexicon (`en`, `de`, `masking` for both) or the one in a text file."""
    name = str(name_or_path)
    if name in (*SHIPPED, "masking"):
        return _shipped(name)
    path = Path(name_or_path)
    if not path.exists() and path.suffix == "" and "/" not in name:
        known = [*SHIPPED, "masking"]
        raise UserError(f"No lexicon {name!r}: give a file or one of {', '.join(known)}.{nearest(name, known)}")
    return Lexicon(path.stem, tuple(_plain(path)))


@cache
def _shipped(name: str) -> Lexicon:

    entries: list[LexiconEntry] = []
    for lang in SHIPPED if name == "masking" else (name,):
        text = resources.files("davy.text.lexicons").joinpath(f"{lang}.lexicon").read_text("ascii")
        lines = (decode_line(line) for line in text.splitlines() if line and not line.startswith("#"))
        entries.extend(parse_entry(line, lang) for line in lines)
    return Lexicon(name, tuple(entries))


def parse_entry(line: str, lang: str) -> LexiconEntry:
    """Return the entry of a decoded line: term, kind, mode, inflection, only; tabs between, the last three optional."""
    term, kind, mode, inflect, only = (*line.split("\t"), "", "", "", "")[:5]
    mode = mode or "word"
    if not term or kind not in KINDS or mode not in MODES:
        raise ValueError(f"entry with kind {kind!r} and mode {mode!r}: kinds are {KINDS}, modes {MODES}")
    return LexiconEntry(term, kind, lang, mode, inflect, only)


def _plain(path: Path) -> Iterator[LexiconEntry]:
    """Yield the entries of a text file: a term a line, `#` comments, then a weight and a label after tabs."""
    found = 0
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        term, *rest = (cell.strip() for cell in line.split("\t"))
        where = f"{path}, line {number}"
        if not term or len(rest) > 2:
            raise UserError(f"{where}: expected a term, then at most a weight and a label after tabs.")
        if len(term) > LONGEST_TERM:
            raise UserError(f"{where}: a term of {len(term)} characters; at most {LONGEST_TERM}. One term a line.")
        found += 1
        yield LexiconEntry(term, weight=_weight(rest[0] if rest else "", where), label=rest[1] if len(rest) > 1 else "")
    if not found:
        raise UserError(f"{path} has no terms. Write one term a line; lines that start with # are comments.")


def _weight(cell: str, where: str) -> float:
    if not cell:
        return 1.0
    try:
        weight = float(cell.replace(",", "."))
    except ValueError:
        raise UserError(f"{where}: the second column is the weight, a number such as 0.5.") from None
    if not abs(weight) < float("inf"):
        raise UserError(f"{where}: a weight must be a finite number.")
    return weight


def _lines(path: Path) -> Iterable[str]:
    if path.is_file() and path.stat().st_size > LARGEST_FILE:
        raise UserError(f"{path} has {path.stat().st_size} bytes; a word list has at most {LARGEST_FILE}.")
    text = read_text(path, "word list")
    if "\0" in text:
        raise UserError(f"{path} holds NUL bytes, so it is not a text file. Give one term a line.")
    return text.splitlines()


ENCODED_HEADER = """\
# Davy's masking lexicon, {lang}. Words that hurt, kept so that people are not shown them unasked.
# Encoded line by line so that nobody meets them by browsing. To look or to change:
#   python -m davy.text.lexicons decode {lang} > FILE     (shows them in clear; keep FILE out of the repository)
#   python -m davy.text.lexicons encode {lang} < FILE
# Compiled by the Davy developers from general knowledge. Apache-2.0.
"""


def encode_line(line: str) -> str:
    """Return one line of clear text, encoded."""
    return base64.b64encode(codecs.encode(line, "rot13").encode()).decode()


def decode_line(line: str) -> str:
    """Return one encoded line in clear."""
    return codecs.decode(base64.b64decode(line, validate=True).decode(), "rot13")


def encode_lexicon(text: str, lang: str) -> str:
    """Return a lexicon file: the header, then every entry once, sorted and encoded."""
    lines = sorted({line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#")})
    return ENCODED_HEADER.format(lang=lang) + "".join(encode_line(line) + "\n" for line in lines)


@cache
def fill_ins(lang: str) -> dict[str, tuple[str, ...]]:
    """Return the lists of a language by kind; a language without any has none."""
    problems = Problems("fill_ins.yaml", what="list of fill-ins")
    text = resources.files("davy.text.lexicons").joinpath("fill_ins.yaml").read_text("utf-8")
    root = yaml_nodes.parse_tree(text, problems)
    problems.raise_first()
    kinds = root.get(lang) if isinstance(root, YamlMap) else None
    if not isinstance(kinds, YamlMap):
        return {}
    return {str(kind): tuple(map(str, words)) for kind, words in kinds.items() if isinstance(words, YamlList)}


def fill_in(lang: str, kind: str) -> tuple[str, ...]:
    """Return one list; a kind that there isn't is an error that names the others."""
    known = fill_ins(lang)
    if kind not in known:
        kinds = ", ".join(known) or "none in this language"
        raise UserError(f"Davy ships no fill-ins {kind!r} for {lang!r}; it has {kinds}.{nearest(kind, list(known))}")
    return known[kind]
