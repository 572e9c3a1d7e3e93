"""The safe reader, attacked: bombs, lies about the type, damage, metadata, odd colours."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from davy.core import UserError
from davy.image.picture import make_preview, read_picture, sniff


def encoded(image: Image.Image, format: str, **options: object) -> bytes:
    target = io.BytesIO()
    image.save(target, format, **options)
    return target.getvalue()


def square(mode: str = "RGB", size: tuple[int, int] = (40, 20)) -> Image.Image:
    rng = np.random.default_rng(3)
    return Image.fromarray(rng.integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)).convert(mode)


def png_header_only(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 100_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize("format", ["PNG", "WEBP"])
def test_the_same_pixels_have_the_same_key_in_any_lossless_format(format: str) -> None:
    picture = read_picture(encoded(square(), format, **({"lossless": True} if format == "WEBP" else {})))
    assert picture.image.tobytes() == square().tobytes()
    assert picture.key == read_picture(encoded(square(), "PNG")).key
    assert picture.format == format


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "RGBA", "LA", "I;16"])
def test_every_colour_mode_becomes_rgb_or_rgba(mode: str) -> None:
    image = Image.fromarray(np.full((20, 40), 65535, np.uint16)) if mode == "I;16" else square(mode)
    if mode in ("RGBA", "LA"):
        image.putalpha(Image.new("L", image.size, 128))
    picture = read_picture(encoded(image, "JPEG" if mode == "CMYK" else "PNG"))
    assert picture.image.mode == ("RGBA" if mode in ("RGBA", "LA") else "RGB")
    assert picture.image.size == (40, 20)
    if mode == "I;16":
        assert picture.image.getpixel((0, 0)) == (255, 255, 255)


def test_orientation_is_applied_and_no_metadata_survives() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # rotated
    exif[0x010F] = "secret camera"
    exif[0x8825] = {1: "N"}
    data = encoded(square(), "JPEG", exif=exif, comment=b"secret comment")
    assert b"secret camera" in data
    picture = read_picture(data)
    assert picture.image.size == (20, 40)
    for format in ("PNG", "JPEG", "WEBP"):
        again = picture.encode(format)
        assert b"secret" not in again
        with Image.open(io.BytesIO(again)) as image:
            assert not image.getexif()


def test_an_animation_gives_its_first_frame() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "green", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    picture = read_picture(data)
    assert (picture.frames, picture.image.getpixel((0, 0))[:3]) == (3, (255, 0, 0))


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        (b"", 422, "is empty"),
        (b"<svg onload=alert(1)>", 415, "not a PNG"),
        (b"%!PS-Adobe-3.0 EPSF", 415, "not a PNG"),
        (b"BM" + b"\0" * 100, 415, "not a PNG"),
        (b"MZ\x90\0 renamed.png", 415, "not a PNG"),
        (b"GIF89a", 422, "damaged"),
        (b"\x89PNG\r\n\x1a\n" + b"junk" * 20, 422, "damaged"),
        (encoded(square(), "PNG")[:-30], 422, "damaged"),
        (encoded(square(size=(300, 300)), "JPEG")[:3000], 422, "damaged"),
        (png_header_only(60_000, 60_000), 413, "too many pixels"),
        (png_header_only(9_000, 9_000), 413, "9000 × 9000"),
        (png_header_only(30_000, 1), 413, "30000 × 1"),
        (b"\xff\xd8\xff" + b"x" * 200, 422, "damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_images_are_one_clear_line(data: bytes, status: int, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        read_picture(data)
    assert caught.value.status == status
    assert "\n" not in caught.value.message


def test_size_limits_hold_for_paths_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "big.png"
    path.write_bytes(encoded(square(size=(300, 300)), "PNG"))
    for source in (path, path.read_bytes()):
        with pytest.raises(UserError, match="larger than 1,000 bytes"):
            read_picture(source, max_bytes=1000)
        with pytest.raises(UserError, match="300 × 300"):
            read_picture(source, max_pixels=1000)
    with pytest.raises(UserError, match="Can't read"):
        read_picture(tmp_path / "none.png")


def test_a_name_is_no_evidence(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(encoded(square(), "PNG"))
    assert read_picture(path).format == "PNG"
    assert sniff(b"RIFF....WAVE") is None


def test_gentle_images_are_grey_small_and_hide_detail() -> None:
    image = square(size=(2000, 1000))
    shown = make_preview(image)
    assert shown.size == (1024, 512)
    assert all(len(set(shown.getpixel((x, 100)))) == 1 for x in range(0, 1000, 97))
    assert np.asarray(shown).std() < np.asarray(image).std() / 4
    clear = make_preview(image, grey=False, blur="none", longest=3000)
    assert clear.tobytes() == image.tobytes()
    glass = Image.new("RGBA", (10, 10), (200, 10, 10, 77))
    assert make_preview(glass, blur="none").getpixel((5, 5))[3] == 77
