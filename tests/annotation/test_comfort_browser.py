"""What makes labelling bearable, in a real Chromium: what is seen, what a key does, and what is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser_tab import open_tab
from davy.annotation.labelling.store import annotations
from davy.people.store import users
from labelling import make_lamps

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXTS = [f"post number {n} shines" for n in range(1, 9)]


@pytest.fixture
def page(browser, live) -> Iterator[Any]:
    """A tab of a signed-in annotator; what its console complains of fails the test."""
    troubles: list[str] = []
    yield open_tab(browser, live, troubles, "annotator", viewport={"width": 1280, "height": 900})
    assert troubles == []


def mine(lamps: Any) -> list[Any]:
    with lamps.site.store.read() as db:
        return annotations.of_annotator(db, lamps.user("annotator"))[::-1]


def keys(page: Any, *pressed: str) -> None:
    for key in pressed:
        page.keyboard.press(key)


def choose(live: Any, **choices: Any) -> None:
    with live.site.store.write() as db:
        users.choose(db, live.site.people["annotator"].id, **choices)


def post_is(page: Any, number: int) -> None:
    page.locator("#post").get_by_text(f"post number {number} shines", exact=True).wait_for()
    page.locator(".question.current").first.wait_for()


def test_a_missed_question_says_so_saved_is_seen_and_refusing_disarms(page, live):
    lamps = make_lamps(live.site, TEXTS)
    page.goto(lamps.path)
    keys(page, "Enter")
    assert page.locator("#q1 .wrong").inner_text() == "Choose one answer."
    keys(page, "2")
    assert page.locator("#q1 .wrong").count() == 0
    assert "open" not in page.locator("#q1").get_attribute("class").split()

    keys(page, "r")
    page.get_by_role("button", name="Press again to refuse").wait_for()
    page.locator("#q2-1").press("1")  # something else was done
    page.get_by_role("button", name="Refuse", exact=False).wait_for()
    assert page.locator("input[name=sure]").count() == 0
    keys(page, "r")
    assert mine(lamps) == []  # the first press again, not the second
    page.locator("#post").click()
    assert page.locator(".armed").count() == 0

    keys(page, "p", "p", "p", "1", "Enter")
    post_is(page, 2)
    said = page.locator("#said")
    assert said.inner_text() == "Saved."
    assert said.is_visible()
    assert said.bounding_box()["height"] > 10
    keys(page, "u")
    page.get_by_text("This answer of yours is open again.").wait_for()


def test_keys_under_caps_lock_on_other_letters_and_switched_off(page, live):
    lamps = make_lamps(live.site, TEXTS)
    choose(live, letters={"skip": "z"})
    page.goto(lamps.path)
    assert page.locator('[data-key="s"] kbd').inner_text() == "z"
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Z', bubbles: true}))")  # Caps Lock is on
    post_is(page, 2)
    keys(page, "s")  # chooses nothing and skips nothing now
    post_is(page, 2)
    choose(live, keys="off")
    page.reload()
    keys(page, "z", "1", "r", "r")
    post_is(page, 2)
    assert page.locator("#q1-1").is_checked() is False
    assert page.locator("#post kbd:visible, #answer kbd:visible").count() == 0
    page.locator("#q1-1").check()
    keys(page, "Enter")  # no character: it still saves
    post_is(page, 3)
    assert len(mine(lamps)) == 1


def test_the_last_answer_saves_where_somebody_chose_so_and_arrow_keys_never_do(page, live):
    lamps = make_lamps(live.site, TEXTS)
    choose(live, auto_advance="on")
    page.goto(lamps.path)
    keys(page, "1")
    post_is(page, 2)
    page.locator("label[for=q1-1]").click()
    post_is(page, 3)
    page.locator("#q1-2").focus()
    keys(page, "ArrowUp")
    page.wait_for_timeout(300)
    post_is(page, 3)
    assert len(mine(lamps)) == 2
    # More questions are open, one of them with several labels: only the person knows when they are through.
    keys(page, "2", "1", "1", "1")
    page.wait_for_timeout(300)
    post_is(page, 3)
    keys(page, "Enter")
    post_is(page, 4)


def test_hidden_definitions_stay_hidden_in_another_session(page, live):
    lamps = make_lamps(live.site, TEXTS)
    page.goto(lamps.path)
    assert page.locator("#q1 .definition").first.is_visible()
    with page.expect_response("**/account/labelling") as sent:
        keys(page, "d")
    assert sent.value.status == 204
    assert not page.locator("#q1 .definition").first.is_visible()
    page.evaluate("sessionStorage.clear()")
    page.reload()
    page.locator("#q1").wait_for()
    assert not page.locator("#q1 .definition").first.is_visible()


def test_a_question_that_is_gone_to_shows_its_legend_below_a_tall_post(page, live):
    make_lamps(live.site, ["line after line " * 60, *TEXTS])
    page.set_viewport_size({"width": 1280, "height": 700})
    page.goto("/projects/lamps/label")
    keys(page, "2", "1", "1")
    keys(page, "p", "p", "p")
    page.wait_for_function(
        """() => {
          const box = (selector) => document.querySelector(selector).getBoundingClientRect();
          const [legend, post] = [box("#q1 legend"), box("#post")];
          return legend.top >= post.bottom - 1 && legend.bottom < 700;
        }"""
    )


def test_a_break_of_ones_own_and_a_rest_that_counts_down(page, live):
    care = {"break_after_minutes": 1, "break_minutes": 4, "timezone": "Pacific/Auckland"}
    lamps = make_lamps(live.site, TEXTS, settings={"care": care})
    page.goto(lamps.path)
    page.get_by_role("button", name="Break now").click()
    page.get_by_text("A break of your own.").wait_for()
    page.get_by_role("link", name="Go on", exact=True).click()
    post_is(page, 1)
    page.locator("input[name=seconds]").evaluate("it => { it.value = '90' }")
    page.evaluate("document.dispatchEvent(new CustomEvent('davy:sheet'))")
    keys(page, "1", "Enter")
    page.wait_for_url("**/rest")
    left = page.locator("[data-countdown]")
    assert left.inner_text() in ("in 4 minutes", "in 3 minutes")
    shown = page.locator("[data-local-time]").inner_text()
    zone_time = page.evaluate(
        "new Date(document.querySelector('[data-local-time]').dateTime)"
        ".toLocaleString('en', {hour: '2-digit', minute: '2-digit'})"
    )
    assert shown == zone_time  # this device's clock, not the project's
