"""Searching the library: words by their beginnings, likeness by colours and edges."""

import json

import numpy as np
import pytest
from PIL import Image, ImageDraw

from davy.annotation.project.images import Credit
from davy.core import UserError
from davy.image.perceptual_hash import LIKENESS_LENGTH, likeness, pack_likeness, unpack_likenesses
from davy.memes.image_library import add_to_library, find_in_library, search_library
from davy.shell.app import run

CC0 = Credit("CC0-1.0", "A. Painter")


@pytest.fixture(autouse=True)
def picture_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))


def scene(ground: str, shape: str, at: int = 40) -> Image.Image:
    image = Image.new("RGB", (200, 150), ground)
    ImageDraw.Draw(image).ellipse((at, 30, at + 90, 120), fill=shape)
    return image


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "photos"
    (path / "sea").mkdir(parents=True)
    scene("#204080", "#ffffff").save(path / "sea" / "white_boats.png")
    scene("#208040", "#c03020").save(path / "red-ball.jpg")
    scene("#c0a020", "#101010").save(path / "night cat.png")
    return path


@pytest.mark.parametrize(
    ("words", "first"), [("boat", "white_boats"), ("SEA boats", "white_boats"), ("cat", "night cat"), ("zebra", None)]
)
def test_a_word_is_found_by_its_beginning(store, folder, words, first):
    add_to_library(store, folder, credit=CC0, words="drawn", by="shell")
    hits = find_in_library(store, words)
    assert (hits[0].image.name if hits else None) == (
        None if first is None else f"sea/{first}.png" if first == "white_boats" else f"{first}.png"
    )


def test_the_most_alike_picture_comes_first(store, folder, tmp_path):
    add_to_library(store, folder, credit=CC0, by="shell")
    scene("#1f4488", "#f0f0ff", at=46).resize((320, 240)).save(tmp_path / "query.jpg")
    first, *_ = find_in_library(store, like=tmp_path / "query.jpg")
    assert first.image.name == "sea/white_boats.png"


def test_without_a_licence_nothing_comes_in(store, folder):
    with pytest.raises(UserError, match="no licence"):
        add_to_library(store, folder, credit=Credit(credit="somebody"), by="shell")
    assert find_in_library(store) == []


def test_one_broken_picture_keeps_all_out(store, folder):
    (folder / "zz.png").write_bytes(b"no picture")
    with pytest.raises(UserError, match=r"zz\.png"):
        add_to_library(store, folder, credit=CC0, by="shell")
    assert find_in_library(store) == []


def test_a_table_gives_each_picture_its_own_words_and_licence(tmp_path, folder):
    (folder / "table.csv").write_text("image,words,licence,credit\nred-ball.jpg,ball game,CC BY 4.0,B. Painter\n")
    url = f"sqlite:///{tmp_path / 'x.sqlite'}"
    assert run(["database", "create", "--database", url]) == 0
    assert run(["meme", "library", "add", str(folder / "table.csv"), "--database", url]) == 0
    assert run(["meme", "library", "search", "game", "--database", url, "--json"]) == 0
    assert run(["meme", "library", "list", "--database", url]) == 0


def test_the_shell_lists_licence_and_credit(tmp_path, folder, capsys):
    url = f"sqlite:///{tmp_path / 'x.sqlite'}"
    run(["database", "create", "--database", url])
    run(["meme", "library", "add", str(folder), "--licence", "CC0-1.0", "--credit", "A", "--database", url])
    capsys.readouterr()
    assert run(["meme", "library", "search", "ball", "--database", url, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["licence"], row["credit"], row["name"]) == ("CC0-1.0", "A", "red-ball.jpg")


def test_a_vector_survives_packing():
    vectors = [likeness(scene("#204080", "#ffffff")), likeness(scene("#208040", "#c03020"))]
    back = unpack_likenesses([pack_likeness(vector) for vector in vectors])
    assert back.shape == (2, LIKENESS_LENGTH)
    assert np.allclose(back, vectors, atol=0.01)
    assert unpack_likenesses([pack_likeness(likeness(Image.new("RGB", (1, 1), "#808080")))]).shape == (
        1,
        LIKENESS_LENGTH,
    )


def test_an_empty_library_has_nothing_alike():
    assert search_library([], like=likeness(scene("#204080", "#ffffff"))) == []
