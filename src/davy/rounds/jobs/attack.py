"""An attack on a target as a background job: seeds in the folder of an upload, proposals in the job's own.

Both files hold texts that hurt, so they lie where exports lie, go as exports go, and the job's row has only counts.
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
from davy.jobs.arguments import from_mapping
from davy.jobs.worker import JobContext
from davy.rounds import attack as round_attack
from davy.rounds.attacker import TRIES
from davy.runs.jobs.tasks import JobReporter

ATTACK = "attack a target"

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
