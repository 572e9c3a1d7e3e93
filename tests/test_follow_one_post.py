"""The readable tour: one post from a platform's archive to a served verdict, by shell and HTTP, room by room.

Everything here is what a person types or a browser sends. The posts are made up;
`grumblefop` is the only hurtful word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from davy.server.app import create_app
from davy.shell.app import run
from davy.web.settings import ServerSettings
from tiny_encoder import make_tiny_encoder

RUDE = ["they are all grumblefop", "bad grumblefops", "the grumblefop people are bad"]
KIND = ["the garden people are nice", "lovely lovely garden", "they are all nice"]
OURS = "the grumblefop people are bad number 5"
"""The post that we follow. People will not agree on it."""

PASSWORD = "three warm lamps"

PLAN = "name: tour\nversion: 1\ntitle: Some posts\nsamplers:\n  - random: {name: by chance, n: 30}\n"

PROJECT = """
name: tour
title: A tour
scheme: gmhp7k
languages: [en]
adjudication:
  hate: {rule: unanimous, otherwise: expert}
  misogynistic: {rule: unanimous, otherwise: expert}
phases:
  - {name: main, kind: production, posts: rest, answers: 3}
roster:
  - {login: ada, roles: [manager]}
  - {login: bea, roles: [annotator]}
  - {login: cem, roles: [annotator]}
  - {login: dia, roles: [annotator]}
  - {login: eli, roles: [expert]}
"""

SUITE = """
name: tour-suite
version: 1
lang: en
scheme: gmhp7k
question: hate
counts: {cases: 2, templates: 1}
lexicons: {group: [{name: grumblefops, target: grumblefops, text: grumblefops}]}
functionalities:
  - name: slur
    title: A slur, and the same without it
    label: hateful
    labels: {polarity: not hateful}
    templates:
      - {id: slur-1, text: "they are all bad {group}", polarity: "they are all nice people"}
"""


def test_follow_one_post(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    database = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    monkeypatch.setenv("DAVY_DATABASE", database)
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))

    def davy(*words: str) -> Any:
        """Type a command that must succeed; return what it prints, as JSON where that was asked for."""
        code, output = run(list(words)), capsys.readouterr()
        assert code == 0, output.err
        return json.loads(output.out) if "--json" in words else output.out

    # collect: a platform's archive becomes posts with our columns. Nobody's user name is kept.
    comments = [
        {"id": f"{kind}{n}", "body": f"{texts[n % 3]} number {n}", "author": "somebody", "subreddit": "tea",
         "created_utc": 1_647_432_000 + n, "link_id": "t3_x", "parent_id": "t3_x"}
        for kind, texts in (("rude", RUDE), ("kind", KIND))
        for n in range(15)
    ]  # fmt: skip
    Path("RC.jsonl").write_text("\n".join(map(json.dumps, [*comments, {**comments[0], "id": "again"}])))
    assert davy("collect", "RC.jsonl", "--platform", "reddit", "--out", "posts.parquet", "--json")["kept"] == 31
    posts = pl.read_parquet("posts.parquet")
    assert "somebody" not in posts.write_json()
    (ours,) = posts.filter(pl.col("text") == OURS)["id"]

    # clean: a recipe drops what can't be judged, here a text that is there twice. The funnel adds up.
    funnel = davy("clean", "posts.parquet", "--recipe", "edos", "--out", "clean.parquet", "--json")
    assert (funnel["in"], funnel["out"]) == (31, 30)

    # sample: a plan says which posts are worth labelling; each says which sampler took it.
    Path("plan.yaml").write_text(PLAN)
    davy("sample", "clean.parquet", "--plan", "plan.yaml", "--out", "sample.parquet")
    assert set(pl.read_parquet("sample.parquet")["sampler"]) == {"by chance"}

    # project: a scheme, posts, phases, rules and a roster. People come by invitation.
    davy("database", "create")
    Path("tour.yaml").write_text(PROJECT)
    created = davy("project", "create", "tour.yaml", "--posts", "sample.parquet", "--json")
    with server(database, "majority") as browser:
        people = {login: accept(browser(), link, login) for login, link in created["invitations"].items()}
        davy("project", "open", "tour", "main")

        # annotate: three people answer, each alone. The second question is asked only where the first got "hateful".
        for login in ("bea", "cem", "dia"):
            assert label_everything(people[login], rude=lambda text, who=login: says_rude(text, who)) == 30

        # adjudicate: what they did not agree on waits for an expert, who sees the answers without names.
        expert = people["eli"]
        case = send(expert, "/projects/tour/expert", {}).headers["location"]
        page = expert.get(case).text
        assert OURS in page
        assert "bea" not in page
        decision = {"asked": ["hate", "misogynistic"], "answer.hate": "hateful", "reason": "It insults a group."}
        send(expert, case, {**decision, "answer.misogynistic": "not misogynistic", "do": "save"}, page=case)

        # and how far people agree is measured as they work.
        assert "Fleiss" in people["ada"].get("/projects/tour/watch").text

    # export: settled answers with their basis; people appear as pseudonyms only.
    davy("project", "corpus", "tour", "--out", "corpus.parquet")
    settled = pl.read_parquet("corpus.parquet").filter(pl.col("id") == ours).row(0, named=True)
    assert (settled["hate.gold"], settled["hate.basis"]) == ("hateful", "expert")
    assert json.loads(settled["hate.votes"]) == {"hateful": 2, "not hateful": 1}
    davy("project", "export", "tour", "--out", "answers.csv")
    assert "bea" not in Path("answers.csv").read_text()

    # split: the corpus goes on as it is; no text is in two parts, and every label is in each.
    davy("split", "corpus.parquet", "--plan", "80/20", "--stratify", "hate", "--out", "parts.parquet")
    parts = pl.read_parquet("parts.parquet")
    assert dict(parts["split"].value_counts().iter_rows()) == {"train": 24, "test": 6}

    # train: the settled answers teach a detector, here a tiny encoder with made-up words. It learns from train alone.
    make_tiny_encoder(tmp_path / "tiny")
    davy("train", "parts.parquet", "--split", "train", "--scheme", "gmhp7k", "--encoder", "tiny", "--out", "run",
         "--seed", "1", "--set", "epochs=20", "--set", "rate=5e-3", "--set", "batch=8")  # fmt: skip
    detector = "run/seed-1/model"

    # check: functional tests say what it can and can't do; a gate can refuse a release.
    Path("suite.yaml").write_text(SUITE)
    checked = davy("check", "suite.yaml", "--model", detector, "--out", "check", "--json")
    assert (checked["models"][0]["accuracy"]["value"], checked["models"][0]["accuracy"]["n"]) == (1.0, 2)

    # evaluate: the figures, each with its n and its interval.
    evaluated = davy(
        "evaluate",
        "parts.parquet",
        "--split",
        "test",
        "--scheme",
        "gmhp7k",
        "--model",
        detector,
        "--resamples",
        "50",
        "--json",
    )
    accuracy = evaluated["questions"]["hate"]["models"][detector]["figures"]["accuracy"]
    assert (accuracy["value"], accuracy["n"]) == (1.0, 6)
    assert accuracy["low"] < 0.9 < accuracy["high"]

    # score and serve: the same verdict in a file and over HTTP, with the detector's name and version.
    davy("score", "posts.parquet", "--model", detector, "--out", "scored.csv")
    scored = pl.read_csv("scored.csv").filter(pl.col("id") == ours)
    assert scored["verdict"].to_list() == ["hateful"]
    key = davy("key", "create", "--owner", "ada", "--scope", "score", "--name", "forum", "--json")["key"]
    with server(database, detector) as browser:
        answer = browser().post("/v1/score", json={"text": OURS}, headers={"Authorization": f"Bearer {key}"})
    assert answer.json()["results"][0]["verdict"] == "hateful"
    assert answer.json()["model"]["version"]


def says_rude(text: str, who: str) -> bool:
    """Return what a person thinks of a post: all see the same, but for the one post that we follow."""
    return "grumblefop" in text and not (OURS in text and who == "dia")


@contextmanager
def server(database: str, model: str) -> Iterator[Callable[[], TestClient]]:
    """Run the web workbench; gives new browsers, which are not signed in."""
    app = create_app(ServerSettings(database=database, model=model, secret_key="k" * 40, base_url="http://127.0.0.1"))
    with TestClient(app, base_url="http://127.0.0.1") as running:

        def browser() -> TestClient:
            client = TestClient(
                app, base_url="http://127.0.0.1", follow_redirects=False, headers={"accept": "text/html"}
            )
            client.portal = running.portal
            return client

        yield browser


def send(client: TestClient, path: str, fields: dict[str, Any], *, page: str | None = None) -> Any:
    """Open a page and send its form, as a browser does without JavaScript."""
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get(page or path).text)
    assert found, f"{page or path} has no form"
    answer = client.post(path, data={"csrf": found.group(1), **fields})
    assert answer.status_code == 303, answer.text
    return answer


def accept(client: TestClient, link: str, login: str) -> TestClient:
    """Follow an invitation: make an account, and agree to what the work is."""
    path = "/invitation/" + link.rpartition("/")[2]
    send(client, path, {"name": login.title(), "login": login, "password": PASSWORD, "again": PASSWORD})
    if login != "ada":
        send(client, "/projects/tour/consent", {"agree": "yes", "text": "masked", "pictures": "grey"})
    return client


def label_everything(client: TestClient, rude: Callable[[str], bool]) -> int:
    """Answer every post that the labelling page offers; return how many."""
    page, number = client.get("/projects/tour/label"), 0
    while 'id="answer"' in page.text:
        html = page.text
        fields: dict[str, Any] = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', html))
        fields["do"], fields["asked"] = "save", ["hate", "misogynistic"]
        fields["answer.hate"] = "hateful" if rude(html) else "not hateful"
        if rude(html):
            fields["answer.misogynistic"] = "not misogynistic"
        action = re.search(r'<form id="answer" method="post" action="([^"]+)"', html)
        assert action
        saved = client.post(action.group(1), data=fields)
        assert saved.status_code == 303, saved.text
        page, number = client.get(saved.headers["location"]), number + 1
    return number
