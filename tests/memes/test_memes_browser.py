"""A team works on memes in a real Chromium: filtered, built, rated, confounded on both sides, until its kind shows."""

from __future__ import annotations

from typing import Any

import pytest
from test_meme_pages import MemeSite

from browser_tab import PHONE, fits, open_tab
from davy.annotation.project.store import members
from davy.image.perceptual_hash import likeness, pack_likeness
from davy.image.picture import read_picture
from davy.memes.store import image_library
from davy.memes.store.image_library import LibraryImage
from drawn_memes import draw
from meme_project import keep, make_memes

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def team(live, tmp_path, monkeypatch) -> MemeSite:
    """A project of memes on a live server, a library of three pictures, and a manager."""
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))
    bench = make_memes(live.site.store, n=2)
    rows = []
    for number, words in enumerate(("red dog", "green hill", "blue sea"), 30):
        stored = keep(live.site.store, draw(number), f"{words}.png")
        rows.append(LibraryImage(stored, words, pack_likeness(likeness(read_picture(draw(number)).image))))
    with live.site.store.write() as db:
        image_library.add(db, rows, by="shell")
        bench.people["boss"] = members.add(db, "memes", live.site.people["expert"].id, ["manager"], by="shell")
    return MemeSite(live.site, bench, [row.key for row in rows])


def tab_of(browser: Any, live: Any, name: str, troubles: list[str], **options: Any) -> Any:
    """Return a tab of somebody of the project."""
    return open_tab(browser, live, troubles, "expert" if name == "boss" else f"{name}@example.org", **options)


def drawn(page: Any) -> None:
    """Wait until the server has drawn the newest layout."""
    page.locator('#meme-stage[aria-busy="false"] svg.meme').wait_for()


def rate(page: Any, label: str) -> None:
    """Rate the meme that waits."""
    page.goto("/projects/memes/label")
    page.get_by_label(label).check()
    if label == "Definitely hateful":
        page.get_by_label("Religion").check()
        page.get_by_label("Slur").check()
    path = page.locator("#sheet").get_attribute("data-path")
    page.get_by_role("button", name="Save").click()
    page.wait_for_function("was => document.querySelector('#sheet')?.dataset.path !== was", arg=path)


def test_from_a_source_meme_to_a_multimodal_one(browser, live, team):
    troubles: list[str] = []
    ada, bo, cy, boss = (tab_of(browser, live, name, troubles) for name in ("ada", "bo", "cy", "boss"))
    ada.goto("/projects/memes")
    ada.get_by_role("link", name="Work on memes").click()
    ada.get_by_role("link", name="Filter a meme").click()
    preview = ada.locator("#post img").get_attribute("src")
    assert "sharp" not in preview, "blurred by the server"
    ada.locator("fieldset").nth(0).get_by_text("Yes").click()
    ada.locator("fieldset").nth(2).get_by_text("No", exact=True).click()
    ada.locator(".shelf li").filter(has_text="green hill").get_by_role("checkbox").check()
    ada.get_by_label("What the picture shows").fill("blue")
    ada.get_by_text("2 of 3 pictures").wait_for()
    ada.locator(".shelf li").filter(has_text="blue sea").get_by_role("checkbox").check()
    assert ada.locator(".shelf input:checked").count() == 2, "what was chosen stays, whatever is searched for"
    ada.get_by_label("They preserve the meme’s meaning and intent").check()
    ada.get_by_role("button", name="Save and go on").click()
    ada.get_by_text("Passed. It waits to be built.").wait_for()

    ada.goto("/projects/memes/memes/build")
    drawn(ada)
    assert ada.locator("#meme-stage svg.meme image").count() == 2, "several pictures are stacked"
    ada.get_by_label("Words").fill("love the way you smell")
    drawn(ada)
    ada.get_by_role("button", name="Save the meme").click()
    ada.get_by_text("Built. Others rate it now.").wait_for()
    ada.get_by_role("button", name="Undo").click()
    drawn(ada)
    assert ada.get_by_label("Words").input_value() == "love the way you smell", "it opens again as it was saved"
    ada.get_by_role("button", name="Save the meme").click()
    ada.get_by_text("Built. Others rate it now.").wait_for()

    for rater in (bo, cy):
        rate(rater, "Definitely hateful")
    bo.goto("/projects/memes/memes/confound")
    bo.get_by_role("link", name="Flip it with another picture").click()
    bo.locator(".shelf li").filter(has_text="red dog").get_by_role("radio").check()
    bo.get_by_role("button", name="Use this picture").click()
    drawn(bo)
    assert bo.get_by_label("Words").get_attribute("readonly") is not None, "only the picture is replaced"
    bo.get_by_role("button", name="Save the meme").click()
    bo.get_by_text("Now the other side.").wait_for()
    bo.get_by_role("link", name="Flip it with another text").click()
    drawn(bo)
    bo.get_by_label("Words").fill("roses smell nice 🌹")
    drawn(bo)
    bo.get_by_role("button", name="Save the meme").click()
    bo.get_by_text("Both sides are answered.").wait_for()

    boss.goto("/projects/memes/memes/families")
    assert boss.locator(".family .tag").all_inner_texts() == ["Undetermined", "not settled yet", "not settled yet"]
    for rater in (ada, cy):
        for _ in range(2):
            rate(rater, "Definitely not hateful")
    boss.reload()
    found = boss.locator(".family .tag").all_inner_texts()
    assert found == ["Multimodal hate", "Benign image confounder", "Benign text confounder"]
    assert troubles == []


def test_a_reported_picture_is_gone_from_every_page_at_once(browser, live, team):
    troubles: list[str] = []
    ada, bo, boss = (tab_of(browser, live, name, troubles) for name in ("ada", "bo", "boss"))
    ada.goto("/projects/memes/memes/filter")
    address = ada.locator("#post img").get_attribute("src")
    ada.get_by_role("link", name="Report this picture").click()
    lock = ada.get_by_role("button", name="Lock the picture now")
    lock.wait_for()
    assert not ada.locator("main img").count(), "nothing here shows it again"
    lock.click()
    ada.get_by_text("The picture is locked.").wait_for()
    for page in (ada, bo, boss):
        for sharp in ("", "?sharp=1"):
            assert page.request.get(address + sharp).status == 404
    boss.goto("/projects/memes")
    boss.get_by_role("link", name="Deal with it").click()
    boss.get_by_label("What did you do about it?").fill("police, file 12")
    boss.get_by_role("button", name="Keep the note").click()
    boss.get_by_text("police, file 12").wait_for()
    assert not boss.get_by_role("link", name="Deal with it").count()
    assert troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_fit_a_phone_in_german(browser, live, team, scheme):
    troubles: list[str] = []
    options = {"viewport": PHONE, "color_scheme": scheme, "locale": "de"}
    ada, boss = (tab_of(browser, live, name, troubles, **options) for name in ("ada", "boss"))
    for page, paths in ((ada, ("", "/filter", "/build")), (boss, ("", "/families", "/figures"))):
        for path in paths:
            page.goto(f"/projects/memes/memes{path}")
            page.wait_for_load_state("networkidle")
            assert fits(page), path
    assert troubles == []
