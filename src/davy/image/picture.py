"""Read images from strangers: checked by content, decoded within limits, stripped of everything but pixels.

Bytes or a path in, a `Picture` out: an RGB or RGBA image and the key under which its pixels are stored. Nothing else in
Davy opens an image file. A preview is small and blurred; the server makes it (`image_folder`), not the browser, so that
a picture that nobody asked for is never sent.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from davy.core.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile


MAX_BYTES = 20_000_000
MAX_PIXELS = 50_000_000
MAX_SIDE = 20_000


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that is safe to use. `key` is a hash of its pixels: the same picture has the same key in any format."""

    image: Image
    key: str
    format: str
    """The format that it came in."""
    frames: int
    """How many frames it came with; only the first is kept."""

    def encode(self, format: str = "PNG") -> bytes:
        """Return a fresh file with the pixels and nothing else: no EXIF, no profile, no comment."""
        if format not in ("PNG", "JPEG", "WEBP"):
            raise UserError(f"Can't write images as {format!r}; use PNG, JPEG or WEBP.")
        image = on_white(self.image) if format == "JPEG" and self.image.mode == "RGBA" else self.image
        target = io.BytesIO()
        image.save(target, format, **({"quality": 90} if format == "JPEG" else {}))
        return target.getvalue()


def read_picture(
    source: bytes | str | Path, *, max_bytes: int = MAX_BYTES, max_pixels: int = MAX_PIXELS, name: str = "The image"
) -> Picture:
    """Return the first frame of an image, upright, in RGB or RGBA; `name` is what errors call it."""
    from PIL import ImageOps

    data = _bytes(source, max_bytes, name)
    with _opened(data, max_pixels, name) as image:
        frames = int(getattr(image, "n_frames", 1))
        image.seek(0)
        image.load()
        upright = ImageOps.exif_transpose(image) or image
        pixels = _plain(upright)
        return Picture(pixels, _key(pixels), str(sniff(data)), frames)


def count_pixels(data: bytes, *, max_pixels: int = MAX_PIXELS, name: str = "The image") -> int:
    """Return how many pixels an image has, as its header says: nothing is decoded."""
    with _opened(_bytes(data, MAX_BYTES, name), max_pixels, name) as image:
        return image.width * image.height


@contextmanager
def _opened(data: bytes, max_pixels: int, name: str) -> Iterator[ImageFile]:
    """Yield an image of a known format and an allowed size, not decoded yet; what goes wrong is one clear line."""
    from PIL import Image

    kind = sniff(data)
    if kind is None:
        raise UserError(
            f"{name} is not a PNG, JPEG, WebP or GIF (its content says so, whatever its name is).", status=415
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # bombs are measured below, odd EXIF and profiles are dropped anyway
            with Image.open(io.BytesIO(data), formats=(kind,)) as image:
                _check_size(image.size, max_pixels, name)
                yield image
    except UserError:
        raise
    except Image.DecompressionBombError:
        raise UserError(f"{name} has far too many pixels; at most {max_pixels:,}.", status=413) from None
    except Exception as error:  # noqa: BLE001 decoders raise anything on broken data; none of it is the caller's to handle
        raise UserError(
            f"{name} is damaged or cut short ({kind}, {len(data)} bytes): {type(error).__name__}. Save it again.",
            status=422,
        ) from None


def sniff(head: bytes) -> str | None:
    """Return the format that a file's first bytes name, or nothing."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "GIF"
    return None


def _bytes(source: bytes | str | Path, max_bytes: int, name: str) -> bytes:
    if isinstance(source, bytes):
        data = source
    else:
        try:
            with Path(source).open("rb") as file:
                data = file.read(max_bytes + 1)
        except OSError as error:
            raise UserError(f"Can't read {Path(source)}: {error.strerror}.") from None
    if len(data) > max_bytes:
        raise UserError(f"{name} is larger than {max_bytes:,} bytes. Make it smaller and try again.", status=413)
    if not data:
        raise UserError(f"{name} is empty.", status=422)
    return data


def _check_size(size: tuple[int, int], max_pixels: int, name: str) -> None:
    width, height = size
    if width * height > max_pixels or max(size) > MAX_SIDE:
        raise UserError(
            f"{name} is {width} × {height} pixels; at most {max_pixels:,} in all and {MAX_SIDE:,} a side.", status=413
        )


def _plain(image: Image) -> Image:
    """Return a copy in RGB, or in RGBA where something shows through; nothing but pixels comes along."""
    from PIL import Image as pillow

    if image.mode in ("I", "I;16", "I;16B", "I;16L", "F"):
        image = _eight_bits(image)
    see_through = image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info
    pixels = image.convert("RGBA" if see_through else "RGB")
    if pixels.mode == "RGBA" and pixels.getchannel("A").getextrema() == (255, 255):
        pixels = pixels.convert("RGB")
    clean = pillow.new(pixels.mode, pixels.size)
    clean.paste(pixels)
    return clean


def _eight_bits(image: Image) -> Image:
    """Return a 16-bit or wider grey image in 8 bits: by the full 16-bit range, or by its own where that is wider."""
    import numpy as np
    from PIL import Image as pillow

    values = np.nan_to_num(np.asarray(image, dtype=np.float64))
    top = 65535.0 if values.max(initial=0) <= 65535 else float(values.max())
    return pillow.fromarray((np.clip(values, 0, top) / top * 255).round().astype(np.uint8))


def on_white(image: Image) -> Image:
    from PIL import Image as pillow

    ground = pillow.new("RGB", image.size, (255, 255, 255))
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def _key(image: Image) -> str:
    """Return a hash of size, mode and pixels."""
    digest = hashlib.sha256(f"{image.mode} {image.width} {image.height} ".encode())
    digest.update(image.tobytes())
    return digest.hexdigest()[:32]


BLURS: dict[str, float] = {"none": 0.0, "light": 0.015, "strong": 0.05}
"""Blur radius as a share of the longer side."""


def make_preview(image: Image, *, grey: bool = True, blur: str = "strong", longest: int = 1024) -> Image:
    """Return the image at most `longest` pixels a side, grey and blurred as asked; the original is unchanged."""
    from PIL import ImageFilter, ImageOps

    if blur not in BLURS:
        raise ValueError(f"blur {blur!r}; one of {', '.join(BLURS)}")
    shown = image.copy()
    shown.thumbnail((longest, longest))
    if grey:
        alpha = shown.getchannel("A") if shown.mode == "RGBA" else None
        shown = ImageOps.grayscale(shown).convert(shown.mode)
        if alpha is not None:
            shown.putalpha(alpha)
    radius = BLURS[blur] * max(shown.size)
    return shown.filter(ImageFilter.GaussianBlur(radius)) if radius else shown
