"""PDQ beside the published library, on pictures that we draw; near pairs beside a plain count of bits."""

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from davy.image.ocr import OcrLine
from davy.image.perceptual_hash import MIN_QUALITY, NEAR, distance, groups_of, near_pairs, pdq, without_text
from davy.image.picture import read_picture
from davy.memes.meme_layout import caption, stack
from davy.memes.meme_render import render_png


def scene(seed: int, size=(320, 240)) -> Image.Image:
    """Return shapes on a shaded ground, always the same for a seed."""
    rng = np.random.default_rng(seed)
    width, height = size
    ground = np.add.outer(np.arange(height) * rng.uniform(0.1, 0.4), np.arange(width) * rng.uniform(0.1, 0.4))
    image = Image.fromarray((np.stack([ground % 256, ground[::-1] % 256, ground * 0.5], 2)).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    for _ in range(12):
        x, y, r = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0.05, 0.3) * min(size)
        pen.ellipse((x - r, y - r, x + r, y + r), fill=tuple(int(value) for value in rng.integers(0, 255, 3)))
    return image


# What pdqhash 0.2.8, the library of PDQ's authors as a Python package, gives for these pictures.
PUBLISHED = {
    (1, (320, 240)): "998e03f033b3bc66cce24379649890cc7bf0f33c31c73c4344366ff89a494f9c",
    (2, (97, 301)): "8006f0cf67d92db7325ab4491cf334fd3619da33a3bc4a4ee400e7985b360da7",
    (3, (1300, 900)): "052ddfbef8b485a5d7e0d21c913579a682e17b65521420e76a4c6e54aa8e9dd9",
}


@pytest.mark.parametrize(("seed", "size"), PUBLISHED)
def test_hashes_are_those_of_the_published_library(seed, size):
    bits, quality = pdq(scene(seed, size))
    assert bits.tobytes().hex() == PUBLISHED[seed, size]
    assert quality == 100


def test_copies_are_near_and_other_pictures_are_far():
    original, _ = pdq(scene(7))
    packed = io.BytesIO()
    scene(7).save(packed, "JPEG", quality=40)
    for copy in (scene(7).resize((500, 375)), Image.open(packed), scene(7).convert("L").convert("RGB")):
        assert distance(original, pdq(copy)[0]) <= NEAR
    for seed in range(8, 20):
        assert distance(original, pdq(scene(seed))[0]) > NEAR


def test_a_plain_picture_has_no_quality():
    assert pdq(Image.new("RGB", (300, 200), "#447744"))[1] < MIN_QUALITY
    assert pdq(Image.new("RGB", (1, 1)))[1] == 0


def test_a_very_large_picture_is_hashed_like_a_smaller_one():
    small = scene(9, (1500, 200))
    large = small.resize((9000, 1200), Image.Resampling.BICUBIC)
    assert distance(pdq(small)[0], pdq(large)[0]) <= NEAR


def test_all_near_pairs_are_found_and_no_other():
    rng = np.random.default_rng(3)
    hashes = rng.integers(0, 256, (300, 32), dtype=np.uint8)
    for row in range(0, 300, 7):
        flips = rng.choice(256, size=int(rng.integers(20, 45)), replace=False)
        bits = np.unpackbits(hashes[row])
        bits[flips] ^= 1
        hashes[(row + 150) % 300] = np.packbits(bits)
    bits = np.unpackbits(hashes, axis=1).astype(int)
    apart = (bits[:, None] != bits[None]).sum(2)
    expected = {(i, j) for i, j in zip(*np.nonzero(apart <= NEAR), strict=True) if i < j}
    assert expected
    assert set(near_pairs(hashes)) == expected


def test_groups_have_the_first_of_what_is_linked():
    assert groups_of(6, [(4, 2), (2, 1), (5, 3)]) == [0, 1, 1, 3, 1, 3]


def test_a_picture_under_two_texts_is_near_once_the_texts_are_covered():
    packed = io.BytesIO()
    scene(4, (400, 300)).save(packed, "PNG")
    ground = read_picture(packed.getvalue())

    def meme(text):
        return Image.open(io.BytesIO(render_png(caption(stack([("a", 400, 300)], 400), text), lambda _: ground)))

    one, other = meme("MMMM WWWW MMMM"), meme("a much longer text that stands over the same picture, twice as high")
    lines = [OcrLine("…", 1, (0, 0, 400, 100))]
    assert distance(pdq(one)[0], pdq(other)[0]) > distance(
        pdq(without_text(one, lines))[0], pdq(without_text(other, lines))[0]
    )
    assert distance(pdq(without_text(one, lines))[0], pdq(without_text(other, lines))[0]) <= NEAR
