"""Walk 6 (walk-6-moderation.md): a site sends posts, and a team reviews what a detector is not sure about.

Closing the review while the site sends, and opening it again, is walked in `moderation/test_communities.py`.
"""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from davy.web.i18n import Translator
from fresh_server import FreshServer, Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_CLICKS = 20
UNSURE = ("lamplighters ruin everything", "all lamplighters lie", "I can't stand lamplighters")
SURE = ("a lovely garden by the river", "river people should go back home")
NOWHERE = "https://192.0.2.1/hook"
"""An address for documentation (RFC 5737): nobody listens there. Davy refuses it as one inside a network."""
PUBLIC = "https://192.88.98.1:9/hook"
"""A public address at which nobody listens."""


@pytest.fixture
def fresh(tmp_path: Path):
    with fresh_server(tmp_path / "empty") as server:
        yield server


def send(server: FreshServer, secret: str, first: int, n: int) -> list[str]:
    """Send posts as the site does: every sixth is doubtful."""
    posts = [
        {"id": f"c{i}", "text": f"{UNSURE[i % 3] if i % 6 == 0 else SURE[i % 2]}", "lang": "en"}
        for i in range(first, first + n)
    ]
    sent = {"community": "forum", "posts": posts}
    answer = httpx.post(f"{server.url}/v1/score", json=sent, headers={"Authorization": f"Bearer {secret}"}, timeout=60)
    return [it["decision"] for it in answer.json()["results"]]


def look_again_until(person: Person, words: str) -> None:
    """Load the page again until it has these words: decisions are written every few seconds."""
    for _ in range(30):
        if person.page.get_by_text(words).count():
            return
        person.page.wait_for_timeout(1_000)
        person.page.reload()
    raise AssertionError(f"{words!r} did not come: {person.page.locator('main').inner_text()[:1000]}")


def review_all(person: Person) -> None:
    """Answer every post of the page by keys."""
    page = person.page
    while True:
        page.locator("#answer, #sheet[data-again]").first.wait_for()
        if page.locator("#sheet[data-again]").count():
            return
        was = page.locator("#where").inner_text()
        person.keys("2", "Enter")
        page.wait_for_function(
            "was => !document.querySelector('#answer') || document.querySelector('#where').innerText !== was", arg=was
        )


def test_a_team_reviews_what_a_site_sends(browser, fresh: FreshServer):
    t = Translator("en")
    ada, eve = people = [Person(browser, fresh) for _ in range(2)]
    page = ada.page

    # A project from the preset, with Eve as annotator.
    ada.make_account(fresh.link, "Ada")
    ada.link(t("home.begin.project"))
    ada.link("moderation", exact=False)
    page.locator("#title").fill("Forum review")
    ada.button(t("new_project.go_on"))
    page.locator("#roster").fill("eve")
    ada.button(t("new_project.do"))
    link = page.locator("code.secret").first.inner_text()
    ada.link(t("new_project.open"))
    ada.link(t("step.do.consent"))
    ada.button(t("settings.read_do"))
    eve.make_account(link, "Eve")

    # The site's key, then the community; a refused webhook keeps what was typed.
    ada.link(t("place.server"), exact=True)
    ada.link(t("place.keys"), exact=True)
    page.locator("#name").fill("site")
    page.locator("#name").press("Enter")
    secret = page.locator("code.secret").first.inner_text()
    ada.link(t("place.communities"), exact=True)
    page.locator("#name").fill("forum")
    page.locator("#threshold").fill("0.5")
    page.locator("#low").fill("0.2")
    page.locator("#high").fill("0.9")
    page.locator("#project").select_option(label="Forum review")
    page.locator("input[name=key]").first.press("Space")
    page.locator("#webhook").fill(NOWHERE)
    page.locator("#webhook").press("Enter")
    ada.see("inside a network")
    assert page.locator("#name").input_value() == "forum"
    assert page.locator("#high").input_value() == "0.9"
    page.locator("#webhook").fill(PUBLIC)
    page.locator("#webhook").press("Enter")
    ada.see(t("communities.secret_title"))

    # The phase is not open yet: the page says so, and nothing is lost.
    assert set(send(fresh, secret, 0, 60)) == {"flag", "pass", "review"}
    page.goto("/communities/forum")
    look_again_until(ada, "10 posts wait for review.")
    ada.see("has not been opened")
    ada.link(t("communities.to_review"))
    ada.button(t("step.do.open", phase="review"))
    page.goto("/communities/forum")
    assert not page.get_by_text("has not been opened").count()
    look_again_until(ada, t("communities.failing"))
    ada.button(t("communities.test"))
    ada.see("could not be reached")

    # Eve reviews by keys.
    eve.page.reload()
    eve.link(t("step.do.label"))
    eve.agree()
    review_all(eve)
    page.goto("/communities/forum")
    look_again_until(ada, "0 posts wait for review.")
    ada.link(t("communities.decisions"), exact=True)
    page.locator("#state").select_option("reviewed")
    page.locator("#find").press("Enter")
    page.locator(".tag", has_text="reviewed").nth(9).wait_for()

    clicks = sum(person.clicks for person in people)
    print({person.name: person.clicks for person in people}, clicks)
    assert [person.troubles for person in people] == [[]] * 2
    assert clicks <= MOST_CLICKS
