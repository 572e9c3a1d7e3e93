"""What runs offer to the rest."""

from davy.core.feature import Feature, JobKind


def _run(name: str, function: str, arguments: str) -> JobKind:
    module = "davy.runs.jobs.tasks"
    pages = ("/runs/{id}", "/projects/{project}/train/runs/{id}")
    return JobKind(name, f"{module}:{function}", f"{module}:{arguments}", True, None, *pages)


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
        JobKind(
            "train",
            "davy.runs.jobs.training:train",
            "davy.runs.jobs.training:TrainArguments",
            long=True,
            project_page="/projects/{project}/train/{id}",
        ),
        _run("score", "score", "ScoreArguments"),
        _run("compare detectors", "compare", "CompareArguments"),
        _run("evaluate", "evaluate", "EvaluateArguments"),
        _run("check", "check", "CheckArguments"),
        _run("sample", "sample", "SampleArguments"),
    ),
)
