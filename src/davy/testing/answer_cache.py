"""Answers that were given before, kept by model version and suite hash, so that a second check costs nothing.

A file holds probabilities by case id and nothing else: no texts. It is written
whole or not at all, and a file that can't be read counts as empty.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from davy.core.errors import UserError
from davy.detectors.cache import cache_folder
from davy.files.atomic import make_folder, write_json

Answer = tuple[float, bool]
"""The probability of yes, and whether the detector says yes."""


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A folder of answers."""

    folder: Path

    @staticmethod
    def default() -> AnswerCache:
        """Return the user's own cache: `DAVY_CACHE`, else `davy` in the system's place for caches."""
        return AnswerCache(cache_folder() / "check")

    def read(self, model: str, version: str, suite: str, question: str) -> dict[str, Answer]:
        """Return the answers of a model version to a suite's cases, by case id; empty where there are none."""
        try:
            stored = json.loads(self._path(model, version, suite, question).read_text("utf-8"))
            return {case: (float(p), bool(is_yes)) for case, (p, is_yes) in stored["answers"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def write(self, model: str, version: str, suite: str, question: str, answers: dict[str, Answer]) -> None:
        """Keep answers; a folder that can't be written to is no reason to fail a check."""
        record = {"model": model, "version": version, "suite": suite, "question": question, "answers": answers}
        try:
            make_folder(self.folder)
            write_json(self._path(model, version, suite, question), record, indent=None)
        except UserError:
            return

    def _path(self, *key: str) -> Path:
        return self.folder / f"{hashlib.sha256(chr(31).join(key).encode()).hexdigest()[:32]}.json"
