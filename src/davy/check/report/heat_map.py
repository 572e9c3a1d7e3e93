"""The heat map of a check: functionality × set for every model side by side, each cell a way into its cases.

A summary in, HTML out. The page's policy allows no style attributes, so shades
are classes (`page.css`): the stronger a cell's colour, the more of its cases are wrong.
"""

from __future__ import annotations

from html import escape
from typing import Any

STEPS = 10


def heat_map(summary: dict[str, Any]) -> str:
    """Return the map as a table with one block of columns for each model."""
    sets, models = _sets(summary), summary["models"]
    difference = any(model["emoji_difference"]["value"] is not None for model in models)
    columns = [*sets, "all", *(["emoji diff"] if difference else [])]
    head = "".join(
        f'<th scope="colgroup" colspan="{len(columns)}" class="model block">{escape(model["name"])}</th>'
        for model in models
    )
    names = "".join(f'<th scope="col"{_block(i)}>{escape(name)}</th>' for _ in models for i, name in enumerate(columns))
    titles = summary["suite"]["functionalities"]
    rows = "".join(_row(at, name, title, summary, difference) for at, (name, title) in enumerate(titles.items()))
    return (
        '<div class="table heat"><table>'
        f'<thead><tr><td></td>{head}</tr><tr><th scope="col">functionality</th>{names}</tr></thead>'
        f"<tbody>{rows}{_whole(summary, difference)}</tbody></table></div>\n{_scale()}"
    )


def _sets(summary: dict[str, Any]) -> list[str]:
    """Return the sets that have a column: none where there is only one, which `all` shows already."""
    sets: list[str] = summary["suite"]["sets"]
    return sets if len(sets) > 1 else []


def _row(at: int, name: str, title: str, summary: dict[str, Any], difference: bool) -> str:
    cells = []
    for number, model in enumerate(summary["models"]):
        part = model["functionalities"][name]
        for i, each in enumerate(_sets(summary)):
            cells.append(_cell(part["sets"].get(each), number, str(at), str(i), _block(i)))
        cells.append(_cell(part["accuracy"], number, str(at), "", "" if _sets(summary) else _block(0)))
        if difference:
            cells.append(_difference(part["emoji_difference"]))
    return f'<tr><th scope="row">{escape(title)}</th>{"".join(cells)}</tr>'


def _whole(summary: dict[str, Any], difference: bool) -> str:
    cells = []
    for number, model in enumerate(summary["models"]):
        for i, each in enumerate(_sets(summary)):
            cells.append(_cell(model["sets"].get(each), number, "", str(i), _block(i)))
        cells.append(_cell(model["accuracy"], number, "", "", "" if _sets(summary) else _block(0)))
        if difference:
            cells.append(_difference(model["emoji_difference"]))
    return f'<tr class="whole"><th scope="row">all</th>{"".join(cells)}</tr>'


def _cell(metric: dict[str, Any] | None, model: int, functionality: str, set_: str, block: str) -> str:
    if metric is None or metric["value"] is None:
        return f'<td{block}><span class="cell">–</span></td>'
    value = metric["value"]
    shade = round((1 - value) * STEPS)
    words = f"{value:.3f}, 95% interval {metric['low']:.3f} to {metric['high']:.3f}, n = {metric['n']:,}"
    return (
        f'<td{block}><button type="button" class="cell shade-{shade}" title="{words}" data-model="{model}" '
        f'data-functionality="{functionality}" data-set="{set_}">'
        f"{value:.2f}<small>n = {metric['n']:,}</small></button></td>"
    )


def _difference(metric: dict[str, Any]) -> str:
    if metric["value"] is None:
        return f'<td><span class="cell" title="{escape(metric["note"])}">†</span></td>'
    words = f"95% interval {metric['low']:+.3f} to {metric['high']:+.3f}, n = {metric['n']:,}"
    return f'<td><span class="cell" title="{words}">{metric["value"]:+.2f}</span></td>'


def _block(i: int) -> str:
    return ' class="block"' if i == 0 else ""


def _scale() -> str:
    shades = "".join(f'<i class="shade-{step}"></i>' for step in range(STEPS + 1))
    return f'<p class="scale"><span>all right</span>{shades}<span>all wrong</span></p>\n'
