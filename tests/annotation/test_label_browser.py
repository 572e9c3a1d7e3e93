"""Labelling in a real Chromium: by keys alone, on a phone, in German, with a connection that comes and goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from browser_tab import PHONE, another_tab, fits, open_tab
from davy.annotation.labelling.store import annotations, tallies
from davy.people.store import sessions
from davy.text.lexicons.read import Lexicon
from labelling import RUDE, make_lamps

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESKTOP = {"width": 1280, "height": 800}
TEXTS = [f"post number {n} shines" for n in range(1, 13)]

Open = Callable[..., Any]


@pytest.fixture
def open_page(browser, live) -> Iterator[Open]:
    """Open tabs of a signed-in annotator; the test fails when a console shows what was not expected."""
    troubles: list[str] = []

    def make(context: Any = None, **options: Any) -> Any:
        if context:
            return another_tab(context, troubles)
        return open_tab(browser, live, troubles, "annotator", **{"viewport": DESKTOP, **options})

    make.troubles = troubles  # type: ignore[attr-defined]
    yield make
    assert troubles == []


def post_is(page: Any, number: int) -> None:
    """Wait for a post."""
    page.locator("#answer").wait_for()
    page.locator("#post").get_by_text(f"post number {number} shines", exact=True).wait_for()


def mine(lamps: Any) -> list[Any]:
    with lamps.site.store.read() as db:
        return annotations.of_annotator(db, lamps.user("annotator"))[::-1]


def keys(page: Any, *pressed: str) -> None:
    for key in pressed:
        page.keyboard.press(key)


def test_ten_posts_by_keys_alone_with_one_refused_one_undone_and_a_tab_closed_in_between(open_page, live):
    object.__setattr__(live.site.app.state.context, "lexicon", Lexicon.of("shines"))
    lamps = make_lamps(live.site, TEXTS)
    page = open_page()
    page.goto(lamps.path)
    masked = page.locator("#post .masked-text")
    assert masked.inner_text() == "post number 1 sh*nes"
    keys(page, "v")
    post_is(page, 1)
    assert not masked.is_visible()
    keys(page, "v")
    assert masked.is_visible()

    # One question after the other: the keys act on the marked one, the next one comes by itself.
    assert page.locator(".question:visible").count() == 1
    keys(page, "2")
    assert page.locator(".question.current").get_attribute("data-question") == "how"
    keys(page, "2")
    assert page.locator("#q3 .option:visible").all_inner_texts() == ["1\nIrony", "2\nFalse praise"]
    keys(page, "1", "Enter")  # one question is open: nothing is sent, and the focus goes there
    assert page.evaluate("document.activeElement.closest('fieldset').dataset.question") == "whom"
    assert mine(lamps) == []
    keys(page, "1", "3")
    page.keyboard.press("Tab")
    page.locator("[data-own]").focus()
    page.keyboard.type("s; u;", delay=5)  # keys are letters in a text box
    keys(page, "Enter")
    page.locator("#said", has_text="Saved.").wait_for(state="attached")
    page.get_by_text("Post 2 of 12").wait_for()
    assert dict(mine(lamps)[0].answers) == {
        "rude": ("rude",), "how": ("sly",), "words": ("irony",), "whom": ("bakers", "cats", "s", "u"),
    }  # fmt: skip
    assert mine(lamps)[0].seconds > 0
    assert page.evaluate("document.activeElement.id") == "post"
    page.locator(".question.current").wait_for()
    assert page.locator("#q1 .option kbd").all_inner_texts() == ["1", "2"]
    assert page.locator("#q1 .option kbd").first.is_visible()

    # Flags, a comment, the guideline, the list of keys.
    keys(page, "f", "1", "3", "c")
    page.keyboard.type("a remark with r and s")
    keys(page, "Escape", "g")
    assert page.evaluate("document.activeElement.className") == "guide-text"
    keys(page, "g", "?")
    assert page.locator("#keys").is_visible()
    keys(page, "Escape")
    assert not page.locator("#keys").is_visible()
    keys(page, "1", "Enter")
    page.get_by_text("Post 3 of 12").wait_for()
    assert mine(lamps)[1].flags == ("unrealistic", "unsure")
    assert mine(lamps)[1].comment == "a remark with r and s"

    keys(page, "r")
    page.get_by_role("button", name="Press again to refuse").wait_for()
    assert len(mine(lamps)) == 2
    keys(page, "r")
    page.locator("#post .masked-text", has_text="number 4").wait_for()
    assert mine(lamps)[2].refused

    keys(page, "2", "1", "2", "2", "Enter")
    page.locator("#post .masked-text", has_text="number 5").wait_for()
    keys(page, "u")
    page.get_by_text("Your earlier answer is filled in").wait_for()
    assert page.locator("#q1-2").is_checked()
    keys(page, "p", "p", "p", "p", "1", "Enter")
    page.locator("#post .masked-text", has_text="number 5").wait_for()
    assert dict(mine(lamps)[-1].answers) == {"rude": ("not rude",)}
    assert mine(lamps)[-1].replaces == mine(lamps)[-2].id

    # Closed in the middle of an answer: the same post is there again, and work goes on to the tenth answer.
    context = page.context
    keys(page, "2")
    page.close()
    page = open_page(context)
    page.goto(lamps.path)
    for number in range(5, 12):
        page.locator("#post .masked-text", has_text=f"number {number} ").wait_for()
        keys(page, "1", "Enter")
    page.locator("#post .masked-text", has_text="number 12").wait_for()
    with live.site.store.read() as db:
        tally = tallies.get(db, lamps.phase.id, lamps.user("annotator"))
    assert (tally.given, tally.refused) == (10, 1)


EARLIEST_KEYS = """
document.addEventListener("davy:sheet", () => queueMicrotask(() => {
  if (document.querySelector("#post").innerText.includes("number 12 ")) return;
  for (const key of ["1", "Enter"]) {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }
}));
"""
"""Answers each post in the moment in which it is on the page, before the browser does anything else."""


def test_keys_pressed_the_moment_a_post_shows_are_not_lost_and_never_leave_the_page(open_page, live):
    lamps = make_lamps(live.site, TEXTS)
    page = open_page()
    page.add_init_script(EARLIEST_KEYS)
    opened: list[str] = []
    page.on("request", lambda it: opened.append(f"{it.method} {it.url}") if it.is_navigation_request() else None)
    page.goto(lamps.path)
    post_is(page, 12)
    assert len(mine(lamps)) == 11
    assert len(opened) == 1, "an answer that htmx does not send loads a whole page, whose scripts miss the next keys"


def test_an_answer_outlives_a_lost_connection_a_lost_reply_and_an_ended_session(open_page, live):
    lamps = make_lamps(live.site, TEXTS)
    page = open_page()
    page.goto(lamps.path)
    post_is(page, 1)
    page.context.set_offline(True)
    keys(page, "2", "1", "1", "1", "Enter")
    page.get_by_text("Your answer is kept here").wait_for()
    assert page.evaluate("document.getElementById('answer').inert")
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    post_is(page, 2)
    assert not page.locator("#kept").is_visible()
    assert [dict(it.answers) for it in mine(lamps)] == [RUDE]

    # The server saves, but its reply never arrives.
    lost = []

    def lose(route: Any) -> None:
        lost.append(route.fetch())
        route.abort()

    page.route("**/label/*", lose, times=1)
    keys(page, "1", "Enter")
    page.get_by_text("Your answer is kept here").wait_for()
    assert lost[0].status == 200
    assert len(mine(lamps)) == 2
    page.locator("[data-try-now]").dispatch_event("click")  # on a slow machine the page may have tried by itself
    post_is(page, 3)
    assert len(mine(lamps)) == 2

    # A busy server is asked again; a refusal is shown and the answer stays where it is.
    page.route("**/label/*", lambda route: route.fulfill(status=503, body="busy"), times=1)
    keys(page, "1", "Enter")
    page.get_by_text("Your answer is kept here").wait_for()
    post_is(page, 4)
    fault = '<div class="fault" role="alert"><p>No such luck.</p></div>'
    page.route("**/label/*", lambda route: route.fulfill(status=400, content_type="text/html", body=fault), times=1)
    keys(page, "2", "1", "Enter")
    keys(page, "1", "1", "Enter")
    page.get_by_text("No such luck.").wait_for()
    assert page.locator("#q1-2").is_checked()

    # The session ends while somebody thinks: they sign in and the answer is sent.
    with live.site.store.write() as db:
        for it in sessions.of_user(db, lamps.user("annotator")):
            sessions.end(db, it.id, by="shell")
    keys(page, "Escape", "Enter")
    page.get_by_label("Login").fill("annotator")
    page.get_by_label("Password").fill("three warm lamps")
    page.get_by_role("button", name="Sign in").click()
    post_is(page, 5)
    assert dict(mine(lamps)[-1].answers) == RUDE
    assert len(mine(lamps)) == 4
    # The browser notes failed requests by itself; nothing else may be there.
    assert all(it.startswith(("Failed to load resource", "htmx:", "Response Status")) for it in open_page.troubles), (
        "\n".join(open_page.troubles)
    )
    open_page.troubles.clear()


def test_a_second_tab_and_the_way_back_are_answered_kindly(open_page, live):
    lamps = make_lamps(live.site, TEXTS)
    page = open_page()
    page.goto(lamps.path)
    other = open_page(page.context)
    other.goto(lamps.path)
    post_is(other, 1)
    keys(page, "1", "Enter")
    post_is(page, 2)
    keys(other, "2", "1", "1", "1", "Enter")
    other.get_by_text("You had answered that post already").wait_for()
    post_is(other, 2)
    keys(other, "2")
    other.reload()  # what was begun in this tab is still there
    post_is(other, 2)
    assert other.locator("#q1-2").is_checked()
    keys(other, "c")
    other.keyboard.type("half a thought")
    other.reload()
    post_is(other, 2)
    assert other.locator("#q1-2").is_checked()
    assert other.locator("#comment").input_value() == "half a thought"
    other.close()

    keys(page, "1", "Enter")
    post_is(page, 3)
    page.go_back()
    page.get_by_text("You answered this one").wait_for()
    page.get_by_text("post number 2 shines").wait_for()
    assert page.locator("#answer").count() == 0
    page.go_back()
    page.get_by_text("post number 1 shines").wait_for()
    page.wait_for_load_state()  # keys need the scripts of the page that came anew
    keys(page, "Enter")
    post_is(page, 3)
    page.go_back()
    page.get_by_role("button", name="Change this answer").wait_for()
    page.reload()
    keys(page, "u")  # the answer that is shown
    page.get_by_text("Your earlier answer is filled in").wait_for()
    keys(page, "Enter")
    post_is(page, 3)
    assert len(mine(lamps)) == 3


def test_going_back_twice_before_the_scripts_are_there_leads_to_the_second_post_back(open_page, live):
    lamps = make_lamps(live.site, TEXTS)
    page = open_page()
    page.goto(lamps.path)
    for number in (1, 2):
        post_is(page, number)
        keys(page, "1", "Enter")
    post_is(page, 3)
    held: list[Any] = []
    page.route("**/label.js*", lambda route: held.append(route), times=1)
    page.evaluate("() => { history.back(); }")
    page.get_by_text("post number 2 shines").wait_for()
    address = page.url
    page.evaluate("() => { history.back(); }")
    page.wait_for_url(lambda url: url != address, wait_until="commit")
    held[0].continue_()
    page.get_by_text("post number 1 shines").wait_for()


def test_the_page_works_on_a_phone_in_german_and_without_scripts(open_page, live):
    lamps = make_lamps(live.site, [TEXTS[0] * 12, *TEXTS[1:]], settings={"care": {"veil": "blurred"}})
    page = open_page(viewport=PHONE, has_touch=True)
    page.goto(lamps.path)
    page.get_by_role("button", name="Deutsch").tap()
    page.get_by_text("Ist der Beitrag grob?").first.wait_for()
    assert fits(page)
    assert "blur" in page.locator("#post .words").evaluate("it => getComputedStyle(it).filter")
    assert page.locator("#post .words").get_attribute("aria-hidden") == "true"
    page.get_by_role("switch", name="Text zeigen").check()
    assert page.locator("#post .words").evaluate("it => getComputedStyle(it).filter") == "none"
    assert not page.locator(".guide-text").is_visible()
    page.locator("#guide > details > summary").click()
    assert page.get_by_text("zweimal").is_visible()
    page.locator("#guide > details > summary").click()
    page.locator("label[for=q1-2]").tap()
    page.locator("label[for=q2-1]").tap()
    page.locator("label[for=q3-2]").tap()
    page.locator("label[for=q4-3]").tap()
    assert fits(page)
    for button in page.locator("#answer button:visible, #answer .option:visible label").all():
        assert button.bounding_box()["height"] >= 44
    page.get_by_role("button", name="Speichern").tap()
    page.get_by_text("Beitrag 2 von 12").wait_for()
    assert mine(lamps)[0].answers["words"] == ("bangs",)

    plain = open_page(java_script_enabled=False)
    plain.goto(lamps.path)
    post_is(plain, 2)
    plain.locator("#q1-2").check()
    plain.get_by_role("button", name="Speichern").click()
    plain.locator("#q2-2").check()
    plain.locator("#q4-1").check()
    plain.get_by_role("button", name="Speichern").click()
    assert plain.locator("#q3 .option:visible").count() == 2
    plain.locator("#q3-3").check()
    plain.get_by_role("button", name="Speichern").click()
    plain.get_by_text("Gespeichert.").wait_for()
    post_is(plain, 3)
    assert mine(lamps)[1].answers["words"] == ("irony",)
    open_page.troubles[:] = [it for it in open_page.troubles if "422" not in it]
