"""A meme: an image, the text on it, and the layers that made it."""

from dataclasses import dataclass

KINDS: tuple[str, ...] = (
    "multimodal hate",
    "unimodal hate",
    "benign image",
    "benign text",
    "random non-hateful",
)


@dataclass(frozen=True, slots=True)
class Layer:
    """One thing drawn on a meme, back to front. Positions and sizes are shares of the image's width and height."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    text: str | None = None
    image: str | None = None
    licence: str | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.image is None):
            raise ValueError("a layer is either a text or an image")


@dataclass(frozen=True, slots=True)
class Meme:
    """A drawn meme. `post` is the post it belongs to; `image` the key of the flat picture."""

    id: str
    post: str
    image: str
    layers: tuple[Layer, ...] = ()

    @property
    def text(self) -> str:
        """The words on the meme, top to bottom."""
        return " ".join(layer.text for layer in sorted(self.layers, key=lambda it: it.y) if layer.text)


@dataclass(frozen=True, slots=True)
class Confounder:
    """A minimal swap of image or text that flips a meme's label."""

    meme: str
    of: str
    swapped: str

    def __post_init__(self) -> None:
        if self.swapped not in ("image", "text"):
            raise ValueError(f"a confounder swaps the image or the text, not {self.swapped!r}")
        if self.meme == self.of:
            raise ValueError("a meme can't be its own confounder")
