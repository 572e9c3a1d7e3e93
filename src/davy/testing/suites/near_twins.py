"""Which cases of a test group are near twins: texts that differ in one thing, which is identity, emoji or text.

Cases of a published file in, pairs of ids out. A group's originals vary among themselves (other identity, other
emoji), so most of them differ from a perturbation in two things, and such a pair would not say which one mattered.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from davy.testing.suite import Case
from davy.text import emoji

_WORD = re.compile(r"\w+(?:['’*-]\w+)*|[^\w\s]")

Token = tuple[str, bool]
"""A word or a sign, and whether it is an emoji."""


def find_twins(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """Yield (original, perturbed) ids of each test group, which is in `meta["group"]`.

    A perturbation goes with the originals that are about the same group of people (identity perturbations may be about
    another, or nobody) and differ from it in words alone or in emoji alone, in as few places as any of them does.
    """
    originals: dict[str, list[tuple[Case, list[Token]]]] = defaultdict(list)
    for case in cases:
        if case.set == "original" and "group" in case.meta:
            originals[case.meta["group"]].append((case, tokens(case.text)))
    for case in cases:
        if case.set == "original" or "group" not in case.meta:
            continue
        words = tokens(case.text)
        near: dict[str, int] = {}
        for original, theirs in originals[case.meta["group"]]:
            places = None
            if case.set == "identity" or case.target in (None, original.target):
                places = count_differences(theirs, words)
            # An identity stands in one place; more than one means that something else differs too.
            if places is not None and (places == 1 or original.target == case.target):
                near[original.id] = places
        for original_id, places in near.items():
            if places == min(near.values()):
                yield original_id, case.id


def tokens(text: str) -> list[Token]:
    """Return words, signs and emoji in order, in lower case: a word that moves to the front is the same word."""
    found: list[Token] = []
    for part, is_emoji in emoji.split(text):
        found += [(part, True)] if is_emoji else [(word.lower(), False) for word in _WORD.findall(part)]
    return found


def count_differences(first: Sequence[Token], second: Sequence[Token]) -> int | None:
    """Return in how many places two texts differ, or None where both words and emoji do, or nothing does.

    A run of words is one place, and so is each emoji.
    """
    changes = [
        (first[a:b], second[c:d])
        for change, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if change != "equal"
    ]
    kinds = {_kind(*sides) for sides in changes}
    if len(kinds) != 1 or "both" in kinds:
        return None
    return sum(max(1, *(sum(is_emoji for _, is_emoji in side) for side in sides)) for sides in changes)


def _kind(first: Sequence[Token], second: Sequence[Token]) -> str:
    """Return what differs here. An emoji that stands where there are words, or nothing, is a matter of emoji."""
    words, icons = (
        [[t for t, is_emoji in side if is_emoji is kind] for side in (first, second)] for kind in (False, True)
    )
    if icons[0] == icons[1]:
        return "words"
    only_icons = not words[0] or not words[1]
    return "emoji" if words[0] == words[1] or (only_icons and not (icons[0] and icons[1])) else "both"
