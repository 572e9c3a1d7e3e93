"""Text on pictures, read by real networks on memes that we drew; what they say is known from the demo's posts."""

import json
import sys
from pathlib import Path

from PIL import Image

import davy
from davy.image.ocr import OcrLine, read_lines, reader, text_of
from davy.image.picture import read_picture
from davy.shell.app import run

DEMO = Path(davy.__file__).parent / "demo" / "data"


def test_the_lines_of_every_demo_meme_are_read_in_their_order():
    engine = reader()
    posts = [json.loads(line) for line in (DEMO / "posts.jsonl").read_text(encoding="utf-8").splitlines()]
    memes = [post for post in posts if post.get("image")]
    assert len(memes) >= 6
    for meme in memes:
        found = text_of(read_lines(read_picture(DEMO / "images" / meme["image"]), engine))
        assert found.splitlines() == meme["text"].split(" / "), meme["image"]


def test_lines_beside_each_other_are_one_row_and_rows_go_from_top_to_bottom():
    lines = [
        OcrLine("below", 1, (0, 60, 50, 90)),
        OcrLine("right", 1, (60, 2, 99, 32)),
        OcrLine("left", 1, (0, 0, 50, 30)),
    ]
    assert text_of(lines) == "left right\nbelow"


def test_an_empty_picture_asks_for_words(tmp_path, capsys):
    path = tmp_path / "blank.png"
    Image.new("RGBA", (2400, 300), (0, 0, 0, 0)).save(path)
    assert read_lines(read_picture(path)) == []
    assert run(["score", "--image", str(path), "--model", "majority"]) == 2
    assert "Say what it says: --text" in capsys.readouterr().err


def test_the_command_scores_what_stands_on_a_picture_and_says_so(capsys):
    path = DEMO / "images" / "spoons.png"
    assert run(["score", "--image", str(path), "--model", "uniform", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"].splitlines() == ["Friends at the door", "lay out the spoons"]
    assert (found["text_was_read"], found["looked_at_picture"]) == (True, False)
    assert run(["score", "--image", str(path), "--model", "uniform"]) == 0
    assert "uniform scored the text read from the picture alone" in capsys.readouterr().err


def test_with_a_text_nothing_is_read_so_the_base_install_will_do(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    command = ["score", "--image", str(DEMO / "images" / "spoons.png"), "--model", "uniform"]
    assert run([*command, "--text", "lay out the spoons"]) == 0
    assert "scored the text given alone" in capsys.readouterr().err
    assert run(command) == 2
    said = capsys.readouterr().err
    assert "pip install '.[memes]'" in said
    assert said.count("\n") == 1
