"""The code blocks of docs/serve/communities.md and migrate-from-perspective.md: each does what its page says."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from davy.detectors import embedded
from davy.moderation.server_part import Moderation
from davy.moderation.store import communities
from davy.moderation.threshold_file import read_thresholds
from davy.shell.app import run
from page_blocks import block, blocks
from web_site import make_key

pytestmark = pytest.mark.skipif(
    not {"embedded-en", "embedded-de"} <= set(embedded.shipped_names()), reason="no embedded detectors"
)

GOOGLE, OURS = "https://commentanalyzer.googleapis.com", "https://davy.example.org"
HOSTILE, KIND = "Women belong in the kitchen, and number {} knows it.", "The garden is lovely, and number {} knows it."


@pytest.fixture
def settings(settings):
    """The running server has the embedded detectors."""
    return replace(settings, model="embedded")


def given(capsys, command: list[str]) -> str:
    """Run one command line of a page and return what it printed."""
    code = run(command)
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out + printed.err


def called(live, script: str, key: str) -> str:
    """Run a shell block with the server's address and a key."""
    if shutil.which("curl") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("curl is missing")
        pytest.skip("needs curl")
    surroundings = {**os.environ, "DAVY_URL": live.url, "DAVY_KEY": key, "no_proxy": "127.0.0.1"}
    ran = subprocess.run(["bash", "-ec", script], env=surroundings, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def decided(live, secret: str, **posts: str) -> list[str]:
    """Send posts of the community, with their ids, and return its decisions."""
    decider = live.site.app.state.context.part(Moderation).decider
    decider.refresh()
    body = {"community": "forum", "posts": [{"id": name, "text": text} for name, text in posts.items()]}
    caller = live.site.visitor(authorization=f"Bearer {secret}")
    answer = caller.post("/v1/score", json=body)
    decider.flush()
    return [it["decision"] for it in answer.json()["results"]]


def test_the_page_on_communities(live, capsys):
    first, policy, set_policy, appeal, reasons = blocks("communities.md")
    (_, secret), (other, _) = make_key(live.site), make_key(live.site)
    prefix = secret.split("_")[1]
    placeholders = {"ab12cd34": prefix, "ef56ab78": other.prefix}
    listing, project, create, thresholds, more, fit, export = first.commands(placeholders=placeholders)

    assert prefix in given(capsys, listing)
    given(capsys, project)
    given(capsys, create)
    Path("migration").mkdir()
    Path("migration/thresholds.yaml").write_text(block("migrate-from-perspective.md", "model").text, encoding="utf-8")
    given(capsys, thresholds)
    given(capsys, more)
    with Path("labelled.csv").open("w", encoding="utf-8") as file:
        rows = [
            (f"{gold} {i}", text.format(i), gold)
            for i in range(20)
            for text, gold in ((HOSTILE, "hateful"), (KIND, "not hateful"))
        ]
        csv.writer(file).writerows([("id", "text", "hate.gold"), *rows])
    assert "recall 1.000" in given(capsys, fit)
    with live.site.store.read() as db:
        forum = communities.get(db, "forum")
    assert forum.question == "hate"
    assert len(forum.keys) == 2
    assert (forum.thresholds["offensive"], forum.language_thresholds["de"]["offensive"]) == (0.24628, 0.192)
    answered = decided(live, secret, c0=KIND)
    given(capsys, export)
    exported = Path("decisions.csv").read_text(encoding="utf-8").splitlines()
    assert [row["decision"] for row in csv.DictReader(exported)] == answered

    Path("policy.yaml").write_text(policy.text, encoding="utf-8")
    [command] = set_policy.commands()
    given(capsys, command)
    assert decided(live, secret, c1=HOSTILE, c2=HOSTILE) == ["flag", "flag"]
    assert '"text": "…"' in appeal.text
    answer = json.loads(called(live, appeal.text.replace('"text": "…"', f'"text": "{HOSTILE}"'), secret))
    assert (answer["before"], answer["state"]) == ("flag", "open")
    [command] = reasons.commands()
    given(capsys, command)
    statements = json.loads(Path("statements.json").read_text(encoding="utf-8"))["statements"]
    assert {it["decision_ground_reference_url"] for it in statements} == {yaml.safe_load(policy.text)["url"]}


def test_address_and_key_are_all_that_changes_in_code(live, tmp_path):
    _, secret = make_key(live.site)
    python, shell, *_ = blocks("migrate-from-perspective.md")
    before, after = re.match(r"# before\n(.*?)# after.*?\n(.*)", python.text, re.S).groups()
    built = after[: after.index("\nanswer = ")]
    _, *imported = before.splitlines(keepends=True)
    assert "".join(imported).strip().replace(GOOGLE, OURS).replace("=KEY", "=DAVY_KEY") == built.strip()
    program = (
        f"{before.splitlines()[0]}\nDAVY_KEY, text = {secret!r}, {HOSTILE!r}\n{after.replace(OURS, live.url)}"
        "print(sorted(answer['attributeScores']))\n"
    )
    surroundings = {**os.environ, "no_proxy": "127.0.0.1"}
    command = [sys.executable, "-W", "ignore", "-c", program]
    ran = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    assert ran.stdout == "['IDENTITY_ATTACK', 'TOXICITY']\n", ran.stderr

    _, old, _, new = shell.text.splitlines()
    assert old.replace(GOOGLE, OURS).replace("$KEY", "$DAVY_KEY") == new
    asked = {"comment": {"text": HOSTILE}, "languages": ["en"], "requestedAttributes": {"TOXICITY": {}}}
    (tmp_path / "request.json").write_text(json.dumps(asked), encoding="utf-8")
    answer = json.loads(called(live, new.replace(OURS, live.url), secret))
    assert answer["attributeScores"]["TOXICITY"]["summaryScore"]["value"] > 0.9


def test_a_log_becomes_thresholds_and_a_community(live, capsys):
    *_, compare, thresholds, carry_over = blocks("migrate-from-perspective.md")
    lines = []
    for i in range(80):
        lang, old = ("en", "de")[i % 2], 0.9 if i % 4 < 2 else 0.1
        text = {"en": (HOSTILE, KIND), "de": ("Du dumme Kuh, Nummer {}.", "Der Garten ist schön, Nummer {}.")}[lang]
        scores = {"TOXICITY": {"summaryScore": {"value": old}}}
        posted = {"text": text[old < 0.5].format(i)}
        lines.append(json.dumps({"comment": posted, "languages": [lang], "attributeScores": scores}))
    Path("perspective.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    [command] = compare.commands()
    given(capsys, command)
    written = yaml.safe_load(Path("migration/thresholds.yaml").read_text(encoding="utf-8"))
    shown = yaml.safe_load(thresholds.text)
    assert set(shown) == set(written)
    assert shown["model"] == written["model"]
    assert set(shown["thresholds"]["TOXICITY"]) == set(written["thresholds"]["TOXICITY"])
    assert set(shown["languages"]["de"]["TOXICITY"]) == set(written["languages"]["de"]["TOXICITY"])

    _, secret = make_key(live.site)
    prefix = secret.split("_")[1]
    listing, create = carry_over.commands(placeholders={"ab12cd34": prefix})
    assert prefix in given(capsys, listing)
    given(capsys, create)
    fitted = read_thresholds(Path("migration/thresholds.yaml"))
    with live.site.store.read() as db:
        forum = communities.get(db, "forum")
    assert forum.question == "offensive"
    assert forum.language_thresholds == fitted.languages
    assert forum.thresholds == fitted.common
