"""Memes as SVG and PNG: lines that fit, live text, colour emoji, no font of the machine."""

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

from davy.core import UserError
from davy.image.picture import read_picture
from davy.memes.emoji_artwork import drawing_names, emoji_drawing
from davy.memes.meme_layout import MemeLayout, PlacedImage, TextBox, caption, stack
from davy.memes.meme_render import MemeRenderer, render_png, render_svg
from davy.memes.meme_text import SMALLEST, fit_text, text_width

SVG = "{http://www.w3.org/2000/svg}"


def picture(colour="#3060c0", size=(400, 300), mode="RGB"):
    target = io.BytesIO()
    Image.new(mode, size, colour).save(target, "PNG")
    return read_picture(target.getvalue())


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def box(text, **style):
    return TextBox(text, 0, 0, style.pop("width", 300), style.pop("height", 200), **style)


def test_lines_fit_their_box_and_lose_no_word():
    text = "look how many people love you and this goes on for quite a while"
    fitted = fit_text(box(text, size=60))
    assert " ".join(run.text for line in fitted.lines for run in line.runs) == text
    for line in fitted.lines:
        assert sum(run.width for run in line.runs) <= 300
        assert line.baseline <= 200
    assert fitted.size < 60, "a text that does not fit is made smaller"


# Advance widths in the fonts' own hmtx tables, of 2048 units, as fontTools reads them.
ADVANCES = {"Anton": {"m": 1553, "H": 1022, "Ä": 994}, "DejaVu Sans": {"m": 2134, "H": 1714, "Ä": 1585}}


@pytest.mark.parametrize("font", ADVANCES)
def test_widths_are_those_of_the_font_itself(font):
    for letter, units in ADVANCES[font].items():
        assert text_width(letter, font) == pytest.approx(units / 2048, abs=0.001)
    assert text_width("a😀", font) > text_width("a", font) + 1


def test_a_very_long_word_is_broken_between_letters():
    fitted = fit_text(box("m" * 300, size=40))
    assert "".join(run.text for line in fitted.lines for run in line.runs) == "m" * 300
    assert max(sum(run.width for run in line.runs) for line in fitted.lines) <= 300


def test_a_letter_keeps_its_marks_and_an_emoji_its_parts_when_a_word_breaks():
    family = "👨‍👩‍👧"
    word = ("e\u0301" * 60) + family * 20
    runs = [run.text for line in fit_text(box(word, size=30)).lines for run in line.runs]
    assert "".join(runs) == word
    assert not any(run.startswith(("\u0301", "\u200d")) for run in runs)


def test_two_hundred_lines_shrink_where_they_fit_and_are_refused_where_they_do_not():
    text = "\n".join(f"line {number}" for number in range(200))
    assert len(fit_text(box(text, height=2000)).lines) == 200
    with pytest.raises(UserError, match="200 lines"):
        fit_text(box(text, height=300))


def test_empty_text_draws_nothing():
    layout = MemeLayout(50, 40, (), (box("", width=50, height=40), box(" \n ", width=50, height=40)))
    assert pixels(render_png(layout, picture)).min() == 255
    assert layout.text == ""


def test_text_that_the_chosen_font_can_not_write_is_drawn_in_one_that_can():
    assert fit_text(box("Grüße, ÄÖÜ ß – „so“ 5 €")).font == "Anton"
    assert fit_text(box("Привет")).font == "DejaVu Sans"
    assert fit_text(box("nice 😀")).font == "Anton"


def test_right_to_left_text_begins_at_the_right():
    (line,) = fit_text(box("שלום 😀", size=30)).lines
    assert line.from_right
    assert [run.is_emoji for run in line.runs] == [True, False], "read from the right, the emoji comes last"
    ink = pixels(render_png(MemeLayout(300, 60, (), (box("שלום", size=30, height=60, align="right"),)), picture))
    columns = np.nonzero((ink.sum(axis=2) < 600).any(axis=0))[0]
    assert columns.min() > 150


def test_the_svg_holds_the_text_as_text_and_the_pictures_inside():
    layout = caption(stack([("a", 400, 300)], 300), "a < b & c", "so 😂")
    root = ElementTree.fromstring(render_svg(layout, lambda _: picture()))  # noqa: S314 our own file
    assert "".join(root.find(f".//{SVG}g[@data-text='0']/{SVG}text").itertext()) == "a < b & c"
    assert "".join(root.find(f".//{SVG}g[@data-text='1']/{SVG}text").itertext()) == "so 😂"
    addresses = [image.get("href") for image in root.iter(f"{SVG}image")]
    assert len(addresses) == 1
    assert addresses[0].startswith("data:image/png;base64,")


def test_a_layout_can_not_bring_markup_into_the_svg():
    layout = MemeLayout(
        300, 200, (PlacedImage('"><script>', 0, 0, 10, 10),), (box("</text><script>alert(1)</script>"),)
    )
    root = ElementTree.fromstring(render_svg(layout, lambda _: picture()))  # noqa: S314 our own file
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {"svg", "rect", "image", "g", "text", "tspan"}


def test_the_png_is_the_svg_drawn_by_resvg_within_a_few_grey_levels():
    import resvg_py

    from davy.memes.emoji_artwork import ARTWORK

    rng = np.random.default_rng(1)
    shades = np.repeat(np.repeat(rng.integers(0, 255, (6, 8, 3), dtype=np.uint8), 50, 0), 50, 1)
    target = io.BytesIO()
    Image.fromarray(shades).save(target, "PNG")
    source = read_picture(target.getvalue())
    layout = caption(stack([("a", 400, 300), ("b", 400, 300)], 400), "Look 😂 how many", "people love you")
    fonts = [str(path) for path in ARTWORK.glob("*.ttf")]
    renderer = MemeRenderer(lambda _: source)
    whole = resvg_py.svg_to_bytes(svg_string=renderer.svg(layout), skip_system_fonts=True, font_files=fonts)
    assert np.abs(pixels(bytes(whole)) - pixels(renderer.png(layout))).mean() < 0.5


def test_emoji_are_in_colour():
    drawn = pixels(render_png(MemeLayout(120, 120, (), (box("😂", size=90, width=120, height=120),)), picture))
    yellow = (drawn[..., 0] > 230) & (drawn[..., 1] > 180) & (drawn[..., 2] < 120)
    assert yellow.mean() > 0.2


def test_every_emoji_drawing_can_be_drawn():
    import resvg_py

    names = drawing_names()
    assert len(names) > 3_600
    for name in names[::60]:
        svg = '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 36 36">{}</svg>'
        inner = emoji_drawing("".join(chr(int(point, 16)) for point in name.split("-")))
        assert inner is not None, name
        ink = np.asarray(Image.open(io.BytesIO(bytes(resvg_py.svg_to_bytes(svg_string=svg.format(inner))))))
        assert ink[..., 3].max() > 0, name


@pytest.mark.parametrize("emoji", ["❤️", "❤", "👩‍❤️‍👨", "🏳️‍🌈", "1️⃣", "🇩🇪", "👍🏽", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"])
def test_sequences_of_emoji_have_their_drawings(emoji):
    assert emoji_drawing(emoji) is not None


def test_an_unknown_sequence_falls_back_to_its_first_part():
    assert emoji_drawing("😀\u200d🚗") == emoji_drawing("😀")
    assert emoji_drawing("x") is None


def test_a_see_through_picture_lies_on_white_and_one_outside_the_canvas_is_cut():
    clear = read_picture(picture("#ff000000", mode="RGBA").encode())
    layout = MemeLayout(40, 40, (PlacedImage("a", -20, 0, 40, 40),))
    drawn = pixels(render_png(layout, lambda _: picture()))
    assert tuple(drawn[5, 5]) == (0x30, 0x60, 0xC0)
    assert tuple(drawn[5, 35]) == (255, 255, 255)
    assert pixels(render_png(layout, lambda _: clear)).min() == 255


def test_a_missing_picture_is_named():
    def read(name):
        raise UserError(f"There is no picture {name!r}.")

    with pytest.raises(UserError, match=re.escape("'gone.png'")):
        render_png(stack([("gone.png", 10, 10)]), read)


def test_no_font_of_the_machine_is_needed():
    code = (
        "import os; os.environ['FONTCONFIG_FILE'] = '/nonexistent'\n"
        "from davy.memes.meme_layout import MemeLayout, TextBox\n"
        "from davy.memes.meme_render import render_png\n"
        "import hashlib\n"
        "layout = MemeLayout(200, 80, (), (TextBox('Grüße 😀', 0, 0, 200, 80),))\n"
        "print(hashlib.sha256(render_png(layout, None)).hexdigest())\n"
    )
    here = render_png(MemeLayout(200, 80, (), (TextBox("Grüße 😀", 0, 0, 200, 80),)), picture)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import hashlib

    assert done.stdout.strip() == hashlib.sha256(here).hexdigest()


def test_text_never_gets_smaller_than_can_be_drawn():
    assert fit_text(box("a " * 2000, width=400, height=400)).size >= SMALLEST
