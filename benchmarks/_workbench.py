"""A workbench to measure: a database with a project of many posts, and a real `davy serve` over it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

sys.path.append(str(Path(__file__).parent.parent / "tests"))

import postgres_server
from davy import schemes as shipped
from davy.annotation.exchange.jobs import EXPORT, IMPORT
from davy.annotation.labelling.store import items
from davy.annotation.project.store import members, phases, posts, projects
from davy.jobs import store as jobs
from davy.people.store import sessions, users
from davy.runs.jobs.training import TRAIN
from davy.schemes.store import schemes
from davy.store import Store, open_store

WORKERS = 2
"""As docs/serve/serving.md says for a team of 50 at once."""
SECRET = "for a benchmark on loopback that ends in a minute"  # noqa: S105 — made for this, guards nothing
SENTENCE = "On the way home somebody said that grumblefops never listen, and three people laughed about it. "


@dataclass
class Bench:
    """A database with a project, the sessions of its annotators, and its phase."""

    url: str
    store: Store
    sessions: list[str]
    phase: str


@contextlib.contextmanager
def database(kind: str) -> Iterator[str]:
    """Yield the URL of an empty database that is kept on disk as in real work, and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="davy-bench-") as folder:
        if kind == "SQLite":
            yield f"sqlite:///{folder}/davy.sqlite"
            return
        programs = postgres_server.binaries()
        if programs is None:
            raise SystemExit("PostgreSQL is not installed (apt-get install postgresql).")
        with postgres_server.running_server(programs, durable=True) as server:
            name = f"bench_{uuid.uuid4().hex[:8]}"
            postgres_server.run_sql(server, f"CREATE DATABASE {name}")
            yield postgres_server.url(server, name)


@contextlib.contextmanager
def project(url: str, *, n_posts: int, people: int) -> Iterator[Bench]:
    """Yield a project of `n_posts` posts with three answers each, and that many people who are signed in."""
    with open_store(url, create=True) as store:
        scheme = shipped.load("edos")
        ids = [f"post-{number}" for number in range(n_posts)]
        frame = pl.DataFrame({"id": ids, "text": [f"{number}: {SENTENCE}" for number in range(n_posts)]})
        with store.write() as db:
            schemes.save(db, scheme, shipped.text_of("edos").decode(), by="bench")
            never = {"break_after_minutes": None, "break_after_hard": None, "daily_minutes": None}
            projects.create(
                db,
                id="bench",
                title="Bench",
                scheme=scheme.name,
                scheme_version=scheme.version,
                settings={"care": never},
                by="bench",
            )
            posts.ensure(db, frame, project="bench", by="bench")
            tokens = [_annotator(db, number) for number in range(people)]
            phase = phases.add(
                db, "bench", name="main", kind="production", answers=3, in_corpus=True, settings={}, by="bench"
            )
            items.add(db, phase, [(it, None, None) for it in ids], by="bench", seed=1)
            phases.open_phase(db, phase.id, by="bench")
        yield Bench(url, store, tokens, phase.id)


def _annotator(db, number: int) -> str:
    user = users.add(db, login=f"annotator-{number}", name=f"Annotator {number}", role="annotator", by="bench")
    members.add(db, "bench", user.id, ["annotator"], by="bench")
    members.consent(db, "bench", user.id)
    return sessions.start(db, user.id)[1]


class Server:
    """A `davy serve` process on loopback."""

    def __init__(self, url: str, model: str = "keywords:masking", workers: int = WORKERS) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 — lives as long as the server
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "davy", "serve", "--port", "0", "--database", url),
                *("--model", model, "--workers", str(workers)),
            ],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "DAVY_SECRET_KEY": SECRET},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)", line)
        if not found:
            self.stop()
            raise SystemExit(f"The server did not start: {line}{self.said()}")
        self.port = int(found.group(1))

    def said(self) -> str:
        """Return the end of what the server logged."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:]

    def cpu_seconds(self) -> float:
        """Return how much CPU the server's processes have used so far."""
        import psutil

        first = psutil.Process(self.process.pid)
        times = [process.cpu_times() for process in (first, *first.children(recursive=True))]
        return sum(it.user + it.system for it in times)

    def kill(self) -> None:
        """End it as a power cut would: kill -9."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End it in order."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
            if self.process.poll() is None:
                self.kill()


class Nursery:
    """Servers over one database, forked from a process that has all ready (`_nursery`), so that each begins at once."""

    def __init__(self, bench: Bench, servers: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks._nursery", bench.url, str(servers), bench.sessions[-1]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DAVY_SECRET_KEY": SECRET},
        )
        self.ports = [int(port) for port in self._line().split()]
        self._alive = [0] * servers

    def start(self, place: int) -> None:
        """Begin a life; connections are taken from now on."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{place}\n")
        self._process.stdin.flush()
        self._alive[place] = int(self._line())

    def kill(self, places: Sequence[int]) -> None:
        """End lives as a power cut would: kill -9."""
        for place in places:
            os.kill(self._alive[place], signal.SIGKILL)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("The process that forks servers ended.")
        return line

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


@contextlib.contextmanager
def serving(url: str, model: str = "keywords:masking", workers: int = WORKERS) -> Iterator[Server]:
    """Yield a server over the database; it stops with the block."""
    server = Server(url, model, workers)
    try:
        yield server
        time.sleep(0.1)
    finally:
        server.stop()


class Worker:
    """A `davy work` process with jobs in its queue: an `import` into another project, an `export`, a `train`ing."""

    def __init__(self, bench: Bench, imported: int, chosen: Sequence[str] = ("import", "export", "train")) -> None:
        self._bench = bench
        self._folder = tempfile.TemporaryDirectory(prefix="davy-bench-files-")
        folder = Path(self._folder.name)
        lines = [json.dumps({"id": f"new-{n}", "text": f"{n}: {SENTENCE}"}) for n in range(imported)]
        (folder / "new.jsonl").write_text("\n".join(lines), encoding="utf-8")
        labels = ["sexist" if n % 3 else "not sexist" for n in range(2_000)]
        texts = [f"{n}: {SENTENCE}{label}" for n, label in enumerate(labels)]
        pl.DataFrame({"text": texts, "sexist.gold": labels}).write_csv(folder / "learn.csv")
        wanted = {
            IMPORT: {"project": "other", "format": "doccano", "phase": "main", "file": str(folder / "new.jsonl")},
            EXPORT: {"project": "bench", "format": "long", "file": "out.csv"},
            TRAIN: {"posts": [str(folder / "learn.csv")], "scheme": "edos", "out": str(folder / "made")},
        }
        with bench.store.write() as db:
            scheme = shipped.load("edos")
            about = {"scheme": scheme.name, "scheme_version": scheme.version, "settings": {}, "by": "bench"}
            projects.create(db, id="other", title="Other", **about)
            phases.add(db, "other", name="main", kind="production", answers=3, in_corpus=True, settings={}, by="bench")
            self.jobs = {
                name: jobs.enqueue(db, name, given, owner="bench").id
                for name, given in wanted.items()
                if name.split()[0] in chosen
            }
        command = [sys.executable, "-m", "davy", "work", "--database", bench.url, "--files", str(folder / "files")]
        (folder / "files").mkdir()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def states(self) -> dict[str, str]:
        """Return how each job is, with how far a running one has come."""
        with self._bench.store.read() as db:
            found = {name: jobs.get(db, job) for name, job in self.jobs.items()}
        for name, job in found.items():
            if job.state == "running":
                print(f"  {name}: {job.done:,} of {job.total or 0:,}")
            elif job.error:
                print(f"  {name}: {job.error}")
        return {name: job.state for name, job in found.items()}

    def wait_until_running(self) -> None:
        """Wait until the import writes; without one, until the first job runs."""
        first = next(iter(self.jobs))
        for _ in range(1200):
            with self._bench.store.read() as db:
                job = jobs.get(db, self.jobs[first])
            if job.done if first == IMPORT else job.state == "running":
                return
            time.sleep(0.1)
        raise SystemExit(f"The first job did not begin: {self.states()}")

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self._folder.cleanup()
