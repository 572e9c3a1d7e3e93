"""The house style of plots, light and dark, and the picture of one.

A Vega-Lite description in, SVG or PNG out. Descriptions name colours by role
(`$amber`); the theme's colours are put in when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
