"""Perspective's attributes in three languages: six figures each, what stands behind them, and what is refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from davy.core.errors import UserError
from davy.detectors import embedded
from davy.moderation.server_part import Moderation
from davy.moderation.store import communities, suggestions
from davy.moderation.store.communities import Community
from davy.people.store import keys
from davy.text import perturb
from davy.text.lexicons.read import load as load_lexicon
from davy.text.match import matcher
from tiny_encoder import make_tiny_classifier
from web_site import make_key, make_site

needs_weights = pytest.mark.skipif(
    not {"embedded-en", "embedded-de"} <= set(embedded.shipped_names()), reason="no embedded detectors"
)

SIX = ("TOXICITY", "SEVERE_TOXICITY", "IDENTITY_ATTACK", "INSULT", "PROFANITY", "THREAT")
FRENCH = Path(__file__).parents[2] / "deploy" / "perspective-french.yaml"
JIGSAW = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]
COMMENTS = {
    "en": "You are an idiot, and I will find you and beat you up.",
    "de": "Du bist ein Idiot, und ich finde dich und bringe dich um.",
    "fr": "Quelle belle matinée pour nous tous, mes chers amis.",
}


@pytest.fixture(scope="module")
def french(tmp_path_factory):
    """The ready file with a tiny classifier in the place of the team's own."""
    folder = tmp_path_factory.mktemp("french")
    make_tiny_classifier(folder / "model", JIGSAW, problem_type="multi_label_classification")
    text = FRENCH.read_text("utf-8")
    assert "hf:your-team/french-comments\n" in text
    file = folder / "attributes.yaml"
    file.write_text(text.replace("hf:your-team/french-comments\n", f"hf:{folder / 'model'}\n"), "utf-8")
    return str(file)


def analyze(site, text, *names, secret=None, **more):
    body = {"comment": {"text": text}, "requestedAttributes": {name: {} for name in names}, **more}
    return site.visitor().post("/v1alpha1/comments:analyze", params={"key": secret or make_key(site)[1]}, json=body)


def figures(answer):
    return {name: it["summaryScore"]["value"] for name, it in answer["attributeScores"].items()}


class TestWithEmbeddedDetectorsAndAFrenchModel:
    pytestmark = needs_weights

    @pytest.fixture
    def settings(self, settings, french):
        return replace(settings, model="embedded", attributes=french)

    @pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
    def test_googles_client_gets_six_different_figures_in_each_language(self, live):
        from googleapiclient import discovery

        _, secret = make_key(live.site)
        client = discovery.build(
            "commentanalyzer",
            "v1alpha1",
            developerKey=secret,
            discoveryServiceUrl=f"{live.url}/$discovery/rest?version=v1alpha1",
            static_discovery=False,
        )
        for lang, text in COMMENTS.items():
            asked = {"comment": {"text": text}, "languages": [lang], "requestedAttributes": {name: {} for name in SIX}}
            answer = client.comments().analyze(body=asked).execute()
            values = figures(answer)
            assert set(values) == set(SIX)
            assert len(set(values.values())) == 6, (lang, values)
            told = {name: it[lang] for name, it in answer["davy"]["attributes"].items()}
            assert len({it["behind"] for it in told.values()}) == 6
            assert {it["detector"].partition("@")[0] for it in told.values()} == (
                {"embedded"} if lang != "fr" else {next(iter(told.values()))["detector"].partition("@")[0]}
            )
            measured = {name for name, it in told.items() if not it["approximation"]}
            assert measured == ({"TOXICITY", "IDENTITY_ATTACK"} if lang != "fr" else set())
        client.close()

    def test_a_language_s_own_model_answers_and_is_named(self, site, french):
        from davy.detectors.load import load
        from davy.moderation.attribute_map import load_attributes
        from davy.scoring.result import one_post

        (name,) = load_attributes(french).models
        model = load(name)
        block = model.score(one_post(COMMENTS["fr"], "fr")).probabilities["label"][0]
        answer = analyze(site, COMMENTS["fr"], *SIX, languages=["fr"]).json()
        labels = dict(zip(SIX, ("toxic", "severe_toxic", "identity_hate", "insult", "obscene", "threat"), strict=True))
        for attribute, value in figures(answer).items():
            assert value == pytest.approx(float(block[JIGSAW.index(labels[attribute])]), abs=1e-6)
            assert answer["davy"]["attributes"][attribute]["fr"]["detector"].startswith(model.name)

    def test_a_comment_in_two_languages_asks_both_detectors_and_counts_once(self, site):
        key, secret = make_key(site, per_day=5)
        answer = analyze(site, COMMENTS["en"], "TOXICITY", languages=["fr", "en"], secret=secret)
        told = answer.json()["davy"]["attributes"]["TOXICITY"]
        assert list(told) == ["fr", "en"]
        assert told["fr"]["detector"] != told["en"]["detector"]
        english = figures(analyze(site, COMMENTS["en"], "TOXICITY", languages=["en"]).json())["TOXICITY"]
        assert figures(answer.json())["TOXICITY"] >= english
        site.app.state.context.quotas.flush()
        from davy.store.columns import now

        with site.store.read() as db:
            assert keys.usage_of_day(db, key.id, f"{now():%Y-%m-%d}").posts == 1

    def test_what_nothing_stands_behind_is_listed_all_at_once_with_what_to_ask_for(self, site):
        names = (*SIX, "SEXUALLY_EXPLICIT", "FLIRTATION", "TOXICITY_EXPERIMENTAL", "SPAM")
        error = analyze(site, COMMENTS["en"], *names, languages=["en"]).json()["error"]
        assert error["message"] == (
            "Attributes FLIRTATION, TOXICITY_EXPERIMENTAL, SPAM do not support request languages: en. "
            "Ask for TOXICITY in place of TOXICITY_EXPERIMENTAL"
        )
        kinds = {it["errorType"] for it in error["details"]}
        named = [it["languageNotSupportedByAttributeError"]["attribute"] for it in error["details"]]
        assert (kinds, named) == (
            {"LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE"},
            ["FLIRTATION", "TOXICITY_EXPERIMENTAL", "SPAM"],
        )
        both = analyze(site, COMMENTS["de"], "SEXISM", "FLIRTATION", languages=["de"]).json()["error"]
        assert both["message"] == "Attributes SEXISM, FLIRTATION do not support request languages: de"

    def test_words_are_looked_for_in_the_languages_of_the_word_lists_alone(self, site):
        error = analyze(site, COMMENTS["fr"], "SEXUALLY_EXPLICIT", languages=["fr"]).json()["error"]
        assert error["message"] == "Attribute SEXUALLY_EXPLICIT does not support request languages: fr"
        assert set(figures(analyze(site, COMMENTS["en"], "SEXUALLY_EXPLICIT").json())) == {"SEXUALLY_EXPLICIT"}

    def test_unsupported_attributes_are_dropped_and_named(self, site):
        answer = analyze(site, COMMENTS["fr"], "TOXICITY", "SEXISM", languages=["fr"], dropUnsupportedAttributes=True)
        assert set(figures(answer.json())) == {"TOXICITY"}
        assert answer.json()["davy"]["dropped"] == {"SEXISM": ["fr"]}
        empty = analyze(site, COMMENTS["de"], "SEXISM", languages=["de"], dropUnsupportedAttributes=True).json()
        assert empty["attributeScores"] == {}

    @pytest.mark.parametrize("text", ["you suck", "lol", "👍", "f u c k y o u", "1234"])
    def test_a_short_text_without_languages_is_judged_as_by_our_own_api(self, site, text):
        answer = analyze(site, text, "TOXICITY")
        assert answer.status_code == 200, answer.text
        assert answer.json()["languages"] == ["en"]


@needs_weights
def test_without_a_french_model_one_error_lists_all(settings, empty_database):
    with make_site(replace(settings, model="embedded", attributes="perspective"), empty_database).started() as site:
        error = analyze(site, COMMENTS["fr"], *SIX, languages=["fr"]).json()["error"]
    assert error["message"] == f"Attributes {', '.join(SIX)} do not support request languages: fr"
    assert len(error["details"]) == 6


def test_a_language_s_model_that_is_not_there_is_one_line_at_the_start(settings, empty_database, tmp_path):
    file = tmp_path / "fr.yaml"
    file.write_text(FRENCH.read_text().replace("hf:your-team/french-comments", f"hf:{tmp_path}/none"))
    with pytest.raises(UserError, match="none"):
        make_site(replace(settings, attributes=str(file)), empty_database)


ATTRIBUTES = "name: ours\nattributes:\n  IDENTITY_ATTACK: {question: hate}\n  INSULT: {}\n"


@pytest.fixture
def settings(settings, tmp_path, request):
    """A word list as the detector, unless the test's class has a detector of its own."""
    path = tmp_path / "ours.yaml"
    path.write_text(ATTRIBUTES)
    return replace(settings, attributes=str(path))


def test_the_server_can_always_drop(settings, empty_database):
    with make_site(replace(settings, drop_unsupported=True), empty_database).started() as site:
        answer = analyze(site, "a grumblefop", "IDENTITY_ATTACK", "INSULT", languages=["en"]).json()
    assert figures(answer) == {"IDENTITY_ATTACK": 0.9}
    assert answer["davy"]["dropped"] == {"INSULT": ["en"]}


def test_the_default_language_is_the_key_s_then_the_community_s_then_the_server_s(settings, empty_database):
    with make_site(replace(settings, default_language="it"), empty_database).started() as site:
        _, plain = make_key(site)
        own, of_key = make_key(site, lang="de")
        with site.store.write() as db:
            communities.create(db, Community("forum", "hate", keys=(own.id,), lang="nl"), by="shell")
            third, of_community = keys.create(
                db, name="x", owner=site.people["expert"].id, scopes=["score"], by="shell"
            )
            communities.change(db, "forum", by="shell", keys=(own.id, third.id))
        site.app.state.context.part(Moderation).decider.refresh()

        def used(secret, **more):
            answer = analyze(site, "1234 !!", "IDENTITY_ATTACK", secret=secret, **more).json()
            return answer["languages"], answer["davy"]["language"]

        assert used(plain) == (["it"], "server")
        assert used(of_key, communityId="forum") == (["de"], "key")
        assert used(of_community, communityId="forum") == (["nl"], "community")
        assert used(of_key, languages=["en"]) == (["en"], "request")
        told = analyze(site, "What a lovely day it is today", "IDENTITY_ATTACK", secret=of_key).json()
        assert (told["languages"], told["davy"]["language"]) == (["en"], "detected")


@pytest.mark.parametrize("lang", ["", "german", "d", "12"])
def test_a_default_language_is_a_code(site, lang):
    with pytest.raises(UserError, match="is no language"):
        make_key(site, lang=lang)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"comment": {"text": "x"}, "requestedAttributes": {"NICE": {}, "KIND": {}}}',
         "Unknown requested attributes: NICE, KIND"),
        ('{"comment": {"text": "x"}, "comment": {"text": "y"}, "requestedAttributes": {"IDENTITY_ATTACK": {}}}',
         "The field 'comment' stands twice in one object. Send it once."),
        ('{"comment": {"text": "x"}, "requestedAttributes": {"IDENTITY_ATTACK": {}, "IDENTITY_ATTACK": {}}}',
         "The field 'IDENTITY_ATTACK' stands twice"),
        ('{"comment": {"text": "x"}, "languages": ["xx"], "requestedAttributes": {"INSULT": {}}}',
         "Attribute INSULT does not support request languages: xx"),
        ('{"comment": {"text": "x"}, "languages": "en", "requestedAttributes": {"INSULT": {}}}',
         "languages: Input should be a valid list"),
        ('{"comment": {"text": "x"}, "clientToken": "\\udc00", "requestedAttributes": {"IDENTITY_ATTACK": {}}}',
         "clientToken: "),
        ('{"comment": {"text": "x"}, "requestedAttributes": {"\\udc00": {}}}', "half of a UTF-16 pair"),
        ('{"comment": {"text": "x"}, "\\udc00": 1, "requestedAttributes": {"INSULT": {}}}', "half of a UTF-16 pair"),
        ('{"\\udc00": 1, "\\udc00": 2}', "half of a UTF-16 pair"),
    ],
)  # fmt: skip
def test_bad_input_has_one_clear_answer_in_googles_shape(site, body, said):
    answer = site.visitor().post(
        "/v1alpha1/comments:analyze",
        params={"key": make_key(site)[1]},
        content=body.encode(),
        headers={"content-type": "application/json"},
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert said in error["message"]
    assert len(error["message"]) < 600


def test_half_an_emoji_in_a_comment_is_judged_and_kept_as_a_replacement_character(site):
    secret = make_key(site)[1]
    body = b'{"comment": {"text": "a grumblefop \\ud83d"}, "languages": ["en"], %s}'
    for path, more in (
        ("analyze", b'"requestedAttributes": {"IDENTITY_ATTACK": {}}'),
        ("suggestscore", b'"attributeScores": {"IDENTITY_ATTACK": {"summaryScore": {"value": 1}}}'),
    ):
        answer = site.visitor().post(
            f"/v1alpha1/comments:{path}",
            params={"key": secret},
            content=body % more,
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 200, answer.text
    with site.store.read() as db:
        assert [it.text for it in suggestions.list_open(db)] == ["a grumblefop \ufffd"]


@pytest.mark.parametrize("count", [101, 10_000])
def test_thousands_of_attributes_are_one_short_error(site, count):
    error = analyze(site, "x", *(f"A{i}" for i in range(count))).json()["error"]
    assert error["code"] == 400
    assert "at most 100" in error["message"]
    assert len(error["message"]) < 300


def test_many_unknown_attributes_are_counted_where_they_are_too_many_to_name(site):
    error = analyze(site, "x", *(f"A{i}" for i in range(100))).json()["error"]
    assert error["message"].endswith("A19 and 80 more")


def test_an_unknown_community_decides_nothing_and_the_answer_says_so(site):
    answer = analyze(site, "a grumblefop", "IDENTITY_ATTACK", languages=["en"], communityId="/no/such")
    assert "davy-decision" not in answer.headers
    assert answer.json()["davy"]["community"] == "not known here for this key, so it decides nothing"


TERMS = [
    pytest.param(lang, kind, id=f"{lang}-{kind}")
    for lang in ("en", "de")
    for kind in ("profanity", "sexual", "slur", "insult")
]


@pytest.mark.parametrize(("lang", "kind"), TERMS)
def test_each_word_of_the_lists_is_found_plain_shouted_and_spaced(lang, kind):
    find = matcher(load_lexicon("masking")).kinds
    entries = [entry for entry in load_lexicon(lang) if entry.kind == kind and entry.mode == "word"]
    terms = [entry.term for entry in entries if entry.term.isalpha()]
    assert len(terms) > 20
    chance = random.Random(0)
    for change, least in (
        (lambda text, _: text, 1.0),
        (perturb.casing, 1.0),
        (perturb.spacing, 1.0),
        (lambda text, _: ".".join(text), 1.0),
        (perturb.leetspeak, 0.9),
        (perturb.homoglyphs, 0.85),
    ):
        changed = [text for term in terms if (text := change(term, chance))]
        share = sum(bool(find(text)) for text in changed) / len(changed)
        assert share >= least, (change, round(share, 3))


def test_harmless_words_that_hold_a_hurtful_one_have_no_kind():
    find = matcher(load_lexicon("masking")).kinds
    for text in ("Scunthorpe", "a classic assassin", "a glass of milk", "Mitternacht in Essen", "die Klasse"):
        assert find(text) == frozenset()


def test_a_word_inside_a_longer_one_and_a_masked_one_are_found():
    lexicon = load_lexicon("masking")
    find, words = matcher(lexicon).kinds, {entry.term: entry.kind for entry in lexicon}
    inner = [
        (term, kind)
        for term, kind in words.items()
        if kind == "insult" and any(words.get(part) == "profanity" for part in term.split()[1:])
    ]
    assert inner
    for term, _ in inner:
        assert {"insult", "profanity"} <= find(term)
    masked = next(e.term for e in lexicon if e.kind == "profanity" and e.lang == "en" and e.term[1] in "aeiou")
    assert find(masked.replace(masked[1], "*", 1)) == {"profanity"}


def test_the_ready_file_names_the_labels_that_it_says(french):
    from davy.moderation.attribute_map import load_attributes

    own = load_attributes(french).languages["fr"]
    assert sorted(str(source.label) for source in own.values()) == sorted(JIGSAW)
    assert json.dumps(list(own)) == json.dumps(list(SIX))
