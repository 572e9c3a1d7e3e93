"""Train on pictures and texts: what the job `train` does for the kind `pictures`.

A project's labelled memes in; a model folder, its split and its evaluation in the run's folder out, as every training
leaves them. The row is Concat of the Hateful Memes table: one vector of the picture beside one of the text.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from davy.annotation.project import images
from davy.core.answers import GOLD
from davy.core.errors import UserError
from davy.core.scheme import Scheme
from davy.corpus.split import split as split_action
from davy.detectors.load import load
from davy.detectors.meme_presets import load_preset
from davy.evaluation import evaluate_detectors
from davy.files import tables
from davy.files.atomic import write_json
from davy.jobs.job_files import EVALUATION, SPLIT
from davy.jobs.worker import JobContext
from davy.memes.meme_data import load_memes
from davy.memes.meme_files import HATEFUL
from davy.memes.meme_train import save_meme_model, train_preset
from davy.runs.jobs.tasks import JobReporter
from davy.runs.jobs.training import TrainArguments
from davy.training.train import parse_changes

ROW = "concat"
BATCH, EPOCHS, FEWEST, MOST = 128, 15, 40, 800
"""So many memes an update at most, so often over all of them, and the bounds of the number of updates."""


LEAST = 4
"""The smallest batch: with fewer memes to learn from, nothing is learnt."""


def train_on_pictures(
    context: JobContext, wanted: TrainArguments, posts: pl.DataFrame, out: Path, scheme: str | Scheme | None
) -> dict[str, Any]:
    """Train a detector that looks at pictures and return where it is, with the number of memes of each part."""
    reporter, folder = JobReporter(context), images.folder_of(context.store)
    memes = _with_pictures(posts, folder)
    done = split_action.split_posts(memes, split_action.make_plan(wanted.plan or "70/10/20", seed=wanted.seed))
    if len(memes.filter(done.parts == "train")) < LEAST or not len(memes.filter(done.parts == "dev")):
        raise UserError(
            f"{len(memes)} settled posts have their picture here: too few to learn from and to choose a checkpoint on. "
            "Train on their texts."
        )
    write_json(out / SPLIT, done.to_dict())
    data = out / "memes.parquet"
    tables.write([memes.with_columns(done.parts.alias("split"))], data)
    model = out / "model"
    if not model.is_dir():  # an attempt after a crash measures what it trained
        preset = load_preset(ROW, changes={**_changes(len(memes)), **parse_changes(wanted.set)})
        loaded = load_memes(data, question=_question(memes, scheme), scheme=scheme, seed=wanted.seed)
        found = replace(loaded, pictures=folder.read)
        trained, network = train_preset(preset, found, wanted.seed, folder=out / "model.run", reporter=reporter)
        save_meme_model(replace(network, name=wanted.name), preset, found, trained, model)
    shutil.rmtree(out / "model.run", ignore_errors=True)
    parts = {name: memes.filter(done.parts == name) for name in ("train", "dev", "test")}
    if len(parts["test"]):
        measured = evaluate_detectors.evaluate(
            parts["test"],
            {wanted.name: load(str(model), images=folder.read)},
            scheme=scheme,
            questions=[_question(memes, scheme)],
            texts=False,
            reporter=reporter,
        )
        evaluate_detectors.write_evaluation(measured, out / EVALUATION)
    sizes = {"posts": len(parts["train"]), "measured_on": len(parts["dev"]), "tested_on": len(parts["test"])}
    return {"model": str(model), **sizes}


def _with_pictures(posts: pl.DataFrame, folder: Any) -> pl.DataFrame:
    """Return the posts whose picture is on this server."""
    if "image" not in posts.columns:
        raise UserError("None of these posts has its picture here. Train on their texts.")
    held = [bool(key) and folder.find(key) is not None for key in posts["image"].to_list()]
    memes = posts.filter(pl.Series(held, dtype=pl.Boolean))
    if not len(memes):
        raise UserError("None of these posts has its picture here. Train on their texts.")
    return memes


def _question(memes: pl.DataFrame, scheme: str | Scheme | None) -> str:
    """Return the yes/no question that is learnt: `hate` where it is answered, else the first answered one."""
    answered = [name.removesuffix(GOLD) for name in memes.columns if name.endswith(GOLD)]
    if isinstance(scheme, Scheme):
        answered = [it.name for it in scheme.questions if it.positive is not None and it.name in answered]
    if not answered:
        raise UserError("These memes have no settled answers to learn from.")
    return HATEFUL.name if HATEFUL.name in answered else answered[0]


def _changes(n: int) -> dict[str, str]:
    """Return the settings for so many memes: a small project takes a minute, not the hour of the whole preset."""
    batch = max(4, min(BATCH, n // 4))
    updates = max(FEWEST, min(MOST, EPOCHS * n // batch))
    return {"batch": str(batch), "updates": str(updates), "warmup": str(updates // 10), "every": str(updates // 8)}
