"""How far a project's memes are: what waits in each phase, why source memes were discarded, minutes for each meme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from davy.annotation.project.project import Phase, Project
from davy.core.meme import DISCARDS
from davy.memes.meme_families import meme_phases
from davy.memes.store import meme_steps
from davy.store import Connection

PAPER_MINUTES = 27.0
"""Minutes that people spent for each final meme of Hateful Memes, over all phases (section 2)."""


@dataclass(frozen=True, slots=True)
class MemePhaseProgress:
    """One phase: memes that wait, that are done and that were dropped, and the seconds that people spent."""

    phase: Phase
    step: str
    """filter, build, rating or confounders."""
    waiting: int
    done: int
    dropped: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MemeProgress:
    """All phases. `settled` are the memes whose label is settled: the ones that minutes are counted for."""

    phases: tuple[MemePhaseProgress, ...]
    discarded: Mapping[str, int]
    """Why source memes were discarded (`core.meme.DISCARDS`), with how many."""
    settled: int

    def minutes(self, phase: MemePhaseProgress | None = None) -> float | None:
        """Return minutes of work for each settled meme, in one phase or in all; None before any is settled."""
        seconds = sum(it.seconds for it in self.phases) if phase is None else phase.seconds
        return seconds / 60 / self.settled if self.settled else None


def meme_progress(db: Connection, project: Project) -> MemeProgress:
    """Return how far a project's memes are; without phases where it has none for memes."""
    found = meme_phases(db, project)
    ids = [phase.id for phase in found.present]
    states, seconds = meme_steps.item_states(db, ids), meme_steps.seconds_of(db, ids)
    results = meme_steps.count_results(db, project.id)
    rows = tuple(
        MemePhaseProgress(
            phase,
            phase.behaviour.task or "rating",
            waiting=states.get((phase.id, "open"), 0) + states.get((phase.id, "full"), 0),
            done=states.get((phase.id, "settled"), 0),
            dropped=states.get((phase.id, "dropped"), 0),
            seconds=seconds.get(phase.id, (0.0, 0))[0],
        )
        for phase in found.present
    )
    settled = next((row.done for row in rows if row.step == "rating"), 0)
    return MemeProgress(rows, {why: results.get(("filter", why), 0) for why in DISCARDS}, settled)
