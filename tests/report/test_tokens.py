"""The shared colours, held to WCAG's contrast formula."""

import re
from importlib import resources

import pytest

from davy.report.plots import COLOURS

CSS = resources.files("davy.report").joinpath("tokens.css").read_text("utf-8")
TOKENS = {m[1]: (m[2], m[3]) for m in re.finditer(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", CSS)}
GROUNDS = ("paper", "surface", "sunken", "glow")


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_formula_gives_the_known_ends() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the well-known grey that just fails


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_text_colours_have_aa_contrast_on_every_ground(mode: int) -> None:
    pairs = [(ink, ground) for ink in ("ink", "quiet", "amber", "loss", "saved") for ground in GROUNDS]
    pairs += [("loss", "loss-ground"), ("saved", "saved-ground"), ("on-lamp", "lamp")]
    low = {pair: contrast(TOKENS[pair[0]][mode], TOKENS[pair[1]][mode]) for pair in pairs}
    assert {pair: value for pair, value in low.items() if value < 4.5} == {}
    assert all(contrast(TOKENS["edge"][mode], TOKENS[ground][mode]) >= 3 for ground in GROUNDS)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plots_are_readable_in_every_shade(theme: str) -> None:
    colours = COLOURS[theme]
    for shade in (*colours["ramp"], colours["ground"]):
        assert contrast(colours["ink"], shade) >= 4.5
    assert contrast(colours["quiet"], colours["ground"]) >= 4.5
    assert all(contrast(colours[name], colours["ground"]) >= 3 for name in ("amber", "edge"))
