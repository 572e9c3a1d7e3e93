"""What runs offer to the rest."""

from davy.core.feature import Feature, JobKind

FEATURE = Feature(
    tables=("davy.runs.store",),
    routers=(
        "davy.runs.pages.job_runs:router",  # before the trainings, since `runs` and `suites` are none
        "davy.runs.pages.suites:router",
        "davy.runs.pages.train:router",
        "davy.runs.pages.jobs:router",
        "davy.runs.pages.score:router",
    ),
    jobs=(
        JobKind("train", "davy.runs.jobs.training:train", "davy.runs.jobs.training:TrainArguments", long=True),
        JobKind("score", "davy.runs.jobs.tasks:score", "davy.runs.jobs.tasks:ScoreArguments", long=True),
        JobKind(
            "compare detectors", "davy.runs.jobs.tasks:compare", "davy.runs.jobs.tasks:CompareArguments", long=True
        ),
        JobKind("evaluate", "davy.runs.jobs.tasks:evaluate", "davy.runs.jobs.tasks:EvaluateArguments", long=True),
        JobKind("check", "davy.runs.jobs.tasks:check", "davy.runs.jobs.tasks:CheckArguments", long=True),
        JobKind("sample", "davy.runs.jobs.tasks:sample", "davy.runs.jobs.tasks:SampleArguments", long=True),
    ),
)
