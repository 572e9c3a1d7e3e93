"""What somebody who is not in a project tries, and what comes of it: nothing is told, and nothing is changed.

Every route of a project is tried with full forms by everybody who has no business there; the attempts at posts,
pictures, guideline, results and settings stand by name besides.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient
from test_routes import WHO, lines

from davy.store.schema import metadata
from davy.web.settings import ServerSettings
from two_projects import SECRET, fill_rooms
from web_site import BASE, Site, make_site, post, token_in

OUTSIDERS = ("outsider", "left", "server expert", "manager of q")
GUIDELINE = "the guideline of p is bound in green"
OWN_TABLES = ("sessions", "events", "users")
"""What a visit itself writes to: a session, when somebody was last seen, and what was refused."""

_NUMBERS = itertools.count(1)

FORM = {
    "text": "mine now", "text.en": "# Mine", "text.de": "", "changes": "all of it", "again": "none", "name": "mine",
    "title": "Mine", "settings": "title: Mine", "kind": "production", "posts": "1", "answers": "1", "role": "manager",
    "roles": "manager", "login": "eve@example.org", "reason": "because I say so", "do": "close", "phase": "talk",
    "format": "long", "phases": "main", "hate": "hateful", "post": "1", "questions": "How are you?", "seed": "1",
    "licence": "none", "state": "closed", "model": "keywords", "encoder": "", "agree": "yes", "once": "x",
}  # fmt: skip
"""One form that fills whatever a route may read."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Iterator[Site]:
    """One site for all attempts: none of them changes it."""
    folder = tmp_path_factory.mktemp("outsiders")
    (folder / "words.txt").write_text("grumblefop\t0.9\n")
    settings = ServerSettings(
        database=f"sqlite:///{folder / 'test.sqlite'}",
        model=f"keywords:{folder / 'words.txt'}",
        secret_key="k" * 40,
        base_url=BASE,
    )
    made = make_site(settings, empty_database)
    with TestClient(made.app, base_url=settings.base_url) as made.running:  # no worker: only visits change anything
        yield made


@pytest.fixture(scope="module")
def values(site: Site) -> dict[str, str]:
    """What stands for each part of an address that varies; project p has a guideline of its own."""
    found = fill_rooms(site)
    form = {"text.en": f"# {GUIDELINE}", "text.de": "", "changes": "green now", "again": "none"}
    page = "/projects/p/guideline/new"
    assert post(site.as_("manager"), page, form, page=page).status_code == 303
    assert GUIDELINE in site.as_("annotator").get("/projects/p/guideline").text
    return found


def fingerprint(site: Site) -> dict[str, str]:
    """Every table's rows as one hash a table."""
    with site.store.read() as db:
        return {
            table.name: hashlib.sha256(repr(sorted(map(repr, db.execute(select(table)).all()))).encode()).hexdigest()
            for table in metadata.sorted_tables
            if table.name not in OWN_TABLES
        }


def ask(site: Site, who: str, method: str, address: str, form: dict[str, str] | None = None) -> Any:
    """Ask as somebody, with a token of their own where something is sent."""
    client = site.as_(who, address=f"203.0.113.{next(_NUMBERS) % 250}")
    if method == "GET":
        return client.get(address)
    token = token_in(client.get("/account").text)
    return client.post(address, data={"csrf": token, **(form or {})}, headers={"X-CSRF-Token": token})


def told(answer: Any) -> list[str]:
    """Return what an answer gives away of project p."""
    secrets = (SECRET["p"], "another of p", GUIDELINE, "the lamp of p is written", "Real Name of annotator", "\x89PNG")
    return [secret for secret in secrets if secret in answer.text]


def test_no_route_of_a_project_tells_or_changes_anything_for_somebody_outside(site: Site, values: dict[str, str]):
    before = fingerprint(site)
    tried = 0
    for method, path, marks in lines():
        if not path.startswith("/projects/{project_id}"):
            continue
        address = re.sub(
            r"\{(\w+)(:path)?\}", lambda it, path=path: values.get(f"{path} {it[1]}") or values.get(it[1], "none"), path
        )
        for who in OUTSIDERS:
            if who in WHO and marks[WHO.index(who)] == "+":  # what was theirs, such as their hours, stays theirs
                assert who == "left", path
                continue
            answer = ask(site, who, method, address, FORM)
            assert answer.status_code in (403, 404), (who, method, path, answer.status_code)
            assert not told(answer), (who, method, path)
            tried += 1
    assert fingerprint(site) == before
    assert tried > 400


ATTEMPTS = {
    "read the posts": ("GET", "/posts?project=p"),
    "read one post where it is labelled": ("GET", "/projects/p/label/{assignment_id}"),
    "read the posts by their codes": ("GET", "/projects/p/coding?show=all"),
    "read what people differ on": ("GET", "/projects/p/phases/set/review"),
    "look at a picture": ("GET", "/projects/p/images/{key}"),
    "look at a picture as the shelf's": ("GET", "/images/{key}"),
    "look at a picture as another project's": ("GET", "/projects/q/images/{key}"),
    "take all pictures": ("GET", "/projects/p/images.zip"),
    "read the guideline": ("GET", "/projects/p/guideline"),
    "write the guideline": ("POST", "/projects/p/guideline/new"),
    "read the results": ("GET", "/projects/p/verdicts"),
    "read the figures": ("GET", "/projects/p/watch"),
    "read the people": ("GET", "/projects/p/roster"),
    "read the record": ("GET", "/projects/p/audit"),
    "read the channel": ("GET", "/projects/p/channel"),
    "export the answers": ("POST", "/projects/p/exports"),
    "fetch an export": ("GET", "/projects/p/exports/{job_id}/p.csv"),
    "fetch an export through their own project": ("GET", "/projects/q/exports/{job_id}/p.csv"),
    "train on its answers": ("POST", "/projects/p/train/upload"),
    "follow its job": ("GET", "/jobs/{job_id}"),
    "answer a post": ("POST", "/projects/p/label/{assignment_id}"),
    "settle a case": ("POST", "/projects/p/expert/{case_id}"),
    "join": ("POST", "/projects/p/roster/invite"),
    "change the settings": ("POST", "/projects/p/settings"),
    "close it": ("POST", "/projects/p/state"),
    "add posts": ("POST", "/projects/p/phases/upload"),
    "change its detectors": ("POST", "/detectors/{detector_id}/retire"),
}

AT_A_SCHEME = {
    "read a scheme that somebody writes": ("GET", "/schemes/{draft_id}"),
    "read a question of it": ("GET", "/schemes/{draft_id}/questions/1"),
    "look at its preview": ("GET", "/schemes/{draft_id}/preview"),
    "take it as a file": ("GET", "/schemes/{draft_id}/scheme.yaml"),
    "change its title": ("POST", "/schemes/{draft_id}"),
    "add a question": ("POST", "/schemes/{draft_id}/questions"),
    "remove it": ("POST", "/schemes/{draft_id}/remove"),
}
"""The scheme is the manager of q's own until a project uses it."""


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("who", OUTSIDERS)
def test_an_outsiders_attempt_comes_to_nothing(site: Site, values: dict[str, str], who: str, attempt: str):
    method, address = ATTEMPTS[attempt]
    before = fingerprint(site)
    answer = ask(site, who, method, address.format(**values), FORM)
    assert answer.status_code in (403, 404)
    assert not told(answer)
    assert fingerprint(site) == before


@pytest.mark.parametrize("attempt", AT_A_SCHEME)
@pytest.mark.parametrize("who", ["outsider", "left", "server expert", "manager", "admin"])
def test_a_scheme_in_the_making_is_its_authors_alone(site: Site, values: dict[str, str], who: str, attempt: str):
    method, address = AT_A_SCHEME[attempt]
    before = fingerprint(site)
    assert ask(site, who, method, address.format(**values), FORM).status_code in (403, 404)
    assert fingerprint(site) == before
