"""How heavy pages are for somebody who comes with an empty cache: at most 100 kB and 10 requests each."""

from __future__ import annotations

from pathlib import Path

import pytest

from davy.web.i18n import Translator
from fresh_server import Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_BYTES, MOST_REQUESTS = 100_000, 10
WEIGHT = """() => {
    const got = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
    return [got.length, got.reduce((sum, it) => sum + it.transferSize, 0)];
}"""
SERVER = (
    *("/", "/projects", "/projects/new", "/projects/new?start=preset:edos", "/projects/new?start=preset:rounds"),
    *(
        "/score",
        "/detectors",
        "/communities",
        "/challenges",
        "/people",
        "/keys",
        "/jobs",
        "/schemes",
        "/posts",
        "/audit",
    ),
)
PROJECT = (
    *("", "/label", "/expert", "/rounds", "/guideline", "/coding", "/mine", "/watch", "/verdicts", "/exports"),
    *("/train", "/roster", "/channel", "/care", "/settings", "/images", "/retention", "/phases/main"),
)


def test_no_page_is_heavy(browser, tmp_path: Path):
    heavy = []
    with fresh_server(tmp_path / "empty") as server:
        ada = Person(browser, server)
        ada.make_account(server.link, "Ada")
        ada.button(Translator("en")("home.begin.sample"))
        ada.page.goto("/projects/sample/consent")
        ada.agree()
        session = ada.context.storage_state()
        for path in (*SERVER, *(f"/projects/sample{page}" for page in PROJECT)):
            fresh = Person(browser, server, storage_state=session)  # an empty cache
            answer = fresh.page.goto(path, wait_until="networkidle")
            assert answer.status == 200, path
            requests, transferred = fresh.page.evaluate(WEIGHT)
            assert transferred > 1_000, path
            if requests > MOST_REQUESTS or transferred > MOST_BYTES:
                heavy.append((path, requests, transferred))
            fresh.context.close()
    assert heavy == []
