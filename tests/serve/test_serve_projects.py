"""Projects on the web: who sees which pages, and what strangers are told."""

from __future__ import annotations

import pytest
from web_site import Site

from davy import schemes as shipped
from davy.serve.membership import ADMINS_MAY, PROJECT_MAY
from davy.store import events, members, phases, projects, schemes


@pytest.fixture
def project(site: Site):
    """A project with the annotator on its roster and nobody else."""
    with site.store.write() as db:
        schemes.save(db, shipped.load("edos"), shipped.text_of("edos").decode(), by=events.SHELL)
        made = projects.create(
            db,
            id="pilot",
            title="Pilot <b>1</b>",
            scheme="edos",
            scheme_version=1,
            settings={"support": [{"name": "Lin", "words": {"de": "hört zu"}, "link": "javascript:alert(1)"}]},
            by=site.people["admin"].id,
        )
        members.add(db, "pilot", site.people["annotator"].id, ["annotator"], by=events.SHELL)
        phases.add(db, "pilot", name="1", kind="production", answers=3, in_corpus=True, settings={}, by=events.SHELL)
    return made


def test_strangers_are_told_the_same_of_a_project_that_exists_and_one_that_does_not(site, project):
    stranger = site.as_("expert")
    there, nowhere = stranger.get("/projects/pilot"), stranger.get("/projects/nowhere")
    assert there.status_code == nowhere.status_code == 403
    assert there.text.replace("pilot", "nowhere") == nowhere.text
    assert site.visitor().get("/projects/pilot").headers["location"].startswith("/sign-in?next=")
    assert site.as_("admin").get("/projects/nowhere").status_code == 404


def test_members_see_their_project_and_its_support_contacts_and_titles_are_escaped(site, project):
    page = site.as_("annotator").get("/projects/pilot").text
    assert "Pilot &lt;b&gt;1&lt;/b&gt;" in page
    assert "<b>1</b>" not in page
    assert "hört zu" in page
    assert "javascript:" not in page
    assert "Pilot" in site.as_("annotator").get("/projects").text
    assert "Pilot" not in site.as_("expert").get("/projects").text


def test_an_admin_runs_every_project_but_never_reads_check_ins_labels_or_settles():
    assert set(ADMINS_MAY) <= set(PROJECT_MAY)
    assert not {"read check-ins", "label posts", "settle cases", "check in"} & set(ADMINS_MAY)


def test_one_who_left_is_told_so(site, project):
    with site.store.write() as db:
        members.leave(db, "pilot", site.people["annotator"].id, by=events.SHELL)
    page = site.as_("annotator").get("/projects/pilot")
    assert page.status_code == 403
    assert "left this project" in page.text
