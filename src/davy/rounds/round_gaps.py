"""What a round's entries still lack: labels that no author gave, ways that nobody named, emoji that stand in no text.

A round in; per list what is missing and how long the list is. Entries that were dropped or taken back don't count.
The emoji are those of `strategies.yaml`, which the attacker uses too, in the round's languages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from davy.core.scheme import Scheme
from davy.rounds.attack import read_words
from davy.rounds.round import STRATEGIES, Round
from davy.rounds.store import entries, entry_results
from davy.store import Connection
from davy.text import emoji

LANGUAGES = ("en", "de")
"""The languages that have word lists."""


@dataclass(frozen=True, slots=True)
class RoundGap:
    """One list: a question of the scheme, `strategy` or `emoji`; what no entry has, in the list's order."""

    kind: str
    missing: tuple[str, ...]
    size: int


def find_gaps(db: Connection, round_: Round, scheme: Scheme) -> list[RoundGap]:
    """Return what a round lacks: the labels of each question under the round's, then ways to fool it, then emoji."""
    given = entry_results.author_labels(db, round_)
    found = [
        _gap(question.name, question.label_names, given.get(question.name, set()))
        for question in scheme.questions
        if question.name != round_.question and question.label_names
    ]
    kept = [row for row in entries.of_round(db, round_.id) if row.entry.dropped is None]
    found.append(_gap("strategy", STRATEGIES, {row.entry.strategy for row in kept if row.entry.strategy}))
    if round_.rules.needs_emoji:
        used = {emoji.plain(match.emoji) for row in kept for match in emoji.find(row.text)}
        found.append(_gap("emoji", listed_emoji(round_.rules.languages), used))
    return found


def listed_emoji(languages: Iterable[str]) -> list[str]:
    """Return the emoji of the word lists in these languages, each once; of all lists where none of them has one."""
    spoken = [lang for lang in LANGUAGES if lang in set(languages)] or list(LANGUAGES)
    found: dict[str, None] = {}
    for words in map(read_words, spoken):
        for table in (words.identities, words.descriptors, words.verbs):
            found |= dict.fromkeys(emoji.plain(each) for several in table.values() for each in several)
        found |= dict.fromkeys(map(emoji.plain, (*words.negative, *words.positive)))
    return list(found)


def _gap(kind: str, listed: Iterable[str], present: set[str]) -> RoundGap:
    every = list(listed)
    return RoundGap(kind, tuple(name for name in every if name not in present), len(every))
