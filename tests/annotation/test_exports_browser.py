"""Exports in a real Chromium: asked for by keyboard, made while the page waits, saved; a bad upload says where."""

from __future__ import annotations

import json
from typing import Any

import pytest

import exchange_case
from browser_tab import fits, open_tab
from davy.annotation.project.store import members

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_manager_makes_a_file_by_keyboard_and_saves_it(browser: Any, live: Any, tmp_path):
    site = live.site
    exchange_case.fill(site.store)
    with site.store.write() as db:
        members.add(db, "tea-1", site.people["expert"].id, ["manager"], by="shell")
    troubles: list[str] = []
    page = open_tab(browser, live, troubles, "expert", viewport={"width": 390, "height": 844})

    page.goto("/projects/tea-1/exports")
    assert page.get_by_label("training · training").is_checked() is False
    page.locator("#format-corpus").focus()
    page.keyboard.press("ArrowDown")  # Label Studio
    page.keyboard.press("Enter")
    # The page asks for its own part until the file is there; nobody reloads it.
    with page.expect_download() as saved:
        page.get_by_role("link", name="tea-1-label-studio.json").click()
    saved.value.save_as(tmp_path / "saved.json")
    assert len(json.loads((tmp_path / "saved.json").read_text(encoding="utf-8"))) == len(exchange_case.rows())

    page.get_by_text("Bring a file in").click()
    tasks = [{"data": {"text": "<script>x</script>"}, "annotations": [{"completed_by": 1, "result": []}]}]
    content = {"name": "tasks.json", "mimeType": "application/json", "buffer": json.dumps(tasks).encode()}
    page.locator("#file").set_input_files([content])
    page.get_by_label("Format").locator("visible=true").last.select_option("label-studio")
    page.get_by_label("Into the phase").select_option("3")
    page.get_by_role("button", name="Bring it in").click()
    page.get_by_text("tasks.json: task 1: '1' answers no question of scheme 'tea'").wait_for()
    page.get_by_role("button", name="Remove").click()
    page.get_by_text("The file was removed.").wait_for()
    assert fits(page)
    assert troubles == []
