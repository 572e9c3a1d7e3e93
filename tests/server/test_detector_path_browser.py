"""From labels to a detector in a real Chromium, without a shell: train, write a suite, check, put into use."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_serve_browser import open_page, sign_in  # noqa: F401 — open_page is a fixture

import exchange_case
from browser_tab import fits
from davy.jobs.kinds import job_functions
from davy.jobs.worker import JobWorker

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GOLD = "text,hate.gold\n" + "".join(
    f"{'bad grumblefop' if i % 2 else 'a lovely garden'} {i},{'hateful' if i % 2 else 'not hateful'}\n"
    for i in range(200)
)


def test_a_detector_is_trained_checked_and_put_into_use_without_a_shell(open_page, live, tmp_path: Path):  # noqa: F811
    site = live.site
    exchange_case.fill(site.store)
    (tmp_path / "gold.csv").write_text(GOLD)
    page = open_page()
    page.set_default_timeout(120_000)  # a training among them
    sign_in(page)
    with JobWorker(site.store, job_functions(long=True), files=site.settings.files_folder, poll_seconds=0.1):
        page.goto("/projects/tea-1/train")
        page.get_by_label("Name", exact=True).fill("kettle")
        page.get_by_text("A file instead of this project's answers").click()
        page.set_input_files("#file", str(tmp_path / "gold.csv"))
        page.get_by_role("button", name="Start training").click()
        page.get_by_text("Is one better?").wait_for()  # comes by itself when the job is done
        page.reload()
        trained = page.url
        page.get_by_role("link", name="Suites").click()
        page.get_by_label("Title").fill("Kettles")
        page.get_by_role("button", name="Make it").click()
        page.get_by_label("Name, such as group").first.fill("thing")
        page.get_by_label("Words, one a line").first.fill("kettle\nlamp")
        page.get_by_label("What it tests").first.fill("Praise")
        page.get_by_label("Templates, one a line").first.fill("a lovely {thing}")
        page.get_by_text("2 cases").wait_for()  # while writing, before saving
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved as version 2").wait_for()
        page.get_by_role("link", name="Check with a suite").click()
        page.get_by_label("kettle").check()
        page.get_by_role("button", name="Start").click()
        page.get_by_text("All cases").wait_for()
        page.goto(trained)
        page.get_by_role("button", name="Use as detector").click()
        page.get_by_text("kettle").first.wait_for()
        page.goto("/score")
        page.get_by_label("Detector", exact=True).select_option("kettle")
        page.get_by_label("Text", exact=True).fill("bad grumblefop")
        page.get_by_role("button", name="Score").click()
        page.get_by_text("Which words carried the answer").wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/score", "/detectors", "/runs", trained, "/projects/tea-1/train", "/projects/tea-1/train/suites"):
        page.goto(path)
        assert fits(page), path
