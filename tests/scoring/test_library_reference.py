"""The library's reference is what the package says of itself, and each of its examples runs by itself."""

import contextlib
import copy
import sys
from pathlib import Path

import polars as pl
import pytest
from library_folder import fill, people

import davy

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import document_library as reference  # noqa: E402

EXAMPLES = dict(reference.examples())
HATE = {"sexist": "hateful", "not sexist": "not hateful"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with the files that examples name."""
    path = tmp_path_factory.mktemp("reference")
    fill(path)
    (path / "tiny-encoder").rename(path / "distilbert-base-uncased")
    (path / "words.txt").write_text("grumblefop\t0.9\n")
    posts = pl.read_csv(path / "posts.csv")
    posts.select("id", pl.col("label").alias("sexist.gold")).write_csv(path / "gold.csv")
    posts.select("id", pl.col("label").alias("sexist.label")).write_csv(path / "mine.csv")
    return path


@pytest.fixture(scope="module")
def names(folder):
    """The variables that examples use, whatever they are about."""
    from PIL import Image
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline

    from davy.sklearn import DavyClassifier, DavyScores, GroupedKFold

    Image.new("RGB", (64, 64), "red").save(folder / "meme.png")
    posts = pl.read_csv(folder / "posts.csv").with_columns(target=pl.Series(["women", "men", "nobody"] * 40))
    systems = {
        "mine": posts.select("id", pl.col("label").alias("sexist.label")),
        "theirs": posts.select("id", pl.lit("sexist").alias("sexist.label")),
    }
    suite = davy.Suite("bakers", question="hate", lang="en").lexicon("group", ["bakers", "cooks"], target=True)
    suite.add("one", "{group} came by 😡", label="hateful")
    tuned = davy.train(
        posts, gold={"sexist": "label"}, encoder=str(folder / "distilbert-base-uncased"), dev=posts, epochs=1
    )
    return {
        "davy": davy,
        "pl": pl,
        "Path": Path,
        "posts": posts,
        "frame": posts.rename({"text": "body"}),
        "dev": posts,
        "answers": pl.DataFrame(people()).with_columns(hate=pl.col("sexist").replace(HATE)),
        "texts": posts["text"].to_list(),
        "labels": posts["label"].to_list(),
        "detector": davy.train(posts, gold={"sexist": "label"}, kind="tfidf"),
        "tuned": tuned,
        **systems,
        "constant": systems["theirs"],
        "suite": suite,
        "LogisticRegression": LogisticRegression,
        "GridSearchCV": GridSearchCV,
        "cross_val_score": cross_val_score,
        "make_pipeline": make_pipeline,
        "DavyClassifier": DavyClassifier,
        "DavyScores": DavyScores,
        "GroupedKFold": GroupedKFold,
    }


def test_the_page_is_what_the_package_says():
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), "run make docs"


def test_every_public_name_is_on_the_page():
    text = reference.page()
    assert [name for name in davy.PUBLIC if f"### `davy.{name}`\n" not in text] == []
    assert len(EXAMPLES) > 35


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_by_itself(name, names, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_CACHE", str(folder / "cache"))
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    known = {**names, "suite": copy.deepcopy(names["suite"])}
    code = EXAMPLES[name]
    if '"hate"' in code or "keywords:" in code or "emoji-en" in code:
        hateful = pl.col("label").replace(HATE)
        known |= {key: known[key].with_columns(hateful) for key in ("posts", "dev", "frame")}
        known["mine"] = known["detector"] = davy.load("keywords:words.txt")
    if name.startswith("EvaluationResult"):
        known["mine"] = known["detector"]
        known["result"] = davy.evaluate(known["mine"], known["dev"], resamples=20)
    # A list of one word does not reach what the examples of a gate ask for.
    gate = pytest.raises(davy.GateFailed, match="accuracy") if "raise_for_gate" in code else contextlib.nullcontext()
    with gate:
        exec(compile(code, name, "exec"), known)  # noqa: S102 - our own docstrings
