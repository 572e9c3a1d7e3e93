"""A project's settings as forms: what each section keeps, what is refused, and a consent text that waits to be read."""

from __future__ import annotations

import re

import pytest

from davy.annotation.care.consent_text import fill_consent
from davy.annotation.project import settings as project_settings
from davy.annotation.project.store import phases, projects
from labelling import make_lamps
from web_site import post, token_in

CARE = {
    "care.break_after_minutes": "40",
    "care.break_minutes": "7,5",
    "care.break_after_hard": "",
    "care.postpone_minutes": "5",
    "care.daily_minutes": "200",
    "care.daily_items": "90",
    "care.may_postpone": "no",
    "care.veil": "blurred",
    "care.timezone": "Europe/Berlin",
    "care.severity": "",
    "care.hard.how": ["loud"],
}


def kept(site):
    with site.store.read() as db:
        return project_settings.from_dict(projects.get(db, "lamps").settings)


def send(client, section, fields, path="/projects/lamps/settings"):
    return post(client, path, {"section": section, **fields}, page=path)


def shown(html, name):
    """Return the value of a field of the page."""
    found = re.search(rf'name="{re.escape(name)}"[^>]* value="([^"]*)"', html)
    assert found, name
    return found.group(1)


def test_care_pay_and_contacts_are_kept_from_their_forms_and_shown_again(site):
    make_lamps(site, ["one"])
    client = site.as_("admin")
    assert send(client, "care", CARE).status_code == 303
    care = kept(site).care
    assert (care.break_after_minutes, care.break_minutes, care.break_after_hard) == (40, 7.5, None)
    assert (care.daily_items, care.may_postpone, care.veil, care.timezone) == (90, False, "blurred", "Europe/Berlin")
    assert care.hard == {"how": ("loud",)}
    pay = {"pay.per_hour": "16,50", "pay.expert_per_hour": "", "pay.currency": "GBP", "deletion": "delete"}
    assert send(client, "pay", pay).status_code == 303
    assert (kept(site).pay.per_hour, kept(site).pay.currency, kept(site).deletion.answers) == (16.5, "GBP", "delete")
    contact = {"contact.0.name": "Lin", "contact.0.de": "immer", "contact.0.link": "mailto:lin@example.org"}
    assert send(client, "contacts", contact).status_code == 303
    assert kept(site).support[0].words == {"de": "immer"}
    html = client.get("/projects/lamps/settings").text
    assert shown(html, "care.break_minutes") == "7.5"
    assert shown(html, "contact.0.name") == "Lin"
    assert kept(site).care.veil == "blurred"  # another section's form leaves it alone


def test_rules_are_kept_a_question_each_and_a_flag_that_is_not_settled_has_none(site):
    make_lamps(site, ["one"])
    client = site.as_("admin")
    names = ("rude", "how", "words", "whom")
    rules = {
        f"rule.{name}.{part}": value for name in names for part, value in (("rule", "majority"), ("otherwise", "drop"))
    }
    rules |= {"rule.rude.rule": "share", "rule.rude.share": "2/3", "rule.rude.experts": "2"}
    rules |= {"flag.unsure.rule": "", "flag.unrealistic.rule": "single", "flag.unrealistic.otherwise": "open"}
    assert send(client, "settling", rules).status_code == 303
    found = kept(site)
    assert (found.adjudication["rude"].rule, found.adjudication["rude"].share) == ("share", "2/3")
    assert (found.adjudication["rude"].experts, found.adjudication["how"].otherwise) == (2, "drop")
    assert set(found.flags) == {"unrealistic"}


@pytest.mark.parametrize(
    ("section", "fields", "says"),
    [
        ("care", {**CARE, "care.break_after_minutes": "soon"}, "“soon” is not a number"),
        ("care", {**CARE, "care.timezone": "Mars/North"}, "Mars/North"),
        ("care", {**CARE, "care.break_minutes": "0"}, "above 0"),
        ("care", {**CARE, "care.hard.how": ["purple"]}, "purple"),
        ("settling", {"rule.rude.rule": "share", "rule.rude.share": "5/3"}, "at most 1"),
        ("settling", {"rule.rude.rule": "coin"}, "coin"),
        ("contacts", {"contact.0.phone": "1"}, "needs a name"),
        ("contacts", {"contact.0.name": "Lin", "contact.0.link": "javascript:1"}, "https://"),
        ("texts", {}, "at least one language"),
        ("pay", {"pay.per_hour": "-3", "deletion": "keep"}, "not a number"),
        ("moon", {}, "not offered"),
        ("yaml", {"yaml": "care: {veil: lace}"}, "line:1"),
    ],
)
def test_what_is_wrong_is_said_in_its_section_and_nothing_is_changed(site, section, fields, says):
    make_lamps(site, ["one"])
    client = site.as_("admin")
    before = kept(site)
    answer = send(client, section, fields)
    assert 400 <= answer.status_code < 500
    assert says in answer.text
    assert kept(site) == before
    if section == "care":
        assert shown(answer.text, "care.daily_items") == "90"  # what was typed is still there


def test_a_text_is_filled_with_figures_and_a_line_without_its_figure_is_left_out():
    text = "You read {posts} posts.\n- First {screening} of them.\n- An hour is paid {pay}.\n{unknown} stays."
    assert fill_consent(text, {"posts": "12", "pay": "16 GBP"}) == (
        "You read 12 posts.\n- An hour is paid 16 GBP.\n{unknown} stays."
    )


def test_the_consent_page_says_the_projects_own_figures(site):
    settings = {"consent": {"en": "There are {posts} posts, {pay} an hour.\n\nScreened by {screening}."}}
    make_lamps(site, ["one", "two"], settings={**settings, "pay": {"currency": "EUR", "per_hour": 17}}, consent=False)
    html = site.as_("annotator").get("/projects/lamps/consent").text
    assert "There are 2 posts, 17 EUR an hour." in html
    assert "Screened" not in html
    assert html.count("What you will read") == 0  # the project's own text has its own headings


def make_edos(client, csv, **more):
    fields = {"start": "preset:edos", "title": "Ours", "name": "ours", "posts": "file", "roster": "", **more}
    files = {"file": ("posts.csv", csv, "text/csv")}
    token = token_in(client.get("/projects/new?start=preset:edos").text)
    return client.post("/projects/new/upload", data={"csrf": token, **fields}, files=files)


def test_edos_without_right_answers_leaves_the_screening_out_says_so_and_waits_for_its_consent_text(site):
    client = site.as_("admin")
    made = make_edos(client, "id,text\n1,one\n2,two\n", roster="annotator annotator\nexpert annotator\nadmin annotator")
    assert made.status_code == 303
    html = client.get("/projects/ours").text
    assert "Left out, since no post has right answers" in html
    assert "Read the consent text" in html
    with site.store.read() as db:
        assert [phase.name for phase in phases.of_project(db, "ours")] == ["main"]
    answer = post(client, "/projects/ours/state", {"do": "open", "phase": "main"}, page="/projects/ours")
    assert answer.status_code == 409
    assert "consent text" in answer.text
    html = client.get("/projects/ours/settings").text
    assert "The project has 2 posts." in html
    assert "screening of" not in re.search(r'id="read".*?</section>', html, re.DOTALL).group(0)
    assert send(client, "read", {}, "/projects/ours/settings").status_code == 303
    opened = post(client, "/projects/ours/state", {"do": "open", "phase": "main"}, page="/projects/ours")
    assert opened.status_code == 303
    assert client.get("/projects/ours/settings").text.count('id="read"') == 0


def test_an_empty_screening_holds_nobody_back_and_can_be_removed(site):
    client = site.as_("admin")
    made = make_edos(client, "id,text,sexist.gold\n1,one,\n2,two,\n", **{"posts.screening": "0"})
    assert made.status_code == 303
    page = "/projects/ours/phases/screening/settings"
    assert "Remove the phase" in client.get(page).text
    assert "Remove the phase" not in client.get("/projects/ours/phases/main/settings").text
    refused = post(client, "/projects/ours/phases/main/settings", {"do": "remove"}, page=page)
    assert refused.status_code == 409
    assert post(client, page, {"do": "remove"}, page=page).status_code == 303
    with site.store.read() as db:
        assert [phase.name for phase in phases.of_project(db, "ours")] == ["main"]
