"""A kept board as rows and as CSV: the shell and the pages' downloads use the same.

Plain values in (what `Board.to_dict` gave), texts out. Teams choose their names, so a cell that a spreadsheet would
run as a formula gets an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from typing import Any

_RISKY = "=+-@\t\r\n|%＝＋－＠"
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


def board_rows(content: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the board's heads and rows as people read them."""
    heads = ["rank", "team", "figure", "95 %", "ranks", "p, next", "Holm"]
    rows = []
    for row in content["rows"]:
        figure, span = row["figure"], row["rank_range"]
        rows.append([
            row["mark"] or str(row["rank"] or "–"),
            row["system"],
            "–" if figure["value"] is None else f"{figure['value']:.4f}",
            "–" if figure["low"] is None else f"{figure['low']:.3f}–{figure['high']:.3f}",
            "–" if span is None else (str(span[0]) if span[0] == span[1] else f"{span[0]}–{span[1]}"),
            _chance(row["next_p"]),
            _chance(row["next_p_holm"]),
        ])  # fmt: skip
    return heads, rows


def board_csv(content: Mapping[str, Any]) -> str:
    """Return the board as CSV, unrounded; cells that could start a formula are made harmless."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["rank", "mark", "team", "value", "low", "high", "n", "rank_low", "rank_high", "next_p",
                     "next_p_holm", "tied_with"])  # fmt: skip
    for row in content["rows"]:
        figure, span = row["figure"], row["rank_range"] or (None, None)
        cells = [row["rank"], row["mark"], row["system"], figure["value"], figure["low"], figure["high"], figure["n"],
                 *span, row["next_p"], row["next_p_holm"], "; ".join(row["tied_with"])]  # fmt: skip
        writer.writerow([_harmless(cell) for cell in cells])
    return target.getvalue()


def _chance(p: float | None) -> str:
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell:
        return cell
    start = cell.lstrip(" \u00a0\ufeff'")[:1] or cell[:1]
    return "'" + cell if start in _RISKY and not _NUMBER.fullmatch(cell) else cell
