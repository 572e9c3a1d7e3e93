"""The story of two rounds of scripted people, and the page that closes one, in a real Chromium."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from davy.annotation.project.store import members
from davy.people.store import sessions, users
from davy.rounds.close_round import CloseSettings, close_project_round
from davy.rounds.open_round import open_round
from round_project import HARMLESS, HATEFUL, RoundBench, make_round

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
WORDS = ("zebra", "melon", "river", "candle", "marble", "thunder", "velvet", "pepper", "lantern", "harbor", "meadow",
         "copper", "ginger", "saddle", "pillow", "walnut")  # fmt: skip


def play(bench: RoundBench, n: int, start: int, *, fooled: int) -> None:
    """Let people enter, confirm and contrast; every ninth entry splits the panel and goes to the expert."""
    for i in range(start, start + n):
        words = f"{WORDS[i % 16]} {WORDS[i * 5 % 16]} {WORDS[i * 11 % 13]} {i * 7919}"
        said = "not hateful" if i % 10 < fooled else "hateful"
        entry = bench.enter("ada", f"{words} wuzzle grumblefop 🐍", HATEFUL, said=said, seconds=25.0 + i % 7,
                            strategy=("irony or mockery", "emoji for a group")[i % 2])  # fmt: skip
        bench.label("bo", HATEFUL)
        bench.label("cy", HARMLESS if i % 9 == 0 else HATEFUL)
        if i % 9 == 0:
            bench.decide("eve", {"hate": ("hateful",)})
        bench.contrast("ada", bench.now(entry), f"{words} wuzzle grumblefop 🌻", HARMLESS, said="hateful", seconds=15.0)
        bench.label("bo", HARMLESS)
        bench.label("cy", HARMLESS)


@pytest.fixture
def told(live, tmp_path) -> RoundBench:
    """A closed round and a second one under way against its winner."""
    bench = make_round(live.site.store)
    play(bench, 40, 0, fooled=6)
    closed = close_project_round(live.site.store, "duel", tmp_path, CloseSettings(times=(1, 5)), by="shell")
    with live.site.store.write() as db:
        bench.round = open_round(db, bench.project, targets=[closed.target], by="shell")
        user = users.add(db, login="mo", name="mo", role="annotator", by="shell")
        members.add(db, "duel", user.id, ["manager"], by="shell")
    play(bench, 20, 100, fooled=4)
    bench.enter("ada", "somebody should still read this one 🐍")
    return bench


@pytest.mark.usefixtures("told")
def test_the_story_and_the_close_can_be_read_in_light_dark_and_on_a_phone(live, browser):
    with live.site.store.write() as db:
        _, token = sessions.start(db, users.find(db, "mo").id)
    troubles: list[str] = []
    for name, view in VIEWS.items():
        context = browser.new_context(base_url=live.url, locale="en", **view)
        context.add_cookies([{"name": "davy-session", "value": token, "url": live.url}])
        page = context.new_page()
        page.on("console", lambda it: troubles.append(it.text) if it.type in ("error", "warning") else None)
        for path in ("story", "2/close", "1/close"):
            page.goto(f"/projects/duel/rounds/{path}")
            page.wait_for_load_state("networkidle")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{path} is {wide} px too wide ({name})"
            if os.environ.get("DAVY_SHOTS"):
                file = Path(os.environ["DAVY_SHOTS"]) / f"{path.replace('/', '-')}-{name}.png"
                page.screenshot(path=file, full_page=True)
            if path == "story":
                text = page.inner_text("main")
                for words in ("How often people fool the target", "Quality of the labels", "μ (σ)", "🐍"):
                    assert words in text
                assert "wuzzle" not in text
            if path == "2/close":
                assert page.locator('input[name="pending"][value="drop"]').count() == 1
        context.close()
    assert troubles == []


@pytest.mark.usefixtures("told")
def test_the_story_is_told_in_german_on_a_phone(live, browser):
    with live.site.store.write() as db:
        account = users.find(db, "mo")
        users.set_language(db, account.id, "de", by="shell")
        _, token = sessions.start(db, account.id)
    context = browser.new_context(base_url=live.url, **VIEWS["phone"])
    context.add_cookies([{"name": "davy-session", "value": token, "url": live.url}])
    page = context.new_page()
    page.goto("/projects/duel/rounds/story")
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{wide} px too wide"
    heads = page.locator("thead th").all_inner_texts()
    assert {"Runde", "Einträge vorher", "geprüft", "verworfen", "Median (s)"} <= set(heads)
    assert not {"round", "value", "reviewed", "input entries"} & set(heads)
    if os.environ.get("DAVY_SHOTS"):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.screenshot(path=Path(os.environ["DAVY_SHOTS"]) / "story-de.png", full_page=True)
    context.close()
