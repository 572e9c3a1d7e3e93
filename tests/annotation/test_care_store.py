"""Check-ins, the channel, responses, codes, and a person's own data: on both databases."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass

import pytest
from sqlalchemy import event

from davy.annotation.care import care
from davy.annotation.care.store import check_ins, responses, work_sessions
from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import annotations, items
from davy.annotation.project.project import Member
from davy.annotation.project.store import member_data, members, messages, phases, posts, projects, withdrawals
from davy.annotation.settling import open_coding
from davy.annotation.settling.store import codes, phase_answers, verdicts
from davy.core import Annotation, Label, Post, Question, Scheme, UserError, Verdict
from davy.people.store import keys, personal_data, sessions, users
from davy.schemes import to_yaml
from davy.schemes.store import schemes
from davy.store import Store, columns, events, open_store
from davy.store.schema import metadata
from post_rows import add_post

SCHEME = Scheme("grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),))
PEOPLE = {"mia": "manager", "ada": "annotator", "lin": "annotator", "wil": "wellbeing"}


@dataclass
class Team:
    """A project with a manager, two annotators and a wellbeing contact."""

    store: Store
    ids: dict[str, str]

    def member(self, name: str) -> Member:
        with self.store.read() as db:
            found = members.get(db, "pilot", self.ids[name])
        assert found is not None
        return found


@pytest.fixture
def team(store: Store) -> Team:
    return build(store)


def build(store: Store) -> Team:
    ids = {}
    with store.write() as db:
        schemes.save(db, SCHEME, to_yaml(SCHEME), by="shell")
        projects.create(db, id="pilot", title="Pilot", scheme="grumble", scheme_version=1, settings={}, by="shell")
        for name, role in PEOPLE.items():
            ids[name] = users.add(
                db, login=f"{name}@example.org", name=f"{name} whole name", role="annotator", by="shell"
            ).id
            members.add(db, "pilot", ids[name], [role], by="shell")
        for number in range(4):
            add_post(db, Post(f"p{number}", f"a grumblefop {number}"), project="pilot")
    return Team(store, ids)


def everything(store: Store, *, but: tuple[str, ...] = ()) -> str:
    """All rows of all tables as text."""
    with store.read() as db:
        return "".join(str(db.execute(it.select()).all()) for it in metadata.sorted_tables if it.name not in but)


def test_a_check_in_is_read_by_those_who_were_contacts_when_it_was_written(store, team):
    with store.write() as db:
        made = check_ins.add(db, "pilot", team.ids["ada"], mood=2, words=" tired of it ", wants_contact=True)
        assert made.readers == (team.ids["wil"],)
        members.set_roles(db, "pilot", team.ids["mia"], ["manager", "wellbeing"], by=team.ids["mia"])
    with store.read() as db:
        (mine,) = check_ins.for_reader(db, team.member("wil"))
        assert (mine.words, mine.mood, mine.wants_contact) == ("tired of it", 2, True)
        assert check_ins.for_reader(db, team.member("mia")) == []
        assert (check_ins.waiting(db, team.member("wil")), check_ins.waiting(db, team.member("mia"))) == (1, 0)
        for name in ("ada", "lin"):
            with pytest.raises(UserError, match="Only a project's wellbeing contacts") as caught:
                check_ins.for_reader(db, team.member(name))
            assert caught.value.status == 403
            assert check_ins.waiting(db, team.member(name)) == 0
    with store.write() as db, pytest.raises(UserError, match="no such check-in"):
        check_ins.mark_seen(db, team.member("mia"), made.id)
    with store.write() as db:
        check_ins.mark_seen(db, team.member("wil"), made.id)
        members.leave(db, "pilot", team.ids["wil"], by="shell")
    with store.read() as db, pytest.raises(UserError, match="Only"):
        check_ins.for_reader(db, team.member("wil"))


def test_a_check_in_leaves_no_trace_anywhere_else(store, team):
    before = everything(store, but=("check_ins",))
    with store.write() as db:
        check_ins.add(db, "pilot", team.ids["ada"], mood=1, words="a secret worry")
    assert everything(store, but=("check_ins",)) == before


@pytest.mark.parametrize(
    ("given", "said"),
    [({}, "empty"), ({"words": "  "}, "empty"), ({"mood": 6}, "1 to 5"), ({"words": "x" * 4001}, "4000")],
)
def test_a_check_in_that_says_nothing_or_too_much_is_refused(store, team, given, said):
    with pytest.raises(UserError, match=said), store.write() as db:
        check_ins.add(db, "pilot", team.ids["ada"], **given)


def test_nobody_checks_in_where_nobody_would_read_it(store, team):
    with store.write() as db:
        members.leave(db, "pilot", team.ids["wil"], by="shell")
    with pytest.raises(UserError, match="no wellbeing contact"), store.write() as db:
        check_ins.add(db, "pilot", team.ids["ada"], mood=3)


def test_a_question_about_a_post_is_answered_and_the_answer_goes_into_the_guideline(store, team):
    with store.write() as db:
        messages.announce(db, "pilot", "Welcome", by=team.ids["mia"])
        asked = messages.ask(db, "pilot", "Is this one grumpy?", by=team.ids["ada"], post="p1")
        messages.answer(db, "pilot", asked.id, "I wonder, too", by=team.ids["ada"])
        assert messages.get(db, "pilot", asked.id).settled_at is None
        given = messages.answer(db, "pilot", asked.id, "Yes, because", by=team.ids["mia"])
        messages.into_guideline(db, "pilot", given.id, 2, by=team.ids["mia"])
    with store.read() as db:
        question, welcome = messages.threads(db, "pilot")
        assert (welcome.first.text, welcome.answers) == ("Welcome", ())
        assert [it.text for it in question.answers] == ["I wonder, too", "Yes, because"]
        assert question.answers[1].guideline_version == 2
        assert question.first.settled_at is not None
        assert [it.first.id for it in messages.threads(db, "pilot", post="p1")] == [asked.id]
        assert messages.threads(db, "pilot", kind="question", open_only=True) == []
        assert messages.threads(db, "pilot", before=asked.id)[0].first.text == "Welcome"
        assert messages.unread(db, "pilot", team.ids["lin"], None) == 4
        assert messages.unread(db, "pilot", team.ids["ada"], None) == 2
        assert messages.unread(db, "pilot", team.ids["ada"], columns.now()) == 0
        said = " ".join(f"{it.what} {it.details}" for it in events.latest(db))
    assert "because" not in said
    with store.write() as db, pytest.raises(UserError, match="Only a question"):
        messages.answer(db, "pilot", given.id, "and so on", by=team.ids["ada"])


@pytest.mark.parametrize(("text", "post"), [("", None), (" \n", None), ("x" * 4001, None), ("x", "nowhere")])
def test_an_empty_or_endless_message_or_one_about_no_post_is_refused(store, team, text, post):
    with pytest.raises(UserError), store.write() as db:
        messages.ask(db, "pilot", text, by=team.ids["ada"], post=post)


def test_another_projects_message_is_not_found(store, team):
    with store.write() as db:
        asked = messages.ask(db, "pilot", "Where?", by=team.ids["ada"])
        projects.create(db, id="other", title="Other", scheme="grumble", scheme_version=1, settings={}, by="shell")
        with pytest.raises(UserError, match="no such message"):
            messages.answer(db, "other", asked.id, "Here", by=team.ids["ada"])


def test_a_response_is_replaced_and_taken_back(store, team):
    ada = team.ids["ada"]
    with store.write() as db:
        responses.put(db, "pilot", ada, "survey", {"clear": 4})
        responses.put(db, "pilot", ada, "survey", {"clear": 5})
        responses.put(db, "pilot", team.ids["mia"], "survey", {"clear": 1})
    with store.read() as db:
        assert responses.get(db, "pilot", ada, "survey").content == {"clear": 5}
        assert responses.of_project(db, "pilot", "survey", roles=("annotator",)) == [{"clear": 5}]
    with store.write() as db:
        responses.put(db, "pilot", ada, "survey", {})
        assert responses.get(db, "pilot", ada, "survey") is None


def test_codes_are_counted_nested_and_merged(store, team):
    ada, lin = team.ids["ada"], team.ids["lin"]
    with store.write() as db:
        food = codes.create(db, "pilot", "Food", by=ada)
        soup = codes.create(db, "pilot", "Soup", by=ada, parent=food.id, description="Too salty")
        broth = codes.create(db, "pilot", "Broth", by=lin)
        spoons = codes.create(db, "pilot", "Spoons", by=lin, parent=broth.id)
        assert codes.put(db, "pilot", soup.id, "p1", by=ada)
        assert not codes.put(db, "pilot", soup.id, "p1", by=ada)
        for by, post in ((ada, "p1"), (lin, "p1"), (lin, "p2")):
            codes.put(db, "pilot", broth.id, post, by=by)
        codes.put(db, "pilot", spoons.id, "p3", by=lin)
        merged = codes.merge(db, "pilot", broth.id, soup.id, by=ada)
        assert merged.id == soup.id
        found = {it.name: it for it in codes.list_codes(db, "pilot")}
        assert set(found) == {"Food", "Soup", "Spoons"}
        assert (found["Soup"].posts, found["Soup"].coders, found["Soup"].shared) == (2, 2, 1)
        assert found["Spoons"].parent == soup.id
        assert codes.get(db, "pilot", broth.id).id == soup.id  # an old link still leads somewhere
        assert [(it.code.name, it.depth, it.below) for it in open_coding.tree(list(found.values()))] == [
            ("Food", 0, 2),
            ("Soup", 1, 1),
            ("Spoons", 2, 0),
        ]
        assert codes.posts_under(db, open_coding.codes_beneath(list(found.values()), food.id)) == ["p1", "p2", "p3"]
        assert codes.take(db, "pilot", soup.id, "p1", by=lin)
        assert {it.by for it in codes.on_posts(db, "pilot", ["p1"])["p1"]} == {ada}
        assert codes.coders(db, "pilot") == {ada: 1, lin: 2}


def test_codes_are_saturated_when_the_last_posts_bring_nothing_new(store, team):
    ada = team.ids["ada"]
    with store.write() as db:
        assert codes.count_recent(db, "pilot") == (0, 0)
        made = [codes.create(db, "pilot", name, by=ada) for name in ("One", "Two")]
        for code, post in ((0, "p0"), (1, "p1"), (0, "p1"), (1, "p2"), (0, "p3")):
            codes.put(db, "pilot", made[code].id, post, by=ada)
        assert codes.count_recent(db, "pilot") == (4, 2)
        assert codes.count_recent(db, "pilot", last=3) == (3, 1)
        assert codes.count_recent(db, "pilot", last=2) == (2, 0)


def test_a_parent_merged_into_its_child_leaves_the_child_in_its_place(store, team):
    ada = team.ids["ada"]
    with store.write() as db:
        top = codes.create(db, "pilot", "Top", by=ada)
        middle = codes.create(db, "pilot", "Middle", by=ada, parent=top.id)
        leaf = codes.create(db, "pilot", "Leaf", by=ada, parent=middle.id)
        other = codes.create(db, "pilot", "Other leaf", by=ada, parent=middle.id)
        codes.merge(db, "pilot", middle.id, leaf.id, by=ada)
        parents = {it.name: it.parent for it in codes.list_codes(db, "pilot")}
    assert parents == {"Top": None, "Leaf": top.id, "Other leaf": leaf.id}
    with store.write() as db:
        codes.merge(db, "pilot", top.id, other.id, by=ada)
        parents = {it.name: it.parent for it in codes.list_codes(db, "pilot")}
    assert parents == {"Other leaf": None, "Leaf": other.id}


def test_a_code_can_not_go_under_itself_nor_twice_by_one_name(store, team):
    ada = team.ids["ada"]
    with store.write() as db:
        top = codes.create(db, "pilot", "Top", by=ada)
        leaf = codes.create(db, "pilot", "Leaf", by=ada, parent=top.id)
        for code, parent in ((top.id, leaf.id), (top.id, top.id)):
            with pytest.raises(UserError, match="under itself"):
                codes.change(db, "pilot", code, by=ada, parent=parent)
        with pytest.raises(UserError, match="already"):
            codes.create(db, "pilot", " tOP ", by=ada)
        with pytest.raises(UserError, match="already"):
            codes.change(db, "pilot", leaf.id, by=ada, name="top")
        with pytest.raises(UserError, match="into itself"):
            codes.merge(db, "pilot", top.id, top.id, by=ada)
        with pytest.raises(UserError, match="no such code"):
            codes.change(db, "pilot", "nowhere", by=ada, name="x")
        for name in ("", "x" * 81, "a\x07b"):
            with pytest.raises(UserError, match="1 to 80"):
                codes.create(db, "pilot", name, by=ada)
        assert codes.change(db, "pilot", leaf.id, by=ada, name="Twig", description="d", top=True).parent is None


def test_the_posts_to_code_are_those_of_the_projects_phases_each_once(store, team):
    with store.write() as db:
        for name, chosen in (("one", ["p3", "p1"]), ("two", ["p1", "p2"])):
            phase = phases.add(
                db, "pilot", name=name, kind="production", answers=1, in_corpus=True, settings={}, by="shell"
            )
            items.add(db, phase, [(it, None, None) for it in chosen], by="shell")
        assert codes.posts_of_project(db, "pilot") == ["p1", "p2", "p3"]
        assert codes.posts_of_project(db, "pilot", after="p1", limit=1) == ["p2"]
        posts.set_hidden(db, "pilot", ["p2"], hidden=True, by="shell")
        assert codes.posts_of_project(db, "pilot") == ["p1", "p3"]


def fill(store: Store, team: Team, *, settings: dict | None = None) -> str:
    """Let ada do everything that leaves data; return the id of her answer."""
    ada = team.ids["ada"]
    with store.write() as db:
        if settings is not None:
            projects.change_settings(db, "pilot", settings, by="shell")
        sessions.start(db, ada, client="ada's own browser")
        keys.create(db, name="ada's own key", owner=ada, scopes=["score"], by=ada)
        members.choose(db, "pilot", ada, break_after_minutes=5)
        check_ins.add(db, "pilot", ada, words="ada's own worry")
        responses.put(db, "pilot", ada, "about me", {"gender": "ada's own words"})
        messages.ask(db, "pilot", "ada's own question", by=ada)
        code = codes.create(db, "pilot", "Soup", by=ada)
        codes.put(db, "pilot", code.id, "p1", by=ada, note="ada's own note")
        given = Annotation(
            columns.new_id(), "p1", ada, "grumble", 1, 0, {"grumpy": ("yes",)}, columns.now(),
            comment="ada's own comment", project="pilot",
        )  # fmt: skip
        annotations.add(db, given, SCHEME)
        verdicts.add(db, Verdict("p1", "grumpy", ("yes",), "single", (given.id,)), SCHEME, by="shell")
    return given.id


def test_an_export_has_everything_about_a_person_and_nothing_about_others(store, team):
    given = fill(store, team)
    with store.write() as db:
        check_ins.add(db, "pilot", team.ids["lin"], words="lin's own worry")
        made = personal_data.export(db, team.ids["ada"])
    text = json.dumps(made)
    for said in ("browser", "key", "worry", "words", "question", "note", "comment"):
        assert f"ada's own {said}" in text
    assert "ada@example.org" in text
    assert "lin's own" not in text
    assert not {"token_hash", "password_hash", "secret_hash"} & set(text.replace('"', " ").split())
    assert [it["id"] for it in made["annotations"]] == [given]
    assert made["annotations"][0]["answers"] == {"grumpy": ["yes"]}
    with store.read() as db:
        here = personal_data.export(db, team.ids["ada"], project_id="pilot")
        assert "account" not in here
        assert len(here["annotations"]) == 1
        assert personal_data.export(db, team.ids["ada"], project_id="elsewhere")["messages"] == []


def test_deleting_an_account_leaves_answers_under_the_pseudonym_and_no_words_of_the_person(store, team):
    given = fill(store, team)
    pseudonym = team.member("ada").pseudonym
    with store.write() as db:
        assert personal_data.delete_account(db, team.ids["ada"], by=team.ids["ada"]) == personal_data.DeletionCounts(
            1, 0
        )
    rest = everything(store)
    for said in ("ada@example.org", "ada whole name", "ada's own"):
        assert said not in rest.replace("ada's own question", "")
    with store.read() as db:
        assert annotations.get(db, given).answers == {"grumpy": ("yes",)}
        assert [it.first.by for it in messages.threads(db, "pilot")] == [pseudonym]
        assert members.get(db, "pilot", team.ids["ada"]).left_at is not None
        shell = users.get(db, team.ids["ada"])
        assert personal_data.is_deleted(shell)
        assert shell.disabled
        newest = events.latest(db, about=f"user {shell.id}", limit=1)[0]
        assert (newest.what, newest.by, newest.details) == ("personal data deleted", "system", {})
        assert users.by_login(db, "ada@example.org") is None


def test_where_the_project_says_so_answers_and_what_rested_on_them_go_too(store, team):
    given = fill(store, team, settings={"deletion": {"answers": "delete"}})
    with store.write() as db:
        assert member_data.delete_in_project(db, "pilot", team.ids["ada"], by="shell").answers == 1
        with pytest.raises(UserError, match="no annotation"):
            annotations.get(db, given)
        assert verdicts.of_post(db, "p1", scheme="grumble", version=1) == {}
        assert users.get(db, team.ids["ada"]).name == "ada whole name"  # the account stays


def test_posts_open_again_for_others_when_an_answer_is_deleted(store, team):
    ada, lin = team.ids["ada"], team.ids["lin"]
    with store.write() as db:
        projects.change_settings(db, "pilot", {"deletion": {"answers": "delete"}}, by="shell")
        phase = phases.add(db, "pilot", name="1", kind="production", answers=2, in_corpus=True, settings={}, by="shell")
        items.add(db, phase, [("p1", None, None), ("p2", None, None)], by="shell", shuffled=False)
        phases.open_phase(db, phase.id, by="shell")
        project = projects.get(db, "pilot")
    for name in ("ada", "lin"):
        with store.write() as db:
            for _ in range(2 if name == "ada" else 1):
                sheet = labelling.next_sheet(db, project, team.member(name))
                labelling.save(db, sheet, {"grumpy": ("yes",)}, annotation_id=columns.new_id())
    with store.read() as db:
        before = {it.post: (it.given, it.room, it.state) for it in items.iter_items(db, phase.id)}
    assert before["p2"] == (1, 1, "open")
    assert before["p1"][:2] == (2, 0)
    with store.write() as db:
        assert member_data.delete_in_project(db, "pilot", ada, by="shell").answers == 2
    with store.read() as db:
        after = {it.post: (it.given, it.room, it.state) for it in items.iter_items(db, phase.id)}
        assert verdicts.of_post(db, "p1", scheme="grumble", version=1, project="pilot") == {}
        assert sum(it.given for it in phase_answers.tallies_of(db, [phase.id])) == 1
        assert [it.annotator for it in annotations.of_post(db, "p1", scheme="grumble", version=1)] == [lin]
    assert after == {"p1": (1, 1, "open"), "p2": (0, 2, "open")}


def test_comments_stay_when_their_writer_wants_them_to(store, team):
    given = fill(store, team)
    with store.write() as db:
        member_data.delete_in_project(db, "pilot", team.ids["ada"], by=team.ids["ada"], comments=False)
        assert annotations.get(db, given).comment == "ada's own comment"
        with pytest.raises(UserError, match="not in the project"):
            member_data.delete_in_project(db, "pilot", "nobody", by="shell")


def test_a_withdrawn_post_takes_its_codes_and_questions_with_it(store, team):
    fill(store, team)
    with store.write() as db:
        asked = messages.ask(db, "pilot", "about p1", by=team.ids["lin"], post="p1")
        messages.answer(db, "pilot", asked.id, "an answer", by=team.ids["mia"])
        withdrawals.withdraw(db, ["p1"], by="shell")
        assert [it.first.text for it in messages.threads(db, "pilot")] == ["ada's own question"]
        assert codes.list_codes(db, "pilot")[0].posts == 0
    assert "an answer" not in everything(store)


def test_one_whose_data_is_deleted_gives_back_what_they_hold(store, team):
    ada = team.ids["ada"]
    with store.write() as db:
        phase = phases.add(db, "pilot", name="1", kind="production", answers=1, in_corpus=True, settings={}, by="shell")
        items.add(db, phase, [("p1", None, None)], by="shell")
        phase = phases.open_phase(db, phase.id, by="shell")
        for name in ("ada", "lin"):
            members.consent(db, "pilot", team.ids[name])
    with store.write() as db:
        held = labelling.next_sheet(db, projects.get(db, "pilot"), team.member("ada"))
        assert held.post.id == "p1"
        assert labelling.next_sheet(db, projects.get(db, "pilot"), team.member("lin")) is None
        member_data.delete_in_project(db, "pilot", ada, by=ada)
    with store.write() as db:
        assert labelling.next_sheet(db, projects.get(db, "pilot"), team.member("lin")).post.id == "p1"


def test_the_last_admin_can_not_delete_themselves(store, team):
    with store.write() as db:
        root = users.add(db, login="root", name="Root", role="admin", by="shell")
    with pytest.raises(UserError, match="last admin"), store.write() as db:
        personal_data.delete_account(db, root.id, by=root.id)
    with store.read() as db:
        assert users.get(db, root.id).name == "Root"


def test_no_query_of_care_or_coding_reads_a_whole_table(tmp_path, sqlite_template):
    path = tmp_path / "davy.sqlite"
    shutil.copy(sqlite_template, path)
    with open_store(f"sqlite:///{path}") as store:
        team = build(store)
        wil = team.member("wil")
        ran: dict[str, object] = {}
        event.listen(
            store.engine,
            "before_cursor_execute",
            lambda _db, _cur, said, given, _context, _many: ran.update({said: given}),
        )
        with store.write() as db:
            ada, project = team.ids["ada"], projects.get(db, "pilot")
            care.after_save(db, project, wil, None, 5, hard=True)
            care.before_next(db, project, wil)
            work_sessions.hours(db, "pilot")
            work_sessions.of_person(db, "pilot", ada)
            check_ins.for_reader(db, wil)
            check_ins.waiting(db, wil)
            check_ins.of_person(db, ada)
            messages.threads(db, "pilot", open_only=True)
            messages.unread(db, "pilot", ada, columns.now())
            responses.get(db, "pilot", ada, "survey")
            code = codes.create(db, "pilot", "Soup", by=ada)
            codes.put(db, "pilot", code.id, "p1", by=ada)
            codes.on_posts(db, "pilot", ["p1"])
            codes.list_codes(db, "pilot")
            codes.posts_under(db, [code.id])
            codes.coded_by(db, "pilot", ada, ["p1"])
            codes.count_recent(db, "pilot")
            codes.posts_of_project(db, "pilot")
        with store.read() as db:
            plans = {
                said: [row[3] for row in db.exec_driver_sql(f"EXPLAIN QUERY PLAN {said}", given)]
                for said, given in list(ran.items())
                if said.startswith(("SELECT", "UPDATE", "DELETE")) and "EXPLAIN" not in said
            }
    big = ("sittings", "check_ins", "messages", "responses", "coded", "codes", "items", "posts")
    scans = [
        (step, said)
        for said, plan in plans.items()
        for step in plan
        if step.startswith(tuple(f"SCAN {it}" for it in big))
    ]
    assert len(plans) > 20
    assert scans == []
