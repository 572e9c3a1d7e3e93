"""Plots in one house style, light and dark: SVG and PNG, offline, without a browser.

Plain values in, a `Plot` out: a Vega-Lite description that names colours by role (`$amber`). The theme's colours are
put in, and something is drawn, only when a picture is asked for. One series is amber because it matters; others are
greys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from davy.core.metric import Metric
from davy.files.atomic import write_bytes

FONT = "DejaVu Sans, Noto Sans, Liberation Sans, sans-serif, Noto Color Emoji"
"""The widest first: room is measured with it, so that nothing is cut where a reader has another."""
COLOURS: dict[str, dict[str, Any]] = {
    "light": {
        "ground": "#ffffff", "ink": "#1c1c1a", "quiet": "#5a5a55", "line": "#d8d8d4", "edge": "#7a7a75",
        "amber": "#c07d0a", "fill": "#b9b9b3",
        "series": ["#c07d0a", "#4a4a46", "#8f8f88", "#6b5a3a", "#b9b9b3", "#2a2a28"],
        "dashes": [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3]],
        "ramp": ["#f6f5f2", "#f8e6bf", "#efc268", "#d9961f"],
    },
    "dark": {
        "ground": "#1e1e1c", "ink": "#eeeeea", "quiet": "#b0b0a9", "line": "#3a3a37", "edge": "#8a8a84",
        "amber": "#f0ac2b", "fill": "#55554f",
        "series": ["#f0ac2b", "#d6d6d0", "#96968f", "#c9a86a", "#6a6a64", "#f4f4f0"],
        "dashes": [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3]],
        "ramp": ["#262624", "#3d3220", "#5c4519", "#7d5811"],
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plot:
    """A Vega-Lite description without colours; the theme is put in when it is drawn."""

    spec: Mapping[str, Any]
    title: str = ""

    def svg(self, theme: str = "light") -> str:
        """Return the plot as SVG."""
        import vl_convert

        return str(vl_convert.vegalite_to_svg(_themed(self, theme)))

    def png(self, theme: str = "light", scale: float = 2.0) -> bytes:
        """Return the plot as PNG, `scale` pixels to a point."""
        import vl_convert

        return bytes(vl_convert.vegalite_to_png(_themed(self, theme), scale=scale))

    def write(self, path: str | Path, theme: str = "light") -> Path:
        """Write the plot as SVG or PNG, by the path's ending."""
        target = Path(path)
        if target.suffix not in (".svg", ".png"):
            raise ValueError(f"plots are written as .svg or .png, not {target.suffix!r}")
        return write_bytes(target, self.png(theme) if target.suffix == ".png" else self.svg(theme).encode())


def _themed(plot: Plot, theme: str) -> dict[str, Any]:
    """Return the spec with the theme's colours in place of `$names` and the house style as its config."""
    colours = COLOURS[theme]
    spec = {**_filled(plot.spec, colours), "background": colours["ground"], "padding": 16, "config": _config(colours)}
    if plot.title:
        spec["title"] = plot.title
    return spec


def _filled(value: Any, colours: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return colours.get(value[1:], value)
    if isinstance(value, dict):
        # Data is left alone: a label may begin with a dollar.
        return {key: inner if key in ("datasets", "data") else _filled(inner, colours) for key, inner in value.items()}
    if isinstance(value, list):
        filled = [_filled(inner, colours) for inner in value]
        # A scale's range must be written as a list, so a name that stands for a list stands alone in one.
        return filled[0] if len(filled) == 1 and isinstance(filled[0], list) and value[0] != filled[0] else filled
    return value


def _config(colours: Mapping[str, Any]) -> dict[str, Any]:
    text = {"labelColor": colours["ink"], "labelFont": FONT, "labelFontSize": 13, "labelLimit": 340}
    title = {"titleColor": colours["quiet"], "titleFont": FONT, "titleFontSize": 13, "titleFontWeight": "normal"}
    return {
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            **text, **title, "gridColor": colours["line"], "domainColor": colours["edge"],
            "tickColor": colours["edge"], "labelPadding": 6, "titlePadding": 10,
        },
        "axisY": {"grid": True},
        "axisBand": {"grid": False, "ticks": False, "domain": False},
        "legend": {**text, **title},
        "header": {**text, **title},
        "title": {
            "color": colours["ink"], "font": FONT, "fontSize": 16, "fontWeight": 600,
            "anchor": "start", "frame": "group", "offset": 14,
        },
        "text": {"font": FONT, "fontSize": 13},
    }  # fmt: skip


WIDTH = 640
ROW = 28


def bars(
    metrics: Sequence[Metric], *, title: str = "", x: str = "", scale: tuple[float, float] | None = (0, 1)
) -> Plot:
    """Return horizontal bars with intervals, one for each metric, in the order given; a missing value says why.

    On a scale that does not begin at 0 there are dots with intervals alone: the length of a bar would say nothing.
    """
    import altair as alt

    if not metrics:
        return _nothing(title)
    rows = [{"name": m.name, "value": m.value, "low": m.low, "high": m.high, "label": _label(m)} for m in metrics]
    domain = alt.Undefined if scale is None else list(scale)
    base = _chart(rows).encode(y=alt.Y("name:N", sort=None, title=None))
    along = alt.X("value:Q", title=x or None, scale=alt.Scale(domain=domain), axis=alt.Axis(grid=True))
    bar = [base.mark_bar(height=14, color="$fill").encode(x=along)] if scale is None or scale[0] == 0 else []
    rule = base.mark_rule(strokeWidth=2, color="$ink").encode(
        x=alt.X("low:Q", scale=alt.Scale(domain=domain)), x2="high:Q"
    )
    dot = base.mark_point(filled=True, size=60, color="$amber", opacity=1).encode(x=along)
    words = base.mark_text(align="left", baseline="middle", color="$quiet").encode(
        text="label:N", x=alt.value(WIDTH + 12)
    )
    return _plot(alt.layer(*bar, rule, dot, words).properties(width=WIDTH, height=ROW * len(rows)), title)


def heat(
    cells: Sequence[tuple[str, str, float | None]], *, title: str = "", x: str = "", y: str = "", digits: int = 2,
    domain: tuple[float, float] | None = None,
) -> Plot:  # fmt: skip
    """Return a heat map of (row, column, value) with the value in each cell; None is an empty cell marked –."""
    import altair as alt

    if not cells:
        return _nothing(title)
    values = [value for _, _, value in cells if value is not None]
    low, high = domain or (min(values, default=0.0), max(values, default=1.0))
    rows = [{"row": r, "column": c, "value": v, "label": "–" if v is None else f"{v:,.{digits}f}"} for r, c, v in cells]
    order = {"x": list(dict.fromkeys(c for _, c, _ in cells)), "y": list(dict.fromkeys(r for r, _, _ in cells))}
    step = max(44, 12 + 8 * max((len(str(row["label"])) for row in rows), default=0))
    base = _chart(rows).encode(
        x=alt.X("column:N", sort=order["x"], title=x or None, axis=alt.Axis(labelAngle=-40, orient="top")),
        y=alt.Y("row:N", sort=order["y"], title=y or None),
    )
    rect = base.mark_rect().encode(
        color=alt.Color("value:Q", scale=alt.Scale(domain=[low, high], range=["$ramp"]), legend=None)
    )
    text = base.mark_text(fontSize=13, color="$ink").encode(text="label:N")
    return _plot(alt.layer(rect, text).properties(width=alt.Step(step), height=alt.Step(34)), title)


def confusion(counts: Mapping[tuple[str, str], int], labels: Sequence[str], *, title: str = "") -> Plot:
    """Return a confusion matrix of (gold, predicted) counts: numbers are counts, shade is the gold label's share."""
    totals = {gold: sum(counts.get((gold, predicted), 0) for predicted in labels) for gold in labels}
    cells = [(g, p, counts.get((g, p), 0) / totals[g] if totals[g] else None) for g in labels for p in labels]
    plot = heat(cells, title=title, x="predicted", y="gold", domain=(0, 1))
    spec = dict(plot.spec)
    for row, (gold, predicted, _) in zip(_values(spec), cells, strict=True):
        row["label"] = f"{counts.get((gold, predicted), 0):,}"
    return Plot(spec, plot.title)


def line(
    series: Mapping[str, Sequence[tuple[float, float]]], *, title: str = "", x: str = "", y: str = "",
    bands: Mapping[str, Sequence[tuple[float, float, float]]] | None = None, diagonal: bool = False,
) -> Plot:  # fmt: skip
    """Return curves, the first in amber.

    `bands` are (x, low, high) around a series; `diagonal` draws the guide of ROC and calibration curves.
    """
    import altair as alt

    if not any(series.values()):
        return _nothing(title)
    rows = [{"series": name, "x": a, "y": b} for name, points in series.items() for a, b in points]
    names = list(series)
    counted = all(isinstance(row["x"], int) for row in rows)  # there is nothing between two epochs
    steps = alt.Axis(tickMinStep=1, format="d") if counted else alt.Axis()
    layers = []
    if diagonal:
        guide = [{"x": 0, "y": 0}, {"x": 1, "y": 1}]
        layers.append(_chart(guide).mark_line(color="$edge", strokeDash=[3, 3], strokeWidth=1).encode(x="x:Q", y="y:Q"))
    legend = None
    if len(names) > 1:  # drawn as the lines are, bands or not
        legend = alt.Legend(
            title=None, orient="top", symbolType="stroke", symbolSize=300, symbolStrokeWidth=2.5, symbolOpacity=1
        )
    colour = alt.Color("series:N", scale=alt.Scale(domain=names, range=["$series"]), legend=legend)
    if bands:
        wide = [{"series": n, "x": a, "low": lo, "high": hi} for n, points in bands.items() for a, lo, hi in points]
        layers.append(_chart(wide).mark_area(opacity=0.18).encode(x="x:Q", y="low:Q", y2="high:Q", color=colour))
    layers.append(
        _chart(rows).mark_line(strokeWidth=2.5, interpolate="linear").encode(
            x=alt.X("x:Q", title=x or None, scale=alt.Scale(zero=False), axis=steps),
            y=alt.Y("y:Q", title=y or None, scale=alt.Scale(zero=False)),
            order="x:Q",
            color=colour,
            strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=["$dashes"]), legend=legend),
        )
    )  # fmt: skip
    return _plot(alt.layer(*layers).properties(width=WIDTH, height=320), title)


def scatter(
    points: Mapping[str, Sequence[tuple[float, float]]], *, title: str = "", x: str = "", y: str = "",
    domain_y: tuple[float, float] | None = None, colours: Mapping[str, str] | None = None,
) -> Plot:  # fmt: skip
    """Return dots of several groups, each with a colour (a role of the theme's) and a shape of its own."""
    import altair as alt

    rows = [{"group": name, "x": float(a), "y": float(b)} for name, group in points.items() for a, b in group]
    if not rows:
        return _nothing(title)
    names = [name for name in points if points[name]]
    legend = alt.Legend(title=None, orient="top", symbolSize=120, symbolOpacity=1)
    palette = [f"${colours[name]}" for name in names] if colours else ["$series"]
    chart = _chart(rows).mark_point(filled=True, size=18, opacity=0.55).encode(
        x=alt.X("x:Q", title=x or None, axis=alt.Axis(tickCount=8)),
        y=alt.Y("y:Q", title=y or None, scale=alt.Scale(domain=list(domain_y)) if domain_y else alt.Undefined),
        color=alt.Color("group:N", scale=alt.Scale(domain=names, range=palette), legend=legend),
        shape=alt.Shape(
            "group:N",
            scale=alt.Scale(domain=names, range=["circle", "diamond", "triangle-up", "square"][: len(names)]),
            legend=legend,
        ),
    )  # fmt: skip
    return _plot(chart.properties(width=WIDTH, height=380), title)


def histogram(
    values: Mapping[str, Sequence[float]] | Sequence[float], *, title: str = "", x: str = "", bins: int = 30
) -> Plot:
    """Return the distribution of values; several groups are drawn one under the other on one scale."""
    import altair as alt
    import numpy as np

    groups = values if isinstance(values, Mapping) else {"": values}
    clean = {name: [float(v) for v in group if isfinite(v)] for name, group in groups.items()}
    every = [v for group in clean.values() for v in group]
    if not every:
        return _nothing(title)
    edges = np.histogram_bin_edges(every, bins=bins)
    rows = []
    for name, group in clean.items():
        counts, _ = np.histogram(group, edges)
        label = f"{name} (n = {len(group):,})" if name else f"n = {len(group):,}"
        rows += [
            {"group": label, "from": float(a), "to": float(b), "count": int(n)}
            for a, b, n in zip(edges, edges[1:], counts, strict=False)
        ]
    ends = alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False)
    chart = _chart(rows).mark_bar(color="$amber", binSpacing=1).encode(
        x=alt.X("from:Q", bin="binned", title=x or None, scale=ends),
        x2="to:Q",
        y=alt.Y("count:Q", title="count"),
    )  # fmt: skip
    height = 260 if len(clean) == 1 else 120
    order = list(dict.fromkeys(str(row["group"]) for row in rows))
    faceted = chart.properties(width=WIDTH, height=height).facet(
        row=alt.Row("group:N", sort=order, title=None, header=alt.Header(orient="top", labelAnchor="start"))
    )
    return _plot(faceted, title)


def funnel(steps: Sequence[tuple[str, int]], *, title: str = "") -> Plot:
    """Return what is left after each step: (step, posts left), the first being what came in."""
    import altair as alt

    if not steps:
        return _nothing(title)
    start = steps[0][1]
    rows = []
    before = start
    for name, left in steps:
        share = f"{left / start:.1%}" if start else "–"
        rows.append({"step": name, "left": left, "lost": before - left, "before": before,
                     "label": f"{left:,}  ({share})" + (f"  −{before - left:,}" if before > left else "")})  # fmt: skip
        before = left
    base = _chart(rows).encode(y=alt.Y("step:N", sort=None, title=None))
    axis = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    kept = base.mark_bar(height=16, color="$amber").encode(
        x=alt.X("left:Q", title=None, axis=axis, scale=alt.Scale(domain=[0, max(start, 1)], nice=False))
    )
    lost = base.mark_bar(height=16, color="$line").encode(x="left:Q", x2="before:Q")
    words = base.mark_text(align="left", baseline="middle", color="$quiet").encode(
        text="label:N", x=alt.value(WIDTH + 12)
    )
    return _plot(alt.layer(lost, kept, words).properties(width=WIDTH, height=ROW * len(rows)), title)


def _chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    import altair as alt

    data: Any = alt.Data
    return alt.Chart(data(values=rows))


def _nothing(title: str) -> Plot:
    """Return a picture that says it has nothing to show: better than a blank one that looks broken."""
    import altair as alt

    words = _chart([{"words": "Nothing to show."}]).mark_text(color="$quiet").encode(text="words:N", x=alt.value(60))
    return _plot(words.properties(width=WIDTH, height=ROW), title)


def _plot(chart: Any, title: str) -> Plot:
    return Plot(chart.to_dict(validate=False), title)


def _label(metric: Metric) -> str:
    if metric.value is None:
        return f"{metric.note} (n={metric.n:,})"
    return f"{metric.value:.3f} (n={metric.n:,})"


def _values(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a spec's data, wherever altair put them."""
    named = spec.get("datasets") or {}
    found: list[dict[str, Any]] = next(iter(named.values())) if named else spec["data"]["values"]
    return found
