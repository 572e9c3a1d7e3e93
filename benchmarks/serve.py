"""How much `davy serve` scores: one request at a time, in batches, at 70 % of its top rate, and when too much comes.

Each row starts a server of its own on a free port of this machine, with the embedded English detector, and sends it
one post a request over kept connections from a process of its own. "one at a time" is a server that scores each
request alone, asked by one client; "batches" gathers the requests of many. The screen clears plainly harmless posts
as `davy score` does. Rates are of answered posts; latencies of answered requests.

    python -m benchmarks.serve [--posts FILE] [--seconds 8] [--soak SECONDS] [--json FILE]

`--posts` takes real posts, one a line (.xz too). `--soak` holds 70 % of the top rate for so long and watches memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.score import posts as read_posts

GOALS = {"ratio": 3.0, "p99_ms": 100.0}
CONNECTIONS = 32
MODEL = "embedded-en"
WORKERS = ("--workers", "2")


@dataclass
class Load:
    """What came of a load: seconds of each answer, and how many answers had which status (0: none came)."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Posts scored a second."""
        return self.statuses[200] / self.seconds

    def ms(self, share: float) -> float:
        """The milliseconds within which this share of the answers came."""
        times = sorted(self.latencies)
        return 1000 * times[min(len(times) - 1, int(share * len(times)))] if times else float("nan")


class Server:
    """`davy serve` on a free port, with a key that has no limit to speak of."""

    def __init__(self, folder: Path, *more: str) -> None:
        from davy.people.store import users
        from davy.store import events, open_store

        folder.mkdir(parents=True, exist_ok=True)
        self.database = f"sqlite:///{folder / 'bench.sqlite'}"
        with open_store(self.database, create=True) as store, store.write() as db:
            self._owner = users.add(db, login="bench", name="Bench", role="admin", by=events.SHELL).id
        self.secret = self.add_key("bench")
        where = ("--port", "0", "--database", self.database, "--job-workers", "0")
        command = [sys.executable, "-m", "davy", "serve", *where]
        self.process = subprocess.Popen(
            [*command, *(() if "--model" in more else ("--model", MODEL)), *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        address = self.process.stdout.readline().split()[3]
        self.host, self.port = address.removeprefix("http://").split(":")

    def add_key(self, name: str) -> str:
        """Return the secret of a new key without a limit to speak of."""
        from davy.people.store import keys
        from davy.store import events, open_store

        with open_store(self.database) as store, store.write() as db:
            _, secret = keys.create(
                db, name=name, owner=self._owner, scopes=["score"], by=events.SHELL,
                limits=keys.KeyLimits(per_minute=100_000_000),
            )  # fmt: skip
        return secret

    def memory(self) -> float:
        """Return the MB that the server's processes hold, shared pages counted once a process."""
        import psutil

        parent = psutil.Process(self.process.pid)
        return sum(it.memory_info().rss for it in (parent, *parent.children(recursive=True))) / 1e6

    def stop(self) -> None:
        """End the server as its operator would."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


def request(server: Server, text: str) -> bytes:
    """Return one request as it goes over the wire."""
    body = json.dumps({"text": text[:5000]}).encode()
    head = (
        f"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: bytes) -> int:
    """Send a request and return the status of its answer, having read all of it."""
    writer.write(asked)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))
    return int(head[9:12])


async def run_load(server: Server, texts: list[str], *, connections: int, seconds: float, rate: float | None) -> Load:
    """Return what came of asking over some connections: as fast as answers come, or `rate` requests a second."""
    asked = [request(server, text) for text in texts]
    load = Load(seconds)
    began = time.perf_counter()
    turn = iter(range(10**9))

    async def ask() -> None:
        reader, writer = await asyncio.open_connection(server.host, int(server.port))
        while True:
            n = next(turn)
            due = began + n / rate if rate else time.perf_counter()
            if due - began >= seconds or time.perf_counter() - began >= seconds:
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            sent = time.perf_counter()
            try:
                status = await exchange(reader, writer, asked[n % len(asked)])
            except (OSError, asyncio.IncompleteReadError):
                load.statuses[0] += 1
                break
            load.statuses[status] += 1
            if status == 200:
                load.latencies.append(time.perf_counter() - sent)
        writer.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    load.seconds = time.perf_counter() - began
    return load


def measure(server: Server, texts: list[str], *, connections: int, seconds: float, rate: float | None = None) -> Load:
    """Warm the server up, then put a load on it."""
    asyncio.run(run_load(server, texts, connections=connections, seconds=min(2.0, seconds), rate=rate))
    return asyncio.run(run_load(server, texts, connections=connections, seconds=seconds, rate=rate))


def row(name: str, load: Load) -> dict[str, Any]:
    """Print and return a row of the table."""
    errors = sum(n for status, n in load.statuses.items() if status not in (200, 429))
    found = {
        "what": name,
        "posts_per_second": round(load.rate, 1),
        "p50_ms": round(load.ms(0.5), 1),
        "p99_ms": round(load.ms(0.99), 1),
        "answered": load.statuses[200],
        "refused_429": load.statuses[429],
        "errors": errors,
    }
    print(
        f"{name:<44}{load.rate:>9,.0f} posts/s   p50 {found['p50_ms']:>7.1f} ms   p99 {found['p99_ms']:>7.1f} ms   "
        f"{load.statuses[200]:>6} answered, {load.statuses[429]} × 429, {errors} errors",
        flush=True,
    )
    return found


def served(folder: Path, name: str, texts: list[str], seconds: float, connections: int, *more: str) -> dict[str, Any]:
    """Return the row of a server with these options, asked as fast as it answers."""
    server = Server(folder / name.replace(" ", "-").replace(",", ""), *more, "--max-wait", "30")
    try:
        return row(name, measure(server, texts, connections=connections, seconds=seconds))
    finally:
        server.stop()


def under_way(folder: Path, texts: list[str], seconds: float, top: float, soak: float) -> tuple[list[Any], list[float]]:
    """Return the rows at 70 % of the top rate and at twice it, and the memory over the soak."""
    server = Server(folder / "steady", *WORKERS, "--screen")
    memory: list[float] = []
    try:
        steady = measure(server, texts, connections=CONNECTIONS, seconds=seconds, rate=0.7 * top)
        rows = [row("batches, screen, 70 % of the top rate", steady)]
        if soak:
            for _ in range(max(1, int(soak // 30))):
                part = measure(server, texts, connections=CONNECTIONS, seconds=30, rate=0.7 * top)
                memory.append(server.memory())
                rows.append(row(f"  {len(memory) * 30} s on, {memory[-1]:,.0f} MB", part))
    finally:
        server.stop()
    server = Server(folder / "overload", *WORKERS, "--screen", "--max-wait", "0.1")
    try:
        rows.append(
            row(
                "batches, screen, 256 clients, --max-wait 0.1",
                measure(server, texts, connections=256, seconds=seconds),
            )
        )
    finally:
        server.stop()
    return rows, memory


def main() -> None:
    """Print the table and what of the goals is met; exit with 1 where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=Path)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--soak", type=float, default=0.0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    texts = read_posts(5_000, asked.posts)
    print(f"{MODEL}, {len(texts):,} {'posts of ' + asked.posts.name if asked.posts else 'made posts'}, "
          f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        folder, seconds = Path(place), asked.seconds
        rows = [
            served(folder, "one at a time", texts, seconds, 1, "--batch", "1"),
            served(folder, "one at a time, 32 clients", texts, seconds, CONNECTIONS, "--batch", "1"),
            served(folder, "one at a time, screen", texts, seconds, 1, "--batch", "1", "--screen"),
            served(folder, "batches, 32 clients", texts, seconds, CONNECTIONS, *WORKERS),
            served(folder, "batches, screen, 32 clients", texts, seconds, CONNECTIONS, *WORKERS, "--screen"),
        ]
        top = rows[-1]["posts_per_second"]
        more, memory = under_way(folder, texts, seconds, top, asked.soak)
        rows += more
    figures = {
        "ratio": top / rows[0]["posts_per_second"],
        "batching_alone": rows[3]["posts_per_second"] / rows[0]["posts_per_second"],
        "screen_ratio": top / rows[2]["posts_per_second"],
        "p99_ms": rows[5]["p99_ms"],
        "errors": sum(it["errors"] for it in rows),
        "refused": rows[-1]["refused_429"],
    }
    met = {
        f"times one at a time {figures['ratio']:.1f}, goal ≥ 3": figures["ratio"] >= GOALS["ratio"],
        f"p99 at 70 % {figures['p99_ms']:.1f} ms, goal ≤ 100": figures["p99_ms"] <= GOALS["p99_ms"],
        f"errors {figures['errors']}, goal 0": figures["errors"] == 0,
        f"429s under overload {figures['refused']}, goal > 0": figures["refused"] > 0,
    }
    alone, screened = figures["batching_alone"], figures["screen_ratio"]
    print(f"batching alone {alone:.1f} ×, with the screen on both sides {screened:.1f} ×")
    if memory:
        print(f"memory {memory[0]:,.0f} MB, after {len(memory) * 30} s {memory[-1]:,.0f} MB")
        met[f"memory grew {memory[-1] - memory[0]:.0f} MB, goal ≤ 5 %"] = memory[-1] <= 1.05 * memory[0]
    for what, is_met in met.items():
        print(f"{what}: {'met' if is_met else 'MISSED'}")
    if asked.json:
        asked.json.write_text(json.dumps({"rows": rows, "figures": figures, "memory_mb": memory}, indent=1))
    if not all(met.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
