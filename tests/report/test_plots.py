"""Plots are drawn, and drawn to scale: pixels and SVG are read back."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from davy.core import Metric
from davy.report import plots
from davy.report.plots import COLOURS, Plot

METRICS = [
    Metric("first", 0.9, 30, 0.8, 0.95),
    Metric("$second", 0.4, 20, 0.3, 0.5),
    Metric("none", None, 0, note="n/a"),
]
ALL = {
    "bars": plots.bars(METRICS, title="Bars", x="accuracy"),
    "heat": plots.heat([("a", "x", 0.1), ("a", "y", None), ("b", "x", 0.9), ("b", "y", 0.5)], title="Heat"),
    "confusion": plots.confusion({("a", "a"): 5, ("b", "a"): 1234}, ["a", "b"], title="Confusion"),
    "line": plots.line(
        {"one": [(0, 0), (1, 1)], "two": [(0, 1), (1, 0)]}, bands={"one": [(0, 0, 0.1), (1, 0.9, 1)]}, diagonal=True
    ),
    "histogram": plots.histogram({"a": [1, 2, 2, 3, float("nan")], "b": [5, 6]}, title="Histogram"),
    "funnel": plots.funnel([("in", 1000), ("duplicates", 900), ("short", 600)], title="Funnel"),
    "empty bars": plots.bars([]),
    "empty histogram": plots.histogram([]),
    "empty funnel": plots.funnel([]),
    "empty line": plots.line({}),
    "empty heat": plots.heat([]),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_plot_is_drawn_on_its_themes_ground(name: str, theme: str) -> None:
    image = Image.open(io.BytesIO(ALL[name].png(theme, 1))).convert("RGB")
    ground = tuple(int(COLOURS[theme]["ground"][i : i + 2], 16) for i in (1, 3, 5))
    assert image.getpixel((1, 1)) == ground
    inked = (np.abs(np.asarray(image).astype(int) - ground).sum(axis=2) > 60).mean()
    assert inked > (0.002 if name.startswith("empty") else 0.005)


@pytest.mark.parametrize("name", ALL)
def test_svg_asks_for_nothing_and_leaves_no_name_unfilled(name: str) -> None:
    svg = ALL[name].svg()
    assert not re.search(r"(href|src|url)\s*[=(]\s*[\"']?http", svg)
    assert not re.search(r'"\$(ink|amber|fill|quiet|line|edge|ramp|series)"', svg)


def test_what_a_plot_says_is_in_its_text() -> None:
    svg = ALL["bars"].svg()
    assert all(words in svg for words in ("$second", "0.900 (n=30)", "n/a (n=0)", "Bars"))
    assert "1,234" in ALL["confusion"].svg()
    assert "600  (60.0%)  −300" in ALL["funnel"].svg().replace("\u00a0", " ")
    assert "Nothing to show." in ALL["empty line"].svg()
    assert "b (n = 2)" in ALL["histogram"].svg()


def test_a_funnels_bars_are_as_long_as_what_is_left() -> None:
    image = np.asarray(Image.open(io.BytesIO(ALL["funnel"].png("light", 1))).convert("RGB")).astype(int)
    amber = np.array([int(COLOURS["light"]["amber"][i : i + 2], 16) for i in (1, 3, 5)])
    rows = (np.abs(image - amber).sum(axis=2) < 12).sum(axis=1)
    lengths = sorted({int(n) for n in rows if n > 50})
    assert lengths[-1] == pytest.approx(640, abs=2)
    assert lengths[0] / lengths[-1] == pytest.approx(0.6, abs=0.01)


def test_bars_that_do_not_begin_at_nought_are_dots_and_stay_in_their_picture() -> None:
    close = [Metric("first", 0.84, 500, 0.8, 0.88), Metric("second", 0.8, 500, 0.76, 0.84)]
    whole, cut = plots.bars(close), plots.bars(close, scale=(0.74, 0.9))
    sizes = [Image.open(io.BytesIO(plot.png("light", 1))).size for plot in (whole, cut)]
    assert abs(sizes[0][0] - sizes[1][0]) < 40
    marks = [[layer["mark"]["type"] for layer in plot.spec["layer"]] for plot in (whole, cut)]
    assert ("bar" in marks[0], "bar" in marks[1]) == (True, False)
    shown = [re.findall(r">(0\.\d\d)<", plot.svg("light")) for plot in (whole, cut)]
    assert ("0.10" in shown[0], "0.10" in shown[1], "0.76" in shown[1]) == (True, False, True)


def test_a_plot_is_written_by_its_ending(tmp_path) -> None:
    assert ALL["bars"].write(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert ALL["bars"].write(tmp_path / "a.svg", "dark").read_text().startswith("<svg")
    with pytest.raises(ValueError, match=r"\.svg or \.png"):
        Plot({}).write(tmp_path / "a.pdf")
