"""kill -9 of the server again and again while 20 people label over HTTP: `python -m benchmarks.kills 1000 --sqlite`.

Aim: every answer that was acknowledged is stored, no item has too many answers, and all counts add up. Two server
processes over one database take the people between them; a kill ends one of the two, or both at once. Each runs
what `davy serve` runs, over a database that is kept on disk; they are forked from a process that has imported
everything, so that a life begins within tenths of a second. What was sent and not acknowledged is sent again to the
next life. The database is looked through after every hundred kills.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import func, select

from benchmarks._people import Heard, Person, choices
from benchmarks._workbench import Bench, ForkedServer, database, project
from davy.store.tables import annotations, assignments, items, tallies

PEOPLE = 20
SERVERS = 2
CHECK_EVERY = 100
BOTH = 0.3
"""The share of kills that end both processes at once, as a power cut does."""


@dataclass
class Kills:
    """What was killed, and what people met."""

    heard: Heard = field(default_factory=Heard)
    kills: int = 0
    processes: int = 0
    in_flight: int = 0
    """Answers that were sent and not acknowledged when their server died."""
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    """Print a line for every hundred kills; exit 1 if an aim was missed."""
    numbers = [int(it) for it in sys.argv[1:] if it.isdigit()]
    wanted = numbers[0] if numbers else 10
    kinds = [kind for kind in ("SQLite", "PostgreSQL") if f"--{kind.lower()}" in sys.argv] or ["SQLite", "PostgreSQL"]
    missed: list[str] = []
    for kind in kinds:
        with database(kind) as url, project(url, n_posts=max(2_000, 60 * wanted), people=PEOPLE) as bench:
            missed += [f"{kind}: {line}" for line in run(kind, bench, wanted)]
    print("All aims reached." if not missed else "\n".join(["Missed:", *missed]))
    if missed:
        raise SystemExit(1)


def run(kind: str, bench: Bench, wanted: int, before: list[str] | None = None) -> list[str]:
    """Kill so often, print how it went, and return what is wrong; `before` are answers acknowledged earlier."""
    began = time.perf_counter()
    done = asyncio.run(_kill(kind, bench, wanted, before or []))
    done.wrong += [f"{n} × {what}" for what, n in Counter(done.heard.errors).items()]
    said = "wrong, see below" if done.wrong else "all stored, none over-assigned"
    print(
        f"{kind:11}{done.kills:,} kills of {done.processes:,} processes among {PEOPLE} people in "
        f"{time.perf_counter() - began:,.0f} s: {len(done.heard.acknowledged):,} acknowledged, {done.in_flight:,} "
        f"under way when their server died, {said}",
        flush=True,
    )
    return done.wrong


async def _kill(kind: str, bench: Bench, wanted: int, before: list[str]) -> Kills:
    done = Kills()
    chance = random.Random(9)  # noqa: S311 — a schedule, not a secret
    crew = [Person("/projects/bench", token, choices(token), done.heard) for token in bench.sessions[:PEOPLE]]
    halves = [crew[place::SERVERS] for place in range(SERVERS)]
    lives = [await _Life.begin(bench, half) for half in halves]
    while done.kills < wanted and not done.wrong:
        for life in lives:  # so that each is in the middle of the work when it dies
            await life.until_busy(done.heard)
        await asyncio.sleep(chance.uniform(0.0, 0.15))
        dying = list(range(SERVERS)) if chance.random() < BOTH else [chance.randrange(SERVERS)]
        for place in dying:
            lives[place].server.kill()
        done.kills += 1
        done.processes += len(dying)
        for place in dying:
            done.in_flight += await lives[place].end()
        fresh = await asyncio.gather(*(_Life.begin(bench, halves[place]) for place in dying))
        for place, life in zip(dying, fresh, strict=True):
            lives[place] = life
        if done.kills % CHECK_EVERY == 0 or done.kills == wanted:
            for life in lives:
                life.server.kill()
            for life in lives:
                done.in_flight += await life.end()
            done.wrong += find_wrong(bench, [*before, *done.heard.acknowledged], f"after {done.kills} kills")
            print(f"{kind:11}{done.kills:>6,} kills, {len(done.heard.acknowledged):>8,} acknowledged", flush=True)
            if done.kills < wanted:
                lives = [await _Life.begin(bench, half) for half in halves]
    for life in lives:
        life.server.kill()
        await life.end()
    return done


class _Life:
    """One server process and the people who work on it."""

    def __init__(self, server: ForkedServer, crew: list[Person]) -> None:
        self.server, self._crew = server, crew
        for person in crew:
            person.use(server.port)
        self._tasks = [asyncio.create_task(_until_dead(person)) for person in crew]
        self._before = sum(person.answered for person in crew)

    @classmethod
    async def begin(cls, bench: Bench, crew: list[Person]) -> _Life:
        return cls(await asyncio.to_thread(ForkedServer, bench.url), crew)

    async def until_busy(self, heard: Heard) -> None:
        """Wait until most of its people were answered."""
        for _ in range(3000):
            if sum(person.answered for person in self._crew) - self._before >= len(self._crew) // 2:
                return
            await asyncio.sleep(0.01)
        heard.errors.append("a server was up for 30 s and acknowledged hardly anything")

    async def end(self) -> int:
        """Wait for its people, who find it dead; return how many had sent an answer that was not acknowledged."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for person in self._crew:
            person.line.close()
        return sum(person.pending is not None for person in self._crew)


async def _until_dead(person: Person) -> None:
    try:
        more = True if person.pending else await person.begin()
        while more:
            more = await person.answer()
    except (OSError, asyncio.IncompleteReadError):
        return


def find_wrong(bench: Bench, acknowledged: list[str], when: str) -> list[str]:
    """Return what is wrong in the database: too many answers, answers lost, counts that don't add up."""
    with bench.store.read() as db:
        kept = set(db.scalars(select(annotations.c.id).where(annotations.c.project == "bench")))
        over = db.scalar(select(func.count()).where(items.c.given > 3))
        negative = db.scalar(select(func.count()).where(items.c.room < 0))
        states = db.execute(select(assignments.c.item, assignments.c.state)).all()
        own = items.c.phase == bench.phase
        rows = db.execute(select(items.c.id, items.c.given, items.c.room).where(own)).all()
        counted = db.scalar(select(func.sum(tallies.c.given)))
    done = Counter(item for item, state in states if state == "done")
    held = Counter(item for item, state in states if state == "held")
    lost = len(set(acknowledged) - kept)
    odd = sum(1 for it in rows if it.given != done[it.id] or it.room != 3 - it.given - held[it.id])
    twice = len(acknowledged) - len(set(acknowledged))
    found = {
        f"{when}: {over} items have more than three answers": over,
        f"{when}: {negative} items were given out too often": negative,
        f"{when}: {lost} acknowledged answers are lost": lost,
        f"{when}: {odd} items whose counts don't add up": odd,
        f"{when}: {twice} answers acknowledged twice": twice,
        f"{when}: the tallies say {counted}, but {len(kept)} answers are there": counted != len(kept),
    }
    return [line for line, wrong in found.items() if wrong]


if __name__ == "__main__":
    main()
