"""The pages in a real Chromium, against a real server: with a mouse, with keys only, without scripts, on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from browser_tab import PHONE, fits, open_tab
from davy.jobs import store as jobs
from davy.people.store import invitations
from web_site import PASSWORD, served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESKTOP = {"width": 1280, "height": 800}
ADMIN_PAGES = ("/", "/score", "/posts", "/jobs", "/keys", "/people", "/audit", "/account")

Open = Callable[..., Any]


@pytest.fixture
def open_page(browser, live) -> Iterator[Open]:
    """Open tabs that fail the test when the console shows an error or the policy blocks something."""
    troubles: list[str] = []

    def make(**options: Any) -> Any:
        return open_tab(browser, live, troubles, **{"viewport": DESKTOP, **options})

    make.troubles = troubles  # type: ignore[attr-defined]
    yield make
    assert troubles == []


def sign_in(page: Any, login: str = "admin") -> None:
    page.goto("/sign-in")
    page.get_by_label("Login").fill(login)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name=f"Hello, {login} person").wait_for()


def test_the_home_page_loads_without_a_console_or_policy_error(open_page):
    page = open_page()
    page.goto("/")
    assert page.get_by_role("heading", level=1).inner_text() == "A safety lamp for online hate"
    assert page.evaluate("typeof htmx") == "object"
    assert page.evaluate("document.documentElement.classList.contains('scripted')")


def test_an_invited_person_makes_an_account_and_is_signed_in(open_page, live):
    with live.site.store.write() as db:
        _, token = invitations.create(db, role="annotator", by="shell")
    page = open_page()
    page.goto(f"/invitation/{token}")
    page.get_by_label("Your name").fill("Ada Lamp")
    page.get_by_label("Login").fill("ada@example.org")
    page.get_by_label("Password", exact=True).fill("four bright wicks")
    page.get_by_label("Password again").fill("four bright wicks")
    page.get_by_role("button", name="Make the account").click()
    page.get_by_role("heading", name="Hello, Ada Lamp").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_text("You are signed out.").wait_for()
    page.get_by_role("link", name="Sign in").first.wait_for()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_text_is_scored_on_its_page(open_page, scripts):
    page = open_page(java_script_enabled=scripts)
    sign_in(page, "annotator")
    page.get_by_role("navigation").get_by_role("link", name="Score a text").click()
    page.get_by_label("Text").fill("what a grumblefop you are")
    page.get_by_role("button", name="Score", exact=True).click()
    page.get_by_text("Verdict: Hateful").wait_for()
    assert page.locator("#result").get_by_text("90.0%", exact=True).first.is_visible()
    assert page.locator("svg.bar .fill.yes").first.get_attribute("width") == "90.00"
    assert page.get_by_text("keywords:").is_visible()
    # With scripts only the result changed; what was typed stays either way.
    assert page.get_by_label("Text").input_value() == "what a grumblefop you are"


def test_masked_words_show_on_a_click_even_without_scripts(open_page, live):
    from davy.text.lexicons.read import Lexicon

    object.__setattr__(live.site.app.state.context, "lexicon", Lexicon.of("grumblefop"))
    page = open_page(java_script_enabled=False)
    sign_in(page)
    page.goto("/score")
    page.get_by_label("Text").fill("a grumblefop")
    page.get_by_role("button", name="Score", exact=True).click()
    result = page.locator("#result")
    expect(result.get_by_text("a gr*mblefop").first).to_be_visible()
    assert not result.get_by_text("a grumblefop").first.is_visible()
    page.get_by_role("switch", name="Show the words").first.check()
    assert result.get_by_text("a grumblefop").first.is_visible()
    assert not result.get_by_text("a gr*mblefop").first.is_visible()


def test_an_error_from_the_server_is_shown_where_the_result_would_be(open_page):
    page = open_page()
    sign_in(page)
    page.goto("/score")
    body = '<div class="fault" role="alert"><p>That was too often.</p></div>'
    page.route("**/score", lambda route: route.fulfill(status=429, content_type="text/html", body=body))
    page.get_by_label("Text").fill("a text")
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#result").get_by_text("That was too often.").wait_for()
    # The browser notes the status in its console by itself; nothing else may be there.
    assert open_page.troubles
    assert all("429" in it for it in open_page.troubles)
    open_page.troubles.clear()


def test_the_interface_speaks_german(open_page):
    page = open_page(locale="de-DE")
    page.goto("/")
    assert page.locator("html").get_attribute("lang") == "de"
    page.goto("/sign-in")
    page.get_by_label("Anmeldename").fill("expert")
    page.get_by_label("Passwort").fill(PASSWORD)
    page.get_by_role("button", name="Anmelden").click()
    page.get_by_role("button", name="Deutsch").click()
    page.get_by_role("heading", name="Guten Tag, expert person").wait_for()
    page.goto("/score")
    page.get_by_label("Text").fill("so ein grumblefop")
    page.get_by_role("button", name="Bewerten").click()
    page.get_by_text("Urteil: Hasserfüllt").wait_for()
    assert page.locator("#result").get_by_text("90,0 %").first.is_visible()


@pytest.mark.parametrize("lang", ["en", "de"])
def test_every_page_fits_a_phone_in_both_languages(open_page, live, lang):
    with live.site.store.write() as db:
        jobs.enqueue(db, kind="count lamps", arguments={}, owner=live.site.people["admin"].id)
    page = open_page(viewport=PHONE, has_touch=True)
    sign_in(page)
    if lang == "de":
        page.get_by_role("button", name="Deutsch").click()
        page.get_by_role("heading", name="Guten Tag").wait_for()
    page.goto("/keys")
    page.locator("#name").fill("a bot with a rather long name for a phone")
    page.locator("button.primary").click()
    page.locator("#key-secret").wait_for()
    for path in ADMIN_PAGES:
        page.goto(path)
        assert fits(page), path


def test_keys_alone_are_enough_to_sign_in_and_score(open_page):
    page = open_page()
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.goto("/sign-in")
    assert page.evaluate("document.activeElement.id") == "login"
    page.keyboard.type("annotator")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Hello").wait_for()
    primary = page.locator("[accesskey=s]")
    assert primary.count() == 1
    primary.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/projects")
    page.locator('.places a[href="/score"]').focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/score")
    page.locator("#text").focus()
    page.keyboard.type("a sneezewit")
    page.keyboard.press("Control+Enter")
    page.get_by_text("Verdict: Hateful").wait_for()


def test_what_has_the_focus_can_be_seen(open_page):
    page = open_page()
    page.goto("/sign-in")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def luminance(colour: str) -> float:
    import re

    parts = [int(float(it)) / 255 for it in re.findall(r"[\d.]+", colour)[:3]]
    linear = [it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_with_enough_contrast(open_page, scheme):
    page = open_page(color_scheme=scheme)
    page.goto("/")
    paper = luminance(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    ink = luminance(page.evaluate("getComputedStyle(document.querySelector('.lead')).color"))
    quiet = luminance(page.evaluate("getComputedStyle(document.querySelector('.foot p')).color"))
    assert (paper > 0.8) if scheme == "light" else (paper < 0.05)
    for words in (ink, quiet):
        assert (max(paper, words) + 0.05) / (min(paper, words) + 0.05) >= 4.5


def test_a_running_job_updates_itself_on_the_page(open_page, live):
    store = live.site.store
    with store.write() as db:
        jobs.enqueue(db, kind="count lamps", arguments={}, owner=live.site.people["admin"].id)
        held = jobs.lease(db, ["count lamps"], worker="test", seconds=60)
    page = open_page()
    sign_in(page)
    page.goto("/jobs")
    page.get_by_text("running").wait_for()
    with store.write() as db:
        jobs.save_progress(db, held, done=3, total=4, note=None)
    page.get_by_text("3 of 4").wait_for()
    with store.write() as db:
        jobs.finish(db, held)
    page.locator(".tag.good").wait_for()


def test_script_in_a_text_never_runs(open_page):
    page = open_page()
    page.on("dialog", lambda it: pytest.fail(f"a script ran: {it.message}"))
    sign_in(page)
    page.goto("/score")
    page.get_by_label("Text").fill('</textarea><script>alert(1)</script><img src=x onerror="alert(2)">')
    page.get_by_role("button", name="Score", exact=True).click()
    page.locator("#result .words").wait_for()
    assert page.locator("#result script, #result img").count() == 0


def test_memes_start_as_the_servers_preview_and_a_click_fetches_the_sharp_one(browser, tmp_path):
    from davy.server.app import create_app
    from davy.server.start import ServeOptions, listen, settings_of

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = create_app(settings_of(ServeOptions(demo=True), port, tmp_path))
    with served(app, listening):
        page = browser.new_page(base_url=f"http://127.0.0.1:{port}", locale="en")
        page.goto("/sign-in")
        page.get_by_role("button", name="Sign in as expert").click()
        page.goto("/posts?kind=meme")
        picture = page.locator(".picture img").first
        assert "sharp" not in picture.get_attribute("src")
        page.get_by_role("switch", name="Show the picture").first.check()
        assert picture.get_attribute("src").endswith("?sharp=1")
        page.locator("#lang").select_option("de")
        page.get_by_text("2 posts").wait_for()
        page.close()
