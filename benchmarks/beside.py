"""`davy serve` beside a plain FastAPI and onnxruntime service over the same network, and how neighbours fare.

Both have as many workers, and take turns at each row, so that both see the same machine. On a machine with other work
the rates depend on who gets the cores; the CPU time a text costs hardly does. Rows: one text a request from
1, 8 and 64 clients, batches of 50 from 4 clients. Then one key's client sends 100 texts of 8 kB a request without a
pause, while eight clients of another key send short ones: their p99 is set beside their p99 on the idle server.
The plain service has no keys, limits, languages or decoded answers.

    python -m benchmarks.beside [--posts FILE] [--seconds 6] [--turns 3] [--workers 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.score import posts as read_posts
from benchmarks.serve import Load, Server, exchange

SINGLE, BATCH = 0.9, 5.0
NEIGHBOURS = 8.0
CLIENTS = (1, 8, 64)
BATCH_OF, BATCH_CLIENTS = 50, 4
NEIGHBOUR_CLIENTS = 8


@dataclass(frozen=True)
class Target:
    """Where requests go."""

    port: int
    pid: int
    secret: str = ""

    def request(self, body: dict[str, Any]) -> bytes:
        """Return one request as it goes over the wire."""
        data = json.dumps(body).encode()
        key = f"Authorization: Bearer {self.secret}\r\n" if self.secret else ""
        return (
            f"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}Content-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        ).encode() + data


class PlainService:
    """The plain service on a free port."""

    def __init__(self, workers: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "benchmarks._plain_service", str(self.port), str(workers)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise SystemExit("the plain service did not start")

    def stop(self) -> None:
        """End the service."""
        self.process.terminate()
        self.process.wait(30)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a server's processes have used."""
    parent = psutil.Process(pid)
    return sum(sum(it.cpu_times()[:2]) for it in (parent, *parent.children(recursive=True)))


def memory(pid: int) -> float:
    """Return the MB that a server's processes hold, shared pages counted once a process."""
    parent = psutil.Process(pid)
    return sum(it.memory_info().rss for it in (parent, *parent.children(recursive=True))) / 1e6


async def ask(target: Target, requests: list[bytes], load: Load, until: float, pause: float = 0.0) -> None:
    """Send requests over one kept connection until the time is up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    turn = 0
    while time.perf_counter() < until:
        began = time.perf_counter()
        status = await exchange(reader, writer, requests[turn % len(requests)])
        turn += 1
        load.statuses[status] += 1
        if status == 200:
            load.latencies.append(time.perf_counter() - began)
        await asyncio.sleep(pause)
    writer.close()


@dataclass
class TimedLoad(Load):
    """A load, and the CPU time that the server used for it."""

    cpu: float = 0.0


def measure(target: Target, bodies: list[dict[str, Any]], clients: int, seconds: float) -> TimedLoad:
    """Return what came of asking as fast as answers come, each client with posts of its own."""

    async def asked() -> TimedLoad:
        load, began, cpu = TimedLoad(seconds), time.perf_counter(), cpu_seconds(target.pid)
        await asyncio.gather(
            *(ask(target, requests[n::clients] or requests, load, began + seconds) for n in range(clients))
        )
        load.seconds, load.cpu = time.perf_counter() - began, cpu_seconds(target.pid) - cpu
        return load

    requests = [target.request(body) for body in bodies]
    return asyncio.run(asked())


def neighbours(small: Target, large: Target | None, texts: list[str], seconds: float) -> tuple[Load, Load]:
    """Return what came of short requests of one key, and of the large ones of another beside them."""

    async def asked() -> tuple[Load, Load]:
        short, long, until = Load(seconds), Load(seconds), time.perf_counter() + seconds
        requests = [small.request({"text": text[:200]}) for text in texts[:400]]
        every = [ask(small, requests[n::NEIGHBOUR_CLIENTS], short, until, 0.05) for n in range(NEIGHBOUR_CLIENTS)]
        if large is not None:
            body = {"texts": [(" ".join(texts[n:]) + " " * 8000)[:8000] for n in range(100)]}
            every.append(ask(large, [large.request(body)], long, until))
        await asyncio.gather(*every)
        return short, long

    return asyncio.run(asked())


def compare(what: str, loads: dict[str, list[TimedLoad]], each: int, goal: float) -> dict[str, Any]:
    """Print and return a row: both services' medians over the turns, and how many times the plain one Davy does."""
    rates = {name: median(load.rate * each for load in some) for name, some in loads.items()}
    found: dict[str, Any] = {"what": what, "ratio": round(rates["davy"] / rates["plain"], 2), "goal": goal}
    for name, some in loads.items():
        found[name] = {
            "per_second": round(rates[name], 1),
            "turns": [round(load.rate * each, 1) for load in some],
            "p50_ms": round(median(load.ms(0.5) for load in some), 1),
            "p99_ms": round(median(load.ms(0.99) for load in some), 1),
            "cpu_ms": round(1000 * sum(it.cpu for it in some) / max(1, each * sum(it.statuses[200] for it in some)), 2),
            "not_200": sum(n for load in some for status, n in load.statuses.items() if status != 200),
        }
    davy, plain = found["davy"], found["plain"]
    found["cpu_ratio"] = round(plain["cpu_ms"] / davy["cpu_ms"], 2)
    print(
        f"{what:<26}{davy['per_second']:>8,.0f} /s {davy['p50_ms']:>7.1f}/{davy['p99_ms']:<8.1f}"
        f"{plain['per_second']:>8,.0f} /s {plain['p50_ms']:>7.1f}/{plain['p99_ms']:<8.1f}"
        f"{found['ratio']:>6.2f} ×  CPU {davy['cpu_ms']:.2f} and {plain['cpu_ms']:.2f} ms, {found['cpu_ratio']:.2f} ×"
        f"  load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return found


def main() -> None:
    """Print the table and which goals are met; exit with 1 where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=Path)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    texts = read_posts(5_000, asked.posts)
    print(f"{len(texts):,} {'posts of ' + asked.posts.name if asked.posts else 'made posts'}, {os.cpu_count()} cores, "
          f"{asked.workers} workers each, load {os.getloadavg()[0]:.1f}\n"
          f"{'':<26}{'Davy':>8}    p50/p99 ms     {'plain':>8}    p50/p99 ms")  # fmt: skip
    rows, figures = [], {}
    with tempfile.TemporaryDirectory() as place:
        workers = ("--workers", str(asked.workers))
        server, plain = Server(Path(place) / "davy", *workers, "--max-wait", "30"), PlainService(asked.workers)
        try:
            targets = {
                "davy": Target(int(server.port), server.process.pid, server.secret),
                "plain": Target(plain.port, plain.process.pid),
            }
            singles = [{"text": text[:5000]} for text in texts]
            batches = [{"texts": texts[n : n + BATCH_OF]} for n in range(0, len(texts) - BATCH_OF, BATCH_OF)]
            cases = [(f"one text, {n} clients", singles, n, 1, SINGLE) for n in CLIENTS]
            cases.append((f"batches of {BATCH_OF}, {BATCH_CLIENTS} clients", batches, BATCH_CLIENTS, BATCH_OF, BATCH))
            for what, bodies, clients, each, goal in cases:
                loads: dict[str, list[TimedLoad]] = {"davy": [], "plain": []}
                for target in targets.values():
                    measure(target, bodies, clients, 1.5)
                for turn in range(asked.turns):
                    for name in ("davy", "plain") if turn % 2 else ("plain", "davy"):
                        loads[name].append(measure(targets[name], bodies, clients, asked.seconds))
                rows.append(compare(what, loads, each, goal))
            figures["memory_mb"] = {"davy": memory(server.process.pid), "plain": memory(plain.process.pid)}
        finally:
            plain.stop()
            server.stop()
        server = Server(Path(place) / "neighbours", *workers)
        try:
            where = (int(server.port), server.process.pid)
            small, large = Target(*where, server.secret), Target(*where, server.add_key("large"))
            neighbours(small, None, texts, 2)
            idle, _ = neighbours(small, None, texts, 2 * asked.seconds)
            beside, floods = neighbours(small, large, texts, 4 * asked.seconds)
        finally:
            server.stop()
    figures["neighbours"] = {
        "idle_p99_ms": round(idle.ms(0.99), 1), "beside_p99_ms": round(beside.ms(0.99), 1),
        "times": round(beside.ms(0.99) / idle.ms(0.99), 2), "answered": beside.statuses[200],
        "refused": sum(n for status, n in beside.statuses.items() if status != 200),
        "large_answered": floods.statuses[200],
        "large_s": round(floods.ms(0.5) / 1000, 1) if floods.latencies else None,
    }  # fmt: skip
    near = figures["neighbours"]
    print(f"neighbours: {near}\nmemory: davy {figures['memory_mb']['davy']:,.0f} MB, "
          f"plain {figures['memory_mb']['plain']:,.0f} MB")  # fmt: skip
    met = {f"{it['what']}: {it['ratio']:.2f} ×, goal ≥ {it['goal']:g}": it["ratio"] >= it["goal"] for it in rows}
    met[f"neighbours' p99 {near['times']:.1f} × idle, goal < {NEIGHBOURS:g}"] = near["times"] < NEIGHBOURS
    met[f"neighbours refused {near['refused']}, goal 0"] = near["refused"] == 0
    for what, is_met in met.items():
        print(f"{what}: {'met' if is_met else 'MISSED'}")
    if asked.json:
        asked.json.write_text(json.dumps({"rows": rows, "figures": figures, "load": os.getloadavg()}, indent=1))
    if not all(met.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
