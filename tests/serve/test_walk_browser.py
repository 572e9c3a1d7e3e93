"""One person without a shell, from questions of their own to labelled posts, in a real Chromium.

They write a scheme, bring an Excel file and a zip of pictures and invite two people, who label by keys and differ
on two posts. Every step is a page.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from test_projects_browser import tab

from davy.store import phase_answers
from drawn_memes import draw
from excel_file import excel_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESKTOP = {"width": 1280, "height": 900}
UNKIND = "what a grumblefop"
POSTS = [f"{UNKIND if place % 2 else 'a lovely garden'} at number {place}" for place in range(20)]
SLOWEST = 20_000
DIVIDED = (4, 9)
"""Posts on which the two disagree."""


def write_files(folder: Path) -> tuple[Path, Path]:
    """Write the posts as Excel, the last two with a picture each, and the pictures as a zip."""
    pictures = {len(POSTS) - 2: "one.png", len(POSTS) - 1: "two.png"}
    rows = [["nr", "what they wrote", "picture"]]
    rows += [[str(place), text, pictures.get(place, "")] for place, text in enumerate(POSTS)]
    table, packed = folder / "posts.xlsx", folder / "pictures.zip"
    table.write_bytes(excel_file(rows))
    with zipfile.ZipFile(packed, "w") as file:
        for number, name in enumerate(pictures.values()):
            file.writestr(f"pictures/{name}", draw(number))
    return table, packed


def write_scheme(page: Any) -> None:
    page.goto("/schemes")
    page.locator("#title").fill("Street talk")
    page.get_by_role("button", name="Make the scheme").click()
    page.locator("#new-question").fill("Is it unkind?")
    page.get_by_role("button", name="Add the question").click()
    page.locator('[name="label.0.title.en"]').fill("Kind")
    page.locator('[name="label.1.title.en"]').fill("Unkind")
    page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    page.locator('[name="label.1.yes"]').check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("h1 .tag.good").wait_for()


def make_project(page: Any, table: Path, pictures: Path) -> None:
    """Use the scheme; the workbook's columns are chosen once its first rows are seen."""
    page.get_by_role("link", name="Use it in a new project").click()
    page.get_by_label("Title").fill("Street talk")
    page.get_by_label("Name in addresses").fill("street")
    page.locator('input[name="file"]').set_input_files(table)
    page.get_by_text("Pictures that the posts name").click()
    page.locator("#pictures").set_input_files(pictures)
    page.locator('[name="answers"]').fill("2")
    page.get_by_role("button", name="Make the project").click()
    page.get_by_text("what they wrote").first.wait_for()
    page.locator('[name="column.text"]').select_option("what they wrote")
    page.locator('[name="column.id"]').select_option("nr")
    page.locator('[name="column.image"]').select_option("picture")
    page.get_by_role("button", name="Make the project").click()
    page.get_by_text("The project is ready.").wait_for()


def invite(owner: Any, browser: Any, live: Any, troubles: list[str], name: str) -> Any:
    """Make a link on the roster's page, and an account by it in a browser of its own."""
    owner.goto("/projects/street/roster")
    owner.get_by_role("button", name="Invite", exact=True).click()
    guest = tab(browser, live, troubles, viewport=DESKTOP)
    guest.set_default_timeout(SLOWEST)
    guest.goto(owner.locator("#invitation-link").inner_text())
    guest.get_by_label("Your name").fill(name)
    guest.get_by_label("Login").fill(name.lower())
    guest.get_by_label("Password", exact=True).fill("four bright wicks")
    guest.get_by_label("Password again").fill("four bright wicks")
    guest.get_by_role("button", name="Make the account").click()
    guest.get_by_role("button", name="Sign out").first.wait_for()
    return guest


def agree(page: Any) -> None:
    """Take part, as whoever reads the posts is asked to."""
    page.goto("/projects/street/consent")
    page.locator("#agree").check()
    page.locator("form.card button.primary").click()
    page.locator("#agree").wait_for(state="detached")


def label_all(page: Any, *, otherwise: tuple[int, ...] = ()) -> int:
    """Agree to take part and label every post by keys: unkind where its words are, but for some."""
    agree(page)
    page.goto("/projects/street/label")
    page.locator("#answer").wait_for()
    done = 0
    while page.locator("#answer").count():
        path, text = page.locator("#sheet").get_attribute("data-path"), page.locator("#post").inner_text()
        number = re.search(r"number (\d+)", text)
        assert number, text
        unkind = (UNKIND in text) != (int(number[1]) in otherwise)
        page.keyboard.press("2" if unkind else "1")
        page.keyboard.press("Enter")
        page.wait_for_function("was => document.querySelector('#sheet')?.dataset.path !== was", arg=path)
        done += 1
    return done


def test_a_person_without_a_shell_goes_from_questions_of_their_own_to_labelled_posts(browser, live, tmp_path):
    troubles: list[str] = []
    owner = tab(browser, live, troubles, "admin", viewport=DESKTOP)
    owner.set_default_timeout(SLOWEST)
    write_scheme(owner)
    make_project(owner, *write_files(tmp_path))
    first = invite(owner, browser, live, troubles, "Mo")
    second = invite(owner, browser, live, troubles, "Sol")
    owner.goto("/projects/street")
    owner.get_by_role("button", name="Open phase main").click()
    owner.get_by_text("Phase main is open.").wait_for()
    assert label_all(first) == len(POSTS)
    assert label_all(second, otherwise=DIVIDED) == len(POSTS)
    with live.site.store.read() as db:
        assert phase_answers.count_open_cases(db, "street") == len(DIVIDED)
    assert troubles == []
