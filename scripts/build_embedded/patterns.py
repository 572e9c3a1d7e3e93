"""Files of sentence patterns, and the check that no pattern is one of our suites'.

A file has headings (`== name`) and lines; a line is a pattern with slots in braces, or a fill of the slot that its
heading names. Suites judge detectors, so what they ask must not be learnt: a pattern whose own words are those of a
suite's case is found out by `taken_patterns`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import Path
from random import Random

ALIKE = 0.75
"""Two patterns are one where so much of their words is the same, in the same order."""


def sections(path: Path) -> dict[str, list[str]]:
    """Return the lines of each heading; lines that repeat count more."""
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("== "):
            current = parts.setdefault(line[3:], [])
        elif not line.startswith("#"):
            current.append(line)
    return parts


def plain_text(text: str) -> str:
    """Return a text's letters and digits alone, to compare by."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def fill_slots(text: str, parts: dict[str, list[str]], rng: Random) -> str:
    """Return a sentence of a pattern: each slot, a heading of one letter, is filled with one of its lines."""
    for slot in filter(str.isalpha, (heading for heading in parts if len(heading) == 1)):
        while f"{{{slot}}}" in text:
            text = text.replace(f"{{{slot}}}", rng.choice(parts[slot]), 1)
    return text[0].upper() + text[1:]


def any_of(words: Iterable[str], endings: str = "") -> re.Pattern[str]:
    """Return what finds one of the words in a text, the longest first, with one of the endings or none."""
    every = sorted(map(re.escape, set(words)), key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(every)}){f'(?:{endings})?' if endings else ''}\b", re.IGNORECASE)


def skeleton(text: str, names: re.Pattern[str]) -> list[str]:
    """Return a pattern's own words: a slot and a group's name are `x`, and an ending is nothing."""
    bare = re.sub(r"\{[^}]*\}", " x ", text.replace("{E}", ""))
    return plain_text(names.sub(" x ", bare)).split()


def suite_cases(language: str) -> list:
    """Return every case of our suites in a language."""
    from davy.testing.suites import suite_file

    names = [name for name in suite_file.names() if name.endswith(f"-{language}")]
    return [case for name in names for case in suite_file.load(name).cases]


def taken_patterns(lines: list[str], language: str, groups: set[str]) -> list[tuple[str, str]]:
    """Return each pattern that is one of a suite's, with that suite's words; words alone, without a slot, count too."""
    cases = suite_cases(language)
    names = any_of(groups | {fill for case in cases for fill in case.fills.values() if re.search(r"\w", fill)})
    known = {tuple(skeleton(case.text, names)) for case in cases}
    found = []
    for line in lines:
        own = skeleton(line, names)
        for other in known:
            if abs(len(other) - len(own)) > len(own) * (1 - ALIKE) * 2:
                continue
            if SequenceMatcher(None, own, other, autojunk=False).ratio() >= ALIKE:
                found.append((line, " ".join(other)))
                break
    return found
