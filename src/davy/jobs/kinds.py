"""Kinds of background job: what each is called, and where its function is, which is imported when a job runs.

Long kinds take minutes to days, quick ones seconds to minutes. A worker process has
threads for each, so that a training never holds up an export.
"""

from __future__ import annotations

from collections.abc import Mapping

from davy.core.errors import UserError, nearest

EXPORT = "export project"
IMPORT = "import into project"
MEASURE_AGREEMENT = "measure agreement"
TRAIN = "train"
WEBHOOK = "deliver webhook"
FIT_THRESHOLD = "fit threshold"
CLOSE_ROUND = "close round"
SCORE_SUBMISSION = "score submission"
RANK_BOARD = "rank board"
ATTACK = "attack a target"
SCORE = "score"
COMPARE = "compare detectors"
EVALUATE = "evaluate"
CHECK = "check"
SAMPLE = "sample"
RETENTION = "apply retention rules"

QUICK: Mapping[str, str] = {
    EXPORT: "davy.annotation.exchange.jobs:export_project",
    IMPORT: "davy.annotation.exchange.jobs:import_file",
    MEASURE_AGREEMENT: "davy.annotation.settling.jobs:measure_agreement",
    WEBHOOK: "davy.moderation.jobs.webhooks:deliver_webhook",
    FIT_THRESHOLD: "davy.moderation.jobs.thresholds:fit_community_threshold",
    SCORE_SUBMISSION: "davy.challenges.jobs:score_submission",
    RANK_BOARD: "davy.challenges.jobs:rank_board",
    ATTACK: "davy.rounds.jobs.attack:attack_target",
    RETENTION: "davy.people.retention:apply_rules",
}
LONG: Mapping[str, str] = {
    TRAIN: "davy.runs.jobs.training:train",
    CLOSE_ROUND: "davy.rounds.jobs.close:close_round",
    SCORE: "davy.runs.jobs.tasks:score",
    COMPARE: "davy.runs.jobs.tasks:compare",
    EVALUATE: "davy.runs.jobs.tasks:evaluate",
    CHECK: "davy.runs.jobs.tasks:check",
    SAMPLE: "davy.runs.jobs.tasks:sample",
}
ALL: Mapping[str, str] = {**QUICK, **LONG}

ARGUMENTS: Mapping[str, str] = {
    EXPORT: "davy.annotation.exchange.jobs:ExportArguments",
    IMPORT: "davy.annotation.exchange.jobs:ImportArguments",
    TRAIN: "davy.runs.jobs.training:TrainArguments",
    CLOSE_ROUND: "davy.rounds.jobs.close:CloseArguments",
    SCORE: "davy.runs.jobs.tasks:ScoreArguments",
    COMPARE: "davy.runs.jobs.tasks:CompareArguments",
    EVALUATE: "davy.runs.jobs.tasks:EvaluateArguments",
    CHECK: "davy.runs.jobs.tasks:CheckArguments",
    SAMPLE: "davy.runs.jobs.tasks:SampleArguments",
}
"""The dataclass of the arguments of each kind that a person may start."""


def check_kinds(names: list[str]) -> list[str]:
    """Return the kinds; one that there isn't is an error."""
    for name in names:
        if name not in ALL:
            raise UserError(f"There is no kind of job {name!r}; there are {', '.join(ALL)}.{nearest(name, list(ALL))}")
    return names
