"""`davy serve`: settings, the secret, the port, the first link, and the demo, from the shell."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import urllib.request

import httpx
import pytest

from davy.core.errors import UserError
from davy.people.store import invitations, users
from davy.server.start import ServeOptions, first_admin_link, listen, run, settings_of
from davy.store import open_store
from davy.web.settings import ServerSettings, is_loopback, secret_key_for


def test_the_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path, monkeypatch):
    monkeypatch.delenv("DAVY_SECRET_KEY", raising=False)
    url = f"sqlite:///{tmp_path / 'a.sqlite'}"
    first = secret_key_for(url)
    path = tmp_path / "a.sqlite.secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret_key_for(url) == first
    assert len(first) == 64
    path.chmod(0o644)
    with pytest.raises(UserError, match="chmod 600"):
        secret_key_for(url)


def test_the_secret_comes_from_the_environment_and_postgres_needs_it(monkeypatch):
    monkeypatch.setenv("DAVY_SECRET_KEY", "s" * 32)
    assert secret_key_for("postgresql://x/y") == "s" * 32
    monkeypatch.delenv("DAVY_SECRET_KEY")
    with pytest.raises(UserError, match="DAVY_SECRET_KEY"):
        secret_key_for("postgresql://x/y")


@pytest.mark.parametrize("url", ["davy.example.org", "ftp://x", "https://", "https://x/path", "javascript:alert(1)"])
def test_a_base_url_that_is_none_is_refused(url):
    with pytest.raises(UserError, match="base URL"):
        ServerSettings(database="sqlite:///x", model="uniform", secret_key="k" * 32, base_url=url)


def test_a_short_secret_is_refused():
    with pytest.raises(UserError, match="needs 32"):
        ServerSettings(database="sqlite:///x", model="uniform", secret_key="short")


def test_the_settings_do_not_show_their_secret():
    assert "kkkk" not in repr(ServerSettings(database="sqlite:///x", model="uniform", secret_key="k" * 32))


@pytest.mark.parametrize(("host", "own"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)])  # noqa: S104
def test_loopback_is_known(host, own):
    assert is_loopback(host) is own


def test_a_taken_port_says_which_to_take():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for spread in (False, True):
            with pytest.raises(UserError, match=f"--port {port + 1}"):
                listen("127.0.0.1", port, spread=spread)
    with listen("127.0.0.1", 0, spread=True) as taken, pytest.raises(UserError, match="is taken"):
        listen("127.0.0.1", taken.getsockname()[1], spread=True)
    with pytest.raises(UserError, match="address of this machine"):
        listen("203.0.113.1", 0)


def test_the_demo_is_not_served_to_others():
    with pytest.raises(UserError, match="this machine only"):
        run(ServeOptions(host="0.0.0.0", demo=True))  # noqa: S104


def test_the_first_link_makes_an_admin_and_older_ones_stop_working(tmp_path, settings):
    with open_store(settings.database, create=True) as store:
        old = first_admin_link(settings, store)
        new = first_admin_link(settings, store)
        assert old
        assert new
        with store.read() as db:
            with pytest.raises(UserError, match="taken back"):
                invitations.get_usable(db, old.rpartition("/")[2])
            assert invitations.get_usable(db, new.rpartition("/")[2]).role == "admin"
        with store.write() as db:
            users.add(db, login="ada", name="Ada", role="admin", by="shell")
        assert first_admin_link(settings, store) is None


def test_the_demo_has_posts_in_both_languages_several_schemes_and_memes(tmp_path, monkeypatch):
    from davy.annotation.project.images import folder_of
    from davy.annotation.project.store import post_pages
    from davy.demo import demo
    from davy.schemes.store import schemes

    made = settings_of(ServeOptions(demo=True), 8460, tmp_path)
    with open_store(made.database) as store, store.read() as db:
        everything = post_pages.page(db, None, post_pages.PostFilter(), with_verdicts=True, limit=500)
        assert post_pages.languages(db, None) == ["de", "en"]
        assert {it.name for it in schemes.list_schemes(db)} == {
            "edos", "gmhp7k", "hate-offensive", "hateful-memes", "hatemoji",
        }  # fmt: skip
        assert post_pages.count(db, None, post_pages.PostFilter(label="sexist")) >= 7
        assert post_pages.count(db, None, post_pages.PostFilter(kind="meme")) == 6
        folder = folder_of(store)
    assert len(everything) >= 40
    for post in everything:
        assert post.verdicts or post.id.startswith(("demo-mill-", "demo-fluss-"))  # those are to be labelled
        assert post.image is None or (folder.find(post.image) and folder.preview(post.image))
    assert {person.role for person in demo.PEOPLE} == {"admin", "expert", "annotator"}


def start(*arguments: str, env: dict[str, str] | None = None, cwd=None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "davy", "serve", "--port", "0", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env={**os.environ, **(env or {})}
    )


@pytest.mark.slow
def test_davy_serve_prints_its_address_and_the_first_link_and_stops_on_a_signal(tmp_path):
    server = start("--database", f"sqlite:///{tmp_path / 'new.sqlite'}", "--model", "uniform")
    try:
        assert server.stdout is not None
        url = re.search(r"http://\S+", server.stdout.readline())
        assert url
        assert "first admin" in server.stdout.readline()
        link = server.stdout.readline().strip()
        with urllib.request.urlopen(f"{url.group()}/healthz", timeout=60) as answer:  # noqa: S310
            assert answer.status == 200
        with urllib.request.urlopen(link, timeout=60) as answer:  # noqa: S310
            assert "Make your account" in answer.read().decode()
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=120)
    assert "Traceback" not in errors
    assert server.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "no-such-model"), "There is no model"),
        (("--database", "sqlite:////nowhere/at/all/x.sqlite", "--model", "uniform"), "nowhere"),
        (("--database", "not a url", "--model", "uniform"), "URL"),
        (("--base-url", "nonsense", "--model", "uniform"), "base URL"),
    ],
)
def test_a_wrong_setting_is_one_line_and_exit_2(tmp_path, arguments, words):
    server = start(*arguments, cwd=tmp_path)
    try:
        _, errors = server.communicate(timeout=120)
    finally:
        server.kill()
    assert server.returncode == 2
    assert words in errors
    assert len(errors.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl+C", "a service manager"])
def test_the_demo_leaves_nothing_behind(tmp_path, how):
    server = start("--demo", env={"TMPDIR": str(tmp_path)}, cwd=tmp_path)
    assert server.stdout is not None
    assert "Davy is at" in server.stdout.readline()
    assert list(tmp_path.iterdir())
    server.send_signal(how)
    try:
        _, errors = server.communicate(timeout=120)
    finally:
        server.kill()
    assert server.returncode == 0
    assert [line.partition(":")[0] for line in errors.splitlines()] == ["Building the demo"]  # and no traceback
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_two_workers_share_a_port_and_end_together_however_the_first_ends(tmp_path, how):
    import psutil

    server = start("--database", f"sqlite:///{tmp_path / 'w.sqlite'}", "--model", "majority", "--workers", "2")
    try:
        assert server.stdout is not None
        url = re.search(r"http://\S+", server.stdout.readline())
        assert url
        family = psutil.Process(server.pid).children(recursive=True)
        serving = [it for it in family if "spawn_main" in " ".join(it.cmdline())]
        assert len(serving) == 1
        kept = [httpx.Client(base_url=url.group(0), timeout=60) for _ in range(32)]
        for client in kept:
            assert client.get("/healthz").status_code == 200
        port = int(url.group(0).rsplit(":", 1)[1])
        for process in (psutil.Process(server.pid), *serving):  # each took its share
            taken = [
                it for it in process.net_connections("tcp") if it.laddr.port == port and it.status == "ESTABLISHED"
            ]
            assert len(taken) >= 4
        for client in kept:
            client.close()
        server.send_signal(how)
        server.wait(60)
        _, alive = psutil.wait_procs(family, timeout=60)
        assert not alive
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        if server.stderr:
            server.stderr.close()
