"""The formats by name: which module knows each, how its files end, and which ways it goes.

A format that is a folder (several files) is packed into one zip by whoever
asks for it; its module only ever sees the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from davy.annotation.exchange.rows import AnsweredPost, ExchangeContext, Rows
from davy.core import UserError
from davy.core.errors import nearest


@dataclass(frozen=True, slots=True)
class ExchangeFormat:
    """One format. The first of its endings is what a file gets where nobody says; `folder` ones end in zip."""

    name: str
    module: str
    endings: tuple[str, ...]
    folder: bool = False

    @property
    def write(self) -> Callable[[Rows, Path, ExchangeContext], None]:
        """What puts rows into a file, or into an empty folder."""
        found: Callable[[Rows, Path, ExchangeContext], None] = import_module(self.module).write
        return found

    @property
    def read(self) -> Callable[[Path, ExchangeContext], Iterator[AnsweredPost]]:
        """What yields the rows of a file or folder."""
        found: Callable[[Path, ExchangeContext], Iterator[AnsweredPost]] = import_module(self.module).read
        return found


_TABLES = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.gz", "jsonl.gz")
_HERE = "davy.annotation.exchange"

FORMATS: dict[str, ExchangeFormat] = {
    it.name: it
    for it in (
        ExchangeFormat("long", f"{_HERE}.long_table", _TABLES),
        ExchangeFormat("corpus", f"{_HERE}.corpus", _TABLES),
        ExchangeFormat("label-studio", f"{_HERE}.label_studio", ("json",)),
        ExchangeFormat("doccano", f"{_HERE}.doccano", ("jsonl",)),
        ExchangeFormat("prodigy", f"{_HERE}.prodigy", ("jsonl",)),
        ExchangeFormat("argilla", f"{_HERE}.argilla", ("json",)),
        ExchangeFormat("crowd", f"{_HERE}.crowd", _TABLES),
        ExchangeFormat("huggingface", f"{_HERE}.huggingface", ("zip",), folder=True),
        ExchangeFormat("codabench", f"{_HERE}.codabench", ("zip",), folder=True),
    )
}


def find_format(name: str) -> ExchangeFormat:
    """Return the format of this name."""
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise UserError(f"There is no format {name[:40]!r}; there are {known}.{nearest(name, list(FORMATS))}")
    return FORMATS[name]


def ending_of(format: ExchangeFormat, path: Path) -> str:
    """Return the ending of a file that this format can have."""
    name = path.name.lower()
    for ending in sorted(format.endings, key=len, reverse=True):
        if name.endswith(f".{ending}"):
            return ending
    raise UserError(f"{path.name!r} can't be a {format.name} file. Let it end in {' or '.join(format.endings)}.")
