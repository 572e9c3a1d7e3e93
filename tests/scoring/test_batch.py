"""Scoring a stream: order, repeats, columns, and scorers that misbehave."""

import random

import numpy as np
import polars as pl
import pytest

from davy.core import Scores, UserError
from davy.scoring.batch import ScoreCache, ScoreSettings, keys_of, score_frames, stale_columns, windows


def frame(texts, **columns):
    return pl.DataFrame(
        {"id": [str(i) for i in range(len(texts))], "text": texts, **columns}, schema_overrides={"text": pl.String}
    )


def scored(frames, scorer, **settings):
    return pl.concat(score_frames(frames, scorer, ScoreSettings(**settings)))


def test_rows_keep_their_order_and_columns_whatever_the_window_and_batch(fake):
    rng = random.Random(5)
    texts = ["x" * rng.randint(0, 300) + rng.choice(["", " grumblefop"]) for _ in range(500)]
    whole = frame(texts, meta=[f"m{i}" for i in range(500)])
    frames = [whole[:7], whole[7:7], whole[7:200], whole[200:]]
    out = scored(frames, fake, window=64, batch=9)
    assert out.select("id", "text", "meta").equals(whole)
    direct = fake.score(whole)
    assert out["hate"].to_list() == direct.columns()["hate"]
    assert out["verdict"].to_list() == direct.verdicts()
    assert out.columns == ["id", "text", "meta", "hate", "hate.label", "type.label", "type.probabilities", "verdict"]


def test_identical_texts_are_scored_once_in_a_run(fake):
    texts = ["a", "b", "a", "c"] * 50
    scored([frame(texts)], fake, window=10)
    assert sorted(fake.asked) == ["a", "b", "c"]


def test_the_same_text_in_two_languages_is_two_posts(fake):
    scored([frame(["a", "a", "a"], lang=["en", "de", "en"])], fake)
    assert len(fake.asked) == 2


def test_memory_is_bounded_and_forgets_the_oldest(fake):
    scored([frame([f"t{i}" for i in range(100)] + ["t99", "t0"])], fake, window=10, memory=20)
    assert fake.asked.count("t99") == 1
    assert fake.asked.count("t0") == 2


def test_forgetting_a_block_keeps_the_later_ones(fake):
    memory = ScoreCache(3)
    posts = pl.DataFrame({"text": ["a", "b", "c", "d"]})
    keys = keys_of(posts)

    memory.keep(keys[:2], fake.score(posts[:2]))
    memory.keep(keys[2:], fake.score(posts[2:]))
    assert len(memory) == 2
    known, new = memory.split(keys)
    assert sorted(known) == [2, 3]
    assert new == [0, 1]


def test_batches_hold_texts_of_like_length(fake):
    scored([frame(["x" * (i * 37 % 101 + 1) for i in range(100)])], fake, batch=10)
    sizes = [[len(text) for text in batch] for batch in fake.batches]
    assert all(max(batch) - min(batch) <= 12 for batch in sizes)


def test_a_null_text_gets_nulls_and_an_empty_one_a_score(fake):
    out = scored([frame([None, "", "grumblefop"])], fake)
    assert out["hate"].to_list() == [None, 0.0, 0.9]
    assert out["verdict"].to_list() == [None, "none", "hateful > threat"]
    assert scored([frame([None, None])], fake)["verdict"].to_list() == [None, None]


def test_a_file_without_rows_still_gets_the_columns(fake):
    assert scored([frame([])], fake).columns == [
        "id",
        "text",
        "hate",
        "hate.label",
        "type.label",
        "type.probabilities",
        "verdict",
    ]


ODD = {
    "empty": "",
    "a megabyte": "grumble fop " * 90_000,
    "only emoji": "🦞👩‍💻🏳️‍🌈",
    "NUL bytes": "a\x00b\x00",
    "right-to-left marks": "\u202e\u200fabc\u202c",
    "white space": " \t\r\n\u00a0",
    "combining marks": "a" + "\u0301" * 500,
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_texts_get_a_score_and_come_back_unchanged(fake, text):
    out = scored([frame(["before", text, "after"])], fake)
    assert out["text"].to_list() == ["before", text, "after"]
    assert 0 <= out["hate"][1] <= 1


EARLIER = ["offensive", "offensive.label", "kind.label", "kind.probabilities", "verdict", "unsure", "cleared", "why"]


@pytest.mark.parametrize(
    ("columns", "stale"),
    [
        (EARLIER, [name for name in EARLIER if name != "verdict"]),
        (["hate", "hate.label", "hate.gold", "verdict", "offensive"], []),  # no offensive.label: another's column
        (["cleared", "why", "unsure", "mood", "mood.label"], []),  # no verdict: nobody scored
        (["cleared", "why", "verdict"], []),  # no label: nobody scored
        ([f"words.{name}" for name in EARLIER], []),  # a run with a prefix stays
    ],
)
def test_columns_of_an_earlier_run_are_known_and_no_others(fake, columns, stale):
    assert stale_columns(["id", "text", *columns], fake, ScoreSettings()) == stale


def test_replacing_leaves_no_column_of_an_earlier_run(fake):
    posts = frame(["a", "grumblefop"], note=["n", "m"])
    earlier = posts.with_columns(pl.lit("x").alias(name) for name in EARLIER)
    assert scored([earlier], fake, replace=True).equals(scored([posts], fake))
    with_prefix = earlier.rename({name: f"old.{name}" for name in EARLIER})
    assert scored([with_prefix], fake, replace=True, prefix="old.").columns[:3] == ["id", "text", "note"]
    assert "offensive.label" in scored([earlier], fake, replace=True, prefix="old.").columns


def test_columns_that_are_there_already_are_not_written_over_unasked(fake):
    once = scored([frame(["a", "grumblefop"])], fake)
    with pytest.raises(UserError, match=r"'hate' already.*--replace.*--prefix"):
        scored([once], fake)
    assert scored([once], fake, replace=True).equals(once)
    both = scored([once], fake, prefix="second.")
    assert both["second.hate"].to_list() == both["hate"].to_list()
    assert both.columns[-5:-3] == ["second.hate", "second.hate.label"]


def test_no_text_column_lists_the_columns(fake):
    with pytest.raises(UserError, match=r"no column 'text'.*id, body"):
        scored([pl.DataFrame({"id": ["1"], "body": ["x"]})], fake)


def test_a_score_that_is_no_number_names_the_scorer_and_the_row(fake):
    class Broken(type(fake)):
        def score(self, posts):
            good = super().score(posts)
            block = good.probabilities["hate"].copy()
            block[[text == "bad" for text in posts["text"].to_list()]] = np.nan
            return Scores(self.questions, {**good.probabilities, "hate": block})

    texts = [None, *(f"text {i}" for i in range(40)), "bad"]
    with pytest.raises(UserError, match=r"fake gave no number for 'hate' at row 42 \(id '41'\)"):
        scored([frame(texts)], Broken(), window=10, batch=3)


def test_too_few_scores_are_noticed(fake):
    class Short(type(fake)):
        def score(self, posts):
            return super().score(posts[:1])

    with pytest.raises(UserError, match="gave 1 scores for 2 posts"):
        scored([frame(["a", "b"])], Short())


def test_progress_hears_of_every_row_once(fake):
    heard = []
    list(
        score_frames(
            [frame(["a", None, "a", "b"] * 25)], fake, ScoreSettings(window=30, batch=2), progress=heard.append
        )
    )
    assert sum(heard) == 100


def test_windows_are_bounded_in_rows_and_bytes():
    big = frame(["x" * 1_000_000] * 150)
    sizes = [len(window) for window in windows([big[:70], big[70:]], 1000)]
    assert sum(sizes) == 150
    assert max(sizes) <= 70
    assert [len(w) for w in windows([frame(["a"] * 3)] * 5, 6)] == [6, 6, 3]
