"""Bad pictures and odd texts through the shell's doors: read, render, library, score."""

import json

import pytest
from PIL import Image

from bad_pictures import HANDLED, PLACE, REFUSED, WITH_TEXT, encoded, meme
from davy.shell.app import run

TEXTS = {
    "200 lines": "\n".join(f"line {number}" for number in range(200)),
    "right to left": "שלום עולם – مرحبا بالعالم",
    "both ways": "hello שלום 123 مرحبا 😀",
    "emoji alone": "😀🎉",
    "one long word": "m" * 300,
}


def said(capsys):
    return " ".join(capsys.readouterr().err.split())


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    return folder


def read(source, out, *options):
    return run(["meme", "read", str(source), "--out", str(out), *options])


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_reading_drops_what_is_no_picture_by_name_and_keeps_the_rest(tmp_path, source):
    for name, (data, _) in REFUSED.items():
        (source / f"{name}.png").write_bytes(data)
    for name, data in HANDLED.items():
        (source / f"{name}.jpg").write_bytes(data)
    assert read(source, tmp_path / "out") == 0
    dropped = {row["name"]: row for row in rows(tmp_path / "out" / "dropped.jsonl")}
    for name, (_, word) in REFUSED.items():
        assert dropped[f"{name}.png"]["dropped"] == "broken"
        assert word in dropped[f"{name}.png"]["why"]
    for name in ("one pixel", "a line of pixels"):
        assert dropped[f"{name}.jpg"]["dropped"] == "too small"
    kept = {post["source"].removesuffix(".jpg") for post in rows(tmp_path / "out" / "posts.jsonl")}
    duplicates = {name.removesuffix(".jpg") for name, row in dropped.items() if row["dropped"] == "duplicate"}
    assert set(WITH_TEXT) <= kept | duplicates, "the same meme in several formats is one meme"
    assert kept
    for path in (tmp_path / "out" / "img").iterdir():
        assert PLACE not in path.read_bytes()
        with Image.open(path) as picture:
            assert not picture.getexif()


def test_reading_takes_tiny_pictures_where_asked_and_never_fails_on_them(tmp_path, source):
    (source / "one.png").write_bytes(HANDLED["one pixel"])
    (source / "line.png").write_bytes(HANDLED["a line of pixels"])
    assert read(source, tmp_path / "out", "--smallest", "1") == 0
    assert {row["dropped"] for row in rows(tmp_path / "out" / "dropped.jsonl")} == {"no text"}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_table_with_odd_texts_is_read_as_it_is(tmp_path, source, text):
    (source / "a.png").write_bytes(encoded(meme(), "PNG"))
    table = tmp_path / "memes.jsonl"
    table.write_text(json.dumps({"id": "a", "image": "a.png", "text": text}) + "\n")
    assert read(table, tmp_path / "out", "--images", str(source)) == 0
    assert [post["text"] for post in rows(tmp_path / "out" / "posts.jsonl")] == [text]


def layout_of(tmp_path, text="hello", height=200):
    path = tmp_path / "layout.json"
    box = {"text": text, "x": 0, "y": 0, "width": 300, "height": height, "size": 30}
    image = {"image": "a.png", "x": 0, "y": 0, "width": 300, "height": height}
    path.write_text(json.dumps({"width": 300, "height": height, "images": [image], "texts": [box]}))
    return path


def render(tmp_path, source, **layout):
    out = tmp_path / "out.png"
    return run(["meme", "render", str(layout_of(tmp_path, **layout)), "--images", str(source), "--out", str(out)]), out


@pytest.mark.parametrize("name", REFUSED)
def test_a_meme_is_not_drawn_on_what_is_no_picture(tmp_path, source, capsys, name):
    data, word = REFUSED[name]
    (source / "a.png").write_bytes(data)
    code, out = render(tmp_path, source)
    assert (code, out.exists()) == (2, False)
    line = said(capsys)
    assert word in line
    assert "a.png" in line


@pytest.mark.parametrize("name", HANDLED)
def test_a_meme_is_drawn_on_odd_pictures(tmp_path, source, name):
    (source / "a.png").write_bytes(HANDLED[name])
    code, out = render(tmp_path, source)
    assert code == 0
    assert PLACE not in out.read_bytes()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_odd_texts_are_drawn_where_they_fit(tmp_path, source, text):
    (source / "a.png").write_bytes(encoded(meme(), "PNG"))
    code, out = render(tmp_path, source, text=text, height=2_000)
    assert code == 0
    with Image.open(out) as drawn:
        assert drawn.size == (300, 2_000)


def test_two_hundred_lines_that_do_not_fit_are_refused_with_what_to_do(tmp_path, source, capsys):
    (source / "a.png").write_bytes(encoded(meme(), "PNG"))
    code, out = render(tmp_path, source, text=TEXTS["200 lines"])
    assert (code, out.exists()) == (2, False)
    assert "Make the box larger or the text shorter" in said(capsys)


def test_a_text_of_control_characters_is_refused(tmp_path, source, capsys):
    (source / "a.png").write_bytes(encoded(meme(), "PNG"))
    code, _ = render(tmp_path, source, text="a\x00b\x1b[31m")
    assert code == 2
    assert "control characters" in said(capsys)


@pytest.mark.parametrize("name", REFUSED)
def test_scoring_refuses_what_is_no_picture(tmp_path, capsys, name):
    data, word = REFUSED[name]
    path = tmp_path / "meme.png"
    path.write_bytes(data)
    assert run(["score", "--image", str(path), "--model", "uniform"]) == 2
    line = said(capsys)
    assert word in line
    assert "Traceback" not in line


@pytest.mark.parametrize("name", HANDLED)
def test_scoring_reads_odd_pictures_or_asks_for_their_text(tmp_path, capsys, name):
    path = tmp_path / "meme.jpg"
    path.write_bytes(HANDLED[name])
    code = run(["score", "--image", str(path), "--model", "uniform", "--json"])
    out = capsys.readouterr()
    if name in WITH_TEXT:
        assert code == 0
        assert "GOOD" in json.loads(out.out)["text"]
    else:
        assert code == 0 or "--text" in out.err


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_scoring_takes_odd_texts_beside_a_picture(tmp_path, capsys, text):
    path = tmp_path / "meme.png"
    path.write_bytes(HANDLED["one pixel"])
    assert run(["score", "--image", str(path), "--text", text, "--model", "uniform", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == text


def test_scoring_a_picture_that_is_not_there_names_it(tmp_path, capsys):
    assert run(["score", "--image", str(tmp_path / "gone.png"), "--text", "x", "--model", "uniform"]) == 2
    assert "gone.png" in said(capsys)


@pytest.fixture
def database(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    assert run(["database", "create", "--database", url]) == 0
    return url


@pytest.mark.parametrize("name", REFUSED)
def test_the_library_takes_no_bad_picture_and_none_beside_it(tmp_path, source, capsys, database, name):
    (source / "good.png").write_bytes(encoded(meme(), "PNG"))
    (source / "bad.png").write_bytes(REFUSED[name][0])
    capsys.readouterr()
    assert run(["meme", "library", "add", str(source), "--licence", "CC0-1.0", "--database", database]) == 2
    line = said(capsys)
    assert "bad.png" in line
    assert REFUSED[name][1] in line
    assert run(["meme", "library", "list", "--database", database, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_project_whose_posts_name_missing_pictures_is_refused(tmp_path, source, capsys, database):
    (source / "a.png").write_bytes(encoded(meme(), "PNG"))
    posts = tmp_path / "posts.jsonl"
    posts.write_text("".join(json.dumps({"id": n, "text": n, "image": f"{n}.png"}) + "\n" for n in "ab"))
    command = ["project", "create", "hateful-memes", "--posts", str(posts), "--database", database]
    assert run([*command, "--images", str(source)]) == 2
    assert "'b.png'" in said(capsys)
    assert run(["project", "list", "--database", database, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
