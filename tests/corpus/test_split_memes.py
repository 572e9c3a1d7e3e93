"""Splitting memes: low quality is left out, alike pictures stay together, a second test set is like the first."""

import io
import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from PIL import Image

from davy.core.meme import MEME_KINDS
from davy.corpus.split import plan as plans
from davy.corpus.split.quality import QualityRule, low_quality, read_picture_facts
from davy.corpus.split.run import split
from davy.image.perceptual_hash import distance
from davy.image.picture_names import pictures_in
from davy.shell.app import run


def noise(seed: int, side: int = 160) -> Image.Image:
    """A picture that is like no other."""
    points = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    return Image.fromarray(points).resize((side, side), Image.Resampling.BICUBIC)


def saved(image: Image.Image, format: str = "PNG") -> bytes:
    target = io.BytesIO()
    image.save(target, format)
    return target.getvalue()


@pytest.fixture
def folder(tmp_path):
    for seed in range(6):
        (tmp_path / f"{seed}.png").write_bytes(saved(noise(seed)))
    (tmp_path / "again.jpg").write_bytes(saved(noise(0).resize((200, 200)), "JPEG"))
    (tmp_path / "tiny.png").write_bytes(saved(noise(7, 20)))
    (tmp_path / "plain.png").write_bytes(saved(Image.new("RGB", (160, 160), "#336699")))
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno picture at all")
    return tmp_path


def test_low_quality_says_why_and_spares_the_rest(folder):
    images = ["0.png", "1.png", "tiny.png", "plain.png", "broken.png", "gone.png", None, "0.png", "2.png", "2.png"]
    texts = ["one", "  ", "two", "three", "four", "five", "six", " ONE ", "seven", "seven"]
    gold = ["not hateful"] * 9 + ["hateful"]
    posts = pl.DataFrame({"id": [str(i) for i in range(10)], "text": texts, "image": images, "hate.gold": gold})
    facts = read_picture_facts(images, pictures_in(folder))
    assert low_quality(posts, QualityRule(), facts) == [
        None,
        "no text",
        "its picture is smaller than 64 pixels",
        "its picture is plain",
        "its picture is missing or can't be read",
        "its picture is missing or can't be read",
        "no picture",
        "repeats an earlier meme",
        "the same meme has two different answers",
        "the same meme has two different answers",
    ]


def test_hashes_find_a_copy_in_another_size_and_format_and_under_other_words(folder):
    other = noise(1)
    other.paste("white", (0, 0, 160, 38))
    (folder / "words.png").write_bytes(saved(other))
    names = ["0.png", "again.jpg", "1.png", "words.png"]
    hashes = read_picture_facts(names, pictures_in(folder)).hashes
    assert distance(hashes[0], hashes[1]) <= 31 < distance(hashes[0], hashes[2])
    assert distance(hashes[2], hashes[3]) == 0


def families(n=60):
    """Hateful memes with a confounder on each side, and single memes of the other kinds; some share a picture."""
    rows = []
    for i in range(n):
        for kind in MEME_KINDS[:1] + MEME_KINDS[2:4]:
            rows.append({"id": f"{kind[:9]}{i}", "kind": kind, "group": f"g{i}", "image": f"{i % 6}.png"})
        rows.append({"id": f"u{i}", "kind": MEME_KINDS[1], "group": None, "image": "5.png"})
        rows.append({"id": f"r{i}", "kind": MEME_KINDS[4], "group": None, "image": "5.png"})
    return pl.DataFrame([{**row, "text": f"text {row['id']} w{k} v{k * 7}"} for k, row in enumerate(rows)])


def test_groups_stay_together_and_what_is_not_kept_together_is_reported(folder):
    posts = families()
    facts = read_picture_facts(posts["image"].to_list(), pictures_in(folder))
    plan = plans.load("memes")
    plan = plans.replace(plan, near_duplicates=0, near_pictures=0).with_unseen("10%")
    done = split(posts, plan, facts)
    assert done.sizes() | {"train": 0} == {"train": 0, "dev": 15, "test": 30, "test_unseen": 30, "aside": 30}
    for part in ("test", "test_unseen"):
        counts = Counter(posts["kind"].filter(done.parts == part))
        assert counts == {MEME_KINDS[0]: 12, MEME_KINDS[1]: 3, MEME_KINDS[2]: 6, MEME_KINDS[3]: 6, MEME_KINDS[4]: 3}
    reasons = {leak.reason: leak for leak in done.leaks}
    assert reasons["group"].straddling == 0 < reasons["group"].pairs
    assert reasons["picture, not kept together"].straddling > 0


def test_alike_pictures_stay_in_one_part_when_they_are_asked_to(folder):
    posts = families(12).filter(pl.col("group").is_not_null())
    facts = read_picture_facts(posts["image"].to_list(), pictures_in(folder))
    done = split(posts, plans.replace(plans.load("train=rest,test=30%"), near_duplicates=0), facts)
    parts = posts.with_columns(part=done.parts).group_by("image").agg(pl.col("part").n_unique())
    assert parts["part"].to_list() == [1] * 6


def test_the_command_leaves_out_poor_memes_reports_leaks_and_says_so(folder, tmp_path, capsys):
    posts = families().with_columns(**{"hate.gold": pl.lit("hateful")})
    posts = pl.concat([posts, posts.head(1).with_columns(id=pl.lit("x"), image=pl.lit("broken.png"))])
    posts.rename({"image": "img"}).write_ndjson(tmp_path / "memes.jsonl")
    command = [
        "split",
        str(tmp_path / "memes.jsonl"),
        "--plan",
        "memes",
        "--images",
        str(folder),
        "--test-unseen",
        "30",
    ]
    off = ["--near-duplicates", "0", "--near-pictures", "0"]
    assert run([*command, *off, "--out", str(tmp_path / "s.jsonl"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["left out"] == {"its picture is missing or can't be read": 1}
    assert told["got"]["test_unseen"] == 30
    assert told["leakage"][0]["reason"] == "group"
    made = pl.read_ndjson(tmp_path / "s.jsonl", infer_schema_length=None)
    assert made.filter(pl.col("id") == "x").select("split", "low_quality").row(0) == (
        "aside",
        "its picture is missing or can't be read",
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--images", "nowhere"], "nowhere is not a folder"),
        (["--test-unseen", "lots"], "'lots' is not a size"),
        (["--near-pictures", "900", "--images", "."], "1 to 255 differing bits"),
    ],
)
def test_what_cannot_be_done_is_one_line(folder, monkeypatch, capsys, more, said):
    monkeypatch.chdir(folder)
    families().write_ndjson("memes.jsonl")
    assert run(["split", "memes.jsonl", "--plan", "memes", *more, "--out", "s.jsonl"]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
