"""The chain of Hatemoji: seeds, a round of people against a detector, contrasts, its close, the next round.

Texts are made up, in the shape of the published files; `wuzzle` stands for the hurtful words.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
from chain import Chain, accept, hub_rows, label, sign_in, token
from starlette.testclient import TestClient

PLACES = ("the market", "our old school", "a quiet library", "this harbour", "my favourite theatre", "that station")
DOINGS = ("selling bread", "reading letters", "waiting for trains", "singing songs", "painting doors", "feeding birds")
PROJECT = """
name: duel
title: People against a detector
preset: rounds
languages: [en]
roster:
  - {login: mo, roles: [manager]}
  - {login: ada, roles: [annotator]}
  - {login: bo, roles: [annotator]}
  - {login: cy, roles: [annotator]}
"""
PLAN = "name: all\nversion: 1\ntitle: All of them\nsamplers:\n  - random: {name: by chance, n: 8}\n"
HATEFUL = {"hate": "hateful", "type": "derogation", "target": "women"}
HARMLESS = {"hate": "not hateful"}


def text(n: int, emoji: str) -> str:
    """The text of the n-th entry; no two are alike."""
    return f"People {DOINGS[n % 6]} near {PLACES[(n // 2) % 6]} are {emoji} as I noticed on day {n} of my long walk"


def write_files() -> None:
    """Write an archive of plain posts, the target's words, and labelled posts in the shape of HatemojiBuild."""
    posts = [{"id": n, "text": f"{text(n, '🌻')}, a wuzzle said", "time": "2022-03-16"} for n in range(10)]
    Path("posts.csv").write_text(pl.DataFrame(posts).write_csv())
    Path("words.txt").write_text("wuzzle\t0.9\n")
    rows = [
        {"entry_id": f"b{n}", "text": f"{'🐍' if n % 2 else '🌻'} {DOINGS[n % 6]} number {n}", "label_gold": n % 2,
         "type": "none", "target": "['none']", "round.base": 5, "set": "original", "split": "train", "matched_id": None}
        for n in range(20)
    ]  # fmt: skip
    Path("published.csv").write_text(pl.DataFrame(rows).write_csv())


def field(page: str, name: str) -> str:
    """Return the value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return found.group(1)


def write_entry(client: TestClient, address: str, words: str, answers: dict[str, str], **more: Any) -> str:
    """Send the form of an entry or a contrast, as a browser does; return the entry's id."""
    page = client.get(address).text
    form = {"csrf": token(page), "entry_id": field(page, "entry_id"), "text": words, "asked": list(answers), **more}
    sent = client.post(address, data={**form, **{f"answer.{name}": given for name, given in answers.items()}})
    assert sent.status_code == 303, sent.text
    return str(form["entry_id"])


def judge(html: str) -> dict[str, str]:
    """What everybody thinks: the snake is meant as an insult."""
    return HATEFUL if "🐍" in html else HARMLESS


def test_people_fool_a_detector_and_the_next_one_learns_from_it(chain: Chain) -> None:
    davy = chain.davy
    write_files()
    davy("collect", "posts.csv", "--platform", "plain", "--out", "posts.parquet")
    davy("clean", "posts.parquet", "--recipe", "edos", "--out", "clean.parquet")
    Path("plan.yaml").write_text(PLAN)
    davy("sample", "clean.parquet", "--plan", "plan.yaml", "--out", "seeds.jsonl")
    attacked = davy("round", "attack", "seeds.jsonl", "--target", "keywords:words.txt", "--tries", "1", "--json")
    assert attacked["seeds"] == 8

    davy("database", "create")
    Path("duel.yaml").write_text(PROJECT)
    created = davy("project", "create", "duel.yaml", "--json")
    learns = ("--corpus", "hatemojibuild", "--question", "hate", "--kind", "tfidf")
    davy("train", "published.csv", *learns, "--out", "first")
    with chain.server() as browser:
        for login, link in created["invitations"].items():
            accept(browser(), link, login, "duel", consents=login != "mo")
    davy("round", "open", "duel", "--target", "first/seed-1/model", "--lang", "en")
    with chain.server() as browser:
        team = {login: sign_in(browser(), login) for login in created["invitations"]}
        enter = "/projects/duel/rounds/1/enter"
        ids = [write_entry(team["ada"], enter, text(n, "🐍" if n % 2 else "🌻"), HATEFUL if n % 2 else HARMLESS)
               for n in range(12)]  # fmt: skip
        assert label(team["bo"], "duel", judge, most=4) == 4
    with chain.server() as browser:  # the server was stopped, and goes on
        team = {login: sign_in(browser(), login) for login in team}
        label(team["bo"], "duel", judge)
        label(team["cy"], "duel", judge)
        for n in (1, 3):
            contrast = f"/projects/duel/rounds/1/contrast/{ids[n]}"
            write_entry(team["bo"], contrast, text(n, "🌻"), HARMLESS, do="save", change="emoji")
        for login in ("ada", "cy"):
            label(team[login], "duel", judge)
        late = write_entry(team["ada"], enter, text(40, "🐍"), HATEFUL)

    # A close that is refused changes nothing; one that was stopped goes on.
    close = ("round", "close", "duel", "-a", "tfidf", "--times", "1", "--files", "files")
    assert "1 entries of round 1 are not validated" in chain.refused(*close)
    assert "nowhere does not exist" in chain.refused(*close, "--pending", "drop", "--base", "dynahate:nowhere")
    closing = (*close, "--pending", "drop", "--base", "published.csv")
    closed = chain.stop_and_go_on(*closing, "--json", after=3)
    told = davy("round", "status", "duel", "--json")
    assert closed["winner"]["candidate"]["architecture"] == "tfidf"
    assert told

    davy("project", "corpus", "duel", "--out", "corpus.jsonl")
    corpus = pl.read_ndjson("corpus.jsonl")
    assert late not in corpus["id"].to_list()
    assert len(corpus) == 14
    assert corpus["parent"].drop_nulls().sort().to_list() == sorted([ids[1], ids[3]])
    davy("split", "corpus.jsonl", "--plan", "70/30", "--out", "split.jsonl")
    parts = {row["id"]: row["split"] for row in pl.read_ndjson("split.jsonl").iter_rows(named=True)}
    assert all(parts[row["id"]] == parts[row["parent"]] for row in corpus.iter_rows(named=True) if row["parent"])
    davy("train", "split.jsonl", "--split", "train", "--scheme", "hatemoji", "--kind", "tfidf", "--out", "run")
    model = "run/seed-1/model"
    test = ("split.jsonl", "--split", "test", "--scheme", "hatemoji", "--question", "hate")
    assert davy("evaluate", *test, "--model", model, "--resamples", "20", "--out", "report", "--json")["questions"]
    checked = davy("check", "emoji-en", "--model", model, "--out", "checked", "--json")
    assert checked["models"][0]["accuracy"]["n"] > 100
    davy("describe", "split.jsonl", "--scheme", "hatemoji", "--out", "about")
    davy("project", "export", "duel", "--exchange-format", "huggingface", "--out", "hub")
    rows = {row["id"]: row for row in hub_rows(chain.folder / "hub")}
    assert {key: row["hate"] for key, row in rows.items()} == dict(corpus.select("id", "hate.gold").iter_rows())
    assert json.loads(rows[ids[1]]["hate_votes"]) == {"hateful": 3}

    # The next round is held against the new target; one that got worse has to be accepted.
    again = ("round", "open", "duel", "--target", closed["target"], "--lang", "en")
    if closed["worse"]:
        assert "worse than the target before" in chain.refused(*again)
        again = (*again, "--accept-worse")
    assert davy(*again, "--json")["round"] == 2
