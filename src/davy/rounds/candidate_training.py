"""Train one candidate of a round and measure it: the step that a close repeats, also in a process of its own.

A task in, counts on every round's dev and test out. The paper's recipe (config `hatemoji`: three epochs, dev loss
stops, 2e-5) is the default; n-grams are fitted in seconds without torch. A killed training goes on in its folder.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.detectors.load import open_folder
from davy.rounds.candidates import CandidateResult
from davy.rounds.close import CandidateTask, measure_posts
from davy.training.train import make_config, train

if TYPE_CHECKING:
    from davy.core.scorer import Scorer
    from davy.training.config import Config

CONFIG = "hatemoji"


def train_candidate(task: CandidateTask, reporter: Reporter = SILENT) -> CandidateResult:
    """Return what a candidate came to, trained on the train parts of all rounds and measured on their other parts."""
    began = time.monotonic()
    posts = pl.read_ipc(task.posts)
    learn = posts.filter(pl.col("split") == "train").with_columns(source=pl.col("part"))
    dev = posts.filter(pl.col("split") == "dev")
    config = candidate_config(task, set(learn["part"].unique()))
    if task.candidate.kind != "transformer":
        learn = repeat_posts(learn, task.multipliers)
    run = train(
        learn.drop("split"),
        task.folder,
        kind=task.candidate.kind,
        config=config,
        scheme=task.scheme,
        name=task.name,
        dev=dev.drop("split") if len(dev) else None,
        reporter=reporter,
    )
    scorer = on_fastest_device(open_folder(run.model), task.candidate.kind)
    measured = measure_posts(scorer, posts, task.question)
    seconds = time.monotonic() - began
    return CandidateResult(task.candidate, str(run.model.resolve()), scorer.version, round(seconds, 1), measured)


def candidate_config(task: CandidateTask, parts: set[str]) -> Config:
    """Return the recipe with the candidate's encoder, emoji and multipliers."""
    candidate = task.candidate
    chosen = make_config(CONFIG, task.settings, seeds=[task.seed])
    over = {part: times for part, times in task.multipliers.items() if times > 1 and part in parts}
    encoder = candidate.architecture if candidate.kind == "transformer" else ""
    if candidate.kind == "transformer" and not encoder:
        raise UserError("A candidate needs an encoder: a folder or a hub name.")
    return replace(
        chosen,
        encoder=encoder,
        emoji=candidate.emoji,
        over=over,
        scheme=task.scheme.name,
        questions=(task.question.name,),
        name=task.name,
    )


def repeat_posts(posts: pl.DataFrame, multipliers: Mapping[str, int]) -> pl.DataFrame:
    """Return the posts with each round's rows as often as its multiplier says, for models that know no epochs."""
    times = posts["part"].replace_strict(dict(multipliers), default=1, return_dtype=pl.Int64)
    numbered = posts.with_columns(times.alias("times"))
    return numbered.select(pl.exclude("times").repeat_by("times").explode())


def on_fastest_device(scorer: Scorer, kind: str) -> Scorer:
    """Return an encoder's scorer on the GPU where there is one; any other as it is."""
    if kind != "transformer":
        return scorer
    from davy.training.processes import process_group

    return replace(scorer, device=process_group().device)  # type: ignore[type-var]
