"""Each request has an id and a log line; floods of refusals are one line; other sites come in by option."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys

import pytest
from starlette.testclient import TestClient

from davy.core.errors import UserError
from davy.server.app import create_app
from davy.shell.logs import JsonLines
from davy.web.request_log import RefusalLog
from davy.web.settings import ServerSettings
from web_site import make_key

FORUM = "https://forum.example"


def score(site, secret, **headers):
    visitor = site.visitor(accept="application/json", authorization=f"Bearer {secret}", **headers)
    return visitor.post("/v1/score", json={"text": "a grumblefop"})


def test_an_id_that_comes_in_goes_out_and_others_are_made(site):
    _, secret = make_key(site)
    assert score(site, secret, **{"x-request-id": "forum-17"}).headers["x-request-id"] == "forum-17"
    made = {score(site, secret).headers["x-request-id"] for _ in range(2)}
    assert len(made) == 2
    for wrong in ("a b", "x" * 129, "", 'a"b'):
        assert score(site, secret, **{"x-request-id": wrong}).headers["x-request-id"] != wrong
    assert site.visitor().get("/made-up").headers["x-request-id"]


def test_every_line_of_a_request_has_its_id(site, caplog):
    caplog.handler.setFormatter(JsonLines())
    with caplog.at_level(logging.INFO, logger="davy.access"):
        site.visitor(authorization="Bearer davy_wrong", accept="application/json", **{"x-request-id": "r-1"}).post(
            "/v1/score", json={"text": "a day"}
        )
    lines = [json.loads(line) for line in caplog.text.splitlines()]
    assert {(line["name"], line["request"], line["status"]) for line in lines} == {
        ("davy.audit", "r-1", 401),
        ("davy.access", "r-1", 401),
    }


def test_what_is_left_of_a_keys_limits_is_on_every_answer(site):
    _, secret = make_key(site, per_minute=60, per_day=5)
    first, second = score(site, secret), score(site, secret)
    left = [(it.headers["ratelimit-limit"], it.headers["ratelimit-remaining"]) for it in (first, second)]
    assert left == [("10", "9"), ("10", "8")]
    assert (first.headers["davy-quota-remaining"], first.headers["ratelimit-reset"]) == ("4", "1")
    refused = site.visitor(accept="application/json", authorization=f"Bearer {secret}").post("/v1/score", json={})
    assert (refused.status_code, refused.headers["ratelimit-remaining"]) == (422, "7")


def test_a_flood_of_refusals_is_a_few_lines_and_a_sum(caplog):
    async def flood() -> None:
        log = RefusalLog(first=3, seconds=0.05)
        for _ in range(1_000):
            log.note({"method": "POST", "route": "/v1/score", "status": 429, "key": "abcdefgh", "user": None})
        log.note({"method": "POST", "route": "/v1/score", "status": 429, "key": "ijklmnop", "user": None})
        await asyncio.sleep(0.3)

    asyncio.run(flood())
    assert len(caplog.records) == 3 + 1 + 1
    assert caplog.records[-1].getMessage() == "refused POST /v1/score 429: 997 more in 0.05 seconds"
    assert caplog.records[-1].fields["key"] == "abcdefgh"


@pytest.mark.parametrize(("origins", "allowed"), [((), None), ((FORUM,), FORUM), (("*",), "*")])
def test_pages_of_other_sites_come_in_by_option_alone(settings, empty_database, origins, allowed):
    from dataclasses import replace

    from web_site import make_site

    site = make_site(replace(settings, cors_origins=origins), empty_database)
    _, secret = make_key(site)
    asks = {"origin": FORUM, "access-control-request-method": "POST"}
    with site.started():
        preflight = site.visitor(**asks, **{"access-control-request-headers": "authorization,content-type"}).options(
            "/v1alpha1/comments:analyze"
        )
        answer = score(site, secret, origin=FORUM)
        refused = score(site, "davy_wrong", origin=FORUM)
        other = site.visitor(**(asks | {"origin": "https://else.example"})).options("/v1/score")
        page = site.visitor(**asks).options("/score")
    assert preflight.headers.get("access-control-allow-origin") == allowed
    assert (preflight.status_code == 200) is bool(origins)
    for each in (answer, refused):
        assert each.headers.get("access-control-allow-origin") == allowed
        assert "access-control-allow-credentials" not in each.headers
    assert (answer.status_code, refused.status_code) == (200, 401)
    assert other.headers.get("access-control-allow-origin") == ("*" if allowed == "*" else None)
    assert "access-control-allow-origin" not in page.headers


@pytest.mark.parametrize("origin", ["forum.example", "https://forum.example/path", "https://", "null"])
def test_an_origin_that_is_none_is_refused(origin):
    with pytest.raises(UserError, match="is no origin"):
        ServerSettings(database="sqlite:///x", model="uniform", secret_key="k" * 32, cors_origins=(origin,))


def test_errors_of_a_bug_name_the_request(settings, caplog):
    app = create_app(settings)

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("grumblefop")

    caplog.handler.setFormatter(JsonLines())
    with TestClient(app, base_url=settings.base_url, raise_server_exceptions=False) as client:
        answer = client.get("/broken", headers={"x-request-id": "r-2"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "r-2")
    assert json.loads(caplog.text.splitlines()[-1])["request"] == "r-2"


def test_a_process_that_ends_by_an_error_says_so_in_json():
    code = (
        "import warnings; from davy.shell.logs import set_up_logging; set_up_logging(verbose=False, as_json=True); "
        "warnings.warn('old'); raise ValueError('broken')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    warned, ended = [json.loads(line) for line in done.stderr.splitlines()]
    assert (warned["name"], ended["level"]) == ("py.warnings", "critical")
    assert "ValueError: broken" in ended["exception"]
