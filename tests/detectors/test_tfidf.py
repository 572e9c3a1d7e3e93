"""TF-IDF baselines: hashed pieces against scikit-learn's own, and what training, saving and loading keep."""

import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from davy.core import Label, Question, UserError
from davy.detectors.gradient_boosting import WORDS, GradientBoosting
from davy.detectors.load import load, open_folder
from davy.detectors.tfidf import NgramHasher, Tfidf, inverse_frequencies, weigh

HATE = Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful")
TYPE = Question("type", (Label("threat"), Label("slight"), Label("joke")), under=("hate", ("hateful",)))
TARGET = Question("target", (Label("a"), Label("b")), kind="many", open=True)
QUESTIONS = (HATE, TYPE, TARGET)
SMALL = NgramHasher(bits=10, characters=(3, 3))


def made(n, seed=1):
    """Return posts whose words decide their labels."""
    rng = random.Random(seed)
    filler = ["the", "day", "was", "long", "and", "we", "went", "home", "after", "tea", "with", "cake"]
    rows = []
    for _ in range(n):
        kind = rng.choice([None, None, "threat", "slight", "joke"])
        words = rng.choices(filler, k=8) + ([f"grumble{kind}"] if kind else [])
        target = [name for name in "ab" if rng.random() < 0.5]
        words += [f"zworp{name}" for name in target]
        rng.shuffle(words)
        rows.append((" ".join(words), "hateful" if kind else "not hateful", kind, "|".join(target)))
    return pl.DataFrame(rows, schema=["text", "hate.gold", "type.gold", "target.gold"], orient="row")


def test_word_pieces_weigh_what_scikit_learn_says():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [*made(60)["text"].to_list(), "a a a b", ""]
    theirs = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"\S+").fit_transform(texts)
    pieces = NgramHasher(characters=(1, 0), bits=24)
    rows, buckets, counts = pieces.counts(texts)
    values = weigh(rows, buckets, counts, inverse_frequencies(buckets, 2**24, len(texts)), len(texts))
    for i in range(len(texts)):
        assert np.allclose(sorted(values[rows == i]), sorted(theirs[i].data), atol=1e-12)


def test_character_pieces_weigh_what_scikit_learn_says():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [*made(40)["text"].to_list(), "Größe 🦞🦞"]
    theirs = TfidfVectorizer(sublinear_tf=True, analyzer="char", ngram_range=(2, 5)).fit_transform(
        f" {t} " for t in texts
    )
    pieces = NgramHasher(words=(1, 0), bits=40)
    rows, buckets, counts = pieces.counts(texts)
    distinct, place = np.unique(buckets, return_inverse=True)
    values = weigh(rows, place, counts, inverse_frequencies(place, len(distinct), len(texts)), len(texts))
    for i in range(len(texts)):
        assert np.allclose(sorted(values[rows == i]), sorted(theirs[i].data), atol=1e-12)


@pytest.mark.parametrize(
    "kind",
    [Tfidf(QUESTIONS, SMALL), GradientBoosting(QUESTIONS, trees=10, depth=3, pieces=replace(WORDS, bits=12))],
    ids=["tfidf", "xgboost"],
)
def test_a_trained_baseline_has_learnt_and_survives_saving(kind, tmp_path):
    fitted = kind.fit(made(300), seed=3)
    test = made(200, seed=2)
    scores = fitted.score(test)
    for question in ("hate", "target"):
        right = sum("|".join(c) == g for c, g in zip(scores.chosen(question), test[f"{question}.gold"], strict=True))
        assert right / 200 > 0.95, question
    typed = [(c[0], g) for c, g in zip(scores.chosen("type"), test["type.gold"], strict=True) if g]
    assert sum(c == g for c, g in typed) / len(typed) > 0.9
    fitted.save(tmp_path / "m")
    loaded = load(str(tmp_path / "m"))
    again = loaded.score(test)
    for question in QUESTIONS:
        assert np.array_equal(scores.probabilities[question.name], again.probabilities[question.name])
    assert loaded.version == fitted.version
    loaded.save(tmp_path / "copy")
    assert load(str(tmp_path / "copy")).version == fitted.version


def test_training_twice_with_one_seed_gives_one_model():
    one, two = (Tfidf((HATE,), SMALL).fit(made(60), seed=3) for _ in range(2))
    assert one.version == two.version
    assert one.version != Tfidf((HATE,), SMALL).fit(made(60, seed=5), seed=3).version


def test_scoring_a_saved_model_needs_no_scikit_learn(tmp_path):
    Tfidf((HATE,), SMALL).fit(made(100), seed=0).save(tmp_path / "m")
    code = (
        "import sys, polars as pl; from davy.detectors.load import load;"
        f"load({str(tmp_path / 'm')!r}).score(pl.DataFrame({{'text': ['x']}}));"
        "print(sorted({'sklearn', 'scipy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "🦞", "x" * 1_000_000, None], ids=["empty", "space", "nul", "emoji", "mb", "null"]
)
def test_odd_texts_get_a_defined_score(text):
    fitted = Tfidf((HATE,), SMALL).fit(made(50), seed=0)
    yes = fitted.score(pl.DataFrame({"text": [text, "tea"]}, schema={"text": pl.String})).positive("hate")
    assert (yes >= 0).all()
    assert (yes <= 1).all()


def test_posts_that_are_all_empty_teach_nothing_but_do_not_break():
    posts = made(20).with_columns(pl.lit("").alias("text"))
    scores = Tfidf((HATE,), SMALL).fit(posts, seed=0).score(posts)
    assert scores.positive("hate") == pytest.approx(np.full(20, 0.5), abs=1e-3)


def test_one_answer_only_is_learnt_as_such():
    posts = made(20).with_columns(pl.lit("hateful").alias("hate.gold"), pl.lit("joke").alias("type.gold"))
    scores = Tfidf((HATE, TYPE), SMALL).fit(posts, seed=0).score(made(5))
    assert scores.verdicts() == ["hateful > joke"] * 5


def test_a_label_that_the_question_lacks_is_named_with_its_row():
    posts = made(10).with_columns(pl.Series("hate.gold", ["hateful"] * 9 + ["hatful"]))
    with pytest.raises(UserError, match=r"Row 10 of hate\.gold has 'hatful'.*Did you mean 'hateful'"):
        Tfidf((HATE,), SMALL).fit(posts, seed=0)


def test_an_untrained_one_says_what_to_do():
    with pytest.raises(UserError, match="learnt nothing"):
        load("tfidf").score(pl.DataFrame({"text": ["x"]}))


def test_a_name_with_a_file_trains_on_it(tmp_path):
    made(100).write_parquet(tmp_path / "train.parquet")
    scorer = load(f"tfidf:{tmp_path}/train.parquet", read=lambda path, _: ((HATE,), pl.read_parquet(path)))
    assert scorer.score(pl.DataFrame({"text": ["grumblethreat"]})).chosen("hate") == [("hateful",)]


def test_weights_with_a_pickle_inside_are_refused(tmp_path):
    from davy.detectors import folder as folders

    Tfidf((HATE,), SMALL).fit(made(50), seed=0).save(tmp_path)
    manifest = folders.read(tmp_path)
    np.savez(tmp_path / "weights.npz", rarity=np.array([{"a": 1}], dtype=object))
    folders.write(tmp_path, manifest)
    with pytest.raises(UserError, match="does not hold"):
        open_folder(tmp_path)
