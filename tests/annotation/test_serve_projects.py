"""Projects on the web: who sees which pages, what strangers are told, and making, running and staffing one."""

from __future__ import annotations

import gzip
import re
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from davy.annotation.labelling.store import items
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.pages.project_access import ADMINS_MAY, PROJECT_MAY, PROJECT_TABS
from davy.annotation.project.phase_kind import PHASE_KINDS, PhaseKind
from davy.annotation.project.project import PROJECT_ROLES
from davy.annotation.project.store import members, messages, phases, posts, projects
from davy.people.store import invitations, personal_data, users
from davy.people.store.invitations import invitations as invitation_table
from davy.schemes.store import schemes
from davy.store import events
from davy.web import i18n
from web_site import PASSWORD, Site, post, token_in

PLAN = b"""
name: pilot
title: Pilot <b>1</b>
preset: hatemoji-check
phases: {validation: {answers: 1}}
support:
  - {name: Lin, words: {de: hilft, en: listens}}
"""


@pytest.fixture
def project(site: Site):
    """A project with a manager (the expert of the site) and an annotator, and four posts that wait."""
    frame = pl.DataFrame({"id": list("abcd"), "text": [f"words {it}" for it in "abcd"]})
    with site.store.write() as db:
        plan = project_file.parse_plan(PLAN, "pilot.yaml")
        made = project_creation.create_project(db, plan, by=site.people["expert"].id, posts_in=[frame]).project
        members.add(db, "pilot", site.people["annotator"].id, ["annotator"], by=events.SHELL)
    return made


def stranger(site: Site) -> Any:
    """Return a client of an account that is in no project."""
    with site.store.write() as db:
        site.people["stranger"] = users.add(db, login="stranger", name="S", role="expert", by=events.SHELL)
    return site.as_("stranger")


PAGES = ("", "/roster", "/guideline", "/guideline/new", "/settings", "/audit", "/label", "/watch", "/care", "/exports")


def test_strangers_are_told_the_same_of_a_project_that_exists_and_one_that_does_not(site, project):
    client = stranger(site)
    for page in PAGES:
        there, nowhere = client.get(f"/projects/pilot{page}"), client.get(f"/projects/nowhere{page}")
        assert there.status_code == nowhere.status_code == 403, page
        assert there.text.replace("pilot", "nowhere") == nowhere.text, page
        assert site.visitor().get(f"/projects/pilot{page}").headers["location"].startswith("/sign-in?next="), page
    assert site.as_("admin").get("/projects/nowhere").status_code == 404


def test_an_annotator_may_not_run_the_project(site, project):
    client = site.as_("annotator")
    for page in ("/roster", "/guideline/new", "/settings", "/audit"):
        assert client.get(f"/projects/pilot{page}").status_code == 403, page
    for path, data in (
        ("/state", {"do": "open", "phase": "validation"}),
        ("/roster/invite", {"roles": "manager", "days": "7"}),
        (f"/roster/{site.people['annotator'].id}", {"do": "save", "roles": "manager"}),
        ("/settings", {"yaml": "languages: [en]"}),
        ("/guideline/new", {"changes": "all new", "text.en": "x"}),
        ("/phases/validation/upload", {}),
    ):
        assert post(client, f"/projects/pilot{path}", data).status_code == 403, path
    with site.store.read() as db:
        assert phases.by_name(db, "pilot", "validation").state == "waiting"
        assert members.get(db, "pilot", site.people["annotator"].id).roles == ("annotator",)


def test_members_see_their_project_and_its_support_contacts_and_titles_are_escaped(site, project):
    page = site.as_("annotator").get("/projects/pilot").text
    assert "Pilot &lt;b&gt;1&lt;/b&gt;" in page
    assert "<b>1</b>" not in page
    assert "Lin" in page
    assert "listens" in page
    assert "Pilot" in site.as_("annotator").get("/projects").text
    assert "Pilot" not in stranger(site).get("/projects").text


def test_an_admin_runs_every_project_but_never_reads_check_ins_labels_or_settles():
    assert set(ADMINS_MAY) <= set(PROJECT_MAY)
    assert not {"read check-ins", "label posts", "settle cases", "check in"} & set(ADMINS_MAY)


def test_one_who_left_is_told_so(site, project):
    with site.store.write() as db:
        members.leave(db, "pilot", site.people["annotator"].id, by=events.SHELL)
    page = site.as_("annotator").get("/projects/pilot")
    assert page.status_code == 403
    assert "left this project" in page.text


def test_a_manager_opens_a_phase_and_cannot_close_it_before_its_rule_without_a_reason(site, project):
    manager = site.as_("expert")
    home = "/projects/pilot"
    assert "Open phase validation" in manager.get(home).text
    assert post(manager, f"{home}/state", {"do": "open", "phase": "validation"}, page=home).status_code == 303
    assert "Label posts" in site.as_("annotator").get(home).text
    early = post(manager, f"{home}/state", {"do": "close", "phase": "validation"}, page=home)
    assert early.status_code == 409
    assert "4 posts still need answers." in early.text
    late = {"do": "close", "phase": "validation", "anyway": "the pilot is over"}
    assert post(manager, f"{home}/state", late, page=home).status_code == 303
    page = manager.get(f"{home}/audit").text
    assert "phase closed anyway" in page
    assert "the pilot is over" in page
    assert post(manager, f"{home}/state", {"do": "close project"}, page=home).status_code == 303
    with site.store.read() as db:
        assert projects.get(db, "pilot").state == "closed"


def test_every_room_that_the_navigation_names_answers(site, project):
    manager, annotator = site.as_("expert"), site.as_("annotator")
    with site.store.write() as db:
        members.set_roles(db, "pilot", site.people["expert"].id, PROJECT_ROLES, by=events.SHELL)
        # Memes have a room where there is a phase for them.
        phases.add(db, "pilot", name="memes", kind="build", answers=1, in_corpus=False, settings={}, by=events.SHELL)

    def tabs(client, page):
        html = client.get(page, follow_redirects=True).text
        return set(re.findall(r'href="([^"]+)"', "".join(re.findall(r'<nav class="rooms.*?</nav>', html, re.S))))

    for client in (manager, annotator):
        groups = tabs(client, "/projects/pilot")
        assert len(groups) <= 6
        pages = groups.union(*(tabs(client, group) for group in groups))
        for address in pages:
            assert client.get(address, follow_redirects=True).status_code == 200, address
        if client is manager:
            every = {tab for group in PROJECT_TABS.values() for tab, _ in group if tab} - {"rounds"}  # it has none
            assert {f"/projects/pilot/{tab}" for tab in every} <= pages


# ---- making one ----------------------------------------------------------------------------------


def make(client: Any, file: bytes | None = None, *, filename: str = "posts.csv", **fields: str) -> Any:
    """Send the form for a new project."""
    values = {"start": "preset:hatemoji-check", "name": "fresh", "title": "Fresh", "posts": "file", **fields}
    token = token_in(client.get("/projects/new?start=preset:hatemoji-check").text)
    files = {"file": (filename, file)} if file is not None else None
    return client.post("/projects/new/upload", data={"csrf": token, **values}, files=files)


def test_the_navigation_leaves_out_what_a_project_has_no_use_for(site, project):
    labels, manages = (site.as_(who).get("/projects/pilot").text for who in ("annotator", "expert"))
    link = 'href="/projects/pilot/{}"'
    assert link.format("label") in labels
    assert link.format("rounds") not in labels  # there are none, and only a manager opens the first
    assert link.format("rounds") in manages
    assert link.format("memes") not in labels + manages


def test_a_project_is_made_from_a_preset_and_a_file(site):
    manager = site.as_("expert")
    made = make(manager, b"id,text\n1,one\n2,two\n", roster="annotator\nnew@example.org expert wellbeing\n")
    assert made.status_code == 200
    assert re.search(r"/invitation/[\w-]{40,}", made.text)
    with site.store.read() as db:
        assert {(it.user, it.roles) for it in members.of_project(db, "fresh")} == {
            (site.people["expert"].id, ("manager",)),
            (site.people["annotator"].id, ("annotator",)),
        }
        assert [it.project_roles for it in invitations.list_unused(db)] == [("expert", "wellbeing")]
        assert posts.count(db) == 2
        assert phases.by_name(db, "fresh", "validation").size == 2


def test_a_project_is_made_from_a_scheme_and_the_posts_of_the_store(site):
    with site.store.write() as db:
        posts.ensure(db, pl.DataFrame({"id": ["x"], "text": ["x"], "lang": ["de"]}), project=None, by=events.SHELL)
    client = site.as_("expert")
    none = make(client, start="scheme:hate", posts="store", lang="fr", answers="2")
    assert none.status_code == 422
    for answers in ("100", "0", "²", "٣", "9" * 30):
        assert make(client, start="scheme:hate", posts="store", lang="de", answers=answers).status_code == 422
    made = make(client, start="scheme:hate", posts="store", lang="de", answers="2")
    assert made.headers["location"] == "/projects/fresh"
    with site.store.read() as db:
        assert phases.by_name(db, "fresh", "main").answers == 2


BAD_FILES = {
    "nothing": (b"", "p.csv", "empty|chosen"),
    "not a table": (b"\x00\x01\x02" * 50, "p.csv", "NUL"),
    "a million columns": (b",".join(b"c" for _ in range(1_000_000)) + b"\n", "p.csv", "columns"),
    "a bomb": (gzip.compress(b"text\n" + b"0" * 30_000_000), "p.csv.gz", "unpacks to more"),
    "an id twice": (b"id,text\n1,one\n1,two\n", "p.csv", "stands twice"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "p.csv", ""),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_upload_makes_nothing_and_says_why_at_the_form(site, case, tmp_path, monkeypatch):
    file, name, said = BAD_FILES[case]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "uploads"))
    (tmp_path / "uploads").mkdir()
    answer = make(site.as_("expert"), file, filename=name, title="Kept words")
    assert 400 <= answer.status_code < 500
    assert "Kept words" in answer.text
    assert re.search(said, answer.text)
    assert "/uploads/" not in answer.text
    assert not list((tmp_path / "uploads").iterdir())
    with site.store.read() as db:
        assert projects.list_projects(db) == []
        assert posts.count(db) == 0


def test_wrong_fields_are_said_at_the_form(site):
    client = site.as_("expert")
    for fields, said in (
        ({"name": "A B"}, "name a project"),
        ({"name": "new"}, "address of a page"),
        ({"title": ""}, "title"),
        ({"start": "preset:nothing"}, "preset or a scheme"),
        ({"start": "scheme:nothing"}, "no such scheme"),
        ({"start": "scheme:../../etc/passwd"}, "no such scheme"),
        ({"roster": "ada boss"}, "no role boss"),
        ({"start": "preset:gmhp7k", "posts.1": "-1"}, "whole number"),
    ):
        answer = make(client, b"id,text\n1,one\n", **fields)
        assert 400 <= answer.status_code < 500, fields
        assert said in answer.text, fields
    with site.store.read() as db:
        assert projects.list_projects(db) == []


def test_only_who_may_make_projects_sends_a_large_body(site, monkeypatch):
    annotator = site.as_("annotator")
    assert annotator.get("/projects/new").status_code == 403
    token = token_in(annotator.get("/").text)
    large = {"file": ("p.csv", b"text\n" + b"x\n" * 1_000_000)}
    assert annotator.post("/projects/new/upload", data={"csrf": token}, files=large).status_code == 403
    assert site.visitor().post("/projects/new/upload", data={}, files=large).status_code == 401
    assert annotator.post("/account/password", content=b"x" * 2_000_000).status_code == 413


def test_posts_are_added_to_a_phase_and_a_repeated_upload_changes_nothing(site, project):
    manager = site.as_("expert")
    token = token_in(manager.get("/projects/pilot").text)
    files = {"file": ("more.jsonl", b'{"id": "e", "text": "words e"}\n')}
    path = "/projects/pilot/phases/validation/upload"
    assert manager.post(path, data={"csrf": token}, files=files).status_code == 303
    again = manager.post(path, data={"csrf": token}, files=files)
    assert "0 new posts are in phase validation; 1 were there already." in manager.get(again.headers["location"]).text
    assert manager.post(path, data={"csrf": "0" * 64}, files=files).status_code == 403
    with site.store.read() as db:
        assert phases.by_name(db, "pilot", "validation").size == 5


def test_a_phase_is_added_after_the_others_with_or_without_posts(site, project):
    manager = site.as_("expert")
    token = token_in(manager.get("/projects/pilot").text)
    send = lambda files=None, **data: manager.post(  # noqa: E731
        "/projects/pilot/phases/upload", data={"csrf": token, "kind": "production", "answers": "", **data}, files=files
    )
    assert send(name="more", answers="2", files={"file": ("m.csv", b"id,text\ne,words e\n")}).status_code == 303
    assert send(name="check", kind="calibration").status_code == 303
    for data, status in (
        ({"name": "more"}, 409),
        ({"name": "a/b"}, 400),
        ({"name": "x", "kind": "party"}, 400),
        ({"name": "x", "kind": "round"}, 422),
        ({"name": "x", "answers": "0"}, 422),
        ({"name": "x", "kind": "screening", "files": {"file": ("m.csv", b"id,text\nf,words f\n")}}, 400),
    ):
        assert send(**data).status_code == status, data
    with site.store.read() as db:
        found = [(it.name, it.kind, it.answers, it.size) for it in phases.of_project(db, "pilot")]
    assert found[1:] == [("more", "production", 2, 1), ("check", "calibration", None, 0)]


# ---- the roster ------------------------------------------------------------------------------------


def link_in(html: str) -> str:
    found = re.search(r"/invitation/([\w-]{40,})", html)
    assert found
    return found.group(1)


def invite(site: Site, **fields: Any) -> Any:
    values = {"roles": "annotator", "days": "7", "login": "", "pool": "", **fields}
    return post(site.as_("expert"), "/projects/pilot/roster/invite", values, page="/projects/pilot/roster")


def test_a_link_makes_an_account_and_a_member(site, project):
    token = link_in(invite(site, pool="crowd").text)
    visitor = site.visitor()
    page = visitor.get(f"/invitation/{token}").text
    assert "Pilot &lt;b&gt;1" in page
    fields = {"name": "New", "login": "new", "password": PASSWORD, "again": PASSWORD}
    done = post(visitor, f"/invitation/{token}", fields, page=f"/invitation/{token}")
    assert done.headers["location"] == "/projects/pilot/begin"
    assert visitor.get("/projects/pilot/begin").headers["location"] == "/projects/pilot"
    with site.store.read() as db:
        member = members.get(db, "pilot", users.find(db, "new").id)
    assert (member.roles, member.pool) == (("annotator",), "crowd")


def test_an_account_joins_by_the_link_once_and_another_account_not_at_all(site, project):
    token = link_in(invite(site, roles="expert").text)
    client = stranger(site)
    join = f"/invitation/{token}/join"
    assert "Join a project" in client.get(f"/invitation/{token}").text
    assert post(client, join, page=f"/invitation/{token}").headers["location"] == "/projects/pilot/begin"
    again = post(client, join, page="/")
    assert again.status_code == 410
    assert "already used" in again.text
    late = post(site.as_("admin"), join, page="/")
    assert late.status_code == 410
    assert site.visitor().get(f"/invitation/{token}").status_code == 410
    with site.store.read() as db:
        assert members.get(db, "pilot", site.people["stranger"].id).roles == ("expert",)
        assert members.get(db, "pilot", site.people["admin"].id) is None


def test_who_is_in_the_project_already_does_not_use_a_link_up(site, project):
    token = link_in(invite(site).text)
    answer = post(site.as_("annotator"), f"/invitation/{token}/join", page=f"/invitation/{token}")
    assert answer.status_code == 409
    assert "already" in answer.text
    with site.store.read() as db:
        assert invitations.get_usable(db, token).state == "open"


def test_an_expired_invitation_has_a_clear_page(site, project):
    from sqlalchemy import update

    token = link_in(invite(site).text)
    with site.store.write() as db:
        past = invitations.get_usable(db, token).created_at - timedelta(days=1)
        db.execute(update(invitation_table).values(expires_at=past))
    for answer in (
        site.visitor().get(f"/invitation/{token}"),
        post(stranger(site), f"/invitation/{token}/join", page="/"),
    ):
        assert answer.status_code == 410
        assert "This invitation has expired" in answer.text
    roster = site.as_("expert").get("/projects/pilot/roster").text
    assert "expired" in roster


def test_roles_change_people_leave_and_come_back_and_a_manager_always_stays(site, project):
    manager, roster = site.as_("expert"), "/projects/pilot/roster"
    them, me = site.people["annotator"].id, site.people["expert"].id
    change = lambda user, **data: post(manager, f"{roster}/{user}", data, page=roster)  # noqa: E731
    assert change(them, do="save", roles=["annotator", "expert"], pool="trained").status_code == 303
    with site.store.read() as db:
        found = members.get(db, "pilot", them)
        name = found.pseudonym
        assert (found.roles, found.pool) == (("expert", "annotator"), "trained")
    assert change(them, do="leave").status_code == 303
    assert site.as_("annotator").get("/projects/pilot").status_code == 403
    assert change(them, do="rejoin").status_code == 303
    with site.store.read() as db:
        assert members.get(db, "pilot", them).pseudonym == name
    assert change(them, do="save", roles="annotator", pool="").status_code == 303
    for page in ("/projects/pilot/audit", "/audit"):
        shown = site.as_("admin").get(page)
        assert shown.status_code == 200, page
        assert "member pool changed" in shown.text, page
    for last in ({"do": "leave"}, {"do": "save", "roles": "annotator"}):
        refused = change(me, **last)
        assert refused.status_code == 409
        assert "only manager" in refused.text
    assert change(them, do="save", roles="boss").status_code == 422
    assert change("nobody", do="leave").status_code == 404


def test_the_roster_shows_no_pseudonym_of_who_left_and_nothing_of_who_had_their_account_deleted(site, project):
    manager, them = site.as_("expert"), site.people["annotator"]
    with site.store.write() as db:
        name = members.get(db, "pilot", them.id).pseudonym
    shown = lambda: manager.get("/projects/pilot/roster").text  # noqa: E731
    assert name in shown()
    with site.store.write() as db:
        members.leave(db, "pilot", them.id, by=events.SHELL)
    assert name not in shown()
    assert them.name in shown()
    with site.store.write() as db:
        personal_data.delete_account(db, them.id, by=them.id)
    assert "deleted-" not in shown()
    assert them.name not in shown()


def test_another_projects_invitation_cannot_be_taken_back_from_here(site, project):
    with site.store.write() as db:
        other = project_creation.create_project(
            db, project_file.parse_plan(PLAN.replace(b"pilot", b"other"), "o.yaml"), by=events.SHELL
        )
        made, _ = invitations.create(
            db, role="annotator", by=events.SHELL, project=other.project.id, project_roles=["annotator"]
        )
    answer = post(site.as_("expert"), f"/projects/pilot/roster/invitations/{made.id}/revoke", page="/projects/pilot")
    assert answer.status_code == 404
    with site.store.read() as db:
        assert [it.id for it in invitations.list_unused(db)] == [made.id]


# ---- guideline and settings ------------------------------------------------------------------------


def test_scripts_in_a_guideline_are_shown_and_never_run(site, project):
    nasty = "# Hello\n\n<script>alert(1)</script>\n\n[click](javascript:alert(2)) ![x](https://evil.example/x.png)"
    manager, page = site.as_("expert"), "/projects/pilot/guideline"
    data = {"text.en": nasty, "text.de": "", "changes": "<img src=x onerror=alert(3)>", "again": "none"}
    assert post(manager, f"{page}/new", data, page=f"{page}/new").status_code == 303
    for path in (page, "/projects/pilot/channel"):
        html = site.as_("annotator").get(path).text
        assert "<script>alert" not in html
        assert "onerror=alert(3)>" not in html.replace("&gt;", "")
        assert not re.search(r"<img[^>]+(evil|onerror)", html)
        assert 'href="javascript' not in html
    assert "&lt;script&gt;alert(1)" in site.as_("annotator").get(page).text


def test_a_new_version_shows_what_changed_is_announced_and_a_replayed_form_makes_no_second(site, project):
    manager, page = site.as_("expert"), "/projects/pilot/guideline"
    first = {"text.en": "one\ntwo\nthree", "changes": "begun", "again": "none"}
    second = {"text.en": "one\n2\nthree", "changes": "numbers", "again": "all"}
    for data in (first, second):
        assert post(manager, f"{page}/new", data, page=f"{page}/new").status_code == 303
    replayed = post(manager, f"{page}/new", second, page=f"{page}/new")
    assert replayed.status_code == 409
    html = manager.get(page).text
    assert "<ins>2</ins>" in html
    assert "<del>two</del>" in html
    with site.store.read() as db:
        newest = projects.guidelines_of(db, "pilot")[-1]
        assert newest.changes == "numbers"
        assert any("numbers" in thread.first.text for thread in messages.threads(db, "pilot"))
    assert manager.get(f"{page}?version={newest.version - 1}").status_code == 200
    assert manager.get(f"{page}?version=99").status_code == 404


def test_wrong_settings_change_nothing_and_keep_what_was_typed(site, project):
    manager, page = site.as_("expert"), "/projects/pilot/settings"
    for text, said in (
        ("care: {brek-minutes: 3}", "break-minutes"),
        ("adjudication: {hte: majority}", "Did you mean &#39;hate&#39;"),
        ("support: [{name: x, link: 'javascript:1'}]", "https://"),
        ("a: &x [*x]", "not read|Anchors"),
    ):
        answer = post(manager, page, {"yaml": text}, page=page)
        assert answer.status_code == 400, text
        assert re.search(said, answer.text), text
    with site.store.read() as db:
        assert projects.get(db, "pilot").settings == project.settings
    fine = "languages: [de]\nsupport: [{name: Mo, phone: 1 2 3}]"
    assert post(manager, page, {"yaml": fine}, page=page).status_code == 303
    assert "tel:123" in site.as_("annotator").get("/projects/pilot").text


def test_a_scheme_that_has_answers_cannot_be_edited_under_a_project(site, project):
    from davy import schemes as shipped
    from davy.annotation.labelling import labelling
    from davy.core.errors import UserError
    from davy.store.columns import new_id

    with site.store.write() as db:
        phases.open_phase(db, phases.by_name(db, "pilot", "validation").id, by=events.SHELL)
        member = members.get(db, "pilot", site.people["annotator"].id)
        sheet = labelling.next_sheet(db, project, member)
        labelling.save(db, sheet, {"hate": ("hateful",)}, annotation_id=new_id())
        assert items.get(db, sheet.item.id).given == 1
    text = shipped.text_of("hate").decode().replace("name: not hateful", "name: harmless")
    with pytest.raises(UserError, match="is in use, so it can't change"), site.store.write() as db:
        schemes.save(db, shipped.parse(text), text, by=events.SHELL)


def test_pages_are_german_for_a_german_reader(site, project):
    client = site.as_("expert", **{"accept-language": "de"})
    with site.store.write() as db:
        users.set_language(db, site.people["expert"].id, "de", by=events.SHELL)
    for page, said in (("", "Phasen"), ("/roster", "Mitglieder"), ("/guideline", "Leitfaden"), ("/settings", "YAML")):
        assert said in client.get(f"/projects/pilot{page}").text, page
    assert "Vorlagen" in client.get("/projects/new").text


def test_a_kind_that_was_added_to_the_table_has_its_page_and_can_be_chosen(site, project, monkeypatch):
    words = {lang: {**i18n.catalogue(lang), "project.kind.filter": "filter"} for lang in i18n.LANGUAGES}
    monkeypatch.setattr(i18n, "catalogue", words.__getitem__)
    monkeypatch.setitem(PHASE_KINDS, "filter", PhaseKind(closes_by="everyone answered", answers=2))
    manager = site.as_("expert")
    assert '<option value="filter">' in manager.get("/projects/pilot").text
    made = post(manager, "/projects/pilot/phases/upload", {"name": "sift", "kind": "filter"}, page="/projects/pilot")
    assert made.status_code == 303
    page = manager.get("/projects/pilot/phases/sift")
    assert page.status_code == 200
    assert "filter" in page.text
