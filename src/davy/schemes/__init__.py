"""The questions that ship with Davy, as YAML in our own words, and the reader for them and for your own.

Importing the package loads nothing: a function is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from davy.files.yaml_nodes import Problem
    from davy.schemes.reader import (
        check,
        from_dict,
        load,
        names,
        parse,
        read,
        renamed,
        text_of,
        with_translations,
        wordings,
    )
    from davy.schemes.write import digest, to_dict, to_yaml

_HOMES = {
    "davy.files.yaml_nodes": ("Problem",),
    "davy.schemes.reader": (
        "check",
        "from_dict",
        "load",
        "names",
        "parse",
        "read",
        "renamed",
        "text_of",
        "with_translations",
        "wordings",
    ),
    "davy.schemes.write": ("digest", "to_dict", "to_yaml"),
}

__all__ = [
    "Problem",
    "check",
    "digest",
    "from_dict",
    "load",
    "names",
    "parse",
    "read",
    "renamed",
    "text_of",
    "to_dict",
    "to_yaml",
    "with_translations",
    "wordings",
]


def __getattr__(name: str) -> Any:
    home = next((module for module, offered in _HOMES.items() if name in offered), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(home), name)
    return found
