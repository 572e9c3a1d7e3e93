"""Scoring a text on its page, and texts over HTTP with a key or a session."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest

from davy.core.scorer import Scores
from davy.detectors import store as detectors
from davy.detectors.embedded import LOOKS
from davy.detectors.load import load as load_detector
from davy.people.store import keys, users
from davy.schemes import load
from davy.scoring.queue.detector import answer_tree
from davy.scoring.queue.detectors import Detectors
from drawn_memes import draw
from web_site import make_key, make_site, post, token_in


def ask(site, body, secret=None, **headers):
    if secret:
        headers["authorization"] = f"Bearer {secret}"
    return site.visitor(**headers).post("/v1/score", json=body)


def test_the_page_scores_a_text_without_scripts(site):
    answer = post(site.as_("annotator"), "/score", {"text": "what a grumblefop"}, page="/score")
    assert answer.status_code == 200
    assert "<html" in answer.text
    assert "Hateful" in answer.text
    assert "90.0%" in answer.text
    assert site.app.state.context.part(Detectors).default_model["version"] in answer.text


def test_the_figure_beside_a_no_says_whose_it_is(site):
    html = post(site.as_("annotator"), "/score", {"text": "a fine day"}).text
    assert "<strong>Not hateful</strong>" in html
    assert '0.0% <span class="of">Hateful</span>' in html


def test_what_one_of_two_detectors_does_not_answer_is_no_difference(site, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("sneezewit\t0.9\n")
    with site.store.write() as db:
        for name, question in (("sexism", "@edos"), ("strict", "")):
            source = f"keywords:{words}{question}"
            scorer = load_detector(source)
            named = {"name": name, "version": scorer.version, "questions": [it.name for it in scorer.questions]}
            detectors.add(db, **named, source=source, by="shell")
    site.running.portal.call(site.app.state.context.part(Detectors).refresh)
    client = site.as_("annotator")
    own = site.app.state.context.part(Detectors).started.full_name
    html = post(client, "/score", {"text": "a grumblefop", "model": own, "other": "strict"}, page="/score").text
    assert "The two differ on: Is the post hateful?" in html
    html = post(client, "/score", {"text": "a grumblefop", "model": own, "other": "sexism"}, page="/score").text
    assert "no question in common" in html
    assert "Only sexism answers: Is the post sexist?" in html
    assert "differ on" not in html


def test_htmx_gets_only_the_result(site):
    answer = post(site.as_("annotator"), "/score", {"text": "a fine day"}, headers={"hx-request": "true"})
    assert "<html" not in answer.text
    assert "nothing found" in answer.text


def test_the_result_is_in_the_readers_language(site):
    client = site.as_("annotator")
    post(client, "/language", {"lang": "de", "next": "/"})
    answer = post(client, "/score", {"text": "so ein grumblefop"})
    assert "Hasserfüllt" in answer.text
    assert "90,0 %" in answer.text


def test_hurtful_words_are_masked_with_the_plain_text_behind_a_switch(site):
    from davy.text.lexicons.read import Lexicon

    object.__setattr__(site.app.state.context, "lexicon", Lexicon.of("grumblefop"))
    client = site.as_("annotator")
    html = post(client, "/score", {"text": "a grumblefop"}).text
    assert '<span class="masked-text">a gr*mblefop</span><span class="plain-text">a grumblefop</span>' in html
    assert 'role="switch">' in html
    post(client, "/account", {"lang": "en", "plain": "yes"})
    assert 'role="switch" checked>' in post(client, "/score", {"text": "a grumblefop"}).text


def test_the_page_explains_which_words_carried_the_answer(site):
    client = site.as_("annotator")
    html = post(client, "/score", {"text": "what a grumblefop you are", "explain": "yes"}).text
    assert '<mark class="for-4">grumblefop</mark>' in html
    assert "grumblefop −90.0%" in html
    assert "<mark" not in post(client, "/score", {"text": "what a grumblefop you are"}).text
    assert "No single word" in post(client, "/score", {"text": "a fine day", "explain": "yes"}).text


def test_a_picture_is_scored_by_what_stands_on_it(site):
    client = site.as_("annotator")
    token = token_in(client.get("/score?kind=picture").text)
    picture = {"picture": ("a.png", draw(1))}
    answer = client.post("/score/upload", data={"csrf": token, "text": "a grumblefop"}, files=picture)
    assert answer.status_code == 200
    assert "Hateful" in answer.text
    assert "scored the text alone" in answer.text
    for files in ({"picture": ("a.png", b"no picture")}, {"picture": ("", b"")}):
        refused = client.post("/score/upload", data={"csrf": token, "text": "x"}, files=files)
        assert refused.status_code in (415, 422)


def test_the_shipped_detectors_of_memes_are_offered_by_name_where_pictures_are_scored(site):
    client = site.as_("annotator")
    page = client.get("/score?kind=picture").text
    assert page.index(f'<option value="{LOOKS}"') < page.index('<option value="embedded-memes"')
    assert LOOKS not in client.get("/score").text
    form = {"csrf": token_in(page), "text": "Wash your hands", "model": LOOKS}
    answer = client.post("/score/upload", data=form, files={"picture": ("a.png", draw(1))})
    assert answer.status_code == 200
    assert "looked at the picture too" in answer.text
    assert f'<option value="{LOOKS}" selected>' in answer.text
    assert post(client, "/score", {"text": "a fine day", "model": LOOKS}, page="/score").status_code == 404
    listed = site.as_("admin").get("/detectors").text
    assert f"Use {LOOKS} as detector" in listed
    assert "Installed on this server" not in client.get("/detectors").text


def test_a_detector_that_looks_scores_a_picture_and_says_that_a_text_alone_is_not_enough(settings, empty_database):
    with make_site(replace(settings, model=LOOKS), empty_database).started() as site:
        client = site.as_("annotator")
        refused = post(client, "/score", {"text": "a fine day"}, page="/score")
        assert refused.status_code == 422
        assert f"{LOOKS} looks at pictures and has no answer to a text alone" in refused.text
        assert "nothing found" not in refused.text
        token = token_in(client.get("/score?kind=picture").text)
        files = {"picture": ("a.png", draw(1))}
        answer = client.post("/score/upload", data={"csrf": token, "text": "Wash your hands"}, files=files)
        assert answer.status_code == 200
        assert "scored the text alone" not in answer.text
        _, secret = make_key(site)
        found = ask(site, {"text": "a fine day"}, secret).json()["results"][0]
        assert (found["verdict"], found["questions"]) == (None, {})


def test_answers_are_a_path_and_what_was_not_reached_is_one_line():
    questions = load("edos").questions
    sure = {q.name: np.eye(len(q.labels))[[0, q.label_names.index(q.positive) if q.positive else 0]] for q in questions}
    scores = Scores(questions, sure)
    tree, left_out = answer_tree(scores, 0, "en")
    assert [node.labels for node in tree] == [("Not sexist",)]
    assert tree[0].children == ()
    assert len(left_out) == len(questions) - 1
    (root,), left_out = answer_tree(scores, 1, "en")
    assert root.labels == ("Sexist",)
    assert [child.title for child in root.children]
    assert root.children[0].children  # the vector, under its category


def test_a_question_that_is_not_asked_in_the_texts_language_is_not_among_those_not_reached():
    questions = load("edos").questions
    sure = {q.name: np.eye(len(q.labels))[[0]] for q in questions}
    unasked = {q.name: np.array([False]) for q in questions if q.name != "category"}
    assert answer_tree(Scores(questions, sure, answered=unasked), 0, "en") == ([], ["Which category of sexism is it?"])


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [("", 400, "no text"), ("  \n ", 400, "no text"), ("x" * 10_001, 413, "at most 10000")],
)
def test_a_text_that_can_not_be_scored_says_why(site, text, status, words):
    answer = post(site.as_("annotator"), "/score", {"text": text})
    assert (answer.status_code, words in answer.text) == (status, True)


@pytest.mark.parametrize("text", ["\x00", "😀" * 100, "\u202eright to left", "a\rb", "é" * 5000, "\ud800", "%00"])
def test_odd_texts_get_a_score_and_not_a_crash(site, text):
    _, secret = make_key(site)
    answer = ask(site, {"text": text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")}, secret)
    assert answer.status_code == 200
    client = site.as_("annotator")
    form = {"csrf": token_in(client.get("/score").text), "text": text.encode("utf-8", "surrogatepass")}
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/score", content=urlencode(form), headers=kind).status_code == 200


def test_a_key_scores_texts_in_order_and_names_the_model(site):
    _, secret = make_key(site)
    body = ask(site, {"texts": ["a grumblefop", "a fine day", "a sneezewit"]}, secret).json()
    assert body["model"] == site.app.state.context.part(Detectors).default_model
    assert [it["questions"]["hate"]["probability"] for it in body["results"]] == [0.9, 0.0, 0.7]
    assert [it["verdict"] for it in body["results"]] == ["hateful", "none", "hateful"]


def test_json_with_an_escaped_lone_surrogate_is_scored(site):
    _, secret = make_key(site)
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    answer = site.visitor().post("/v1/score", content=b'{"text": "half \\ud83d pair"}', headers=headers)
    assert answer.status_code in (200, 422)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"text": "a", "texts": ["b"]}, 422),
        ({"texts": []}, 422),
        ({"texts": ["a"] * 101}, 413),
        ({"text": "a" * 10_001}, 413),
        ({"text": 5}, 422),
        ({"text": "a", "more": 1}, 422),
        ({"text": "a", "lang": "x" * 99}, 422),
        ([], 422),
    ],
)
def test_requests_outside_the_limits_are_refused_as_json(site, body, status):
    _, secret = make_key(site)
    answer = ask(site, body, secret)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_keys_work_only_within_their_scope_and_life(site):
    _, reader = make_key(site, scopes=("read",))
    key, revoked = make_key(site)
    with site.store.write() as db:
        keys.revoke(db, key.id, by="shell")
    assert ask(site, {"text": "a"}, reader).status_code == 403
    assert ask(site, {"text": "a"}, revoked).status_code == 401
    assert ask(site, {"text": "a"}, "davy_nonsense").status_code == 401
    assert ask(site, {"text": "a"}).status_code == 401
    assert ask(site, {"text": "a"}, authorization="Basic abc").status_code == 401
    _, secret = make_key(site)
    with site.store.write() as db:
        users.disable(db, site.people["expert"].id, by="shell")
    assert ask(site, {"text": "a"}, secret).status_code == 401


def test_a_session_may_use_the_api_with_the_pages_token_only(site):
    client = site.as_("annotator")
    assert client.post("/v1/score", json={"text": "a"}).status_code == 403
    token = token_in(client.get("/").text)
    assert client.post("/v1/score", json={"text": "a"}, headers={"x-csrf-token": token}).status_code == 200


def test_guessing_keys_is_slowed_down(site):
    codes = [ask(site, {"text": "a"}, f"davy_guess_{i}").status_code for i in range(40)]
    assert codes[0] == 401
    assert codes[-1] == 429


def test_many_requests_at_once_all_get_their_own_answer(site):
    from concurrent.futures import ThreadPoolExecutor

    _, secret = make_key(site)

    def one(number: int) -> float:
        text = "a grumblefop" if number % 2 else "a fine day"
        return ask(site, {"text": text}, secret).json()["results"][0]["questions"]["hate"]["probability"]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(40))) == [0.9 if number % 2 else 0.0 for number in range(40)]
