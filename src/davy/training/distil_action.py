"""Distil and pre-train: a small student learns from teachers; an encoder reads unlabelled posts.

Posts and an encoder in, a run folder with its record out. A killed run goes on when
the same call is made again with the same folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from davy.core.gold import name_gold
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.corpus.gold import GivenGold
from davy.corpus.post_source import Posts, PostSource, load_joined
from davy.files.atomic import check_folder, make_folder
from davy.files.data_hash import data_hash
from davy.scoring.scorers import Models, load_scorers
from davy.training import run_record
from davy.training.config import from_values
from davy.training.train import StepReporter, TrainingRun, finish_model, make_config, note_epoch, parse_changes


def distil(
    posts: Annotated[
        Sequence[Posts], Options(PostSource, {"files": "Posts, labelled or not; several are joined."}, each=True)
    ],
    teachers: Annotated[Models, Option("A model; again for more.", "--teacher", metavar="M")],
    encoder: Annotated[str, Option("What the student starts from: a folder or hub name.", metavar="NAME")],
    out: Annotated[Path, Option("The run's folder; give it again to go on.", metavar="DIR")],
    *,
    dev: Annotated[
        Posts | None,
        Options(PostSource, {"files": Option("Labelled posts to choose the checkpoint by.", "--dev", metavar="F")}),
    ] = None,
    gold: GivenGold = (),
    hard_share: Annotated[
        float, Option("How much settled answers count beside the teachers'.", "--hard", min=0.0, max=1.0)
    ] = 0.3,
    seed: Annotated[int, Option("The seed.")] = 0,
    changes: Annotated[
        Mapping[str, str] | None,
        Option("epochs, rate, batch, emoji …", "--set", metavar="FIELD=VALUE", read=parse_changes),
    ] = None,
    command: Sequence[str] = (),
    reporter: Reporter = SILENT,
) -> TrainingRun:
    """Train a student on the teachers' mean probabilities; settled answers count beside them by `hard_share`."""
    from davy.training.distil import distil as fit_student

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
    posts: Annotated[Sequence[Posts], Options(PostSource, {"files": "Posts; only their text is read."}, each=True)],
    encoder: Annotated[str, Option("A folder or hub name.", metavar="NAME")],
    out: Annotated[Path, Option("The encoder's folder; give it again to go on.", metavar="DIR")],
    *,
    hide: Annotated[float, Option("The share of words that are hidden.", min=0.01, max=0.9)] = 0.15,
    seed: Annotated[int, Option("The seed.")] = 0,
    changes: Annotated[
        Mapping[str, str] | None,
        Option("epochs, rate, batch, emoji …", "--set", metavar="FIELD=VALUE", read=parse_changes),
    ] = None,
    command: Sequence[str] = (),
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """Let an encoder guess hidden words of the posts, write it to `out` and return the run's record."""
    from davy.training.pretrain import pretrain as read_texts

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
