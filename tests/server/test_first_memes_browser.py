"""The first part of walk 4 (tests/walks): memes from a table to filtered ones, without a shell, in Chromium."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from drawn_memes import draw
from fresh_server import Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_CLICKS = 28
TEXTS = ("river people ruin it all", "kettles are warm", "lamplighters go home", "bread on sunday", "two sisters sing",
         "the grey ferry")  # fmt: skip


def write_files(folder: Path) -> tuple[Path, list[Path], list[Path]]:
    """Write a table of six memes, their pictures, and four pictures for the library."""
    table = folder / "memes.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("id", "text", "image"), *((f"m{i}", text, f"m{i}.png") for i, text in enumerate(TEXTS))]
        )
    memes, shelf = [folder / f"m{i}.png" for i in range(6)], [folder / f"shelf{i}.png" for i in range(4)]
    for number, path in enumerate([*memes, *shelf]):
        path.write_bytes(draw(number))
    return table, memes, shelf


def take_part(person: Person) -> None:
    """Go to the first meme and agree to the consent text on the way; boxes are ticked by keys."""
    person.page.goto("/projects/memes")
    person.link("Work on memes")
    person.link("Filter a meme")
    for box in person.page.locator("main form input[type=checkbox]").all():
        box.press("Space")
    person.button("Agree and begin")


def filter_by_keys(person: Person) -> None:
    """Let the meme that waits pass, with the first picture of the library in place of its own."""
    page: Any = person.page
    for box in ("#language-yes", "#slurs-no", ".shelf input >> nth=0", "#preserves"):
        page.locator(box).press("Space")
    page.get_by_role("button", name="Save and go on").press("Enter")
    page.get_by_text("Passed. It waits to be built.").wait_for()


def test_memes_are_filtered_with_a_library_that_was_filled_in_the_browser(browser, tmp_path: Path):
    table, memes, shelf = write_files(tmp_path)
    with fresh_server(tmp_path / "empty") as server:
        ada = Person(browser, server)
        ada.make_account(server.link, "Ada")
        ada.link("Start a labelling project")
        ada.link("meme-construction")
        ada.page.locator("#title").fill("Memes")
        ada.button("Continue")
        ada.page.locator("#posts-upload").set_input_files(table)
        ada.page.locator("#pictures").set_input_files(memes)
        ada.page.locator("#picture_licence").fill("CC0-1.0")
        ada.page.get_by_label("Answers a post, rating").fill("3")
        ada.button("Continue")
        ada.page.get_by_text("6 rows").wait_for()
        ada.button("Continue")
        ada.page.locator("#roster").fill("ben annotator\ncleo annotator\ndora annotator\neve expert")
        ada.button("Make the project")
        ada.page.get_by_text("The project is ready.").wait_for()
        links = ada.page.locator("main code").all_inner_texts()
        assert len(links) == 4

        ada.link("Go to the project")
        ada.link("Read the consent text")
        text = ada.page.locator("#read").inner_text()
        assert all(f"{act}" in text for act in ("Filter:", "Build:", "Rate", "Change"))
        ada.button("I have read it, and it is true")
        ada.link("Work", exact=True)
        ada.link("Image library")
        ada.page.locator("#pictures").set_input_files(shelf)
        ada.page.locator("#picture_licence").fill("CC0-1.0")
        ada.page.locator("#picture_credit").fill("A. Person")
        ada.button("Add them")
        ada.page.get_by_text("4 of 4 pictures are new").wait_for()
        ben, cleo = Person(browser, server), Person(browser, server)
        ben.make_account(links[0], "Ben")
        cleo.make_account(links[1], "Cleo")
        ada.link("Overview", exact=True)
        for phase in ("filter", "build"):
            ada.button(f"Open phase {phase}")
            ada.page.get_by_text(f"Phase {phase} is open.").wait_for()
        assert ada.page.locator("main").get_by_role("button", name="Close phase").count() == 0

        for person in (ben, cleo):
            take_part(person)
            filter_by_keys(person)
        ada.page.goto("/projects/memes/train")
        ada.page.get_by_text("read the text alone and do not look at them").wait_for()
        assert ada.page.get_by_label("Picture and text").is_checked()
        ada.page.goto("/score?kind=picture")
        assert "looks at the picture and its text" in ada.page.locator("#model").inner_text()
        ada.page.locator("#picture").set_input_files(memes[0])
        ada.page.get_by_label("What stands on it").fill("wash your hands")
        ada.button("Score", exact=True)
        ada.page.get_by_text("The detector looked at the picture too.").wait_for()
        everybody = (ada, ben, cleo)
        assert [person.troubles for person in everybody] == [[], [], []]
        assert sum(person.clicks for person in everybody) <= MOST_CLICKS, [person.clicks for person in everybody]
