"""The chain of EDOS: two platforms, six samplers with judges, a screening, three answers and experts, three tasks.

The posts are made up, in the shape of Reddit's dumps and Gab's; `wuzzle` stands for the hurtful words.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from chain import Chain, accept, decide, hub_rows, label, send, sign_in, unpacked

PLACES = ("market", "station", "garden", "harbour", "museum", "library", "theatre", "park")
TIMES = ("this morning", "in the evening", "every day", "on Monday")
THREAT = "I will hurt every wuzzle that I meet at the {place} {when}, and this is note {n}"
INSULT = "Every wuzzle who works at the {place} is a stupid animal {when}, and this is note {n}"
KIND = "The people whom I met at the {place} were kind and lovely {when}, and this is note {n}"
BOARDS = ("TheRedPill", "MGTOW", "gardening")

PLAN = """
name: two-platforms
version: 1
title: Reddit and Gab, by words, by tenths, where judges disagree, by chance
by: platform
judges: {words: "keywords:words.txt#hate", other: "keywords:other.txt#hate"}
pools:
  gab: {n: 100}
  reddit:
    at-least: 2
    each: 20
    categories: {the red pill: [TheRedPill], men going their own way: [MGTOW]}
samplers:
  - keyword: {name: word, words: list.txt, n: 5}
  - deciles: {name: tenths, judge: words, n: 10}
  - disagreement: {name: judges disagree, judges: [words, other], by: 0.5, n: 3}
  - random: {name: by chance, n: 5}
"""
PROJECT = """
name: sexism
title: Sexism on two platforms
preset: edos
phases: {screening: {posts: gold.csv, pass: {accuracy: 0.8, questions: [sexist]}}}
roster:
  - {login: ada, roles: [manager]}
  - {login: bea, roles: [annotator]}
  - {login: cem, roles: [annotator]}
  - {login: dia, roles: [annotator]}
  - {login: eli, roles: [expert]}
"""
SUITE = """
name: sexism-suite
version: 1
lang: en
scheme: edos
question: sexist
counts: {cases: 2, templates: 1}
lexicons: {group: [{name: wuzzle, target: women, text: wuzzle}]}
functionalities:
  - name: plain
    title: An attack, and a kind word
    label: sexist
    labels: {polarity: not sexist}
    templates:
      - {id: plain-1, text: "Every {group} is a stupid animal", polarity: "The people were kind and lovely"}
"""
CHALLENGE = """
name: sexism-task
title: Three levels of sexism
description: Made up.
scheme: edos
data:
  train: {file: split.jsonl, split: train, labels: public}
  test: {file: split.jsonl, split: test, labels: hidden}
tasks:
  - {name: A, question: sexist}
  - {name: B, question: category, after: [A]}
phases:
  - {name: test, data: test, limit: 2, board: teams, survey: false, windows: {A: [+0d, +10d], B: [+10d, +20d]}}
"""


def text(n: int) -> str:
    """The text of the n-th post: two of four are sexist."""
    shape = (THREAT, KIND, INSULT, KIND)[n % 4]
    return shape.format(place=PLACES[n % 8], when=TIMES[n // 8 % 4], n=n)


def write_archives() -> None:
    """Write a month of Reddit's comments, one on a board outside the plan, and Gab's posts; one text is on both."""
    comments = [
        {"id": f"c{n}", "body": text(n), "author": "somebody", "subreddit": BOARDS[n % 2 if n else 2],
         "created_utc": 1_647_432_000 + n, "link_id": "t3_x", "parent_id": "t3_x"}
        for n in range(20)
    ]  # fmt: skip
    Path("RC_2022-03.jsonl").write_text("\n".join(map(json.dumps, comments)))
    posts = [
        {"id": 100 + n, "body": text(n), "created_at": "2022-03-16T10:00:00Z", "user": {"id": 7, "username": "Ada"}}
        for n in range(19, 40)
    ]
    Path("gab.jsonl").write_text("\n".join(map(json.dumps, posts)))
    Path("words.txt").write_text("wuzzle\t0.9\nstupid\t0.3\n")
    Path("other.txt").write_text("animal\t0.9\n")
    Path("list.txt").write_text("wuzzle\n")


def judge(html: str) -> dict[str, str]:
    """What a trained person says of a post."""
    if "I will hurt" in html:
        return {"sexist": "sexist", "category": "threats, plans to harm and incitement", "vector": "threats of harm"}
    if "stupid animal" in html:
        return {"sexist": "sexist", "category": "derogation", "vector": "descriptive attacks"}
    return {"sexist": "not sexist"}


def doubtful(html: str) -> dict[str, str]:
    """What one person says, who finds no threat in a wish."""
    return {"sexist": "not sexist"} if "I will hurt" in html else judge(html)


def test_posts_of_two_platforms_become_a_corpus_and_a_challenge_in_two_steps(chain: Chain) -> None:
    davy = chain.davy
    write_archives()
    for platform, file in (("reddit", "RC_2022-03.jsonl"), ("gab", "gab.jsonl")):
        davy("collect", file, "--platform", platform, "--out", f"{platform}.parquet")
    davy("clean", "reddit.parquet", "gab.parquet", "--recipe", "edos", "--out", "clean.parquet")
    assert len(pl.read_parquet("clean.parquet")) == 40
    Path("plan.yaml").write_text(PLAN)
    davy("sample", "clean.parquet", "--plan", "plan.yaml", "--out", "sample.parquet")
    assert "gardening" in chain.said, "posts of boards outside the plan are named"
    sample = pl.read_parquet("sample.parquet")
    assert {"judge.words", "judge.other", "sampler.tenth"} <= set(sample.columns)

    davy("database", "create")
    answers = [judge(text(n + 100)) for n in range(4)]
    gold = [{"id": f"g{n}", "text": text(n + 100), **{f"{q}.gold": a for q, a in one.items()}}
            for n, one in enumerate(answers)]  # fmt: skip
    Path("gold.csv").write_text(pl.DataFrame(gold, infer_schema_length=None).write_csv())
    Path("sexism.yaml").write_text(PROJECT)
    created = davy("project", "create", "sexism.yaml", "--posts", "sample.parquet", "--json")
    with chain.server() as browser:
        team = {login: accept(browser(), link, login, "sexism", consents=login != "ada")
                for login, link in created["invitations"].items()}  # fmt: skip
        davy("project", "open", "sexism", "screening")
        assert [label(team[login], "sexism", judge) for login in ("bea", "cem", "dia")] == [4, 4, 4]
        davy("project", "close", "sexism", "screening")
        davy("project", "open", "sexism", "main")
        assert label(team["bea"], "sexism", judge, most=5) == 5
    with chain.server() as browser:  # the server was stopped, and goes on
        team = {login: sign_in(browser(), login) for login in team}
        label(team["bea"], "sexism", judge)
        assert label(team["cem"], "sexism", judge) == len(sample)
        assert label(team["dia"], "sexism", doubtful) == len(sample)
        threats = sum("I will hurt" in one for one in sample["text"])
        assert decide(team["eli"], "sexism", judge) == threats, "one of three saw no threat: an expert decides"

        davy("project", "corpus", "sexism", "--out", "corpus.jsonl")
        corpus = pl.read_ndjson("corpus.jsonl")
        assert (corpus["sexist.basis"] == "expert").sum() == threats
        davy("split", "corpus.jsonl", "--plan", "60/40", "--stratify", "sexist", "--out", "split.jsonl")
        davy("train", "split.jsonl", "--split", "train", "--scheme", "edos", "--kind", "tfidf", "--out", "run")
        model = "run/seed-1/model"
        test = ("split.jsonl", "--split", "test", "--scheme", "edos")
        evaluated = davy("evaluate", *test, "--model", model, "--resamples", "50", "--out", "report", "--json")
        assert evaluated["questions"]["sexist"]["models"][model]["figures"]["macro_f1"]["value"] == 1.0
        Path("suite.yaml").write_text(SUITE)
        assert davy("check", "suite.yaml", "--model", model, "--out", "check", "--json")["models"]
        davy("describe", "split.jsonl", "--scheme", "edos", "--out", "about")

        # Every exported post says by which rule, sampler and score it came in, and how people voted.
        davy("project", "export", "sexism", "--exchange-format", "huggingface", "--out", "hub")
        rows = {row["id"]: row for row in hub_rows(chain.folder / "hub")}
        assert set(rows) == set(sample["id"])
        for taken in sample.iter_rows(named=True):
            row = rows[taken["id"]]
            assert row["sampler"] == taken["sampler"]
            known = json.loads(row["judges"] or "{}")
            assert known.get("words") == taken["judge.words"]
            assert sum(json.loads(row["sexist_votes"]).values()) == 3

        # Task B's posts give task A's labels away, so they are given out when A is closed.
        Path("sexism-task.yaml").write_text(CHALLENGE)
        davy("challenge", "create", "sexism-task.yaml", "--organiser", "ada")
        send(team["cem"], "/challenges/sexism-task/accept", {}, page="/challenges/sexism-task")
        send(team["cem"], "/challenges/sexism-task/team/create", {"name": "lamps"}, page="/challenges/sexism-task/team")
        for task in ("A", "B"):
            davy("challenge", "kit", "sexism-task", "--out", f"kit-{task}.zip")
            kit = unpacked(Path(f"kit-{task}.zip"), Path(f"kit-{task}"))
            assert (kit / "data" / "test-B.jsonl").is_file() == (task == "B")
            scored = f"scored-{task}.csv"
            davy("score", kit / "data" / f"test-{task}.jsonl", "--model", model, "--out", scored)
            davy("challenge", "submit", "sexism-task", scored, "--team", "lamps", "--phase", "test", "--task", task)
            davy("work", "--once", "--files", "files")
            board = davy("challenge", "board", "sexism-task", "--phase", "test", "--task", task, "--json")
            assert [row["system"] for row in board["rows"]] == ["lamps"]
            if task == "A":
                davy("challenge", "open-phase", "sexism-task", "test", "--task", "A", "--closes", "+0m")
                davy("challenge", "open-phase", "sexism-task", "test", "--task", "B")
