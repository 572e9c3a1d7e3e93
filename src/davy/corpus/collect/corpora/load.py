"""Read a public corpus: its files in, posts with `Q.gold` columns and their origin out.

Corpora are small (tens of thousands of posts), so each is read whole. Nothing
published is lost: columns that Davy has no place for are kept in `meta`. Each
distinct label is looked up once; one that the scheme does not know is an error
that names file, row, column and value.
"""

from __future__ import annotations

import ast
import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from davy import schemes
from davy.core.annotation import Verdict
from davy.core.answers import GOLD, SEPARATOR, UnknownLabel, split_cell
from davy.core.errors import MissingFile, UserError
from davy.core.post import POST_COLUMNS
from davy.core.scheme import Question, Scheme
from davy.corpus.collect.corpora.descriptions import CorpusDescription, LabelColumn, describe
from davy.files import jsonl, tables
from davy.files.file_table import ALWAYS_JSON, FileTable, require_column
from davy.files.input_paths import split_paths


def settled_labels(rows: pl.DataFrame, question: Question, where: LabelColumn, file: str) -> pl.Series:
    """Return the column `Q.gold`: labels joined by `|`, null where there is no answer."""
    cells = rows[where.column].cast(pl.String)
    table: dict[str, str | None] = {}
    for value in cells.unique(maintain_order=True):
        if value is None:
            continue
        try:
            table[value] = _label(value, question, where)
        except KeyError as unknown:
            row = (cells == value).arg_max() or 0
            error = UnknownLabel(str(unknown.args[0]), question, row)
            raise UserError(f"{file}: row {row + 1}, column {where.column!r} has {error}") from None
    values = [None if cell is None else table[cell] for cell in cells]
    return pl.Series(f"{question.name}{GOLD}", values, dtype=pl.String)


def drop_labels_that_do_not_apply(rows: pl.DataFrame, scheme: Scheme) -> pl.DataFrame:
    """Return the rows with answers only where their question applies, and with derived answers filled in."""
    for question in scheme.questions:
        column = f"{question.name}{GOLD}"
        if question.derived and f"{question.derived[0]}{GOLD}" in rows.columns and column not in rows.columns:
            origin, table = question.derived
            follows = pl.col(f"{origin}{GOLD}").replace_strict(dict(table), default=None, return_dtype=pl.String)
            rows = rows.with_columns(follows.alias(column))
        if question.under and column in rows.columns and f"{question.under[0]}{GOLD}" in rows.columns:
            above = rows[f"{question.under[0]}{GOLD}"]
            applying = [cell for cell in above.unique().drop_nulls() if question.applies_under(split_cell(cell))]
            rows = rows.with_columns(pl.when(above.is_in(applying)).then(pl.col(column)).alias(column))
    return rows


def _label(value: str, question: Question, where: LabelColumn) -> str | None:
    items = _items(value, where)
    if where.item is not None:
        items = items[where.item : where.item + 1]
    chosen = [_label_name(item, question, where) for item in items if item.strip().casefold() not in where.none]
    return SEPARATOR.join(dict.fromkeys(chosen)) or None


def _items(value: str, where: LabelColumn) -> list[str]:
    if where.written == "comma":
        return [item.strip() for item in value.split(",") if item.strip()]
    if where.written in ("python", "json") and value.strip().startswith("["):
        try:
            items = json.loads(value) if where.written == "json" else ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise KeyError(value) from None
        return [str(item) for item in items]
    return [value]


def _label_name(item: str, question: Question, where: LabelColumn) -> str:
    spelt = where.values.get(item, item)
    number = spelt.removesuffix(".0")  # pandas writes whole numbers so when a column has gaps
    for spelling in (spelt, number):
        try:
            return question.label(spelling).name
        except KeyError:
            continue
    if question.open:
        return spelt.strip().replace(SEPARATOR, "/")
    raise KeyError(item)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus that was read: its posts, the scheme that its verdicts are in, and what to cite."""

    name: str
    posts: pl.LazyFrame
    rows: int
    scheme: str
    licence: str
    citation: str

    @property
    def table(self) -> FileTable:
        """The posts as a table that can be written to a file."""
        return FileTable(self.name, self.posts, frozenset({ALWAYS_JSON}), self.rows)


def load(name: str, path: Path | str, *, answers: bool = False) -> Corpus:
    """Return a corpus from its file, from the folder that holds its files, or from several of these: one row a post.

    With `answers`, a row is one person's answer, of every phase: `item`, `annotator`, `phase` and a column a question.
    """
    about = describe(name)
    scheme = schemes.load(about.scheme)
    parts = [_read(about, scheme, file) for one in split_paths(path) for file in _files(about, Path(one))]
    rows = pl.concat(parts, how="diagonal")
    if answers:
        return _answers(rows, about, scheme, str(path))
    if "annotator" in rows.columns:
        rows = _settled(rows, about, str(path))
    rows = _merged(rows, about, scheme) if about.merge else _numbered(rows)
    rows = drop_labels_that_do_not_apply(rows, scheme)
    golds = [c for q in scheme.questions if (c := f"{q.name}.gold") in rows.columns]
    extra = [c for c in (*about.answers, "origin", "split", *about.columns) if c in rows.columns]
    rows = rows.select(*POST_COLUMNS, *golds, *extra)
    return Corpus(name, rows.lazy(), len(rows), about.scheme, about.licence, about.citation)


def find_in(folder: Path | None, corpus: str) -> Path | None:
    """Return where a corpus lies in a folder of several: a folder of its name, or a file whose name holds it."""
    if folder is None:
        return None
    word = corpus.replace("-", "")
    named = [each for each in sorted(folder.iterdir()) if word in each.name.lower().replace("_", "").replace("-", "")]
    return named[0] if named else None


def verdicts(corpus: Corpus) -> Iterator[Verdict]:
    """Yield the published verdicts, post by post, in the order of the scheme's questions."""
    names = corpus.posts.collect_schema().names()
    questions = [name.removesuffix(".gold") for name in names if name.endswith(".gold")]
    for batch in corpus.posts.select("id", *(f"{q}.gold" for q in questions)).collect_batches(chunk_size=10_000):
        for post, *answers in batch.iter_rows():
            for question, answer in zip(questions, answers, strict=True):
                if answer is not None:
                    yield Verdict(post, question, tuple(answer.split("|")), "published")


def _files(about: CorpusDescription, path: Path) -> list[Path]:
    if not path.exists():
        raise MissingFile(f"{path} does not exist. Give the file or the folder of {about.name}.")
    if path.is_file():
        return [path]
    found = dict.fromkeys(file for pattern in about.files for file in sorted(path.glob(pattern)) if file.is_file())
    if not found:
        raise UserError(f"{path} holds no file of {about.name}; looked for {', '.join(about.files)}. Name the file.")
    return list(found)


def _read(about: CorpusDescription, scheme: Scheme, file: Path) -> pl.DataFrame:
    header = list(about.header) if about.header else None
    with tables.open_table(file, format=about.format, header=header, quote=about.quote) as table:
        columns = table.columns
        require_column(about.text, columns, f"{file} (as {about.name})")
        rows = table.frame.collect().with_columns(pl.col(about.text).cast(pl.String))
        json_columns = table.json
    answers = []
    for name, where in about.labels.items():
        if where.column in columns:
            answers.append(settled_labels(rows, scheme.question(name), where, str(file)))
        elif where.required:
            require_column(where.column, columns, f"{file} (as {about.name})")
    place = pl.int_range(1, len(rows) + 1, dtype=pl.Int64).cast(pl.String)
    made = rows.select(
        id=_id(about, rows, file, place),
        text=_repaired(pl.col(about.text), about),
        lang=_lang(about, rows, file),
        image=_image(about, rows, file),
        source=pl.lit(about.name),
        licence=pl.lit(about.licence),
        collected_at=pl.lit(None, dtype=pl.String),
        found=pl.concat_str(pl.lit(f"{file.name}:"), place),
        parent=_parent(about, rows),
        meta=_meta(about, scheme, rows, json_columns),
    ).with_columns(answers)
    others = {c: pl.col(c).cast(pl.String) for c in about.columns if c in columns}
    others |= {ours: pl.col(c).cast(pl.String) for ours, c in about.answers.items() if c in columns}
    if "phase" in others:
        others["phase"] = others["phase"].str.replace(r"\.0$", "").replace(dict(about.phases))
    if about.origin in columns:
        others["origin"] = pl.col(about.origin).cast(pl.String)
    split = _value_for_file(about.splits, file)
    if split:
        others["split"] = pl.lit(split)
    elif about.split in columns:
        others["split"] = pl.col(about.split).cast(pl.String)
    return made.hstack(rows.with_columns(**others).select(others.keys()))


def _id(about: CorpusDescription, rows: pl.DataFrame, file: Path, place: pl.Expr) -> pl.Expr:
    """Return the published ids, or file name and row where there are none."""
    column = next((c for c in about.id if c in rows.columns), None)
    made = pl.concat_str(pl.lit(f"{file.stem}-"), place)
    return made if column is None else pl.coalesce(pl.col(column).cast(pl.String), made)


def _lang(about: CorpusDescription, rows: pl.DataFrame, file: Path) -> pl.Expr:
    """Return each post's language: from a column, the ids (`german-1`), or the corpus's own.

    A file's name alone is no evidence: where it speaks of another language than the corpus's, and nothing else tells,
    the language is unknown.
    """
    column = next((c for c in ("lang", "language") if c in rows.columns), None)
    if not about.langs:
        return pl.lit(about.lang, dtype=pl.String)
    known = {**about.langs, "english": "en"}
    if column is not None:
        return pl.col(column).cast(pl.String).str.strip_chars().str.to_lowercase().replace(known)
    own = next((c for c in about.id if c in rows.columns), None)
    default = about.lang if _value_for_file(about.langs, file) in (None, about.lang) else None
    if own is None:
        return pl.lit(default, dtype=pl.String)
    word = pl.col(own).cast(pl.String).str.extract(r"^([A-Za-z]+)-").str.to_lowercase()
    return word.replace_strict(known, default=default, return_dtype=pl.String)


def _repaired(text: pl.Expr, about: CorpusDescription) -> pl.Expr:
    """Return the text as people wrote it, where publishing changed it in a known way."""
    if "html" in about.repair:
        text = text.map_elements(html.unescape, return_dtype=pl.String)
    if "line breaks" in about.repair:
        text = text.str.replace_all(r" ?\|LBR\| ?", "\n")
    return text


def _image(about: CorpusDescription, rows: pl.DataFrame, file: Path) -> pl.Expr:
    """Return the image keys; the name of the file that is there, where only the ending differs."""
    if about.image is None or about.image not in rows.columns:
        return pl.lit(None, dtype=pl.String)
    image = pl.col(about.image).cast(pl.String)
    folders = [parent / about.image_folder for parent in (file.parent, file.parent.parent) if about.image_folder]
    folder = next((one for one in folders if one.is_dir()), None)
    if folder is None:
        return image
    files = {one.stem: one.name for one in folder.iterdir()}
    return image.map_elements(lambda key: files.get(Path(key).stem, key), return_dtype=pl.String)


def _parent(about: CorpusDescription, rows: pl.DataFrame) -> pl.Expr:
    """Return the ids of the posts that posts were derived from; null for originals."""
    nothing = pl.lit(None, dtype=pl.String)
    own = next((c for c in about.id if c in rows.columns), None)
    column = next((c for c in about.parent.columns if c in rows.columns), None) if about.parent else None
    if about.parent is None or column is None or own is None:
        return nothing
    if about.parent.group:
        ((kind, original),) = about.parent.group.items()
        firsts = rows.filter(pl.col(kind) == original).unique(column, keep="first", maintain_order=True)
        table = dict(zip(firsts[column], firsts[own].cast(pl.String), strict=True))
        values = [
            None if value == original else table.get(group)
            for group, value in zip(rows[column], rows[kind], strict=True)
        ]
        parent = pl.lit(pl.Series(values, dtype=pl.String))
    else:
        parent = pl.col(column).cast(pl.String).str.replace(r"\.0$", "")
        # Multilingual files name cases `german-1` and refer to them as `1.0`.
        before = pl.col(own).cast(pl.String).str.extract(r"^([A-Za-z]+-)\d+$")
        bare = parent.str.contains(r"^\d+$") & before.is_not_null()
        parent = pl.when(bare).then(pl.concat_str(before, parent)).otherwise(parent)
        for name, wanted in about.parent.when.items():
            parent = pl.when(pl.col(name).is_in(list(wanted))).then(parent)
    return pl.when(parent != pl.col(own).cast(pl.String)).then(parent)


def _meta(about: CorpusDescription, scheme: Scheme, rows: pl.DataFrame, json_columns: frozenset[str]) -> pl.Series:
    """Return everything published that has no column of its own, as JSON text."""
    own = next((c for c in about.id if c in rows.columns), None)
    roots = {where.column for name, where in about.labels.items() if not scheme.question(name).under}
    settled = {where.column for name, where in about.labels.items() if scheme.question(name).under}
    own_columns = (about.image, about.split, about.origin, *about.columns, *about.answers.values())
    used = {own, about.text, *own_columns, *(roots - settled)}
    kept = [c for c in rows.columns if c not in used or c in about.merge]
    if not kept:
        return pl.Series("meta", [None] * len(rows), dtype=pl.String)
    return jsonl.json_objects(rows.lazy().select(kept), json_columns & set(kept)).collect().to_series().alias("meta")


def _value_for_file(table: Mapping[str, str], file: Path) -> str | None:
    """Return the value whose key is part of the file's name."""
    return next((value for part, value in table.items() if part in file.name.lower()), None)


def _settled(rows: pl.DataFrame, about: CorpusDescription, path: str) -> pl.DataFrame:
    """Return the rows that are the corpus: those of its settled phases; answers that nobody settled are refused."""
    if about.settled and "phase" in rows.columns:
        kept = rows.filter(pl.col("phase").is_in(about.settled))
        if not len(kept):
            seen, own = ", ".join(rows["phase"].drop_nulls().unique().sort()), ", ".join(about.settled)
            raise UserError(
                f"{path} holds answers of phase {seen} alone; the posts of {about.name} are those of phase {own}. "
                f"For the answers: davy convert {path} --corpus {about.name} --each-answer --out F"
            )
        rows = kept
    if rows["id"].n_unique() < len(rows):
        raise UserError(
            f"{path} has people's answers: {len(rows):,} rows about {rows['id'].n_unique():,} posts. Settle them in a "
            f"project: davy project import P {path} --corpus {about.name}, then davy project corpus P --out F. "
            f"To measure agreement: davy convert {path} --corpus {about.name} --each-answer --out F"
        )
    return rows


def _answers(rows: pl.DataFrame, about: CorpusDescription, scheme: Scheme, path: str) -> Corpus:
    """Return every answer as a row, in the shape that `davy agree` and `davy project import` read."""
    if "annotator" not in rows.columns:
        raise UserError(f"{path} does not say who answered, so it has no answers of people. Leave out --each-answer.")
    rows = drop_labels_that_do_not_apply(rows, scheme)
    questions = {f"{q.name}.gold": q.name for q in scheme.questions if f"{q.name}.gold" in rows.columns}
    extra = [c for c in ("origin", "split", *about.columns) if c in rows.columns]
    post = [c for c in POST_COLUMNS if c != "id"]
    rows = rows.rename({"id": "item", **questions})
    rows = rows.select("item", *(c for c in about.answers if c in rows.columns), *questions.values(), *post, *extra)
    return Corpus(about.name, rows.lazy(), len(rows), about.scheme, about.licence, about.citation)


def _numbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with #2, #3 … behind ids that are there more than once."""
    turn = pl.int_range(1, pl.len() + 1).over("id")
    numbered = pl.concat_str("id", pl.lit("#"), turn.cast(pl.String))
    return rows.with_columns(id=pl.when(turn > 1).then(numbered).otherwise("id"))


def _merged(rows: pl.DataFrame, about: CorpusDescription, scheme: Scheme) -> pl.DataFrame:
    """Return one row a post where it has several: the positive label wins, and meta keeps what differed as lists."""
    merged = []
    for _, same in rows.group_by("id", maintain_order=True):
        first = same.row(0, named=True)
        if len(same) > 1:
            for name in about.labels:
                given = same[f"{name}.gold"].to_list()
                positive = scheme.question(name).positive
                first[f"{name}.gold"] = positive if positive in given else given[0]
            metas = [json.loads(meta) for meta in same["meta"]]
            first["meta"] = json.dumps({**metas[0], **{c: [m.get(c) for m in metas] for c in about.merge}})
        merged.append(first)
    return pl.DataFrame(merged, schema=rows.schema)
