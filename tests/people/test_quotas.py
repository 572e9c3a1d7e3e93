"""What a key may do: requests a minute, posts a day, over restarts and processes; the options in a file."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from test_serve_score import ask
from typer.testing import CliRunner

from davy.core.errors import UserError
from davy.people.quotas import Quotas
from davy.people.store import keys, users
from davy.shell.app import app
from davy.store import events, open_store
from davy.web.process_counters import SharedFile
from web_site import make_key, make_site


def test_a_key_has_its_own_rate(site):
    _, secret = make_key(site, per_minute=6)
    assert [ask(site, {"text": "x"}, secret).status_code for _ in range(2)] == [200, 429]


def test_posts_a_day_are_counted_and_what_is_refused_is_not(site):
    _, secret = make_key(site, per_day=5)
    counts = (3, 3, 2, 1)
    assert [ask(site, {"texts": ["x"] * n}, secret).status_code for n in counts] == [200, 429, 200, 429]
    refused = ask(site, {"text": "x"}, secret)
    assert "5 posts a day, and 0 are left" in refused.json()["error"]
    assert int(refused.headers["retry-after"]) > 0


def test_a_restart_does_not_fill_a_quota_again(settings, empty_database):
    made = make_site(settings, empty_database)
    with made.started():
        key, secret = make_key(made, per_day=2)
        assert ask(made, {"texts": ["x", "y"]}, secret).status_code == 200
    from davy.server.app import create_app

    made.app = create_app(settings)
    made.store = made.app.state.context.store
    with made.started():
        assert ask(made, {"text": "x"}, secret).status_code == 429
    with open_store(settings.database) as store, store.read() as db:
        assert keys.usage_of_day(db, key.id, f"{datetime.now(UTC):%Y-%m-%d}").posts == 2


def test_processes_share_a_quota_and_a_new_day_is_a_new_one(store, tmp_path):
    at = [datetime(2026, 11, 16, 23, 59, tzinfo=UTC)]
    with store.write() as db:
        owner = users.add(db, login="ada", name="Ada", role="admin", by=events.SHELL)
        key, _ = keys.create(
            db, name="k", owner=owner.id, scopes=["score"], by=events.SHELL, limits=keys.KeyLimits(per_day=3)
        )
    one, two = (Quotas(store, SharedFile(tmp_path / "shared"), clock=lambda: at[0]) for _ in range(2))
    one.know(key)
    two.know(key)
    assert one.take(key, 2) == (0.0, 1)
    assert two.take(key, 2) == (60.0, 1)
    assert two.take(key, 1) == (0.0, 0)
    two.flush()
    at[0] = datetime(2026, 11, 17, 0, 0, 1, tzinfo=UTC)
    assert one.take(key, 3) == (0.0, 0)
    one.flush()
    with store.read() as db:
        days = [keys.usage_of_day(db, key.id, day) for day in ("2026-11-16", "2026-11-17")]
    assert [(it.requests, it.posts) for it in days] == [(2, 3), (1, 3)]


def test_the_shell_makes_a_key_without_an_account_and_prints_it_last(tmp_path):
    database = f"sqlite:///{tmp_path / 'k.sqlite'}"
    open_store(database, create=True).close()
    for _ in range(2):
        done = CliRunner().invoke(app, ["key", "create", "--scope", "score", "--database", database, "--per-day", "9"])
        assert done.exit_code == 0, done.output
        secret = done.stdout.strip().splitlines()[-1]
    with open_store(database) as store, store.read() as db:
        key, owner = keys.check(db, secret, "score")
    assert (owner.login, key.per_day) == ("programs", 9)


@pytest.mark.parametrize("limits", [{"per_day": 0}, {"per_minute": -1}, {"per_day": 10**12}])
def test_limits_that_make_no_sense_are_refused(site, limits):
    with pytest.raises(UserError, match="A key may have"):
        make_key(site, **limits)


def test_options_stand_in_a_file_the_environment_or_the_command_line(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("davy.server.start.run", asked.append)
    path = tmp_path / "serve.yaml"
    path.write_text(
        "port: 9001\nmodel: majority\nshadow-texts: true\nmax-wait: 0.25\nallow-host: [a.example, b.example]\n"
    )
    done = CliRunner().invoke(app, ["serve", "--config", str(path), "--model", "uniform"], env={"DAVY_PORT": "9002"})
    assert done.exit_code == 0, done.output
    (options,) = asked
    assert (options.port, options.model, options.shadow_texts, options.most_wait) == (9002, "uniform", True, 0.25)
    assert options.allow_hosts == ("a.example", "b.example")


def test_a_slip_in_the_file_of_options_is_named_with_its_line(tmp_path):
    path = tmp_path / "serve.yaml"
    path.write_text("port: 9001\nmodle: x\n")
    done = CliRunner().invoke(app, ["serve", "--config", str(path)])
    assert done.exit_code != 0
    assert "serve.yaml:2" in f"{done.output} {done.exception}"
    assert "model" in f"{done.output} {done.exception}"


def test_a_detector_that_takes_too_long_is_answered_with_503(settings, empty_database):
    made = make_site(replace(settings, request_seconds=0.000001), empty_database)
    with made.started():
        _, secret = make_key(made)
        answer = ask(made, {"text": "x"}, secret)
    assert answer.status_code == 503
    assert "took longer" in answer.json()["error"]
