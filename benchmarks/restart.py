"""Restart `davy serve` again and again under load, and count the requests that fail: none may.

The listening socket is held by this program, as systemd holds that of `davy.socket`. Half the clients keep their
connections, half make a new one for each request. "rolling" starts the next server before the last one stops;
"one after the other" is `systemctl restart`: meanwhile, new connections wait in the socket.

    python -m benchmarks.restart [--requests 10000] [--workers 2] [--every 2] [--model embedded-en]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

CLIENTS = 8
START_SECONDS = 120
ANSWER_SECONDS = 60
SOCKET_AS_3 = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); "
    "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"
)
"""Becomes the program that is named, with a socket as file 3, as systemd passes it."""


class SocketHolder:
    """Holds a listening socket and a notification socket, and starts servers on them, as systemd would."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port = self.listening.getsockname()[1]
        self._options = options
        self._notify_path = folder / "notify"
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._told.bind(str(self._notify_path))

    def start(self) -> subprocess.Popen[bytes]:
        """Start a server and return it once it has said that it is ready."""
        number = self.listening.fileno()
        line = [sys.executable, "-m", "davy", "serve", *self._options]
        process = subprocess.Popen(
            [sys.executable, "-c", SOCKET_AS_3, str(number), *line],
            pass_fds=(number,), stdout=subprocess.DEVNULL,
            env={**os.environ, "NOTIFY_SOCKET": str(self._notify_path)},
        )  # fmt: skip
        self.wait_for(b"READY=1", process)
        return process

    def wait_for(self, state: bytes, process: subprocess.Popen[bytes]) -> None:
        """Wait until a server tells a state."""
        self._told.settimeout(1)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and process.poll() is None:
            try:
                if self._told.recv(4096) == state:
                    return
            except TimeoutError:
                continue
        raise RuntimeError(f"the server did not say {state.decode()}")

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Stop a server as its operator would, and wait for its end."""
        process.send_signal(signal.SIGTERM)
        self.wait_for(b"STOPPING=1", process)
        process.wait(60)

    def close(self) -> None:
        """Give the sockets back."""
        self.listening.close()
        self._told.close()


@dataclass
class Answers:
    """What came of the requests."""

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Requests without an answer of 200."""
        return self.outcomes.total() - self.outcomes["200"]


async def _ask(port: int, request: bytes, answers: Answers, left: Callable[[], bool], *, keeps: bool) -> None:
    """Send requests, over one connection for as long as the server keeps it or over a new one each."""
    reader = writer = None
    while left():
        began = time.perf_counter()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if reader is None or writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.split(b":")[1]))
            answers.outcomes[head[9:12].decode()] += 1
            answers.seconds.append(time.perf_counter() - began)
            ends = not keeps or b"connection: close" in head
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            answers.outcomes[type(error).__name__] += 1
            ends = True
        if ends and writer is not None:
            await _close(writer)
            reader = writer = None
    if writer is not None:
        await _close(writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):  # the server was faster
        await writer.wait_closed()


async def restart_under_load(
    holder: SocketHolder, secret: str, *, requests: int, every: float, rolling: bool
) -> tuple[Answers, int]:
    """Return what came of so many requests, and how often the server was restarted meanwhile."""
    body = json.dumps({"text": "a fine day by the lake"}).encode()
    request = (
        f"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    answers, turn, restarts = Answers(), iter(range(requests)), 0
    process = await asyncio.to_thread(holder.start)

    def left() -> bool:
        return next(turn, None) is not None

    async def all_of(clients: list[Awaitable[None]]) -> None:
        await asyncio.gather(*clients)

    load = asyncio.create_task(
        all_of([_ask(holder.port, request, answers, left, keeps=n % 2 == 0) for n in range(CLIENTS)])
    )
    try:
        while not load.done():
            await asyncio.wait([load], timeout=every)
            if load.done():
                break
            if rolling:
                fresh = await asyncio.to_thread(holder.start)
                await asyncio.to_thread(holder.stop, process)
            else:
                await asyncio.to_thread(holder.stop, process)
                fresh = await asyncio.to_thread(holder.start)
            process, restarts = fresh, restarts + 1
        await load
    finally:
        await asyncio.to_thread(holder.stop, process)
    return answers, restarts


def make_database(folder: Path) -> tuple[str, str]:
    """Return the address of a new database and the secret of a key in it without a limit to speak of."""
    from davy.people.store import keys, users
    from davy.store import events, open_store

    url = f"sqlite:///{folder / 'restart.sqlite'}"
    with open_store(url, create=True) as store, store.write() as db:
        owner = users.add(db, login="bench", name="Bench", role="admin", by=events.SHELL)
        _, secret = keys.create(
            db, name="bench", owner=owner.id, scopes=["score"], by=events.SHELL,
            limits=keys.KeyLimits(per_minute=100_000_000),
        )  # fmt: skip
    return url, secret


def main() -> None:
    """Print what came of both ways to restart; exit with 1 where a request failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--model", default="embedded-en")
    asked = parser.parse_args()
    failed = 0
    for rolling in (True, False):
        with tempfile.TemporaryDirectory() as place:
            url, secret = make_database(Path(place))
            options = ("--database", url, "--model", asked.model, "--job-workers", "0", "--max-wait", "30")
            holder = SocketHolder(Path(place), *options, "--workers", str(asked.workers))
            try:
                answers, restarts = asyncio.run(
                    restart_under_load(holder, secret, requests=asked.requests, every=asked.every, rolling=rolling)
                )
            finally:
                holder.close()
        times = sorted(answers.seconds)
        print(
            f"{'rolling' if rolling else 'one after the other':<22}{asked.requests:,} requests, {restarts} restarts of "
            f"{asked.workers} workers: {answers.failed} failed {dict(answers.outcomes)}, p50 "
            f"{1000 * times[len(times) // 2]:.1f} ms, longest {times[-1]:.1f} s, load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        failed += answers.failed
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
