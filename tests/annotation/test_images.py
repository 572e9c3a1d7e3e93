"""Pictures of a project: found by the names that posts use, kept once, noted with licence and credit, linked by key."""

from __future__ import annotations

import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import polars as pl
import pytest

from davy.annotation.labelling.store import items
from davy.annotation.project import images as pictures
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import images, phases, posts
from davy.core import UserError
from davy.image.image_folder import ImageFolder
from davy.store import open_store
from davy.store.backup import write_backup
from davy.store.restore import restore
from drawn_memes import draw, folder_of, zip_of

PLAN = b"{name: memes, title: Memes, preset: hateful-memes, phases: {rating: {answers: 2}}}"
NAMES = ("img/a.png", "b.png", "c")


def make_project(store, names=NAMES, name="memes"):
    """Make a project with a post for each picture."""
    frame = pl.DataFrame(
        {"id": [f"{name}-{n}" for n in range(len(names))], "text": ["words"] * len(names), "image": names}
    )
    plan = project_file.parse_plan(PLAN.replace(b"name: memes", f"name: {name}".encode()), "memes.yaml")
    with store.write() as db:
        return project_creation.create_project(db, plan, by="shell", posts_in=[frame]).project


def images_of(store, project="memes"):
    with store.read() as db:
        rows = items.of_phase(db, phases.by_name(db, project, "rating").id)
        return {posts.get(db, item.post).image for item in rows}


def add(store, files, project="memes", **options):
    with store.read() as db:
        wanted = pictures.missing_names(db, project)
    with pictures.storing_pictures(store, files, wanted, **options) as stored, store.write() as db:
        return pictures.add_pictures(db, project, stored, by="shell")


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))


@pytest.mark.parametrize("packed", [False, True])
def test_posts_get_the_keys_of_the_pictures_they_name(store, tmp_path, packed):
    files = {"img/a.png": draw(1), "deep/down/b.png": draw(2), "c.jpg": draw(3, format="JPEG"), "else.png": draw(4)}
    credits = b"name,licence,credit,source\nb.png,CC0,Ada,https://example.org\n"
    files["credits.csv"] = credits
    place = zip_of(tmp_path / "in.zip", files) if packed else folder_of(tmp_path / "in", files)
    source = pictures.pictures_in_zip(place, "in.zip") if packed else pictures.pictures_in_folder(place)
    make_project(store)
    assert images_of(store) == set(NAMES)
    assert add(store, source, credit=pictures.Credit("CC-BY-4.0", "Lin")) == 3
    with store.read() as db:
        kept = {it.name: it for it in images.of_project(db, "memes")}
        assert pictures.missing_names(db, "memes") == []
    assert set(kept) == set(NAMES)
    assert images_of(store) == {it.key for it in kept.values()}
    assert (kept["b.png"].licence, kept["b.png"].credit, kept["b.png"].source) == ("CC0", "Ada", "https://example.org")
    assert (kept["c"].licence, kept["c"].credit, kept["c"].source) == ("CC-BY-4.0", "Lin", None)
    assert (kept["c"].width, kept["c"].height, kept["c"].mime) == (320, 240, "image/png")


def test_what_is_missing_is_listed_and_nothing_is_kept(store, tmp_path):
    names = [f"m{n}.png" for n in range(8)]
    make_project(store, names)
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"m0.png": draw(0)}))
    with pytest.raises(UserError, match=r"7 of the 8 pictures .*'m1.png', .*'m5.png' and 2 more"):
        add(store, files)
    assert list(pictures.folder_of(store).keys()) == []
    assert add(store, files, later=True) == 1
    with store.read() as db:
        assert pictures.missing_names(db, "memes") == names[1:]


def test_a_picture_that_can_t_be_read_safely_leaves_nothing_behind(store, tmp_path):
    make_project(store, ("a.png", "b.png"))
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1), "b.png": b"<svg/>"}))
    with pytest.raises(UserError, match=r"b\.png.* is not a PNG, JPEG, WebP or GIF"):
        add(store, files)
    assert list(pictures.folder_of(store).keys()) == []
    with store.read() as db:
        assert images.of_project(db, "memes") == []


def test_two_projects_share_a_file_and_not_the_picture(store, tmp_path):
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1)}))
    for name in ("memes", "others"):
        make_project(store, ("a.png",), name)
    add(store, files)
    (key,) = pictures.folder_of(store).keys()
    with store.read() as db:
        assert images.find(db, "memes", key)
        assert images.find(db, "others", key) is None
        assert images.find(db, None, key) is None
    add(store, files, "others")
    with store.write() as db:
        assert images.withdraw(db, "memes", [key], by="shell") == set()
        assert images.find(db, "memes", key) is None
        assert images.find(db, "others", key)
        assert images.withdraw(db, "others", [key], by="shell") == {key}


class Refused(Exception):
    """Whatever makes an upload fail after its pictures were read."""


@contextmanager
def upload_under_way(store, files, names):
    """Keep pictures as an upload does that is refused in the end."""
    with suppress(Refused), pictures.storing_pictures(store, files, names):
        yield
        raise Refused


@pytest.mark.parametrize("first", ["mine", "theirs"])
def test_a_refused_upload_takes_no_picture_from_one_that_is_under_way(store, tmp_path, first):
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1)}))
    make_project(store, ("a.png",))
    theirs = upload_under_way(store, files, ["a.png"])
    if first == "theirs":
        theirs.__enter__()
    with pictures.storing_pictures(store, files, ["a.png"]) as mine:
        if first == "mine":
            theirs.__enter__()
        theirs.__exit__(None, None, None)
        with store.write() as db:
            pictures.add_pictures(db, "memes", mine, by="shell")
    (key,) = images_of(store)
    assert pictures.folder_of(store).find(key)
    assert pictures.folder_of(store).preview(key)


def test_an_upload_that_is_refused_leaves_what_another_noted_meanwhile(store, tmp_path):
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1), "b.png": draw(2)}))
    make_project(store, ("a.png",))
    with upload_under_way(store, files, ["a.png", "b.png"]):
        add(store, files)
        assert len(list(pictures.folder_of(store).keys())) == 2
    assert set(pictures.folder_of(store).keys()) == images_of(store)


@pytest.mark.postgres
def test_on_postgresql_a_file_waits_for_whoever_notes_it(postgres_url, tmp_path):
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1)}))
    with open_store(postgres_url, create=True) as store, ThreadPoolExecutor(1) as other:
        make_project(store, ("a.png",))
        folder = pictures.folder_of(store)

        def discard():
            with store.write() as db:
                pictures.discard_unused(db, folder, folder.keys())

        with pictures.storing_pictures(store, files, ["a.png"]) as stored, store.write() as db:
            pictures.add_pictures(db, "memes", stored, by="shell")
            removal = other.submit(discard)
            with pytest.raises(TimeoutError):
                removal.result(timeout=0.3)
        removal.result()
        assert set(folder.keys()) == images_of(store)


def test_a_withdrawn_picture_can_t_come_back(store, tmp_path):
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1)}))
    make_project(store, ("a.png",))
    add(store, files)
    (key,) = images_of(store)
    with store.write() as db:
        images.withdraw(db, "memes", [key], by="shell")
    with pytest.raises(UserError, match="withdrawn"), store.write() as db:
        images.add(db, "memes", [images.StoredImage(key, "a.png", 1, 1, 1, "image/png")], by="shell")


def test_names_that_two_files_could_mean_are_missing(tmp_path):
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"x/1.png": draw(1), "y/1.png": draw(2)}))
    assert files.matches(["1.png", "x/1.png", "1"]) == {"1.png": None, "x/1.png": "x/1.png", "1": None}


def test_a_later_file_of_posts_may_name_pictures_that_are_there(store, tmp_path):
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1)}))
    project = make_project(store, ("a.png",))
    add(store, files)
    frame = pl.DataFrame({"id": ["memes-0", "q1"], "text": ["words", "more"], "image": ["a.png", "a.png"]})
    with store.write() as db:
        phase = phases.by_name(db, "memes", "rating")
        scheme = project_creation._scheme(db, project.scheme, None, by="shell")
        project_creation.add_posts(db, project, phase, frame.tail(1), scheme, by="shell")
    assert len(images_of(store)) == 1


@pytest.mark.postgres
def test_without_a_place_for_pictures_the_error_says_what_to_set(postgres_url, monkeypatch):
    monkeypatch.delenv("DAVY_IMAGES")
    with open_store(postgres_url, create=True) as store, pytest.raises(UserError, match="DAVY_IMAGES"):
        pictures.folder_of(store)


def test_pictures_are_in_a_backup_and_come_back_with_it(store, tmp_path):
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1), "b.png": draw(2)}))
    make_project(store, ("a.png", "b.png"))
    add(store, files)
    kept = pictures.folder_of(store)
    lost, held = sorted(kept.keys())
    kept.remove(lost)
    made = write_backup(store, tmp_path / "b.davy", images=kept)
    assert (made.images, made.missing_images) == (1, 1)
    target = ImageFolder(tmp_path / "elsewhere")
    url = f"sqlite:///{tmp_path / 'new.sqlite'}"
    with pytest.raises(UserError, match="DAVY_IMAGES"):
        restore(tmp_path / "b.davy", url)
    back, _ = restore(tmp_path / "b.davy", url, images=target)
    assert (back.images, list(target.keys())) == (1, [held])
    assert target.find(held).read_bytes() == kept.find(held).read_bytes()
    assert target.preview(held) is not None
    with open_store(url) as other, other.read() as db:
        assert {it.key for it in images.of_project(db, "memes")} == {lost, held}


@pytest.mark.parametrize(
    ("name", "data"), [("0" * 64, b"\x89PNG\r\n\x1a\nnot it"), ("../evil", b"x"), ("x" * 64, b"x")]
)
def test_a_backup_with_a_picture_that_is_not_what_it_says_is_refused(store, tmp_path, name, data):
    write_backup(store, tmp_path / "b.davy", images=pictures.folder_of(store))
    with zipfile.ZipFile(tmp_path / "b.davy") as old, zipfile.ZipFile(tmp_path / "evil.davy", "w") as new:
        for member in old.namelist():
            content = old.read(member)
            if member == "manifest.json":
                content = content.replace(b'"files": 0', b'"files": 1')
            new.writestr(member, content)
        new.writestr(f"images/{name}", data)
    target = ImageFolder(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"can't be restored|damaged"):
        restore(tmp_path / "evil.davy", f"sqlite:///{tmp_path / 'new.sqlite'}", images=target)
    assert list(target.keys()) == []
    assert not (tmp_path / "new.sqlite").exists()
