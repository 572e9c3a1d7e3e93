"""Closing a round as a background job: the same action as the shell's, with a job's reporter.

An attempt after a crash makes the same call again; the close goes on in the round's folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from davy.jobs import job_files
from davy.jobs.arguments import from_mapping, path_field
from davy.jobs.worker import JobContext
from davy.rounds.candidates import BASE, EMOJI, TIMES
from davy.rounds.close_round import CloseSettings, close_project_round
from davy.runs.jobs.tasks import JobReporter
from davy.training.train import parse_changes

CLOSE_ROUND = "close round"


@dataclass(frozen=True, slots=True)
class CloseArguments:
    """Which project's round is closed, with which candidates, and what becomes of entries nobody validated."""

    project: str = ""
    architectures: tuple[str, ...] = (BASE,)
    emoji: tuple[str, ...] = EMOJI
    times: tuple[int, ...] = TIMES
    base: str = path_field("")
    choose_by: str = "dev"
    pending: str = "refuse"
    seed: int = 0
    set: tuple[str, ...] = ()
    """Fields of the recipe, `FIELD=VALUE`."""


def close_round(context: JobContext) -> dict[str, Any]:
    """Close a round and return its next target and how it was chosen."""
    wanted = from_mapping(CloseArguments, context.arguments)
    files = context.require_files()
    encoders = files / job_files.ENCODERS
    named = tuple(str(encoders / it) if (encoders / it).is_dir() else it for it in wanted.architectures)
    settings = CloseSettings(
        named,
        wanted.emoji,
        tuple(int(each) for each in wanted.times),
        wanted.base,
        wanted.choose_by,
        wanted.pending,
        wanted.seed,
        set=parse_changes(wanted.set),
    )
    closed = close_project_round(
        context.store, wanted.project, files, settings, by=context.job.owner, reporter=JobReporter(context)
    )
    return {"round": closed.number, "target": closed.target, "winner": closed.outcome.winner.candidate.name}
