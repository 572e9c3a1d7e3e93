"""BERTweet's tokenizer, with a tiny vocabulary, against the slow one of transformers."""

from __future__ import annotations

import json

import polars as pl
import pytest

from davy.detectors.encoder import load_tokenizer, unknown_beyond
from davy.detectors.load import load
from tiny_encoder import make_tiny_classifier

pytest.importorskip("transformers")

MERGES = ["l o 90", "lo v 80", "lov e</w> 70", "b a 60", "ba d</w> 50", "g o 40", "go o 30", "o d</w> 20"]
PIECES = ["love", "bad", "lo@@", "lov@@", "e", "d", "o", "b@@", "a@@", "x@@", "x", ":", "go@@", "od", "l@@", "o@@"]


@pytest.fixture
def folder(tmp_path):
    made = make_tiny_classifier(tmp_path / "tweet", ["not hateful", "hateful"], vocab_size=20)
    (made / "tokenizer.json").unlink()
    (made / "bpe.codes").write_text("\n".join(MERGES) + "\n")
    (made / "vocab.txt").write_text("".join(f"{piece} {100 - i}\n" for i, piece in enumerate(PIECES)))
    (made / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertweetTokenizer"}))
    return made


@pytest.mark.filterwarnings("ignore")
def test_the_ids_are_those_of_the_slow_tokenizer(folder):
    from transformers import AutoTokenizer

    slow = AutoTokenizer.from_pretrained(str(folder))
    fast, pad = load_tokenizer(str(folder))
    for text in ("love", "loe lovx bad", "good god x xx", "zz unseen é love", "", "goode bad love lo"):
        (ids,) = unknown_beyond([fast.encode(text).ids], len(PIECES) + 4, slow.unk_token_id)
        assert ids == slow(text)["input_ids"], text
    assert pad == slow.pad_token_id == 1


@pytest.mark.filterwarnings("ignore")
def test_a_classifier_with_that_tokenizer_scores_by_its_hub_name(folder):
    scorer = load(f"hf:{folder}")
    scores = scorer.score(pl.DataFrame({"text": ["love bad", "good god"]}))
    assert scores.questions[0].name == "hate"
    assert len(scores) == 2
