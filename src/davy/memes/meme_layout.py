"""The layout of a meme: a canvas, pictures on it, and boxes of text on top.

Plain values in and out (`from_dict`, `to_dict`), in pixels of the canvas. The one thing to know: a layout holds what
people chose, not how lines break; `image.meme_text` breaks them, so that every view has the same lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any, TypeVar

from davy.core.errors import UserError

FONTS: tuple[str, ...] = ("Anton", "DejaVu Sans")
ALIGNS: tuple[str, ...] = ("left", "center", "right")
PLACES: tuple[str, ...] = ("top", "middle", "bottom")
MAX_SIDE = 4096
MAX_IMAGES = 12
MAX_TEXTS = 24
MAX_TEXT = 4000
"""Characters in one box."""
SIZES = (6.0, 400.0)

_COLOUR = re.compile(r"#[0-9a-f]{6}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""What XML can't hold; a tab and a line break are no part of it."""


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """A picture on the canvas; `image` is its key in the image store or its name in a folder."""

    image: str
    x: float
    y: float
    width: float
    height: float

    def __post_init__(self) -> None:
        if not self.image or len(self.image) > 500 or _CONTROL.search(self.image):
            raise UserError(f"A picture of the layout is called {self.image[:40]!r}. Give the name of an image.")
        _check_place(self, "A picture")


@dataclass(frozen=True, slots=True)
class TextBox:
    """Text in a box. `size` is the largest that it may have: text that does not fit is made smaller."""

    text: str
    x: float
    y: float
    width: float
    height: float
    font: str = "Anton"
    size: float = 48.0
    colour: str = "#ffffff"
    outline: str = "#000000"
    outline_width: float = 4.0
    align: str = "center"
    uppercase: bool = False
    place: str = "top"
    """Where the lines stand in a box that is higher than they are."""

    def __post_init__(self) -> None:
        _check_place(self, "A text box")
        if len(self.text) > MAX_TEXT:
            raise UserError(
                f"A text of the layout has {len(self.text):,} characters; at most {MAX_TEXT:,}. Shorten it."
            )
        if _CONTROL.search(self.text):
            raise UserError("A text of the layout has control characters. Type it again instead of pasting it.")
        for name, value, choices in (
            ("font", self.font, FONTS),
            ("align", self.align, ALIGNS),
            ("place", self.place, PLACES),
        ):
            if value not in choices:
                raise UserError(f"A text box has {name} {str(value)[:40]!r}; choose {', '.join(choices)}.")
        for name, value in (("colour", self.colour), ("outline", self.outline)):
            if not _COLOUR.fullmatch(value):
                raise UserError(f"A text box has {name} {value[:20]!r}; write it like #ffcc00.")
        if not SIZES[0] <= self.size <= SIZES[1]:
            raise UserError(f"A text box has size {self.size:g}; choose {SIZES[0]:g} to {SIZES[1]:g}.")
        if not 0 <= self.outline_width <= 40:
            raise UserError(f"A text box has an outline {self.outline_width:g} wide; choose 0 to 40.")

    @property
    def shown(self) -> str:
        """The text as it is drawn."""
        text = self.text.replace("\r", "").expandtabs(4).strip("\n")
        return text.upper() if self.uppercase else text


@dataclass(frozen=True, slots=True)
class MemeLayout:
    """A canvas with pictures, the first one lowest, and texts above them."""

    width: int
    height: int
    images: tuple[PlacedImage, ...] = ()
    texts: tuple[TextBox, ...] = ()

    def __post_init__(self) -> None:
        if not (1 <= self.width <= MAX_SIDE and 1 <= self.height <= MAX_SIDE):
            raise UserError(f"The meme is {self.width} × {self.height} pixels; 1 to {MAX_SIDE:,} a side.")
        if len(self.images) > MAX_IMAGES or len(self.texts) > MAX_TEXTS:
            raise UserError(
                f"The meme has {len(self.images)} pictures and {len(self.texts)} texts; "
                f"at most {MAX_IMAGES} and {MAX_TEXTS}."
            )

    @property
    def text(self) -> str:
        """The caption: the texts from top to bottom, left to right, a line break between them."""
        ordered = sorted(self.texts, key=lambda box: (box.y, box.x))
        return "\n".join(box.text.strip() for box in ordered if box.text.strip())

    def with_texts(self, texts: Sequence[TextBox]) -> MemeLayout:
        """Return the same pictures under other texts."""
        return replace(self, texts=tuple(texts))

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> MemeLayout:
        """Return the layout that plain values, such as a JSON file's, describe; each wrong value is named."""
        known = _checked_fields(values, cls)
        parts = {name: known.pop(name, []) for name in ("images", "texts")}
        for name, part in parts.items():
            if not isinstance(part, list | tuple):
                raise UserError(f"The layout's {name} is {type(part).__name__}; give a list.")
        return _build(
            cls,
            {
                **{name: _whole_pixels(value) for name, value in known.items()},
                "images": tuple(_build(PlacedImage, _checked_fields(it, PlacedImage)) for it in parts["images"]),
                "texts": tuple(_build(TextBox, _checked_fields(it, TextBox)) for it in parts["texts"]),
            },
        )


def stack(images: Sequence[tuple[str, int, int]], width: int = 600) -> MemeLayout:
    """Return a layout with pictures (name, width, height) below each other, each as wide as the canvas."""
    placed: list[PlacedImage] = []
    y = 0.0
    for name, own_width, own_height in images:
        height = max(1.0, round(own_height * width / own_width))
        placed.append(PlacedImage(name, 0.0, y, float(width), height))
        y += height
    if y > MAX_SIDE:
        smaller = max(1, int(width * MAX_SIDE / y))
        if smaller >= width:
            raise UserError(f"The pictures are {y:,.0f} pixels high together; at most {MAX_SIDE:,}.")
        return stack(images, smaller)
    return MemeLayout(width, int(y) or width, tuple(placed))


def with_pictures(layout: MemeLayout, images: Sequence[tuple[str, int, int]]) -> MemeLayout:
    """Return a layout's texts over other pictures (name, width, height); what stood low keeps to the lower edge."""
    stacked = stack(images, layout.width)
    grown = stacked.height - layout.height
    moved = []
    for box in layout.texts:
        y = box.y + grown if box.y + box.height / 2 > layout.height / 2 else box.y
        moved.append(replace(box, y=max(0.0, min(y, stacked.height - box.height))))
    placed = stacked.with_texts(moved)
    same = stacked.width == layout.width and placed.text == layout.text
    return placed if same else caption(stacked, layout.text)


def caption(layout: MemeLayout, top: str = "", bottom: str = "", **style: Any) -> MemeLayout:
    """Return a layout with a line of text at the top and one at the bottom, as most memes have them."""
    margin = round(layout.width * 0.03)
    width, height = layout.width - 2 * margin, layout.height * 0.3
    size = min(max(layout.width * 0.1, SIZES[0]), SIZES[1])
    usual = {"width": float(width), "height": height, "size": size, "outline_width": size * 0.1, **style}
    boxes = [
        TextBox(top, margin, margin, **usual),
        TextBox(bottom, margin, layout.height - height - margin, **{"place": "bottom", **usual}),
    ]
    return layout.with_texts([box for box in boxes if box.text.strip()])


_Part = TypeVar("_Part", PlacedImage, TextBox, MemeLayout)


def _check_place(part: PlacedImage | TextBox, name: str) -> None:
    for value in (part.x, part.y, part.width, part.height):
        if not math.isfinite(value) or abs(value) > 2 * MAX_SIDE:
            raise UserError(f"{name} stands at {value}; give pixels between {-2 * MAX_SIDE:,} and {2 * MAX_SIDE:,}.")
    if part.width < 1 or part.height < 1:
        raise UserError(f"{name} is {part.width:g} × {part.height:g} pixels; at least 1 × 1.")


def _checked_fields(values: Any, kind: type) -> dict[str, Any]:
    """Return a mapping whose keys are fields of `kind` and whose values have the fields' types."""
    name = _WHAT[kind]
    if not isinstance(values, Mapping):
        raise UserError(f"{name} is {type(values).__name__}; give an object with {', '.join(_names(kind))}.")
    strange = [str(key) for key in values if key not in _names(kind)]
    if strange:
        raise UserError(f"{name} has {strange[0][:40]!r}, which is not known; it has {', '.join(_names(kind))}.")
    types = {item.name: str(item.type) for item in fields(kind)}
    return {key: _typed(value, types[key], f"{name}'s {key}") for key, value in values.items()}


_WHAT: dict[type, str] = {PlacedImage: "A picture", TextBox: "A text box", MemeLayout: "The layout"}

_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "text"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "float": (lambda value: isinstance(value, int | float) and not isinstance(value, bool), "a number"),
    "int": (lambda value: isinstance(value, int | float) and not isinstance(value, bool), "a number"),
}


def _typed(value: Any, kind: str, name: str) -> Any:
    check = _CHECKS.get(kind)
    if check is not None and not check[0](value):
        raise UserError(f"{name} is {str(value)[:40]!r}; give {check[1]}.")
    if kind != "float":
        return value
    try:
        return float(value)
    except OverflowError:
        raise UserError(f"{name} is far too large.") from None


def _whole_pixels(value: float) -> int:
    if not math.isfinite(value) or value != int(value):
        raise UserError(f"The layout's side is {value}; give whole pixels.")
    return int(value)


def _build(kind: type[_Part], values: Mapping[str, Any]) -> _Part:
    missing = [item.name for item in fields(kind) if item.default is MISSING and item.name not in values]
    if missing:
        raise UserError(f"{_WHAT[kind]} has no {missing[0]}. Give it.")
    return kind(**values)


def _names(kind: type) -> list[str]:
    return [item.name for item in fields(kind)]
