"""A challenge shaped like EDOS in a real Chromium, from its making to a frozen board."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

import challenge_case
from browser_tab import fits, open_tab
from davy.people.store import users

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DATES = {
    "opens: 2027-01-01, closes: 2027-03-01, limit: 50": "closes: +30d, limit: 2",
    '["2027-02-01T00:00+00:00", "2027-02-10T00:00+00:00"]': "[+30d, +40d]",
    '["2027-02-05T00:00+00:00", "2027-02-20T00:00+00:00"]': "[+40d, +50d]",
}


def packed(folder: Any) -> bytes:
    """The challenge as a zip, its practice open now and its test in a month."""
    path = challenge_case.write_files(folder)
    text = path.read_text()
    for fixed, moving in DATES.items():
        assert fixed in text
        text = text.replace(fixed, moving)
    path.write_text(text)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"mill-valley/{file.name}")
    return made.getvalue()


def predictions(name: str, task: str, wrong: int = 0) -> dict[str, Any]:
    """A file of predictions as a browser sends it."""
    rows = "".join(f"{key},{label}\n" for key, label in challenge_case.answers(name, task, wrong))
    return {"name": "run.csv", "mimeType": "text/csv", "buffer": f"id,label\n{rows}".encode()}


def test_a_challenge_runs_from_its_making_to_a_frozen_board(browser: Any, live: Any, tmp_path):
    site, troubles = live.site, []
    with site.store.write() as db:
        users.add(db, login="outsider", name="Outsider", role="annotator", by="shell")
    phone = {"width": 390, "height": 844}
    people = ("expert", "annotator", "outsider")
    runs, sends, looks = (open_tab(browser, live, troubles, login, viewport=phone) for login in people)

    runs.goto("/challenges/new")
    content = {"name": "c.zip", "mimeType": "application/zip", "buffer": packed(tmp_path)}
    runs.get_by_text("From a zip with a YAML file").click()
    runs.locator("#file").set_input_files([content])
    runs.get_by_role("button", name="Make the challenge").click()
    runs.get_by_text("The challenge is made.").wait_for()

    # A team signs up.
    sends.goto("/challenges")
    sends.get_by_role("link", name="Notes from Mill Valley").click()
    sends.get_by_text("You can download the data once").wait_for()
    sends.get_by_role("button", name="Accept the rules").click()
    sends.get_by_label("Name of the team").fill("Lamplighters")
    sends.get_by_role("button", name="Make the team").click()
    sends.get_by_role("heading", name="Lamplighters").wait_for()

    # A wrong file, which does not count, then two right ones, then the limit.
    def send(file: dict[str, Any], *, survey: bool = False) -> None:
        sends.goto("/challenges/mill-valley/submit")
        sends.locator("#file").set_input_files([file])
        if survey:
            for answer in ("Transformer", "Fine-tuned on this task", "Labelled data of this task only"):
                sends.get_by_label(answer).check()
            sends.locator("#features-none").check()
        sends.get_by_role("button", name="Send").click()

    broken = predictions("train", "A")
    broken["buffer"] = broken["buffer"].replace(b"train-5,yes", b"train-5,perhaps").replace(b"train-7,", b"ghost-7,")
    send(broken)
    assert "The file was not taken and does not count." in sends.get_by_role("alert").first.inner_text()
    sends.get_by_role("row", name="7 perhaps").wait_for()
    sends.get_by_role("row", name="9 ghost-7").wait_for()
    for wrong in (9, 3):
        send(predictions("train", "A", wrong))
        sends.get_by_text("It is scored.").wait_for()  # the page asks again by itself
    send(predictions("train", "A"))
    sends.get_by_text("Your team has used its 2 submissions for task A in practice.").wait_for()

    # The practice board is public; of the hidden test an outsider sees nothing.
    looks.goto("/challenges/mill-valley/board?phase=practice&task=A")
    looks.get_by_role("row", name="Lamplighters").wait_for()
    looks.get_by_text("Ranked by macro-F1 on").wait_for()
    for hidden in (
        "board?phase=test&task=A",
        "data/test?task=A",
        "data/train",
        "kit.zip",
        "organise",
        "submit",
        "team",
    ):
        assert looks.request.get(f"{live.url}/challenges/mill-valley/{hidden}").status == 403, hidden
    assert looks.request.get(f"{live.url}/api/challenges/mill-valley/board?phase=test&task=A").status == 403
    for early in ("data/test?task=A", "data/test?task=B", "data/test"):
        assert sends.request.get(f"{live.url}/challenges/mill-valley/{early}").status == 403, early

    # The organiser opens the test of A; B stays shut, since A is open.
    runs.goto("/challenges/mill-valley/organise")
    runs.get_by_role("button", name="Open now").first.click()
    runs.get_by_text("Saved.").wait_for()
    given = sends.request.get(f"{live.url}/challenges/mill-valley/data/test?task=A")
    assert given.status == 200
    assert len(given.text().splitlines()) == challenge_case.SIZE
    assert "yes" not in given.text()
    assert sends.request.get(f"{live.url}/challenges/mill-valley/data/test?task=B").status == 403
    sends.goto("/challenges/mill-valley/submit")
    sends.locator("input[value='test/A']").check()
    sends.locator("#file").set_input_files([predictions("test", "A", 4)])
    sends.get_by_role("button", name="Send").click()
    sends.get_by_text("so you don't see the figure yet").wait_for()
    sends.get_by_text("Answer all four questions").wait_for()

    # Without the survey the team is not ranked; with it, it is.
    runs.goto("/challenges/mill-valley/board?phase=test&task=A")
    runs.get_by_text("1 team is not ranked").wait_for()
    for answer in ("Transformer", "Fine-tuned on this task", "Labelled data of this task only"):
        sends.get_by_label(answer).check()
    sends.locator("#features-none").check()
    sends.get_by_role("button", name="Save the answers").click()
    sends.get_by_text("The answers are saved.").wait_for()

    def ranked() -> bool:
        runs.goto("/challenges/mill-valley/board?phase=test&task=A")
        return runs.get_by_role("row", name="Lamplighters").count() == 1

    for _ in range(150):
        if ranked():
            break
        runs.wait_for_timeout(200)
    assert "0." in runs.get_by_role("row", name="Lamplighters").inner_text()
    assert sends.request.get(f"{live.url}/challenges/mill-valley/board?phase=test&task=A").status == 403

    # Frozen and opened to all: an outsider reads it, and nothing more is taken.
    runs.goto("/challenges/mill-valley/organise")
    runs.locator("#sure-1").check()
    runs.get_by_role("button", name="Freeze test").click()
    runs.get_by_text("The boards are frozen.").wait_for()
    runs.locator("#board-1").select_option("public")
    runs.locator("form:has(#board-1)").get_by_role("button", name="Save").click()
    runs.get_by_text("Saved.").wait_for()
    looks.goto("/challenges/mill-valley/board?phase=test&task=A")
    looks.get_by_text("Nothing changes any more").wait_for()
    assert looks.get_by_role("row", name="Lamplighters").is_visible()
    sends.goto("/challenges/mill-valley/submit")
    assert sends.locator("input[value='test/A']").count() == 0
    for page in (runs, sends, looks):
        assert fits(page)
    # The browser notes by itself that a file was refused.
    assert [it for it in troubles if not it.startswith("Failed to load resource")] == []
