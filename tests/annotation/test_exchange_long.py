"""Our own table: what goes out comes back, `davy agree` reads it, and no spreadsheet runs it."""

from __future__ import annotations

import csv
import json

import pytest

from davy.annotation.exchange import long_table
from davy.annotation.exchange.exchange import ExportRequest, export_project
from davy.annotation.exchange.spreadsheet_cells import escape_formula, unescape_formula
from davy.shell.app import run
from exchange_case import about, fill, rows, same_but_people


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
@pytest.mark.parametrize("raw", [False, True])
def test_a_table_brings_back_every_odd_text_answer_and_verdict(tmp_path, ending, raw):
    path = tmp_path / f"answers.{ending}"
    long_table.write(rows(), path, about(raw=raw))
    assert list(long_table.read(path, about(raw=raw))) == rows()


def test_the_store_comes_back_from_a_table_with_pseudonyms(store, tmp_path):
    fill(store)
    path = tmp_path / "answers.csv"
    wrote = export_project(store, ExportRequest("tea-1"), path)
    read = list(long_table.read(path, about()))
    names = sorted({given.annotator for row in read for given in row.given})
    assert (wrote.posts, wrote.annotators, wrote.phases) == (len(rows()), 3, ("3",))
    assert len(names) == 3
    assert all(name.startswith("A") for name in names)
    first = {given.annotator: number for number, given in enumerate(read[0].given)}
    renamed = same_but_people(read, {name: rows()[0].given[number].annotator for name, number in first.items()})
    for row, wanted in zip(renamed, rows(), strict=True):
        assert (row.id, row.text, row.known) == (wanted.id, wanted.text, wanted.known)
        assert row.settled == wanted.settled
        plain = [(it.annotator, it.answers, it.flags, it.comment, it.seconds, it.at) for it in row.given]
        assert plain == [(it.annotator, it.answers, it.flags, it.comment, it.seconds, it.at) for it in wanted.given]


def test_training_stays_out_unless_it_is_asked_for(store, tmp_path):
    fill(store)
    path = tmp_path / "all.csv"
    assert export_project(store, ExportRequest("tea-1", phases="all"), path).answers == 3 * len(rows()) + 3
    found = [given.phase for row in long_table.read(path, about()) for given in row.given]
    assert found.count("training") == 3
    assert found.count("3") == 3 * len(rows())


def test_agree_reads_the_table_to_the_same_figures(store, tmp_path, capsys):
    fill(store)
    path = tmp_path / "answers.csv"
    export_project(store, ExportRequest("tea-1"), path)
    arguments = [
        "agree",
        str(path),
        "--id-column",
        "item",
        "--annotator-column",
        "annotator",
        "--by",
        "phase",
        "--json",
    ]
    assert run([*arguments, "--gold", "hate", "--gold", "target", "--resamples", "0"]) == 0
    studies = json.loads(capsys.readouterr().out)["studies"]
    by_question = {study["question"]: study for study in studies}
    percent = next(it for it in by_question["hate"]["coefficients"] if it["name"] == "percent")
    # Two people answer each post: on every second one they differ.
    assert percent["value"] == pytest.approx(len(rows()) // 2 / len(rows()))
    assert percent["n"] == len(rows())
    labels = {entry["label"] for entry in by_question["target"]["labels"]}
    assert "none" in labels


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+1", "@x", "\tx", "\rx", " =1", "'=1", "''=1", "-3.5", "'", "'a", "ok", ""]
)
def test_a_formula_gets_one_apostrophe_and_loses_it_again(text):
    assert unescape_formula(escape_formula(text)) == text
    assert not escape_formula(text).startswith(("=", "+", "@", "\t", "\r"))


def test_no_cell_of_a_table_starts_a_formula(store, tmp_path):
    fill(store)
    path = tmp_path / "answers.csv"
    export_project(store, ExportRequest("tea-1"), path)
    with path.open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r")) or cell == "-"]
    assert "'=1+1" in cells
    assert "''=kept as it is" in cells
    assert "-3.5" in cells


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("item,annotator,hate\n1,,hateful\n", "row 1 has no annotator"),
        ("item,annotator,hate\n,a,hateful\n", "row 1 has no item"),
        ("item,x,hate\n1,a,hateful\n", "no column that looks like the annotator"),
        ("item,annotator,hate,seconds\n1,a,hateful,soon\n", "row 1: seconds is 'soon'"),
        ("item,annotator,hate,at\n1,a,hateful,soon\n", "row 1: 'soon' is not a time"),
        ("item,annotator,hate,flags\n1,a,hateful,lazy\n", "row 1: there is no flag 'lazy'"),
        ("item,annotator,hate,meta\n1,a,hateful,[]\n", "row 1: meta is not a JSON object"),
        ("item,annotator,hate,hate.gold,hate.basis\n1,a,hateful,hateful,guess\n", "row 1: there is no basis 'guess'"),
    ],
)
def test_a_bad_table_is_one_line_with_its_place(tmp_path, table, said):
    from davy.core import UserError

    path = tmp_path / "bad.csv"
    path.write_text(table)
    with pytest.raises(UserError, match=said.replace("(", r"\(")):
        list(long_table.read(path, about()))
