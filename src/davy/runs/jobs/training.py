"""From labels to a detector as one background job: split, describe, train, measure; each the action of that name.

The run folder holds it all: `posts.parquet`, `split.json`, `description/`, the models, and `evaluation/` of the test
part. An attempt after a crash makes the same calls with the same folder, and goes on from what is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import polars as pl

from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import projects
from davy.core import Scheme
from davy.core.errors import UserError
from davy.core.feature import features
from davy.corpus.describe import describe_corpus as describe_action
from davy.corpus.post_source import hold_out, load_joined
from davy.corpus.split import split as split_action
from davy.evaluation import evaluate_detectors as evaluate_action
from davy.files import tables
from davy.files.atomic import make_folder, write_json
from davy.jobs import job_files
from davy.jobs.job_files import DESCRIPTION, EVALUATION, SPLIT
from davy.jobs.kinds import from_mapping, path_field
from davy.jobs.worker import JobContext
from davy.runs.jobs.tasks import POSTS, JobReporter, find_model, input_file, settled_posts
from davy.training import train as train_action

TRAIN = "train"

PARTS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class TrainArguments:
    """What a training learns from (files, an upload, or a project's settled answers), what it makes, and how.

    Without `out` the run lies among the server's models. With `plan` (70/10/20) the posts are split so that nothing
    alike is in two parts, described, learnt from the first part, chosen by the second and measured on the third, beside
    the detectors in `beside`. Without it, `measure_share` of the posts is kept back where there is no `dev`.
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
    plan: str = ""
    beside: tuple[str, ...] = ()
    registered: tuple[str, ...] = ()
    """For each of `beside`, its id in the registry, whose thresholds then decide; empty where it has none."""


def train(context: JobContext) -> dict[str, Any]:
    """Train a detector and return where it is and how good it was on the posts that were kept back."""
    wanted = from_mapping(TrainArguments, context.arguments)
    out = Path(wanted.out) if wanted.out else context.require_files() / job_files.MODELS / context.job.id
    scheme = _scheme(context, wanted)
    posts = _training_posts(context, wanted, out)
    trainers = {kind: name for feature in features() for kind, name in feature.trainers.items()}
    if wanted.kind in trainers:
        return dict(resolve_name(trainers[wanted.kind])(context, wanted, posts, out, scheme))
    parts = _split(posts, wanted, out, scheme, JobReporter(context)) if wanted.plan else _hold_out(posts, wanted)
    dev, test = (parts.get(name) if len(parts.get(name, ())) else None for name in ("dev", "test"))
    run = train_action.train(
        parts["train"],
        out,
        kind=wanted.kind,
        config=wanted.config or None,
        changes=train_action.parse_changes(wanted.set),
        encoder=_encoder(context, wanted.encoder),
        scheme=scheme,
        name=wanted.name,
        seeds=[wanted.seed],
        dev=dev,
        command=["davy", "job", "start", "train", context.job.id],
        reporter=JobReporter(context),
    )
    if wanted.upload and context.files is not None:
        job_files.discard(context.files, wanted.upload)
    figures = {name: figure["mean"] for name, figure in run.record["summary"].items() if name != "score"}
    counts = {"posts": len(parts["train"]), "measured_on": 0 if dev is None else len(dev)}
    if test is not None:
        counts["tested_on"] = _measure(context, test, run.model, wanted, scheme, out)
    return {"model": str(run.model), **counts, **figures}


def _training_posts(context: JobContext, wanted: TrainArguments, out: Path) -> pl.DataFrame:
    """Return the posts to learn from, as the first attempt saw them: answers may come in while a training runs."""
    copy = out / POSTS
    if copy.is_file():
        return pl.read_parquet(copy)
    if wanted.upload:
        posts = load_joined([input_file(context, wanted.file, wanted.upload)])
    elif wanted.posts:
        posts = load_joined(wanted.posts)
    elif wanted.project:
        posts, _ = settled_posts(context, wanted.project)
    else:
        raise UserError("Say what to learn from: posts=FILE, or project=ID for its settled answers.")
    make_folder(out)
    tables.write([posts], copy)
    return posts


def _hold_out(posts: pl.DataFrame, wanted: TrainArguments) -> dict[str, pl.DataFrame]:
    if wanted.dev:
        return {"train": posts, "dev": load_joined([wanted.dev])}
    if not wanted.measure_share:
        return {"train": posts}
    learn, dev = hold_out(posts, wanted.measure_share, wanted.seed)
    return {"train": learn, "dev": dev}


def _split(
    posts: pl.DataFrame, wanted: TrainArguments, out: Path, scheme: str | Scheme | None, reporter: JobReporter
) -> dict[str, pl.DataFrame]:
    """Return the parts of a plan, and leave how they came about and what is in the posts beside the run."""
    done = split_action.split_posts(posts, split_action.make_plan(wanted.plan, seed=wanted.seed))
    write_json(out / SPLIT, done.to_dict())
    reporter.note("Split: " + ", ".join(f"{name} {n:,}" for name, n in done.sizes().items()))
    marked = posts.with_columns(done.parts.alias("split"))
    try:
        described = describe_action.describe(marked, name=wanted.name, scheme=scheme, reporter=reporter)
        describe_action.write_description(described, out / DESCRIPTION)
    except UserError as error:  # a detector can be trained from posts that can't be described
        reporter.note(f"Not described: {error.message}")
    return {name: posts.filter(done.parts == name) for name in PARTS}


def _measure(
    context: JobContext,
    test: pl.DataFrame,
    model: Path,
    wanted: TrainArguments,
    scheme: str | Scheme | None,
    out: Path,
) -> int:
    """Measure the detector on the test part, beside others that answer the same questions; return how many posts."""
    reporter = JobReporter(context)
    ids = wanted.registered or ("",) * len(wanted.beside)
    beside = {name: one for name, one in zip(wanted.beside, ids, strict=True) if name != wanted.name}
    for others in (beside, {}) if beside else ({},):
        try:
            models = {wanted.name: str(model), **{name: find_model(context, name, one) for name, one in others.items()}}
            measured = evaluate_action.evaluate(test, models, scheme=scheme, texts=False, reporter=reporter)
        except UserError as error:  # another detector may not answer these questions; the own one still counts
            reporter.note(f"Not measured{' beside others' if others else ''}: {error.message}")
            continue
        evaluate_action.write_evaluation(measured, out / EVALUATION)
        return len(test)
    return 0


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
