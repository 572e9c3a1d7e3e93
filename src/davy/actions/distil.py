"""Distil and pre-train: a small student learns from teachers; an encoder reads unlabelled posts.

Posts and an encoder in, a run folder with its record out. A killed run goes on when
the same call is made again with the same folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from davy.actions.posts import Posts, load_joined
from davy.actions.reporter import SILENT, Reporter
from davy.actions.scorers import Models, load_scorers
from davy.actions.train import StepReporter, TrainingRun, finish_model, make_config, note_epoch
from davy.core.gold import name_gold
from davy.files.atomic import check_folder, make_folder
from davy.files.data_hash import data_hash
from davy.train import run_record
from davy.train.config import from_values


def distil(
    posts: Sequence[Posts],
    teachers: Models,
    encoder: str,
    out: Path,
    *,
    dev: Posts | None = None,
    gold: Sequence[str] = (),
    hard_share: float = 0.3,
    seed: int = 1,
    changes: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
    reporter: Reporter = SILENT,
) -> TrainingRun:
    """Train a student on the teachers' mean probabilities; settled answers count beside them by `hard_share`."""
    from davy.train.distil import distil as fit_student

    config = make_config(from_values({"name": "student", "encoder": encoder, "rate": 1e-4}, "the defaults"), changes)
    check_folder(out)
    make_folder(out)
    scorers = list(load_scorers(teachers).values())
    questions = [question for scorer in scorers for question in scorer.questions]
    frame = name_gold(load_joined(posts), gold, questions)
    reporter.note(f"{len(scorers)} teachers, {len(frame)} posts")
    reporter.begin(f"Distilling into {config.name}", 100)
    judged = None if dev is None else name_gold(load_joined([dev]), gold, questions)
    parts = (frame, judged, scorers, config, out)
    tell = note_epoch(reporter)
    with StepReporter(reporter, out) as on_step:
        student = fit_student(*parts, hard_share=hard_share, seed=seed, tell=tell, on_step=on_step, publish=False)
    reporter.end()
    data = {
        "posts": len(frame),
        "hash": data_hash(frame),
        "teachers": [f"{teacher.name} {teacher.version}" for teacher in scorers],
    }
    record = run_record.write_run(out, "distil", config, data, {seed: student.history}, command=command)
    finish_model(student.folder, config, data, record, student.scorer.questions, f"fine-tuned `{encoder}`")
    return TrainingRun(out, record, {seed: student.folder})


def pretrain(
    posts: Sequence[Posts],
    encoder: str,
    out: Path,
    *,
    hide: float = 0.15,
    seed: int = 1,
    changes: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """Let an encoder guess hidden words of the posts, write it to `out` and return the run's record."""
    from davy.train.pretrain import pretrain as read_texts

    config = make_config(from_values({"name": "pretrained", "encoder": encoder, "rate": 5e-5}, "the defaults"), changes)
    check_folder(out)
    make_folder(out)
    frame = load_joined(posts)
    reporter.note(f"{encoder}: {len(frame)} posts")
    reporter.begin(f"Pre-training {encoder}", 100)
    texts = frame["text"].fill_null("").to_list()
    with StepReporter(reporter, out) as on_step:
        history = read_texts(texts, config, out, share=hide, seed=seed, tell=note_epoch(reporter), on_step=on_step)
    reporter.end()
    data = {"posts": len(frame), "hash": data_hash(frame.select("text"))}
    return run_record.write_run(out, "pretrain", config, data, {seed: history}, command=command)
