"""Questions about words of a post, over HTTP: the form, what is kept, what is refused, and what an expert sees."""

from __future__ import annotations

import re

import pytest
from test_expert_page import answered

from davy.annotation.labelling.store import annotations, tallies
from davy.store.columns import now
from davy.text.lexicons.read import Lexicon
from labelling import MARKS, make_lamps, send
from web_site import post, token_in

TEXT = "your lamp is dim 🙂🙂 go away"
WORDS = ["0-4", "5-9", "10-12", "13-16", "17-18", "18-19", "20-22", "23-27"]
RUDE = {"rude": ("rude",)}


@pytest.fixture
def lamps(site):
    object.__setattr__(site.app.state.context, "lexicon", Lexicon.of("lamp"))
    return make_lamps(site, [TEXT, "second post", "  "], scheme=MARKS, answers=2)


def kept(lamps) -> dict[str, tuple[str, ...]]:
    with lamps.site.store.read() as db:
        return dict(annotations.of_annotator(db, lamps.user("annotator"))[0].answers)


def test_each_word_is_a_checkbox_masked_like_the_post(lamps):
    html = lamps.site.as_("annotator").get(lamps.path).text
    assert re.findall(r'name="answer.why" value="([^"]+)"', html) == WORDS
    assert re.findall(r'name="answer.tone" value="(\d+-\d+:\w+)"', html)[:2] == ["0-4:loud", "5-9:loud"]
    assert '<span class="masked-text">l*mp</span><span class="plain-text">lamp</span>' in html
    assert 'lang="en"' in re.search(r'<div class="passage"[^>]*>', html)[0]


def test_marked_words_are_kept_as_spans_of_the_original_text(lamps):
    client = lamps.site.as_("annotator")
    html = client.get(lamps.path).text
    answers = RUDE | {"why": ("13-16", "10-12", "18-19"), "tone": ("0-4:sly",)}
    assert send(client, html, answers).status_code == 200
    assert kept(lamps) == RUDE | {"why": ("10-16", "18-19"), "tone": ("0-4:sly",)}
    shown = client.get(f"/projects/{lamps.project.id}/mine/answers").text
    assert "“is dim” · “🙂”" in shown
    assert "“your” (Slyly)" in shown


def test_a_required_question_wants_a_mark_and_an_optional_one_does_not(lamps):
    client = lamps.site.as_("annotator")
    html = client.get(lamps.path).text
    asked = send(client, html, RUDE)
    assert asked.status_code == 422
    assert "Mark at least one word." in asked.text
    assert send(client, asked.text, RUDE | {"why": ("0-4",)}).status_code == 200
    assert kept(lamps) == RUDE | {"why": ("0-4",), "tone": ()}


def test_words_under_an_answer_that_was_not_given_are_left_out(lamps):
    client = lamps.site.as_("annotator")
    assert send(client, client.get(lamps.path).text, {"rude": ("not rude",), "why": ("0-4",)}).status_code == 200
    assert kept(lamps) == {"rude": ("not rude",)}


@pytest.mark.parametrize("mark", ["0-999", "lamp", "5-2", "0-4:loud", "-1-4", "0-4|5-9"])
def test_what_no_page_sends_is_refused_in_one_line(lamps, mark):
    client = lamps.site.as_("annotator")
    refused = send(client, client.get(lamps.path).text, RUDE | {"why": (mark,)})
    assert refused.status_code == 400
    assert "The marked words do not fit this post." in refused.text


def test_a_post_without_words_needs_no_mark(lamps):
    client = lamps.site.as_("annotator")
    html = client.get(lamps.path).text
    for _ in range(2):
        html = send(client, html, {"rude": ("not rude",)}).text
    assert "This post has no words to mark." in html
    assert send(client, html, RUDE).status_code == 200
    assert kept(lamps) == RUDE | {"why": (), "tone": ()}


def test_every_word_of_a_long_post_can_be_marked(site):
    lamps = make_lamps(site, ["word " * 900], scheme=MARKS)
    client = lamps.site.as_("annotator")
    marks = tuple(f"{5 * n}-{5 * n + 4}" for n in range(900))
    assert send(client, client.get(lamps.path).text, RUDE | {"why": marks}).status_code == 200
    assert kept(lamps)["why"] == ("0-4499",)


def test_a_discussion_records_marks_for_all(site):
    lamps = make_lamps(site, [TEXT], scheme=MARKS, kind="discussion", answers=None)
    client = lamps.site.as_("annotator")
    html = client.get("/projects/lamps/discussion").text
    assert send(client, html, RUDE | {"why": ("5-9", "10-12")}, htmx=False).status_code == 303
    assert "“lamp is”" in client.get("/projects/lamps/discussion").text


def test_an_expert_sees_who_marked_what_and_settles_it(lamps):
    sad = RUDE | {"tone": ()}
    case = answered(lamps, 0, [sad | {"why": ("0-4",)}, sad | {"why": ("5-12",)}])
    assert case, "two who mark nothing in common are a case"
    expert, path = lamps.site.as_("expert"), f"/projects/{lamps.project.id}/expert/{case}"
    page = expert.get(path).text
    assert len(re.findall(r"<mark", page)) == 3
    assert page.count("checked") >= 3  # it starts with what half of them marked
    form = {"do": "save", "asked": "why", "answer.why": ["5-9", "10-12"], "reason": "The lamp is meant."}
    done = post(expert, path, {**form, "csrf": token_in(page)})
    assert done.status_code == 303
    shown = lamps.site.as_("admin").get(f"/projects/{lamps.project.id}/verdicts").text
    assert "“l*mp is”" in shown


def test_the_editor_takes_a_question_about_words_without_labels(site):
    from davy.scheme_editor import draft

    values = draft.blank_draft("lamps", {"en": "Lamps"})
    values["questions"] = [
        {"name": "why", "kind": "spans", "title": {"en": "Which words?"}, "labels": []},
        {"name": "more", "kind": "one", "under": {"why": []}, "labels": [{"name": "a"}, {"name": "b"}]},
    ]
    assert [it.key for it in draft.problems(values)] == ["parent_spans"]
    del values["questions"][1]
    assert draft.problems(values) == []
    scheme = draft.finished(values)
    assert scheme.question("why").kind == "spans"
    assert draft.draft_of(scheme)["questions"][0]["labels"] == []


def marked(lamps, *posts: tuple[tuple[str, ...], ...]) -> None:
    """Let people mark each post's words, and count it as the labelling page does."""
    for number, marks in enumerate(posts):
        answered(lamps, number, [RUDE | {"tone": ("0-4:loud",), "why": mine} for mine in marks])
    with lamps.site.store.write() as db:
        tallies.count(db, lamps.phase.id, lamps.user("annotator"), at=now(), given=sum(map(len, posts)))


PAGES = (
    "",
    "/watch",
    "/watch?coefficient=token_f1",
    "/watch?coefficient=iou_f1",
    "/verdicts",
    "/verdicts?question=why",
    "/verdicts/pools",
    "/verdicts/audit",
    "/phases/one",
    "/phases/one/settings",
    "/settings",
    "/guideline",
    "/exports",
    "/train",
)


def test_no_page_of_a_project_breaks_on_marked_words(lamps):
    marked(lamps, (("5-9",), ("5-12",), ("0-4",)), (("0-6",), ("0-6",), ("7-11",)))
    admin, path = lamps.site.as_("admin"), f"/projects/{lamps.project.id}"
    assert post(admin, f"{path}/watch/measure").status_code == 303
    assert post(admin, f"{path}/verdicts/audit", {"phase": "one", "budget": "5"}).status_code == 303
    shown = {page: admin.get(path + page) for page in PAGES}
    assert {page: it.status_code for page, it in shown.items() if it.status_code not in (200, 303)} == {}
    assert "Token F1 of pairs" in shown["/watch"].text
    assert "not marked" in shown["/watch"].text
    assert "“l*mp”" in shown["/verdicts"].text


def test_a_calibration_shows_agreement_by_word(site):
    lamps = make_lamps(site, [TEXT, "second post"], scheme=MARKS, kind="calibration", answers=None)
    marked(lamps, (("5-9",), ("5-12",)), (("0-6",), ("0-6",)))
    admin = lamps.site.as_("admin")
    post(admin, "/projects/lamps/watch/measure")
    page = admin.get("/projects/lamps/phases/one").text
    # One and two words of 8, one shared: 2/3; one of two words: 1. The mean is 5/6.
    assert re.search(r"Token F1 of pairs[^<]*</th>.*?0\.83", page, re.DOTALL)
    assert admin.get("/projects/lamps/phases/one/review").status_code == 200
