"""Bad pictures through the web's doors: uploads to a project, pictures that programs send; missing pictures."""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from PIL import Image

from bad_pictures import HANDLED, PLACE, REFUSED, encoded, meme
from davy.annotation.project import images as pictures
from davy.annotation.project import phase_gates, project_creation, project_file
from davy.annotation.project.store import images, members, phases, projects
from davy.core import UserError
from davy.scoring.queue import pictures as sent_pictures
from davy.store import events
from web_site import Site, make_site, token_in

PLAN = b"{name: memes, title: Memes, preset: hateful-memes, phases: {rating: {answers: 1}}}"


@pytest.fixture
def project(site: Site) -> Any:
    """A project whose post names a picture that is not here yet; its manager is the site's expert."""
    frame = pl.DataFrame({"id": ["a"], "text": ["one"], "image": ["a.png"]})
    with site.store.write() as db:
        plan = project_file.parse_plan(PLAN, "memes.yaml")
        made = project_creation.create_project(db, plan, by=site.people["expert"].id, posts_in=[frame]).project
        members.add(db, "memes", site.people["annotator"].id, ["annotator"], by=events.SHELL)
    return made


def upload(site: Site, data: bytes) -> Any:
    client = site.as_("expert")
    token = token_in(client.get("/projects/memes/images").text)
    return client.post("/projects/memes/images/upload", data={"csrf": token}, files=[("pictures", ("a.png", data))])


@pytest.mark.parametrize("name", REFUSED)
def test_an_upload_that_is_no_picture_is_refused_in_one_line_and_nothing_is_kept(site, project, name):
    data, word = REFUSED[name]
    answer = upload(site, data)
    assert answer.status_code in (413, 415, 422)
    assert word in answer.text or "expected image or zip" in answer.text
    assert "Traceback" not in answer.text
    assert list(pictures.folder_of(site.store).keys()) == []


@pytest.mark.parametrize("name", HANDLED)
def test_an_upload_is_written_afresh_and_never_served_as_it_came(site, project, name):
    assert upload(site, HANDLED[name] + b"<script>" + PLACE).status_code == 303
    with site.store.read() as db:
        (stored,) = images.of_project(db, "memes")
    client = site.as_("expert")
    for ask in ("", "?sharp=1"):
        served = client.get(f"/projects/memes/images/{stored.key}{ask}")
        assert served.status_code == 200
        assert PLACE not in served.content, "neither from EXIF nor from what hung on the file's end"
        with Image.open(io.BytesIO(served.content)) as image:
            assert not image.getexif()
            assert getattr(image, "n_frames", 1) == 1
    assert PLACE not in pictures.folder_of(site.store).find(stored.key).read_bytes()


def test_a_phase_does_not_open_while_pictures_are_missing_unless_a_reason_is_given(site, project):
    def rating(db: Any) -> Any:
        return phases.by_name(db, "memes", "rating")

    with site.store.write() as db, pytest.raises(phase_gates.PhaseNotReady, match=r"picture that is not here: a\.png"):
        phase_gates.open_phase(db, projects.get(db, "memes"), rating(db), by=events.SHELL)
    assert upload(site, encoded(meme(), "PNG")).status_code == 303
    with site.store.write() as db:
        assert phase_gates.open_phase(db, projects.get(db, "memes"), rating(db), by=events.SHELL).state == "open"


def test_a_program_that_sends_what_is_no_picture_is_told_so(settings, empty_database):
    pytest.importorskip("rapidocr")
    reads = replace(settings, model=f"ocr:{settings.model}")
    with make_site(reads, empty_database).started() as site:
        client = site.as_("expert")
        token = {"x-csrf-token": token_in(client.get("/score").text)}
        for data, word in REFUSED.values():
            posts = [{"text": "x", "image": base64.b64encode(data).decode()}]
            answer = client.post("/v1/score", json={"posts": posts}, headers=token)
            assert answer.status_code in (413, 415, 422)
            assert word in answer.text


def base64_of(image: Image.Image) -> str:
    return base64.b64encode(encoded(image, "PNG")).decode()


def test_pictures_of_one_request_that_unpack_to_too_much_are_refused_before_any_is_decoded(monkeypatch):
    def read_picture(*_: object, **__: object) -> None:
        raise AssertionError("nothing should be decoded")

    monkeypatch.setattr(sent_pictures, "read_picture", read_picture)
    large = base64_of(Image.new("1", (5_000, 4_000)))
    assert len(large) < 4_000
    with pytest.raises(UserError, match=r"have 60 million pixels together; at most 40 million\. Send fewer") as caught:
        sent_pictures.decode_pictures([large, None, large, large])
    assert caught.value.status == 413


def test_a_hundred_memes_in_one_request_are_decoded_in_their_places():
    small, other = base64_of(meme()), base64_of(meme((632, 632)))
    found = sent_pictures.decode_pictures([None, small, "", *[other] * 97])
    assert [picture and picture.image.size for picture in found] == [None, (320, 240), None, *[(632, 632)] * 97]


def test_a_program_is_told_that_its_pictures_are_too_large_together(settings, empty_database):
    pytest.importorskip("rapidocr")
    reads = replace(settings, model=f"ocr:{settings.model}")
    posts = [{"text": "x", "image": base64_of(Image.new("1", (5_000, 4_000)))}] * 3
    with make_site(reads, empty_database).started() as site:
        client = site.as_("expert")
        token = {"x-csrf-token": token_in(client.get("/score").text)}
        answer = client.post("/v1/score", json={"posts": posts}, headers=token)
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("The pictures of this request have 60 million pixels together")
