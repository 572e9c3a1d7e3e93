"""`davy meme render` from the shell."""

import json

import pytest
from PIL import Image

from davy.memes.meme_layout import caption, stack
from davy.shell.app import run


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    Image.new("RGB", (200, 150), "#408040").save(folder / "green.png")
    Image.new("CMYK", (300, 150)).save(folder / "print.jpg")
    return folder


def write_layout(path, *names):
    layout = caption(stack([(name, 200, 150) for name in names], 200), "hello 😀", "Grüße")
    path.write_text(json.dumps(layout.to_dict()))
    return path


def test_a_layout_becomes_a_png_and_an_svg(tmp_path, pictures):
    layout = write_layout(tmp_path / "meme.json", "green.png", "print.jpg")
    for name in ("meme.png", "meme.svg"):
        assert run(["meme", "render", str(layout), "--images", str(pictures), "--out", str(tmp_path / name)]) == 0
    with Image.open(tmp_path / "meme.png") as drawn:
        assert drawn.size == (200, 300)
    assert "Grüße" in (tmp_path / "meme.svg").read_text()


def test_many_layouts_become_a_folder(tmp_path, pictures):
    layout = json.loads(write_layout(tmp_path / "meme.json", "green.png").read_text())
    many = tmp_path / "memes.jsonl"
    many.write_text("".join(json.dumps({"id": f"m{n}", "layout": layout}) + "\n" for n in range(3)))
    command = ["meme", "render", str(many), "--images", str(pictures), "--out", str(tmp_path / "out"), "--svg"]
    assert run(command) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"m{n}.{ending}" for n in range(3) for ending in ("png", "svg")
    ]


WRONG = [("{", "not JSON"), ('{"width": 5}', "height"), ("[]", "list")]


@pytest.mark.parametrize(("text", "word"), WRONG)
def test_a_wrong_layout_gets_one_line_and_leaves_no_file(tmp_path, pictures, capsys, text, word):
    layout = tmp_path / "meme.json"
    layout.write_text(text)
    assert run(["meme", "render", str(layout), "--images", str(pictures), "--out", str(tmp_path / "a.png")]) == 2
    assert word in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "a.png").exists()


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", ""])
def test_a_meme_can_not_be_written_outside_the_folder(tmp_path, pictures, capsys, name):
    many = tmp_path / "memes.jsonl"
    many.write_text(json.dumps({"id": name, "layout": {"width": 5, "height": 5}}) + "\n")
    assert run(["meme", "render", str(many), "--images", str(pictures), "--out", str(tmp_path / "out")]) == 2
    assert "line 1" in " ".join(capsys.readouterr().err.split())


def test_a_picture_that_is_not_there_is_named(tmp_path, pictures, capsys):
    layout = write_layout(tmp_path / "meme.json", "gone.png")
    assert run(["meme", "render", str(layout), "--images", str(pictures), "--out", str(tmp_path / "a.png")]) == 2
    assert "gone.png" in " ".join(capsys.readouterr().err.split())
