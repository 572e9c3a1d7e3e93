"""One neutral row for every format: a post, what each person answered about it, and what was settled.

Every format's module has `write(rows, path, about)` and `read(path, about)`.
People are pseudonyms here and nothing else: no ids, names, logins or check-ins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from davy.core import BASES, FLAGS, Scheme, UserError
from davy.core.annotation import Answers

if TYPE_CHECKING:
    pass

POST_FIELDS: tuple[str, ...] = ("lang", "image", "source", "licence", "collected_at", "found", "parent")
"""What is known of a post besides its id, its text and its meta; each is text or None."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One person's answers about one post in one phase. A refusal has the flag `refused` and no answers."""

    annotator: str
    phase: str | None
    answers: Answers
    flags: tuple[str, ...] = ()
    comment: str | None = None
    seconds: float | None = None
    at: datetime | None = None
    guideline: int = 0
    """The version of the guideline that they worked with; 0 where none is known."""


@dataclass(frozen=True, slots=True)
class SettledAnswer:
    """The verdict on one question."""

    labels: tuple[str, ...]
    basis: str = "published"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweredPost:
    """A post with everything that was said about it.

    `text` is None where a file only names the post. `place` is where in a file it stood, for error messages.
    """

    id: str
    text: str | None = None
    lang: str | None = None
    image: str | None = None
    source: str | None = None
    licence: str | None = None
    collected_at: str | None = None
    found: str | None = None
    parent: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[GivenAnswer, ...] = ()
    settled: Mapping[str, SettledAnswer] = field(default_factory=dict)
    place: str = field(default="", compare=False)

    @property
    def known(self) -> dict[str, str]:
        """The fields of `POST_FIELDS` that are filled."""
        return {name: value for name in POST_FIELDS if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class ExportedPicture:
    """The bytes of a post's picture, and whose it is."""

    data: bytes
    licence: str | None = None
    credit: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ExchangeContext:
    """What formats need to know besides the rows."""

    scheme: Scheme
    project: str = "project"
    title: str = ""
    question: str | None = None
    """The only question to write, for formats that hold one."""
    raw: bool = False
    """Whether spreadsheet formulas in CSV and TSV stay as they are."""
    kind: str | None = None
    """The file's ending where the path does not say it, such as `csv`."""
    statement: Callable[[], str] = str
    """Gives the data statement in Markdown once all rows have passed, for formats that carry a card."""
    licence: str = ""
    picture: Callable[[str], ExportedPicture | None] | None = None
    """Gives the picture that a post names by key, for formats that hold pictures; None where the project has none."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """`item`, `annotator`, a question … → the column that holds it, for tables that name them otherwise."""

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions to write, in the scheme's order."""
        names = tuple(question.name for question in self.scheme.questions)
        if self.question is None:
            return names
        if self.question not in names:
            raise UserError(
                f"Scheme {self.scheme.name!r} has no question {self.question!r}; it asks {', '.join(names)}."
            )
        return (self.question,)


Rows = Iterable[AnsweredPost]


def merge_rows(rows: Iterable[AnsweredPost]) -> Iterator[AnsweredPost]:
    """Yield the rows with neighbours about one post put together, as files with a row an answer have them."""
    before: AnsweredPost | None = None
    for row in rows:
        if before is None:
            before = row
        elif row.id == before.id and _same_post(before, row):
            before = _joined(before, row)
        else:
            yield before
            before = row
    if before is not None:
        yield before


def moment(value: Any, place: str) -> datetime | None:
    """Return a time that a file gives as ISO 8601 text or as seconds since 1970, in UTC; nothing where it is empty."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        read = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        raise UserError(f"{place}: {str(value)[:40]!r} is not a time such as 2026-05-01T12:00:00Z.") from None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def number(value: Any, place: str, what: str) -> float | None:
    """Return a count of seconds that a file gives; nothing where it is empty."""
    if value is None or value == "":
        return None
    try:
        read = float(value)
    except (TypeError, ValueError):
        read = -1.0
    if not 0 <= read < 1e9:
        raise UserError(f"{place}: {what} is {str(value)[:40]!r}; expected a number of at least 0.")
    return read


def version(value: Any, place: str) -> int:
    """Return a guideline's version that a file gives; 0 where it is empty."""
    read = number(value, place, "the guideline's version") or 0.0
    if read != int(read) or read > 1_000_000:
        raise UserError(f"{place}: the guideline's version is {str(value)[:40]!r}; expected a whole number.")
    return int(read)


def check_flags(flags: Iterable[Any], place: str) -> tuple[str, ...]:
    """Return flags in the order that the file has them; one that there is not is refused."""
    checked = tuple(str(flag) for flag in flags)
    unknown = [flag for flag in checked if flag not in FLAGS]
    if unknown:
        raise UserError(f"{place}: there is no flag {unknown[0][:40]!r}; there are {', '.join(FLAGS)}.")
    return checked


def check_basis(basis: Any, place: str) -> str:
    """Return a verdict's basis; `published` where the file does not say."""
    if basis is None or basis == "":
        return "published"
    if basis not in BASES:
        raise UserError(f"{place}: there is no basis {str(basis)[:40]!r}; there are {', '.join(BASES)}.")
    return str(basis)


def _same_post(one: AnsweredPost, other: AnsweredPost) -> bool:
    names = ("text", *POST_FIELDS, "meta")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _joined(one: AnsweredPost, other: AnsweredPost) -> AnsweredPost:
    from dataclasses import replace

    return replace(one, given=(*one.given, *other.given), settled={**one.settled, **other.settled})
