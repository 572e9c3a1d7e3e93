"""Pictures go with a project: given in the shell, exported with their credits, imported elsewhere, withdrawn."""

from __future__ import annotations

import csv
import json

import pytest

from davy.annotation.project import images as pictures
from davy.annotation.project.store import images, post_pages
from davy.shell.app import run
from davy.store import open_store
from drawn_memes import draw, folder_of

CREDITS = b'name,licence,credit,source\na.png,CC0-1.0,"=1+1 Ada",https://example.org\n'


@pytest.fixture
def memes(tmp_path, monkeypatch):
    """A project `memes` of three posts with two pictures, and a project `others` that is empty; the database's URL."""
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    monkeypatch.setenv("DAVY_DATABASE", url)
    folder_of(tmp_path / "img", {"a.png": draw(1), "b.jpg": draw(2, format="JPEG"), "credits.csv": CREDITS})
    rows = "".join(f"{n},words {n},{name}\n" for n, name in enumerate(("a.png", "b.png", "a.png")))
    (tmp_path / "memes.csv").write_text(f"id,text,image\n{rows}")
    assert run(["database", "create"]) == 0
    make = ["project", "create", "hateful-memes", "--name"]
    given = ["--posts", "memes.csv", "--images", "img", "--licence", "CC-BY-4.0", "--credit", "Lin"]
    assert run([*make, "memes", *given]) == 0
    assert run([*make, "others"]) == 0
    return url


def stored(url: str, project: str) -> list[images.StoredImage]:
    with open_store(url) as store, store.read() as db:
        return images.of_project(db, project)


def test_an_export_has_the_pictures_and_their_credits_and_comes_back_the_same(memes, tmp_path, capsys):
    assert run(["project", "export", "memes", "--phase", "all", "--out", "out.json", "--exchange-format",
                "label-studio", "--images-out", "pictures"]) == 0  # fmt: skip
    keys = {it.key for it in stored(memes, "memes")}
    assert {it.name for it in (tmp_path / "pictures").iterdir()} == {*(f"{key}.png" for key in keys), "credits.csv"}
    with (tmp_path / "pictures/credits.csv").open() as file:
        table = {row["file"]: row for row in csv.DictReader(file)}
    assert (table["a.png"]["licence"], table["a.png"]["credit"]) == ("CC0-1.0", "'=1+1 Ada")
    assert (table["b.png"]["licence"], table["b.png"]["credit"]) == ("CC-BY-4.0", "Lin")
    assert run(["project", "export", "memes", "--phase", "all", "--out", "2.json", "--exchange-format", "label-studio",
                "--images-out", "pictures"]) == 2  # fmt: skip
    capsys.readouterr()
    assert run(["project", "import", "others", "out.json", "--exchange-format", "label-studio", "--images", "pictures",
                "--phase", "rating", "--json"]) == 0  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    assert (told["posts"], told["images"], told["missing_images"]) == (3, 2, 0)
    ours = {it.key: (it.licence, it.credit, it.source) for it in stored(memes, "others")}
    assert ours == {it.key: (it.licence, it.credit, it.source) for it in stored(memes, "memes")}
    assert ("CC0-1.0", "=1+1 Ada", "https://example.org") in ours.values()


def test_a_picture_that_a_post_names_and_nobody_gave_is_said_by_name(memes, tmp_path, capsys):
    (tmp_path / "img/a.png").unlink()
    make = ["project", "create", "hateful-memes", "--name", "third", "--posts", "memes.csv", "--images", "img"]
    assert run(make) == 2
    assert "1 of the 2 pictures that posts name are not in img: 'a.png'" in capsys.readouterr().err
    assert run(make[:-2]) == 0
    capsys.readouterr()
    assert run(["project", "images", "third", "img", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"project": "third", "added": 1, "missing": ["a.png"]}


def test_a_withdrawn_post_takes_its_picture_along_unless_others_name_it(memes, tmp_path):
    with open_store(memes) as store, store.read() as db:
        folder = pictures.folder_of(store)
        of_post = {it.id: it.image for it in post_pages.page(db, "memes", post_pages.PostFilter(), with_verdicts=False)}
    assert of_post["0"] == of_post["2"] != of_post["1"]
    assert folder.preview(of_post["1"])
    assert run(["collect", "withdraw", "0", "1"]) == 0
    assert folder.find(of_post["0"])
    assert [it for it in folder.path.rglob("*") if it.is_file() and it.name.startswith(of_post["1"])] == []
    assert [it.key for it in stored(memes, "memes")] == [of_post["0"]]
    assert run(["collect", "withdraw", "2"]) == 0
    assert list(folder.keys()) == stored(memes, "memes") == []
