"""A project's life in a real Chromium: made from a preset and a file, staffed by a link; German, on a phone."""

from __future__ import annotations

import re

import pytest

from browser_tab import PHONE, fits, open_tab
from davy.annotation.project.store import members, phases
from davy.people.store import users

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_manager_makes_a_project_invites_somebody_and_they_begin(browser, live, tmp_path):
    troubles: list[str] = []
    rows = "".join(f"p{i},Beitrag {i}\n" for i in range(8))
    (tmp_path / "posts.csv").write_text(f"id,text\n{rows}")
    manager = open_tab(browser, live, troubles, "expert")
    manager.goto("/projects")
    manager.get_by_role("link", name="New project").click()
    manager.get_by_role("link", name=re.compile("^gmhp7k German misogynistic hate: talk")).click()
    manager.get_by_label("Title").fill("Am Fluss")
    assert manager.get_by_label("Address").input_value() == "am-fluss"  # from the title
    manager.get_by_role("button", name="Continue").click()
    manager.get_by_label("File with posts").set_input_files(tmp_path / "posts.csv")
    manager.get_by_role("button", name="Continue").click()
    for phase, size in (("1", "0"), ("2a", "0"), ("2b", "0"), ("2c", "0")):
        manager.get_by_label(f"Posts for phase {phase}").fill(size)
    manager.get_by_role("button", name="Continue").click()
    manager.get_by_role("button", name="Make the project").click()
    manager.get_by_text("The project is ready.").wait_for()
    manager.get_by_role("cell", name="Annotators needed: 1. On the roster: 0.").wait_for()

    manager.get_by_role("link", name="Team").click()
    manager.get_by_label("Pool (optional)").fill("new")
    manager.get_by_role("button", name="Invite").click()
    link = manager.locator("#invitation-link").inner_text()

    guest = open_tab(browser, live, troubles, locale="de", viewport=PHONE)
    guest.goto(link)
    assert fits(guest)
    guest.get_by_label("Ihr Name").fill("Mo")
    guest.get_by_label("Anmeldename").fill("mo")
    guest.get_by_label("Passwort", exact=True).fill("four bright wicks")
    guest.get_by_label("Passwort wiederholen").fill("four bright wicks")
    guest.get_by_role("button", name="Konto anlegen").click()
    guest.get_by_text("Im Augenblick wartet hier nichts auf Sie.").wait_for()
    assert fits(guest)

    manager.get_by_role("link", name="Overview").click()
    manager.get_by_role("link", name="Read the consent text before you open the project").click()
    manager.get_by_text("The project has 8 posts.").first.wait_for()
    manager.get_by_role("button", name="I have read it, and it is true").click()
    manager.get_by_role("link", name="Overview").click()
    manager.get_by_role("button", name="Open phase 3").click()
    manager.get_by_text("Phase 3 is open.").wait_for()
    guest.reload()
    guest.get_by_role("link", name="Beiträge einordnen").click()
    guest.get_by_role("heading", level=1).wait_for()
    assert guest.url.endswith("/consent")
    assert "TelefonSeelsorge" in guest.locator("footer").inner_text()

    for page in ("", "/roster", "/guideline", "/guideline/new", "/settings", "/phases/3/settings", "/audit"):
        manager.set_viewport_size(PHONE)
        manager.goto(f"/projects/am-fluss{page}")
        assert fits(manager), page
    with live.site.store.read() as db:
        assert phases.by_name(db, "am-fluss", "3").size == 8
        assert members.get(db, "am-fluss", users.find(db, "mo").id).pool == "new"
    assert troubles == []
