"""One person without a shell, from questions of their own to a detector in use, in a real Chromium.

They write a scheme, bring an Excel file and a zip of pictures, invite two people, who label; settle what these disagree
on, export, train a detector from the verdicts, check it and put it into use. Every step is a page; only the background
worker is started by hand, as `davy work` would.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from browser_tab import open_tab
from davy.detectors import store as detectors
from davy.jobs.kinds import job_functions
from davy.jobs.worker import JobWorker
from drawn_memes import draw
from excel_file import excel_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESKTOP = {"width": 1280, "height": 900}
UNKIND = "what a grumblefop"
POSTS = [f"{UNKIND if place % 2 else 'a lovely garden'} at number {place}" for place in range(20)]
DIVIDED = (4, 9)
"""Posts on which the two disagree."""


def write_files(folder: Path) -> tuple[Path, Path]:
    """Write the posts as Excel, the last two with a picture each, and the pictures as a zip."""
    pictures = {len(POSTS) - 2: "one.png", len(POSTS) - 1: "two.png"}
    rows = [["nr", "what they wrote", "picture"]]
    rows += [[str(place), text, pictures.get(place, "")] for place, text in enumerate(POSTS)]
    table, packed = folder / "posts.xlsx", folder / "pictures.zip"
    table.write_bytes(excel_file(rows))
    with zipfile.ZipFile(packed, "w") as file:
        for number, name in enumerate(pictures.values()):
            file.writestr(f"pictures/{name}", draw(number))
    return table, packed


def work(live: Any) -> None:
    """Do every long job that waits, as a worker of the server would."""
    worker = JobWorker(live.site.store, job_functions(long=True), files=live.site.settings.files_folder, once=True)
    worker.start()
    worker.join()


def write_scheme(page: Any) -> None:
    page.goto("/schemes")
    page.locator("#title").fill("Street talk")
    page.get_by_role("button", name="Make the scheme").click()
    page.locator("#new-question").fill("Is it unkind?")
    page.get_by_role("button", name="Add the question").click()
    page.locator('[name="label.0.title.en"]').fill("Kind")
    page.locator('[name="label.1.title.en"]').fill("Unkind")
    page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    page.locator('[name="label.1.yes"]').check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("h1 .tag.good").wait_for()


def make_project(page: Any, table: Path, pictures: Path) -> None:
    """Use the scheme; the workbook's columns are chosen once its first rows are seen."""
    page.get_by_role("link", name="Use it in a new project").click()
    page.get_by_label("Title").fill("Street talk")
    page.get_by_label("Address").fill("street")
    page.get_by_role("button", name="Continue").click()
    page.locator('input[name="file"]').set_input_files(table)
    page.get_by_text("Pictures that the posts name").click()
    page.locator("#pictures").set_input_files(pictures)
    page.locator('[name="answers"]').fill("2")
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("what they wrote").first.wait_for()
    page.locator('[name="column.text"]').select_option("what they wrote")
    page.locator('[name="column.id"]').select_option("nr")
    page.locator('[name="column.image"]').select_option("picture")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Make the project").click()
    page.get_by_text("The project is ready.").wait_for()


def invite(owner: Any, browser: Any, live: Any, troubles: list[str], name: str) -> Any:
    """Make a link on the roster's page, and an account by it in a browser of its own."""
    owner.goto("/projects/street/roster")
    owner.get_by_role("button", name="Invite", exact=True).click()
    guest = open_tab(browser, live, troubles, viewport=DESKTOP)
    guest.goto(owner.locator("#invitation-link").inner_text())
    guest.get_by_label("Your name").fill(name)
    guest.get_by_label("Login").fill(name.lower())
    guest.get_by_label("Password", exact=True).fill("four bright wicks")
    guest.get_by_label("Password again").fill("four bright wicks")
    guest.get_by_role("button", name="Make the account").click()
    guest.get_by_role("button", name="Sign out").first.wait_for()
    return guest


def agree(page: Any) -> None:
    """Take part, as whoever reads the posts is asked to."""
    page.goto("/projects/street/consent")
    page.locator("#agree").check()
    page.locator("form.card button.primary").click()
    page.locator("#agree").wait_for(state="detached")


def label_all(page: Any, *, otherwise: tuple[int, ...] = ()) -> int:
    """Agree to take part and label every post by keys: unkind where its words are, but for some."""
    agree(page)
    page.goto("/projects/street/label")
    page.locator("#answer").wait_for()
    done = 0
    while page.locator("#answer").count():
        path, text = page.locator("#sheet").get_attribute("data-path"), page.locator("#post").inner_text()
        number = re.search(r"number (\d+)", text)
        assert number, text
        unkind = (UNKIND in text) != (int(number[1]) in otherwise)
        page.keyboard.press("2" if unkind else "1")
        page.keyboard.press("Enter")
        page.wait_for_function("was => document.querySelector('#sheet')?.dataset.path !== was", arg=path)
        done += 1
    return done


def settle(page: Any) -> int:
    """Take the expert's part as well, and decide every case with a reason."""
    page.goto("/projects/street/roster")
    row = page.locator("ul.roster li").filter(has_text="admin person")
    row.get_by_label("expert", exact=True).check()
    row.get_by_role("button", name="Save the roles of admin person").click()
    agree(page)
    page.goto("/projects/street/expert")
    page.get_by_role("button", name="Settle the next case").click()
    page.wait_for_url("**/expert/*")
    done = 0
    while page.locator("#reason").count():
        case, label = page.url, "unkind" if UNKIND in page.locator("#post").inner_text() else "kind"
        page.locator(f'#open input[value="{label}"]').check()
        page.locator("#reason").fill("Read once more.")
        page.get_by_role("button", name="Settle").first.click()
        page.wait_for_function("was => location.href !== was", arg=case)
        page.wait_for_load_state()
        done += 1
    return done


def export(page: Any, folder: Path) -> str:
    """Make a table of answers and verdicts, and save it."""
    page.goto("/projects/street/exports")
    page.get_by_role("button", name="Make the file").first.click()
    with page.expect_download() as saved:
        page.get_by_role("link", name=re.compile("^street-")).first.click()
    saved.value.save_as(folder / "corpus")
    return (folder / "corpus").read_text(encoding="utf-8")


def train(page: Any, live: Any) -> None:
    page.goto("/projects/street/train")
    page.locator("#name").fill("street lamp")
    page.get_by_role("button", name="Start training").click()
    work(live)
    page.goto("/projects/street/train")
    page.get_by_role("link", name="street lamp").first.click()
    page.get_by_role("heading", name="Check it").wait_for()


def check(page: Any, live: Any) -> None:
    """Write a suite, and run it on the new detector."""
    training = page.url
    page.goto("/projects/street/train/suites")
    page.locator("#title").fill("Gates and gardens")
    page.get_by_role("button", name="Make it").click()
    page.locator("#part-0").fill("Plain insults")
    page.locator("#label-0").select_option(label="Unkind")
    page.locator("#templates-0").fill("what a grumblefop at the gate\nwhat a grumblefop you are")
    page.locator("#part-1").fill("Praise")
    page.locator("#label-1").select_option(label="Kind")
    page.locator("#templates-1").fill("a lovely garden at the gate\na lovely garden by the river")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved as version 2").wait_for()
    page.goto(training)
    page.get_by_role("link", name="Check with a suite").first.click()
    page.locator("#suite").select_option(label="Gates and gardens")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/train/runs/*")
    work(live)
    page.reload()
    page.get_by_text("Plain insults").first.wait_for()
    page.goto(training)


def test_a_person_without_a_shell_goes_from_questions_to_a_detector_in_use(browser, live, tmp_path):
    troubles: list[str] = []
    owner = open_tab(browser, live, troubles, "admin", viewport=DESKTOP)
    write_scheme(owner)
    make_project(owner, *write_files(tmp_path))
    first = invite(owner, browser, live, troubles, "Mo")
    second = invite(owner, browser, live, troubles, "Sol")
    owner.goto("/projects/street")
    owner.get_by_role("button", name="Open phase main").click()
    owner.get_by_text("Phase main is open.").wait_for()
    assert label_all(first) == len(POSTS)
    assert label_all(second, otherwise=DIVIDED) == len(POSTS)
    assert settle(owner) == len(DIVIDED)
    corpus = export(owner, tmp_path)
    assert corpus.count("grumblefop") == len(POSTS)  # half of the posts, each with two answers
    assert "Read once more." in corpus
    train(owner, live)
    check(owner, live)
    owner.get_by_role("button", name="Use as detector").click()
    owner.goto("/score")
    owner.locator("#text").fill(f"{UNKIND} you are")
    owner.locator("#model").select_option(label="street lamp")
    owner.get_by_role("button", name="Score", exact=True).click()
    owner.locator("#result").get_by_text("Unkind").first.wait_for()
    with live.site.store.read() as db:
        (entry,) = [it for it in detectors.list_detectors(db) if it.name == "street lamp"]
    assert (entry.state, entry.questions) == ("active", ("is-it-unkind",))
    assert troubles == []
