"""Pictures that strangers send: some must be refused in one line, some must be handled, and none may do harm."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image, ImageDraw

PLACE = b"Secret Street 5"


def encoded(image: Image.Image, format: str, **options: object) -> bytes:
    """Return an image as a file."""
    target = io.BytesIO()
    image.save(target, format, **options)
    return target.getvalue()


def png(width: int, height: int, pixels: bytes) -> bytes:
    """Return a PNG whose header says a size, whatever pixels follow."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def meme(size: tuple[int, int] = (320, 240), mode: str = "RGB") -> Image.Image:
    """Return a drawn picture with a line of text that OCR reads."""
    image = Image.new("RGB", (320, 240), "#8f4a2e")
    pen = ImageDraw.Draw(image)
    pen.ellipse((90, 60, 230, 200), fill="#fdf1d8")
    pen.rectangle((20, 180, 120, 230), fill="#204060")
    pen.text((30, 10), "GOOD MORNING", "white", font_size=34, stroke_width=2, stroke_fill="black")
    return image.resize(size).convert(mode)


def with_place() -> bytes:
    """Return a JPEG whose EXIF says where it was taken."""
    exif = Image.Exif()
    exif[0x8825] = {1: "N", 2: (52.0, 30.0, 0.0), 3: "E", 4: (13.0, 24.0, 0.0), 27: PLACE}
    exif[0x010E] = PLACE.decode()
    return encoded(meme(), "JPEG", exif=exif, comment=PLACE)


def animation() -> bytes:
    """Return a GIF of three frames."""
    frames = [meme(), Image.new("RGB", (320, 240), "red"), Image.new("RGB", (320, 240), "blue")]
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=50)


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="300">%s</svg>'

REFUSED: dict[str, tuple[bytes, str]] = {
    "a decompression bomb": (png(8_000, 8_000, b"\0" * (8_000 * 24_001)), "8000 × 8000"),
    "a PNG that says it is huge": (png(60_000, 60_000, b"\0" * 1_000), "pixels"),
    "a PNG with fewer pixels than it says": (png(400, 300, b"\0" * 5_000), "damaged"),
    "an SVG with a script": (SVG % b"<script>alert(1)</script>", "PNG"),
    "an SVG with an outside link": (SVG % b'<image href="https://example.org/x.png"/>', "PNG"),
    "half a JPEG": (encoded(meme(), "JPEG")[:2_000], "damaged"),
}
"""Name → the file and a word of the line that refuses it."""

HANDLED: dict[str, bytes] = {
    "a GIF": animation(),
    "CMYK": encoded(meme(mode="CMYK"), "JPEG"),
    "EXIF with a place": with_place(),
    "a see-through PNG": encoded(meme(mode="RGBA"), "PNG"),
    "sixteen bits": encoded(meme(mode="I;16"), "PNG"),
    "one pixel": encoded(Image.new("RGB", (1, 1)), "PNG"),
    "a line of pixels": encoded(Image.new("RGB", (20_000, 1)), "PNG"),
}
"""Name → a file that is odd but a picture."""

WITH_TEXT = ("a GIF", "CMYK", "EXIF with a place", "a see-through PNG")
