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
    "load": "davy.library.scoring:load",
    "score": "davy.library.scoring:score",
    "read": "davy.library.data:read",
    "clean": "davy.library.data:clean",
    "sample": "davy.library.data:sample",
    "split": "davy.library.data:split",
    "describe": "davy.library.data:describe",
    "agree": "davy.library.data:agree",
    "train": "davy.library.training:train",
    "calibrate": "davy.library.training:calibrate",
    "export": "davy.library.training:export",
    "evaluate": "davy.library.evaluation:evaluate",
    "check": "davy.library.evaluation:check",
    "compare": "davy.library.comparison:compare",
    "Suite": "davy.suites.suite_editor:SuiteEditor",
    "TextDetector": "davy.library.detector:TextDetector",
    "UserError": "davy.core.errors:UserError",
    "GateFailed": "davy.library.evaluation:GateFailed",
}
"""What the library offers → where it is."""
__all__ = [*PUBLIC]

ROOMS = ("check", "clean", "compare", "describe", "sample", "score", "split", "train")
"""The rooms whose names are verbs."""

if TYPE_CHECKING:
    from davy.core.errors import UserError as UserError
    from davy.library.comparison import compare as compare
    from davy.library.data import agree as agree
    from davy.library.data import clean as clean
    from davy.library.data import describe as describe
    from davy.library.data import read as read
    from davy.library.data import sample as sample
    from davy.library.data import split as split
    from davy.library.detector import TextDetector as TextDetector
    from davy.library.evaluation import GateFailed as GateFailed
    from davy.library.evaluation import check as check
    from davy.library.evaluation import evaluate as evaluate
    from davy.library.scoring import load as load
    from davy.library.scoring import score as score
    from davy.library.training import calibrate as calibrate
    from davy.library.training import export as export
    from davy.library.training import train as train
    from davy.suites.suite_editor import SuiteEditor

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
