"""What the embedded detectors do not judge, are unsure of, and read whole."""

import numpy as np
import polars as pl
import pytest

from davy.core.scheme import Label, Question
from davy.core.scorer import Scores
from davy.detectors.embedded import detect_languages, weights_folder
from davy.detectors.load import load, open_folder
from davy.detectors.token_batches import cut_windows, join_windows

FOREIGN = {
    "zh": "今天天气很好,我们去公园散步。",
    "ja": "昨日は雨でしたが、今日は晴れています。",
    "ar": "الطقس جميل اليوم وذهبنا إلى الحديقة",
    "ru": "Сегодня хорошая погода, мы гуляли в парке.",
    "hi": "आज मौसम बहुत अच्छा है",
    "ko": "오늘 날씨가 정말 좋아요",
    "el": "Ο καιρός είναι πολύ καλός σήμερα",
    "he": "מזג האוויר יפה היום",
    "fr": "Ma sœur habite à Lyon avec ses deux enfants",
    "es": "Mi hermana vive en Madrid con sus hijos",
    "pl": "Dzisiaj jest ładna pogoda i idziemy do parku",
    "tr": "Bugün hava çok güzel ve parka gidiyoruz",
}
HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
KIND = Question("kind", (Label("a"), Label("b")), under=("hate", ("yes",)))


def frame(*texts: str) -> pl.DataFrame:
    return pl.DataFrame({"text": list(texts)})


def test_a_text_in_a_language_without_a_detector_is_not_judged_and_says_so():
    scores = load("embedded").score(frame(*FOREIGN.values(), "What a day"))
    columns = scores.columns()
    assert columns["unsupported_language"] == [*FOREIGN, None]
    assert columns["verdict"] == [None] * len(FOREIGN) + ["none"]
    assert columns["hate"][: len(FOREIGN)] == [None] * len(FOREIGN)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("das ist so crazy bro, I can't even", "de"),
        ("Muhammad (محمد) was born in Mecca", "en"),
        ("hаtе yоu аll", ""),  # Cyrillic letters within Latin words
        ("𝔖𝔬 𝔪𝔲𝔰𝔰 𝔡𝔞𝔰 𝔰𝔢𝔦𝔫", "de"),
        ("🔫🔫", ""),
        ("slut", "en"),  # Swedish for the end, to a model of all languages
        ("", ""),
    ],
)
def test_what_can_be_judged_is_judged(text, language):
    found = detect_languages([text])[0]
    assert found in {language, ""}


def test_a_given_language_decides_and_a_placeholder_is_none():
    posts = pl.DataFrame({"text": ["What a day"] * 5, "lang": ["fr", "und", "en-GB", "qme", "English"]})
    assert load("embedded").score(posts).columns()["unsupported_language"] == ["fr", None, None, None, None]


def test_a_language_in_three_letters_is_the_one_in_two():
    posts = pl.DataFrame({"text": ["What a day"] * 5, "lang": ["eng", "deu", "ger", "gsw", "fra"]})
    assert load("embedded").score(posts).columns()["unsupported_language"] == [None, None, None, None, "fra"]


def test_windows_overlap_end_as_a_text_ends_and_leave_short_texts_alone():
    rows, owners = cut_windows([[1, 5, 2], [1, *range(10, 30), 2]], 10, [1, 2])
    assert owners.tolist() == [0, 1, 1, 1]
    assert rows[0] == [1, 5, 2]
    assert all(row[0] == 1 and row[-1] == 2 and len(row) <= 10 for row in rows)
    assert {token for row in rows[1:] for token in row} >= set(range(10, 30))


def test_the_loudest_window_decides_and_its_answers_below_go_with_it():
    blocks = {
        "hate": np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]]),
        "kind": np.array([[1.0, 0.0], [0.1, 0.9], [0.8, 0.2], [0.6, 0.4]]),
    }
    found, read = join_windows((HATE, KIND), blocks, np.array([True, True, True, False]), np.array([0, 0, 0, 1]))
    assert found["hate"][:, 1].tolist() == [0.8, 0.3]
    assert found["kind"][0].tolist() == [0.1, 0.9]
    assert read.tolist() == [True, False]


@pytest.mark.parametrize("place", [0, 30, 60])
def test_a_hateful_sentence_is_found_anywhere_in_a_long_text(place):
    filler = ["We walked to the park and had some tea with the neighbours in the garden."] * 60
    hateful = "I hate all muslims, they are vermin and should be killed."
    text = " ".join([*filler[:place], hateful, *filler[place:]])
    assert len(text) > 4000
    scores = load("embedded-en").score(frame(text, " ".join(filler)))
    assert scores.columns()["hate.label"] == ["hateful", "not hateful"]


def test_answers_in_the_band_of_doubt_are_marked_unsure():
    scorer = open_folder(weights_folder("embedded-en"))
    scores = scorer.score(frame("What a day", "you people are the worst", "women are bad at maths", "I hate muslims"))
    yes = scores.positive("hate")
    assert scores.unsure["hate"].tolist() == ((yes >= 0.3333) & (yes <= 0.6667)).tolist()
    assert len(scores.columns()["unsure"]) == 4


def test_scores_with_and_without_doubts_join():
    one = Scores((HATE,), {"hate": np.array([[0.5, 0.5]])}, unsure={"hate": np.array([True])})
    two = Scores((HATE,), {"hate": np.array([[0.9, 0.1]])}, unsupported=np.array([""], dtype=object))
    joined = Scores.concat([one, two])
    assert joined.columns()["unsure"] == ["hate", None]
    assert joined.columns()["unsupported_language"] == [None, None]
    assert joined.take(np.array([1])).unsure["hate"].tolist() == [False]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Ich hasse Frauen.", "hateful > derogation; hateful > women; hateful > misogynistic; offensive"),
        ("Ich hasse Frauen nicht.", "none"),
        ("kill all muslims", "hateful > threatening language; hateful > muslims; offensive"),
        ("I am a Muslim and I like tea", "none"),
        ("Meine Nachbarn sind Muslime und backen gern.", "none"),
    ],
)
def test_plain_sentences_get_the_verdict_that_a_person_would_give(text, verdict):
    assert load("embedded").score(frame(text)).columns()["verdict"] == [verdict]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The women next door are Turks", "none"),
        ("lesbians", "none"),
        ("kill all muslims", "hateful > threatening language; hateful > muslims; offensive"),
    ],
)
def test_the_large_detector_spares_plain_sentences_about_people(text, verdict):
    assert load("embedded-en-large").score(frame(text)).columns()["verdict"] == [verdict]


def test_german_and_english_in_one_sentence_are_read_together():
    found = (
        load("embedded").score(frame("Ich hasse all diese stupid women, they are disgusting")).columns()["verdict"][0]
    )
    assert set(found.split("; ")) >= {"hateful > misogynistic", "offensive"}
