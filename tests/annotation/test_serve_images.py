"""Pictures on the web: members see a blurred one until they ask, outsiders see none, managers add what is missing."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import polars as pl
import pytest
from PIL import Image

from davy.annotation.project import images as pictures
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import images, members
from davy.people.store import users
from davy.store import events
from drawn_memes import draw, zip_of
from web_site import Site, token_in

PLAN = b"{name: memes, title: Memes, preset: hateful-memes, phases: {rating: {answers: 2}}}"


@pytest.fixture
def project(site: Site) -> Any:
    """A project whose three posts name pictures that are not here yet; its manager is the site's expert."""
    frame = pl.DataFrame({"id": list("abc"), "text": ["one", "two", ""], "image": ["a.png", "b.png", "c.png"]})
    with site.store.write() as db:
        plan = project_file.parse_plan(PLAN, "memes.yaml")
        made = project_creation.create_project(db, plan, by=site.people["expert"].id, posts_in=[frame]).project
        members.add(db, "memes", site.people["annotator"].id, ["annotator"], by=events.SHELL)
    return made


def upload(client: Any, names: dict[str, bytes], **fields: str) -> Any:
    token = token_in(client.get("/projects/memes/images").text)
    files = [("pictures", (name, data)) for name, data in names.items()]
    return client.post("/projects/memes/images/upload", data={"csrf": token, **fields}, files=files)


def key_of(site: Site, name: str) -> str:
    with site.store.read() as db:
        return next(it.key for it in images.of_project(db, "memes") if it.name == name)


def test_a_manager_adds_pictures_and_sees_which_are_missing(site, project, tmp_path):
    manager = site.as_("expert")
    assert "Posts name 3 more that are not here yet." in manager.get("/projects/memes/images").text
    packed = zip_of(tmp_path / "some.zip", {"deep/a.png": draw(1), "unasked.png": draw(9)}).read_bytes()
    done = upload(manager, {"some.zip": packed, "b.jpg": draw(2, format="JPEG")}, picture_licence="CC0")
    assert done.status_code == 303
    page = manager.get("/projects/memes/images").text
    assert "There are 2 pictures." in page
    assert "<code>c.png</code>" in page
    with site.store.read() as db:
        assert {(it.name, it.licence) for it in images.of_project(db, "memes")} == {("a.png", "CC0"), ("b.png", "CC0")}
    assert upload(manager, {"c.png": draw(3)}).status_code == 303
    assert "All that posts name are here." in manager.get("/projects/memes/images").text


@pytest.mark.parametrize(
    ("names", "status", "says"),
    [
        ({"z.png": draw(1)}, 422, "None of these pictures is named"),
        ({"a.png": b"<svg onload=alert(1)>"}, 415, "expected image or zip"),
        ({"a.png": draw(1)[:200]}, 422, "damaged or cut short"),
        ({}, 422, "No file was chosen"),
    ],
)
def test_what_can_t_be_used_is_refused_and_nothing_is_kept(site, project, names, status, says):
    answer = upload(site.as_("expert"), names)
    assert (answer.status_code, says in answer.text) == (status, True)
    assert list(pictures.folder_of(site.store).keys()) == []


def test_a_member_gets_a_grey_blurred_preview_until_they_ask_for_the_sharp_one(site, project):
    upload(site.as_("expert"), {"a.png": draw(1)})
    address = f"/projects/memes/images/{key_of(site, 'a.png')}"
    client = site.as_("annotator")
    preview, sharp = client.get(address), client.get(f"{address}?sharp=1")
    assert (preview.headers["content-type"], sharp.headers["content-type"]) == ("image/jpeg", "image/png")
    assert sharp.headers["cache-control"].startswith("private")
    red, _, blue = Image.open(io.BytesIO(preview.content)).convert("RGB").getpixel((10, 10))
    assert abs(red - blue) < 12
    assert Image.open(io.BytesIO(sharp.content)).getpixel((10, 10)) == (0x2E, 0x6D, 0xB5)
    with site.store.write() as db:
        members.choose(db, "memes", site.people["annotator"].id, pictures="blurred")
    red, _, blue = Image.open(io.BytesIO(client.get(address).content)).convert("RGB").getpixel((10, 10))
    assert blue - red > 60


def test_an_outsider_gets_404_for_pictures_whether_they_exist_or_not(site, project):
    upload(site.as_("expert"), {"a.png": draw(1)})
    key = key_of(site, "a.png")
    with site.store.write() as db:
        site.people["stranger"] = users.add(db, login="stranger", name="S", role="expert", by=events.SHELL)
    stranger = site.as_("stranger")
    for address in (f"/projects/memes/images/{key}", f"/projects/none/images/{key}", f"/images/{key}"):
        for ask in ("", "?sharp=1"):
            assert stranger.get(address + ask).status_code == 404
    assert site.visitor().get(f"/projects/memes/images/{key}").status_code == 303
    member = site.as_("annotator")
    for odd in ("0" * 64, "a.png", "..%2f..%2fdavy.sqlite", key.upper(), f"{key}.png"):
        assert member.get(f"/projects/memes/images/{odd}").status_code == 404


def test_the_pages_send_previews_and_say_what_is_missing(site, project):
    upload(site.as_("expert"), {"a.png": draw(1), "b.png": draw(2)})
    with site.store.write() as db:
        from davy.annotation.project.store import phases

        members.consent(db, "memes", site.people["annotator"].id)
        phases.open_phase(db, phases.by_name(db, "memes", "rating").id, by="shell")
    client = site.as_("annotator")
    seen = client.get("/projects/memes/label", follow_redirects=True).text
    assert 'src="/projects/memes/images/' in seen or "is not here yet." in seen
    assert '?sharp=1" alt' not in seen


def test_a_project_is_made_in_the_browser_with_its_pictures(site, tmp_path):
    manager = site.as_("expert")
    token = token_in(manager.get("/projects/new?start=preset:hateful-memes").text)
    posts_file = b"id,text,image\n1,one,a.png\n2,two,b.png\n"
    fields = {"csrf": token, "start": "preset:hateful-memes", "title": "Memes", "name": "memes", "posts": "file"}

    def send(names: dict[str, bytes]) -> Any:
        files = [("file", ("memes.csv", posts_file)), *(("pictures", (name, data)) for name, data in names.items())]
        return manager.post("/projects/new/upload", data={**fields, "roster": ""}, files=files)

    lacking = send({"a.png": draw(1)})
    assert lacking.status_code == 422
    assert "1 of the 2 pictures that posts name are not in a.png: &#39;b.png&#39;" in lacking.text
    assert list(pictures.folder_of(site.store).keys()) == []
    assert send({"a.png": draw(1), "b.png": draw(2)}).status_code == 303
    with site.store.read() as db:
        assert images.count(db, "memes") == 2
        assert pictures.missing_names(db, "memes") == []


def test_a_manager_downloads_all_pictures_with_their_credits(site, project):
    manager = site.as_("expert")
    assert manager.get("/projects/memes/images.zip").status_code == 404
    upload(manager, {"a.png": draw(1), "b.png": draw(2)}, picture_licence="CC0")
    answer = manager.get("/projects/memes/images.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert len(archive.namelist()) == 3
        assert b",CC0," in archive.read("credits.csv")
    assert site.as_("annotator").get("/projects/memes/images.zip").status_code == 403


def test_a_picture_whose_file_is_gone_is_named_before_the_zip_begins(site, project):
    manager = site.as_("expert")
    upload(manager, {"a.png": draw(1), "b.png": draw(2)})
    pictures.folder_of(site.store).remove(key_of(site, "b.png"))
    answer = manager.get("/projects/memes/images.zip")
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (409, "text/html")
    assert "The file of picture &#39;b.png&#39; is gone" in answer.text
