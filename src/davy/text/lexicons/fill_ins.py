"""Harmless fill-ins that ship with Davy: first names, places, countries, religions, occupations, in English and German.

A language in, lists of words by kind out. Suites take them for slots, and swaps put one in another's place.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from davy.core.errors import UserError, nearest
from davy.files import yaml_nodes
from davy.files.yaml_nodes import Problems, YamlList, YamlMap


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
