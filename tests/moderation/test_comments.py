"""Perspective's shape: its fields, its answers and its errors, with a word list and with the embedded detectors."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from davy.detectors import embedded
from davy.moderation.store import suggestions
from web_site import make_key, make_site

needs_weights = pytest.mark.skipif(
    not {"embedded-en", "embedded-de"} <= set(embedded.shipped_names()), reason="no embedded detectors"
)

WORDS_AS_HATE = """
name: ours
attributes:
  IDENTITY_ATTACK: {question: hate}
  TOXICITY: {question: offensive}
  PROFANITY: {formula: words(profanity)}
  INSULT: {}
"""


@pytest.fixture
def settings(settings, tmp_path):
    path = tmp_path / "attributes.yaml"
    path.write_text(WORDS_AS_HATE)
    return replace(settings, attributes=str(path))


def analyze(site, body, *, secret=None, path="/v1alpha1/comments:analyze"):
    secret = secret if secret is not None else make_key(site)[1]
    return site.visitor().post(path, params={"key": secret} if secret else {}, json=body)


def comment(text="what a grumblefop you are", *attributes, **more):
    asked = {name: {} for name in attributes or ("IDENTITY_ATTACK",)}
    return {"comment": {"text": text}, "languages": ["en"], "requestedAttributes": asked, **more}


def error_of(answer):
    body = answer.json()
    assert list(body) == ["error"]
    assert body["error"]["code"] == answer.status_code
    return body["error"]


def test_a_body_without_a_content_type_is_read_as_perspective_did(site):
    secret = make_key(site)[1]
    body = json.dumps(comment()).encode()
    for path in ("/v1alpha1/comments:analyze", "/v1/score", "/v1/moderations"):
        sent = {"/v1/score": b'{"text": "fine"}', "/v1/moderations": b'{"input": "fine"}'}.get(path, body)
        headers = {"authorization": f"Bearer {secret}"}
        answer = site.visitor().post(path, content=sent, headers=headers)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"{}", "application/x-www-form-urlencoded", "Send it with the header Content-Type: application/json."),
        (b"{}", "text/plain", "Send it with the header Content-Type: application/json."),
        (b'{"comment": ', "application/json", "The body is not JSON: it can't be read from character 12 on."),
        (b"[]", "application/json", "not an object"),
        (b"", "application/json", "The body is empty. Send JSON."),
    ],
)
def test_a_body_that_cannot_be_read_says_what_to_send(site, body, kind, said):
    secret = make_key(site)[1]
    for path in ("/v1alpha1/comments:analyze", "/v1/score", "/v1/moderations"):
        headers = {"authorization": f"Bearer {secret}", "content-type": kind}
        answer = site.visitor().post(path, content=body, headers=headers)
        assert answer.status_code == (422 if path == "/v1/score" else 400)
        told = answer.json()["error"]
        assert said in (told if isinstance(told, str) else told["message"])


def test_a_comment_gets_the_score_of_the_question_behind_each_attribute(site):
    answer = analyze(site, comment(clientToken="c-1", sessionId="s", communityId="/forum/x", doNotStore=True))
    assert answer.status_code == 200
    assert answer.json() == {
        "attributeScores": {
            "IDENTITY_ATTACK": {
                "spanScores": [{"begin": 0, "end": 25, "score": {"value": 0.9, "type": "PROBABILITY"}}],
                "summaryScore": {"value": 0.9, "type": "PROBABILITY"},
            }
        },
        "languages": ["en"],
        "detectedLanguages": ["en"],
        "clientToken": "c-1",
        "davy": {
            "language": "request",
            "attributes": {
                "IDENTITY_ATTACK": {
                    "en": {"behind": "hate", "approximation": False, "detector": answer.headers["davy-model"]}
                }
            },
            "community": "not known here for this key, so it decides nothing",
        },
    }
    assert answer.headers["davy-model"].startswith("keywords")


def test_each_sentence_has_a_score_where_spans_are_asked_for(site):
    text = "What kind of grumblefop name is foo? Sorry, I like your name."
    body = analyze(site, comment(text, spanAnnotations=True)).json()
    spans = body["attributeScores"]["IDENTITY_ATTACK"]["spanScores"]
    assert [(it["begin"], it["end"], it["score"]["value"]) for it in spans] == [(0, 36, 0.9), (37, 61, 0.0)]
    assert text[37:61] == "Sorry, I like your name."


def test_scores_below_the_threshold_are_left_out(site):
    asked = {"IDENTITY_ATTACK": {"scoreThreshold": 0.95, "scoreType": "PROBABILITY"}}
    body = analyze(site, comment(requestedAttributes=asked)).json()
    assert body["attributeScores"] == {}
    assert body["davy"]["attributes"] == {}


def test_names_with_underscores_are_understood_like_camel_case(site):
    body = {"comment": {"text": "grumblefop"}, "requested_attributes": {"IDENTITY_ATTACK": {}}, "languages": ["en"]}
    assert analyze(site, body).json()["attributeScores"]["IDENTITY_ATTACK"]["summaryScore"]["value"] == 0.9


@pytest.mark.parametrize(
    ("body", "message", "kind"),
    [
        (comment(""), "Comment must be non-empty.", "COMMENT_EMPTY"),
        (comment("  \n"), "Comment must be non-empty.", "COMMENT_EMPTY"),
        ({"requestedAttributes": {"IDENTITY_ATTACK": {}}}, "Comment must be non-empty.", "COMMENT_EMPTY"),
        (comment("é" * 10_241), "Comment text too long.", "COMMENT_TOO_LONG"),
        ({"comment": {"text": "x"}}, "Missing requested_attributes", "NO_REQUESTED_ATTRIBUTES"),
        (comment("x", "NICENESS"), "Unknown requested attribute: NICENESS", "INVALID_REQUEST"),
        (
            comment("x", requestedAttributes={"IDENTITY_ATTACK": {"scoreType": "RAW"}}),
            "Requested score type RAW is not supported by attribute IDENTITY_ATTACK",
            "INVALID_REQUEST",
        ),
        (
            {**comment(), "comment": {"text": "x", "type": "HTML"}},
            "Currently, only 'PLAIN_TEXT' comments are supported",
            "INVALID_REQUEST",
        ),
        ({**comment("1234 5678"), "languages": []}, "Unable to detect language.", "LANGUAGE_DETECTION_FAILED"),
        (
            comment("x", "INSULT"),
            "Attribute INSULT does not support request languages: en",
            "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE",
        ),
        (
            comment("x", "TOXICITY"),
            "Attribute TOXICITY does not support request languages: en",
            "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE",
        ),
    ],
)
def test_refusals_are_worded_and_typed_as_perspectives(site, body, message, kind):
    error = error_of(analyze(site, body))
    assert (error["code"], error["status"], error["message"]) == (400, "INVALID_ARGUMENT", message)
    assert error["details"][0]["errorType"] == kind
    assert error["details"][0]["@type"] == "type.googleapis.com/google.commentanalyzer.v1alpha1.Error"


def test_20480_bytes_are_taken(site):
    assert analyze(site, comment("é" * 10_240)).status_code == 200


def test_an_attribute_without_a_question_names_itself_and_the_languages(site):
    error = error_of(analyze(site, comment("a fine day", "INSULT", "IDENTITY_ATTACK")))
    assert error["details"][0]["languageNotSupportedByAttributeError"]["attribute"] == "INSULT"
    assert error["details"][0]["languageNotSupportedByAttributeError"]["requestedLanguages"] == ["en"]


def test_unsupported_attributes_are_dropped_where_that_is_asked_for(site):
    body = analyze(site, comment("grumblefop", "INSULT", "IDENTITY_ATTACK", dropUnsupportedAttributes=True)).json()
    assert list(body["attributeScores"]) == ["IDENTITY_ATTACK"]


@pytest.mark.parametrize(
    ("secret", "status", "name"),
    [("", 403, "PERMISSION_DENIED"), ("davy_none_x", 400, "INVALID_ARGUMENT")],
)
def test_a_missing_and_a_wrong_key_are_refused_as_google_does(site, secret, status, name):
    error = error_of(analyze(site, comment(), secret=secret))
    assert (error["code"], error["status"]) == (status, name)
    if secret:
        assert error["details"][0]["reason"] == "API_KEY_INVALID"


def test_a_session_is_no_key(site):
    assert site.as_("admin").post("/v1alpha1/comments:analyze", json=comment()).status_code == 403


def test_a_used_up_quota_is_resource_exhausted_with_the_seconds_to_wait(site):
    _, secret = make_key(site, per_day=2)
    assert [analyze(site, comment(), secret=secret).status_code for _ in range(3)] == [200, 200, 429]
    answer = analyze(site, comment(), secret=secret)
    assert error_of(answer)["status"] == "RESOURCE_EXHAUSTED"
    assert 0 < int(answer.headers["retry-after"]) <= 86_401


def test_an_unknown_field_and_a_body_that_is_no_json_are_invalid_arguments(site):
    assert error_of(analyze(site, comment(colour="red")))["status"] == "INVALID_ARGUMENT"
    _, secret = make_key(site)
    headers = {"content-type": "application/json"}
    answer = site.visitor().post("/v1alpha1/comments:analyze", params={"key": secret}, content=b"{", headers=headers)
    assert error_of(answer)["status"] == "INVALID_ARGUMENT"


def test_a_suggested_score_is_kept_for_review_and_its_token_echoed(site):
    body = {
        "comment": {"text": "I guess it comes down to a simple choice."},
        "attributeScores": {
            "IDENTITY_ATTACK": {"summaryScore": {"value": 0}},
            "INSULT": {"summaryScore": {"value": 1}},
        },
        "communityId": "/forum/movies",
        "clientToken": "comment-53922",
        "sessionId": "s",
    }
    answer = analyze(site, body, path="/v1alpha1/comments:suggestscore")
    assert answer.json() == {"clientToken": "comment-53922", "detectedLanguages": ["en"]}
    with site.store.read() as db:
        (kept,) = suggestions.list_open(db)
    assert (kept.text, kept.community, kept.lang) == (body["comment"]["text"], "/forum/movies", "en")
    assert kept.scores == {"IDENTITY_ATTACK": 0, "INSULT": 1}
    assert kept.answers == {"hate": "not hateful"}
    assert kept.by == site.people["expert"].id


@pytest.mark.parametrize(
    "scores", [None, {}, {"IDENTITY_ATTACK": {}}, {"NICENESS": {"summaryScore": {"value": 0}}},
               {"IDENTITY_ATTACK": {"summaryScore": {"value": 2}}}]
)  # fmt: skip
def test_a_suggestion_without_a_right_score_is_refused_and_not_kept(site, scores):
    body = {"comment": {"text": "x y z"}, "attributeScores": scores}
    answer = analyze(site, body, path="/v1alpha1/comments:suggestscore")
    assert error_of(answer)["status"] == "INVALID_ARGUMENT"
    with site.store.read() as db:
        assert suggestions.list_open(db) == []


@needs_weights
def test_the_embedded_detectors_answer_in_english_and_german_and_refuse_what_they_lack(settings, empty_database):
    made = replace(settings, model="embedded", attributes="perspective")
    with make_site(made, empty_database).started() as site:
        names = ("TOXICITY", "IDENTITY_ATTACK", "THREAT", "PROFANITY", "SEXISM")
        english = analyze(site, comment("What a lovely morning it is, my friends.", *names)).json()
        assert set(english["attributeScores"]) == set(names)
        assert all(it["summaryScore"]["value"] < 0.5 for it in english["attributeScores"].values())
        german = comment("Was für ein schöner Morgen das ist.", "TOXICITY", "MISOGYNY", "THREAT", languages=["de"])
        assert set(analyze(site, german).json()["attributeScores"]) == {"TOXICITY", "MISOGYNY", "THREAT"}
        for text, lang, name in (
            ("Was für ein schöner Morgen das ist.", "de", "SEXISM"),
            ("What a lovely morning.", "en", "MISOGYNY"),
            ("Quelle belle matinée, mes amis.", "fr", "TOXICITY"),
        ):
            error = error_of(analyze(site, comment(text, name, languages=[lang])))
            assert error["message"] == f"Attribute {name} does not support request languages: {lang}"
        detected = analyze(site, {**comment("Was für ein schöner Morgen das ist."), "languages": None}).json()
        assert detected["languages"] == ["de"]


@needs_weights
def test_a_threat_counts_where_the_text_is_offensive_or_hateful(settings, empty_database):
    made = replace(settings, model="embedded-en", attributes="perspective")
    with make_site(made, empty_database).started() as site:
        text = "they should all be thrown out of the country at once"
        got = analyze(site, comment(text, "THREAT", "IDENTITY_ATTACK")).json()["attributeScores"]
        from davy.detectors.load import load
        from davy.scoring.result import one_post

        scores = load("embedded-en").score(one_post(text, "en"))
        hateful, offensive = (float(scores.positive(name)[0]) for name in ("hate", "offensive"))
        labels = scores.question("type").label_names
        threat = float(scores.probabilities["type"][0][labels.index("threatening language")])
        assert got["IDENTITY_ATTACK"]["summaryScore"]["value"] == pytest.approx(hateful, abs=1e-6)
        assert got["THREAT"]["summaryScore"]["value"] == pytest.approx(max(hateful, offensive) * threat, abs=1e-6)
