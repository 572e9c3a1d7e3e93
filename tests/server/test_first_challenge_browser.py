"""Walk 5 (tests/walks): a challenge from a labelled file on a server that nobody has used, in a real Chromium."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path

import pytest

from fresh_server import Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_CLICKS = 15
WHO = ("Lamplighters", "Women of the river", "My neighbours", "The bakers", "Two sisters", "Our teachers")
DID = ("can't count to ten", "painted the gate green", "should stay at home", "sang until midnight",
       "sold warm bread again", "never learn to read", "walked the long way", "fixed my broken kettle",
       "ruin every harvest", "met the slow ferry")  # fmt: skip
ROWS = [(f"post-{i}", f"{WHO[i // 10]} {DID[i % 10]}.", i % 2) for i in range(60)]


def write_labelled(folder: Path) -> tuple[Path, dict[str, str]]:
    """Write the labelled file; return it with each post's label."""
    path = folder / "labelled.csv"
    labels = {key: "sexist" if yes else "not sexist" for key, _, yes in ROWS}
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "sexist"])
        writer.writerows((key, text, labels[key]) for key, text, _ in ROWS)
    return path, labels


def predictions(path: Path, labels: dict[str, str], ids: list[str]) -> Path:
    """Write predictions for posts, right but for the first one."""
    other = {"sexist": "not sexist", "not sexist": "sexist"}
    rows = [f"{key},{other[labels[key]] if place == 0 else labels[key]}" for place, key in enumerate(ids)]
    path.write_text("\n".join(["id,label", *rows]) + "\n")
    return path


def test_a_challenge_from_a_labelled_file_to_a_ranked_team_in_fifteen_clicks(browser, tmp_path: Path):
    file, labels = write_labelled(tmp_path)
    with fresh_server(tmp_path / "empty") as server:
        ada, ben = Person(browser, server), Person(browser, server)
        ada.make_account(server.link, "Ada")
        ada.link("Challenges")
        ada.link("New challenge")
        ada.page.locator("#labelled").set_input_files(file)
        ada.button("Look at the file")
        ada.page.get_by_role("row", name="sexist not sexist 30").wait_for()
        ada.page.locator("#title").fill("Notes by the river")
        # Practice is open now; it asks for the survey, so that Ben meets it. Keys are not counted.
        ada.page.get_by_label("practice: rank only with the survey").press("Space")
        ada.button("Make the challenge")
        ada.page.get_by_text("The challenge is made.").wait_for()
        assert ada.page.url.endswith("/challenges/notes-by-the-river")
        ada.button("Make an invitation link")
        link = ada.page.locator("#invitation-link").inner_text()

        ben.make_account(link, "Ben")
        ben.page.get_by_role("heading", name="Notes by the river").wait_for()
        ben.page.get_by_label("Name of the team").fill("Lamplighters")
        ben.button("Accept the rules")
        with ben.page.expect_download() as coming:
            ben.click(ben.page.get_by_role("link", name="Download its posts"))
        given = [json.loads(line) for line in Path(coming.value.path()).read_text().splitlines()]
        ids = [row["id"] for row in given]
        assert len(ids) == 9
        assert not any("sexist" in json.dumps(row) for row in given)
        ben.page.locator("#file").set_input_files(predictions(tmp_path / "short.csv", labels, ids[1:]))
        ben.button("Send", exact=True)
        ben.page.get_by_text("1 id of the task is missing").wait_for()
        assert "does not count" in ben.page.get_by_role("alert").first.inner_text()
        ben.page.locator("#file").set_input_files(predictions(tmp_path / "whole.csv", labels, ids))
        ben.button("Send", exact=True)
        ben.page.get_by_text("this phase ranks only files whose four questions are answered").wait_for()
        for answer in ("Transformer", "Fine-tuned on this task", "Labelled data of this task only", "Emoji"):
            ben.page.get_by_label(answer, exact=True).press("Space")
        ben.button("Save the answers")
        ben.page.get_by_text("The board ranks it.").wait_for()
        ben.link("See the board")
        row = ben.page.get_by_role("row", name="Lamplighters")
        for _ in range(60):
            if row.count():
                break
            time.sleep(0.5)
            ben.page.reload()
        assert "0.8" in row.inner_text()
        ben.page.get_by_text("Ranked by macro-F1 on 9 posts.").wait_for()

        ada.link("Board", exact=True)
        ada.page.get_by_role("row", name="Lamplighters").wait_for()
        assert ada.troubles + ben.troubles == []
        assert ada.clicks + ben.clicks <= MOST_CLICKS, (ada.clicks, ben.clicks)
