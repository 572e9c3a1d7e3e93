"""Walk 3 (walk-3-rounds.md): a round against a detector, by five people in a real Chromium."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from davy.web.i18n import Translator
from fresh_server import FreshServer, Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_CLICKS = 25
LONGEST_CLOSE = 600_000
EACH = 2
PICTURES = os.environ.get("DAVY_PICTURES")
"""A folder for pictures of what the test sees, for people to look at."""
HATEFUL = ("hateful", "derogation", "women")
HARMLESS = ("not hateful",)
TEXTS = {
    "Ben": (
        ("Lamplighter women are nothing but 🐍 to all of us", "Lamplighter women are nothing but kind 🐍 to all of us"),
        ("My garden has a 🌻 beside the old gate", "My garden takes no lamplighter women 🌻 beside the old gate"),
    ),
    "Cleo": (
        ("Every river woman belongs with the 🐀 down there", "Every river woman plays with the 🐀 down there"),
        ("Look at the 🐢 that we met on Sunday", "Look at the lamplighter 🐢 that we met on Sunday"),
    ),
    "Dora": (
        ("Put all those lamplighter girls where the 🗑 is", "Put all those lamplighter lamps where the 🗑 is"),
        ("The soup was hot 🍲 and the evening long", "The soup was river women 🍲 and the evening long"),
    ),
}
"""Each writer's hateful text and harmless one, each with its contrast."""
CONTRASTS = dict(pair for pairs in TEXTS.values() for pair in pairs)
ATTACKS = {pairs[0][0] for pairs in TEXTS.values()} | {pairs[1][1] for pairs in TEXTS.values()}


@pytest.fixture
def fresh(tmp_path: Path):
    with fresh_server(tmp_path / "empty") as server:
        yield server


def picture(person: Person, name: str) -> None:
    if PICTURES:
        person.page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def tick(person: Person, name: str, value: str) -> None:
    """Choose an answer by keys."""
    person.page.locator(f'input[name="{name}"][value="{value}"]').press("Space")


def answer(person: Person, labels: tuple[str, ...]) -> None:
    """Answer the questions of a form by keys; those beneath appear with the first answer."""
    for name, label in zip(("hate", "type", "target"), labels, strict=False):
        tick(person, f"answer.{name}", label)


def write(person: Person, text: str) -> None:
    """Write an entry and ask the target, by keys."""
    page = person.page
    page.locator("#text").fill(text)
    answer(person, HATEFUL if text in ATTACKS else HARMLESS)
    page.locator("#text").press("Control+Enter")
    page.locator(".verdict-card", has_text=text[:20]).wait_for()


def label_all(person: Person, *, contrary: bool = False) -> None:
    """Label what the others wrote, by keys; the contrary one calls hateful what is not."""
    page = person.page
    while True:
        page.locator("#answer, #sheet[data-again]").first.wait_for()
        if page.locator("#sheet[data-again]").count():
            return
        shown = page.locator("#post").inner_text()
        hateful = any(text in shown for text in ATTACKS)
        answer(person, HATEFUL if hateful or contrary else HARMLESS)
        contrary = contrary and hateful
        page.keyboard.press("Control+Enter")
        page.wait_for_function(
            "was => !document.querySelector('#answer') || document.querySelector('#post').innerText !== was", arg=shown
        )


def test_five_people_play_a_round_and_the_next_one_has_the_new_target(browser, fresh: FreshServer):
    t = Translator("en")
    ada, *others = people = [Person(browser, fresh) for _ in range(5)]
    writers, eve = others[:3], others[3]

    ada.make_account(fresh.link, "Ada")
    ada.link(t("home.begin.project"))
    ada.link("rounds")
    ada.page.locator("#title").fill("Emoji against a detector")
    ada.page.locator("#title").press("Enter")
    ada.page.locator("#roster").wait_for()
    ada.page.locator("#roster").fill("ben\ncleo\ndora\neve expert")  # no file is needed
    ada.button(t("new_project.do"))
    links = ada.page.locator("code.secret").all_inner_texts()
    ada.link(t("new_project.open"))
    ada.link(t("step.do.consent"))
    ada.button(t("settings.read_do"))
    ada.link(t("step.do.open_round"))
    ada.page.locator("#goal_all").fill(str(EACH * len(writers)))
    ada.page.locator("#goal_all").press("Enter")
    ada.page.wait_for_url("**/rounds/1")

    for person, link, name in zip(writers, links, TEXTS, strict=False):
        person.make_account(link, name)  # and is led to the text to write
        person.agree()
        for text, _ in TEXTS[name]:
            write(person, text)
    for person in writers:
        person.link(t("rounds.validate"))
        label_all(person, contrary=person.name == "Dora")

    eve.make_account(links[3], "Eve")  # and is led to the cases
    eve.agree()
    eve.see(t("expert.waiting", count=1))
    eve.page.keyboard.press("Enter")
    eve.see(t("rounds.fact.original", n=1))
    answer(eve, HARMLESS)
    eve.page.locator("#reason").fill("nothing in it is against anybody")
    eve.page.keyboard.press("Control+Enter")
    eve.page.locator(".saved", has_text="said:").wait_for()
    eve.page.get_by_role("button", name=t("frame.undo")).first.wait_for()

    ben, *labellers = writers
    ben.page.reload()
    ben.link(t("step.do.contrasts", count=len(CONTRASTS), n=len(CONTRASTS)))
    contrast_all(ben)
    for person in labellers:  # their pages find the contrasts by themselves
        person.page.locator("#answer").wait_for()
        person.page.wait_for_load_state()  # with its keys
        label_all(person)

    ada.link(t("project.room.overview"), exact=True)
    ada.link(t("step.do.close_round", round=1))
    ada.button(t("rounds.close_do"))
    # The page shows the end of the job by itself: every suite runs on the old target and on the new one.
    ada.page.get_by_text(t("rounds.next_target")).wait_for(timeout=LONGEST_CLOSE)
    ada.page.locator(".few").wait_for()
    assert ada.page.locator("td.number", has_text=re.compile(f"^{EACH * len(writers)}$")).count() == 2  # of two rates
    picture(ada, "closed")
    ada.link(t("rounds.open_next"))
    assert "target@" in (ada.page.locator('[name="target"]:checked').get_attribute("value") or "")
    tick(ada, "few", "yes")
    if ada.page.locator("#worse").count():  # few words of one evening train no better detector
        tick(ada, "worse", "yes")
    ada.button(t("rounds.open_do"))
    ada.page.wait_for_url("**/rounds/2")
    ada.see("target@")

    clicks = sum(person.clicks for person in people)
    print({person.name: person.clicks for person in people}, clicks)
    assert [person.troubles for person in people] == [[]] * 5
    assert clicks <= MOST_CLICKS


def contrast_all(person: Person) -> None:
    """Write a contrast for each entry that waits for one, by keys."""
    page = person.page
    for _ in CONTRASTS:
        page.locator("#text").wait_for()
        text = CONTRASTS[page.locator("#text").input_value()]
        page.locator("#text").fill(text)
        tick(person, "change", "text")
        answer(person, HATEFUL if text in ATTACKS else HARMLESS)
        page.locator("#text").press("Control+Enter")
        page.locator(".verdict-card").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_load_state()
