"""Memes described as the Hateful Memes paper describes them: figures by hand, a page with blurred pictures."""

import base64
import io
import json
import re

import numpy as np
import polars as pl
import pytest
from PIL import Image

from davy.corpus.describe.describe_corpus import describe, write_description
from davy.corpus.describe.memes import describe_memes, top_words
from davy.shell.app import run
from drawn_memes import draw

KINDS = ("multimodal hate", "unimodal hate", "benign image", "benign text", "random non-hateful")


@pytest.fixture
def corpus(tmp_path):
    """Ten memes a part with the paper's composition: 4, 1, 2, 2 and 1 of ten."""
    (tmp_path / "img").mkdir()
    number = 0
    for part in ("train", "dev_seen", "test_seen"):
        lines = []
        for kind, n in zip(KINDS, (4, 1, 2, 2, 1), strict=True):
            for _ in range(n):
                (tmp_path / "img" / f"{number}.png").write_bytes(draw(number))
                row = {"id": number, "img": f"img/{number}.png", "text": f"{kind.split()[0]} tea {number} the the"}
                row |= {"label": int("hate" in kind.split()), "kind": kind, "group": f"g{number}"}
                lines.append(json.dumps(row))
                number += 1
        (tmp_path / f"{part}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_words_are_counted_without_function_words_and_as_shares_of_the_rest():
    frequent = top_words(pl.Series(["tea and tea", "the tea cup"]))
    assert [(one.name, one.n, one.share) for one in frequent] == [("tea", 3, 0.75), ("cup", 1, 0.25)]


def test_a_corpus_of_the_papers_composition_has_the_papers_shares(corpus):
    found = describe(f"{corpus}/test_seen.jsonl", gold=["label"]).statistics
    assert found.posts == 10
    parts = ("dev_seen", "test_seen")
    posts = pl.concat([pl.read_ndjson(corpus / f"{part}.jsonl").with_columns(split=pl.lit(part)) for part in parts])
    posts = posts.rename({"img": "image"}).with_columns(**{"hate.gold": pl.col("label").cast(pl.String)})
    memes = describe_memes(posts, ["hate"])
    assert memes.class_by == "kind"
    assert memes.words_part == "test_seen"
    assert memes.answers_part == "dev_seen"
    assert memes.classes_by_part["test_seen"] == dict(zip(KINDS, (4, 1, 2, 2, 1), strict=True))
    assert memes.words["multimodal hate"][0].name == "multimodal"
    assert memes.tokens["multimodal hate"] == [4] * 8
    assert set(memes.tokens) == {*KINDS, "hate: 0", "hate: 1"}


def test_protected_categories_and_attacks_are_counted_on_dev_where_answers_are(corpus):
    posts = (
        pl.read_ndjson(corpus / "dev_seen.jsonl")
        .rename({"img": "image"})
        .with_columns(
            split=pl.lit("dev_seen"),
            **{
                "hate.gold": pl.col("label").cast(pl.String),
                "protected.gold": pl.when(pl.col("label") == 1).then(pl.lit("religion|gender")),
                "attack.gold": pl.when(pl.col("label") == 1).then(pl.lit("exclusion")),
            },
        )
    )
    memes = describe_memes(posts, ["hate", "protected", "attack"])
    assert memes.answers == {"protected": {"religion": 5, "gender": 5}, "attack": {"exclusion": 5}}
    assert memes.answered == {"protected": 5, "attack": 5}


def test_the_command_writes_a_page_whose_pictures_are_grey_and_blurred(corpus, capsys):
    assert run(["describe", str(corpus), "--corpus", "hateful-memes", "--out", str(corpus / "about")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"test_seen\s+multimodal hate\s+4\s+40\.0 %\s+40\.0 %", out)
    page = (corpus / "about" / "report.html").read_text()
    assert "Table 3, on test_seen" in page
    pictures = re.findall(r'blurred" src="data:image/jpeg;base64,([^"]+)"', page)
    assert len(pictures) == 3 + 1 + 2 + 2 + 1
    shown = Image.open(io.BytesIO(base64.b64decode(pictures[0])))
    assert max(shown.size) <= 240
    pixels = np.asarray(shown.convert("RGB").resize((8, 8)), dtype=int)
    assert np.ptp(pixels, axis=2).max() < 6
    told = json.loads((corpus / "about" / "description.json").read_text())
    assert told["memes"]["classes_by_part"]["dev_seen"]["benign image"] == 2


def test_without_pictures_the_report_says_what_to_give(corpus, capsys):
    assert run(["describe", str(corpus / "test_seen.jsonl"), "--corpus", "hateful-memes"]) == 0
    assert "--images DIR" in capsys.readouterr().err


def test_without_kinds_classes_are_the_answers_and_without_the_extra_one_line_says_so(corpus, monkeypatch, capsys):
    from davy.core.errors import UserError
    from davy.detectors import object_boxes

    def missing():
        raise UserError("Finding objects needs an extra: pip install '.[memes]'.")

    monkeypatch.setattr(object_boxes, "ObjectDetector", missing)
    rows = pl.read_ndjson(corpus / "train.jsonl").drop("kind")
    rows.write_ndjson(corpus / "train.jsonl")
    made = describe(f"{corpus}/train.jsonl", gold=["label"], images=corpus)
    assert made.memes is None or made.memes.class_by != "kind"
    assert run(["describe", str(corpus / "train.jsonl"), "--corpus", "hateful-memes", "--images", str(corpus)]) == 0
    said = capsys.readouterr()
    assert "pip install '.[memes]'" in said.err
    assert "hateful" in said.out
    write_description(made, corpus / "plain")
    assert (corpus / "plain" / "report.html").is_file()
