"""Marking words in a real Chromium: by keys alone, with a mouse, with a finger, without scripts, and while blurred."""

from __future__ import annotations

from typing import Any

import pytest
from test_label_browser import fits, keys, mine, open_page  # noqa: F401 — a fixture

from browser_tab import PHONE
from davy.annotation.project.store import members
from davy.text.lexicons.read import Lexicon
from labelling import MARKS, make_lamps

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = "your lamp is very dim 🙂🙂 so go away"
RTL = "מנורה עמומה מאוד כאן"
RUDE = {"rude": ("rude",)}


@pytest.fixture
def lamps(live):
    object.__setattr__(live.site.app.state.context, "lexicon", Lexicon.of("lamp"))
    return make_lamps(live.site, [TEXT, RTL, "third post is here"], scheme=MARKS)


def marked(page: Any, question: str = "why") -> str:
    """Return the words that are marked, as they are shown."""
    boxes = page.locator(f'.passage-word:has(input[name="answer.{question}"]:checked) .word')
    return " ".join(it.inner_text() for it in boxes.all())


def word(page: Any, shown: str) -> Any:
    return page.locator('.passage-word:has(input[name="answer.why"]) .word', has_text=shown).first


def saved(lamps: Any, n: int) -> tuple[str, ...]:
    given = mine(lamps)
    assert len(given) == n
    return given[-1].answers["why"]


def test_two_posts_by_keys_alone(open_page, lamps):  # noqa: F811
    page = open_page()
    page.goto(lamps.path)
    keys(page, "2", "Escape", "Enter")  # a required question that is open gets the focus instead of a save
    assert page.locator(".wrong").inner_text() == "Mark at least one word."
    keys(page, "m", "ArrowRight", "Space")
    assert marked(page) == "l*mp"
    keys(page, "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowLeft")
    assert marked(page) == "l*mp is"
    keys(page, "End", "Space", "Home", "Space", "Backspace")
    assert marked(page) == "l*mp is away"
    keys(page, "Backspace")  # nothing here, so the last mark goes
    assert marked(page) == "l*mp is"
    keys(page, "Tab")
    assert page.evaluate("document.activeElement.name") == "answer.tone"  # one stop a text
    keys(page, "Enter")
    page.get_by_text(RTL).first.wait_for()
    assert saved(lamps, 1) == ("5-12",)
    keys(page, "2", "m", "ArrowLeft", "Space", "Shift+ArrowLeft", "Enter")  # forward is to the left here
    page.locator("#post").get_by_text("third post is here").wait_for()
    assert saved(lamps, 2) == ("6-16",)
    keys(page, "u")
    page.locator("#post").get_by_text(RTL).wait_for()
    assert marked(page) == "עמומה מאוד"


def test_a_mouse_drags_over_words_and_shift_marks_up_to_there(open_page, lamps):  # noqa: F811
    page = open_page()
    page.goto(lamps.path)
    keys(page, "2")
    word(page, "is").hover()
    page.mouse.down()
    for shown in ("very", "dim"):
        word(page, shown).hover()
    page.mouse.up()
    assert marked(page) == "is very dim"
    word(page, "away").hover()  # a mouse that moves on marks nothing more
    assert marked(page) == "is very dim"
    word(page, "very").click()
    assert marked(page) == "is dim"
    word(page, "so").click()
    word(page, "away").click(modifiers=["Shift"])
    assert marked(page) == "is dim so go away"
    page.reload()  # what was not sent is still there
    page.locator("#answer").wait_for()
    assert marked(page) == "is dim so go away"
    page.locator("#post .lift input").check()
    assert word(page, "lamp").is_visible()


def test_a_finger_taps_and_a_phone_shows_all_of_it(open_page, lamps):  # noqa: F811
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    page.goto(lamps.path)
    page.locator("#answer .option label", has_text="rude").nth(1).tap()
    for shown in ("dim", "🙂", "dim"):
        word(page, shown).tap()
    assert marked(page) == "🙂"
    assert fits(page)
    page.locator(".primary").tap()
    page.locator("#post").get_by_text(RTL).wait_for()
    assert saved(lamps, 1) == ("22-23",)


def test_without_scripts_words_are_ticked_and_sent(open_page, lamps):  # noqa: F811
    page = open_page(java_script_enabled=False)
    page.goto(lamps.path)
    page.locator("#answer .option label", has_text="rude").nth(1).click()
    page.locator(".primary").click()
    page.get_by_text("Mark at least one word.").first.wait_for()
    word(page, "very").click()
    word(page, "dim").click()
    page.locator(".primary").click()
    page.get_by_text(RTL).first.wait_for()
    assert saved(lamps, 1) == ("13-21",)
    (asked,) = open_page.troubles
    assert "422" in asked
    open_page.troubles.clear()


def test_words_of_a_blurred_post_are_marked_once_it_is_shown(open_page, lamps):  # noqa: F811
    with lamps.site.store.write() as db:
        members.choose(db, "lamps", lamps.user("annotator"), text="blurred")
    page = open_page()
    page.goto(lamps.path)
    keys(page, "2")
    passage = page.locator(".passage").first
    assert passage.evaluate("it => [it.inert, getComputedStyle(it).filter !== 'none']") == [True, True]
    keys(page, "v")
    assert passage.evaluate("it => [it.inert, getComputedStyle(it).filter !== 'none']") == [False, False]
    keys(page, "m", "Space")
    assert marked(page) == "your"
