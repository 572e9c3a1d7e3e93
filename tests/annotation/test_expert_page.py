"""The expert's pages and the verdicts: cases without names, decisions with reasons, and nobody else's work."""

from __future__ import annotations

import re

import pytest

from davy.annotation.labelling.store import annotations, items
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members
from davy.annotation.settling.adjudication import settle_item
from davy.annotation.settling.store import cases, verdicts
from davy.core import Annotation
from davy.people.store import users
from davy.store.columns import new_id, now
from labelling import Lamps, make_lamps
from web_site import Site, post, token_in

NOT = {"rude": ("not rude",)}
LOUD = {"rude": ("rude",), "how": ("loud",), "words": ("capitals",), "whom": ("bakers",)}
SLY = {"rude": ("rude",), "how": ("sly",), "words": ("irony",), "whom": ("cats",)}
STRICT = {"adjudication": {"rude": {"rule": "unanimous"}}}
PEOPLE = ("mallow", "nettle", "orache")


def answered(lamps: Lamps, number: int, given, *, flags=None, comments=None) -> str:
    """Let three more annotators answer a post, settle it, and return its case's id, or nothing."""
    with lamps.site.store.write() as db:
        scheme = scheme_of(db, lamps.project)
        item = items.of_phase(db, lamps.phase.id)[number]
        for place, (login, answers) in enumerate(zip(PEOPLE, given, strict=False)):
            user = users.by_login(db, login)
            if user is None:
                user = users.add(db, login=login, name=f"{login} person", role="annotator", by="shell")
                members.add(db, "lamps", user.id, ["annotator"], by="shell", pool="crowd")
            annotation = Annotation(
                new_id(),
                item.post,
                user.id,
                "lamps",
                1,
                0,
                answers,
                now(),
                flags=(flags or {}).get(place, ()),
                comment=(comments or {}).get(place),
                project="lamps",
                phase=lamps.phase.id,
            )
            annotations.add(db, annotation, scheme)
        settle_item(db, lamps.project, lamps.phase, item, scheme)
        found = [it for it in cases.of_item(db, item.id) if it.state == "open"]
        return found[0].id if found else ""


def settled(lamps: Lamps, number: int = 0):
    with lamps.site.store.read() as db:
        item = items.of_phase(db, lamps.phase.id)[number]
        found = verdicts.of_post(db, item.post, scheme="lamps", version=1, project="lamps")
        return {name: (it.labels, it.basis, it.reason) for name, it in found.items()}


@pytest.fixture
def lamps(site: Site) -> Lamps:
    return make_lamps(site, ["first grumblefop post", "second post", "third post"], answers=3, settings=STRICT)


def test_an_expert_settles_a_case_step_by_step_without_scripts(lamps):
    case = answered(lamps, 0, [LOUD, SLY, NOT], flags={1: ("unsure",)}, comments={2: "<b>hm</b>"})
    client = lamps.site.as_("expert")
    page = client.get("/projects/lamps/expert")
    assert "One case waits for you" in page.text
    assert "too few agree" in page.text
    begun = post(client, "/projects/lamps/expert", page="/projects/lamps/expert")
    path = begun.headers["location"]
    assert path == f"/projects/lamps/expert/{case}"
    html = client.get(path).text
    assert "first grumblefop post" in html
    assert "&lt;b&gt;hm&lt;/b&gt;" in html
    assert "I am unsure" in html
    assert re.findall(r'<span class="voice">(\w)</span>', html)[:3]
    assert html.count('name="asked"') == 1
    for name in PEOPLE:
        assert name not in html
    with lamps.site.store.read() as db:
        for it in members.of_project(db, "lamps"):
            assert it.user not in html
            assert f">{it.pseudonym}<" not in html
    form = {"csrf": token_in(html), "asked": "rude", "answer.rude": "rude", "reason": "it shouts", "do": "save"}
    again = client.post(path, data=form)
    assert again.status_code == 422
    assert "One question is still open" in again.text
    assert "it shouts" in again.text
    assert set(re.findall(r'name="asked" value="(\w+)"', again.text)) == {"rude", "how", "whom"}
    assert settled(lamps) == {}
    form |= {"asked": ["rude", "how", "whom"], "answer.how": "sly", "answer.whom": "cats"}
    third = client.post(path, data=form)
    assert set(re.findall(r'name="asked" value="(\w+)"', third.text)) == {"rude", "how", "words", "whom"}
    form |= {"asked": ["rude", "how", "words", "whom"], "answer.words": "praise"}
    no_reason = client.post(path, data={**form, "reason": "  "})
    assert no_reason.status_code == 422
    assert "needs its reason" in no_reason.text
    done = client.post(path, data=form)
    assert (done.status_code, done.headers["location"]) == (303, "/projects/lamps/expert")
    assert settled(lamps) == {
        "rude": (("rude",), "expert", "it shouts"),
        "how": (("sly",), "expert", "it shouts"),
        "words": (("praise",), "expert", "it shouts"),
        "whom": (("cats",), "expert", "it shouts"),
    }
    replay = client.post(path, data=form)
    assert replay.headers["location"] == "/projects/lamps/expert"
    assert "Nothing waits for you" in client.get("/projects/lamps/expert").text


@pytest.mark.parametrize(("leads_to", "comes"), [("/projects/lamps/expert", 1), ("//else.example/projects/lamps/", 0)])
def test_an_expert_agrees_to_the_consent_text_first_and_comes_back_to_the_cases(site, leads_to, comes):
    make_lamps(site, ["first post"], consent=False)
    client = site.as_("expert")
    page = client.get("/projects/lamps/expert").headers["location"]
    assert page == "/projects/lamps/consent?next=%2Fprojects%2Flamps%2Fexpert"
    assert 'name="next" value="/projects/lamps/expert"' in client.get(page).text
    fields = {"agree": "yes", "text": "masked", "pictures": "grey", "next": leads_to}
    agreed = post(client, "/projects/lamps/consent", fields, page=page)
    assert (agreed.headers["location"] == leads_to) == comes
    assert agreed.headers["location"] == "/projects/lamps/expert"
    assert client.get("/projects/lamps/expert").status_code == 200


def test_the_part_that_htmx_asks_for_has_the_questions_that_an_answer_opens(lamps):
    case = answered(lamps, 0, [LOUD, LOUD, NOT])
    client = lamps.site.as_("expert")
    path = f"/projects/lamps/expert/{case}"
    token = token_in(client.get(path).text)
    look = client.post(f"{path}/look", data={"csrf": token, "asked": "rude", "answer.rude": "rude"})
    # Two of three say how, in which words and to whom; the expert is told, not asked.
    assert re.findall(r'name="asked" value="(\w+)"', look.text) == ["rude"]
    assert "Settled with this" in look.text
    assert "<html" not in look.text
    tampered = {"csrf": token, "asked": ["rude", "how"], "answer.rude": "rude", "answer.how": "sly", "reason": "so"}
    assert client.post(path, data={**tampered, "do": "save"}).status_code == 303
    assert settled(lamps)["how"] == (("loud",), "unanimous", None)


def test_an_expert_reopens_what_people_agree_on(site):
    lamps = make_lamps(site, ["a post"], answers=3)
    case = answered(lamps, 0, [LOUD, LOUD | {"whom": ("millers",)}, LOUD | {"whom": ("cats",)}])
    client = site.as_("expert")
    path = f"/projects/lamps/expert/{case}"
    html = client.get(path).text
    assert re.findall(r'name="asked" value="(\w+)"', html) == ["whom"]
    assert re.findall(r'name="also" value="(\w+)"', html) == ["rude", "how", "words"]
    form = {"csrf": token_in(html), "asked": "whom", "also": "rude", "reason": "a joke", "do": "save"}
    again = client.post(path, data=form)
    assert re.findall(r'name="asked" value="(\w+)"', again.text) == ["rude", "whom"]
    assert 'value="rude" form="answer" checked' in again.text
    done = client.post(path, data={**form, "asked": ["rude", "whom"], "answer.rude": "not rude"})
    assert done.status_code == 303
    assert settled(lamps)["rude"] == (("not rude",), "expert", "a joke")


def test_a_case_is_given_back_dropped_with_a_reason_and_never_without(lamps):
    first, second = answered(lamps, 0, [LOUD, LOUD, NOT]), answered(lamps, 1, [LOUD, NOT, NOT])
    client = lamps.site.as_("expert")
    path = f"/projects/lamps/expert/{first}"
    token = token_in(client.get(path).text)
    skipped = client.post(path, data={"csrf": token, "do": "skip"})
    assert skipped.headers["location"] == f"/projects/lamps/expert/{second}"
    path = skipped.headers["location"]
    client.get(path)
    assert client.post(path, data={"csrf": token, "do": "refuse", "sure": "yes"}).status_code == 422
    armed = client.post(path, data={"csrf": token, "do": "refuse", "reason": "no sense"})
    assert armed.status_code == 200
    assert "Press again to drop it" in armed.text
    dropped = client.post(path, data={"csrf": token, "do": "refuse", "reason": "no sense", "sure": "yes"})
    assert dropped.status_code == 303
    assert settled(lamps, 1) == {}
    with lamps.site.store.read() as db:
        assert items.of_phase(db, lamps.phase.id)[1].state == "dropped"
        assert cases.get(db, second).reason == "no sense"
    assert "One case is closed." in client.get("/projects/lamps/expert").text, "a dropped one counts"


def test_who_labelled_a_post_or_is_no_expert_can_not_open_its_case(lamps):
    case = answered(lamps, 0, [LOUD, LOUD, NOT])
    path = f"/projects/lamps/expert/{case}"
    for who in ("annotator", "admin"):
        client = lamps.site.as_(who)
        assert client.get(path).status_code == 403
        assert client.get("/projects/lamps/expert").status_code == 403
        assert post(client, path, {"do": "save"}).status_code == 403
    with lamps.site.store.write() as db:
        scheme = scheme_of(db, lamps.project)
        item = items.of_phase(db, lamps.phase.id)[0]
        own = Annotation(
            new_id(), item.post, lamps.user("expert"), "lamps", 1, 0, NOT, now(), project="lamps", phase="x"
        )
        annotations.add(db, own, scheme)
    client = lamps.site.as_("expert")
    page = client.get(path)
    assert page.status_code == 403
    assert "another expert has to settle it" in page.text
    assert "Nothing waits for you" in client.get("/projects/lamps/expert").text
    assert post(client, path, {"do": "save", "reason": "so"}, page="/projects/lamps/expert").status_code == 403
    assert client.get("/projects/lamps/expert/nothing").status_code == 404


def test_verdicts_are_browsed_by_basis_and_label_with_their_turns_and_no_names(lamps):
    answered(lamps, 0, [LOUD, LOUD, LOUD])
    answered(lamps, 1, [NOT, NOT, NOT])
    case = answered(lamps, 2, [LOUD, NOT, NOT])
    expert = lamps.site.as_("expert")
    token = token_in(expert.get(f"/projects/lamps/expert/{case}").text)
    form = {"csrf": token, "asked": "rude", "answer.rude": "not rude", "reason": "a quotation", "do": "save"}
    assert expert.post(f"/projects/lamps/expert/{case}", data=form).status_code == 303
    for who in ("expert", "admin"):
        html = lamps.site.as_(who).get("/projects/lamps/verdicts").text
        assert "3 verdicts on this question" in html
        assert "a quotation" in html
        assert not any(name in html for name in PEOPLE)
    html = expert.get("/projects/lamps/verdicts?question=rude&basis=expert").text
    assert "third post" in html
    assert "second post" not in html
    html = expert.get("/projects/lamps/verdicts?question=rude&label=rude").text
    assert "second post" not in html
    assert "first grumblefop post" in html
    assert "Capitals" in html
    assert "Nothing is settled here" in expert.get("/projects/lamps/verdicts?question=how&label=sly").text
    assert lamps.site.as_("annotator").get("/projects/lamps/verdicts").status_code == 403


def test_an_audit_is_begun_on_its_page_and_its_cases_say_what_is_doubted(site):
    lamps = make_lamps(site, [f"post {n}" for n in range(25)], answers=3)
    # The first person is always right; the other two miss some, and on the last post both at once.
    rude = [[LOUD, LOUD, LOUD]] * 5 + [[LOUD, LOUD, NOT]] * 4 + [[LOUD, NOT, LOUD]] * 3
    for number, given in enumerate([*rude, *[[NOT, NOT, NOT]] * 12, [LOUD, NOT, NOT]]):
        answered(lamps, number, given)
    admin = site.as_("admin")
    address = "/projects/lamps/verdicts/audit"
    assert "Begin an audit" in admin.get(address).text
    for budget, said in (("0", "1 to 1,000"), ("x", "whole number"), ("", "1 to 1,000")):
        assert said in post(admin, address, {"phase": "one", "budget": budget}, page=address).text
    begun = post(admin, address, {"phase": "one", "budget": "5"}, page=address)
    assert begun.status_code == 303
    html = admin.get(address).text
    assert "25 settled posts looked at; sent back to experts: 1." in html
    assert "How audits went" in html
    expert = site.as_("expert")
    path = post(expert, "/projects/lamps/expert", page="/projects/lamps/expert").headers["location"]
    html = expert.get(path).text
    assert "it is wrong with a probability of" in html
    assert "post 24" in html
    assert site.as_("annotator").get(address).status_code == 403


def test_pools_are_compared_where_gold_is_known(site):
    lamps = make_lamps(site, ["one", "two"], kind="screening", answers=3, gold=LOUD)
    admin = site.as_("admin")
    assert "nothing to compare yet" in admin.get("/projects/lamps/verdicts/pools").text
    answered(lamps, 0, [LOUD, LOUD, NOT])
    answered(lamps, 1, [NOT, NOT, LOUD])
    html = admin.get("/projects/lamps/verdicts/pools").text
    assert "crowd" in html
    assert "50.0%" in html
    assert "In which words?" in html


def test_a_reason_given_before_is_offered_and_can_be_taken_again_without_typing(lamps):
    first, second = (answered(lamps, number, [LOUD, NOT, NOT]) for number in (0, 1))
    client = lamps.site.as_("expert")
    page = f"/projects/lamps/expert/{first}"
    assert "reason_again" not in client.get(page).text
    form = {"asked": "rude", "answer.rude": "not rude", "do": "save"}
    assert post(client, page, {**form, "reason": "nobody is meant"}, page=page).status_code == 303
    page = f"/projects/lamps/expert/{second}"
    html = client.get(page).text
    assert '<option value="nobody is meant">' in html
    assert post(client, page, form, page=page).status_code == 422  # none is taken unasked
    assert post(client, page, {**form, "reason_again": "nobody is meant"}, page=page).status_code == 303
    assert settled(lamps, 1)["rude"] == (("not rude",), "expert", "nobody is meant")


def test_an_expert_undoes_a_decision_from_the_banner_and_from_the_list(lamps):
    case = answered(lamps, 0, [LOUD, SLY, NOT])
    client, queue = lamps.site.as_("expert"), "/projects/lamps/expert"
    path = f"{queue}/{case}"
    form = {"asked": "rude", "answer.rude": "not rude", "reason": "a hasty one", "do": "save"}
    assert post(client, path, form, page=path).headers["location"] == queue
    listed = client.get(queue).text
    assert listed.count(f'action="{path}/undo"') == 2  # in the banner, and in the list of one's decisions
    assert "Your last decisions" in listed
    undone = post(client, f"{path}/undo", page=queue)
    assert undone.headers["location"] == path
    again = client.get(path).text
    assert "It counts until you decide anew" in again
    assert re.search(r'value="not rude"[^>]* checked', again)
    assert ">a hasty one</textarea>" in again
    assert settled(lamps)["rude"][0] == ("not rude",)
    post(client, path, {**form, "reason": "looked again"}, page=path)
    assert settled(lamps)["rude"] == (("not rude",), "expert", "looked again")
