"""What goes wrong on a network, and what people try: the server stays up, answers are right, nothing leaks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from davy.people.store import keys, users
from davy.store import events, open_store
from davy.web.http_guard import MOST_HEADER_BYTES, GuardedProtocol
from web_site import make_key


def connected(live) -> socket.socket:
    host, port = live.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def read_all(sock: socket.socket) -> bytes:
    parts = []
    try:
        while part := sock.recv(65536):
            parts.append(part)
    except (ConnectionResetError, BrokenPipeError):
        pass
    return b"".join(parts)


def score(live, secret, text="a grumblefop", **more):
    headers = {"authorization": f"Bearer {secret}"}
    return httpx.post(f"{live.url}/v1/score", json={"text": text, **more}, headers=headers, timeout=60)


@pytest.fixture
def impatient(monkeypatch):
    """The guard with seconds that a test can wait for, and in which a loaded machine still sends a whole request."""
    monkeypatch.setattr(GuardedProtocol, "header_seconds", 2.0)
    monkeypatch.setattr(GuardedProtocol, "body_seconds", 2.5)


def test_headers_that_come_byte_by_byte_are_cut_off_and_others_are_answered(impatient, live):
    _, secret = make_key(live.site)
    slow = [connected(live) for _ in range(50)]
    for sock in slow:
        sock.sendall(b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")
    assert score(live, secret).status_code == 200
    for sock in slow:
        assert read_all(sock).startswith(b"HTTP/1.1 408")
        sock.close()
    assert score(live, secret).status_code == 200


def test_a_body_that_drips_is_cut_off(impatient, live):
    sock = connected(live)
    sock.sendall(b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(900):  # fewer bytes than were promised
        try:
            sock.sendall(b"x")
        except OSError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("nobody cut it off")
    sock.close()


def test_a_connection_that_asks_nothing_is_closed_without_a_word(impatient, live):
    sock = connected(live)
    assert read_all(sock) == b""
    sock.close()


def test_a_kept_connection_answers_several_requests(live):
    with httpx.Client(base_url=live.url) as client:
        assert [client.get("/healthz").status_code for _ in range(5)] == [200] * 5


@pytest.mark.parametrize(
    "headers",
    [
        b"X-A: " + b"a" * (MOST_HEADER_BYTES + 10) + b"\r\n",
        b"".join(b"X-%d: 1\r\n" % n for n in range(200)),
        b"".join(b"X-%d: %s\r\n" % (n, b"a" * 2000) for n in range(60)),
    ],
    ids=["one large header", "many headers", "many large headers"],
)
def test_floods_of_headers_are_refused(live, headers):
    sock = connected(live)
    with contextlib.suppress(OSError):
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + b"\r\n")
    answer = read_all(sock)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431")
    sock.close()
    assert httpx.get(f"{live.url}/healthz").status_code == 200


def test_a_header_that_never_ends_costs_no_memory(live):
    sock = connected(live)
    sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")
    sent = 0
    try:
        for _ in range(200):
            sock.sendall(b"a" * 65536)
            sent += 65536
    except OSError:
        pass
    assert sent < 8_000_000  # what the kernel's buffers hold, and no more
    sock.close()


def test_100_megabytes_are_refused_by_their_length_and_while_they_come(live):
    _, secret = make_key(live.site)
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    sock = connected(live)
    sock.sendall(
        b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 104857600\r\n\r\n"
    )
    assert b" 413 " in sock.recv(4096)
    sock.close()

    def pieces():
        for _ in range(1600):
            yield b"x" * 65536

    with _either():
        answer = httpx.post(f"{live.url}/v1/score", content=pieces(), headers=headers, timeout=120)
        assert answer.status_code == 413
    assert score(live, secret).status_code == 200


class _either:
    """A block that may end with the connection closed: the server has answered by then and does not read on."""

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        return kind is not None and issubclass(kind, httpx.TransportError)


@pytest.mark.parametrize("path", ["/v1/score", "/v1/moderations", "/v1alpha1/comments:analyze"])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"text":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"text": "\xff\xfe"}',
        b"\xef\xbb\xbf{}",
        b'{"text": NaN, "input": NaN}',
        b'{"text": "a", "text": 1e999}',
        b"",
        b"null",
        b'{"text": "' + b"\\ud800" * 10 + b'"}',
    ],
    ids=["deep list", "deep object", "invalid UTF-8", "BOM", "NaN", "infinity", "empty", "null", "half characters"],
)
def test_odd_bodies_are_answered_with_json_and_never_with_a_bug(live, path, body):
    _, secret = make_key(live.site)
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    answer = httpx.post(f"{live.url}{path}", content=body, headers=headers)
    assert answer.status_code in (200, 400, 413, 422)
    assert answer.headers["content-type"].startswith("application/json")
    answer.json()


def test_guessing_keys_is_slow_and_a_right_key_still_works(live):
    _, secret = make_key(live.site)
    guesses = [
        httpx.post(f"{live.url}/v1/score", json={"text": "x"}, headers={"authorization": f"Bearer davy_x_{n}"})
        for n in range(40)
    ]
    statuses = [it.status_code for it in guesses]
    assert set(statuses) == {401, 429}
    assert statuses.count(401) <= 32
    by_query = httpx.post(f"{live.url}/v1alpha1/comments:analyze?key=davy_x_1", json={})
    assert by_query.status_code == 429  # the same limit, whichever door
    assert score(live, secret).status_code == 200


def test_a_request_cancelled_half_way_leaves_the_others_right(live):
    _, secret = make_key(live.site, per_minute=100_000)
    body = json.dumps({"text": "gone"}).encode()
    for _ in range(30):
        sock = connected(live)
        head = f"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        sock.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        sock.close()
    answers = [score(live, secret, text) for text in ("a grumblefop", "a fine day") * 5]
    chances = [it.json()["results"][0]["questions"]["hate"]["probability"] for it in answers]
    assert chances == [0.9, 0.0] * 5


def test_no_answer_reaches_somebody_else(live):
    _, secret = make_key(live.site, per_minute=100_000)
    words = {"grumblefop": 0.9, "sneezewit": 0.7, "candle": 0.0}

    def ask(n: int) -> bool:
        word = list(words)[n % 3]
        posts = [{"id": f"{n}-{i}", "text": f"{word} {n} {i}"} for i in range(n % 4 + 1)]
        headers = {"authorization": f"Bearer {secret}"}
        answer = httpx.post(f"{live.url}/v1/score", json={"posts": posts}, headers=headers, timeout=120)
        while answer.status_code == 429:  # the machine is busy, and says so
            time.sleep(0.2)
            answer = httpx.post(f"{live.url}/v1/score", json={"posts": posts}, headers=headers, timeout=120)
        got = answer.json()["results"]
        return [it["id"] for it in got] == [it["id"] for it in posts] and all(
            it["questions"]["hate"]["probability"] == words[word] for it in got
        )

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(200)))


def test_the_log_has_no_text_and_no_key(live, caplog):
    _, secret = make_key(live.site)
    # A command that ran before in this process may have made the logger quieter.
    with caplog.at_level("INFO"), caplog.at_level("INFO", logger="davy.access"):
        score(live, secret, "a secret grumblefop")
        httpx.post(f"{live.url}/v1alpha1/comments:analyze?key={secret}", json={"comment": {"text": "grumblefop two"}})
    ours = [it for it in caplog.records if it.name.startswith(("davy", "uvicorn"))]
    shown = "\n".join(f"{it.getMessage()} {getattr(it, 'fields', '')}" for it in ours)
    assert "/v1/score" in shown
    assert "grumblefop" not in shown
    assert secret not in shown
    assert secret.split("_", 2)[2] not in shown


def test_what_comes_in_too_fast_is_refused_with_429_before_everybody_waits():
    from test_batching import Fake, posts

    from davy.scoring.queue.batching import Batcher, QueueFull

    async def scene():
        fake = Fake(seconds=0.05)
        async with Batcher(fake, largest=1, wait=0, most_seconds=0.2) as batcher:
            await batcher.score(posts("a"))  # now it knows how long a post takes
            given = [asyncio.create_task(batcher.score(posts("x"))) for _ in range(50)]
            done = await asyncio.gather(*given, return_exceptions=True)
            refused = [it for it in done if isinstance(it, QueueFull)]
            assert 40 <= len(refused) < 50
            assert all(it.status == 429 and it.wait > 0 for it in refused)
            assert len(await batcher.score(posts("y"))) == 1

    asyncio.run(scene())


class RunningServer:
    """`davy serve` as a process of its own."""

    def __init__(self, folder: Path, *more: str) -> None:
        words = folder / "words.txt"
        words.write_text("grumblefop\t0.9\n")
        self.database = f"sqlite:///{folder / 'served.sqlite'}"
        with open_store(self.database, create=True) as store, store.write() as db:
            self.owner = users.add(db, login="ada", name="Ada", role="admin", by=events.SHELL)
            _, self.secret = keys.create(
                db,
                name="k",
                owner=self.owner.id,
                scopes=["score"],
                by=events.SHELL,
                limits=keys.KeyLimits(per_minute=10_000_000),
            )
        command = [sys.executable, "-m", "davy", "serve", "--port", "0", "--database", self.database]
        self.process = subprocess.Popen(
            [*command, "--job-workers", "0", "--model", f"keywords:{words}", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[3]

    def score(self, client: httpx.Client, text: str, **more) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.secret}"}
        return client.post(f"{self.url}/v1/score", json={"text": text, **more}, headers=headers, timeout=120)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(180)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def queued(server: RunningServer) -> int:
    """Return how many requests the detector's queue has taken so far."""
    lines = httpx.get(f"{server.url}/metrics", timeout=120).text.splitlines()
    return int(next(line.split()[-1] for line in lines if line.startswith("davy_queue") and '"requests"' in line))


@pytest.mark.slow
def test_sigterm_under_load_answers_what_was_taken(tmp_path):
    server = RunningServer(tmp_path, "--max-wait", "180")
    texts = ["a grumblefop, " + "and then some more of it, " * 350] * 100
    headers = {"authorization": f"Bearer {server.secret}"}

    def ask(_: int) -> list[float]:
        answer = httpx.post(f"{server.url}/v1/score", json={"texts": texts}, headers=headers, timeout=180)
        assert answer.status_code == 200, answer.text[:200]
        return [it["questions"]["hate"]["probability"] for it in answer.json()["results"]]

    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(ask, n) for n in range(6)]
        until = time.monotonic() + 120
        while queued(server) < 6 and time.monotonic() < until:
            time.sleep(0.02)
        under_way = sum(not it.done() for it in asked)
        code = server.stop()
        answers = [it.result() for it in asked]
    assert code == 0
    assert under_way > 0, "nothing was under way, so this proves nothing: make the texts longer"
    assert answers == [[0.9] * 100] * 6
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/healthz")
