"""What is refused or missing inside a project keeps the project's navigation and says who can help."""

from __future__ import annotations

from two_projects import fill_rooms


def test_a_refused_page_keeps_the_tabs_and_says_which_role_is_missing_and_who_gives_it(site):
    fill_rooms(site)
    shown = site.as_("annotator").get("/projects/p/verdicts")
    assert shown.status_code == 403
    assert 'class="rooms"' in shown.text
    assert "<strong>manager</strong>, <strong>expert</strong>" in shown.text
    assert "Who can give you the role: Real Name of manager" in shown.text
    assert "/projects/p/roster" not in shown.text


def test_a_manager_without_a_role_is_sent_to_give_it_to_themselves_in_german(site):
    fill_rooms(site)
    client = site.as_("manager")
    client.cookies.set("davy-lang", "de", domain="127.0.0.1")
    shown = client.get("/projects/p/expert", headers={"accept-language": "de"})
    assert shown.status_code == 403
    assert 'href="/projects/p/roster"' in shown.text


def test_a_page_that_is_not_there_keeps_the_tabs(site):
    fill_rooms(site)
    shown = site.as_("manager").get("/projects/p/phases/nowhere")
    assert shown.status_code == 404
    assert 'class="rooms"' in shown.text
    assert "who left" not in shown.text


def test_who_left_or_is_no_member_sees_no_navigation(site):
    fill_rooms(site)
    for person in ("left", "outsider"):
        shown = site.as_(person).get("/projects/p/verdicts")
        assert shown.status_code == 403
        assert 'class="rooms"' not in shown.text
