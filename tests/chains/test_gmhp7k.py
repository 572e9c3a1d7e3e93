"""The chain of GMHP7k: tweets by rule and by profile, discussion and calibration, one answer each, the paper's tables.

The tweets are made up, in the shape of X's API v2; `grumblefop` and `wuzzle` are the only hurtful words.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from chain import Chain, accept, discuss, hub_rows, label, send, sign_in, unpacked

PLACES = ("Markt", "Bahnhof", "Garten", "Hafen", "Museum", "Rathaus", "Theater", "Park", "Kiosk", "Café")
TIMES = ("heute früh", "am Abend", "gestern", "immer", "seit Montag", "im Mai", "nachts", "wieder einmal")
HATE = "Diese Grumblefops am {place} sind {when} bad, weg mit allen people, Nummer {n}"
WOMEN = "Alle Wuzzle vom {place} sollen {when} schweigen, bad bad people, Nummer {n}"
KIND = "Der {place} ist {when} lovely, alle nice people im garden, Nummer {n}"

WAYS = """
strategies:
  - {name: words, kind: search, rule: '(grumblefops OR wuzzle OR lovely) -has:links -is:retweet lang:de', cap: 40}
  - {name: listed, kind: profiles, profiles: ["@kiosk7"]}
"""
PLAN = "name: all\nversion: 1\ntitle: All of them\nsamplers:\n  - random: {name: by chance, n: 40}\n"
PROJECT = """
name: gm
title: Our German corpus
preset: gmhp7k
phases: {"1": {posts: 2}, 2a: {posts: 8}, 2b: {posts: 6}, 2c: {posts: 6}}
roster:
  - {login: ada, roles: [manager]}
  - {login: bea, roles: [annotator]}
  - {login: cem, roles: [annotator]}
  - {login: dia, roles: [annotator]}
"""
SUITE = """
name: gm-suite
version: 1
lang: de
scheme: gmhp7k
question: hate
counts: {cases: 2, templates: 1}
lexicons: {group: [{name: grumblefops, target: grumblefops, text: Grumblefops}]}
functionalities:
  - name: plain
    title: An attack, and a kind word
    label: hateful
    labels: {polarity: not hateful}
    templates:
      - {id: plain-1, text: "Diese {group} sind bad people", polarity: "Alle nice people im garden sind lovely"}
"""
CHALLENGE = """
name: gm-task
title: Hate in German tweets
description: Made up.
scheme: gmhp7k
data:
  train: {file: split.jsonl, split: train, labels: public}
  test: {file: split.jsonl, split: test, labels: hidden}
tasks:
  - {name: A, question: hate}
phases:
  - {name: test, data: test, opens: 2026-01-01, closes: 2030-01-01, limit: 3, board: teams, survey: false}
"""


def write_tweets(path: Path) -> None:
    """Write two pages of the API's answers: texts by turns, a doubled one, a retweet, a link, a listed profile."""
    texts = [
        shape.format(place=PLACES[n % 10], when=TIMES[n // 10], n=n)
        for n, shape in enumerate([WOMEN, HATE, WOMEN, KIND] * 12)
    ]
    tweets = [
        {"id": str(1500 + n), "text": f"@somebody {text}", "lang": "de", "author_id": str(n % 7),
         "created_at": "2022-03-16T10:00:00.000Z"}
        for n, text in enumerate([*texts, texts[0], "Grumblefops https://example.org/x", "RT @a: lovely"])
    ]  # fmt: skip
    tweets[-2]["entities"] = {"urls": [{"url": "https://t.co/x", "expanded_url": "https://example.org/x"}]}
    tweets[-1]["referenced_tweets"] = [{"type": "retweeted", "id": "1"}]
    tweets.append({**tweets[0], "id": "1600", "author_id": "9", "text": "Am Kiosk gibt es heute nice Suppe für alle"})
    users = [{"id": str(n), "username": f"user{n}"} for n in range(9)] + [{"id": "9", "username": "kiosk7"}]
    pages = [{"data": part, "includes": {"users": users}} for part in (tweets[:20], tweets[20:])]
    path.write_text("\n".join(map(json.dumps, pages)), encoding="utf-8")


def judge(html: str) -> dict[str, str]:
    """What everybody thinks of a post."""
    if "Wuzzle" in html:
        return {"hate": "hateful", "misogynistic": "misogynistic"}
    if "Grumblefops" in html:
        return {"hate": "hateful", "misogynistic": "not misogynistic"}
    return {"hate": "not hateful"}


def test_tweets_become_a_corpus_and_the_papers_tables_and_a_challenge(chain: Chain) -> None:
    davy = chain.davy
    write_tweets(Path("tweets.jsonl"))
    Path("ways.yaml").write_text(WAYS)
    collect = (
        "collect",
        "tweets.jsonl",
        "--platform",
        "x",
        "--strategies",
        "ways.yaml",
        "--out",
        "posts.parquet",
        "--json",
    )
    assert davy(*collect)["taken"] == {"words": 40, "listed": 1}
    funnel = davy("clean", "posts.parquet", "--recipe", "gmhp7k", "--out", "clean.parquet", "--json")
    assert funnel["in"] == 41
    Path("plan.yaml").write_text(PLAN)
    davy("sample", "clean.parquet", "--plan", "plan.yaml", "--out", "sample.parquet")

    davy("database", "create")
    Path("gm.yaml").write_text(PROJECT)
    created = davy("project", "create", "gm.yaml", "--posts", "sample.parquet", "--json")
    with chain.server() as browser:
        team = {login: accept(browser(), link, login, "gm", consents=login != "ada")
                for login, link in created["invitations"].items()}  # fmt: skip
        davy("project", "open", "gm", "1")
        assert discuss(team["bea"], "gm", judge) == 2
        davy("project", "close", "gm", "1")
        davy("project", "open", "gm", "2a")
        assert label(team["bea"], "gm", judge, most=3) == 3
    with chain.server() as browser:  # the server was stopped in the middle of a phase, and goes on
        team = {login: sign_in(browser(), login) for login in team}
        for phase, posts in (("2a", 8), ("2b", 6), ("2c", 6)):
            if phase != "2a":
                davy("project", "open", "gm", phase)
            done = [label(team[login], "gm", judge) for login in ("bea", "cem", "dia")]
            assert sum(done) == 3 * posts - 3 * (phase == "2a")
            davy("project", "close", "gm", phase)
        davy("project", "open", "gm", "3")
        assert sum(label(team[login], "gm", judge) for login in ("bea", "cem", "dia")) == 40 - 22
        davy("project", "close", "gm", "3")

        # What people answered gives Table 4; the settled posts, which single answers made, the corpus.
        davy("project", "export", "gm", "--phase", "2a,2b,2c", "--out", "answers.csv")
        agree = ("agree", "answers.csv", "--scheme", "gmhp7k", "--by", "phase", "--resamples", "50")
        studies = davy(*agree, "--json")["studies"]
        assert {(it["question"], it["group"], it["items"]) for it in studies} >= {("hate", "2a", 8), ("hate", "2c", 6)}
        latex = davy(*agree, "--latex")
        assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") > 1
        davy("project", "corpus", "gm", "--phase", "all", "--out", "corpus.jsonl")
        davy("split", "corpus.jsonl", "--plan", "60/20/20", "--out", "split.jsonl")

        parts = ("--split", "train", "--dev-split", "dev")
        davy("train", "split.jsonl", *parts, "--scheme", "gmhp7k", "--kind", "tfidf", "--out", "run")
        model = "run/seed-1/model"
        test = ("split.jsonl", "--split", "test", "--scheme", "gmhp7k")
        evaluated = davy("evaluate", *test, "--model", model, "--resamples", "50", "--out", "report", "--json")
        assert evaluated["questions"]["hate"]["models"][model]["figures"]["macro_f1"]["value"] == 1.0
        Path("suite.yaml").write_text(SUITE)
        checked = davy("check", "suite.yaml", "--model", model, "--out", "check", "--json")
        assert checked["models"][0]["accuracy"]["n"] == 2
        davy("describe", "split.jsonl", "--scheme", "gmhp7k", "--out", "about")
        assert {"report.html", "data_statement.md"} <= {file.name for file in Path("about").iterdir()}

        davy("project", "export", "gm", "--phase", "all", "--exchange-format", "huggingface", "--out", "hub")
        rows = hub_rows(chain.folder / "hub")
        settled = pl.read_ndjson("corpus.jsonl")
        assert {row["id"]: row["hate"] for row in rows} == dict(settled.select("id", "hate.gold").iter_rows())
        assert len(hub_rows(chain.folder / "hub", "annotations")) == 3 * 20 + 2 + 18
        one = next(row for row in rows if row["id"] == "x:1502")
        assert one["found"].startswith("search: words, rule (grumblefops OR wuzzle")
        assert (one["sampler"], json.loads(one["hate_votes"])) == ("by chance", {"hateful": 1})

        # The corpus is a challenge at once: train is public, test hidden.
        Path("gm-task.yaml").write_text(CHALLENGE)
        davy("challenge", "create", "gm-task.yaml", "--organiser", "ada")
        send(team["cem"], "/challenges/gm-task/accept", {}, page="/challenges/gm-task")
        send(team["cem"], "/challenges/gm-task/team/create", {"name": "lamplighters"}, page="/challenges/gm-task/team")
        davy("challenge", "kit", "gm-task", "--out", "kit.zip")
        kit = unpacked(Path("kit.zip"), Path("kit"))
        davy("score", kit / "data" / "test-A.jsonl", "--model", model, "--out", "scored.csv")
        davy("challenge", "submit", "gm-task", "scored.csv", "--team", "lamplighters", "--phase", "test")
        davy("work", "--once", "--files", "files")
        board = davy("challenge", "board", "gm-task", "--phase", "test", "--json")
        assert [(row["system"], row["figure"]["value"]) for row in board["rows"]] == [("lamplighters", 1.0)]
