"""Memes in a real Chromium: a project with uploaded pictures, labelled by two; the network log says what is sent."""

from __future__ import annotations

import polars as pl
import pytest

from browser_tab import PHONE, fits, open_tab
from davy.annotation.labelling.store import items
from davy.annotation.project import images as pictures
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import members, phases
from drawn_memes import draw, folder_of, zip_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def pictures_asked(page) -> list[str]:
    """Return a list that grows with every picture that the page fetches."""
    asked: list[str] = []
    page.on("request", lambda it: asked.append(it.url) if "/images/" in it.url else None)
    return asked


def test_memes_are_uploaded_and_labelled_and_the_sharp_picture_comes_only_after_the_click(browser, live, tmp_path):
    troubles: list[str] = []
    rows = "".join(f'{n},"a lamp, number {n}",img/{n}.png\n' for n in range(3))
    (tmp_path / "memes.csv").write_text(f"id,text,image\n{rows}")
    packed = zip_of(tmp_path / "pictures.zip", {f"img/{n}.png": draw(n) for n in range(3)})
    manager = open_tab(browser, live, troubles, "expert")
    manager.goto("/projects/new?start=preset:hateful-memes")
    manager.get_by_label("Title").fill("Memes")
    manager.get_by_role("button", name="Continue").click()
    manager.get_by_label("File with posts").set_input_files(tmp_path / "memes.csv")
    manager.get_by_label("Pictures", exact=True).set_input_files(packed)
    manager.get_by_label("Licence of the pictures").fill("CC0")
    manager.get_by_role("button", name="Continue").click()
    manager.get_by_text("3 rows").wait_for()
    manager.get_by_role("button", name="Continue").click()
    manager.get_by_role("button", name="Make the project").click()
    manager.get_by_text("The project is ready.").wait_for()
    manager.get_by_role("link", name="Settings").click()
    manager.get_by_role("link", name="Pictures").click()
    manager.get_by_text("There are 3 pictures. All that posts name are here.").wait_for()

    with live.site.store.write() as db:
        for role in ("annotator", "admin"):
            members.add(db, "memes", live.site.people[role].id, ["annotator"], by="shell")
            members.consent(db, "memes", live.site.people[role].id)
        phases.open_phase(db, phases.by_name(db, "memes", "rating").id, by="shell")

    for role, options in (("annotator", {}), ("admin", {"viewport": PHONE, "color_scheme": "dark"})):
        page = open_tab(browser, live, troubles, role, **options)
        asked = pictures_asked(page)
        page.goto("/projects/memes/label")
        for number in range(1, 4):
            page.locator("#where").get_by_text(f"{number} of 3").wait_for()
            assert page.locator("#post img").evaluate("it => it.decode().then(() => it.naturalWidth)") == 320
            assert [it.endswith("?sharp=1") for it in asked] == [False]
            if number == 1:
                page.get_by_label("Show the picture").check()
            elif number == 2:
                page.keyboard.press("v")
            if number < 3:
                page.locator('#post img[src$="?sharp=1"]').evaluate("it => it.decode()")
                assert [it.endswith("?sharp=1") for it in asked] == [False, True]
            assert fits(page)
            asked.clear()
            page.get_by_label("Definitely not hateful").check()
            page.get_by_role("button", name="Save").click()
        page.get_by_text("You have answered everything here").wait_for()
    with live.site.store.read() as db:
        rows = items.of_phase(db, phases.by_name(db, "memes", "rating").id)
    assert [row.given for row in rows] == [2, 2, 2]
    assert troubles == []


def test_without_scripts_the_sharp_picture_opens_in_a_new_tab(browser, live, tmp_path):
    troubles: list[str] = []
    with live.site.store.write() as db:
        frame = pl.DataFrame({"id": ["1"], "text": ["a lamp"], "image": ["a.png"]})
        plan = project_file.parse_plan(b"{name: memes, title: Memes, preset: hateful-memes}", "memes.yaml")
        project_creation.create_project(db, plan, by="shell", posts_in=[frame])
        members.add(db, "memes", live.site.people["annotator"].id, ["annotator"], by="shell")
        members.consent(db, "memes", live.site.people["annotator"].id)
        phases.open_phase(db, phases.by_name(db, "memes", "rating").id, by="shell")
    files = pictures.pictures_in_folder(folder_of(tmp_path / "in", {"a.png": draw(1)}))
    with pictures.storing_pictures(live.site.store, files, ["a.png"]) as stored, live.site.store.write() as db:
        pictures.add_pictures(db, "memes", stored, by="shell")
    page = open_tab(browser, live, troubles, "annotator", java_script_enabled=False)
    asked = pictures_asked(page)
    page.goto("/projects/memes/label")
    page.get_by_role("link", name="Show the picture in a new tab").wait_for()
    assert [it.endswith("?sharp=1") for it in asked] == [False]
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Show the picture in a new tab").click()
    assert opened.value.url.endswith("?sharp=1")
    assert troubles == []
