"""`ocr:MODEL` reads what stands on pictures; pixels come through the `images` that whoever loads it gives."""

from __future__ import annotations

import polars as pl
import pytest

from davy.core import UserError
from davy.detectors.load import load
from davy.image import ocr
from davy.image.image_folder import ImageFolder
from davy.image.picture import read_picture
from davy.image.picture_names import pictures_in
from drawn_memes import draw, folder_of


@pytest.fixture
def words(tmp_path):
    (tmp_path / "words.txt").write_text("grumblefop\t0.9\n")
    return f"ocr:keywords:{tmp_path / 'words.txt'}"


@pytest.fixture
def seen(monkeypatch):
    """A reader of pictures that finds a word on the blue meme; the networks are tested elsewhere."""
    sizes: list[tuple[int, int]] = []

    def lines(picture, engine):
        assert engine == "the reader"
        sizes.append(picture.image.size)
        blue = picture.image.getpixel((2, 2)) == (0x2E, 0x6D, 0xB5)
        return [ocr.OcrLine("grumblefop", 0.9, (0, 0, 1, 1))] if blue else []

    monkeypatch.setattr(ocr, "reader", lambda: "the reader")
    monkeypatch.setattr(ocr, "read_lines", lines)
    return sizes


def test_the_text_on_a_picture_counts_like_the_post_s_own(words, seen, tmp_path):
    folder = folder_of(tmp_path / "img", {"deep/1.png": draw(1), "2.png": draw(2)})
    scorer = load(words, images=pictures_in(folder))
    posts = pl.DataFrame({"text": ["a", "a", "grumblefop", ""], "image": ["1", "2.png", None, "1.png"]})
    assert [round(it, 2) for it in scorer.score(posts).probabilities["hate"][:, 1]] == [0.9, 0.0, 0.9, 0.9]
    assert seen == [(320, 240)] * 3
    assert scorer.abilities.images
    assert scorer.name.startswith("ocr:keywords:")
    assert scorer.score(posts.drop("image")).probabilities["hate"][2, 1] > 0.8


def test_a_project_s_pictures_are_read_by_key(words, seen, tmp_path):
    folder = ImageFolder(tmp_path / "kept")
    key = folder.put(read_picture(draw(1))).key
    scores = load(words, images=folder.read).score(pl.DataFrame({"text": ["a"], "image": [key]}))
    assert scores.probabilities["hate"][0, 1] > 0.8


def test_what_is_missing_is_named(words, seen, tmp_path):
    with pytest.raises(UserError, match="--images FOLDER"):
        load(words)
    folder = folder_of(tmp_path / "img", {"a/1.png": draw(1), "b/1.png": draw(2)})
    scorer = load(words, images=pictures_in(folder))
    for name in ("none.png", "1.png"):
        with pytest.raises(UserError, match=name):
            scorer.score(pl.DataFrame({"text": ["a"], "image": [name]}))


def test_the_shell_scores_memes_with_their_pictures(words, seen, tmp_path):
    from davy.shell.app import run

    folder = folder_of(tmp_path / "img", {"1.png": draw(1), "2.png": draw(2)})
    (tmp_path / "memes.csv").write_text("id,text,image\n1,a,1.png\n2,b,2.png\n")
    out = tmp_path / "out.csv"
    assert (
        run(["score", str(tmp_path / "memes.csv"), "--images", str(folder), "--model", words, "--out", str(out)]) == 0
    )
    assert pl.read_csv(out)["hate.label"].to_list() == ["hateful", "not hateful"]
