"""A model's name, taken apart: `NAME[:ARGUMENT][@SCHEME]`.

What the user typed in, its parts out, with the questions of the scheme and the
posts of the file where the maker of the scorer wants them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from davy.core.errors import UserError
from davy.core.scheme import Question, Scheme

if TYPE_CHECKING:
    import polars as pl

    from davy.image.picture_names import Pictures

    Reader = Callable[[Path, str | None], tuple[tuple[Question, ...], pl.DataFrame]]
    """Takes a file and the scheme's name where one was given; returns the questions and posts to learn from."""

DEFAULT_SCHEME = "hate"
SCHEMED = ("majority", "uniform", "keywords")
"""The kinds that answer the questions of any shipped scheme, which `@SCHEME` behind the name says."""


@dataclass(frozen=True)
class ModelName:
    """What was asked for. `name` is the whole text as typed; `read` turns a file into what is to be learnt; `images`
    gives the picture that a post names."""

    name: str
    kind: str
    argument: str = ""
    scheme: str | None = None
    read: Reader | None = None
    images: Pictures | None = None

    @classmethod
    def parse(cls, name: str, *, read: Reader | None = None, images: Pictures | None = None) -> ModelName:
        """Return the parts of a name. What follows the last @ is a scheme, unless the whole is an address or a file."""
        kind, _, rest = name.partition(":")
        scheme: str | None = None
        if "@" in rest and kind not in ("url", "llm", "ensemble", "ocr") and not Path(rest).exists():
            rest, _, scheme = rest.rpartition("@")
        elif "@" in kind and not rest:
            kind, _, scheme = kind.partition("@")
        return cls(name, kind, rest, scheme, read, images)

    def questions(self) -> tuple[Question, ...]:
        """Return the questions of the scheme that was named, or of `hate`."""
        from davy import schemes

        scheme: Scheme = schemes.load(self.scheme or DEFAULT_SCHEME)
        return scheme.questions

    def path(self) -> Path:
        """Return the file that was named, which must be there."""
        if not self.argument:
            raise UserError(f"{self.name!r} needs a file: {self.kind}:FILE.")
        path = Path(self.argument).expanduser()
        if not path.is_file():
            raise UserError(f"There is no file {path} (asked for by model {self.name!r}).")
        return path

    def labelled_posts(self) -> tuple[tuple[Question, ...], pl.DataFrame]:
        """Return the questions and posts of the file that was named."""
        path = self.path()
        if self.read is None:
            raise UserError(
                f"Model {self.name!r} learns from a file and can't be made here. Save it first: "
                f"davy train {path} --kind {self.kind} --out DIR, then name DIR/seed-1/model."
            )
        return self.read(path, self.scheme)
