"""Pictures as files: each once, under the hash of its bytes; previews that give nothing away; nothing from outside."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image

from davy.core import UserError
from davy.image.image_folder import ImageFolder, is_image_key
from davy.image.picture import read_picture
from drawn_memes import draw


@pytest.fixture
def folder(tmp_path) -> ImageFolder:
    return ImageFolder(tmp_path / "images")


def test_a_picture_is_kept_once_under_the_hash_of_its_bytes(folder):
    first = folder.put(read_picture(draw(1)))
    again = folder.put(read_picture(draw(1, format="WEBP")))
    other = folder.put(read_picture(draw(2)))
    assert first == again
    assert (first.is_new, again.is_new, other.is_new) == (True, False, True)
    assert list(folder.keys()) == sorted({first.key, other.key})
    data = folder.find(first.key).read_bytes()
    assert hashlib.sha256(data).hexdigest() == first.key
    assert (first.width, first.height, first.size, first.mime) == (320, 240, len(data), "image/png")
    assert folder.read(first.key).image.tobytes() == read_picture(draw(1)).image.tobytes()


def test_a_picture_that_was_kept_has_the_same_key_when_it_comes_back(folder):
    photo = folder.put(read_picture(draw(3, format="JPEG")))
    assert folder.put(read_picture(folder.find(photo.key))).key == photo.key


def test_nothing_but_pixels_is_kept(folder):
    image = Image.open(io.BytesIO(draw(1)))
    exif = Image.Exif()
    exif[0x010E] = "where Ada lives"
    out = io.BytesIO()
    image.save(out, "JPEG", exif=exif, comment=b"where Ada lives")
    kept = folder.put(read_picture(out.getvalue()))
    assert b"Ada" not in folder.find(kept.key).read_bytes()


@pytest.mark.parametrize("kind", ["grey", "blurred"])
def test_a_preview_is_blurred_and_grey_unless_colours_are_wanted(folder, kind):
    kept = folder.put(read_picture(draw(1)))
    with Image.open(folder.preview(kept.key, kind)) as preview:
        assert preview.format == "JPEG"
        assert preview.size == (320, 240)
        pixels = np.asarray(preview.convert("RGB"), dtype=int)
    grey = np.abs(pixels[..., 0] - pixels[..., 2]).max() < 12
    assert grey == (kind == "grey")
    sharp = np.asarray(folder.read(kept.key).image.convert("L"), dtype=int)
    assert np.abs(np.diff(pixels.mean(axis=2), axis=1)).max() < np.abs(np.diff(sharp, axis=1)).max() / 4


def test_a_removed_picture_leaves_no_file_behind(folder):
    kept = folder.put(read_picture(draw(1)))
    folder.preview(kept.key, "blurred")
    folder.remove(kept.key)
    folder.remove(kept.key)
    assert [it for it in folder.path.rglob("*") if it.is_file()] == []
    assert folder.find(kept.key) is folder.preview(kept.key) is None


@pytest.mark.parametrize(
    "key", ["", "..", "../secret", "a" * 63, "A" * 64, "g" * 64, "a" * 64 + "/..", "a" * 64 + "\n"]
)
def test_a_key_leads_nowhere_but_into_the_folder(folder, key):
    assert not is_image_key(key)
    assert folder.find(key) is folder.preview(key) is None
    folder.remove(key)


def test_bytes_that_are_not_those_of_their_key_are_refused(folder):
    data = read_picture(draw(1)).encode()
    with pytest.raises(UserError, match="damaged"):
        folder.put_bytes("0" * 64, data)
    html = b"<script>"
    with pytest.raises(UserError, match="damaged"):
        folder.put_bytes(hashlib.sha256(html).hexdigest(), html)
    assert list(folder.keys()) == []
