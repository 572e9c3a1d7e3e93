"""Scoring and ranking as background jobs. Their results and logs hold no figure: a board may be private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from davy.challenges import run_challenge
from davy.jobs.worker import JobContext
from davy.runs.jobs.tasks import JobReporter


@dataclass(frozen=True, slots=True)
class BoardArguments:
    """Which board is ranked."""

    phase: str
    task: str


def score_submission(context: JobContext) -> dict[str, Any]:
    """Score one submission; a second attempt begins anew and ends the same."""
    key = str(context.arguments["submission"])
    run_challenge.score_submission(context.store, key, JobReporter(context))
    return {"submission": key}


def rank_board(context: JobContext) -> dict[str, Any]:
    """Rank one board."""
    wanted = BoardArguments(**context.arguments)
    return {"changed": run_challenge.rank_board(context.store, wanted.phase, wanted.task)}
