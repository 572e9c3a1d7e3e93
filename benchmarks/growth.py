"""CPU time of every page that a project has, with 1,000 posts and with many: none may grow with the project.

Every address of the app that answers a GET is asked for, as somebody who may, with the filters of the pages that have
some. Right after the rows came in, as after an import. Each figure is the median of several requests; on PostgreSQL it
is the mean, with the time of its own processes. Run alone with `python -m benchmarks.growth`: `--posts 500000` says how
many (100,000 without it), `--postgresql` takes that database, `--like verdicts` only addresses with that word.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from benchmarks._workbench import database

sys.path.append(str(Path(__file__).parent.parent / "tests" / "server"))

from test_routes import lines

from davy.store import Store
from grown_project import addresses, grown_site
from web_site import Site

AT_MOST = 5.0
"""How often its time with 1,000 posts a page may take with many."""
SMALL = 1_000
LEAST_MS = 2.0
"""Milliseconds below which a difference is measured as noise."""
REPEATS = 7
HTTP_OK, HTTP_BUG = 200, 500
LONGEST = 20.0
"""Seconds after which a page is not asked for again."""
SETTLED = 75_000
"""Posts with two verdicts each, at most."""


def main() -> None:
    """Print a table, the pages that grew most first; exit 1 where one grew too much."""
    many = int(_option("--posts") or 100_000)
    kind = "PostgreSQL" if "--postgresql" in sys.argv else "SQLite"
    like = _option("--like")
    small, large = (_measure(kind, n, like) for n in (SMALL, many))
    rows = sorted(((name, small[name], large.get(name, 0.0)) for name in small), key=lambda it: -it[2] / it[1])
    print(f"{kind}: CPU ms of a page{'':44}{SMALL:>10,}{many:>10,}{'ratio':>8}")
    for name, before, after in rows:
        print(f"{name:65}{before:10.1f}{after:10.1f}{after / before:8.1f}")
    missed = [name for name, before, after in rows if after > AT_MOST * max(before, LEAST_MS)]
    if missed:
        raise SystemExit(f"More than {AT_MOST:g} times: {len(missed)} pages.")
    print(f"At most {AT_MOST:g} times everywhere.")


def _option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""


def _measure(kind: str, n: int, like: str) -> dict[str, float]:
    """Return address → CPU milliseconds with `n` posts."""
    with database(kind) as url, tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with grown_site(url, Path(folder), n=n, settled=min(n * 3 // 4, SETTLED)) as (site, values):
            print(f"{n:,} posts are there after {time.perf_counter() - began:.0f} s.", file=sys.stderr, flush=True)
            return dict(_times(site, values, like))


def _times(site: Site, values: dict[str, str], like: str) -> Iterator[tuple[str, float]]:
    """Yield each address with its CPU milliseconds: the first request loads what stays, and is not counted."""
    clients: dict[str, Any] = {}
    limit = _Limit(site.store)
    for who, name, address in addresses(lines(), values):
        if like not in name:
            continue
        if who not in clients:
            clients[who] = site.as_(who)
        taken: list[float] = []
        status = HTTP_OK
        while len(taken) <= REPEATS and sum(taken) < LONGEST and status == HTTP_OK:
            before = _cpu_seconds()
            with limit, contextlib.suppress(OperationalError):
                status = HTTP_BUG
                status = clients[who].get(address).status_code
            taken.append(_cpu_seconds() - before)
        if status == HTTP_OK or status >= HTTP_BUG:
            counted = taken[1:] or taken
            # A tick of another process is 10 ms, so its share is seen in the sum alone.
            middle = statistics.median(counted) if site.store.sqlite else statistics.mean(counted)
            yield name, 1_000 * middle


class _Limit:
    """Within the block, a statement that takes longer than `LONGEST` is ended by the database."""

    def __init__(self, store: Store) -> None:
        self._until = 0.0
        store.engine.dispose()  # the connections that are made from now on have the limit
        event.listen(store.engine, "connect", self._limit_sqlite if store.sqlite else self._limit_postgresql)

    def _limit_sqlite(self, raw: Any, _record: object) -> None:
        raw.set_progress_handler(lambda: time.process_time() > self._until, 100_000)

    def _limit_postgresql(self, raw: Any, _record: object) -> None:
        raw.execute(f"SET SESSION statement_timeout = {int(LONGEST * 1000)}")
        raw.commit()

    def __enter__(self) -> None:
        self._until = time.process_time() + LONGEST

    def __exit__(self, *_: object) -> None:
        self._until = float("inf")


def _cpu_seconds() -> float:
    """Return how much CPU this process and PostgreSQL's have used."""
    own = psutil.Process()
    servers = [it for child in own.children() if child.name() == "postgres" for it in (child, *child.children())]
    used = [it.cpu_times() for it in servers]
    return sum(it.user + it.system for it in used) + time.process_time()


if __name__ == "__main__":
    main()
