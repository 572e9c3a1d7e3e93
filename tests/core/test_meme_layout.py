"""Layouts of memes: what they hold, and what they refuse in one clear line."""

import json

import pytest

from davy.core import UserError
from davy.memes.meme_layout import MAX_SIDE, MemeLayout, PlacedImage, TextBox, caption, stack


def test_a_layout_comes_back_from_json_as_it_was():
    layout = caption(stack([("a.png", 400, 300), ("b.png", 800, 300)], 600), "top", "bottom", uppercase=True)
    assert MemeLayout.from_dict(json.loads(json.dumps(layout.to_dict()))) == layout


def test_stacked_pictures_keep_their_shape_and_touch():
    layout = stack([("a", 400, 300), ("b", 1200, 600)], 600)
    assert (layout.width, layout.height) == (600, 450 + 300)
    assert [(it.y, it.width, it.height) for it in layout.images] == [(0, 600, 450), (450, 600, 300)]


def test_stacked_pictures_that_are_too_high_together_are_made_narrower():
    layout = stack([("a", 100, 1000), ("b", 100, 1000)], 600)
    assert layout.height <= MAX_SIDE
    assert layout.width < 600


def test_the_caption_is_the_texts_in_reading_order_without_empty_ones():
    boxes = [TextBox("below", 0, 90, 10, 10), TextBox("right", 50, 5, 10, 10), TextBox("left", 0, 5, 10, 10)]
    assert MemeLayout(100, 100, (), (*boxes, TextBox("  ", 0, 0, 5, 5))).text == "left\nright\nbelow"


WRONG = [
    ([], "list"),
    ({"width": 10}, "height"),
    ({"width": 0, "height": 5}, "1 to"),
    ({"width": 10.5, "height": 5}, "whole"),
    ({"width": float("nan"), "height": 5}, "whole"),
    ({"width": True, "height": 5}, "number"),
    ({"width": 10, "height": 5, "script": 1}, "script"),
    ({"width": 10, "height": 5, "images": {}}, "list"),
    ({"width": 10, "height": 5, "images": [{"image": "a"}]}, "no x"),
    ({"width": 10, "height": 5, "images": [{"image": "", "x": 0, "y": 0, "width": 1, "height": 1}]}, "name"),
    ({"width": 10, "height": 5, "texts": [{"text": "a", "x": 1e9, "y": 0, "width": 1, "height": 1}]}, "pixels"),
    ({"width": 10, "height": 5, "texts": [{"text": "a", "x": 10**400, "y": 0, "width": 1, "height": 1}]}, "large"),
    ({"width": 10, "height": 5, "texts": [{"text": "a\0", "x": 0, "y": 0, "width": 1, "height": 1}]}, "control"),
    ({"width": 10, "height": 5, "texts": [{"text": "a" * 5000, "x": 0, "y": 0, "width": 1, "height": 1}]}, "5,000"),
    ({"width": 10, "height": 5, "texts": [{"text": 5, "x": 0, "y": 0, "width": 1, "height": 1}]}, "text"),
    ({"width": 10, "height": 5, "texts": [{"text": "a", "x": 0, "y": 0, "width": 0, "height": 1}]}, "at least"),
]
STYLES = [{"font": "Arial"}, {"colour": "red"}, {"outline": '#fff"/>'}, {"align": "up"}, {"size": 0}, {"place": "x"}]


@pytest.mark.parametrize(("values", "word"), WRONG)
def test_a_wrong_layout_is_refused_with_the_value(values, word):
    with pytest.raises(UserError, match=word):
        MemeLayout.from_dict(values)


@pytest.mark.parametrize("style", STYLES, ids=lambda style: next(iter(style)))
def test_a_wrong_style_is_refused(style):
    box = {"text": "a", "x": 0, "y": 0, "width": 9, "height": 9, **style}
    with pytest.raises(UserError, match=next(iter(style))):
        MemeLayout.from_dict({"width": 10, "height": 10, "texts": [box]})


def test_there_is_a_limit_to_pictures():
    with pytest.raises(UserError, match="13 pictures"):
        MemeLayout(10, 10, tuple(PlacedImage("a", 0, 0, 1, 1) for _ in range(13)))
