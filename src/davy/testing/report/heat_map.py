"""The pictures of a check: heat maps of functionality × set, and each rate for each target with intervals.

A summary in, HTML or plots out. A heat map is drawn for every model, each cell a way into its cases. The page's policy
allows no style attributes, so shades are classes (`page.css`): the stronger a cell's colour, the more of its cases are
wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from davy.report.plots import Plot
from davy.report.tables import true_minus
from davy.testing.metrics import RATE_TITLES, Fairness

SHADES = 10


def heat_map(summary: dict[str, Any]) -> str:
    """Return a map for each model; they stand side by side where they fit, else under each other."""
    difference = any(model["emoji_difference"]["value"] is not None for model in summary["models"])
    maps = "".join(_map(number, summary, difference) for number in range(len(summary["models"])))
    return f'<div class="heat-maps">{maps}</div>\n{_scale()}'


def _map(number: int, summary: dict[str, Any], difference: bool) -> str:
    columns = [*_sets(summary), "all", *(["emoji diff"] if difference else [])]
    model, titles = summary["models"][number], summary["suite"]["functionalities"]
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    rows = "".join(
        _row(number, str(at), title, model["functionalities"][name], summary, difference)
        for at, (name, title) in enumerate(titles.items())
    )
    whole = _row(number, "", "all", model, summary, difference)
    return (
        f'<div class="table heat"><table><caption>{escape(model["name"])}</caption>'
        f'<thead><tr><th scope="col">functionality</th>{names}</tr></thead>'
        f"<tbody>{rows}</tbody><tfoot>{whole}</tfoot></table></div>"
    )


def _sets(summary: dict[str, Any]) -> list[str]:
    """Return the sets that have a column: none where there is only one, which `all` shows already."""
    sets: list[str] = summary["suite"]["sets"]
    return sets if len(sets) > 1 else []


def _row(number: int, at: str, title: str, part: dict[str, Any], summary: dict[str, Any], difference: bool) -> str:
    cells = [_cell(part["sets"].get(each), number, at, str(i)) for i, each in enumerate(_sets(summary))]
    cells.append(_cell(part["accuracy"], number, at, ""))
    if difference:
        cells.append(_difference(part["emoji_difference"]))
    return f'<tr><th scope="row">{escape(title)}</th>{"".join(cells)}</tr>'


def _cell(metric: dict[str, Any] | None, model: int, functionality: str, set_: str) -> str:
    if metric is None or metric["value"] is None:
        return '<td><span class="cell">–</span></td>'
    value = metric["value"]
    shade = round((1 - value) * SHADES)
    words = f"{value:.3f}, 95% interval {metric['low']:.3f} to {metric['high']:.3f}, n = {metric['n']:,}"
    return (
        f'<td><button type="button" class="cell shade-{shade}" title="{words}" data-model="{model}" '
        f'data-functionality="{functionality}" data-set="{set_}">'
        f"{value:.2f}<small><span>n = </span>{metric['n']:,}</small></button></td>"
    )


def _difference(metric: dict[str, Any]) -> str:
    if metric["value"] is None:
        return f'<td><span class="cell" title="{escape(metric["note"])}">†</span></td>'
    low, high = (true_minus(f"{metric[end]:+.3f}") for end in ("low", "high"))
    value = true_minus(f"{metric['value']:+z.2f}")
    words = f"95% interval {low} to {high}, n = {metric['n']:,}"
    return f'<td><span class="cell" title="{words}">{value}</span></td>'


def _scale() -> str:
    shades = "".join(f'<i class="shade-{step}"></i>' for step in range(SHADES + 1))
    return f'<p class="scale"><span>all right</span>{shades}<span>all wrong</span></p>\n'


PLOT_WIDTH = 250
PLOT_ROW_HEIGHT = 18


def rate_plot(models: Sequence[tuple[str, Fairness]]) -> Plot:
    """Return six small plots, one for each rate: a dot with its interval for each target and model."""
    import altair as alt

    rows = [
        {"rate": RATE_TITLES[rate], "target": target, "model": name, "value": m.value, "low": m.low, "high": m.high}
        for name, fair in models
        for target, found in fair.by_target.items()
        for rate, m in found.items()
        if rate in RATE_TITLES and m.value is not None
    ]
    names = [name for name, _ in models]
    targets = list(models[0][1].by_target)
    data: Any = alt.Data
    # A model's share of the row: dots of one target stand under each other, never on each other.
    offset = alt.YOffset("model:N", sort=names)
    legend = alt.Legend(title=None, orient="top", symbolSize=120) if len(names) > 1 else None
    base = alt.Chart().encode(
        y=alt.Y("target:N", sort=targets, title=None),
        yOffset=offset,
        color=alt.Color("model:N", sort=names, scale=alt.Scale(domain=names, range=["$series"]), legend=legend),
    )
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f", grid=True)
    dot = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=axis),
        shape=alt.Shape("model:N", sort=names, scale=alt.Scale(domain=names), legend=legend),
    )
    rule = base.mark_rule(strokeWidth=2.5).encode(x="low:Q", x2="high:Q")
    height = max(PLOT_ROW_HEIGHT * len(targets) * max(len(names), 1), 26 * len(targets))
    order = [RATE_TITLES[rate] for rate in RATE_TITLES]
    chart = (
        alt.layer(rule, dot, data=data(values=rows))
        .properties(width=PLOT_WIDTH, height=height)
        .facet(
            facet=alt.Facet("rate:N", sort=order, title=None, header=alt.Header(labelAnchor="start")),
            columns=2,
            spacing={"column": 36, "row": 20},
        )
        .resolve_axis(x="independent")
    )
    return Plot(chart.to_dict(validate=False))
