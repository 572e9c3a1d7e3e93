"""Attacks and closes of rounds as background jobs: the same actions as the shell's, with a job's reporter.

Files of an attack hold texts that hurt, so they are kept and deleted like exports; the job's row has only counts. A
close that is started again after a crash continues in the round's folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from davy.core.errors import UserError
from davy.core.scorer import Scorer
from davy.detectors import store as detectors
from davy.detectors.load import load
from davy.detectors.registered import load_with_thresholds
from davy.jobs import job_files
from davy.jobs.kinds import from_mapping, path_field
from davy.jobs.worker import JobContext
from davy.rounds import attack as round_attack
from davy.rounds.attack import TRIES
from davy.rounds.candidates import BASE, EMOJI, TIMES
from davy.rounds.close_round import CloseSettings, close_project_round
from davy.runs.jobs.tasks import JobReporter
from davy.training.train import parse_changes

ATTACK = "attack a target"

ATTACK = "attack a target"
CLOSE_ROUND = "close round"

SEEDS = "seeds.jsonl"
PROPOSALS = "proposals.jsonl"


@dataclass(frozen=True, slots=True)
class AttackArguments:
    """Which target (name@version) is attacked, from which upload of seeds, how.

    `source` is what the server's own detector is loaded by, where that is the target and the store does not know it.
    """

    project: str
    target: str
    upload: str
    source: str = ""
    strategies: tuple[str, ...] = ()
    tries: int = TRIES


def attack_target(context: JobContext) -> dict[str, Any]:
    """Attack a target and return how each strategy did. An attempt after a crash begins anew: it takes minutes."""
    wanted = from_mapping(AttackArguments, context.arguments)
    folder = context.require_files()
    job_files.sweep(folder)
    seeds = job_files.find_file(folder, wanted.upload, SEEDS)
    if seeds is None:
        raise UserError("The seeds of this attack are no longer here. Start it again.", status=410)
    scorer = _load_target(context, wanted)
    own = job_files.make_folder(folder, context.job.id)
    try:
        result = round_attack.attack_target(
            seeds,
            scorer,
            out=own / PROPOSALS,
            strategies=wanted.strategies,
            tries=wanted.tries,
            reporter=JobReporter(context),
        )
    except BaseException:  # cancelled, stopped or failed: nothing half-made stays
        job_files.discard(folder, context.job.id)
        raise
    return {
        "target": result.target,
        "seeds": result.seeds,
        "already_wrong": result.already_wrong,
        "proposals": len(result.proposals),
        "strategies": [[it.strategy, it.seeds, it.texts, it.through] for it in result.counts],
    }


def _load_target(context: JobContext, wanted: AttackArguments) -> Scorer:
    """Return the target: the server's own detector, or one that the store knows."""
    if wanted.source:
        scorer = load(wanted.source)
        if f"{scorer.name}@{scorer.version}" == wanted.target:
            return scorer
    with context.store.read() as db:
        entry = detectors.find(db, wanted.target)
    return load_with_thresholds(entry)


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
