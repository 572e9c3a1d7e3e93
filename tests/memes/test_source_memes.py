"""Source memes: what is dropped and why, the funnel, the way into a project."""

import io
import json
from pathlib import Path

import pytest
from PIL import Image

import davy
from davy.core.errors import UserError
from davy.image.ocr import OcrLine
from davy.memes.benchmark import plan_benchmark
from davy.memes.make_benchmark import BenchmarkArtist
from davy.memes.source_memes import ReadingSettings, read_memes
from davy.shell.app import run

DEMO = Path(davy.__file__).parent / "demo" / "data" / "images"


def lines_of(text):
    return [OcrLine(text, 0.99, (0, 0, 200, 50))] if text else []


class KnownText:
    """Says what stands on a picture by its size: in place of OCR, where OCR is not the point."""

    def __init__(self, texts):
        self.texts, self.calls = texts, 0

    def __call__(self, picture):
        self.calls += 1
        return lines_of(self.texts.get(picture.image.size, "some text"))


@pytest.fixture(scope="module")
def drawn():
    """Files of one mean meme, its confounders and another meme: (name, kind, bytes)."""
    memes = plan_benchmark(160, seed=6)["train"]
    artist = BenchmarkArtist()
    mean = next(meme for meme in memes if any(other.parent == meme.id for other in memes))
    by_kind = {"mean": mean} | {other.kind: other for other in memes if other.parent == mean.id}
    by_kind["other"] = next(meme for meme in memes if meme.group != mean.group)
    return {kind: (meme, artist.png(meme)) for kind, meme in by_kind.items()}


@pytest.fixture
def folder(tmp_path, drawn):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for kind in ("mean", "benign text", "other"):
        (pictures / f"{kind}.png").write_bytes(drawn[kind][1])
    Image.open(io.BytesIO(drawn["mean"][1])).convert("RGB").resize((400, 400)).save(pictures / "mean-copy.jpg")
    Image.new("RGB", (99, 400)).save(pictures / "small.png")
    Image.effect_noise((222, 222), 50).save(pictures / "blank.png")
    (pictures / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and then nothing")
    (pictures / "notes.txt").write_text("no picture")
    return pictures


def table_of(folder, drawn):
    rows = [
        {"id": kind, "img": f"pictures/{kind}.png", "text": drawn[kind][0].words.text, "lang": "en"} for kind in drawn
    ]
    path = folder.parent / "memes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def steps(funnel):
    return {step["step"]: step["left"] for step in funnel}


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_funnel_counts_what_each_step_leaves(tmp_path, folder):
    reader = KnownText({(222, 222): ""})
    funnel = read_memes(folder, tmp_path / "out", read_lines=reader)
    assert [step["step"] for step in funnel] == ["read", "not broken", "large enough", "with text", "once"]
    assert list(steps(funnel).values()) == [7, 6, 5, 4, 3]
    assert json.loads((tmp_path / "out" / "funnel.json").read_text())["steps"] == funnel
    dropped = {row["name"]: row["dropped"] for row in rows_of(tmp_path / "out" / "dropped.jsonl")}
    assert {name: dropped[name] for name in ("broken.png", "small.png", "blank.png")} == {
        "broken.png": "broken",
        "small.png": "too small",
        "blank.png": "no text",
    }
    posts = rows_of(tmp_path / "out" / "posts.jsonl")
    assert {path.name for path in (tmp_path / "out" / "img").iterdir()} == {post["image"] for post in posts}


def test_one_picture_under_two_texts_is_two_memes_unless_text_is_ignored(tmp_path, folder, drawn):
    table = table_of(folder, {kind: drawn[kind] for kind in ("mean", "benign text", "other")})
    funnel = read_memes(table, tmp_path / "both")
    assert steps(funnel)["once"] == 3
    settings = ReadingSettings(ignore_text=True)
    band = [OcrLine("…", 1.0, (0, 0, 256, 64)), OcrLine("…", 1.0, (0, 190, 256, 256))]
    funnel = read_memes(table, tmp_path / "one", settings=settings, read_lines=lambda _: band)
    assert steps(funnel)["once"] == 2
    kept = {post["id"] for post in rows_of(tmp_path / "one" / "posts.jsonl")}
    assert kept == {"mean", "other"}


TEXTS_BESIDE = [
    ("Look how many people love you!", 1),
    ("look how many peop1e love you", 1),
    ("look how many people do not love you", 2),
    ("look how many people hate you", 2),
    ("look at this garden", 2),
]


@pytest.mark.parametrize(("other", "left"), TEXTS_BESIDE)
def test_near_pictures_are_duplicates_only_where_their_texts_are_alike(tmp_path, folder, other, left):
    table = tmp_path / "two.jsonl"
    texts = {"mean.png": "look how many people love you", "mean-copy.jpg": other}
    table.write_text("".join(json.dumps({"image": name, "text": text}) + "\n" for name, text in texts.items()))
    assert steps(read_memes(table, tmp_path / "out", images=folder))["once"] == left


def write_rows(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("picture", ["mean.png", "plain.png"])
def test_rows_that_share_a_picture_are_two_memes_where_their_texts_differ(tmp_path, folder, picture):
    Image.new("RGB", (300, 300), "white").save(folder / "plain.png")
    texts = ["look how many people love you", "look at this garden", "look at this garden!"]
    table = write_rows(
        tmp_path / "three.jsonl", *({"id": n, "image": picture, "text": text} for n, text in enumerate(texts))
    )
    read_memes(table, tmp_path / "out", images=folder)
    posts = rows_of(tmp_path / "out" / "posts.jsonl")
    assert [(post["id"], post["text"]) for post in posts] == [(0, texts[0]), (1, texts[1])]
    (dropped,) = rows_of(tmp_path / "out" / "dropped.jsonl")
    assert (dropped["id"], dropped["name"], dropped["dropped"]) == (2, picture, "duplicate")
    band = [OcrLine("…", 1.0, (0, 0, 256, 64))]
    alone = ReadingSettings(ignore_text=True)
    funnel = read_memes(table, tmp_path / "one", images=folder, settings=alone, read_lines=lambda _: band)
    assert steps(funnel)["once"] == 1


def test_memes_without_ids_on_one_picture_get_two(tmp_path, folder):
    rows = [{"image": "mean.png", "text": text} for text in ("look at this garden", "look how many people love you")]
    read_memes(write_rows(tmp_path / "two.jsonl", *rows), tmp_path / "out", images=folder)
    one, other = (post["id"] for post in rows_of(tmp_path / "out" / "posts.jsonl"))
    assert other == f"{one}-2"


SHARED_IDS = [
    ({"id": "a", "image": "mean.png", "text": "look at this garden"}, "text"),
    ({"id": "a", "image": "other.png", "text": "look how many people love you"}, "picture"),
]


@pytest.mark.parametrize(("row", "what"), SHARED_IDS)
def test_a_row_with_the_id_of_another_meme_is_an_error_that_names_it(tmp_path, folder, row, what):
    first = {"id": "a", "image": "mean.png", "text": "look how many people love you"}
    table = write_rows(tmp_path / "two.jsonl", first, row)
    with pytest.raises(UserError, match=f"row 2 has the id 'a' of row 1, but another {what}"):
        read_memes(table, tmp_path / "out", images=folder)
    assert not (tmp_path / "out").exists()


def test_a_table_keeps_its_columns_and_misses_are_dropped_by_name(tmp_path, folder, drawn):
    table = table_of(folder, drawn)
    with table.open("a") as file:
        file.write(json.dumps({"id": "gone", "img": "gone.png", "text": "x", "lang": "de"}) + "\n")
    read_memes(table, tmp_path / "out")
    posts = {post["id"]: post for post in rows_of(tmp_path / "out" / "posts.jsonl")}
    assert posts["mean"]["lang"] == "en"
    assert posts["mean"]["text"] == drawn["mean"][0].words.text
    dropped = {row["name"]: row for row in rows_of(tmp_path / "out" / "dropped.jsonl")}
    assert dropped["gone.png"]["dropped"] == "broken"
    assert "no such picture" in dropped["gone.png"]["why"]


class Stop(Exception):
    """The reader was stopped."""


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, drawn):
    pictures = tmp_path / "many"
    pictures.mkdir()
    for n in range(50):
        Image.effect_noise((150 + n, 150), 90).save(pictures / f"{n:02}.png")

    class StopsAt(KnownText):
        def __call__(self, picture):
            if picture.image.width == 195:
                raise Stop
            return super().__call__(picture)

    with pytest.raises(Stop):
        read_memes(pictures, tmp_path / "out", read_lines=StopsAt({}))
    assert not (tmp_path / "out").exists()
    second = KnownText({})
    funnel = read_memes(pictures, tmp_path / "out", read_lines=second)
    assert second.calls == 5, "nine parts of five were kept"
    assert funnel[0]["left"] == 50
    assert not (tmp_path / "out.parts").exists()


def test_the_shell_reads_text_by_ocr_and_a_project_takes_what_is_left(tmp_path, capsys):
    out, database = tmp_path / "out", f"sqlite:///{tmp_path / 'davy.db'}"
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name in ("cat.png", "spoons.png"):
        (pictures / name).write_bytes((DEMO / name).read_bytes())
    Image.linear_gradient("L").resize((300, 300)).save(pictures / "shade.png")
    assert run(["meme", "read", str(pictures), "--out", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "with text 1 2" in shown
    assert "once 0 2 162,000" in shown
    texts = {post["text"] for post in rows_of(out / "posts.jsonl")}
    assert "Friends at the door\nlay out the spoons" in texts
    posts, images = ["--posts", str(out / "posts.jsonl")], ["--images", str(out / "img")]
    assert run(["database", "create", "--database", database]) == 0
    assert run(["project", "create", "meme-construction", *posts, *images, "--database", database]) == 0
    assert "filter" in capsys.readouterr().out


WRONG = [({"near": 300}, "0 to 128"), ({"smallest": 0}, "1 or more")]


@pytest.mark.parametrize(("settings", "word"), WRONG)
def test_wrong_settings_are_refused(settings, word):
    with pytest.raises(UserError, match=word):
        ReadingSettings(**settings)


def test_a_source_without_pictures_is_refused_with_what_to_give(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="PNG, JPEG"):
        read_memes(tmp_path / "empty", tmp_path / "out")
    table = tmp_path / "t.jsonl"
    table.write_text('{"id": "1", "text": "x"}\n')
    with pytest.raises(UserError, match="column image"):
        read_memes(table, tmp_path / "out")
    table.write_text('{"id": "1", "img": "nowhere.png"}\n')
    with pytest.raises(UserError, match="--images"):
        read_memes(table, tmp_path / "out")
