import csv
import io
import re

import pytest

from davy.core import Metric
from davy.report import Column, Table

MET = Metric("F1", 0.8123, 50, 0.7, 0.9)
TABLE = Table.of(
    ["name", Column("share", "share"), "n", Column("F1", "metric", best="high")],
    [("a|b <i>", 0.125, 1234, MET), ("c_d & $", None, 7, Metric("F1", None, 0, note="no cases"))],
    title="Results",
    note="Two rows.",
)


def test_columns_find_their_kind_and_numbers_line_up() -> None:
    assert [column.kind for column in TABLE.columns] == ["name", "share", "count", "metric"]
    assert [column.right for column in TABLE.columns] == [False, True, True, True]


def test_markdown_escapes_bars_and_aligns() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[2] == "| name | share | n | F1 |"
    assert lines[3] == "| --- | ---: | ---: | ---: |"
    assert lines[4] == "| a\\|b <i> | 12.5 % | 1,234 | 0.812 [0.700, 0.900] |"
    assert lines[5] == "| c_d & $ | – | 7 | no cases |"


def test_latex_escapes_what_latex_would_run() -> None:
    table = Table.of(["x"], [(r"\input{/etc/passwd} 5% a_b ~^",)])
    assert r"\textbackslash{}input\{/etc/passwd\} 5\% a\_b \textasciitilde{}\textasciicircum{} \\" in table.latex()
    assert r"c\_d \& \$ & -- & 7 & no cases \\" in TABLE.latex()


def test_csv_holds_the_data_unrounded_with_intervals_in_columns_of_their_own() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows[0] == ["name", "share", "n", "F1", "F1.low", "F1.high", "F1.n"]
    assert rows[1] == ["a|b <i>", "0.125", "1234", "0.8123", "0.7", "0.9", "50"]
    assert rows[2] == ["c_d & $", "", "7", "", "", "", "0"]


def test_html_escapes_and_draws_the_interval_to_scale() -> None:
    html = TABLE.html()
    assert "a|b &lt;i&gt;" in html
    assert "<i>" not in html
    # 96 wide with 2 at each end: 0.7 of 92 is 64.4, 0.9 is 82.8.
    assert 'x1="66.4" y1="6" x2="84.8"' in html
    assert "0.700 to 0.900 (95% interval)" in html
    assert "n = 50" in html
    assert "no cases" in html


def test_a_difference_is_drawn_around_zero_and_an_indented_row_is_indented() -> None:
    lower = Metric("emoji difference", -0.5, 50, -0.75, -0.25)
    html = Table.of(["", Column("model", "metric")], [("overall", MET), ("  difference", lower)]).html()
    # From -1 to 1 on 92: -0.75 is at 11.5, -0.25 at 34.5, zero in the middle at 46; 2 are left at the edge.
    assert 'class="range" x1="13.5" y1="6" x2="36.5"' in html
    assert html.count('class="zero" x1="48.0"') == 1
    assert '<td class="name indent"' in html


def test_a_negative_number_has_a_minus_sign_wherever_people_read_it_and_a_hyphen_in_data() -> None:
    lower = Metric("difference", -0.5, 50, -0.75, -0.0001)
    table = Table.of([Column("x", "metric"), Column("n", "count")], [(lower, -1200)])
    assert "−0.500 [−0.750, 0.000] | −1,200" in table.markdown()
    assert r"$-$0.500 [$-$0.750, 0.000] & $-$1,200" in table.latex()
    assert "−0.750 to 0.000" in table.html()
    assert "-" not in table.html().partition("<tbody>")[2].replace("data-head", "").partition("<svg")[0]
    assert table.csv().splitlines()[1] == "-0.5,-0.75,-0.0001,50,-1200"


def test_the_best_value_is_bold_and_a_tie_is_bold_twice() -> None:
    table = Table.of([Column("x", "number", best="low")], [(2.0,), (1.0,), (1.0,), (None,), (float("nan"),)])
    assert table.markdown().count("**1.000**") == 2
    assert table.html().count("<strong>") == 2


def test_the_shell_gets_a_table_and_an_empty_one_says_so() -> None:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=100)
    console.print(TABLE.rich())
    assert "0.812 [0.700, 0.900]" in console.file.getvalue()  # type: ignore[attr-defined]
    assert "Nothing to show." in Table.of(["a"], []).html()


def test_a_row_of_the_wrong_length_and_an_unknown_kind_are_named() -> None:
    with pytest.raises(ValueError, match="row 2 has 1 cells for 2 columns"):
        Table.of(["a", "b"], [(1, 2), (1,)])
    with pytest.raises(ValueError, match="kind 'colour'"):
        Column("a", "colour")


def test_a_column_of_short_names_takes_no_more_room_than_they_need() -> None:
    table = Table.of([Column("rank"), Column("system"), Column("F1", "metric")], [("1", "a/long/folder/name", 0.5)])
    assert re.findall('<th scope="col" class="([^"]+)"', table.html()) == ["name short", "name", "number"]
