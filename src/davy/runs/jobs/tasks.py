"""The long kinds of job: score, compare, evaluate, check, sample, each the action of that name with a job's reporter.

A job's arguments in, what its page shows out. An attempt after a crash makes the same
call again, with the same folder: the action goes on from its checkpoint or its parts.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from davy.annotation.exchange.exchange import ExportRequest, export_project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import projects
from davy.core import Scheme
from davy.core.errors import UserError
from davy.core.reporter import Reporter
from davy.core.scorer import Scorer
from davy.corpus.post_source import PostSource
from davy.corpus.sample import sample as sample_action
from davy.corpus.sample.plan import SamplingPlan
from davy.corpus.sample.plan import parse as parse_plan
from davy.detectors import store as detectors
from davy.detectors.registered import load_with_thresholds
from davy.evaluation import compare_detectors as compare_action
from davy.evaluation import evaluate_detectors as evaluate_action
from davy.files.atomic import write_text
from davy.jobs import job_files
from davy.jobs.kinds import from_mapping, path_field
from davy.jobs.worker import JobContext
from davy.measure.intervals import Bootstrap
from davy.runs import store as project_suites
from davy.scoring import score_file as score_action
from davy.testing import check as check_action
from davy.testing.suite import Suite
from davy.testing.suite_source import load_project_suite

SCORE = "score"
COMPARE = "compare detectors"
EVALUATE = "evaluate"
CHECK = "check"
SAMPLE = "sample"

POSTS = "posts.parquet"


@dataclass(frozen=True, slots=True)
class ScoreArguments:
    """Which file is scored, by which model, into which file.

    A page sends the id of an `upload` beside its file's name, and an empty `out`: the job's own folder.
    """

    file: str = path_field()
    out: str = path_field(new=True)
    model: str = path_field("embedded")
    text_column: str = ""
    why: bool = False
    cascade: bool = True
    upload: str = ""
    registered: str = ""
    """The id of the model in the registry, whose thresholds then decide."""


@dataclass(frozen=True, slots=True)
class CompareArguments:
    """Which file is scored by which two models, and what each is called.

    `registered` has, for each model, its id in the registry, whose thresholds then decide; empty where it has none.
    """

    file: str = path_field()
    models: tuple[str, ...] = path_field(())
    names: tuple[str, ...] = ()
    registered: tuple[str, ...] = ()
    text_column: str = ""
    out: str = path_field("", new=True)
    upload: str = ""


@dataclass(frozen=True, slots=True)
class EvaluateArguments:
    """Which labelled posts (a file, or a project's settled answers), which models, and the folder for the report."""

    file: str = path_field()
    out: str = path_field(new=True)
    models: tuple[str, ...] = path_field(())
    names: tuple[str, ...] = ()
    registered: tuple[str, ...] = ()
    corpus: str = ""
    scheme: str = ""
    split: str = ""
    seed: int = 0
    upload: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True)
class CheckArguments:
    """Which suite (a name, a file, or `SUITE_ID@VERSION` of a project's own), which models, and the report's folder."""

    suite: str = path_field()
    out: str = path_field(new=True)
    models: tuple[str, ...] = path_field(())
    names: tuple[str, ...] = ()
    registered: tuple[str, ...] = ()
    gate: str = path_field("")
    project: str = ""
    """The project whose own suite it is."""


@dataclass(frozen=True, slots=True)
class SampleArguments:
    """Which file is sampled by which plan, who its judges are (`NAME=MODEL#QUESTION`), and with which seed.

    A page sends the plan itself as `plan_text`, and the words of its word list, `words.txt`.
    """

    file: str = path_field()
    out: str = path_field(new=True)
    plan: str = path_field("edos")
    judges: tuple[str, ...] = ()
    seed: int = 0
    text_column: str = ""
    upload: str = ""
    plan_text: str = ""
    words: tuple[str, ...] = ()


class JobReporter(Reporter):
    """Tells a job's row how far an action is, and ends the action where the job must end."""

    def __init__(self, context: JobContext) -> None:
        super().__init__()
        self._context = context
        self._done = 0

    def begin(self, task: str, total: int | None = None) -> None:
        """Show a new task on the job's page."""
        self._done = 0
        self._context.begin(task, total)

    def advance(self, steps: int = 1) -> None:
        """Count steps; at most two writes a second reach the store."""
        self._done += steps
        self._context.progress(self._done)

    def note(self, line: str) -> None:
        """Add a line to the job's log."""
        self._context.log(line)

    def check(self) -> None:
        """Raise where the job is cancelled, stopping, or taken over."""
        self._context.check()


def score(context: JobContext) -> dict[str, Any]:
    """Score a file and return how often each verdict was given."""
    wanted = from_mapping(ScoreArguments, context.arguments)
    path = input_file(context, wanted.file, wanted.upload)
    out = Path(wanted.out) if wanted.out else _own_file(context, f"{path.name.split('.')[0]}-scored{_ending(path)}")
    source = PostSource(str(path), text=wanted.text_column or None)
    model = find_model(context, wanted.model, wanted.registered)
    done = score_action.score_file(
        source, out, model, cascade=wanted.cascade and not wanted.why, why=wanted.why, reporter=JobReporter(context)
    )
    return _with_file(context, wanted.upload, out, done.to_dict())


def compare(context: JobContext) -> dict[str, Any]:
    """Score a file by two detectors and return how often they differ."""
    wanted = from_mapping(CompareArguments, context.arguments)
    path = input_file(context, wanted.file, wanted.upload)
    out = Path(wanted.out) if wanted.out else _own_file(context, f"{path.name.split('.')[0]}-compared{_ending(path)}")
    source = PostSource(str(path), text=wanted.text_column or None)
    named = _models_by_name(context, wanted)
    done = compare_action.compare_detectors(source, named, out, reporter=JobReporter(context))
    return _with_file(context, wanted.upload, out, done.to_dict())


def evaluate(context: JobContext) -> dict[str, Any]:
    """Measure detectors, write the report and return each one's first figure on each question."""
    wanted = from_mapping(EvaluateArguments, context.arguments)
    out = Path(wanted.out) if wanted.out else report_folder(context)
    scheme: str | Scheme | None = wanted.scheme or None
    posts: PostSource | pl.DataFrame
    if wanted.project and not wanted.file:
        posts, scheme = settled_posts(context, wanted.project)
    else:
        path = input_file(context, wanted.file, wanted.upload)
        posts = PostSource(str(path), corpus=wanted.corpus or None)
    evaluation = evaluate_action.evaluate(
        posts,
        _models_by_name(context, wanted),
        scheme=scheme,
        split=wanted.split or None,
        texts=False,  # a report that lies on the server holds no text of a post
        bootstrap=Bootstrap(seed=wanted.seed),
        reporter=JobReporter(context),
    )
    evaluate_action.write_evaluation(evaluation, out)
    if wanted.upload:
        job_files.discard(context.require_files(), wanted.upload)
    figures = {
        f"{result.question.name}, {model.name}": f"{model.report.metrics[0].name} {model.report.metrics[0].value}"
        for result in evaluation.results
        for model in result.models
    }
    return {"report": str(out / "report.html"), **figures}


def check(context: JobContext) -> dict[str, Any]:
    """Run a suite on detectors, write the report and return which gates failed."""
    wanted = from_mapping(CheckArguments, context.arguments)
    out = Path(wanted.out) if wanted.out else report_folder(context)
    report = check_action.check(
        _suite(context, wanted),
        _models_by_name(context, wanted),
        out=out,
        gates=Path(wanted.gate) if wanted.gate else None,
        reporter=JobReporter(context),
    )
    failed = [result.reason for result in report.results if not result.passed]
    return {"report": str(out / "report.html"), "failed_gates": failed}


def sample(context: JobContext) -> dict[str, Any]:
    """Take posts for labelling by a plan and return what each sampler took."""
    wanted = from_mapping(SampleArguments, context.arguments)
    path = input_file(context, wanted.file, wanted.upload)
    out = Path(wanted.out) if wanted.out else _own_file(context, f"{path.name.split('.')[0]}-sample{_ending(path)}")
    plan: str | SamplingPlan = wanted.plan
    if wanted.plan_text:
        write_text(out.parent / job_files.WORDS, "".join(f"{word}\n" for word in wanted.words))
        plan = parse_plan(wanted.plan_text.encode(), "plan", out.parent)
    source = PostSource(str(path), text=wanted.text_column or None)
    done = sample_action.sample_file(
        source, out, plan, judges=wanted.judges, seed=wanted.seed, reporter=JobReporter(context)
    )
    return _with_file(context, wanted.upload, out, done.report)


def _suite(context: JobContext, wanted: CheckArguments) -> str | Suite:
    """Return the suite to run: what the shell would take, or a version of a project's own."""
    if not wanted.project:
        return wanted.suite
    suite_id, _, version = wanted.suite.partition("@")
    with context.store.read() as db:
        kept = project_suites.get(db, wanted.project, suite_id, int(version))
        scheme = scheme_of(db, projects.get(db, wanted.project))
    return replace(load_project_suite(kept.content, scheme), name=kept.name, version=str(kept.version))


def input_file(context: JobContext, file: str, upload: str) -> Path:
    """Return the file that a job reads: a path, or what somebody sent."""
    if not upload:
        return Path(file)
    path = job_files.find_file(context.require_files(), upload, file)
    if path is None:
        raise UserError(f"The upload {file[:100]!r} is no longer here. Upload it again.", status=410)
    return path


def settled_posts(context: JobContext, project: str) -> tuple[pl.DataFrame, Scheme]:
    """Return a project's posts with their settled answers, and its scheme."""
    with tempfile.TemporaryDirectory(prefix="davy-settled-") as folder:
        copy = Path(folder) / POSTS
        export_project(context.store, ExportRequest(project, "corpus"), copy, progress=context.progress)
        posts = pl.read_parquet(copy)
    with context.store.read() as db:
        return posts, scheme_of(db, projects.get(db, project))


def report_folder(context: JobContext) -> Path:
    """Return the folder of a job's report, among those that stay."""
    return job_files.keep_folder(context.require_files() / job_files.REPORTS, context.job.id)


def _own_file(context: JobContext, name: str) -> Path:
    folder = context.require_files()
    job_files.sweep(folder)
    return job_files.keep_folder(folder, context.job.id) / name


def _ending(path: Path) -> str:
    return next((f".{end}" for end in ("csv", "tsv", "jsonl", "parquet") if f".{end}" in path.name.lower()), ".csv")


def _models_by_name(
    context: JobContext, wanted: CompareArguments | EvaluateArguments | CheckArguments
) -> dict[str, str | Scorer]:
    if not wanted.models:
        return {"embedded": "embedded"}
    ids = wanted.registered or ("",) * len(wanted.models)
    models = [find_model(context, *model) for model in zip(wanted.models, ids, strict=True)]
    return dict(zip(wanted.names or wanted.models, models, strict=True))


def find_model(context: JobContext, model: str, registered: str) -> str | Scorer:
    """Return a model by its name; where the registry knows it, loaded as it answers, with its thresholds."""
    if not registered:
        return model
    with context.store.read() as db:
        entry = detectors.get(db, registered)
    return load_with_thresholds(entry)


def _with_file(context: JobContext, upload: str, out: Path, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with the file that can be fetched; what was sent is gone from here."""
    if upload:
        job_files.discard(context.require_files(), upload)
    return {**result, "file": out.name, "size": out.stat().st_size}
