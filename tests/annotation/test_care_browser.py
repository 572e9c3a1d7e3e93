"""Care in a real browser: somebody checks in and their contact sees it; a team codes posts by keyboard alone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from browser_tab import open_tab
from davy import schemes as shipped
from davy.annotation.labelling.store import items
from davy.annotation.project.store import members, phases, posts, projects
from davy.annotation.settling.store import codes
from davy.core import Post
from davy.people.store import users
from davy.schemes.store import schemes
from davy.store import events

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOME = "/projects/pilot"


@pytest.fixture
def team(live):
    """A project on a real server: the annotator, a second one, and the expert as wellbeing contact."""
    site = live.site
    with site.store.write() as db:
        schemes.save(db, shipped.load("edos"), shipped.text_of("edos").decode(), by=events.SHELL)
        projects.create(
            db,
            id="pilot",
            title="Pilot",
            scheme="edos",
            scheme_version=1,
            settings={"support": [{"name": "Night line", "phone": "0800 111"}]},
            by=events.SHELL,
        )
        site.people["second"] = users.add(db, login="second", name="Second", role="annotator", by=events.SHELL)
        for name, role in (("annotator", "annotator"), ("second", "annotator"), ("expert", "wellbeing")):
            members.add(db, "pilot", site.people[name].id, [role], by=events.SHELL)
        phase = phases.add(
            db, "pilot", name="1", kind="production", answers=2, in_corpus=True, settings={}, by=events.SHELL
        )
        for number in range(3):
            posts.add(db, Post(f"p{number}", f"soup number {number}"), project="pilot", by=events.SHELL)
        items.add(db, phase, [(f"p{number}", None, None) for number in range(3)], by=events.SHELL)
    return live


def opened(live, browser, who: str, path: str, **options):
    """Open a page as somebody."""
    page = open_tab(browser, live, [], who, **options)
    page.goto(path)
    return page


def test_a_check_in_is_sent_on_a_phone_and_its_contact_marks_it_as_seen(team, browser):
    writer = opened(team, browser, "annotator", f"{HOME}/care", viewport={"width": 390, "height": 800})
    assert writer.evaluate("document.documentElement.scrollWidth") <= 390
    writer.get_by_label("not so good").check()
    writer.get_by_label("In your words").fill("grumblefops all day")
    writer.get_by_label("Please contact me").check()
    writer.get_by_role("button", name="Send").click()
    assert writer.get_by_role("status").inner_text() == "Sent. Thank you for telling."
    assert "0800 111" in writer.locator("footer").inner_text()

    reader = opened(team, browser, "expert", HOME)
    assert reader.locator(".rooms .mark").inner_text().split() == ["1", "new"]
    reader.get_by_role("link", name="Team").click()
    reader.get_by_role("link", name="Care").click()
    reader.get_by_text("grumblefops all day").wait_for()
    reader.get_by_role("button", name="I have seen it").click()
    reader.get_by_role("status").wait_for()
    assert reader.locator(".rooms .mark").count() == 0


def test_posts_are_coded_by_keyboard_and_others_codes_wait_for_ones_own(team, browser):
    with team.site.store.write() as db:
        stew = codes.create(db, "pilot", "Stew", by=team.site.people["second"].id)
        codes.put(db, "pilot", stew.id, posts.find_key(db, "pilot", "p0"), by=team.site.people["second"].id)
    page = opened(team, browser, "annotator", f"{HOME}/coding", viewport={"width": 1200, "height": 900})
    first = page.locator(".coded-post").first
    assert "Others' codes show once" in first.inner_text()
    page.keyboard.press("c")
    page.keyboard.type("Soup")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Take “Soup” off this post").wait_for()
    assert "Stew · 1" in first.inner_text()  # now that there is an opinion of one's own
    assert page.locator("#code-book").get_by_role("heading", name="2 codes").is_visible()  # came along with the post
    assert page.evaluate("document.activeElement.name") == "name"  # ready for the next code
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("1")
    second = page.locator(".coded-post").nth(1)
    second.get_by_role("button", name="Take").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert "soup number 1" in page.locator(".coded-post[aria-current]").inner_text()
    second.get_by_role("button", name="Take").click()
    second.get_by_text("Others' codes show once").wait_for()
    with team.site.store.read() as db:
        counted = {it.name: it.posts for it in codes.list_codes(db, "pilot")}
    assert counted == {"Soup": 1, "Stew": 1}


def test_codes_that_come_faster_than_the_server_answers_are_all_put(team, browser):
    me = team.site.people["annotator"].id
    with team.site.store.write() as db:
        for name in ("Soup", "Stew"):
            code = codes.create(db, "pilot", name, by=me)
            codes.put(db, "pilot", code.id, posts.find_key(db, "pilot", "p0"), by=me)
    page = opened(team, browser, "annotator", f"{HOME}/coding?show=all", viewport={"width": 1200, "height": 900})
    held: list[Any] = []
    page.route("**/coding/posts", lambda route: held.append(route))
    page.locator(".coded-post").first.focus()
    page.keyboard.press("j")
    post = page.locator(".coded-post[aria-current]")
    for key in ("1", "2", "c"):
        page.keyboard.press(key)
    page.keyboard.type("Bread")
    page.keyboard.press("Enter")
    page.keyboard.type("But")
    for number in (1, 2, 3):
        while not held:
            page.wait_for_timeout(20)
        held.pop().continue_()
        expect(post.get_by_role("button", name="Take")).to_have_count(number)
        expect(post.locator("input[name=name]")).to_have_value("But")
    page.keyboard.type("ter")
    expect(post.locator("input[name=name]")).to_have_value("Butter")
    with team.site.store.read() as db:
        counted = {it.name: it.posts for it in codes.list_codes(db, "pilot")}
    assert counted == {"Soup": 2, "Stew": 2, "Bread": 1}


@pytest.mark.parametrize("first", [0, 1])
def test_two_codes_that_are_taken_off_at_once_both_go_whichever_answer_comes_first(team, browser, first):
    page, post, held = _slow_coding(team, browser, "Soup", "Stew")
    for name in ("Soup", "Stew", "Stew"):  # twice, as people do when nothing happens
        post.get_by_role("button", name=f"Take “{name}” off").click()
    _answer(page, held, 2, first=first)
    expect(post.get_by_role("button", name="Take")).to_have_count(0, timeout=2_000)
    assert held == []


def test_codes_are_put_on_and_taken_off_in_the_order_in_which_people_said(team, browser):
    page, post, held = _slow_coding(team, browser, "Soup", "Stew")
    post.get_by_role("button", name="Take “Soup” off").click()
    post.locator("input[name=name]").fill("Soup")
    page.keyboard.press("Enter")
    post.get_by_role("button", name="Take “Stew” off").click()
    _answer(page, held, 3)
    expect(post.get_by_role("button", name="Take")).to_have_count(1)
    expect(post.get_by_role("button", name="Take “Soup” off")).to_be_visible()
    with team.site.store.read() as db:
        assert {it.name: it.posts for it in codes.list_codes(db, "pilot")} == {"Soup": 1, "Stew": 0}


def _slow_coding(team, browser, *names: str) -> tuple[Any, Any, list[Any]]:
    """Open the coding page with these codes on the first post, and hold every change back."""
    me = team.site.people["annotator"].id
    with team.site.store.write() as db:
        for name in names:
            code = codes.create(db, "pilot", name, by=me)
            codes.put(db, "pilot", code.id, posts.find_key(db, "pilot", "p0"), by=me)
    page = opened(team, browser, "annotator", f"{HOME}/coding?show=all", viewport={"width": 1200, "height": 900})
    held: list[Any] = []
    page.route("**/coding/posts", lambda route: held.append(route))
    return page, page.locator(".coded-post").filter(has_text="soup number 0"), held


def _answer(page: Any, held: list[Any], n: int, *, first: int = 0) -> None:
    """Let `n` changes through, one after the other; `first` is which of those that wait is answered first."""
    for _ in range(n):
        while not held:
            page.wait_for_timeout(20)
        with page.expect_response("**/coding/posts"):
            held.pop(min(first, len(held) - 1)).continue_()
        page.wait_for_timeout(100)  # the answer is on the page before the next one comes
