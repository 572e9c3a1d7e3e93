"""kill -9 of the server again and again while 20 people label over HTTP: `python -m benchmarks.kills 1000 --sqlite`.

Aim: every answer that was acknowledged is stored, no item has too many answers, and all counts add up. Two server
processes over one database take the people between them; a kill ends one of the two, or both at once. Each runs
what `davy serve` runs, over a database that is kept on disk; they are forked from a process that has imported
everything, so that a life begins within tenths of a second. What was sent and not acknowledged is sent again to the
next life. The database is looked through after every hundred kills. `--minutes 20` ends each database's run after
that long, with the kills that were done.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import func, select

from benchmarks._people import Person, RunOutcomes, choices
from benchmarks._workbench import Bench, Nursery, database, project
from davy.annotation.labelling.store.tables import annotations, assignments, tallies
from davy.annotation.project.store.tables import items

PEOPLE = 20
SERVERS = 2
CHECK_EVERY = 100
BOTH = 0.3
"""The share of kills that end both processes at once, as a power cut does."""


@dataclass
class Kills:
    """What was killed, and what people met."""

    outcomes: RunOutcomes = field(default_factory=RunOutcomes)
    kills: int = 0
    processes: int = 0
    in_flight: int = 0
    """Answers that were sent and not acknowledged when their server died."""
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    """Print a line for every hundred kills; exit 1 if an aim was missed."""
    wanted = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 10
    minutes = int(sys.argv[sys.argv.index("--minutes") + 1]) if "--minutes" in sys.argv else 0
    kinds = [kind for kind in ("SQLite", "PostgreSQL") if f"--{kind.lower()}" in sys.argv] or ["SQLite", "PostgreSQL"]
    missed: list[str] = []
    for kind in kinds:
        with database(kind) as url, project(url, n_posts=max(2_000, 60 * wanted), people=PEOPLE + 1) as bench:
            missed += [f"{kind}: {line}" for line in run(kind, bench, wanted, minutes=minutes)]
    print("All aims reached." if not missed else "\n".join(["Missed:", *missed]))
    if missed:
        raise SystemExit(1)


def run(kind: str, bench: Bench, wanted: int, before: list[str] | None = None, *, minutes: int = 0) -> list[str]:
    """Kill so often, print how it went, and return what is wrong; `before` are answers acknowledged earlier."""
    began = time.perf_counter()
    done = asyncio.run(_kill(kind, bench, wanted, before or [], began + 60 * minutes if minutes else float("inf")))
    done.wrong += [f"{n} × {what}" for what, n in Counter(done.outcomes.errors).items()]
    said = "wrong, see below" if done.wrong else "all stored, none over-assigned"
    print(
        f"{kind:11}{done.kills:,} kills of {done.processes:,} processes among {PEOPLE} people in "
        f"{time.perf_counter() - began:,.0f} s: {len(done.outcomes.acknowledged):,} acknowledged, {done.in_flight:,} "
        f"under way when their server died, {said}",
        flush=True,
    )
    return done.wrong


async def _kill(kind: str, bench: Bench, wanted: int, before: list[str], until: float) -> Kills:
    done = Kills()
    chance = random.Random(9)  # noqa: S311 — a schedule, not a secret
    crew = [Person("/projects/bench", token, choices(token), done.outcomes) for token in bench.sessions[:PEOPLE]]
    with Nursery(bench, SERVERS) as nursery:
        lives = [_Life(nursery, place, crew[place::SERVERS]) for place in range(SERVERS)]
        last = False
        while not last and not done.wrong:
            for life in lives:  # so that each is in the middle of the work when it dies
                await life.until_busy(done.outcomes)
            await asyncio.sleep(chance.uniform(0.0, 0.1))
            dying = lives if chance.random() < BOTH else [chance.choice(lives)]
            nursery.kill([life.place for life in dying])
            done.kills += 1
            done.processes += len(dying)
            last = done.kills == wanted or time.perf_counter() > until
            if last or done.kills % CHECK_EVERY == 0:
                nursery.kill([life.place for life in lives if life not in dying])
                dying = lives
            for life in dying:
                done.in_flight += await life.end()
            if dying is lives and (last or done.kills % CHECK_EVERY == 0):
                done.wrong += find_wrong(bench, [*before, *done.outcomes.acknowledged], f"after {done.kills} kills")
                print(
                    f"{kind:11}{done.kills:>6,} kills, {len(done.outcomes.acknowledged):>8,} acknowledged", flush=True
                )
            if not last:
                lives = [_Life(nursery, it.place, it.crew) if it in dying else it for it in lives]
    return done


class _Life:
    """One server process and the people who work on it."""

    def __init__(self, nursery: Nursery, place: int, crew: list[Person]) -> None:
        self.place, self.crew = place, crew
        nursery.start(place)
        for person in crew:
            person.use(nursery.ports[place])
        self._tasks = [asyncio.create_task(_until_dead(person)) for person in crew]
        self._before = sum(person.answered for person in crew)

    async def until_busy(self, outcomes: RunOutcomes) -> None:
        """Wait until half of its people were answered."""
        for _ in range(6000):
            if sum(person.answered for person in self.crew) - self._before >= len(self.crew) // 2:
                return
            await asyncio.sleep(0.005)
        outcomes.errors.append("a server was up for 30 s and acknowledged hardly anything")

    async def end(self) -> int:
        """Wait for its people, who find it dead; return how many had sent an answer that was not acknowledged."""
        _, waiting = await asyncio.wait(self._tasks, timeout=0.5)
        for task in waiting:  # not accepted yet when it died: the socket lives on, so nobody tells them
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for person in self.crew:
            person.line.close()
        return sum(person.pending is not None for person in self.crew)


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
