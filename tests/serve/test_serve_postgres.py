"""The web door over PostgreSQL: one walk through what writes and what filters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from web_site import Site, hashed_password, post

from davy.core import Post, Verdict
from davy.schemes import load, text_of
from davy.serve.app import create_app
from davy.store import events, schemes, users, verdicts
from post_rows import add_post

pytestmark = pytest.mark.postgres


def test_the_pages_work_over_postgres(settings, postgres_url):
    app = create_app(replace(settings, database=postgres_url))
    store = app.state.context.store
    with store.write() as db:
        admin = users.add(db, login="admin", name="Ada", role="admin", by=events.SHELL, password_hash=hashed_password())
        scheme = load("edos")
        schemes.save(db, scheme, text_of("edos").decode(), by=events.SHELL)
        for number in range(3):
            add_post(db, Post(f"p{number}", f"post {number}", "en"))
        verdicts.add(db, Verdict("p1", "sexist", ("sexist",), "expert"), scheme, by=admin.id)
        verdicts.add(db, Verdict("p2", "sexist", ("not sexist",), "expert"), scheme, by=admin.id)
    with Site(app, settings, store, {"admin": admin}).started() as site:
        client = site.as_("admin")
        found = client.get("/posts?label=sexist").text
        assert "post 1" in found
        assert "post 2" not in found
        assert "edos: sexist" in found
        assert post(client, "/people/invite", {"login": "", "role": "expert", "days": "7"}).status_code == 200
        assert post(client, "/keys", {"name": "bot", "scope": "score", "days": ""}).status_code == 200
        assert "key created" in client.get("/audit").text
        assert client.get("/jobs").status_code == 200
        assert client.get("/healthz").json()["database"] == "ok"
