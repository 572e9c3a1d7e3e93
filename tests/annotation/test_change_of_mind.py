"""What can be changed before work begins: names, the order of phases, phases that nobody needs, and lost links."""

from __future__ import annotations

import re

import polars as pl
import pytest

from davy.annotation.project import phase_gates, project_creation
from davy.annotation.project.phase_kind import PHASE_KINDS
from davy.annotation.project.project import PROJECT_ROLES
from davy.annotation.project.project_file import PhasePlan, ProjectPlan
from davy.annotation.project.settings import ProjectSettings, RosterPerson
from davy.annotation.project.store import phases, projects
from davy.core.errors import UserError
from davy.people.store import invitations
from davy.web.i18n import LANGUAGES, catalogue
from web_site import Site, post

HOME = "/projects/pilot"


@pytest.fixture
def pilot(site: Site) -> Site:
    """A project with a screening, a calibration and production, and Eve invited as an expert."""
    plans = (
        PhasePlan("screening", "screening", "2"),
        PhasePlan("set 1", "calibration", "3"),
        PhasePlan("main", "production", "rest", "2"),
    )
    roster = (RosterPerson("eve", ("expert",)),)
    plan = ProjectPlan("pilot", "Pilot", "hate", ProjectSettings(), plans, roster=roster)
    gold = ["hateful", "not hateful", *[None] * 8]
    frame = pl.DataFrame(
        {"id": [str(n) for n in range(10)], "text": [f"line {n}" for n in range(10)], "hate.gold": gold}
    )
    with site.store.write() as db:
        project_creation.create_project(db, plan, by=site.people["expert"].id, posts_in=[frame])
    return site


def names(site: Site) -> dict[str, int]:
    with site.store.read() as db:
        return {phase.name: phase.size for phase in phases.of_project(db, "pilot")}


def keep(client, phase: str, **fields):
    page = f"{HOME}/phases/{phase}/settings"
    return post(client, page, {"do": "save", "name": phase, "before": "", **fields}, page=page)


def test_a_phase_that_waits_gets_another_name_and_place(pilot: Site):
    client = pilot.as_("expert")
    assert keep(client, "main", name="all of it", before="set 1").headers["location"] == f"{HOME}/phases/all%20of%20it"
    assert list(names(pilot)) == ["screening", "all of it", "set 1"]
    assert keep(client, "screening").status_code == 303
    assert list(names(pilot)) == ["all of it", "set 1", "screening"]
    taken = keep(client, "screening", name="set 1")
    assert (taken.status_code, "has a phase &#39;set 1&#39; already" in taken.text) == (409, True)
    assert 'value="set 1"' in taken.text  # what was typed is kept


def test_phases_that_were_opened_keep_their_name_and_place(pilot: Site):
    with pilot.store.write() as db:
        by = pilot.people["expert"].id
        project, first = projects.get(db, "pilot"), phases.by_name(db, "pilot", "screening")
        phase_gates.open_phase(db, project, first, by=by, anyway="nobody is here yet")
        main = phases.by_name(db, "pilot", "main")
        for act in (
            lambda: phases.rename(db, first.id, "other", by=by),
            lambda: phases.move(db, first.id, before=None, by=by),
            lambda: phases.move(db, main.id, before="screening", by=by),
        ):
            with pytest.raises(UserError):
                act()
    assert list(names(pilot)) == ["screening", "set 1", "main"]


def test_a_calibration_that_nobody_needs_gives_its_posts_to_production(pilot: Site):
    client = pilot.as_("expert")
    page = f"{HOME}/phases/set%201/settings"
    assert post(client, page, {"do": "remove"}, page=page).status_code == 303
    assert names(pilot) == {"screening": 2, "main": 8}
    page = f"{HOME}/phases/screening/settings"
    assert post(client, page, {"do": "remove"}, page=page).status_code == 303
    assert names(pilot) == {"main": 8}
    page = f"{HOME}/phases/main/settings"
    assert "Remove the phase" not in client.get(page).text
    assert post(client, page, {"do": "remove"}, page=page).status_code == 409


def test_a_project_gets_another_title_and_keeps_its_address(pilot: Site):
    client = pilot.as_("expert")
    page = f"{HOME}/settings"
    assert post(client, page, {"section": "title", "title": " Harbour "}, page=page).status_code == 303
    assert "<title>Overview · Harbour" in client.get(HOME).text
    assert post(client, page, {"section": "title", "title": ""}, page=page).status_code == 400
    with pilot.store.read() as db:
        assert projects.get(db, "pilot").title == "Harbour"


def test_a_lost_invitation_link_is_made_again_and_the_old_one_works_no_longer(pilot: Site):
    client = pilot.as_("expert")
    with pilot.store.read() as db:
        old = invitations.list_unused(db, project="pilot")[0]
    path = f"{HOME}/roster/invitations/{old.id}/renew"
    shown = post(client, path, {}, page=f"{HOME}/roster")
    link = re.search(r'id="invitation-link">[^<]*(/invitation/[^<]+)<', shown.text)[1]
    with pilot.store.read() as db:
        new = invitations.list_unused(db, project="pilot")
    assert [(it.login, it.project_roles) for it in new] == [("eve", ("expert",))]
    assert new[0].id != old.id
    assert pilot.visitor().get(link).status_code == 200
    assert post(client, path, {}, page=f"{HOME}/roster").status_code == 404


def test_kinds_of_a_phase_that_is_added_later_and_roles_have_a_line_of_help(pilot):
    manager = pilot.as_("expert")
    page = manager.get(HOME).text
    offered = re.findall(r'<option value="(\w+)"', page.partition('name="kind"')[2].partition("</select>")[0])
    assert offered == ["training", "discussion", "calibration", "screening", "production", "expert"]
    helped = page.partition('id="kinds-help"')[2].partition("</dl>")[0]
    assert helped.count("<dd>") == len(offered)
    assert "Only people who pass go on." in helped
    assert "Decides what annotators disagree on." in manager.get(f"{HOME}/roster").text
    assert "Only people who pass go on." in manager.get(f"{HOME}/phases/screening/settings").text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_kind_of_phase_and_every_role_has_its_line_in_both_languages(lang):
    words = catalogue(lang)
    keys = [f"project.kind_help.{kind}" for kind in PHASE_KINDS] + [f"project.role_help.{it}" for it in PROJECT_ROLES]
    assert [key for key in keys if not words.get(key)] == []
