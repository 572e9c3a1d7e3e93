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
    EXPORT: "davy.jobs.exchange:export_project",
    IMPORT: "davy.jobs.exchange:import_file",
    MEASURE_AGREEMENT: "davy.jobs.agreement:measure_agreement",
    WEBHOOK: "davy.jobs.webhooks:deliver_webhook",
    FIT_THRESHOLD: "davy.jobs.thresholds:fit_community_threshold",
    SCORE_SUBMISSION: "davy.jobs.challenge:score_submission",
    RANK_BOARD: "davy.jobs.challenge:rank_board",
    ATTACK: "davy.jobs.attack:attack_target",
    RETENTION: "davy.jobs.retention:apply_rules",
}
LONG: Mapping[str, str] = {
    TRAIN: "davy.jobs.training:train",
    CLOSE_ROUND: "davy.jobs.rounds:close_round",
    SCORE: "davy.jobs.tasks:score",
    COMPARE: "davy.jobs.tasks:compare",
    EVALUATE: "davy.jobs.tasks:evaluate",
    CHECK: "davy.jobs.tasks:check",
    SAMPLE: "davy.jobs.tasks:sample",
}
ALL: Mapping[str, str] = {**QUICK, **LONG}

ARGUMENTS: Mapping[str, str] = {
    EXPORT: "davy.jobs.exchange:ExportArguments",
    IMPORT: "davy.jobs.exchange:ImportArguments",
    TRAIN: "davy.jobs.training:TrainArguments",
    CLOSE_ROUND: "davy.jobs.rounds:CloseArguments",
    SCORE: "davy.jobs.tasks:ScoreArguments",
    COMPARE: "davy.jobs.tasks:CompareArguments",
    EVALUATE: "davy.jobs.tasks:EvaluateArguments",
    CHECK: "davy.jobs.tasks:CheckArguments",
    SAMPLE: "davy.jobs.tasks:SampleArguments",
}
"""The dataclass of the arguments of each kind that a person may start."""


def check_kinds(names: list[str]) -> list[str]:
    """Return the kinds; one that there isn't is an error."""
    for name in names:
        if name not in ALL:
            raise UserError(f"There is no kind of job {name!r}; there are {', '.join(ALL)}.{nearest(name, list(ALL))}")
    return names
