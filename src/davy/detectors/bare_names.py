"""Texts that only name people: nothing is said about them, so no detector has a ground to flag them.

`names.txt` of a model folder in; for texts, whether they have no other words than the file's. Networks learn how often
a group is attacked, and call its bare name hateful. A text with an emoji, a digit or any other sign than punctuation is
read like all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.detectors.folder import Manifest

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

FILE = "names.txt"
MOST_CHARACTERS = 80
"""Longer texts are no bare names, and are not looked at."""
CHANCE = 0.05
"""What a yes to a bare name may have at most."""
_PLAIN = re.compile(r"[^\W\d_]+(?:[\s.,;:!?&/#'’\"„“”()-]+[^\W\d_]+)*")
"""Words with punctuation between them, and nothing else."""
_WORD = re.compile(r"[^\W\d_]+")
_AROUND = " \t\r\n.,;:!?&/#'’\"„“”()-"


@dataclass(frozen=True)
class BareNames:
    """The words that name people, and those that may stand between them, in lower case."""

    words: frozenset[str]

    @classmethod
    def of(cls, folder: Path, manifest: Manifest) -> BareNames | None:
        """Return the names of a model folder, or None where its manifest lists none."""
        if FILE not in manifest.files:
            return None
        try:
            return cls(names_in((folder / FILE).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{folder / FILE} can't be read ({error}). Get or export the model again.") from None

    def is_bare(self, text: str) -> bool:
        """Return whether a text has words, and none that is not a name."""
        plain = text.strip(_AROUND) if len(text) <= MOST_CHARACTERS else ""
        if not _PLAIN.fullmatch(plain):
            return False
        return all(word in self.words for word in _WORD.findall(plain.casefold()))

    def answer_no(self, questions: Iterable[Question], texts: Sequence[str], blocks: Mapping[str, Array]) -> None:
        """Lower the chance of yes to every yes/no question where a text is a bare name."""
        import numpy as np

        rows = [row for row, text in enumerate(texts) if self.is_bare(text)]
        if not rows:
            return
        for question in questions:
            if question.positive is None:
                continue
            block, yes = blocks[question.name], question.label_names.index(str(question.positive))
            block[rows, yes] = np.minimum(block[rows, yes], CHANCE)
            block[rows, 1 - yes] = 1 - block[rows, yes]


def names_in(text: str) -> frozenset[str]:
    """Return the words of a file of names: any number a line; a line that starts with # is a comment."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return frozenset(word.casefold() for line in lines for word in line.split())
