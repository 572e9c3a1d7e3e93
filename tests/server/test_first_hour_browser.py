"""The first hour on a server that nobody has used, in a real Chromium: an empty folder and default settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from fresh_server import FreshServer, Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GOLD = "text,hate.gold\n" + "".join(
    f"{'bad grumblefop' if i % 2 else 'a lovely garden'} {i},{'hateful' if i % 2 else 'not hateful'}\n"
    for i in range(200)
)


@pytest.fixture
def fresh(tmp_path: Path):
    with fresh_server(tmp_path / "empty") as server:
        yield server


def odd_file(folder: Path, name: str, *, first: int = 0, n: int = 12) -> Path:
    """Write posts whose columns have to be chosen."""
    path = folder / name
    rows = "".join(f"{i};a line of post number {i} in the garden;x\n" for i in range(first, first + n))
    path.write_text("Nummer;Wortlaut;Art\n" + rows, encoding="utf-8")
    return path


def test_files_that_a_form_keeps_are_found_again_by_a_server_with_default_settings(
    browser, fresh: FreshServer, tmp_path: Path
):
    admin = Person(browser, fresh)
    page = admin.page
    admin.make_account(fresh.link, "Ada")
    page.goto("/projects/new?start=scheme:hate")
    page.locator("#title").fill("Pilot")
    page.locator("#name").fill("Not An Address")
    admin.button("Continue")
    page.locator(".fault").wait_for()  # the name is no address
    page.locator("#name").fill("pilot")
    admin.button("Continue")
    page.locator("#posts-upload").set_input_files(odd_file(tmp_path, "odd.csv"))
    admin.button("Continue")
    page.locator("#column-text").select_option("Wortlaut")
    page.locator("#column-id").select_option("Nummer")
    admin.button("Continue")
    page.locator("#roster").fill("eve nobody")
    admin.button("Make the project")
    page.locator(".fault").wait_for()  # there is no such role; the file stays
    page.locator("#roster").fill("")
    admin.button("Make the project")
    page.get_by_text("The project is ready.").wait_for()
    page.goto("/projects/pilot/phases/main/posts")
    page.locator("#posts-upload").set_input_files(odd_file(tmp_path, "more.csv", first=12, n=5))
    admin.button("Look at the file first")
    page.locator("#column-text").select_option("Wortlaut")
    page.locator("#column-id").select_option("Nummer")
    admin.button("Add them")
    page.goto("/projects/pilot")
    page.get_by_role("row", name="main").get_by_text("17", exact=True).wait_for()
    (tmp_path / "gold.csv").write_text(GOLD)
    page.goto("/projects/pilot/train")
    page.locator("#name").fill("kettle")
    page.get_by_text("A file instead of this project's answers").click()
    page.locator("#file").set_input_files(str(tmp_path / "gold.csv"))
    admin.button("Start training")
    page.get_by_text("Is one better?").wait_for()
    page.reload()
    admin.button("Use as detector")
    page.goto("/score")
    page.get_by_label("Detector", exact=True).select_option("kettle")
    page.get_by_label("Text", exact=True).fill("bad grumblefop")
    admin.button("Score", exact=True)
    page.get_by_text("Which words carried the answer").wait_for()
    assert admin.troubles == []
