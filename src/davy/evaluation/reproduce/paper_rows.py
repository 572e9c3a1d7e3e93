"""The rows of a paper's table that run here: detectors that score once, transformers that are fine-tuned once.

A row's encoder and the corpus's train part in, a scorer and its answers out. Both are kept in the cache by everything
that they depend on, so that a second run only reads them, and a run that was killed goes on.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError, missing_extra
from davy.core.reporter import SILENT, Reporter
from davy.corpus.post_source import hold_out, load_joined
from davy.detectors import encoder
from davy.detectors.cache import cache_folder
from davy.evaluation.reproduce.paper_table import NotRun
from davy.files.atomic import atomic_path, make_folder, write_text
from davy.files.data_hash import rows_hash
from davy.scoring.scorers import load_scorer, score_posts
from davy.training.config import Config, from_values, load_config, with_changes
from davy.training.train import StepReporter, note_epoch
from davy.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from davy.core.scheme import Question
    from davy.core.scorer import Scorer

CHOOSE = 0.1
"""The share of train that chooses the checkpoint where there is no dev part to do so."""


def cached_scores(
    folder: Path, key: Mapping[str, Any], make: Callable[[], pl.DataFrame], *, fresh: bool = False
) -> pl.DataFrame:
    """Return the frame kept for a key, or make and keep it; `fresh` makes it in any case."""
    import polars as pl

    content = json.dumps({**key, "davy": __version__}, sort_keys=True)
    path = folder / f"{hashlib.sha256(content.encode()).hexdigest()[:24]}.parquet"
    if path.exists() and not fresh:
        try:
            return pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError):  # half a file from an older crash: made again
            path.unlink(missing_ok=True)
    frame = make()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic_path(path) as draft:
        frame.write_parquet(draft)
    return frame


class PaperRows:
    """What the papers' modules ask of us: scoring passes that are remembered, training, detectors by name."""

    def __init__(
        self,
        encoders: Mapping[str, str | None],
        paper: Mapping[str, str | None],
        changes: Mapping[str, str],
        unlabelled: Sequence[Path],
        reporter: Reporter,
        *,
        fresh: bool,
    ) -> None:
        with_changes(Config(), changes)  # a wrong field is said now, even where no row is fine-tuned
        self._encoders, self._paper, self._changes, self._fresh = encoders, paper, changes, fresh
        # Read now: a file that is not there is said before anything trains.
        self._texts = load_joined(unlabelled)["text"].fill_null("").to_list() if unlabelled else []
        if self._texts:
            reporter.note(f"Unlabelled posts: {len(self._texts):,} of {len(unlabelled)} files.")
        self._reporter = reporter
        self._loaded: dict[str, Scorer] = {}
        self._answers: dict[str, pl.DataFrame] = {}

    def write_answers(self, folder: Path) -> None:
        """Write each row's answers as ROW.csv: `id`, and `Q.label` for each question."""
        make_folder(folder)
        for row, answers in self._answers.items():
            name = re.sub(r"[^\w.+-]+", "-", row)
            write_text(folder / f"{name}.csv", answers.write_csv())

    def scored(self, key: Mapping[str, Any], make: Callable[[], Scorer], posts: pl.DataFrame) -> pl.DataFrame:
        """Return a detector's answers to the posts, remembered by `key` and the posts."""

        def score() -> pl.DataFrame:
            self._reporter.note(f"{key['row']}: fitting and scoring {len(posts):,} posts …")
            with _extras():
                return score_posts(posts, make(), self._reporter, task=f"Scoring with {key['row']}")

        folder = cache_folder() / "reproduce"
        read = posts.select(name for name in ("text", "lang", "image") if name in posts.columns)
        # Kept answers are in the order of the posts, so the order counts here.
        frame = cached_scores(folder, {**key, "posts": rows_hash(read, ordered=True)}, score, fresh=self._fresh)
        labels = [name for name in frame.columns if name.endswith(".label")]
        self._answers[str(key["row"])] = frame.select(posts["id"], *labels)
        return frame

    def loaded(self, model: str) -> Scorer:
        """Return a detector by name; one that can't be loaded is a row that was not run."""
        try:
            if model not in self._loaded:
                self._loaded[model] = load_scorer(model)
            return self._loaded[model]
        except UserError as error:
            if not model.startswith("embedded"):
                raise
            raise NotRun(error.message.partition(". ")[0]) from None

    def trained(
        self,
        row: str,
        recipe: str,
        train: pl.DataFrame,
        choose: pl.DataFrame | None,
        questions: tuple[Question, ...],
        seed: int,
    ) -> Scorer:
        """Return the row's fine-tuned transformer: a model folder as it is, else made here from its encoder.

        The checkpoint is chosen on `choose`, or on a slice of train where that is None: never on what is measured.
        """
        name = self._encoders.get(row)
        if name is not None and (Path(name) / "manifest.json").is_file():
            return self.loaded(name)
        config = f"{recipe}-{row.lower()}" if recipe == "edos" else recipe
        with _extras():
            given = (row, config, self._base(row, name, seed), train, choose, questions)
            return fine_tune(*given, seed=seed, changes=self._changes, reporter=self._reporter)

    def ran(self, row: str) -> str:
        """Return what a row was made from where that is not the paper's: another encoder, changed fields."""
        name = self._encoders.get(row)
        if name is None:
            base = self._encoders.get(_before(row)) or ""
            parts = [f"{_short(base)}, which read {len(self._texts):,} posts first"]
        else:
            parts = [] if name == self._paper.get(row) else [_short(name)]
        return ", ".join([*parts, *(f"{field}={value}" for field, value in self._changes.items())])

    def _base(self, row: str, name: str | None, seed: int) -> str:
        """Return the encoder that a row is fine-tuned from; a row whose encoder is not on this machine was not run."""
        if name is None:
            before = _before(row)
            if not self._texts:
                raise NotRun(f"its encoder reads unlabelled posts first: --unlabelled FILE, or --encoder {_typed(row)}")
            base = self._base(before, self._encoders.get(before), seed)
            return pretrain_further(row, base, self._texts, seed=seed, changes=self._changes, reporter=self._reporter)
        if not _is_here(name):
            raise NotRun(f"{name} is not on this machine; name a folder or download it: --encoder {_typed(row)}")
        return name


def _before(row: str) -> str:
    """Return the row whose encoder a row reads further with: B4's is B3's."""
    return f"B{int(row[1:]) - 1}"


def _short(name: str) -> str:
    """Return an encoder's name, of a folder the last part: its path says nothing to others."""
    return Path(name).name if Path(name).is_dir() else name


@contextmanager
def _extras() -> Iterator[None]:
    """Turn a package that is not installed into a row that was not run."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        raise NotRun(missing.message) from None


def _typed(row: str) -> str:
    """Return a row's option as a shell takes it: names with blanks want quotes."""
    return shlex.quote(f"{row}=FOLDER")


def _is_here(name: str) -> bool:
    """Return whether an encoder is a folder, or in the Hugging Face cache of this machine."""
    if (Path(name).expanduser() / "config.json").is_file():
        return True
    try:
        return encoder.is_cached(name)
    except ImportError:  # without the extra there is no cache to look into
        return False


def fine_tune(
    row: str,
    recipe: str,
    encoder: str,
    train: pl.DataFrame,
    choose: pl.DataFrame | None,
    questions: tuple[Question, ...],
    *,
    seed: int,
    changes: Mapping[str, str],
    reporter: Reporter = SILENT,
) -> Scorer:
    """Return the encoder fine-tuned by the recipe's config; the checkpoint is never chosen on what is measured."""
    from davy.detectors.load import open_folder
    from davy.training.trainer import train as trained

    # Undersampling is the row's business: it comes with posts that are cut already.
    config = replace(load_config(recipe, changes), encoder=encoder, under={}, seeds=(seed,))
    learn, judge = (train, choose) if choose is not None else hold_out(train, CHOOSE, seed)
    asked = [question.name for question in questions]
    folder = cache_path("models", row, asdict(config), _hash(learn, asked), _hash(judge, asked), asked)
    if not (folder / "model" / "manifest.json").is_file():
        reporter.note(f"{row}: fine-tuning {encoder} on {len(learn):,} posts ({', '.join(asked)}) …")
        reporter.begin(f"Fine-tuning {row}", 100)
        with StepReporter(reporter, folder) as on_step:
            trained(learn, judge, questions, config, folder, seed=seed, tell=note_epoch(reporter), on_step=on_step)
        reporter.end()
    return open_folder(folder / "model")


def pretrain_further(
    row: str, encoder: str, texts: Sequence[str], *, seed: int, changes: Mapping[str, str], reporter: Reporter = SILENT
) -> str:
    """Return the folder of an encoder that has guessed hidden words in these texts."""
    from davy.training.pretrain import pretrain

    own = {name: value for name, value in changes.items() if name in ("epochs", "batch", "max_length", "precision")}
    config = with_changes(
        from_values({"name": "pretrained", "encoder": encoder, "rate": 5e-5, "epochs": 1}, "the defaults"), own
    )
    digest = hashlib.sha256("\x1e".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    folder = cache_path("encoders", row, asdict(config), digest, seed)
    if not (folder / "tokenizer.json").is_file():
        reporter.note(f"{row}: {encoder} reads {len(texts):,} posts first …")
        with StepReporter(reporter, folder) as on_step:
            pretrain(texts, config, folder, seed=seed, tell=note_epoch(reporter), on_step=on_step)
    return str(folder)


def cache_path(kind: str, row: str, *depends: Any) -> Path:
    """Return the folder of the cache for something that depends on all this."""
    digest = hashlib.sha256(json.dumps([row, *depends], sort_keys=True, default=str).encode()).hexdigest()
    return cache_folder() / "reproduce" / kind / digest[:16]


def _hash(posts: pl.DataFrame, asked: Sequence[str]) -> str:
    return rows_hash(posts.select("text", *(f"{name}.gold" for name in asked)), ordered=True)
