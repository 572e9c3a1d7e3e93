"""How pages lie in a real Chromium: what is compared lines up, words stay whole, the tab that one is on is in sight."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_serve_browser import open_page, sign_in  # noqa: F401 — open_page is a fixture

import exchange_case
from browser_tab import PHONE, fits, open_tab
from davy.detectors import embedded
from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.people.store import users
from davy.server.start import listen
from davy.web.http_guard import GuardedProtocol
from web_site import make_site, served

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1280, "height": 900}

LINES_OF_FIRST_WORDS = """cells => cells.map(cell => {
  const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode();
  const range = document.createRange();
  range.setStart(text, 0);
  range.setEnd(text, text.data.trimEnd().split(' ')[0].length);
  return [text.data, range.getClientRects().length];
})"""


@pytest.mark.slow
@pytest.mark.skipif(not {"embedded-en"} <= set(embedded.shipped_names()), reason="no embedded detectors")
def test_the_bars_of_a_scored_text_begin_and_end_at_the_same_place(browser, settings, empty_database):
    listening = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    site = make_site(replace(settings, base_url=url, model="embedded-en"), empty_database)
    troubles: list[str] = []
    with served(site.app, listening, http=GuardedProtocol):
        live = type("Live", (), {"url": url, "site": site})
        page = open_tab(browser, live, troubles, "annotator", viewport=DESKTOP)
        page.goto("/score")
        page.locator("#text").fill("Women belong in the kitchen and nowhere near a referee's whistle.")  # 0.95 hateful
        page.get_by_role("button", name="Score", exact=True).click()
        page.locator("#result .path ul ul").first.wait_for()
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)
            boxes = [bar.bounding_box() for bar in page.locator("#result .path .bar").all()]
            assert len(boxes) > 3
            assert {(round(box["x"]), round(box["width"])) for box in boxes} == {
                (round(boxes[0]["x"]), round(boxes[0]["width"]))
            }
            assert boxes[0]["width"] > 100
            assert fits(page)
    assert troubles == []


def test_while_a_text_is_scored_the_old_result_is_faint_and_only_its_own_button_is_off(open_page):  # noqa: F811
    page = open_page()
    sign_in(page)
    page.goto("/score")
    page.locator("#text").fill("a fine day")
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#result .verdict").wait_for()
    held: list[Any] = []
    page.route("**/score", lambda route: held.append(route))
    page.locator("#text").fill("what a grumblefop")
    page.get_by_role("button", name="Score", exact=True).click()
    page.wait_for_function("getComputedStyle(document.querySelector('#result')).opacity < 0.5")
    assert page.get_by_role("button", name="Score", exact=True).is_disabled()
    assert page.get_by_role("button", name="Add an emoji").is_enabled()
    held[0].continue_()
    page.get_by_text("Verdict: Hateful").wait_for()
    assert page.evaluate("getComputedStyle(document.querySelector('#result')).opacity") == "1"


def test_on_a_phone_the_tab_that_one_is_on_is_in_sight(open_page, live):  # noqa: F811
    exchange_case.fill(live.site.store)
    page = open_page(viewport=PHONE)
    sign_in(page)
    for room in ("rounds", "guideline", "exports", "train"):
        page.goto(f"/projects/tea-1/{room}")
        for current in page.locator(".rooms [aria-current]").all():
            box = current.bounding_box()
            assert box["x"] >= 0, room
            assert box["x"] + box["width"] <= PHONE["width"], room


def test_on_a_phone_the_menu_is_a_button_that_opens_by_key_and_shows_every_place(open_page):  # noqa: F811
    page = open_page(viewport=PHONE)
    sign_in(page)
    for place in ("projects", "detectors", "audit"):
        page.goto(f"/{place}")
        assert page.locator(".places").is_hidden()
        page.get_by_role("button", name="Menu").press("Enter")
        boxes = [link.bounding_box() for link in page.locator(".places a").all()]
        assert len(boxes) == 6
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes), place
        assert page.locator(".places [aria-current]").is_visible()
        assert fits(page)
    bare = open_page(viewport=PHONE, java_script_enabled=False)
    bare.goto("/sign-in")
    assert bare.locator(".menu").is_hidden()


def test_the_menu_of_a_german_admin_is_one_row_on_a_laptop(open_page, live):  # noqa: F811
    page = open_page(viewport=DESKTOP)
    sign_in(page)
    with live.site.store.write() as db:
        users.set_language(db, live.site.people["admin"].id, "de", by="shell")
    page.goto("/audit")
    page.get_by_role("link", name="Protokoll", exact=True).wait_for()
    tops = {round(it.bounding_box()["y"]) for it in page.locator(".places a, .you a, .you button").all()}
    assert len(tops) == 1


@pytest.mark.skipif(not {"embedded-en"} <= set(embedded.shipped_names()), reason="no embedded detectors")
def test_a_cards_tables_are_whole_on_a_desk_and_scroll_in_their_own_box_on_a_phone(open_page, live):  # noqa: F811
    with live.site.store.write() as db:
        entry = {"name": "house", "version": "1", "source": "embedded-en", "questions": ["hate"]}
        added = detectors.add(db, **entry, by="shell")
    page = open_page(viewport=DESKTOP)
    sign_in(page)
    page.goto(f"/detectors/{added.id}")
    tables = page.locator(".card-text details[open] table")
    widths = tables.evaluate_all("found => found.map(it => [it.scrollWidth, it.clientWidth])")
    assert widths
    assert all(whole <= shown for whole, shown in widths), widths
    assert "after “Is the post hateful?”: Hateful" in page.locator("table.stacks").first.inner_text()
    page.set_viewport_size(PHONE)
    assert fits(page)


def test_names_in_the_audit_and_states_of_jobs_are_never_cut_within_a_word(open_page, live):  # noqa: F811
    store = live.site.store
    with store.write() as db:
        jobs.enqueue(db, kind="count lamps", arguments={}, owner=live.site.people["admin"].id)
        held = jobs.lease(db, ["count lamps"], worker="test", seconds=60)
        jobs.save_progress(db, held, done=1_340, total=23_000, note=None)
    page = open_page()
    sign_in(page)
    for path, cells in (("/audit", "td.whole-words"), ("/jobs", ".tag, progress + .small")):
        for size in (DESKTOP, PHONE):
            page.set_viewport_size(size)
            page.goto(path)
            lines = page.locator(cells).evaluate_all(LINES_OF_FIRST_WORDS)
            assert lines
            assert {n for _, n in lines} == {1}, (path, lines)
