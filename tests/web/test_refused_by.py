"""A refused form shows its own page again, with the reason and what was typed; programs' parts and limits pass."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import Response

from davy.core.errors import UserError
from davy.web.refused_by import refused_by
from web_site import post


def test_the_page_of_a_refused_form_keeps_what_was_typed(site):
    shown = post(site.as_("admin"), "/detectors", {"source": "url:http://a.test", "state": "active"}, page="/detectors")
    assert shown.status_code == 400
    assert 'value="url:http://a.test"' in shown.text
    assert 'method="post" action="/detectors">' in shown.text


def test_a_choice_that_is_not_offered_is_refused_beside_the_form(site):
    shown = post(site.as_("admin"), "/people/invite", {"role": "expert", "days": "400"}, page="/people")
    assert shown.status_code == 400
    assert "That choice is not offered" in shown.text
    assert 'action="/people/invite"' in shown.text


def test_htmx_gets_the_part_that_says_why_and_no_page(site):
    client = site.as_("expert")
    shown = post(client, "/account/labelling", {"goal": "many"}, page="/account", headers={"HX-Request": "true"})
    assert shown.status_code == 400
    assert "<html" not in shown.text
    assert "many" in shown.text


def test_a_rate_limit_says_how_long_to_wait(site):
    client, form = site.as_("expert"), {"current": "x", "password": "y", "again": "y"}
    answers = [post(client, "/account/password", form, page="/account") for _ in range(12)]
    assert answers[0].status_code == 403
    assert "retry-after" not in answers[0].headers
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0


def test_a_page_that_needs_what_its_route_does_not_have_is_found_when_the_app_is_made():
    def page(request: Request, name: str, *, wrong: str = "", status: int = 200) -> Response:
        raise AssertionError

    with pytest.raises(AssertionError, match="name"):

        @refused_by(page)
        def route(request: Request) -> Response:
            raise UserError("No.")
