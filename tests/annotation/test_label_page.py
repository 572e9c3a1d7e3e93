"""The labelling page over HTTP: what is asked, what is saved, and what happens when things go wrong."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from davy.annotation.care.store import work_sessions
from davy.annotation.labelling.store import annotations, assignments, tallies
from davy.annotation.project.store import members, phases, posts, projects
from davy.core import Guideline, Wording
from davy.people.store import users
from davy.server.app import create_app
from labelling import RUDE, add_phase, form_of, make_lamps, send
from web_site import Site, hashed_password, post, token_in

POLITE = {"rude": ("not rude",)}
TEXTS = [f"post number {n} shines" for n in range(1, 7)]


def mine(lamps, role="annotator"):
    """Return this person's annotations, oldest first."""
    with lamps.site.store.read() as db:
        return annotations.of_annotator(db, lamps.user(role))[::-1]


def shown(html):
    """Return the number of the post on the page."""
    found = re.search(r"post number (\d+) shines", html)
    return int(found.group(1)) if found else None


def test_a_post_is_asked_answered_saved_and_followed_by_the_next(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    assert shown(html) == 1
    answer = send(client, html, RUDE, comment="a remark", flag=["unsure"], seconds="4.5")
    assert answer.status_code == 200
    assert shown(answer.text) == 2
    assert "<html" not in answer.text
    assert 'hx-swap-oob="innerHTML">Saved.' in answer.text
    (kept,) = mine(lamps)
    assert dict(kept.answers) == RUDE
    assert (kept.comment, kept.flags, kept.seconds) == ("a remark", ("unsure",), 4.5)
    assert kept.guideline_version == 1
    with site.store.read() as db:
        assert tallies.get(db, lamps.phase.id, lamps.user("annotator")).given == 1
        assert work_sessions.hours(db, "lamps")[lamps.user("annotator")].items == 1


def test_without_scripts_the_form_comes_back_with_what_the_answer_asks_for(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    assert re.search(r'id="q2"[^>]*hidden disabled', html)
    back = send(client, html, {"rude": ("rude",)}, htmx=False)
    assert back.status_code == 422
    assert shown(back.text) == 1
    assert "<html" in back.text
    assert not re.search(r'id="q2"[^>]*hidden', back.text)
    assert re.search(r'id="q3"[^>]*hidden disabled', back.text)  # it hangs on the answer to q2
    assert re.search(r'value="rude" checked', back.text)
    deeper = send(client, back.text, {**RUDE, "words": ()}, htmx=False)
    assert deeper.status_code == 422
    offered = re.findall(r'<div class="option"([^>]*)>\s*<input type="radio" id="q3-(\d)"', deeper.text)
    assert [(number, "hidden" in about) for about, number in offered] == [
        ("1", False),
        ("2", False),
        ("3", True),
        ("4", True),
    ]
    assert mine(lamps) == []
    done = send(client, deeper.text, RUDE, htmx=False)
    assert done.status_code == 303
    assert done.headers["location"].startswith(f"{lamps.path}/")
    html = client.get(done.headers["location"]).text
    assert shown(html) == 2
    assert "Saved." in html
    assert len(mine(lamps)) == 1


def test_answers_beneath_an_answer_that_was_changed_are_left_out(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    send(client, html, {**RUDE, "rude": ("not rude",)})
    assert dict(mine(lamps)[0].answers) == POLITE


def test_labels_of_ones_own_are_kept_and_known_ones_get_their_name(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    wrong = send(client, html, RUDE, **{"other.whom": "a|b"})
    assert wrong.status_code == 422
    assert "vertical bar" in wrong.text
    send(client, html, RUDE, **{"other.whom": " night   watchmen ; CATS;; "})
    assert mine(lamps)[0].answers["whom"] == ("bakers", "night watchmen", "cats")


def test_a_form_that_our_page_can_not_have_sent_changes_nothing(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    for odd in (
        {"answer.rude": "purple"},
        {"answer.rude": ["rude", "not rude"]},
        {"annotation_id": ""},
        {"annotation_id": "../../x"},
        {"do": "fly"},
        {"comment": "x" * 2001},
        {"flag": [f"f{n}" for n in range(100)]},
    ):
        answer = send(client, html, None, **{"answer.rude": "not rude", **odd})
        assert answer.status_code in (400, 413), odd
        assert 'role="alert"' in answer.text
    assert mine(lamps) == []


def test_seconds_are_capped_and_nonsense_counts_as_none(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    for sent in ("nan", "-3", "", "inf", "12.34"):
        html = send(client, html, POLITE, seconds=sent).text
    assert [it.seconds for it in mine(lamps)] == [None, None, None, 1800.0, 12.3]


def test_a_form_sent_twice_counts_once_for_the_post_and_for_the_hours(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    first, second = send(client, html, POLITE), send(client, html, POLITE)
    assert (first.status_code, second.status_code) == (200, 200)
    assert shown(first.text) == shown(second.text) == 2
    assert len(mine(lamps)) == 1
    with site.store.read() as db:
        assert work_sessions.hours(db, "lamps")[lamps.user("annotator")].items == 1


def test_a_second_tab_is_told_kindly_and_moves_on(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    one, other = client.get(lamps.path).text, client.get(lamps.path).text
    assert shown(one) == shown(other) == 1
    assert form_of(one)["annotation_id"] != form_of(other)["annotation_id"]
    send(client, one, POLITE)
    late = send(client, other, RUDE)
    assert late.status_code == 200
    assert "You had answered that post already" in late.text
    assert shown(late.text) == 2
    assert [dict(it.answers) for it in mine(lamps)] == [POLITE]


def test_the_way_back_shows_what_was_answered_and_how_to_change_it(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    address = form_of(html)["action"]
    send(client, html, RUDE, comment="loud one")
    back = client.get(address).text
    assert "You answered this one" in back
    assert "Loudly" in back
    assert "loud one" in back
    assert 'id="answer"' not in back
    assert "Change this answer" in back
    html = send(client, client.get(lamps.path).text, POLITE).text  # it is no longer the last one
    named = re.search(r'name="assignment" value="(\w+)"', back).group(1)
    form = {"csrf": form_of(html)["csrf"], "assignment": named}
    again = client.post(f"{lamps.path}/undo", data=form, headers={"hx-request": "true"})
    assert shown(again.text) == 1
    assert re.search(r'value="loud" checked', again.text)
    assert shown(send(client, again.text, POLITE).text) == 3
    assert site.as_("expert").get(address).status_code == 403
    theirs = site.as_("expert")
    form["csrf"] = form_of(theirs.get(lamps.path).text)["csrf"]
    assert theirs.post(f"{lamps.path}/undo", data=form).status_code == 403


def test_undo_opens_the_last_answer_and_the_new_one_replaces_it(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = send(client, client.get(lamps.path).text, RUDE, comment="first thought").text
    again = client.post(f"{lamps.path}/undo", data={"csrf": form_of(html)["csrf"]}, headers={"hx-request": "true"}).text
    assert shown(again) == 1
    assert "first thought" in again
    assert re.search(r'value="rude" checked', again)
    assert "Your earlier answer is filled in" in again
    send(client, again, POLITE)
    old, new = mine(lamps)
    assert new.replaces == old.id
    assert dict(new.answers) == POLITE
    with site.store.read() as db:
        assert tallies.get(db, lamps.phase.id, lamps.user("annotator")).given == 1


def test_there_is_nothing_to_undo_before_the_first_answer(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    assert 'id="undo"' not in html
    answer = client.post(f"{lamps.path}/undo", data={"csrf": token_in(html)})
    assert answer.status_code == 409
    assert "nothing to take back" in answer.text


def test_refusing_takes_two_presses_and_no_reason(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    armed = send(client, html, POLITE, do="refuse", htmx=False)
    assert armed.status_code == 200
    assert "Press again to refuse" in armed.text
    assert mine(lamps) == []
    sure = send(client, armed.text, do="refuse", sure="yes")
    assert shown(sure.text) == 2
    (kept,) = mine(lamps)
    assert kept.refused
    assert dict(kept.answers) == {}
    assert "You refused this one" in client.get(form_of(html)["action"]).text


def test_a_skipped_post_goes_to_others_and_comes_back_last(site):
    lamps = make_lamps(site, TEXTS[:3])
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    html = send(client, html, do="skip").text
    seen = [shown(html)]
    for _ in range(2):
        html = send(client, html, POLITE).text
        seen.append(shown(html))
    assert seen == [2, 3, 1]


def test_training_shows_what_was_right_before_it_goes_on(site):
    lamps = make_lamps(site, TEXTS, kind="training", answers=None, gold=RUDE)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    seen = send(client, html, {**RUDE, "how": ("sly",), "words": ("irony",)}).text
    assert shown(seen) == 1
    assert seen.count("not quite") == 2
    assert "It shouts." in seen  # the definition of what is right
    assert 'id="undo"' not in seen
    assert "What was right" in client.get(form_of(html)["action"]).text
    plain = send(client, client.get(lamps.path).text, RUDE, htmx=False)
    after = client.get(plain.headers["location"]).text
    assert after.count('tag good">right') == 4
    assert shown(client.get(lamps.path).text) == 3


def test_a_second_look_shows_the_earlier_answer_and_what_changed(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = send(client, client.get(lamps.path).text, RUDE).text
    with site.store.write() as db:
        added = Guideline(2, Wording("Read it **thrice**."), {}, "Whispers count as well. <b>really</b>")
        projects.add_guideline(db, lamps.project, added, by="shell")
        assert assignments.request_second_look(db, "lamps", by="shell", before_guideline=2) == 1
    after = send(client, html, POLITE).text
    assert shown(after) == 1
    assert "Whispers count as well. &lt;b&gt;really&lt;/b&gt;" in after
    assert re.search(r'value="loud" checked', after)
    # The guideline beside it is new, too: it comes along, once.
    assert '<aside id="guide"' in after
    assert "thrice" in after
    assert "The guideline is new, version 2." in after
    again = send(client, after, RUDE).text
    assert shown(again) == 3
    assert '<aside id="guide"' not in again
    assert mine(lamps)[-1].guideline_version == 2


def test_nobody_gets_at_somebody_elses_post_by_its_address(site):
    lamps = make_lamps(site, TEXTS)
    theirs = form_of(site.as_("expert").get(lamps.path).text)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    assert client.get(theirs["action"]).status_code == 403
    own = form_of(html)
    sent = client.post(theirs["action"], data={**own, "do": "save", "asked": ["rude"], "answer.rude": "rude"})
    assert sent.status_code == 403
    assert mine(lamps) == []
    assert mine(lamps, "expert") == []
    assert client.get(f"{lamps.path}/nope").status_code == 404
    assert site.as_("admin").get(lamps.path).status_code == 403  # who manages does not label
    assert site.visitor().get(lamps.path).headers["location"] == "/sign-in?next=%2Fprojects%2Flamps%2Flabel"


def test_a_form_needs_its_token(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    assert send(client, html, POLITE, csrf="0" * 64).status_code == 403
    assert mine(lamps) == []


def test_scripts_in_texts_comments_labels_and_guidelines_are_shown_and_never_run(site):
    evil = "post number 1 shines</span><script>alert(1)</script><img src=x onerror=alert(2)>"
    lamps = make_lamps(site, [evil, *TEXTS[1:]])
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    own = {"other.whom": '"><script>alert(3)</script>'}
    send(client, html, RUDE, comment="</textarea><script>alert(4)</script>", **own)
    pages = [html, client.get(form_of(html)["action"]).text]
    pages.append(post(client, f"{lamps.path}/undo", page=lamps.path, headers={"hx-request": "true"}).text)
    for page in pages:
        assert "alert(" in page
        assert not re.search(r"<script(?![^>]* src=)|<img src=x", page)


def test_texts_are_masked_blurred_or_plain_as_each_person_chose(site):
    from davy.text.lexicons.read import Lexicon

    object.__setattr__(site.app.state.context, "lexicon", Lexicon.of("grumblefop"))
    lamps = make_lamps(site, ["a grumblefop"])
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    assert '<span class="masked-text">a gr*mblefop</span>' in html
    assert not re.search(r'role="switch" data-veil checked', html)
    for text, sign in (("blurred", 'class="veil blurred"'), ("plain", 'role="switch" data-veil checked')):
        path = "/projects/lamps/consent"
        assert post(client, path, {"text": text, "pictures": "grey"}, page=path).status_code == 303
        assert sign in client.get(lamps.path).text
    with site.store.read() as db:
        assert members.get(db, "lamps", lamps.user("annotator")).choices == {"text": "plain", "pictures": "grey"}
    assert post(client, path, {"text": "naked", "pictures": "grey"}, page=path).status_code == 400


def test_no_post_is_shown_before_consent(site):
    lamps = make_lamps(site, TEXTS, consent=False, settings={"consent": {"en": "We pay *well*. <script>x</script>"}})
    client = site.as_("annotator")
    assert client.get(lamps.path).headers["location"] == "/projects/lamps/consent"
    assert client.get(lamps.path, headers={"hx-request": "true"}).headers["hx-redirect"] == "/projects/lamps/consent"
    html = client.get("/projects/lamps/consent").text
    assert "We pay <em>well</em>. &lt;script&gt;" in html
    assert "Some posts are gloomy." in html
    choice = {"text": "blurred", "pictures": "plain"}
    answer = post(client, "/projects/lamps/consent", choice, page="/projects/lamps/consent")
    assert answer.status_code == 422
    assert "Tick the box" in answer.text
    assert re.search(r'value="blurred" checked', answer.text)
    with site.store.read() as db:
        assert members.get(db, "lamps", lamps.user("annotator")).consented_at is None
    path = "/projects/lamps/consent"
    answer = post(client, path, {**choice, "agree": "yes"}, page=path)
    assert answer.headers["location"] == lamps.path
    assert shown(client.get(lamps.path).text) == 1
    assert "You agreed on" in client.get(path).text


def test_a_rest_comes_when_it_is_due_and_can_be_put_off_once(site):
    care = {"break_after_hard": 1, "daily_minutes": None, "break_after_minutes": None}
    lamps = make_lamps(site, TEXTS, settings={"care": care})
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    sly = {**RUDE, "how": ("sly",), "words": ("irony",)}
    answer = send(client, html, sly)
    assert answer.headers["hx-redirect"] == "/projects/lamps/rest"
    page = client.get("/projects/lamps/rest").text
    assert "The last posts were hard ones." in page
    assert "Saved." in page
    assert len(mine(lamps)) == 1
    assert client.get(lamps.path).headers["location"] == "/projects/lamps/rest"
    rest = "/projects/lamps/rest"
    assert post(client, rest, {"do": "later"}, page=rest).headers["location"] == lamps.path
    html = client.get(lamps.path).text
    assert shown(html) == 2
    assert send(client, html, sly, htmx=False).headers["location"] == rest
    assert "A few more minutes" not in client.get(rest).text
    assert post(client, rest, {"do": "stop"}, page=rest).headers["location"] == "/projects/lamps"


def test_who_passed_the_screening_is_told_so_and_the_page_looks_for_the_next_post(site):
    lamps = make_lamps(site, TEXTS[:1], kind="screening", answers=None, gold=POLITE)
    with site.store.write() as db:
        members.choose(db, "lamps", lamps.user("annotator"), screening="passed")
    passed = site.as_("annotator").get(lamps.path).text
    assert "You passed the screening" in passed
    assert f'data-again="{lamps.path}"' in passed


def test_empty_pages_say_why_and_what_is_next(site):
    lamps = make_lamps(site, TEXTS[:1])
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    last = send(client, html, POLITE)
    assert last.headers["hx-redirect"] == lamps.path
    done = client.get(lamps.path).text
    assert "You have answered everything here" in done
    assert "1 of 1 posts" in done
    with site.store.write() as db:
        phases.close_phase(db, lamps.phase.id, by="shell")
    assert "This work is done" in client.get(lamps.path).text
    late = send(client, html, RUDE)
    assert "closed in the meantime" in late.text
    assert len(mine(lamps)) == 1
    with site.store.write() as db:
        phases.add(
            db, "lamps", name="two", kind="production", answers=1, in_corpus=True, settings={}, by=lamps.user("admin")
        )
    assert "“two” has not been opened yet" in client.get(lamps.path).text
    with site.store.write() as db:
        by = lamps.user("admin")
        add_phase(db, "gate", TEXTS[:1], by, kind="screening", answers=None, gold=POLITE)
        add_phase(db, "after", TEXTS[:1], by)
        members.choose(db, "lamps", lamps.user("annotator"), screening="failed")
    assert "Thank you for taking part" in client.get(lamps.path).text
    with site.store.write() as db:
        phases.close_phase(db, phases.by_name(db, "lamps", "gate").id, by=by)
        members.choose(db, "lamps", lamps.user("annotator"), screening=None)
    assert "Nothing for you right now" in client.get(lamps.path).text


def test_the_page_speaks_german_with_the_schemes_german_words(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    post(client, "/language", {"lang": "de", "next": "/"})
    html = client.get(lamps.path).text
    for words in ("Ist der Beitrag grob?", "Niemand leidet.", "Speichern", "zweimal", "Ironie beim Wort nehmen."):
        assert words in html
    assert "Is the post rude" not in html


def test_notes_stand_at_the_question_or_flag_they_belong_to(site):
    lamps = make_lamps(site, TEXTS)
    html = site.as_("annotator").get(lamps.path).text
    first, how = (
        re.search(rf'<fieldset class="question" id="{q}".*?</fieldset>', html, re.DOTALL).group() for q in ("q1", "q2")
    )
    flags = re.search(r'<fieldset class="flags".*?</fieldset>', html, re.DOTALL).group()
    assert "Take irony at its word." in first
    assert "<strong>shouting</strong> Capitals shout." in how
    assert "Rude to a thing" in flags
    assert "Rude to a thing" not in first


def test_every_field_has_a_label_and_groups_say_what_they_are(site):
    lamps = make_lamps(site, TEXTS)
    html = site.as_("annotator").get(lamps.path).text
    for tag in re.findall(r"<(?:input|textarea)[^>]*>", html):
        if 'type="hidden"' in tag or 'role="switch"' in tag:
            continue
        assert f'for="{re.search(r"id=.([^ ]+?).(?: |>)", tag).group(1)}"' in html, tag
    assert html.count("<fieldset") == html.count("<legend>") == 5
    assert 'role="status" aria-live="polite"' in html


def test_a_discussion_has_one_shared_answer_with_notes_whoever_records_it(site):
    lamps = make_lamps(site, TEXTS[:2], kind="discussion", answers=1)
    one, other = site.as_("annotator"), site.as_("expert")
    assert "Your team answers together now" in one.get(lamps.path).text
    html, theirs = (client.get("/projects/lamps/discussion").text for client in (one, other))
    assert shown(html) == shown(theirs) == 1
    assert 'value="skip"' not in html
    back = send(one, html, {"rude": ("rude",)}, htmx=False)
    assert back.status_code == 422
    assert not re.search(r'id="q2"[^>]*hidden', back.text)
    notes = "irony decided it <script>x</script>"
    for _ in range(2):  # sent twice, recorded once
        assert send(one, html, RUDE, htmx=False, comment=notes).headers["location"] == "/projects/lamps/discussion"
    late = send(other, theirs, POLITE, htmx=False)
    assert late.status_code == 409
    assert "has a shared answer already" in late.text
    page = other.get("/projects/lamps/discussion").text
    assert shown(page) == 2
    phase = one.get(f"/projects/lamps/phases/{lamps.phase.name}").text
    assert re.search(r"Together</th>.*>1 <span class=\"quiet\">/ 2<", phase, re.DOTALL)
    assert "together" not in other.get("/projects/lamps/watch").text
    assert "irony decided it &lt;script&gt;" in page
    send(other, page, POLITE, htmx=False)
    assert "Every post of this discussion" in one.get("/projects/lamps/discussion").text
    with site.store.read() as db:
        kept = [
            annotations.of_post(db, posts.find_key(db, "lamps", f"one-{n}"), scheme="lamps", version=1) for n in (1, 2)
        ]
    assert [[(dict(it.answers), it.comment) for it in each] for each in kept] == [[(RUDE, notes)], [(POLITE, None)]]
    assert {it.annotator for each in kept for it in each} == {"together"}


@pytest.mark.postgres
def test_labelling_works_over_postgres(settings, postgres_url):
    app = create_app(replace(settings, database=postgres_url))
    store = app.state.context.store
    with store.write() as db:
        people = {
            role: users.add(db, login=role, name=role, role=role, by="shell", password_hash=hashed_password())
            for role in ("admin", "expert", "annotator")
        }
    with Site(app, settings, store, people).started() as site:
        lamps = make_lamps(site, TEXTS)
        client = site.as_("annotator")
        html = send(client, client.get(lamps.path).text, RUDE, comment="a remark", flag=["unsure"]).text
        assert shown(html) == 2
        undone = client.post(f"{lamps.path}/undo", data={"csrf": form_of(html)["csrf"]}, headers={"hx-request": "true"})
        assert shown(send(client, undone.text, POLITE).text) == 2
        html = send(client, client.get(lamps.path).text, do="refuse", sure="yes").text
        html = send(client, html, do="skip").text
        assert shown(html) == 4
        assert [it.refused for it in mine(lamps)] == [False, False, True]
        assert mine(lamps)[1].replaces == mine(lamps)[0].id

        other = site.as_("expert")
        before = other.get(lamps.path).text
        for _ in range(2):  # sent twice, kept once
            assert shown(send(other, before, RUDE).text) == shown(before) + 1
        assert "had answered that post already" in send(other, before, POLITE, annotation_id="another").text
        assert [dict(it.answers) for it in mine(lamps, "expert")] == [RUDE]
        theirs = send(client, before, POLITE, csrf=form_of(html)["csrf"])
        assert (theirs.status_code, "somebody else" in theirs.text) == (403, True)
        assert send(site.visitor(), before, POLITE).status_code == 401
        assert [dict(it.answers) for it in mine(lamps, "expert")] == [RUDE]
