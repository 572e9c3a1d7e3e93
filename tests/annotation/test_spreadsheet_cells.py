"""Cells that no spreadsheet runs, and that come back as they were."""

import polars as pl
import pytest

from davy.annotation.exchange.spreadsheet_cells import escape_formula, map_texts, unescape_formula

INSIDE = {
    "hi;=1+1;x": "hi;'=1+1;x",
    "hi; @SUM(A1)\n+cmd": "hi; '@SUM(A1)\n'+cmd",
    "\t=1": "'\t'=1",
    "a;'=1": "a;''=1",
}


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", " =1", "＝1", "%00"])
def test_what_could_start_a_formula_gets_an_apostrophe(cell):
    assert escape_formula(cell) == "'" + cell


@pytest.mark.parametrize("cell", INSIDE)
def test_a_formula_behind_a_semicolon_or_a_line_break_counts_too(cell):
    assert escape_formula(cell) == INSIDE[cell]


@pytest.mark.parametrize("cell", ["hello", "", "-3.5", "+49", "a=b", "ha ;-) and a;b = c"])
def test_other_cells_stay(cell):
    assert escape_formula(cell) == cell


@pytest.mark.parametrize("cell", [*INSIDE, "=1", "'=1", "''x", "a;''=1;=2", "ha ;-)"])
def test_a_cell_comes_back_as_it_was(cell):
    assert unescape_formula(escape_formula(cell)) == cell


def test_a_frame_is_escaped_in_cells_and_names():
    frame = map_texts(pl.DataFrame({"=x": ["=1", None, "ok;=2"], "n": [-1, 2, 3]}), escape_formula)
    assert frame.to_dict(as_series=False) == {"'=x": ["'=1", None, "ok;'=2"], "n": [-1, 2, 3]}
