"""Train: a detector from posts with settled answers, with its record, its card and its checksums.

Posts and a config in, a run folder out: `seed-N/model` for each seed, `run.json`,
`curves.svg` and, after a grid search, `search.json`. A killed run goes on when the
same call is made again with the same folder.
"""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.gold import gold_questions, learnable_questions
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import Question, Scheme
from davy.corpus.empty_cells import LabelNone
from davy.corpus.gold import GivenGold, answer_columns, with_gold
from davy.corpus.post_source import Posts, PostSource, load_joined, select_split
from davy.corpus.votes import load_voted
from davy.files.atomic import check_folder, draft_of, make_folder, publish_draft, write_text
from davy.files.data_hash import data_hash
from davy.report import Provenance
from davy.training import run_record
from davy.training.baselines import fit_baseline, take_settings
from davy.training.config import Config, Trial, best_trial, from_values, load_config, trials, with_changes, write_search
from davy.training.run_record import History, StepProgress

if TYPE_CHECKING:
    pass

KINDS: tuple[str, ...] = ("transformer", "tfidf", "xgboost")
"""What can be trained: an encoder with a head for each question, or a plain baseline on n-grams."""


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """What a training left: the best run's folder and record, its models by seed, and every trial of a grid.

    The record is empty in a process of a team that does not lead: it writes nothing.
    """

    folder: Path
    record: dict[str, Any]
    models: dict[int, Path]
    trials: tuple[tuple[str, dict[str, Any]], ...] = ()

    @property
    def model(self) -> Path:
        """The model folder of the first seed."""
        return next(iter(self.models.values()))


def train(
    posts: Annotated[
        Posts | Sequence[Posts],
        Options(PostSource, {"files": "Posts with Q.gold columns; several are joined."}, each=True),
    ],
    out: Annotated[Path, Option("The run's folder; start again with it to go on.", metavar="DIR")],
    *,
    kind: Annotated[
        str, Option("What to train: transformer, or a baseline without an encoder, tfidf or xgboost.")
    ] = "transformer",
    config: Annotated[Config | str | None, Option("A config's name or file; the names are below.", metavar="C")] = None,
    changes: Annotated[
        Mapping[str, str] | None,
        Option("Change a field of the config; again for more.", "--set", metavar="FIELD=VALUE", read=parse_changes),
    ] = None,
    encoder: Annotated[str | None, Option("A folder or hub name, instead of the config's.", metavar="NAME")] = None,
    scheme: Annotated[str | Scheme | None, Option("The scheme of the answers; else guessed.", metavar="S")] = None,
    questions: Annotated[
        Sequence[str], Option("Learn this question only; again for more.", "--question", metavar="Q")
    ] = (),
    name: str | None = None,
    seeds: Annotated[Sequence[int], Option("A seed; again for more, with mean and spread.", "--seed")] = (),
    dev: Annotated[
        Posts | None,
        Options(
            PostSource,
            {"files": Option("Posts to choose the checkpoint by.", "--dev", metavar="F"), "corpus": None},
        ),
    ] = None,
    split: Annotated[str | None, Option("Train on this split of the posts, such as train.", metavar="NAME")] = None,
    dev_split: Annotated[str | None, Option("Choose by this split of F, such as dev.", metavar="NAME")] = None,
    gold: GivenGold = (),
    label_none: LabelNone = False,
    soft: Annotated[bool, Option("Learn annotators' votes: columns Q.votes, or a file with a row an answer.")] = False,
    replace_run: Annotated[bool, Option("Replace the trained model that the folder holds.", "--replace")] = False,
    data_map: Annotated[
        bool, Option("Write what was easy, ambiguous or hard to learn, and the ambiguous posts.")
    ] = False,
    command: Sequence[str] = (),
    reporter: Reporter = SILENT,
) -> TrainingRun:
    """Train a detector for each seed (and each combination of the config's grid) in the folder `out`.

    `posts` have settled answers in columns Q.gold, where `gold` says (`Q=COLUMN`), or in a plain `label`; several
    sources are joined. `questions` are learnt alone where they are named; without a scheme, it is found by the labels.
    `dev`, or the split `dev_split`, chooses the checkpoint. `changes` are fields of the config as text, `command` is
    what the record says was run. With `soft`, annotators' votes are learnt: columns `Q.votes`, or a row an answer. With
    `data_map`, each seed's folder also gets data-map.csv, data-map.html and
    ambiguous.csv.
    """
    if kind not in KINDS:
        raise UserError(
            f"There is no kind of model {kind!r} to train; choose {', '.join(KINDS)}.{nearest(kind, list(KINDS))}"
        )
    if data_map and kind != "transformer":
        raise UserError(f"A data map needs epochs, which {kind} does not have. Train an encoder: --encoder NAME.")
    called = scheme if isinstance(scheme, str | None) else scheme.name
    settings, changes = take_settings(kind, changes or {})
    chosen = make_config(config, changes, encoder=encoder, scheme=called, name=name, seeds=seeds)
    chosen = replace(chosen, questions=tuple(questions) or chosen.questions, soft=soft or chosen.soft)
    check_folder(out)
    every = load_voted(as_list(posts), gold) if chosen.soft else load_joined(as_list(posts))
    named = scheme if isinstance(scheme, Scheme) else chosen.scheme or None
    given = () if chosen.soft else gold
    rules, columns = answer_columns(
        every, given, named, asked=chosen.questions, label_none=label_none, reporter=reporter
    )
    chosen = replace(chosen, scheme=rules.name)
    learn, judged = _parts(with_gold(every, columns), split, dev_split, reporter)
    if dev is not None:
        judged = load_joined([dev])
        judged = with_gold(judged, answer_columns(judged, gold, rules)[1] if chosen.soft else columns)
    if chosen.grid and (judged is None or kind != "transformer"):
        raise UserError("A grid needs an encoder, and posts to choose by: --dev F, or --dev-split NAME.")
    learnt = questions_to_train(chosen, learn, rules)
    make_folder(out)
    _make_room(out, chosen, kind, replace_run=replace_run)
    done = _Training(chosen, kind, learnt, learn, judged, tuple(command), reporter, data_map, settings).run(out)
    if replace_run:
        _remove_other_seeds(out, chosen)
    return done


def _make_room(out: Path, config: Config, kind: str, *, replace_run: bool) -> None:
    """Raise where a trained baseline would be written over unasked; an encoder's run starts anew where it is replaced.

    The models of before stay until those that take their place are whole. Without `replace_run` an encoder's run goes
    on where it was, and refuses a checkpoint of another run by itself.
    """
    for trial in trials(config, out):
        if replace_run and kind == "transformer":
            for state in trial.folder.glob("seed-*/checkpoint/checkpoint.json"):
                state.unlink()
        elif not replace_run and kind != "transformer" and (trial.folder / "run.json").is_file():
            raise UserError(f"{trial.folder} holds a trained model. Name another folder, or replace it: --replace.")


def _remove_other_seeds(out: Path, config: Config) -> None:
    """Remove the models of seeds that a run which was replaced had, and its successor has not."""
    for trial in trials(config, out):
        for folder in trial.folder.glob("seed-*"):
            if folder.name not in {f"seed-{seed}" for seed in config.seeds}:
                shutil.rmtree(folder)


def make_config(
    config: Config | str | None,
    changes: Mapping[str, str] | None = None,
    *,
    seeds: Sequence[int] = (),
    **fields: str | None,
) -> Config:
    """Return a config by name, file or value, with changes given as text; fields that are None stay as they are."""
    if isinstance(config, Config):
        chosen = with_changes(config, changes or {})
    else:
        chosen = (
            load_config(config, changes) if config else with_changes(from_values({}, "the defaults"), changes or {})
        )
    given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    if seeds:
        given["seeds"] = tuple(seeds)
    return replace(chosen, **given)


def parse_changes(given: Sequence[str]) -> dict[str, str]:
    """Return what `FIELD=VALUE` texts say, field by field."""
    changes = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not equals:
            raise UserError(f"--set takes FIELD=VALUE, got {entry!r}, such as --set epochs=5.")
        changes[name.strip()] = value
    return changes


def questions_to_train(config: Config, posts: pl.DataFrame, scheme: Scheme) -> tuple[Question, ...]:
    """Return the scheme's questions that the posts have answers to, or those that the config names."""
    known = [question.name for question in scheme.questions]
    for name in (*config.questions, *config.weights):
        if name not in known:
            raise UserError(f"Scheme {config.scheme!r} has no question {name!r}; it asks {', '.join(known)}.")
    wanted = tuple(q for q in scheme.questions if not config.questions or q.name in config.questions)
    if config.soft:
        return tuple(gold_questions(wanted, posts))
    return tuple(learnable_questions(wanted, posts, config.questions))


def as_list(posts: Posts | Sequence[Posts]) -> list[Posts]:
    """Return one source or several as a list."""
    return list(posts) if isinstance(posts, list | tuple) else [posts]  # type: ignore[list-item]


class StepReporter:
    """Tells a reporter where a training is: per cent, and now and then epoch, step, loss and the time left.

    Use it in a `with` block: from the first step on, a stop waits for the end of a step, which has its checkpoint then.
    """

    def __init__(self, reporter: Reporter, folder: Path) -> None:
        self._reporter, self._folder = reporter, folder
        self._percent = 0
        self._began = time.monotonic()
        self._first: float | None = None
        self._steps = ExitStack()

    def __enter__(self) -> StepReporter:
        return self

    def __exit__(self, *_: object) -> None:
        self._steps.close()

    def __call__(self, progress: StepProgress) -> None:
        """Hear where the run is before a step; raise where it must stop there."""
        if self._first is None:
            self._first = progress.share
            self._steps.enter_context(self._reporter.unbroken_steps())
        if progress.step or progress.epoch > 1:
            self._reporter.keep(
                f"epoch {progress.epoch}, step {progress.step:,} of {progress.steps:,}, in {self._folder}"
            )
        self._reporter.status(lambda: f"{progress}{self._time_left(progress.share)}")
        self._advance(progress.share)

    def finish(self) -> None:
        """Tell that all of it is done."""
        self._advance(1.0)

    def _advance(self, share: float) -> None:
        percent = int(share * 100)
        self._reporter.advance(percent - self._percent)
        self._percent = percent

    def _time_left(self, share: float) -> str:
        done = share - (self._first or 0.0)
        if done <= 0:
            return ""
        seconds = (time.monotonic() - self._began) * (1 - share) / done
        return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"


def note_epoch(reporter: Reporter) -> Callable[[dict[str, Any]], None]:
    """Return a function that takes the record of an epoch and notes it."""
    return lambda record: reporter.note("  " + "  ".join(f"{k} {v}" for k, v in record.items() if k != "score"))


def finish_model(
    folder: Path, config: Config, data: dict[str, Any], record: dict[str, Any], questions: Sequence[Question], base: str
) -> None:
    """Put the card into a model's draft, write its manifest again, which signs every file, and give it its name."""
    draft = draft_of(folder)
    labels = {question.name: list(question.label_names) for question in questions}
    card = run_record.model_card(config, data, record["summary"], labels, base=base)
    write_text(draft / "card.md", card)
    run_record.write_manifest(draft)
    publish_draft(draft, folder)


@dataclass(slots=True)
class _Training:
    """One call of `train`: what it learns, from what, and who hears of it."""

    config: Config
    kind: str
    questions: tuple[Question, ...]
    posts: pl.DataFrame
    dev: pl.DataFrame | None
    command: tuple[str, ...]
    reporter: Reporter
    data_map: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of a baseline."""

    def run(self, out: Path) -> TrainingRun:
        leads = self._leads()
        made: list[tuple[Trial, dict[str, Any]]] = []
        for trial in trials(self.config, out):
            histories = {seed: self._fit(trial, seed) for seed in self.config.seeds}
            made.append((trial, self._record(trial, histories) if leads else {}))
        if not leads:
            return TrainingRun(out, {}, self._models(out))
        best, record = best_trial(made)
        if self.config.grid:
            write_search(made, out)
        scores = tuple((trial.name, written["summary"]["score"]) for trial, written in made if self.config.grid)
        return TrainingRun(best.folder, record, self._models(best.folder), scores)

    def _leads(self) -> bool:
        """Whether this process writes the records: of those that train one model together, the first does."""
        if self.kind != "transformer":
            return True
        from davy.training.processes import process_group

        leads = process_group().is_main
        self.reporter = self.reporter if leads else SILENT
        return leads

    def _fit(self, trial: Trial, seed: int) -> History:
        folder = trial.folder / f"seed-{seed}"
        called = f"{trial.name or self.config.name}, seed {seed}"
        self.reporter.note(f"{called}: {len(self.posts):,} posts, {', '.join(q.name for q in self.questions)}")
        self.reporter.begin(called, 100)
        parts = (self.posts, self.dev, self.questions, trial.config, folder)
        if self.kind == "transformer":
            from davy.training.trainer import train as fine_tune

            tell = note_epoch(self.reporter)
            with StepReporter(self.reporter, folder) as on_step:
                history = fine_tune(
                    *parts, seed=seed, tell=tell, on_step=on_step, dynamics=self.data_map, publish=False
                ).history
            on_step.finish()
            if self.data_map and self._leads():
                self._write_map(folder, seed)
        else:
            history = fit_baseline(self.kind, *parts, seed=seed, settings=self.settings)
        self.reporter.end()
        return history

    def _write_map(self, folder: Path, seed: int) -> None:
        from davy.training.data_map import DYNAMICS_FOLDER, read_dynamics, write_data_map

        provenance = Provenance(data_hash(self.posts), self.config.name, seed, shlex.join(self.command))
        names = [question.name for question in self.questions]
        write_data_map(folder, self.posts, names, *read_dynamics(folder / DYNAMICS_FOLDER), provenance)

    def _record(self, trial: Trial, histories: dict[int, History]) -> dict[str, Any]:
        data = {"posts": len(self.posts), "hash": data_hash(self.posts)}
        if self.dev is not None:
            data |= {"dev posts": len(self.dev), "dev hash": data_hash(self.dev)}
        record = run_record.write_run(trial.folder, "train", trial.config, data, histories, command=self.command)
        base = f"fine-tuned `{trial.config.encoder}`" if self.kind == "transformer" else f"{self.kind} baseline"
        for folder in self._models(trial.folder).values():
            finish_model(folder, trial.config, data, record, self.questions, base)
        return record

    def _models(self, folder: Path) -> dict[int, Path]:
        return {seed: folder / f"seed-{seed}" / "model" for seed in self.config.seeds}


def _parts(
    posts: pl.DataFrame, split: str | None, dev_split: str | None, reporter: Reporter
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    if dev_split and not split:
        raise UserError(f"--dev-split {dev_split} needs --split, such as train; else those posts would be learnt too.")
    if not split and "split" in posts.columns and posts["split"].n_unique() > 1:
        counts = ", ".join(f"{value} {n:,}" for value, n in posts["split"].value_counts(sort=True).iter_rows())
        reporter.note(f"Learning from all splits together ({counts}). Name one with --split.")
    learn = select_split(posts, split)[0] if split else posts
    return learn, select_split(posts, dev_split)[0] if dev_split else None
