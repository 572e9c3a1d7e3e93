"""What `davy check` and `davy suite` take for SUITE: a shipped name, a YAML file, or something behind a colon.

`hatemojicheck:FILE` and `hatecheck:FILE` are the public suites, `robustness:FILE`
makes tests from any labelled file. A project's own suite is a text that asks what
the project's scheme asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from davy import schemes
from davy.core import Scheme
from davy.core.errors import UserError
from davy.core.options import Option
from davy.testing import suites
from davy.testing.suite import Suite

if TYPE_CHECKING:
    import polars as pl


TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".gz", ".xz", ".zst")
FROM_FILES: dict[str, str] = {
    "hatemojicheck:FILE": "HatemojiCheck's published cases",
    "hatecheck:FILE": "HateCheck's published cases, and its multilingual sisters'",
    "robustness:FILE": "small changes to the posts of any labelled file, which must not change the answer",
}


@dataclass(frozen=True, slots=True)
class RobustnessSample:
    """How robustness tests are drawn from a file: which question, which column, how many posts."""

    question: str = "hate"
    label: Annotated[str | None, Option("robustness: the file's column of settled answers.", "--gold", metavar="C")] = (
        None
    )
    most: Annotated[int, Option("robustness: how many posts to draw from the file.", min=1)] = 500
    seed: Annotated[int, Option("Seed of the resampling.")] = 0


def load_suite(name: str, drawing: RobustnessSample | None = None, lang: str | None = None) -> Suite:
    """Return the suite that a command line names; `lang` is the language of a public file's cases."""
    kind, colon, rest = name.partition(":")
    if colon and kind in ("hatemojicheck", "hatecheck", "robustness"):
        if not rest:
            raise UserError(f"Give the file behind the colon: {kind}:FILE.csv")
        return _robustness(rest, drawing or RobustnessSample()) if kind == "robustness" else _corpus(kind, rest, lang)
    if name == "robustness":
        raise UserError("robustness is made from a labelled file: robustness:FILE.csv")
    if name not in suites.names() and Path(name).suffix.lower() in TABLES:
        return _corpus(_guess_corpus(name), name, lang)
    if lang is not None:
        raise UserError(f"{name} says itself which language it is in. --lang is for public suites' files.")
    return suites.load(name)


def _corpus(corpus: str, path: str, lang: str | None) -> Suite:
    import hashlib

    from davy.corpus.collect import corpora
    from davy.testing.suites.labelled_posts import from_posts

    read = corpora.load(corpus, path)
    posts = read.posts.collect()
    version = hashlib.sha256("\n".join(map(str, posts["text"])).encode()).hexdigest()[:8]
    question = schemes.load(read.scheme).question("hate")
    title = corpora.describe(corpus).title
    return from_posts(posts, question, name=Path(path).stem, version=version, title=title, lang=lang)


def _robustness(path: str, drawing: RobustnessSample) -> Suite:
    from davy.files import post_columns, tables
    from davy.testing.suites.robustness_tests import robustness

    with tables.open_table(path) as table:
        posts = post_columns.as_posts(table).frame.collect()
    asked = [q for s in schemes.names() for q in schemes.load(s).questions if q.name == drawing.question]
    if not asked:
        raise UserError(f"No scheme asks {drawing.question!r}. See: davy scheme list")
    label = _label_column(posts, drawing, path)
    _refuse_equal_ids(posts, path)
    return robustness(
        posts, asked[0], label=label, most=drawing.most, seed=drawing.seed, name=f"robustness-{Path(path).stem}"
    )


def _refuse_equal_ids(posts: pl.DataFrame, path: str) -> None:
    """Raise where one id stands for two texts: a case is known by its id. The same post twice is one case."""
    texts = posts.drop_nulls("text").unique("text", keep="first", maintain_order=True)
    again = texts.filter(texts["id"].is_duplicated())
    if len(again):
        raise UserError(
            f"{path}: id {again['id'][0][:60]!r} stands for two texts. Ids must differ: write others, or rename the "
            "column of ids, so that they are made from file and row."
        )


def _label_column(posts: pl.DataFrame, drawing: RobustnessSample, path: str) -> str:
    """Return the column of settled answers: the one asked for, `Q.gold`, or the one name that public files use."""
    from davy.core.errors import nearest

    if drawing.label is not None:
        if drawing.label not in posts.columns:
            hint = nearest(drawing.label, posts.columns)
            raise UserError(f"{path} has no column {drawing.label!r}; it has {', '.join(posts.columns)}.{hint}")
        return drawing.label
    names = (f"{drawing.question}.gold", drawing.question, f"label_{drawing.question}", "label_gold", "label")
    known = next((name for name in names if name in posts.columns), None)
    if known is None:
        raise UserError(
            f"{path} has no column of answers to {drawing.question!r}; it has {', '.join(posts.columns)}. "
            "Name it with --gold COLUMN."
        )
    return known


def _guess_corpus(path: str) -> str:
    """Return which public suite a table is, by its columns."""
    from davy.files import tables

    with tables.open_table(path) as table:
        columns = set(table.columns)
    if {"functionality", "set", "text", "label_gold"} <= columns:
        return "hatemojicheck"
    if {"functionality", "test_case", "label_gold"} <= columns:
        return "hatecheck"
    raise UserError(
        f"{path} is no suite that Davy knows: it wants HatemojiCheck's columns (text, functionality, set, label_gold) "
        f"or HateCheck's (test_case, functionality, label_gold). To test robustness on it: robustness:{path}"
    )


LONGEST = 200_000
"""Characters of a suite's text."""


def read_suite(text: str, scheme: Scheme) -> suites.SuiteReading:
    """Return what a suite's text makes. It may ask a question of the project's scheme, or of one that ships."""
    if len(text) > LONGEST:
        raise UserError(f"The suite has {len(text):,} characters; at most {LONGEST:,} are taken.", status=413)
    return suites.read_text(text, {**{name: schemes.load(name) for name in schemes.names()}, scheme.name: scheme})


def load_project_suite(text: str, scheme: Scheme) -> Suite:
    """Return the suite of a text, to be run; one without a case is an error that says why."""
    reading = read_suite(text, scheme)
    if reading.suite is None or not reading.suite.cases:
        problem = reading.problems[0].message if reading.problems else "It has no templates yet."
        raise UserError(f"The suite has no cases: {problem}", status=422)
    return reading.suite


def copy_shipped(name: str, new_name: str) -> str:
    """Return the text of a shipped suite under another name, without the counts that it declares."""
    if name not in suites.names():
        raise UserError(f"No suite {name[:80]!r} ships with Davy.", status=422)
    lines, skipping = [], False
    for line in suites.path_of(name).read_text("utf-8").splitlines():
        skipping = line.startswith("counts:") or (skipping and (not line or line[0] in " \t"))
        if not skipping:
            lines.append(f"name: {new_name}" if line.startswith("name:") else line)
    return "\n".join(lines) + "\n"
