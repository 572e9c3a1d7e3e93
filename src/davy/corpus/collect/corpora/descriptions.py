"""What is known about a public corpus, as data: one YAML file each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from davy.core.errors import UserError, nearest
from davy.files.yaml_nodes import load_shipped
from davy.files.yaml_objects import shipped_names


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """Where a question's published answers are. `none` are the values that mean "no answer"."""

    column: str
    none: tuple[str, ...] = ()
    written: str = "one"
    """How a cell holds its labels: `one`, a `python` list, a `json` list, or a `comma` list."""
    item: int | None = None
    """Which item of a list is meant, where the list mixes questions."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Published values that neither a label nor an alias of the scheme spells."""
    required: bool = True


@dataclass(frozen=True, slots=True)
class ParentColumn:
    """The column (the first that is there) that names what a post was derived from, and which rows are derived."""

    columns: tuple[str, ...]
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: Mapping[str, str] = field(default_factory=dict)
    """Where the column is a group: column → value of the row that the others in the group came from."""


@dataclass(frozen=True, slots=True)
class CorpusDescription:
    """How to read one corpus."""

    name: str
    title: str
    scheme: str
    licence: str
    citation: str
    files: tuple[str, ...]
    text: str
    labels: Mapping[str, LabelColumn]
    lang: str | None = None
    langs: Mapping[str, str] = field(default_factory=dict)
    """Word → language, for corpora in several: in a column `lang` or `language`, or before ids (`german-1`)."""
    format: str | None = None
    header: tuple[str, ...] | None = None
    quote: bool = True
    id: tuple[str, ...] = ()
    image: str | None = None
    image_folder: str | None = None
    split: str | None = None
    splits: Mapping[str, str] = field(default_factory=dict)
    """Part of a file's name → split, for corpora whose files are the splits."""
    columns: tuple[str, ...] = ()
    """Published columns kept as they are; all others go into `meta`."""
    origin: str | None = None
    """The column that says where a post came from, where the corpus was put together from several; kept as `origin`."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """`annotator` and `phase` → published column, in files that have a row an answer."""
    phases: Mapping[str, str] = field(default_factory=dict)
    """Published names of phases → those of the paper."""
    settled: tuple[str, ...] = ()
    """The phases whose answers are the corpus; those of other phases were discarded by its authors."""
    split_of: Mapping[str, str] = field(default_factory=dict)
    """Question → its own column of splits, where questions differ in it."""
    parent: ParentColumn | None = None
    repair: tuple[str, ...] = ()
    merge: tuple[str, ...] = ()
    """Columns that differ between rows of one post: such rows become one post, which keeps these lists in `meta`."""
    note: str = ""


def names() -> list[str]:
    """Return the names of the corpora that can be read."""
    return shipped_names("davy.corpus.collect.corpora")


def describe(name: str) -> CorpusDescription:
    """Return the description of a corpus by its name."""
    known = names()
    if name not in known:
        raise UserError(f"There is no corpus {name!r}; Davy reads {', '.join(known)}.{nearest(name, known)}")
    raw: dict[str, Any] = load_shipped("davy.corpus.collect.corpora", f"{name}.yaml")
    raw["labels"] = {question: _labels(entry) for question, entry in raw["labels"].items()}
    if "parent" in raw:
        entry = raw["parent"]
        when = {column: tuple(values) for column, values in entry.get("when", {}).items()}
        raw["parent"] = ParentColumn(tuple(entry["columns"]), when, entry.get("group", {}))
    for key in ("files", "header", "columns", "id", "repair", "merge", "settled"):
        if key in raw:
            raw[key] = tuple(raw[key])
    return CorpusDescription(name=name, **raw)


def recognise(columns: Collection[str]) -> str | None:
    """Return the corpus whose published files have these columns: text, ids and answers; None where none is sure."""
    fitting = []
    for name in names():
        about = describe(name)
        wanted = {about.text, *(where.column for where in about.labels.values() if where.required)}
        if about.header is None and len(wanted) > 1 and wanted <= set(columns):
            fitting.append((len(wanted) + sum(each in columns for each in (*about.columns, *about.id)), name))
    best = max(fitting, default=(0, ""))
    surest = [name for fit, name in fitting if fit == best[0]]
    return surest[0] if len(surest) == 1 else None


def _labels(entry: str | dict[str, Any]) -> LabelColumn:
    if isinstance(entry, str):
        return LabelColumn(entry)
    return LabelColumn(**{**entry, "none": tuple(entry.get("none", ()))})
