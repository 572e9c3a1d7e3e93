"""The library: the same kind of data out as in, names found, and errors that say what to do."""

import copy
import inspect
import json
import pickle
import pydoc
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import davy
from davy import UserError
from davy.core import Abilities, Label, Question, Scores
from davy.detectors.label_answers import answer_by_labels
from davy.evaluation.check_library import GateFailed
from davy.scoring.python_words import say_arguments

HATE = Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful")
TYPE = Question("type", (Label("threat"), Label("slight")), under=("hate", ("hateful",)))


class Words:
    """Says hateful where `grumblefop` stands; has no answer to `type` for an empty text."""

    name, version, questions, abilities = "words", "1", (HATE, TYPE), Abilities(batch_size=2)

    def score(self, posts):
        texts = posts["text"].fill_null("").to_list()
        yes = np.array([0.9 if "grumblefop" in text else 0.2 for text in texts])
        blocks = {"hate": np.stack([1 - yes, yes], axis=1), "type": np.tile([0.3, 0.7], (len(texts), 1))}
        return Scores(self.questions, blocks, answered={"type": np.array([bool(text) for text in texts], dtype=bool)})


@pytest.fixture
def words():
    return davy.load(Words())


TEXTS = ["a nice day", "you grumblefop", ""]


def test_a_detector_predicts_in_the_order_of_its_classes(words):
    assert words.classes_.tolist() == ["not hateful", "hateful"]
    assert words.predict(TEXTS).tolist() == ["not hateful", "hateful", "not hateful"]
    assert words.predict_proba(TEXTS)[:, 1].tolist() == [0.2, 0.9, 0.2]
    assert words.predict(TEXTS, question="type").tolist() == ["slight", "slight", None]
    assert np.isnan(words.predict_proba(TEXTS, question="type")[2]).all()
    with pytest.raises(UserError, match="words does not answer 'hat'; it answers hate, type"):
        words.predict(TEXTS, question="hat")


def test_one_text_gives_a_dict_and_a_list_gives_a_list(words):
    assert words.score("you grumblefop")["questions"]["hate"]["label"] == "hateful"
    assert [record["verdict"] for record in words.score(TEXTS)] == ["none", "hateful > slight", "none"]
    assert words.score([]) == []


def dataset(columns):
    from datasets import Dataset

    return Dataset.from_dict(columns)


@pytest.mark.parametrize(
    ("make", "column"),
    [
        (pl.DataFrame, lambda frame: frame["hate"].to_list()),
        (pl.LazyFrame, lambda frame: frame.collect()["hate"].to_list()),
        (pd.DataFrame, lambda frame: frame["hate"].tolist()),
        (dataset, lambda data: list(data["hate"])),
        (lambda columns: [{"body": text} for text in columns["body"]], lambda rows: [row["hate"] for row in rows]),
    ],
    ids=["polars", "lazy", "pandas", "datasets", "records"],
)
def test_the_same_kind_comes_out_as_went_in(words, make, column):
    data = make({"body": TEXTS})
    scored = words.score(data, text="body")
    assert type(scored) is type(data)
    assert column(scored) == [0.2, 0.9, 0.2]
    assert words.predict(data, text="body").tolist()[1] == "hateful"


def test_a_lazy_frame_is_filtered_by_what_scoring_adds(words):
    lazy = words.score(pl.LazyFrame({"text": TEXTS, "day": [1, 2, 3]}))
    assert lazy.filter(pl.col("hate") > 0.5).select("day").collect()["day"].to_list() == [2]


def test_pandas_keeps_its_index_and_nothing_is_written_over(words):
    frame = pd.DataFrame({"text": [*TEXTS[:2], None], "hate": [1, 2, 3]}, index=[5, 6, 7])
    with pytest.raises(UserError, match="There is a column 'hate' already"):
        words.score(frame)
    scored = words.score(frame, prefix="mine")
    assert scored.index.tolist() == [5, 6, 7]
    assert scored["hate"].tolist() == [1, 2, 3]
    assert scored["mine.hate.label"].tolist()[:2] == ["not hateful", "hateful"]
    assert np.isnan(scored["mine.hate"].to_numpy()[2])
    assert words.score(frame, replace=True)["hate"].tolist()[:2] == [0.2, 0.9]


@pytest.mark.parametrize(
    "kind", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, lambda columns: pl.DataFrame(columns).to_dicts()]
)
def test_replacing_leaves_no_column_of_an_earlier_detector(words, kind):
    from davy.scoring import frames

    earlier = {"text": TEXTS, "rude": [0.1] * 3, "rude.label": ["no"] * 3, "verdict": ["none"] * 3, "day": [1, 2, 3]}
    scored = words.score(kind(earlier), replace=True)
    assert frames.columns_of(scored)[:5] == ["text", "verdict", "day", "hate", "hate.label"]
    assert "rude" not in " ".join(frames.columns_of(scored))


def test_a_missing_text_column_names_those_that_are_there(words):
    with pytest.raises(UserError, match="No column looks like the text; the columns are day"):
        words.score(pl.DataFrame({"day": [1]}))
    with pytest.raises(UserError, match="Row 2 is a int, not a text"):
        words.predict(["a", 1])


def test_labels_of_a_classifier_answer_a_question_of_ours():
    class Toxic:
        name, version, abilities = "toxic", "1", Abilities()
        questions = (Question("label", (Label("toxic"), Label("identity_hate"), Label("threat")), kind="many"),)

        def score(self, posts):
            return Scores(self.questions, {"label": np.tile([0.9, 0.6, 0.7], (len(posts), 1))})

    one = davy.load(Toxic(), answers={"hate": "identity_hate"})
    assert one.predict(["x"]).tolist() == ["hateful"]
    assert one.predict_proba(["x"])[0, 1] == 0.6
    assert davy.load(Toxic(), answers={"hate": ["identity_hate", "threat"]}).predict_proba(["x"])[0, 1] == 0.7
    assert one.version != answer_by_labels(Toxic(), {"hate": "threat"}).version
    with pytest.raises(UserError, match="toxic has no label 'hate'; it has toxic, identity_hate, threat"):
        davy.load(Toxic(), answers={"hate": "hate"})


def test_posts_are_read_from_spreadsheets_lists_lines_folders_and_patterns(tmp_path):
    shutil.copy(Path(__file__).parent / "posts.xlsx", tmp_path / "a.xlsx")
    (tmp_path / "b.json").write_text('{"posts": [{"id": "3", "text": "three"}]}')
    (tmp_path / "c.txt").write_text("four\n\nfive\n")
    (tmp_path / "notes.md").write_text("not posts")
    assert davy.read(tmp_path / "a.xlsx").to_dicts()[1] == {"id": "2", "text": "two", "day": "tue"}
    everything = davy.read(tmp_path)
    assert everything["text"].to_list() == ["one", "two", "three", "four", None, "five"]
    assert everything["id"].to_list() == ["1", "2", "3", "c-1", "c-2", "c-3"]  # a blank line is a post without text
    assert davy.read(f"{tmp_path}/*.txt")["text"].to_list() == ["four", None, "five"]
    assert len(davy.read([tmp_path / "a.xlsx", tmp_path / "b.json"])) == 3
    (tmp_path / "b.json").write_text('{"a": 1}')
    with pytest.raises(UserError, match="must hold a list of objects"):
        davy.read(tmp_path / "b.json")
    with pytest.raises(UserError, match="No file matches"):
        davy.read(f"{tmp_path}/*.csv")
    (tmp_path / "b.json").write_text('[{"id": "1", "text": "again"}]')
    with pytest.raises(UserError, match="Id '1' is in two of the files"):
        davy.read(tmp_path)


def labelled(n: int = 60) -> pl.DataFrame:
    texts = [f"{'you grumblefop' if i % 3 == 0 else 'nice one'} {i}" for i in range(n)]
    return pl.DataFrame({"text": texts, "label": ["hateful" if i % 3 == 0 else "not hateful" for i in range(n)]})


def test_a_calibrated_detector_is_saved_with_its_numbers(tmp_path):
    mine = davy.train(labelled(), gold={"hate": "label"})
    better = davy.calibrate(mine, labelled(90), gold={"hate": "label"}, threshold="recall=0.5")
    assert better.calibration.before["hate"].keys() == better.calibration.after["hate"].keys()
    assert better.calibration.after["hate"]["log loss"] <= better.calibration.before["hate"]["log loss"]
    assert "threshold" in str(better.calibration)
    better.save(tmp_path / "mine")
    again = davy.load(tmp_path / "mine")
    texts = ["you grumblefop 3", "nice one 4", "grumblefop"]
    assert again.predict_proba(texts) == pytest.approx(better.predict_proba(texts), abs=1e-3)
    assert again.score(texts[0])["questions"]["hate"]["threshold"] == pytest.approx(
        better.calibration.thresholds["hate"]
    )
    again.save(tmp_path / "copy")
    assert davy.load(tmp_path / "copy").version == again.version
    with pytest.raises(UserError, match="is not an empty folder"):
        again.save(tmp_path / "copy")


def test_detectors_go_through_pickles_and_deep_copies(tmp_path):
    import joblib

    from davy.sklearn import DavyClassifier
    from tiny_encoder import make_tiny_encoder

    posts, gold = labelled(), {"hate": "label"}
    plain = davy.train(posts, gold=gold)
    tiny = str(make_tiny_encoder(tmp_path / "tiny"))
    detectors = [
        plain,
        davy.calibrate(plain, posts, gold=gold),
        davy.train(posts, gold=gold, kind="xgboost", trees=3),
        davy.train(posts, gold=gold, encoder=tiny, epochs=1),
        davy.load("embedded"),
        davy.calibrate("embedded-en", posts, gold=gold),
    ]
    for detector in detectors:
        for again in (pickle.loads(pickle.dumps(detector)), copy.deepcopy(detector)):  # noqa: S301 - our own
            assert again.version == detector.version
            assert np.array_equal(again.predict_proba(TEXTS, "hate"), detector.predict_proba(TEXTS, "hate"))
            assert again.scorer.abilities.learnt(TEXTS).tolist() == detector.scorer.abilities.learnt(TEXTS).tolist()
    classifier = DavyClassifier().fit(posts["text"].to_list(), posts["label"].to_list())
    joblib.dump(classifier, tmp_path / "classifier.joblib")
    assert joblib.load(tmp_path / "classifier.joblib").predict(["you grumblefop"]).tolist() == ["hateful"]


def test_a_fine_tuned_detector_without_a_folder_knows_its_posts(tmp_path):
    from tiny_encoder import make_tiny_encoder

    posts, gold = labelled(), {"hate": "label"}
    tuned = davy.train(posts, gold=gold, encoder=str(make_tiny_encoder(tmp_path / "tiny")), epochs=1)
    assert "learnt from 60 of these 60 posts" in davy.evaluate(tuned, posts, gold=gold, resamples=0).warnings[0]
    assert davy.load(tuned.save(tmp_path / "tuned")).scorer.abilities.learnt(posts["text"].to_list()).all()


def test_questions_are_made_from_labels_that_no_scheme_knows():
    posts = labelled().with_columns(pl.col("label").replace({"hateful": "rude", "not hateful": "polite"}))
    mine = davy.train(posts, gold={"manners": "label"}, kind="majority")
    assert mine.classes_.tolist() == ["polite", "rude"]
    result = davy.evaluate(mine, posts, gold={"manners": "label"}, resamples=20)
    assert result.frame.filter(pl.col("figure") == "accuracy")["value"].item() == pytest.approx(2 / 3)
    assert len(result.errors()) == 20
    with pytest.raises(UserError, match="nothing to compare"):
        result.compare()
    with pytest.raises(UserError, match="no yes/no question"):
        result.reliability()


def test_a_gate_that_does_not_hold_raises(words):
    strict = davy.check(words, "emoji-en", gate={"accuracy": 0.99}, resamples=20)
    assert not strict.passed
    with pytest.raises(GateFailed, match=r"accuracy is .* must be at least 0\.99"):
        strict.raise_for_gate()
    with pytest.raises(UserError, match="gate"):
        davy.check(words, "emoji-en", gate={"acuracy": 0.9})


def test_a_room_is_a_package_and_a_verb():
    import davy.scoring.batch as batch

    assert callable(davy.score)
    assert batch.ScoreSettings().text == "text"
    assert list(inspect.signature(davy.split).parameters)[:2] == ["posts", "plan"]
    assert {"load", "score", "read", "clean", "sample", "split", "train", "calibrate", "evaluate", "check"} <= set(
        dir(davy)
    )
    with pytest.raises(AttributeError):
        davy.nothing  # noqa: B018


def test_everything_that_is_offered_is_imported_by_a_star_and_has_help():
    names: dict = {}
    exec("from davy import *", names)  # noqa: S102 - one line of ours
    assert set(names) - {"__builtins__"} == set(davy.PUBLIC)
    assert names["GateFailed"] is GateFailed
    for verb in ("check", "clean", "compare", "describe", "sample", "score", "split", "train"):
        assert inspect.isfunction(getattr(davy, verb))
        assert inspect.getdoc(getattr(davy, verb))
    assert "Return the scores of a text" in pydoc.render_doc(davy.score)


def test_every_public_function_has_an_example():
    for name in davy.PUBLIC:
        thing = getattr(davy, name)
        members = [thing] if not inspect.isclass(thing) else [
            member for key, member in vars(thing).items() if inspect.isfunction(member) and not key.startswith("_")
        ]  # fmt: skip
        assert all("Example:" in (member.__doc__ or "") for member in members if name != "UserError"), name


def public_functions():
    for name in davy.PUBLIC:
        thing = getattr(davy, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif name == "TextDetector":
            yield from (
                (f"{name}.{key}", member)
                for key, member in vars(thing).items()
                if inspect.isfunction(member)
                and not key.startswith("_")
                and len(inspect.signature(member).parameters) > 1
            )


@pytest.mark.parametrize(
    ("name", "function"), list(public_functions()), ids=lambda it: it if isinstance(it, str) else ""
)
def test_every_parameter_is_documented(name, function):
    doc = inspect.getdoc(function)
    starred = {inspect.Parameter.VAR_KEYWORD: "**"}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self":
            written = starred.get(parameter.kind, "") + parameter.name
            assert re.search(rf"^{re.escape(written)}( : .+)?\n    \S", doc, re.M), f"{name}: {written}"


def test_a_notebook_shows_results_as_tables_and_masks_texts(tmp_path):
    posts = [{"id": str(n), "text": f"{word} {n}", "kind.gold": word} for n in range(8) for word in ("calm", "loud")]
    posts = [{**row, "id": str(place)} for place, row in enumerate(posts)]
    detector = davy.train(posts)
    shown = detector._repr_html_()
    assert "tfidf" in shown
    assert "calm, loud" in shown
    assert "<table>" in davy.evaluate(detector, posts)._repr_html_()
    words = tmp_path / "words.txt"
    words.write_text("storm\n")
    explanation = davy.load(f"keywords:{words}").explain("a storm <b>")
    assert 'title="+1.000">storm</span>' in explanation._repr_html_()
    assert "<b>" not in explanation._repr_html_()


def test_a_saved_detector_is_replaced_only_where_that_is_asked_for(tmp_path):
    posts = [{"id": str(n), "text": f"{word}", "kind.gold": word} for n, word in enumerate(["calm", "loud"] * 4)]
    detector = davy.train(posts)
    detector.save(tmp_path / "mine")
    with pytest.raises(UserError):
        detector.save(tmp_path / "mine")
    other = davy.train(posts, name="other")
    other.save(tmp_path / "mine", overwrite=True)
    assert davy.load(tmp_path / "mine").name == "other"
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("dear")
    with pytest.raises(UserError):
        detector.save(tmp_path / "letters", overwrite=True)


@pytest.mark.slow
def test_a_caller_is_typed(tmp_path):
    (tmp_path / "caller.py").write_text(
        "import davy, pandas as pd, polars as pl\n"
        "reveal_type(davy.score('hi'))\n"
        "reveal_type(davy.load('embedded').score(pl.DataFrame()))\n"
        "reveal_type(davy.split(pl.DataFrame(), '80/20'))\n"
        "davy.load(3)\n"
        "davy.scroe('hi')\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "",
        "--ignore-missing-imports",
        "--cache-dir",
        str(tmp_path),
    ]
    done = subprocess.run([*command, "caller.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Revealed type is "dict[str, Any]"' in done.stdout, done.stdout
    assert 'Revealed type is "polars.dataframe.frame.DataFrame"' in done.stdout, done.stdout
    assert 'Revealed type is "tuple[polars.dataframe.frame.DataFrame, ...]"' in done.stdout, done.stdout
    assert 'Argument 1 to "load" has incompatible type "int"' in done.stdout, done.stdout
    assert 'Module has no attribute "scroe"' in done.stdout, done.stdout


def test_scikit_learn_clones_and_searches():
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.model_selection import GridSearchCV

    from davy.sklearn import DavyClassifier

    posts = labelled()
    y = np.array([2 if label == "hateful" else 1 for label in posts["label"]])
    search = GridSearchCV(DavyClassifier(), {"strength": [0.5, 4.0]}, cv=2).fit(posts["text"].to_list(), y)
    assert search.best_score_ > 0.9
    assert search.predict(["you grumblefop"]).tolist() == [2]
    assert clone(search.best_estimator_).get_params()["strength"] == search.best_params_["strength"]
    assert search.predict_proba(pd.Series(["nice one"])).shape == (1, 2)
    with pytest.raises(NotFittedError):
        DavyClassifier().predict(["nice one"])


def test_a_list_of_detectors_is_measured_by_their_names(words):
    posts, gold = labelled(), {"hate": "label"}
    mine = davy.train(posts, gold=gold, kind="majority")
    result = davy.evaluate([words, mine], posts, gold=gold, resamples=0)
    assert set(result.frame["model"]) == {"words", "majority"}
    assert set(davy.check([words, mine], "emoji-en", resamples=0).frame["model"]) == {"words", "majority"}
    assert set(davy.evaluate(Words(), posts, gold=gold, resamples=0).frame["model"]) == {"words"}
    with pytest.raises(UserError, match=r"Two detectors are called 'words'\. Name them"):
        davy.evaluate([words, words], posts, gold=gold)


@pytest.mark.parametrize("kind", ["tfidf", "xgboost", "majority"])
def test_a_setting_that_a_baseline_lacks_is_named(kind):
    with pytest.raises(UserError, match=f"{kind} has no setting 'strenght'") as raised:
        davy.train(labelled(), gold={"hate": "label"}, kind=kind, strenght=2)
    assert ("Did you mean 'strength'?" in str(raised.value)) == (kind == "tfidf")


def test_gold_that_is_no_mapping_is_an_error_that_shows_the_form(words):
    posts = labelled()
    for call in (
        lambda gold: davy.train(posts, gold=gold),
        lambda gold: davy.calibrate(words, posts, gold=gold),
        lambda gold: davy.evaluate(words, posts, gold=gold),
        lambda gold: davy.describe(posts, gold=gold),
    ):
        with pytest.raises(UserError, match=r'does not say which question .* gold={"hate": "label"}'):
            call("label")
        with pytest.raises(UserError, match=r'gold is a list.* gold={"hate": "label"}'):
            call(["label"])


def test_compare_ranks_frames_of_predictions(tmp_path):
    gold = pl.DataFrame({"id": ["a", "b", "c", "d"], "hate.gold": ["hateful", "not hateful"] * 2})
    right = pl.DataFrame({"id": ["d", "c", "b", "a"], "label": ["not hateful", "hateful"] * 2})
    constant = right.with_columns(label=pl.lit("hateful"))
    result = davy.compare(gold, {"right": right, "b0": constant}, scheme="hate", baselines=["b0"], resamples=20)
    assert result.frame.select("rank", "system", "value").rows()[0] == (1, "right", 1.0)
    assert result.frame["mark"].to_list() == [None, "baseline"]
    assert result.html(tmp_path / "report").is_file()


def test_frames_of_results_have_the_same_types_whatever_the_data(words):
    posts, gold = labelled(12).with_columns(who=pl.lit("all")), {"hate": "label"}
    bare, drawn = (
        davy.evaluate({"one": words, "two": "majority"}, posts, gold=gold, by="who", resamples=n) for n in (0, 20)
    )
    boards = [
        davy.compare(
            pl.DataFrame({"id": list("abcd"), "hate.gold": ["hateful", "not hateful"] * 2}),
            {name: pl.DataFrame({"id": list("abcd"), "label": ["hateful", "not hateful"] * 2}) for name in names},
            scheme="hate",
            baselines=baselines,
            resamples=20,
        )
        for names, baselines in ((["a"], []), (["a", "b", "c"], ["c"]))
    ]
    answers = pl.DataFrame({"post": [1, 1, 2, 2], "who": list("abab"), "hate": list("yyyy"), "day": ["mon"] * 4})
    studies = [
        davy.agree(answers, item="post", annotator="who", label="hate", by=by, resamples=n)
        for by, n in ((None, 0), ("day", 20))
    ]
    checks = [davy.check(words, "emoji-en", resamples=n) for n in (0, 20)]
    for one, other in (
        (bare.frame, drawn.frame),
        (bare.compare(), drawn.compare()),
        (bare.reliability(), drawn.reliability()),
        (bare.fairness(), drawn.fairness()),
        (boards[0].frame, boards[1].frame),
        (studies[0].frame, studies[1].frame),
        (checks[0].frame, checks[1].frame),
    ):
        assert one.schema == other.schema
        assert not any(_has_null_type(dtype) for dtype in one.dtypes)
        assert len(pl.concat([one, other])) == len(one) + len(other)


def _has_null_type(dtype):
    return dtype == pl.Null or (isinstance(dtype, pl.List) and dtype.inner == pl.Null)


def test_fairness_by_group_comes_as_a_frame():
    posts = pl.DataFrame(
        {
            "text": ["grumblefop baker", "a kind baker", "grumblefop cook", "cooks"],
            "hate.gold": ["hateful", "not hateful", "hateful", "not hateful"],
            "target": ["bakers", "bakers", "cooks", "cooks"],
        }
    )
    found = davy.evaluate("majority", posts, by="target", resamples=50).fairness("hate")
    assert set(found["group"]) == {"", "bakers", "cooks"}
    accuracy = found.filter(figure="accuracy", group="bakers")
    assert accuracy.select("value", "n").row(0) == (0.5, 2)
    with pytest.raises(davy.UserError, match="There are no groups: name their column"):
        davy.evaluate("majority", posts, resamples=50).fairness("hate")


def test_errors_name_the_arguments_of_the_verb_and_no_options_of_the_shell(tmp_path):
    posts = pl.DataFrame({"text": ["a", "b"] * 6, "hate.gold": ["hateful", "not hateful"] * 6, "mood": ["x", "y"] * 6})
    answers = pl.DataFrame({"post": [1, 1, 1, 2], "who": ["a", "a", "b", "b"], "same": ["x"] * 4})
    for call, said in (
        (lambda: davy.train(posts, gold={"hate": "lable"}), "no column 'lable' (`gold`)"),
        (lambda: davy.train(posts.drop("hate.gold")), 'looks like it: gold={"target": "mood"}'),
        (lambda: davy.evaluate("majority", posts.drop("hate.gold")), 'gold={"'),
        (
            lambda: davy.agree(answers, item="post", annotator="who", label="same"),
            "choose `repeats` first",
        ),
        (lambda: davy.check("majority", "emoji-en", question="x"), "question=NAME"),
        (lambda: davy.train(posts, soft=True), "`soft` learns from annotators' votes"),
        (lambda: davy.load("embedded-memes-pictures").score(["x"]), "score_meme(FILE)"),
    ):
        with pytest.raises(UserError) as raised:
            call()
        assert said in raised.value.message
        assert "--" not in str(raised.value)


def test_the_first_of_two_answers_counts_where_a_caller_says_so():
    answers = pl.DataFrame({"post": [1, 1, 1, 2, 2], "who": ["a", "a", "b", "a", "b"], "hate": list("ynyny")})
    first, last = (
        davy.agree(answers, item="post", annotator="who", label="hate", repeats=which, resamples=0).frame
        for which in ("first", "last")
    )
    shares = [frame.filter(coefficient="percent")["value"][0] for frame in (first, last)]
    assert shares == [0.5, 0.0]


def test_one_column_to_split_by_needs_no_list():
    posts = pl.DataFrame({"text": [f"post {n}" for n in range(40)], "mood": ["x", "y"] * 20})
    one, several = (davy.split(posts, "50/50", stratify=given) for given in ("mood", ["mood"]))
    assert [part["text"].to_list() for part in one] == [part["text"].to_list() for part in several]


def test_a_command_in_an_error_stays_a_command():
    message = "Train it: davy train F --kind tfidf --out DIR. Or name --kind NAME, --set epochs=3 or --workers 2."
    assert say_arguments(message, frozenset({"kind", "out", "settings"})) == (
        "Train it: davy train F --kind tfidf --out DIR. Or name kind=NAME, epochs=3 or --workers 2."
    )


def test_a_model_that_changed_on_disk_is_loaded_again(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("grumblefop\n")
    assert davy.score("a snortwit", f"keywords:{words}")["verdict"] == "none"
    words.write_text("grumblefop\nsnortwit\n")
    assert davy.score("a snortwit", f"keywords:{words}")["verdict"] == "hateful"


def test_a_missing_text_has_no_answer_however_it_is_given():
    detector = davy.load("embedded")
    assert detector.predict(pl.DataFrame({"text": ["What a day", None]})).tolist() == ["not hateful", None]
    assert np.isnan(detector.predict_proba([None])).all()
    assert detector.score([None])[0]["verdict"] is None
    assert detector.score(pd.DataFrame({"text": [None]}))["verdict"].tolist() == [None]


def test_a_series_is_scored_by_any_name_and_a_language_holds_for_frames_too():
    detector = davy.load("embedded")
    assert detector.score(pd.Series(["What a day"], name="q"))["hate.label"].tolist() == ["not hateful"]
    one = detector.score("was war", lang="de")["questions"]["hate"]["probability"]
    assert detector.score(pd.DataFrame({"text": ["was war"]}), lang="de")["hate"][0] == pytest.approx(one, abs=1e-6)


def test_half_an_emoji_is_scored():
    half = json.loads('"\\ud83d cut"')
    assert davy.load("embedded").predict([half]).tolist() == ["not hateful"]
    assert davy.score(pd.DataFrame({"text": [half]}, dtype=object))["hate.label"].tolist() == ["not hateful"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: davy.score("x", lang="german"), "no code of a language"),
        (lambda: davy.score(pd.DataFrame({"text": [b"\xff"]})), "holds binary"),
        (lambda: davy.score(pl.DataFrame({"text": [["a"]]})), "holds list"),
        (lambda: davy.score(pd.DataFrame([["a", "b"]], columns=["text", "text"])), "two columns 'text'"),
        (lambda: davy.score(["a"], prefix="z"), "texts have no columns"),
        (lambda: davy.score("posts.csv", out="scored.csv"), "out is for files"),
        (lambda: davy.score(Path("posts.csv")), "out="),
        (lambda: davy.clean(Path("posts.csv")), r"davy\.read"),
        (lambda: davy.load(None), "Name a model"),
        (lambda: davy.load("majority").explain(["a"]), "one text to explain"),
    ],
)
def test_what_can_be_mended_is_one_line(call, message):
    with pytest.raises(davy.UserError, match=message):
        call()
