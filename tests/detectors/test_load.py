"""Names of models, and the detector that routes by language."""

import importlib

import numpy as np
import polars as pl
import pytest

from davy.core import Abilities, Label, Question, Scorer, Scores, UserError
from davy.detectors import embedded
from davy.detectors.embedded import LanguageRouter, detect_languages
from davy.detectors.load import ENGINES, MAKERS, NAMES, load
from davy.detectors.model_name import ModelName

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
SEXIST = Question("sexist", (Label("not sexist"), Label("sexist")), positive="sexist")


class Fixed:
    """Gives one probability of yes to every post; notes what it was asked."""

    version, abilities = "1", Abilities()

    def __init__(self, name, yes, *questions, threshold=0.5, read=None):
        self.name, self.yes, self.questions, self.threshold, self.read, self.asked = (
            name,
            yes,
            questions,
            threshold,
            read,
            [],
        )

    def score(self, posts):
        self.asked += posts["text"].to_list()
        block = np.tile([1 - self.yes, self.yes], (len(posts), 1))
        read = None if self.read is None else np.full(len(posts), self.read)
        return Scores(self.questions, {q.name: block for q in self.questions}, {"hate": self.threshold}, read)


@pytest.mark.parametrize(
    ("name", "kind", "argument", "scheme"),
    [
        ("majority", "majority", "", None),
        ("majority@edos", "majority", "", "edos"),
        ("uniform:7@edos", "uniform", "7", "edos"),
        ("keywords:a/b.txt@gmhp7k", "keywords", "a/b.txt", "gmhp7k"),
        ("url:https://me@host/v1/score", "url", "https://me@host/v1/score", None),
        ("hf:org/name", "hf", "org/name", None),
    ],
)
def test_a_name_is_taken_apart(name, kind, argument, scheme):
    asked = ModelName.parse(name)
    assert (asked.kind, asked.argument, asked.scheme) == (kind, argument, scheme)


def test_a_file_with_an_at_sign_in_its_name_is_a_file(tmp_path):
    path = tmp_path / "words@home.txt"
    path.write_text("grumblefop\n")
    assert load(f"keywords:{path}").score(pl.DataFrame({"text": ["grumblefop"]})).chosen("hate") == [("hateful",)]
    assert load(f"keywords:{path}@edos").questions[0].name == "sexist"


@pytest.mark.parametrize("name", ["majority", "uniform", "majority@edos", "uniform:3@hatemoji", "tfidf", "xgboost"])
def test_every_baseline_is_a_scorer(name):
    scorer = load(name)
    assert isinstance(scorer, Scorer)
    assert scorer.name == name


@pytest.mark.parametrize("target", [*MAKERS.values(), *ENGINES.values()])
def test_every_name_leads_to_code(target):
    module, _, attribute = target.partition(":")
    assert hasattr(importlib.import_module(module), attribute)


def test_every_name_is_described():
    assert {name.split(":")[0].split("[")[0] for name in NAMES} - {"FOLDER"} == set(MAKERS)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("embeded", "Did you mean 'embedded'"),
        ("", "Known: embedded"),
        ("no/such/folder", "no model folder"),
        ("keywords", "keywords:FILE"),
        ("majority:gone.csv", "no file gone.csv"),
        ("majority@nothing", "nothing"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_there_is(name, message):
    with pytest.raises(UserError, match=message):
        load(name)


def test_without_weights_the_embedded_detectors_say_so(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "WEIGHTS", tmp_path)
    monkeypatch.setattr(embedded, "PACKAGES", {})
    for name in ("embedded", "embedded-en", "embedded-de"):
        with pytest.raises(UserError, match=r"not in this installation\. It holds no embedded detector yet"):
            load(name)


def test_with_weights_for_one_language_that_one_answers(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "WEIGHTS", tmp_path)
    load("majority@gmhp7k").save(tmp_path / "embedded-de")
    assert [q.name for q in load("embedded").questions][:2] == ["hate", "misogynistic"]
    scores = load("embedded").score(pl.DataFrame({"text": ["Good morning", "Guten Morgen an alle"]}))
    assert scores.verdicts() == [None, "none"]
    assert scores.columns()["unsupported_language"] == ["en", None]
    with pytest.raises(UserError, match="It holds embedded-de"):
        load("embedded-en")


def test_posts_go_to_the_detector_of_their_language_and_come_back_in_order():
    english, german = Fixed("en", 0.8, HATE, SEXIST), Fixed("de", 0.3, HATE, threshold=0.2)
    routed = LanguageRouter(
        {"en": english, "de": german}, lambda texts: ["de" if "ü" in text else "" for text in texts]
    )
    posts = pl.DataFrame({"text": ["one", "für", "three", "vier"], "lang": [None, None, "en-GB", "de"]})
    columns = routed.score(posts).columns()
    assert german.asked == ["für", "vier"]
    assert columns["hate"] == [0.8, 0.3, 0.8, 0.3]
    assert columns["hate.label"] == ["yes", "yes", "yes", "yes"], "each at its own detector's threshold"
    assert columns["sexist.label"] == ["sexist", None, "sexist", None], "the German one was never asked that"
    assert columns["verdict"] == ["yes; sexist", "yes", "yes; sexist", "yes"]


def test_a_cascade_behind_one_language_leaves_the_other_read():
    english, german = Fixed("en", 0.1, HATE, read=False), Fixed("de", 0.3, HATE)
    routed = LanguageRouter({"en": english, "de": german}, lambda texts: ["en"] * len(texts))
    assert routed.abilities.cascaded is False
    english.abilities = Abilities(cascaded=True)
    assert routed.abilities.cascaded is True
    scores = routed.score(pl.DataFrame({"text": ["a", "b"], "lang": ["en", "de"]}))
    assert scores.columns()["cleared"] == [True, False]


def test_detectors_that_spell_a_question_differently_are_put_in_one_order():
    turned = Question("hate", (Label("yes"), Label("no")), positive="yes")
    english, german = Fixed("en", 0.8, HATE), Fixed("de", 0.3, turned)
    routed = LanguageRouter({"en": english, "de": german}, lambda texts: ["de"] * len(texts))
    assert routed.score(pl.DataFrame({"text": ["a"]})).positive("hate").tolist() == [0.7]


def test_an_explanation_stays_with_the_detector_that_read_the_whole_text():
    """Without its umlaut the text would go to the English one, whose score says nothing about the German one's."""
    from davy.scoring.explain import explain

    english, german = Fixed("en", 0.1, HATE), Fixed("de", 0.8, HATE)
    routed = LanguageRouter(
        {"en": english, "de": german}, lambda texts: ["de" if "ü" in text else "en" for text in texts]
    )
    assert [weight.weight for weight in explain("für alle", routed).weights] == [0.0, 0.0]


def test_the_language_of_plain_sentences_is_found():
    texts = [
        "This is a very nice day for a walk in the park.",
        "Das ist ein sehr schöner Tag für einen Spaziergang.",
        "🦞",
    ]
    assert detect_languages(texts) == ["en", "de", ""]
    assert detect_languages(["@the_best_of_london @one_more_name_for_you Danke dir"]) == ["de"]


def test_the_version_follows_the_detectors_behind():
    one = LanguageRouter({"en": Fixed("en", 0.8, HATE)}, detect_languages).version
    other = Fixed("en", 0.8, HATE)
    other.version = "2"
    assert one != LanguageRouter({"en": other}, detect_languages).version
