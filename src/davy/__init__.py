"""Davy: a workbench for people who fight online hate.

    import davy

    davy.score("What a day")                     # one text: a dict
    detector = davy.load("embedded")             # a name, a folder, hf:ORG/NAME
    detector.score(frame, text="body")           # the same kind of frame, with columns added

`docs/start/library.md` shows every verb. Importing the package loads nothing heavy: a verb is imported when it is first
called. Eight verbs have the name of the room that does their work (`davy.score`, `davy.clean` …): such a package can
be called, and its modules are imported as those of any other package.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from davy.version import __version__ as __version__

PUBLIC: dict[str, str] = {
    "load": "davy.scoring.library:load",
    "score": "davy.scoring.library:score",
    "read": "davy.corpus.library:read",
    "clean": "davy.corpus.library:clean",
    "sample": "davy.corpus.library:sample",
    "split": "davy.corpus.library:split",
    "describe": "davy.corpus.library:describe",
    "agree": "davy.corpus.library:agree",
    "train": "davy.training.library:train",
    "calibrate": "davy.training.library:calibrate",
    "export": "davy.training.library:export",
    "evaluate": "davy.evaluation.library:evaluate",
    "check": "davy.evaluation.library:check",
    "compare": "davy.evaluation.comparison_library:compare",
    "Suite": "davy.testing.suites.suite_editor:SuiteEditor",
    "TextDetector": "davy.scoring.text_detector:TextDetector",
    "UserError": "davy.core.errors:UserError",
    "GateFailed": "davy.evaluation.library:GateFailed",
}
"""What the library offers → where it is."""
__all__ = [*PUBLIC]

ROOMS = ("check", "clean", "compare", "describe", "sample", "score", "split", "train")
"""The rooms whose names are verbs."""

if TYPE_CHECKING:
    from davy.core.errors import UserError as UserError
    from davy.corpus.library import agree as agree
    from davy.corpus.library import clean as clean
    from davy.corpus.library import describe as describe
    from davy.corpus.library import read as read
    from davy.corpus.library import sample as sample
    from davy.corpus.library import split as split
    from davy.evaluation.comparison_library import compare as compare
    from davy.evaluation.library import GateFailed as GateFailed
    from davy.evaluation.library import check as check
    from davy.evaluation.library import evaluate as evaluate
    from davy.scoring.library import load as load
    from davy.scoring.library import score as score
    from davy.scoring.text_detector import TextDetector as TextDetector
    from davy.testing.suites.suite_editor import SuiteEditor
    from davy.training.library import calibrate as calibrate
    from davy.training.library import export as export
    from davy.training.library import train as train

    Suite = SuiteEditor


def _public(name: str) -> Any:
    module, _, attribute = PUBLIC[name].partition(":")
    return getattr(import_module(module), attribute)


class _Room(ModuleType):
    # A package that is a verb too: calling it calls the verb, and help about it is about the verb.

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _public(self.__name__.removeprefix("davy."))(*args, **options)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        return signature(_public(self.__name__.removeprefix("davy.")))

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        doc: str | None = _public(self.__name__.removeprefix("davy.")).__doc__
        return doc


class _Package(ModuleType):
    """This package. The import system sets each room as an attribute of it: here a room learns that it is a verb."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ROOMS and isinstance(value, ModuleType):
            value.__class__ = _Room
        super().__setattr__(name, value)


if not TYPE_CHECKING:  # else a misspelt name would be of any type

    def __getattr__(name: str) -> Any:
        if name in ROOMS:
            return import_module(f"davy.{name}")
        if name in PUBLIC:
            return _public(name)
        raise AttributeError(f"module 'davy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*PUBLIC, "__version__"])


sys.modules[__name__].__class__ = _Package
