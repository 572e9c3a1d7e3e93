"""Settling several cases at once, by its pages: chosen, looked at, confirmed, and masked throughout."""

from __future__ import annotations

import re

import pytest
from test_expert_page import LOUD, NOT, SLY, STRICT, answered, settled

from davy.annotation.care.store import work_sessions
from davy.annotation.labelling.store import annotations, items
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.settling.many_cases import LEFT, MOST_CASES
from davy.core import Annotation
from davy.people.store import users
from davy.store.columns import new_id, now
from davy.text.lexicons.read import Lexicon
from davy.web.i18n import LANGUAGES, Translator
from labelling import Lamps, make_lamps
from web_site import Site, post, token_in

MANY = "/projects/lamps/expert/many"
RUDE = "disagreement:rude"


@pytest.fixture
def lamps(site: Site) -> Lamps:
    object.__setattr__(site.app.state.context, "lexicon", Lexicon.of("grumblefop"))
    texts = ["first grumblefop post", "second post", "third post", "fourth post"]
    return make_lamps(site, texts, answers=3, settings=STRICT)


def form(*ids: str, decision: str = "answer:not rude", **more: str) -> dict[str, object]:
    return {"about": RUDE, "case": list(ids), "decision": decision, "reason": "a quotation", **more}


def test_an_expert_chooses_looks_and_settles_without_scripts(lamps):
    ids = [answered(lamps, number, [LOUD, NOT, NOT]) for number in range(3)]
    client = lamps.site.as_("expert")
    assert f'href="{MANY}"' in client.get("/projects/lamps/expert").text
    html = client.get(MANY).text
    assert set(re.findall(r'name="case" value="(\w+)"', html)) == set(ids)
    assert "checked" not in html.split("<ul", 1)[1]
    assert html.count("Rude <strong>1</strong>") == 3
    assert html.count("Not rude <strong>2</strong>") == 3
    assert client.get(f"{MANY}?about={RUDE}&all=yes").text.count(f'value="{ids[0]}" checked') == 1
    look = client.post(MANY, data={"csrf": token_in(html), **form(*ids[:2])})
    assert look.status_code == 200
    assert "Settle 2 cases?" in look.text
    assert "Is the post rude? Not rude" in look.text
    assert "2 times" in look.text
    assert settled(lamps, 0) == {}
    done = client.post(MANY, data={"csrf": token_in(html), **form(*ids[:2], sure="yes")})
    assert (done.status_code, done.headers["location"]) == (303, f"{MANY}?about=disagreement%3Arude")
    after = client.get(done.headers["location"]).text
    assert "Settled: 2." in after
    assert re.findall(r'name="case" value="(\w+)"', after) == [ids[2]]
    assert settled(lamps, 1)["rude"] == (("not rude",), "expert", "a quotation")
    assert settled(lamps, 2) == {}
    again = client.post(MANY, data={"csrf": token_in(html), **form(*ids[:2], sure="yes")})
    assert "Left as they were: 2 × settled already." in client.get(again.headers["location"]).text


def test_what_can_not_be_settled_so_is_named_in_one_line_and_stays_masked(lamps):
    ids = [answered(lamps, 0, [LOUD, SLY, NOT]), answered(lamps, 1, [LOUD, LOUD, NOT])]
    client = lamps.site.as_("expert")
    html = post(client, MANY, form(*ids, decision="answer:rude"), page=MANY).text
    assert "Settle this case?" in html
    assert "One case is left as it is:" in html
    left = re.search(r'<div class="note"><p>(.*?)</p></div>', html)
    assert left
    assert f'href="/projects/lamps/expert/{ids[0]}"' in left[1]
    assert "(asks for a further answer)" in left[1]
    assert "grumblefop" not in html
    assert "first gr*mblefop post" in html
    done = post(client, MANY, form(*ids, decision="majority", sure="yes"), page=MANY)
    note = client.get(done.headers["location"]).text
    assert "Settled: 1. Left as they were: 1 × no majority." in note
    listed = client.get(MANY).text
    assert '<span class="masked-text">first gr*mblefop post</span><span class="plain-text">' in listed


def test_a_choice_without_a_case_a_decision_or_a_reason_comes_back_with_what_was_chosen(lamps):
    case = answered(lamps, 0, [LOUD, NOT, NOT])
    client = lamps.site.as_("expert")
    for wrong, said in (
        (form(), "Choose at least one case"),
        (form(case, decision=""), "Choose at least one case"),
        (form(case) | {"reason": " "}, "A decision needs its reason"),
    ):
        back = post(client, MANY, {**wrong, "sure": "yes"}, page=MANY)
        assert back.status_code == 422
        assert said in back.text
    assert f'value="{case}" checked' in back.text
    assert 'value="answer:not rude" required checked' in back.text
    for odd in ("burn", "answer:loud", "answer:"):
        assert post(client, MANY, form(case, decision=odd, sure="yes"), page=MANY).status_code == 400
    assert settled(lamps) == {}
    assert post(client, MANY, form(case, "nothing"), page=MANY).status_code == 404
    too_many = form(*(str(n) for n in range(MOST_CASES + 1)), sure="yes")
    assert post(client, MANY, too_many, page=MANY).status_code == 400


def test_posts_are_dropped_together_only_after_a_look(lamps):
    ids = [answered(lamps, number, [LOUD, NOT, NOT]) for number in range(2)]
    client = lamps.site.as_("expert")
    assert "Drop 2 posts from the corpus?" in post(client, MANY, form(*ids, decision="drop"), page=MANY).text
    assert {it.state for it in _items(lamps)[:2]} == {"full"}
    post(client, MANY, form(*ids, decision="drop", sure="yes"), page=MANY)
    assert {it.state for it in _items(lamps)[:2]} == {"dropped"}


def test_a_post_that_the_expert_labelled_is_not_listed_and_is_left_when_sent(lamps):
    ids = [answered(lamps, number, [LOUD, NOT, NOT]) for number in range(2)]
    with lamps.site.store.write() as db:
        item = items.of_phase(db, lamps.phase.id)[0]
        expert = lamps.user("expert")
        own = Annotation(new_id(), item.post, expert, "lamps", 1, 0, NOT, now(), project="lamps", phase="x")
        annotations.add(db, own, scheme_of(db, lamps.project))
    client = lamps.site.as_("expert")
    assert re.findall(r'name="case" value="(\w+)"', client.get(MANY).text) == [ids[1]]
    done = post(client, MANY, form(*ids, sure="yes"), page=MANY)
    assert (
        "Settled: 1. Left as they were: 1 × you labelled or wrote the post."
        in client.get(done.headers["location"]).text
    )
    assert settled(lamps, 0) == {}


def test_each_settled_case_counts_as_work_and_a_rest_comes_when_it_is_due(lamps):
    ids = [answered(lamps, number, [SLY, SLY, NOT]) for number in range(3)]
    with lamps.site.store.write() as db:
        db.exec_driver_sql("""UPDATE projects SET settings = '{"adjudication": {"rude": {"rule": "unanimous"}},
            "care": {"break_after_hard": 3, "hard": {"rude": ["rude"]}}}'""")
    client = lamps.site.as_("expert")
    done = post(client, MANY, form(*ids, decision="answer:rude", sure="yes"), page=MANY)
    assert done.headers["location"] == "/projects/lamps/rest"
    with lamps.site.store.read() as db:
        (sitting,) = work_sessions.recent(db, lamps.user("expert"), now())
    assert (sitting.items, sitting.hard) == (3, 3)
    assert client.get(MANY).headers["location"] == "/projects/lamps/rest"


def test_the_list_is_of_one_question_at_a_time_page_by_page_and_in_german(site):
    lamps = make_lamps(site, [f"post {n}" for n in range(MOST_CASES + 2)], answers=3, settings=STRICT)
    for number in range(MOST_CASES + 1):
        answered(lamps, number, [LOUD, NOT, NOT])
    about_whom = answered(lamps, MOST_CASES + 1, [LOUD, LOUD | {"whom": ("cats",)}, LOUD | {"whom": ("millers",)}])
    client = site.as_("expert")
    first, second = client.get(MANY).text, client.get(f"{MANY}?about={RUDE}&page=2").text
    assert (first.count('name="case"'), second.count('name="case"')) == (MOST_CASES, 1)
    assert "Next page" in first
    assert "Next page" not in second
    other = client.get(f"{MANY}?about=disagreement:whom").text
    assert re.findall(r'name="case" value="(\w+)"', other) == [about_whom]
    assert 'value="answer:cats"' in other
    with site.store.write() as db:
        users.set_language(db, lamps.user("expert"), "de", by="shell")
    html = client.get(f"{MANY}?about=disagreement:whom").text
    assert "Mehrere Fälle auf einmal entscheiden" in html
    assert "Was die meisten sagten" in html
    assert "Uneinigkeit: Zu wem? (1)" in html


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_reason_for_leaving_a_case_has_words(lang):
    assert all(Translator(lang).has(f"many.why.{why.replace(' ', '_')}") for why in LEFT)


def _items(lamps: Lamps):
    with lamps.site.store.read() as db:
        return items.of_phase(db, lamps.phase.id)
