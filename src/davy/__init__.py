"""Davy: a workbench for people who fight online hate.

    import davy

    davy.score("What a day")                     # one text: a dict
    detector = davy.load("embedded")             # a name, a folder, hf:ORG/NAME
    detector.score(frame, text="body")           # the same kind of frame, with columns added

`docs/start/library.md` shows every verb. Importing the package loads nothing heavy: a verb is imported when it is first
asked for.
"""

from __future__ import annotations

from pkgutil import resolve_name
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
    "check": "davy.evaluation.check_library:check",
    "compare": "davy.evaluation.comparison_library:compare",
    "Suite": "davy.testing.suites.suite_editor:SuiteEditor",
    "TextDetector": "davy.scoring.text_detector:TextDetector",
    "UserError": "davy.core.errors:UserError",
    "GateFailed": "davy.evaluation.check_library:GateFailed",
}
"""What the library offers → where it is."""
__all__ = [*PUBLIC]

if TYPE_CHECKING:
    from davy.core.errors import UserError as UserError
    from davy.corpus.library import agree as agree
    from davy.corpus.library import clean as clean
    from davy.corpus.library import describe as describe
    from davy.corpus.library import read as read
    from davy.corpus.library import sample as sample
    from davy.corpus.library import split as split
    from davy.evaluation.check_library import GateFailed as GateFailed
    from davy.evaluation.check_library import check as check
    from davy.evaluation.comparison_library import compare as compare
    from davy.evaluation.library import evaluate as evaluate
    from davy.scoring.library import load as load
    from davy.scoring.library import score as score
    from davy.scoring.text_detector import TextDetector as TextDetector
    from davy.testing.suites.suite_editor import SuiteEditor
    from davy.training.library import calibrate as calibrate
    from davy.training.library import export as export
    from davy.training.library import train as train

    Suite = SuiteEditor


if not TYPE_CHECKING:  # else a misspelt name would be of any type

    def __getattr__(name: str) -> Any:
        if name not in PUBLIC:
            raise AttributeError(f"module 'davy' has no attribute {name!r}")
        return resolve_name(PUBLIC[name])


def __dir__() -> list[str]:
    return sorted([*PUBLIC, "__version__"])
