"""One handler turns every error into a page or JSON; bugs show a number and nothing else."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from davy.core.errors import UserError
from web_site import make_site, post


@pytest.fixture
def faulty(settings, empty_database):
    """A site with routes that go wrong."""
    made = make_site(replace(settings), empty_database)

    @made.app.get("/bug")
    def bug() -> None:
        raise ZeroDivisionError("".join(reversed("terces")))

    @made.app.get("/mistake")
    def mistake() -> None:
        raise UserError("The lamp is out. Light it: davy lamp light", status=409)

    with made.started():
        yield made


def test_a_bug_shows_a_number_that_the_log_has_and_no_traceback(faulty, caplog):
    caplog.set_level(logging.ERROR, logger="davy.serve")
    answer = faulty.visitor().get("/bug")
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"]
    number = answer.text.partition("<code>")[2].partition("</code>")[0]
    assert len(number) == 8
    assert f"bug {number} in GET /bug" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in answer.text
    assert "Traceback" not in answer.text
    assert "secret" not in caplog.text + answer.text


def test_an_operator_can_ask_for_the_message_in_the_log(settings, empty_database, caplog):
    caplog.set_level(logging.ERROR, logger="davy.serve")
    made = make_site(replace(settings, log_details=True), empty_database)

    @made.app.get("/bug")
    def bug() -> None:
        raise ZeroDivisionError("details for the operator")

    with made.started():
        made.visitor().get("/bug")
    assert "details for the operator" in caplog.text


def test_a_user_error_is_its_sentence_with_its_status(faulty):
    answer = faulty.visitor().get("/mistake")
    assert (answer.status_code, "Light it: davy lamp light" in answer.text) == (409, True)
    as_json = faulty.visitor(accept="application/json").get("/mistake")
    assert as_json.json() == {"error": "The lamp is out. Light it: davy lamp light", "status": 409}


def test_a_bug_is_json_for_programs(faulty):
    body = faulty.visitor(accept="application/json").get("/bug").json()
    assert body["status"] == 500
    assert len(body["id"]) == 8


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("DELETE", "/score", 405), ("GET", "/jobs/none", 404), ("GET", "/audit?before=x", 422)],
)
def test_http_errors_are_pages_with_a_way_on(site, method, path, status):
    answer = site.as_("admin").request(method, path)
    assert answer.status_code == status
    assert "<html" in answer.text
    assert 'href="/"' in answer.text


def test_errors_speak_the_readers_language(site):
    answer = site.visitor(**{"accept-language": "de"}).get("/nowhere")
    assert '<html lang="de">' in answer.text
    assert "Diese Seite gibt es nicht" in answer.text


def test_htmx_gets_a_part_and_not_a_page(site):
    answer = post(site.as_("admin"), "/score", {"text": " "}, headers={"hx-request": "true"})
    assert answer.status_code == 400
    assert "<html" not in answer.text
    assert "no text to score" in answer.text


def test_a_wrong_request_does_not_echo_what_it_had(site):
    answer = site.as_("admin").post("/v1/score", json={"text": ["a private thing"]}, headers={"x-csrf-token": "x"})
    assert answer.status_code in (403, 422)
    assert "private" not in answer.text
