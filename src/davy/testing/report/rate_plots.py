"""Pictures of fairness: each rate for each target, every model beside the others, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from davy.report.plots import Plot
from davy.testing.fairness import RATE_TITLES, Fairness

WIDTH = 250
ROW = 18


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
    height = max(ROW * len(targets) * max(len(names), 1), 26 * len(targets))
    order = [RATE_TITLES[rate] for rate in RATE_TITLES]
    chart = (
        alt.layer(rule, dot, data=data(values=rows))
        .properties(width=WIDTH, height=height)
        .facet(
            facet=alt.Facet("rate:N", sort=order, title=None, header=alt.Header(labelAnchor="start")),
            columns=2,
            spacing={"column": 36, "row": 20},
        )
        .resolve_axis(x="independent")
    )
    return Plot(chart.to_dict(validate=False))
