"""Calibration in a real Chromium: the last answer opens the gate, a manager goes on, and the pictures are drawn."""

from __future__ import annotations

import pytest

from browser_tab import fits, open_tab
from davy.annotation.project.store import members, phases
from davy.store import events
from simulated_people import Person, careful, gmhp7k, label

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_last_answer_opens_the_gate_and_the_manager_goes_on(browser, live):
    site, troubles = live.site, []
    project, every, people = gmhp7k(site.store, posts=70, people=2, by=site.people["expert"].id, each=16)
    for person in people:
        person.confusion = careful(0.96)
    with site.store.write() as db:
        me = members.add(db, project.id, site.people["annotator"].id, ["annotator"], by=events.SHELL)
        members.consent(db, project.id, me.user)
        for phase in every[:2]:
            phases.open_phase(db, phase.id, by=events.SHELL)
        phases.close_phase(db, every[0].id, by=events.SHELL)
    set_a = every[1]
    label(site.store, project, set_a, people, seed=1)
    label(site.store, project, set_a, [Person(me.user, careful(0.96), pseudonym=me.pseudonym)], seed=2, most=15)

    manager = open_tab(browser, live, troubles, "expert", viewport={"width": 1280, "height": 900})
    manager.goto(f"/projects/{project.id}/phases/2a")
    manager.get_by_text("1 of 3 people have posts left to answer.").wait_for()
    assert manager.get_by_role("button", name="Close the phase").locator("visible=true").count() == 0

    annotator = open_tab(browser, live, troubles, "annotator", viewport={"width": 390, "height": 844})
    annotator.goto(f"/projects/{project.id}/label")
    annotator.locator("#answer").wait_for()
    annotator.keyboard.press("1")
    annotator.keyboard.press("Enter")
    annotator.locator("#answer").wait_for(state="detached")
    annotator.goto(f"/projects/{project.id}/mine")
    assert annotator.locator('td[data-name="Answers"]').all_inner_texts() == ["16"]
    assert fits(annotator)

    manager.reload()
    manager.get_by_role("heading", name="The gate is open").wait_for()
    assert manager.locator(".gate .tag.good").count() == 2
    manager.get_by_role("button", name="Close the phase").click()
    manager.get_by_text("Phase 2a is closed.").wait_for()
    manager.get_by_role("button", name="Open phase 3").click()
    manager.get_by_text("Phase 3 is open.").wait_for()
    with site.store.read() as db:
        assert [it.state for it in phases.of_project(db, project.id)] == [
            "closed", "closed", "waiting", "waiting", "open",
        ]  # fmt: skip

    annotator.goto(f"/projects/{project.id}/phases/2a")
    annotator.get_by_role("link", name="Talk about the disagreements").click()
    annotator.get_by_text("Write a note").first.click()
    annotator.get_by_label("What you found when you talked about it").first.fill("We read it alike now.")
    annotator.get_by_role("button", name="Keep the note").first.click()
    annotator.get_by_text("We read it alike now.").wait_for()
    assert fits(annotator)

    manager.goto(f"/projects/{project.id}/watch")
    picture = manager.locator(".plot svg").first
    assert "hate: " in picture.get_attribute("aria-label")
    box = picture.bounding_box()
    assert box["width"] > 200
    assert box["height"] > 100
    stroke = manager.locator(".chart .line-0 .stroke").first
    light = stroke.evaluate("it => getComputedStyle(it).stroke")
    manager.emulate_media(color_scheme="dark")
    assert stroke.evaluate("it => getComputedStyle(it).stroke") != light
    manager.get_by_label("Coefficient").select_option("alpha")
    manager.wait_for_url("**coefficient=alpha**")
    manager.set_viewport_size({"width": 390, "height": 844})
    assert fits(manager)
    manager.get_by_role("button", name="Deutsch").click()
    manager.get_by_role("heading", name="Übereinstimmung im Verlauf").wait_for()
    assert fits(manager)
    assert troubles == []
