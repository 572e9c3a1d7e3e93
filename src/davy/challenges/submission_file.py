"""A file of predictions that a team sends: checked whole, or refused with lines and examples.

CSV, TSV, JSONL, or a zip with one of these, in; predictions in the order of the task's entries out. The one thing to
know: the checks see ids and names of labels only, never a hidden label, so nothing they say can give one away.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import unicodedata
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from davy.challenges.challenge import ChallengeTask
from davy.core.errors import UserError

EXAMPLES = 10
ID_COLUMNS = ("id", "rewire_id")
LABEL_COLUMNS = ("label", "label_pred", "prediction")
SCORE_COLUMNS = ("score", "probability", "proba")
KINDS = ("csv", "tsv", "jsonl")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class FileFault:
    """One kind of fault: how often, and the first ten places as (line, value); a line of 0 is the file as a whole."""

    kind: str
    count: int
    examples: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        shown = "; ".join(f"line {line}: {value!r}" if line else repr(value) for line, value in self.examples)
        more = ", …" if self.count > len(self.examples) else ""
        return f"{_WORDS[self.kind]} ({self.count:,}): {shown}{more}"


_WORDS = {
    "missing": "ids of the task that the file lacks",
    "doubled": "ids that are there more than once",
    "unknown": "ids that the task does not have",
    "label": "labels outside the scheme",
    "score": "scores that are no finite numbers",
    "row": "rows that can't be read",
}


class SubmissionRefused(UserError):
    """A submission that was not taken; it counts for no limit. `faults` say where in the file.

    `key` and `values` let a page say `message` in its reader's language.
    """

    def __init__(
        self, key: str, message: str, *, faults: Sequence[FileFault] = (), status: int = 422, **values: object
    ) -> None:
        super().__init__(" ".join([message, *(f"{fault}." for fault in faults)]), status=status)
        self.key = f"submission_{key}"
        self.values = values
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class CheckedPredictions:
    """Predictions in the order of the entries: places of labels, or scores; and the hash of them."""

    values: tuple[int, ...] | tuple[float, ...]
    digest: str


@dataclass
class _Faults:
    found: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, line: int, value: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= EXAMPLES:
            shown = "".join(char if char.isprintable() else "?" for char in value)
            self.found.setdefault(kind, []).append((line, shown[:_SHOWN]))

    def faults(self) -> list[FileFault]:
        return [FileFault(kind, self.counts[kind], tuple(self.found[kind])) for kind in _WORDS if kind in self.counts]


def check_predictions(path: Path, kind: str, task: ChallengeTask, ids: Sequence[str]) -> CheckedPredictions:
    """Return the predictions of a file whose content is safe and of this kind (csv, tsv, jsonl, zip)."""
    content, kind = _unzipped(path) if kind == "zip" else (path.read_bytes(), kind)
    rows = _rows(_decoded(content), kind, task)
    faults = _Faults()
    places = {entry: place for place, entry in enumerate(ids)}
    labels = {unicodedata.normalize("NFC", label): place for place, label in enumerate(task.labels)}
    values: list[int | float | None] = [None] * len(ids)
    most = 2 * len(ids) + 1_000
    for number, (line, entry, value) in enumerate(rows, start=1):
        if number > most:
            raise SubmissionRefused(
                "rows",
                f"The file has more than {most:,} rows; the task has {len(ids):,} entries. Send one row for each.",
                most=most,
                entries=len(ids),
            )
        place = places.get(entry)
        if place is None:
            faults.add("unknown", line, entry)
            continue
        read = _score(value) if task.kind == "score" else labels.get(unicodedata.normalize("NFC", value.strip()))
        if read is None:
            faults.add("score" if task.kind == "score" else "label", line, value)
        elif values[place] is not None:
            faults.add("doubled", line, entry)
        else:
            values[place] = read
    _add_missing(faults, ids, values)
    if found := faults.faults():
        message = f"The file was not taken and does not count. {_expected_answers(task)}"
        raise SubmissionRefused("faults", message, faults=found, labels=", ".join(task.labels))
    plain = [value for value in values if value is not None]
    digest = hashlib.sha256(json.dumps(plain).encode()).hexdigest()
    return CheckedPredictions(tuple(plain), digest)


def _add_missing(faults: _Faults, ids: Sequence[str], values: Sequence[object]) -> None:
    """Note ids without a prediction; those whose row has a fault of its own are not noted twice."""
    missing = [entry for entry, value in zip(ids, values, strict=True) if value is None]
    if len(missing) > faults.counts.get("label", 0) + faults.counts.get("score", 0):
        for entry in missing:
            faults.add("missing", 0, entry)


def _expected_answers(task: ChallengeTask) -> str:
    if task.kind == "score":
        return "A score is a finite number, higher where the label is likelier."
    return f"Labels are: {', '.join(task.labels)}."


def _unzipped(path: Path) -> tuple[bytes, str]:
    """Return the one file in a zip that was checked before: no bomb, no path that leads out."""
    with zipfile.ZipFile(path) as archive:
        inside = [
            member
            for member in archive.infolist()
            if not member.is_dir() and not member.filename.startswith("__MACOSX/") and "/." not in f"/{member.filename}"
        ]
        if len(inside) != 1:
            raise SubmissionRefused(
                "zip_files", f"The zip holds {len(inside)} files; it must hold one CSV or JSONL file.", n=len(inside)
            )
        ending = inside[0].filename.lower().rpartition(".")[2]
        if ending not in KINDS:
            raise SubmissionRefused(
                "zip_kind",
                f"The zip holds a .{ending[:10]} file; it must hold one CSV, TSV or JSONL file.",
                ending=ending[:10],
            )
        return archive.read(inside[0]), ending


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        raise SubmissionRefused("encoding", "The file is UTF-16 or not text. Save it as UTF-8 and send it again.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SubmissionRefused(
            "line_encoding", f"Line {line} is not UTF-8. Save the file as UTF-8 and send it again.", line=line
        ) from None


def _rows(text: str, kind: str, task: ChallengeTask) -> Iterator[tuple[int, str, str]]:
    """Yield (line, id, value) of each row."""
    return _json_rows(text, task) if kind == "jsonl" else _csv_rows(text, "\t" if kind == "tsv" else ",", task)


def _csv_rows(text: str, separator: str, task: ChallengeTask) -> Iterator[tuple[int, str, str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        entry, value = _columns(header, task)
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise SubmissionRefused(
                    "cells",
                    f"Line {reader.line_num} has {len(row)} cells; the first line has {len(header)} columns.",
                    line=reader.line_num,
                    cells=len(row),
                    columns=len(header),
                )
            yield reader.line_num, row[entry].strip(), row[value]
    except csv.Error as error:
        raise SubmissionRefused(
            "line", f"Line {reader.line_num} can't be read as CSV: {error}.", line=reader.line_num
        ) from None


def _json_rows(text: str, task: ChallengeTask) -> Iterator[tuple[int, str, str]]:
    def refuse_constant(word: str) -> float:
        raise ValueError(f"{word} is no number of JSON")

    for line, row in enumerate(text.split("\n"), start=1):
        if not row.strip():
            continue
        try:
            record = json.loads(row, parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            raise SubmissionRefused(
                "line", f"Line {line} can't be read as JSON: {str(error)[:80]}.", line=line
            ) from None
        if not isinstance(record, dict):
            raise SubmissionRefused("line", f"Line {line} is not a JSON object; write one object a line.", line=line)
        names = list(record)
        entry, value = _columns(names, task)
        cells = [record[names[place]] for place in (entry, value)]
        if any(isinstance(cell, dict | list | bool) or cell is None for cell in cells):
            raise SubmissionRefused(
                "line", f"Line {line}: {names[entry]} and {names[value]} must be texts or numbers.", line=line
            )
        yield line, str(cells[0]).strip(), str(cells[1])


def _columns(names: Sequence[str], task: ChallengeTask) -> tuple[int, int]:
    """Return the places of the id and of the prediction among a file's columns, by their plain names or as scored."""
    by_score = task.kind == "score"
    wanted = (*SCORE_COLUMNS, task.question) if by_score else (*LABEL_COLUMNS, f"{task.question}.label")
    places = []
    for known in (ID_COLUMNS, wanted):
        place = next((names.index(name) for name in known if name in names), None)
        if place is None:
            seen = ", ".join(str(name)[:30] for name in names[:10]) or "none"
            raise SubmissionRefused(
                "columns",
                f"The file needs the columns {ID_COLUMNS[0]} and {wanted[0]}; it has {seen}.",
                wanted=wanted[0],
                seen=seen,
            )
        places.append(place)
    return places[0], places[1]


def _score(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None
