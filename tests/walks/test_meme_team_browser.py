"""Walk 4 (walk-4-memes.md): memes from a table to settled kinds, by six people in a real Chromium, without a shell."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from drawn_memes import draw
from fresh_server import FreshServer, Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_CLICKS = 50
TEXTS = ("river people ruin it all", "kettles are warm", "lamplighters go home", "bread on sunday", "two sisters sing",
         "the grey ferry")  # fmt: skip
PASSES = ("#language-yes", "#slurs-no", ".shelf input >> nth=0", "#preserves")
ANOTHER_LANGUAGE = ("#language-no",)
HATEFUL, HARMLESS = ("1", "2", "Enter", "1"), ("3",)
"""Keys of a rating: definitely hateful, a category, a type of attack; or definitely not hateful."""


@pytest.fixture
def fresh(tmp_path: Path):
    with fresh_server(tmp_path / "empty") as server:
        yield server


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


def make_project(ada: Person, table: Path, memes: list[Path]) -> list[str]:
    """Make the project in the wizard, and return the links of the five who are invited."""
    ada.link("Start a labelling project")
    ada.link("meme-construction")
    ada.page.locator("#title").fill("Memes")
    ada.button("Continue")
    ada.page.locator("#posts-upload").set_input_files(table)
    ada.page.locator("#pictures").set_input_files(memes)
    ada.page.locator("#picture_licence").fill("CC0-1.0")
    ada.page.get_by_label("Answers a post, rating").fill("3")
    ada.button("Continue")
    ada.see("6 rows")
    ada.button("Continue")
    ada.see("It takes at least 3 annotators. Where people differ much, 2 experts decide. Nobody rates what they built.")
    ada.page.locator("#roster").fill("ben annotator\ncleo annotator\ndora annotator\neve expert\nfinn expert")
    ada.button("Make the project")
    ada.see("The project is ready.")
    return ada.page.locator("main code").all_inner_texts()


def fill_library(ada: Person, shelf: list[Path]) -> None:
    """Add the four pictures, which the checklist asks for."""
    ada.link("Add pictures to the image library")
    ada.page.locator("#pictures").set_input_files(shelf)
    ada.page.locator("#picture_licence").fill("CC0-1.0")
    ada.page.locator("#picture_credit").fill("A. Person")
    ada.button("Add them")
    ada.see("4 of 4 pictures are new")
    assert ada.page.get_by_text("A. Person").count() == 4
    ada.link("Overview", exact=True)


def begin_filter(person: Person) -> None:
    """Go to the first meme, and agree to the consent text on the way by keys."""
    person.page.reload()
    if not person.page.url.endswith("/memes/memes"):  # where an invitation ends once a phase is open
        person.link("Work on memes")
    person.link("Filter a meme")
    for box in person.page.locator("main form input[type=checkbox]").all():
        box.press("Space")
    person.button("Agree and begin")


def filter_by_keys(person: Person, boxes: tuple[str, ...], then: str) -> None:
    """Tick these boxes of the meme that waits, save, and wait for what became of it."""
    for box in boxes:
        person.page.locator(box).press("Space")
    enter(person, "Save and go on")
    person.see(then)


def enter(person: Person, name: str, role: Any = "button") -> None:
    """Press a button, or follow a link, by its key."""
    person.page.get_by_role(role, name=name).press("Enter")
    person.page.wait_for_load_state()


def drawn(person: Person) -> None:
    """Wait until the server has drawn the newest layout."""
    person.page.locator('#meme-stage[aria-busy="false"] svg.meme').wait_for()


def rate(person: Person, said: dict[str, tuple[str, ...]]) -> int:
    """Rate every meme that waits by keys, as `said` has it by words of its text; return how many there were."""
    page: Any = person.page
    rated = 0
    while True:
        page.locator("#answer, #sheet h2").first.wait_for()
        if not page.locator("#answer").count():
            person.see("Nothing to rate now")
            return rated
        shown = page.locator("#post").inner_text()
        was = page.locator("#sheet").get_attribute("data-path")
        person.keys(*next(keys for words, keys in said.items() if words in shown), "Enter")
        page.wait_for_function("was => document.querySelector('#sheet')?.dataset.path !== was", arg=was)
        rated += 1


def settle_by_keys(expert: Person) -> None:
    """Decide the case that waits by keys, with a reason."""
    expert.page.reload()
    expert.link("Disagreements", exact=True)
    expert.agree()
    enter(expert, "Settle the next case")
    expert.page.wait_for_url("**/expert/*")
    expert.keys("3")
    expert.page.locator("#reason").fill("Nobody is attacked for who they are.")
    expert.keys("Control+Enter")
    expert.page.wait_for_url("**/expert")


def test_six_people_turn_source_memes_into_memes_of_known_kinds(browser, fresh: FreshServer, tmp_path: Path):
    table, memes, shelf = write_files(tmp_path)
    ada, ben, cleo, dora, eve, finn = everybody = [Person(browser, fresh) for _ in range(6)]
    ada.make_account(fresh.link, "Ada")
    links = make_project(ada, table, memes)
    ada.link("Go to the project")
    ada.link("Read the consent text")
    text = ada.page.locator("#read").inner_text()
    assert all(act in text for act in ("Filter:", "Build:", "Rate", "Change"))
    ada.button("I have read it, and it is true")
    fill_library(ada, shelf)
    for person, link, name in zip((ben, cleo), links, ("Ben", "Cleo"), strict=False):
        person.make_account(link, name)
    ada.page.reload()
    for phase in ("filter", "build"):
        ada.button(f"Open phase {phase}")
        ada.see(f"Phase {phase} is open.")
    ada.see("Phase rating: Annotators needed: 3. On the roster: 2.")
    ada.see("invited people have not joined yet")
    for person, link, name in zip((dora, eve, finn), links[2:], ("Dora", "Eve", "Finn"), strict=True):
        person.make_account(link, name)
    ada.page.reload()
    for phase in ("rating", "confounders"):
        ada.button(f"Open phase {phase}")
        ada.see(f"Phase {phase} is open.")
    assert ada.page.locator("main").get_by_role("button", name="Close phase").count() == 0

    annotators = (ben, cleo, dora)
    for person in annotators:
        begin_filter(person)
    for person in (ben, cleo):
        filter_by_keys(person, PASSES, "Passed. It waits to be built.")
    filter_by_keys(dora, ANOTHER_LANGUAGE, "Discarded.")
    for person in annotators:
        filter_by_keys(person, ANOTHER_LANGUAGE, "Discarded.")

    built = {}
    for person in (ben, cleo):
        person.link("Build a meme")
        drawn(person)
        person.see("A. Person")
        built[person.name] = person.page.get_by_label("Words").input_value()
    for person in (ben, cleo):
        enter(person, "Save the meme")
        person.see("Built. Others rate it now.")
    hateful, divided = built["Cleo"], built["Ben"]
    for person, said in (
        (ben, {hateful: HATEFUL}),
        (cleo, {divided: HARMLESS}),
        (dora, {hateful: HATEFUL, divided: HATEFUL}),
    ):
        person.page.reload()
        enter(person, "Rate memes", role="link")
        assert rate(person, said) == len(said)

    for person in (eve, finn):
        settle_by_keys(person)
    finn.see("Nothing waits for you.")

    ben.link("Work on memes")
    ben.link("Confound a meme")
    ben.link("Flip it with another picture")
    ben.page.locator(".shelf input").first.press("Space")
    enter(ben, "Use this picture")
    drawn(ben)
    enter(ben, "Save the meme")
    ben.see("Saved. Now the other side.")
    ben.page.get_by_role("button", name="I found none").nth(1).press("Enter")
    ben.see("Both sides are answered.")
    for person in (cleo, dora):
        person.page.reload()
        assert rate(person, {hateful: HARMLESS}) == 1

    ada.page.reload()
    for phase in ("filter", "build", "confounders", "rating"):
        ada.button(f"Close phase {phase}")
        ada.see(f"Phase {phase} is closed.")
    ada.link("Train a detector")
    ada.see("read the text alone and do not look at them")
    assert ada.page.get_by_label("Picture and text").is_checked()
    ada.link("Work", exact=True)
    ada.link("Families and kinds")
    kinds = ada.page.locator(".family .tag").all_inner_texts()
    assert sorted(kinds) == ["Benign image confounder", "Random harmless", "Undetermined"], "one side has no confounder"

    ada.link("Score a text", exact=True)
    ada.link("A picture")
    assert "looks at the picture and its text" in ada.page.locator("#model").inner_text()
    ada.page.locator("#picture").set_input_files(memes[0])
    ada.page.get_by_label("What stands on it").fill("wash your hands")
    ada.button("Score", exact=True)
    ada.see("The detector looked at the picture too.")
    clicks = sum(person.clicks for person in everybody)
    print({person.name: person.clicks for person in everybody}, clicks)
    assert [person.troubles for person in everybody] == [[]] * 6
    assert clicks <= MOST_CLICKS
