"""Export a model: a trained folder as an ONNX folder that runs without torch, calibrated on dev."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from davy.core.errors import UserError
from davy.core.gold import targets
from davy.core.options import Option, Options
from davy.core.scheme import Question
from davy.corpus.gold import GivenGold, answer_columns, plain_column, spell_gold, with_gold
from davy.corpus.post_source import Posts, load_joined, load_split
from davy.detectors import folder as folders
from davy.detectors.calibrated import Calibration
from davy.scoring.scorers import load_scorer
from davy.training.calibrate import calibrate


def export_model(
    model: Annotated[
        Path, Option("A model that davy train, davy distil or davy meme train made.", "model", metavar="FOLDER")
    ],
    out: Annotated[Path, Option("The new folder.", metavar="DIR")],
    *,
    dev: Annotated[
        Posts | None,
        Options(
            load_split,
            {
                "files": Option(
                    "Posts to compare on; their answers set thresholds and calibration.", "--dev", metavar="F"
                ),
                "split": "Use this split of --dev only.",
            },
        ),
    ] = None,
    gold: GivenGold = (),
    threshold: Annotated[
        str,
        Option("How --dev sets thresholds: macro-f1, precision=0.9, recall=0.9, cost=5.", "--threshold-rule", "RULE"),
    ] = "macro-f1",
    exact: Annotated[bool, Option("Keep 32 bits instead of rounding to int8.")] = False,
    table_bits: Annotated[int, Option("Bits of the word vectors in int8 models: 8 or 4.")] = 8,
    matrix_bits: Annotated[
        int, Option("Bits of the encoder's matrices in int8 models: 8 or 4. They run at the same speed.")
    ] = 8,
) -> tuple[dict[str, Any], Calibration | None]:
    """Write a trained model as ONNX, rounded to int8 unless `exact`; return its size and, with dev, what changed.

    With `dev`, the gaps in scores are in the record; its settled answers (columns `Q.gold`, or what `gold` names) also
    set temperatures and thresholds by `threshold`, a rule of `measure.thresholds`.
    """
    from davy.training.export import export_onnx

    for option, bits in (("--table-bits", table_bits), ("--matrix-bits", matrix_bits)):
        if bits not in (4, 8):
            raise UserError(f"{option} is {bits}; it is 8 or 4.")
    if exact and (table_bits, matrix_bits) != (8, 8):
        raise UserError("--exact keeps 32 bits; leave it out, or --table-bits and --matrix-bits.")
    if gold and dev is None:
        raise UserError("--gold names a column of --dev F: give both.")
    if folders.read(model).engine == "meme-neighbours":
        raise UserError("A model with neighbours has no graph to export. Serve the folder itself.")
    if folders.read(model).engine == "meme":
        return _export_meme(model, out, exact=exact, plain=dev is None and (table_bits, matrix_bits) == (8, 8)), None
    posts, settled = (None, False) if dev is None else _settled(load_joined([dev]), gold, folders.read(model).questions)
    record = export_onnx(model, out, dev=posts, int8=not exact, table_bits=table_bits, matrix_bits=matrix_bits)
    if posts is None or not settled:
        return record, None
    calibrated, found = calibrate(load_scorer(str(out)), posts, threshold=threshold)
    calibrated.set_numbers(out)
    return {**record, "version": folders.read(out, check=False).version}, found


def _export_meme(model: Path, out: Path, *, exact: bool, plain: bool) -> dict[str, Any]:
    """Write a meme model as ONNX; `plain` is whether nothing was asked for that such a model has not."""
    from davy.training.export import export_meme

    if not plain:
        raise UserError("A meme model is exported with the calibration it has, in 8 bits or --exact: leave out --dev.")
    return export_meme(model, out, int8=not exact)


def _settled(posts: pl.DataFrame, gold: Sequence[str], questions: tuple[Question, ...]) -> tuple[pl.DataFrame, bool]:
    """Return the posts with their answers as `Q.gold`, and whether they have any; a label that is none is an error."""
    has_answers = any(f"{question.name}.gold" in posts.columns for question in questions)
    if not (gold or has_answers or plain_column(posts)):
        return posts, False
    if gold or not has_answers:
        rules, columns = answer_columns(posts, gold, among=questions)
        posts = spell_gold(with_gold(posts, columns), rules.questions)
    list(targets(questions, posts))
    return posts, True
