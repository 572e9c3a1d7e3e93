"""A round in a real Chromium: open it, enter a text, be refused and lose nothing, write the contrast."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser_tab import PHONE, fits, open_tab
from davy.annotation.labelling import labelling
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import members, projects
from davy.people.store import users
from davy.rounds.store import entries, rounds
from davy.store.columns import new_id

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESKTOP = {"width": 1280, "height": 900}
PICTURES = os.environ.get("DAVY_PICTURES")
"""A folder for pictures of what the test sees, for people to look at."""

Open = Callable[..., Any]


@pytest.fixture
def as_(browser, live) -> Iterator[Open]:
    """Open a tab as somebody in a project of rounds; the test fails when a console shows an error."""
    troubles: list[str] = []
    with live.site.store.write() as db:
        plan = project_file.parse_plan(b"name: duel\npreset: rounds\n", "rounds.yaml")
        project_creation.create_project(db, plan, by="shell")
        for name, role in (("mo", "manager"), ("ada", "annotator"), ("bo", "annotator"), ("cy", "annotator")):
            user = users.add(db, login=name, name=name, role="annotator", by="shell")
            members.add(db, "duel", user.id, [role], by="shell")
            members.consent(db, "duel", user.id)

    def open_as(login: str, **options: Any) -> Any:
        return open_tab(browser, live, troubles, login, **{"viewport": DESKTOP, **options})

    yield open_as
    troubles[:] = [it for it in troubles if "422" not in it]  # a refused entry is noted by the browser itself
    assert troubles == []


def picture(page: Any, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def say_hateful(page: Any) -> None:
    page.get_by_label("Hateful", exact=False).and_(page.locator("input[value='hateful']")).check()
    page.locator("input[value='derogation']").check()
    page.locator("input[value='women']").check()


def confirm(live: Any, *logins: str) -> None:
    with live.site.store.write() as db:
        for login in logins:
            member = members.get(db, "duel", users.find(db, login).id)
            sheet = labelling.next_sheet(db, projects.get(db, "duel"), member)
            right = {"hate": ("hateful",), "type": ("derogation",), "target": ("women",)}
            labelling.save(db, sheet, right, annotation_id=new_id())


def test_a_round_from_opening_to_a_contrast(as_, live):
    manager = as_("mo")
    manager.goto("/projects/duel/rounds")
    manager.get_by_label("Goal in all").fill("20")
    manager.get_by_label("Goal for each person and week").fill("4")
    picture(manager, "open")
    manager.get_by_role("button", name="Open the round").click()
    manager.get_by_text("Round 1 is open.").wait_for()

    ada = as_("ada")
    ada.goto("/projects/duel/rounds/1/enter")
    assert ada.locator("[data-question=type]").is_hidden()
    ada.get_by_label("Your text").fill("what a lovely lot they are")
    say_hateful(ada)
    assert ada.locator("[data-question=type]").is_visible()
    ada.get_by_role("button", name="Enter it").click()
    ada.get_by_text("has no emoji").wait_for()
    assert ada.get_by_label("Your text").input_value() == "what a lovely lot they are"
    picture(ada, "refused")
    # The time of an entry is counted in seconds.
    ada.wait_for_function("() => Number(document.querySelector('form.entry').elements.seconds.value) > 0")
    ada.get_by_label("Your text").fill("what a lovely lot they are 🐍")
    ada.get_by_role("button", name="Enter it").click()
    ada.get_by_text("You fooled the target.").wait_for()
    assert ada.get_by_label("Your text").input_value() == ""
    assert ada.get_by_text("1 of your 4 entries for seven days").is_visible()
    picture(ada, "entered")
    ada.get_by_role("link", name="Which words mattered?").click()
    ada.get_by_text("No single word carried that answer").wait_for()
    picture(ada, "entered")
    with live.site.store.read() as db:
        (row,) = entries.of_round(db, rounds.by_number(db, "duel", 1).id)
    assert row.entry.seconds is not None

    confirm(live, "bo", "cy")
    bo = as_("bo")
    bo.goto("/projects/duel/rounds/1")
    picture(bo, "round")
    bo.get_by_role("link", name="Write the contrast").click()
    bo.get_by_label("Swap the emoji, keep the words").check()
    bo.get_by_label("Contrast").fill("what a lovely pair they are 🐍")
    bo.locator("#difference").get_by_text("You chose to change the emoji").wait_for()
    picture(bo, "contrast-wrong")
    bo.get_by_label("Contrast").fill("what a lovely lot they are 💖")
    bo.locator("#difference ins", has_text="💖").wait_for()
    bo.get_by_role("button", name="Enter it").click()
    bo.get_by_text("This entry has its contrast.").wait_for()
    picture(bo, "contrast-kept")


def test_a_draft_survives_a_reload_and_the_page_fits_a_phone_in_german(as_, live):
    manager = as_("mo")
    manager.goto("/projects/duel/rounds")
    manager.get_by_role("button", name="Open the round").click()
    with live.site.store.write() as db:
        users.set_language(db, users.find(db, "ada").id, "de", by="shell")
    ada = as_("ada", viewport=PHONE, color_scheme="dark")
    ada.goto("/projects/duel/rounds/1/enter")
    ada.get_by_label("Ihr Text").fill("ein Entwurf 🐍")
    ada.reload()
    assert ada.get_by_label("Ihr Text").input_value() == "ein Entwurf 🐍"
    picture(ada, "phone-german-dark")
    assert fits(ada)
    manager.set_viewport_size(PHONE)
    manager.goto("/projects/duel/rounds")
    picture(manager, "phone-list")
    assert fits(manager)
    heights = manager.locator(".stacks .tag").evaluate_all(
        "tags => tags.map(tag => tag.getBoundingClientRect().height)"
    )
    assert heights
    assert max(heights) < 32, "a state is one line"
