"""Without a shell, in Chromium: a scheme is written, tried, and used with an Excel file and a zip of pictures."""

from __future__ import annotations

import zipfile
from typing import Any

import pytest
from playwright.sync_api import expect

from browser_tab import PHONE, fits, open_tab
from davy import schemes as shipped
from davy.annotation.project.store import images, phases, posts, projects
from davy.schemes.store import schemes
from drawn_memes import draw
from excel_file import excel_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def write_scheme(page: Any) -> str:
    """Write a scheme of two questions and return its address."""
    page.goto("/schemes")
    page.get_by_label("Title").fill("Farm memes")
    page.get_by_role("button", name="Make the scheme").click()
    page.get_by_label("New question").fill("Is it against farmers?")
    page.get_by_role("button", name="Add the question").click()
    page.wait_for_load_state()  # rows are moved and added by a script
    for row, (code, title) in enumerate((("2", "Against"), ("1", "Not against"))):
        page.locator(f'[name="label.{row}.code"]').fill(code)
        page.locator(f'[name="label.{row}.title.en"]').fill(title)
    page.locator('#label-1 [data-move="-1"]').click()
    page.get_by_role("button", name="Another label").click()
    page.locator('[name="label.2.title.en"]').fill("Can't tell")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("New question").fill("What does it say?")
    page.get_by_role("button", name="Add the question").click()
    page.wait_for_load_state()  # rows are moved and added by a script
    expect(page.get_by_label("against", exact=True)).to_be_hidden()
    page.get_by_label("When is it asked?").select_option("is-it-against-farmers")
    page.get_by_label("against", exact=True).check()
    for row, title in enumerate(("Insult", "Threat")):
        page.locator(f'[name="label.{row}.title.en"]').fill(title)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("ready", exact=True).wait_for()
    return str(page.url)


def test_a_scheme_an_excel_file_and_pictures_become_a_project(browser, live, tmp_path):
    troubles: list[str] = []
    page = open_tab(browser, live, troubles, "expert")
    address = write_scheme(page)

    page.get_by_role("link", name="Preview").click()
    page.locator("#answer kbd", has_text="2").first.wait_for()  # the keys are there
    page.keyboard.press("2")
    page.get_by_text("What does it say?").first.wait_for()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    said = page.get_by_role("status").filter(has_text="This would be saved").inner_text()
    assert "2 Against" in said
    assert "Insult" in said

    (tmp_path / "memes.xlsx").write_bytes(excel_file([("Datei", "Quelle"), ("a.png", "x"), ("b.png", "y")]))
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        for number, name in enumerate(("a", "b")):
            archive.writestr(f"{name}.png", draw(number))
    page.goto(address)
    page.get_by_role("link", name="Use it in a new project").click()
    page.get_by_label("Title").fill("Farm")
    page.get_by_label("Address").fill("farm")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("File with posts").set_input_files(tmp_path / "memes.xlsx")
    page.locator("summary", has_text="Pictures").click()
    page.locator("#pictures").set_input_files(tmp_path / "m.zip")
    page.get_by_role("button", name="Continue").click()
    assert page.get_by_label("Column for picture").input_value() == "Datei"
    page.set_viewport_size(PHONE)
    assert fits(page)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Make the project").click()
    page.get_by_text("The project is ready.").wait_for()
    with live.site.store.read() as db:
        project = projects.get(db, "farm")
        asked = shipped.parse(schemes.get(db, project.scheme, project.scheme_version).yaml)
        assert phases.by_name(db, "farm", "main").size == 2
        assert images.count(db, "farm") == 2
        assert next(posts.frames(db, project="farm"))["text"].to_list() == ["", ""]
    assert asked.questions[0].label_names == ("not against", "against", "can't tell")
    assert asked.questions[1].under == ("is-it-against-farmers", ("against",))
    for path in (
        "/schemes",
        address,
        f"{address}/questions/1",
        f"{address}/preview",
        "/projects/farm/phases/main/posts",
    ):
        page.goto(path)
        assert fits(page), path
    assert troubles == []


def test_a_file_that_is_too_large_is_said_before_it_is_sent(browser, live, tmp_path):
    page = open_tab(browser, live, [], "expert")
    page.goto("/projects/new?start=scheme:hate")
    page.get_by_label("Title").fill("Kept")
    page.get_by_role("button", name="Continue").click()
    (tmp_path / "big.csv").write_bytes(b"x" * 53_000_000)
    page.get_by_label("File with posts").set_input_files(tmp_path / "big.csv")
    page.get_by_text("That is more than 52 MB together.").wait_for()
    page.get_by_role("button", name="Continue").click()
    assert page.locator('input[name="title"]').input_value() == "Kept"
    assert page.locator('input[name="step"]').input_value() == "posts"
