"""Find a lexicon's words in a text as people write them.

A text and a lexicon in, spans of the text out. One automaton runs over folded
readings of the text in which letters are plain, runs of a letter are one
letter and everything else is one space; word boundaries are spaces inside the
patterns. What the automaton finds is then held against the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from davy.text.lexicons.read import Lexicon, LexiconEntry
from davy.text.normalise import LOOK_ALIKES
from davy.text.text_variants import SQUEEZED, STAR, TextVariant, letters, squeeze, text_variants
from davy.text.words import inflected_forms

VOWELS = frozenset("aeiou")
_FOREIGN = frozenset(char for char in LOOK_ALIKES if "\u0370" <= char <= "\u058f" or "\u13a0" <= char <= "\u13ff")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a word stands: `text[start:end]`, the entry it is, and the positions that masking covers."""

    start: int
    end: int
    entry: LexiconEntry
    covered: tuple[int, ...]
    whole: bool = True
    """Whether `covered` is the entry's own; False for a phrase that is covered at a hurtful word in it."""


@dataclass(frozen=True, slots=True)
class _Form:
    """One spelling: its letters with runs squeezed, how long each run is, whether it is masked already."""

    entry: LexiconEntry
    core: str
    runs: tuple[int, ...]
    masked: bool = False
    umlaut: bool = False
    """Whether the spelling has an umlaut, without which it may be another word."""

    @property
    def pattern(self) -> str:
        """The core with the spaces that its mode asks for."""
        mode = self.entry.mode
        return f"{' ' * (mode in ('word', 'start'))}{self.core}{' ' * (mode in ('word', 'end'))}"

    @property
    def vowel(self) -> int:
        """The place in the core of the letter to cover: the first vowel, or else the second letter."""
        return next((i for i, char in enumerate(self.core) if char in VOWELS), min(1, len(self.core) - 1))


class Matcher:
    """A lexicon made ready for matching. Making one costs milliseconds; `matcher()` keeps them."""

    def __init__(self, lexicon: Iterable[LexiconEntry]) -> None:
        from ahocorasick_rs import AhoCorasick

        by_pattern: dict[str, list[_Form]] = {}
        for entry in lexicon:
            for form in _forms(entry):
                by_pattern.setdefault(form.pattern, []).append(form)
        self._forms = list(by_pattern.values())
        # Doubled letters of which a text must have one, for patterns that squeezing made common words.
        self._doubles = [_doubles(forms) for forms in self._forms]
        self._protects = [all(form.masked or form.entry.kind == "harmless" for form in forms) for forms in self._forms]
        self._harmless = [all(form.entry.kind == "harmless" for form in forms) for forms in self._forms]
        self._automaton: Any = AhoCorasick(list(by_pattern)) if by_pattern else None

    def find(self, text: str) -> list[Span]:
        """Return the words found, in order and without overlaps; harmless and already masked ones are left out."""
        return _chosen(self._hits(text, self._protects), text)

    def kinds(self, text: str) -> frozenset[str]:
        """Return the kinds of the words in a text: also of those inside a longer one, and of those masked already."""
        hits = [span for span, _ in self._hits(text, self._harmless)]
        shields = [(span.start, span.end) for span in hits if span.entry.kind == "harmless"]
        return frozenset(
            span.entry.kind
            for span in hits
            if span.entry.kind != "harmless"
            and not any(start <= span.start and span.end <= end for start, end in shields)
            and not (span.entry.only and _speaks(text) not in ("", span.entry.only))
        )

    def _hits(self, text: str, protects: Sequence[bool]) -> list[tuple[Span, bool]]:
        """Return every span that holds, with whether it only protects; none where every match is `protects`."""
        if self._automaton is None or not text:
            return []
        waiting: list[tuple[TextVariant, str, list[tuple[int, int, int]]]] = []
        hurtful = False
        for reading in text_variants(text):
            plain = reading.text.translate(reading.table)
            squeezed = squeeze(f" {plain} ")
            matches = [
                (index, start, end)
                for index, start, end in self._automaton.find_matches_as_indexes(squeezed, overlapping=True)
                if not (doubles := self._doubles[index]) or any(pair in plain for pair in doubles)
            ]
            if matches:
                waiting.append((reading, squeezed, matches))
                hurtful = hurtful or not all(protects[index] for index, _, _ in matches)
        if not hurtful:
            return []
        hits: list[tuple[Span, bool]] = []
        for reading, squeezed, matches in waiting:
            hits.extend(_verified(text, reading, squeezed, [(self._forms[i], start, end) for i, start, end in matches]))
        return hits


@lru_cache(maxsize=16)
def matcher(lexicon: Lexicon) -> Matcher:
    """Return the matcher of a lexicon, made once."""
    return Matcher(lexicon)


def _forms(entry: LexiconEntry) -> list[_Form]:
    forms = []
    for spelling in inflected_forms(entry):
        folded = " ".join(spelling.translate(letters()).split())
        if not folded:
            continue
        groups = _runs(folded)
        core, runs = "".join(char for char, _ in groups), tuple(n for _, n in groups)
        form = _Form(entry, core, runs, umlaut=any(char in "äöüÄÖÜ" for char in spelling))
        forms.append(form)
        if entry.kind != "harmless":
            at = form.vowel
            forms.append(_Form(entry, core[:at] + STAR + core[at + 1 :], runs, masked=True))
            if runs[at] > 1:
                split = (*runs[:at], 1, runs[at] - 1, *runs[at + 1 :])
                forms.append(_Form(entry, core[:at] + STAR + core[at:], split, masked=True))
    return forms


def _runs(word: str) -> list[tuple[str, int]]:
    """Return the letters of a folded word with how often each stands in a row."""
    groups: list[tuple[str, int]] = []
    for char in word:
        if groups and groups[-1][0] == char and char in SQUEEZED:
            groups[-1] = (char, groups[-1][1] + 1)
        else:
            groups.append((char, 1))
    return groups


def _doubles(forms: Sequence[_Form]) -> tuple[str, ...]:
    """Return the pairs of letters of which a text must hold one for these forms to match; nothing when any may do."""
    pairs: set[str] = set()
    for form in forms:
        own = [char * 2 for char, run in zip(form.core, form.runs, strict=True) if run > 1 and char not in (" ", STAR)]
        if not own:
            return ()
        pairs.add(own[0])
    return tuple(pairs)


def _verified(
    text: str, reading: TextVariant, squeezed: str, found: list[tuple[list[_Form], int, int]]
) -> Iterable[tuple[Span, bool]]:
    """Yield the spans that hold against the text, each with whether it only protects what it covers."""
    first, last, runs = _positions(reading)
    at = reading.at
    for spellings, start, end in found:
        start += squeezed[start] == " "
        end -= squeezed[end - 1] == " "
        if reading.joined and not (squeezed[start - 1] == " " == squeezed[end]):
            continue  # a word put together from pieces counts only as a whole
        lengths = runs[start:end]
        for form in spellings:
            if not _runs_fit(form, lengths):
                continue
            stop = _word_end(squeezed, end) if form.entry.kind == "harmless" else end
            a, b = first[start], last[stop - 1]
            span = text[a : b + 1] if at is None else text[at[a] : at[b] + 1]
            if not _readable(span, reading.leet) or (form.umlaut and span.isascii()):
                continue
            k = start + form.vowel
            stretched = runs[k] > form.runs[k - start]
            where = range(first[k], last[k] + 1 if stretched else first[k] + 1)
            covered = tuple((at[i] if at else i) for i in where if reading.table[ord(reading.text[i])])
            a, b = (at[a], at[b]) if at else (a, b)
            yield Span(a, b + 1, form.entry, covered), form.masked or form.entry.kind == "harmless"


def _word_end(squeezed: str, end: int) -> int:
    """Return where the word goes on to: a harmless beginning protects the rest, up to forty letters."""
    stop = squeezed.find(" ", end, end + 40)
    return end if stop < 0 else stop


def _positions(reading: TextVariant) -> tuple[list[int], list[int], list[int]]:
    """Return, for each squeezed letter, the first and last character it came from and how many there were."""
    table = reading.table
    first, last, runs, before = [0], [0], [1], " "
    for i, char in enumerate(reading.text):
        for letter in table[ord(char)]:
            if letter == before and letter in SQUEEZED:
                runs[-1] += 1
                last[-1] = i
            else:
                first.append(i)
                last.append(i)
                runs.append(1)
                before = letter
    if before != " ":
        first.append(len(reading.text))
        last.append(len(reading.text))
        runs.append(1)
    return first, last, runs


def _runs_fit(form: _Form, lengths: Sequence[int]) -> bool:
    """Return whether each run is as long as the spelling's, or stretched (for short words: to three or more)."""
    if form.entry.kind == "harmless":
        return all(here == own for char, here, own in zip(form.core, lengths, form.runs, strict=True) if char != " ")
    short = len(form.entry.term) <= 5
    return all(
        here == own or (here > own and (here > 2 or not short))
        for char, here, own in zip(form.core, lengths, form.runs, strict=True)
        if char not in (" ", STAR)
    )


def _readable(span: str, leet: bool) -> bool:
    """Return whether enough of a span is Latin letters for a reader to take it as the word."""
    plain = sum(char.isalpha() and char not in _FOREIGN for char in span)
    if not leet:
        return plain > 0 or STAR in span
    return plain >= 2 or (plain == 1 and len(span) >= 4)


def _chosen(hits: list[tuple[Span, bool]], text: str) -> list[Span]:
    """Return hits in order, leftmost and longest first, without those inside a protecting one."""
    hits.sort(key=lambda hit: (hit[0].start, -hit[0].end, not hit[1]))
    chosen: list[Span] = []
    end = shield = -1
    speaks: str | None = None
    for span, protects in hits:
        if protects:
            shield = max(shield, span.end)
        elif span.end <= shield:
            continue
        elif span.start < end:
            _uncover_phrase(chosen, span)
        else:
            if span.entry.only:
                speaks = _speaks(text) if speaks is None else speaks
                if speaks not in ("", span.entry.only):
                    continue
            chosen.append(span)
            end = span.end
    return chosen


def _uncover_phrase(chosen: list[Span], inner: Span) -> None:
    """Where a phrase holds a hurtful word, cover that word instead of the phrase's first vowel."""
    phrase = chosen[-1]
    if " " not in phrase.entry.term or inner.end > phrase.end or inner.entry.only:
        return
    kept = () if phrase.whole else phrase.covered
    chosen[-1] = replace(phrase, covered=tuple(dict.fromkeys((*kept, *inner.covered))), whole=False)


_SMALL_WORDS = {
    "en": "the and you your is are was of to that it with for this have not be my he she they we if what so her",
    "de": "und der das ist nicht ich du ein eine sie er wir mit auf zu den dem es von sich auch wie aber noch nur im",
}


def _speaks(text: str) -> str:
    """Return `en` or `de`, whichever has more of its small words in the text, or nothing when they draw."""
    words = re.findall(r"[^\W\d_]+", text[:20_000].lower())
    counts = {lang: sum(map(words.count, set(small.split()))) for lang, small in _SMALL_WORDS.items()}
    return "" if counts["en"] == counts["de"] else max(counts, key=lambda lang: counts[lang])
