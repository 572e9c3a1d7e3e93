"""The web door over PostgreSQL: one walk through what writes and what filters."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from davy.annotation.project.store import members, projects
from davy.annotation.settling.store import verdicts
from davy.core import Post, Verdict
from davy.people.store import users
from davy.schemes import load, text_of
from davy.schemes.store import schemes
from davy.server.app import create_app
from davy.store import events
from post_rows import add_post
from web_site import Site, hashed_password, post

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


def test_two_managers_who_demote_each_other_at_once_leave_one(settings, postgres_url):
    app = create_app(replace(settings, database=postgres_url))
    store = app.state.context.store
    with store.write() as db:
        people = {
            name: users.add(
                db, login=name, name=name, role="annotator", by=events.SHELL, password_hash=hashed_password()
            )
            for name in ("first", "second")
        }
        scheme = load("edos")
        schemes.save(db, scheme, text_of("edos").decode(), by=events.SHELL)
        about = {"scheme": "edos", "scheme_version": scheme.version, "settings": {}}
        projects.create(db, id="p", title="P", **about, by=events.SHELL)
        for person in people.values():
            members.add(db, "p", person.id, ["manager"], by=events.SHELL)
    with Site(app, settings, store, people).started() as site:
        clients = {name: site.as_(name) for name in people}
        for _ in range(3):
            together = Barrier(2)

            def demote(by: str, other: str, together: Barrier = together) -> int:
                together.wait()
                form = {"do": "save", "roles": "annotator"}
                return post(clients[by], f"/projects/p/roster/{people[other].id}", form, page="/projects").status_code

            with ThreadPoolExecutor(2) as pool:
                list(pool.map(demote, ("first", "second"), ("second", "first")))
            with store.write() as db:
                assert len(members.of_project(db, "p", role="manager")) == 1
                for person in people.values():
                    members.set_roles(db, "p", person.id, ["manager"], by=events.SHELL)
