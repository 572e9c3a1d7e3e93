"""Every page answers, for those who may see it, with the headers that protect it."""

from __future__ import annotations

import pytest

from davy.people.permissions import MAY, may
from davy.people.store.users import ROLES
from davy.scoring.queue.detectors import Detectors
from davy.web.middleware import ALWAYS

PAGES = {
    "/": None,
    "/score": "score texts",
    "/posts": "browse posts",
    "/account": "change own account",
    "/keys": "make own keys",
    "/jobs": "see jobs",
    "/people": "see people",
    "/audit": "see the audit",
}
OTHERS = (
    "/sign-in",
    "/invitation/nope",
    "/nowhere",
    "/healthz",
    "/metrics",
    "/static/davy.css",
    "/static/nowhere.js",
    "/favicon.ico",
    "/v1/score",
    "/api/jobs",
    "/api/openapi.json",
)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_sees_the_pages_that_the_table_of_permissions_gives_it(site, role):
    client = site.as_(role)
    for path, act in PAGES.items():
        wanted = 200 if act is None or may(role, act) else 403
        assert client.get(path).status_code == wanted, path


def test_a_visitor_is_sent_to_sign_in_and_back(site):
    answer = site.visitor().get("/audit?before=9")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Faudit%3Fbefore%3D9"


def test_navigation_offers_only_what_the_role_may_open(site):
    html = site.as_("annotator").get("/").text
    assert 'href="/score"' in html
    assert 'href="/people"' not in html
    assert 'href="/audit"' not in html


@pytest.mark.parametrize("path", [*PAGES, *OTHERS])
def test_every_response_carries_the_security_headers(site, path):
    answer = site.as_("admin").get(path)
    for name, value in ALWAYS.items():
        assert answer.headers[name] == value, name
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_pages_are_not_kept_by_caches_but_hashed_files_are(site):
    client = site.as_("admin")
    assert client.get("/people").headers["cache-control"] == "no-store"
    assert "immutable" in client.get("/static/davy.css?v=1").headers["cache-control"]


def test_static_files_can_not_be_left_by_their_path(site):
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/settings.py", "/static//etc/passwd"):
        assert site.visitor().get(path).status_code == 404


def test_the_home_page_says_what_davy_is_and_names_the_detector(site):
    html = site.visitor().get("/").text
    assert "workbench" in html
    assert site.app.state.context.part(Detectors).default_model["version"] in html


def test_every_permission_belongs_to_roles_that_there_are():
    assert all(set(roles) <= set(ROLES) for roles in MAY.values())
    with pytest.raises(KeyError):
        may("admin", "fly")
