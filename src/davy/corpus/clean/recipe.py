"""Recipes by name or path: a YAML list of steps in, a `CleaningRecipe` out, every problem with its line.

`STEPS` is the table of every step that a recipe can name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from davy.core.errors import UserError
from davy.corpus.clean import changes, drops
from davy.files import yaml_objects
from davy.files.yaml_nodes import Problems, YamlList

Step = changes.ChangeStep | drops.DropStep | drops.DuplicateStep

STEPS: dict[str, type[Step]] = {
    "unify-space": changes.UnifySpace,
    "remove-controls": changes.RemoveControls,
    "decode-entities": changes.DecodeEntities,
    "mask-urls": changes.MaskUrls,
    "remove-urls": changes.RemoveUrls,
    "mask-mentions": changes.MaskMentions,
    "remove-mentions": changes.RemoveMentions,
    "mask-emails": changes.MaskEmails,
    "mask-emoji": changes.MaskEmoji,
    "mask-phones": changes.MaskPhones,
    "mask-hashtags": changes.MaskHashtags,
    "mask-names": changes.MaskNames,
    "remove-hashtags": changes.RemoveHashtags,
    "drop-empty": drops.DropEmpty,
    "drop-one-word": drops.DropOneWord,
    "drop-only": drops.DropOnly,
    "keep-languages": drops.KeepLanguages,
    "drop-length": drops.DropLength,
    "drop-words": drops.DropWords,
    "drop-lexicon": drops.DropLexicon,
    "drop-duplicates": drops.DropDuplicates,
    "drop-near-duplicates": drops.DropNearDuplicates,
}


def name_of(step: Step) -> str:
    """Return the name under which recipes know a step."""
    return next(name for name, kind in STEPS.items() if type(step) is kind)


PACKAGE = "davy.corpus.clean.recipes"
_KEYS = ("name", "version", "title", "source", "steps")


@dataclass(frozen=True, slots=True)
class CleaningRecipe:
    """Steps in their order."""

    name: str
    steps: tuple[Step, ...]
    version: str = "1"
    title: str = ""
    source: str = ""

    @property
    def digest(self) -> str:
        """A short hash that changes whenever the steps or their parameters do."""
        return hashlib.sha256(json.dumps(self.to_list(), ensure_ascii=False).encode()).hexdigest()[:12]

    def to_list(self) -> list[list[Any]]:
        """Return the steps as plain values: name and parameters."""
        return [[name_of(step), yaml_objects.parameters(step)] for step in self.steps]


def load(name_or_path: str) -> CleaningRecipe:
    """Return a shipped recipe by its name, or the one in a YAML file."""
    return parse(yaml_objects.read_shipped_or_file(name_or_path, PACKAGE, "recipe"), name_or_path)


def parse(raw: bytes, file: str) -> CleaningRecipe:
    """Return the recipe in a file's bytes; the first problem becomes a `UserError`."""
    problems = Problems(file, what="recipe", example="davy clean --show edos")
    root = yaml_objects.read_root(raw, problems, _KEYS)
    listed = root.get("steps")
    if not isinstance(listed, YamlList) or not listed:
        raise UserError(f"{file}:{root.line_of('steps')}: A recipe needs `steps:`, a list with at least one step.")
    steps = [yaml_objects.build_part(node, STEPS, "step", problems, root.line_of("steps")) for node in listed]
    problems.raise_first()
    fields = {key: str(root.get(key) or "") for key in ("name", "version", "title", "source")}
    return CleaningRecipe(
        fields["name"] or file, tuple(steps), fields["version"] or "1", fields["title"], fields["source"]
    )


def from_list(steps: Sequence[Sequence[Any]]) -> tuple[Step, ...]:
    """Return steps from what `CleaningRecipe.to_list` made."""
    return tuple(
        STEPS[name](**{_slot(key): tuple(v) if isinstance(v, list) else v for key, v in given.items()})
        for name, given in steps
    )


def _slot(spelt: str) -> str:
    name = spelt.replace("-", "_")
    return f"{name}_" if name in ("with", "in") else name
