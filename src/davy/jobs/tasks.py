"""The long kinds of job: train, score, evaluate, check, each the action of that name with a job's reporter.

A job's arguments in, what its page shows out. An attempt after a crash makes the same
call again, with the same folder: the action goes on from its checkpoint or its parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from davy.actions import check as check_action
from davy.actions import evaluate as evaluate_action
from davy.actions import score as score_action
from davy.actions import train as train_action
from davy.actions.exchange import ExportRequest, export_project
from davy.actions.posts import PostSource, hold_out, load_joined
from davy.actions.reporter import Reporter
from davy.annotate.project_scheme import scheme_of
from davy.core import Scheme
from davy.core.errors import UserError
from davy.files import tables
from davy.files.atomic import make_folder
from davy.jobs import job_files
from davy.jobs.arguments import from_mapping, path_field
from davy.jobs.worker import JobContext
from davy.store import projects

POSTS = "posts.parquet"


@dataclass(frozen=True, slots=True)
class TrainArguments:
    """What a training learns from (files, an upload, or a project's settled answers), what it makes, and how.

    Without `out` the run lies among the server's models. `measure_share` of the posts is kept back to measure on
    where there is no `dev`.
    """

    posts: tuple[str, ...] = path_field(())
    project: str = ""
    upload: str = ""
    file: str = ""
    name: str = "mine"
    kind: str = "tfidf"
    encoder: str = path_field("")
    scheme: str = ""
    config: str = ""
    seed: int = 1
    dev: str = path_field("")
    measure_share: float = 0.2
    out: str = path_field("", new=True)
    set: tuple[str, ...] = ()
    """Fields of the config, `FIELD=VALUE`."""


@dataclass(frozen=True, slots=True)
class ScoreArguments:
    """Which file is scored, by which model, into which file."""

    file: str = path_field()
    out: str = path_field(new=True)
    model: str = path_field("embedded")
    text_column: str = ""
    why: bool = False
    cascade: bool = True


@dataclass(frozen=True, slots=True)
class EvaluateArguments:
    """Which labelled posts, which models, and the folder for the report."""

    file: str = path_field()
    out: str = path_field(new=True)
    models: tuple[str, ...] = path_field(())
    corpus: str = ""
    scheme: str = ""
    split: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class CheckArguments:
    """Which suite, which models, and the folder for the report."""

    suite: str = path_field()
    out: str = path_field(new=True)
    models: tuple[str, ...] = path_field(())
    gate: str = path_field("")


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


def train(context: JobContext) -> dict[str, Any]:
    """Train a detector and return where it is and how good it was on the posts that were kept back."""
    wanted = from_mapping(TrainArguments, context.arguments)
    out = Path(wanted.out) if wanted.out else context.require_files() / job_files.MODELS / context.job.id
    posts = _training_posts(context, wanted, out)
    dev = load_joined([wanted.dev]) if wanted.dev else None
    if dev is None and wanted.measure_share:
        posts, dev = hold_out(posts, wanted.measure_share, wanted.seed)
    run = train_action.train(
        posts,
        out,
        kind=wanted.kind,
        config=wanted.config or None,
        changes=train_action.parse_changes(wanted.set),
        encoder=_encoder(context, wanted.encoder),
        scheme=_scheme(context, wanted),
        name=wanted.name,
        seeds=[wanted.seed],
        dev=dev,
        command=["davy", "job", "start", "train", context.job.id],
        reporter=JobReporter(context),
    )
    if wanted.upload and context.files is not None:
        job_files.discard(context.files, wanted.upload)
    figures = {name: figure["mean"] for name, figure in run.record["summary"].items() if name != "score"}
    return {"model": str(run.model), "posts": len(posts), "measured_on": 0 if dev is None else len(dev), **figures}


def _training_posts(context: JobContext, wanted: TrainArguments, out: Path) -> pl.DataFrame:
    """Return the posts to learn from, as the first attempt saw them: answers may come in while a training runs."""
    copy = out / POSTS
    if copy.is_file():
        return pl.read_parquet(copy)
    if wanted.upload:
        file = job_files.find_file(context.require_files(), wanted.upload, wanted.file)
        if file is None:
            raise UserError(f"The upload {wanted.file[:100]!r} is no longer here. Upload it again.", status=410)
        posts = load_joined([file])
    elif wanted.posts:
        posts = load_joined(wanted.posts)
    elif wanted.project:
        make_folder(out)
        export_project(context.store, ExportRequest(wanted.project, "corpus"), copy, progress=context.progress)
        return pl.read_parquet(copy)
    else:
        raise UserError("Say what to learn from: posts=FILE, or project=ID for its settled answers.")
    make_folder(out)
    tables.write([posts], copy)
    return posts


def _encoder(context: JobContext, name: str) -> str | None:
    """Return a folder of the server's `encoders` where one has this name, else the name itself: a path or a hub's."""
    own = context.files / job_files.ENCODERS / name if context.files is not None and name else None
    return str(own) if own is not None and own.is_dir() else name or None


def _scheme(context: JobContext, wanted: TrainArguments) -> str | Scheme | None:
    """Return the scheme of the answers: the one named, else the project's own."""
    if wanted.scheme or not wanted.project:
        return wanted.scheme or None
    with context.store.read() as db:
        return scheme_of(db, projects.get(db, wanted.project))


def score(context: JobContext) -> dict[str, Any]:
    """Score a file and return how often each verdict was given."""
    wanted = from_mapping(ScoreArguments, context.arguments)
    source = PostSource(wanted.file, text=wanted.text_column or None)
    return score_action.score_file(
        source, wanted.out, wanted.model, cascade=wanted.cascade, why=wanted.why, reporter=JobReporter(context)
    ).to_dict()


def evaluate(context: JobContext) -> dict[str, Any]:
    """Measure detectors, write the report and return each one's first figure on each question."""
    wanted = from_mapping(EvaluateArguments, context.arguments)
    evaluation = evaluate_action.evaluate(
        PostSource(wanted.file, corpus=wanted.corpus or None),
        wanted.models or ("embedded",),
        scheme=wanted.scheme or None,
        split=wanted.split or None,
        texts=False,  # a report that lies on the server holds no text of a post
        reporter=JobReporter(context),
    )
    evaluate_action.write_evaluation(evaluation, Path(wanted.out))
    figures = {
        f"{result.question.name}, {model.name}": f"{model.report.metrics[0].name} {model.report.metrics[0].value}"
        for result in evaluation.results
        for model in result.models
    }
    return {"report": str(Path(wanted.out) / "report.html"), **figures}


def check(context: JobContext) -> dict[str, Any]:
    """Run a suite on detectors, write the report and return which gates failed."""
    wanted = from_mapping(CheckArguments, context.arguments)
    report = check_action.check(
        wanted.suite,
        wanted.models or ("embedded",),
        out=Path(wanted.out),
        gates=Path(wanted.gate) if wanted.gate else None,
        reporter=JobReporter(context),
    )
    failed = [result.reason for result in report.results if not result.passed]
    return {"report": str(Path(wanted.out) / "report.html"), "failed_gates": failed}
