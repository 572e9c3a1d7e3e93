"""`davy agree`: how far people agree, from a file of their answers."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy import schemes
from davy.core.answers import NONE, SEPARATOR, Answer, UnknownLabel, applies_mask, imply_no, parse_cell, split_cell
from davy.core.errors import UserError, nearest
from davy.evaluation.cli.agreement_tables import PICTURES, show, write_pictures
from davy.files import tables
from davy.files.atomic import require_folder_of, write_json
from davy.files.data_hash import rows_hash
from davy.files.file_table import translate_errors
from davy.files.formats import display_name, output_format
from davy.files.input_paths import join_paths
from davy.measure import answer_columns as pick
from davy.measure.agreement import FROM_COUNTS
from davy.measure.agreement_study import (
    REPEATS,
    StudyQuestion,
    clean_answers,
    join_list_cells,
    study_table,
    to_long_rows,
)
from davy.measure.intervals import Bootstrap
from davy.measure.ratings import quote_label
from davy.shell import console
from davy.shell.options import Latex

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Scheme
    from davy.files.file_table import FileTable


def agree(
    files: Annotated[
        list[str],
        typer.Argument(metavar="F…", help="People's answers: files, folders or patterns in quotes; - is stdin."),
    ],
    item: Annotated[str | None, typer.Option("--id-column", metavar="C", help="Column that names the item.")] = None,
    annotator: Annotated[
        list[str] | None,
        typer.Option(
            "--annotator-column", metavar="C", help="Column that names the annotator; wide: each one's column."
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--gold", metavar="[Q=]C", help="Column of answers, once a question; QUESTION=COLUMN to name it."),
    ] = None,
    text: Annotated[
        str, typer.Option("--text-column", help="Column of the text, for questions about words of it (with --scheme).")
    ] = "text",
    by: Annotated[str | None, typer.Option("--by", help="Column to split by, such as the phase.")] = None,
    wide: Annotated[bool, typer.Option("--wide", help="One row an item, one column an annotator.")] = False,
    scheme: Annotated[
        str | None, typer.Option("--scheme", help="Scheme that knows the labels, their order and aliases.")
    ] = None,
    order: Annotated[
        str | None, typer.Option("--order", help="Labels from low to high, with commas: adds ordinal α.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option("--missing", help="Cell that means no answer, such as NA; repeatable.")
    ] = None,
    repeats: Annotated[
        str, typer.Option("--repeats", help="One person, one item, two answers: refuse, or count the first or last.")
    ] = "refuse",
    coefficient: Annotated[
        str, typer.Option("--coefficient", help="What one-out tables show: fleiss, alpha, ac1, randolph, percent.")
    ] = "fleiss",
    pairs: Annotated[
        bool | None, typer.Option("--pairs/--no-pairs", help="Print Cohen's κ of each pair (default: without --by).")
    ] = None,
    subsets: Annotated[bool, typer.Option("--subsets", help="Measure every subset of annotators too.")] = False,
    resamples: Annotated[int, typer.Option("--resamples", help="Bootstrap resamples; 0 for no intervals.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampling.")] = 0,
    interval: Annotated[str, typer.Option("--interval", help="Bootstrap interval: percentile or bca.")] = "percentile",
    format: Annotated[str | None, typer.Option("--format", help="Format, where the name does not say it.")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding, where it is not UTF-8.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="All figures: .json, or rows as .csv, .jsonl, .parquet. With --subsets .html, .svg, .png too."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    latex: Latex = False,
) -> None:
    """Measure how far people agree: κ (Cohen, Fleiss, Randolph), Krippendorff's α, Gwet's AC1, percent.

    Every figure has a bootstrap interval over items. Printed for each question and group: the coefficients with the
    words of Landis & Koch and of McHugh, agreement without each annotator, for each label, and for each pair.

    Examples:

        davy agree answers.csv --id-column post --annotator-column who --gold hate

        davy agree gmhp7k.csv --id-column tweet_id --annotator-column annotator_name --gold hs --gold m_hs --by phase

        davy agree answers.csv --scheme gmhp7k --by phase --subsets --out figure2.html

        davy agree edos.csv --scheme edos --gold sexist=label_sexist --gold category=label_category

        davy agree ratings.csv --wide --id-column id --annotator-column ann --annotator-column ben --json
    """

    console.use_latex(latex, json=json)
    _one_of("--coefficient", coefficient, FROM_COUNTS)
    _one_of("--repeats", repeats, REPEATS)
    if out is not None:
        _writable(out, subsets)
    bootstrap = Bootstrap(resamples, seed, method=interval)
    known = _scheme(scheme)
    file = join_paths(files)
    names = [_parse_named(text) for text in label or []]
    rows, item, who, asked = _read(file, item, annotator or [], names, by, wide, known, text, format, encoding)
    rows, asked = _in_words_of(known, rows, asked, order)
    with console.progress("Measuring agreement") as step:
        studies = study_table(
            rows,
            asked,
            item=item,
            annotator=who,
            by=by,
            repeats=repeats,
            missing=missing or [],
            every_subset=subsets,
            bootstrap=bootstrap,
            progress=step,
        )
    settings = {"by": by, "resamples": resamples, "seed": seed, "interval": interval, "level": bootstrap.level}
    result: dict[str, Any] = {
        "file": display_name(file),
        "data": rows_hash(rows),
        "settings": settings,
        "studies": [s.to_dict() for s in studies],
    }
    if out is not None and out.suffix in PICTURES:
        write_pictures(studies, out, coefficient, data=result["data"], command=shlex.join(console.command_line()))
        console.note(f"Wrote {out}")
    elif out is not None:
        _write(result, out)
    if json:
        console.json(result)
    else:
        show(studies, by, coefficient, by is None if pairs is None else pairs, bootstrap)


def _parse_named(text: str) -> tuple[str, str]:
    """Return the column and the question of `COLUMN` or `QUESTION=COLUMN`, the order of `--gold`."""
    question, _, column = text.rpartition("=")
    return column, question or column


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:

    if value not in known:
        raise UserError(
            f"{option} {value!r} is not known. Use one of: {', '.join(known)}.{nearest(value, list(known))}"
        )


def _writable(out: Path, subsets: bool) -> None:

    if out.suffix in PICTURES and not subsets:
        raise UserError(f"{out.name} would be a picture of every combination of annotators. Add --subsets.")
    if out.suffix != ".json" and out.suffix not in PICTURES:
        output_format(out)
    require_folder_of(out)


def _scheme(name: str | None) -> Scheme | None:
    if name is None:
        return None

    return schemes.load(name)


def _read(
    file: str,
    item: str | None,
    people: list[str],
    names: list[tuple[str, str]],
    by: str | None,
    wide: bool,
    scheme: Scheme | None,
    text: str,
    format: str | None,
    encoding: str | None,
) -> tuple[pl.DataFrame, str, str, list[StudyQuestion]]:
    """Return the answers as a long frame, its item and annotator columns, and its questions."""

    with tables.open_table(file, format=format, encoding=encoding) as table, translate_errors(table.name):
        columns, name = table.columns, display_name(file)
        item = pick.item_column(columns, item, name)
        if by is not None:
            pick.require(by, columns, name, "--by")
        kept = [item, *([by] if by is not None and by != item else [])]
        if wide:
            cells = pick.wide_columns(columns, [column for column, _ in names], people, kept, name)
            used = list(dict.fromkeys(column for each in cells.values() for column in each.values()))
            frame = _collect_rows(table.select([*kept, *used]))
            if not people:
                _refuse_strangers(frame, used, name)
            titles = dict(names)
            asked = [StudyQuestion(titles.get(question, question), question) for question in cells]
            return to_long_rows(frame, item, cells, by), item, "annotator", asked
        if len(people) > 1:
            raise UserError("A long file has one --annotator-column. With a column for each annotator, add --wide")
        who = pick.annotator_column(columns, people[0] if people else None, name)
        if not names and scheme is not None:
            names = [(q.name, q.name) for q in scheme.questions if q.name in columns]
        chosen = pick.label_columns(columns, [column for column, _ in names], name, [*kept, who])
        titles = dict(names)
        marks = [c for c in chosen if scheme is not None and _asks_words(scheme, titles.get(c, c))]
        if marks:
            pick.require(text, columns, name, "--text")
        used = list(dict.fromkeys([*kept, who, *chosen, *([text] if marks else [])]))
        asked = [StudyQuestion(titles.get(c, c), c, text=text if c in marks else None) for c in chosen]
        return _collect_rows(table.select(used)), item, who, asked


def _asks_words(scheme: Scheme, name: str) -> bool:
    return any(question.name == name and question.marks_text for question in scheme.questions)


def _collect_rows(table: FileTable) -> pl.DataFrame:
    """Return the rows, with lists of labels in JSON cells joined by `|`."""

    frame = table.frame.collect()
    return frame.with_columns(join_list_cells(frame[column]) for column in sorted(table.json))


def _refuse_strangers(frame: pl.DataFrame, used: list[str], name: str) -> None:
    """Raise where a column that nobody named can't be an annotator's: it shares no label with the other columns."""

    seen = {column: set(clean_answers(frame[column]).drop_nulls().unique().to_list()) for column in used}
    for column, labels in seen.items():
        others = set().union(*(seen[other] for other in used if other != column))
        if labels and not labels & others:
            rest = ", ".join(other for other in used if other != column)
            raise UserError(
                f"Column {column!r} of {name} shares no label with the others ({rest}), so it is no annotator's. "
                "Name the annotators' columns with --annotator-column"
            )


def _in_words_of(
    scheme: Scheme | None, rows: pl.DataFrame, asked: list[StudyQuestion], order: str | None
) -> tuple[pl.DataFrame, list[StudyQuestion]]:
    """Return rows and questions with the labels' names and order that the scheme, or `--order`, gives."""
    from dataclasses import replace

    if order is not None:
        labels = tuple(part.strip() for part in order.split(",") if part.strip())
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise UserError(f"--order {order!r} must list two or more different labels, from low to high, with commas")
        return rows, [replace(each, labels=labels, ordered=True) for each in asked]
    if scheme is None:
        return rows, asked
    questions = []
    for each in asked:
        rows, question = _apply_scheme(scheme, rows, each)
        questions.append(question)
    return _fill_implied(scheme, rows, {each.name: each.column for each in questions}), questions


def _apply_scheme(scheme: Scheme, rows: pl.DataFrame, asked: StudyQuestion) -> tuple[pl.DataFrame, StudyQuestion]:
    from dataclasses import replace

    import polars as pl

    known = [question.name for question in scheme.questions]
    if asked.name not in known:
        raise UserError(
            f"Scheme {scheme.name!r} has no question {asked.name!r}; it asks {', '.join(known)}. "
            f"Name it: --gold {asked.column}=QUESTION"
        )
    question = scheme.question(asked.name)
    if question.marks_text and asked.text is None:
        raise UserError(
            f"{question.name!r} asks for words of the text. Give a row an answer, without --wide, and the text's column"
        )
    cells = clean_answers(rows[asked.column])
    names: dict[str, str | None] = {}
    for cell in sorted(cells.drop_nulls().unique().to_list()):
        try:
            labels = parse_cell(cell, question, keep_unlisted=True)
        except UnknownLabel as error:
            if question.marks_text:
                raise UserError(f"Column {asked.column!r} has {error}") from None
            raise UserError(
                f"{quote_label(error.spelling)} in column {asked.column!r} is not a label of {question.name!r}; "
                f"it has {', '.join(question.label_names)}"
            ) from None
        names[cell] = SEPARATOR.join(sorted(labels or ())) or (NONE if question.marks_text else None)
    rows = rows.with_columns(cells.replace_strict(names, return_dtype=pl.String).alias(asked.column))
    if question.marks_text:
        return rows, replace(asked, labels=question.label_names)
    fixed: tuple[str, ...] = question.label_names if question.has_fixed_answers else ()
    return rows, replace(asked, labels=fixed, ordered=question.ordered)


def _fill_implied(scheme: Scheme, rows: pl.DataFrame, columns: dict[str, str]) -> pl.DataFrame:
    """Return the rows with the no of yes/no questions that were not asked because of the answer above them."""
    import polars as pl

    given: dict[str, list[Answer]] = {
        name: [None if cell is None else split_cell(cell) for cell in rows[column]] for name, column in columns.items()
    }
    for question in scheme.questions:
        if question.no is not None and question.name in given:
            own = given[question.name]
            applies = applies_mask(question, scheme.questions, given, len(own))
            given[question.name] = imply_no(question, own, applies)
            cells = [None if labels is None else SEPARATOR.join(labels) for labels in given[question.name]]
            rows = rows.with_columns(pl.Series(columns[question.name], cells, dtype=pl.String))
    return rows


def _write(result: dict[str, Any], out: Path) -> None:
    """Write all figures: the whole as JSON, or one row a figure."""
    import polars as pl

    if out.suffix == ".json":
        write_json(out, result)
    else:
        tables.write(pl.DataFrame(_flat(result), infer_schema_length=None).lazy(), out)
    console.note(f"Wrote {out}")


def _flat(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row for each figure, `part` and `of` saying what it is about."""
    rows: list[dict[str, Any]] = []

    def add(study: dict[str, Any], part: str, of: str, metric: dict[str, Any]) -> None:
        words = metric["words"]
        rows.append(
            {
                "question": study["question"],
                "group": study["group"],
                "part": part,
                "of": of,
                "coefficient": metric["name"],
                **{key: metric[key] for key in ("value", "low", "high", "n", "note")},
                "landis_koch": words.get("landis-koch"),
                "mchugh": words.get("mchugh"),
                "data": result["data"],
            }
        )

    for study in result["studies"]:
        for metric in study["coefficients"]:
            add(study, "all", "", metric)
        for entry in study["labels"]:
            for metric in entry["coefficients"]:
                add(study, "label", entry["label"], metric)
        for part, key in (("without", "leave_one_out"), ("subset", "subsets")):
            for panel in study[key]:
                who = panel["without"] if part == "without" else panel["annotators"]
                for metric in panel["coefficients"]:
                    add(study, part, "|".join(who), metric)
        for pair in study["pairs"]:
            add(study, "pair", "|".join(pair["annotators"]), pair)
    return rows
