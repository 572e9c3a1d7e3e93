"""Three people disagree and an expert settles, in a real Chromium: by keys, in German, on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from test_expert_page import LOUD, NOT, answered

from browser_tab import PHONE, fits, open_tab
from davy.annotation.project.store import members, posts
from davy.annotation.settling.store import verdicts
from davy.people.store import users
from davy.text.lexicons.read import Lexicon
from labelling import make_lamps

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESKTOP = {"width": 1280, "height": 900}
STRICT = {"adjudication": {"rude": {"rule": "unanimous"}}}

Open = Callable[..., Any]


@pytest.fixture
def as_(browser, live) -> Iterator[Open]:
    """Open a tab as somebody; the test fails when a console shows an error."""
    troubles: list[str] = []

    def open_as(login: str, **options: Any) -> Any:
        return open_tab(browser, live, troubles, login, **{"viewport": DESKTOP, **options})

    yield open_as
    assert troubles == []


def add_annotators(live: Any, *logins: str) -> None:
    with live.site.store.write() as db:
        for login in logins:
            user = users.add(db, login=login, name=f"{login} person", role="annotator", by="shell")
            members.add(db, "lamps", user.id, ["annotator"], by="shell")
            members.consent(db, "lamps", user.id)


def asked(page: Any, question: str) -> None:
    """Wait until the keys act on a question."""
    page.wait_for_function(
        "name => document.activeElement.closest('fieldset')?.dataset.question === name", arg=question
    )


def label_by_keys(page: Any, *keys: str) -> None:
    page.goto("/projects/lamps/label")
    page.locator("#answer").wait_for()
    for key in keys:
        page.keyboard.press(key)
    page.locator("#answer").wait_for(state="detached")


def test_three_people_disagree_and_an_expert_settles_by_keys(live, as_):
    object.__setattr__(live.site.app.state.context, "lexicon", Lexicon.of("grumblefop"))
    make_lamps(live.site, ["You grumblefop, mind the lamp!"], answers=3, settings=STRICT)
    add_annotators(live, "mallow", "nettle")
    label_by_keys(as_("annotator"), "2", "1", "1", "1", "Enter")  # rude, loudly, capitals, bakers
    label_by_keys(as_("mallow"), "2", "2", "1", "3", "Enter")  # rude, slyly, irony, cats
    label_by_keys(as_("nettle"), "1", "Enter")  # not rude

    page = as_("expert")
    page.goto("/projects/lamps/expert")
    page.get_by_role("button", name="Settle the next case").press("Enter")
    page.wait_for_url("**/expert/*")
    assert "grumblefop" not in page.locator("#post").inner_text()
    for name in ("annotator person", "mallow", "nettle"):
        assert name not in page.content()
    chips = page.locator(".split").first.locator("tr")
    assert [row.locator(".voice").count() for row in chips.all()[1:]] == [1, 2]
    page.keyboard.press("2")
    # Nobody else agrees on how, in which words and to whom, so these are asked at once.
    asked(page, "how")
    page.keyboard.press("2")
    asked(page, "words")
    page.keyboard.press("2")
    asked(page, "whom")
    page.keyboard.press("3")
    page.keyboard.press("c")
    page.keyboard.type("The praise is false; the capitals are a quotation.")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/expert")
    assert "Settled." in page.content()
    with live.site.store.read() as db:
        key = posts.find_key(db, "lamps", "one-1")
        found = verdicts.of_post(db, key, scheme="lamps", version=1, project="lamps")
    assert {name: it.labels for name, it in found.items()} == {
        "rude": ("rude",), "how": ("sly",), "words": ("praise",), "whom": ("cats",)
    }  # fmt: skip
    assert {it.basis for it in found.values()} == {"expert"}
    assert found["rude"].reason.startswith("The praise")

    page.goto("/projects/lamps/verdicts")
    assert page.get_by_text("The praise is false").count() == 1


def test_an_expert_settles_on_a_phone_in_german_without_a_script(live, as_):
    make_lamps(live.site, ["Mind the lamp!"], answers=3, settings=STRICT)
    add_annotators(live, "mallow", "nettle")
    label_by_keys(as_("annotator"), "2", "1", "1", "1", "Enter")
    label_by_keys(as_("mallow"), "2", "1", "1", "1", "Enter")
    label_by_keys(as_("nettle"), "1", "Enter")
    with live.site.store.write() as db:
        users.set_language(db, live.site.people["expert"].id, "de", by="shell")
    page = as_("expert", viewport=PHONE, java_script_enabled=False, color_scheme="dark")
    page.goto("/projects/lamps/expert")
    page.get_by_role("button", name="Nächsten Fall entscheiden").click()
    page.get_by_label("Nicht grob").check()
    page.get_by_label("Ihre Begründung").fill("Ein Zitat.")
    page.get_by_role("button", name="Entscheiden").click()
    page.wait_for_url("**/expert")
    assert "Entschieden." in page.content()
    page.goto("/projects/lamps/verdicts")
    assert "Fachkraft" in page.content()


def test_an_expert_ticks_all_on_the_page_leaves_one_out_and_settles_the_rest(live, as_):
    object.__setattr__(live.site.app.state.context, "lexicon", Lexicon.of("grumblefop"))
    lamps = make_lamps(live.site, [f"You grumblefop number {n}!" for n in range(3)], answers=3, settings=STRICT)
    for number in range(3):
        answered(lamps, number, [LOUD, NOT, NOT])
    page = as_("expert")
    page.goto("/projects/lamps/expert")
    page.get_by_role("link", name="Settle several at once").click()
    boxes = page.locator("input[name=case]")
    page.get_by_label("All on this page").check()
    assert [box.is_checked() for box in boxes.all()] == [True, True, True]
    boxes.nth(1).uncheck()
    assert not page.get_by_label("All on this page").is_checked()
    assert page.locator("#all").evaluate("it => it.indeterminate")
    assert "grumblefop" not in page.locator("#many").inner_text()
    page.get_by_label("What most people said").check()
    page.get_by_label("Your reason").fill("A quotation.")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("heading", name="Settle 2 cases?").wait_for()
    assert page.get_by_text("Is the post rude? Not rude").count() == 1
    page.get_by_role("button", name="Settle 2 cases").click()
    page.get_by_text("Settled: 2.").wait_for()
    assert boxes.count() == 1
    assert fits(page)
