"""The emoji picker in a real Chromium: search in two languages, skin tones, keys, the caret, a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from browser_tab import fits, open_tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Any]


@pytest.fixture
def score_page(browser, live) -> Iterator[Open]:
    """Open the page for one text, signed in; console errors, policy errors and requests elsewhere fail the test."""
    troubles: list[str] = []

    def make(**options: Any) -> Any:
        page = open_tab(browser, live, troubles, "annotator", **{"viewport": {"width": 1280, "height": 900}, **options})
        page.on("request", lambda it: None if it.url.startswith(live.url) else troubles.append(it.url))
        page.goto("/score")
        return page

    yield make
    assert troubles == []


def test_an_emoji_is_searched_in_english_and_german_and_lands_at_the_caret(score_page):
    page = score_page()
    asked: list[str] = []
    page.on("request", lambda it: asked.append(it.url))
    area = page.locator("#text")
    area.fill("Good morning!")
    area.evaluate("area => area.setSelectionRange(4, 4)")
    assert not any("emoji" in url for url in asked), "nothing is fetched before the picker opens"

    page.get_by_role("button", name="Add an emoji").click()
    search = page.get_by_role("searchbox")
    search.fill("sunflower")
    search.press("Enter")
    expect(area).to_have_value("Good🌻 morning!")
    search.fill("Sonnenblume")
    page.get_by_role("button", name="sunflower", exact=True).click()
    expect(area).to_have_value("Good🌻🌻 morning!")
    search.fill("lächeln")
    assert page.locator(".emoji-grid button").count() > 5
    search.fill("no such picture at all")
    page.get_by_text("No emoji has this word").wait_for()
    assert len([url for url in asked if ".json" in url]) == 2


@pytest.fixture
def slow_page(score_page: Open) -> Any:
    """The page for one text with two lists that don't come before the test calls `page.deliver()`."""
    page, held = score_page(), []
    page.route("**/emoji.*.json*", lambda route: held.append(route))

    def deliver() -> None:
        while len(held) < 2:
            page.wait_for_timeout(20)
        for route in held:
            route.continue_()

    page.deliver = deliver
    return page


def test_keys_pressed_while_the_lists_load_act_once_when_they_are_there(slow_page):
    page, area = slow_page, slow_page.locator("#text")
    area.fill("Hello ")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.type("cat face")  # the search has the focus at once
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.get_by_text("No emoji has this word").count() == 0, "nobody knows yet"
    assert area.input_value() == "Hello "
    page.deliver()
    expect(area).to_have_value("Hello 🐱")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.emoji") == "🐱"


def test_an_arrow_pressed_while_the_lists_load_goes_into_the_list(slow_page):
    page = slow_page
    page.get_by_role("button", name="Add an emoji").click()
    page.keyboard.type("sunflower")
    page.keyboard.press("ArrowDown")
    page.deliver()
    expect(page.locator(".emoji-grid button").first).to_be_focused()


def test_who_goes_away_while_the_lists_load_is_left_alone(slow_page):
    page, area = slow_page, slow_page.locator("#text")
    page.get_by_role("button", name="Add an emoji").click()
    page.keyboard.type("sunflower")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(area).to_be_focused()
    page.deliver()
    page.get_by_role("button", name="Add an emoji").click()
    page.locator(".emoji-grid button").first.wait_for()
    expect(page.get_by_role("searchbox")).to_be_focused()
    area.focus()
    page.keyboard.type("I write on")
    expect(area).to_have_value("I write on")


def test_the_skin_tone_holds_for_the_next_emoji_and_the_next_page(score_page):
    page = score_page()
    page.get_by_role("button", name="Add an emoji").click()
    page.get_by_label("Skin tone").select_option("✋🏾")
    page.get_by_role("searchbox").fill("thumbs up")
    page.get_by_role("searchbox").press("Enter")
    expect(page.locator("#text")).to_have_value("👍🏾")
    page.get_by_label("Skin tone").select_option("✋")
    page.get_by_role("searchbox").press("Enter")
    assert page.locator("#text").input_value() == "👍🏾👍", "as keyboards write it, without U+FE0F"
    page.get_by_label("Skin tone").select_option("✋🏾")
    page.reload()
    page.get_by_role("button", name="Add an emoji").click()
    page.get_by_role("searchbox").fill("wave")
    page.get_by_role("button", name="waving hand").click()
    assert page.locator("#text").input_value().endswith("👋🏾")


def test_keys_alone_open_move_put_and_close_without_sending_the_form(score_page):
    page = score_page()
    area = page.locator("#text")
    area.fill("Hello ")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".emoji-grid button").first.wait_for()
    page.keyboard.type("cat face")
    page.keyboard.press("Enter")
    assert area.input_value() == "Hello 🐱"
    page.keyboard.press("ArrowDown")
    first = page.evaluate("document.activeElement.dataset.emoji")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.dataset.emoji")
    assert first != second
    page.keyboard.press("Enter")
    assert area.input_value() == f"Hello 🐱{second}"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "text"
    assert page.locator(".emoji-panel").is_hidden()
    assert page.url.endswith("/score")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picker_fits_a_phone_in_german(score_page, scheme, tmp_path):
    page = score_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.get_by_role("button", name="Deutsch").click()
    page.get_by_role("button", name="Emoji einfügen").click()
    page.get_by_role("searchbox", name="Emoji suchen").fill("heart")
    page.get_by_role("button", name="rotes Herz").click()
    assert page.locator("#text").input_value() == "❤️"
    assert fits(page)
    page.screenshot(path=tmp_path / f"picker-{scheme}.png")


def test_without_scripts_there_is_no_button_and_the_form_works(score_page):
    page = score_page(java_script_enabled=False)
    assert page.locator("[data-emoji-picker] button").is_hidden()
    page.locator("#text").fill("A lamp 🏮")
    page.locator("form.score button.primary").click()
    page.locator("#result").get_by_text("0.", exact=False).first.wait_for()
