"""Reproduce: a paper's table beside ours, on the splits that are present.

A paper's name and the folder of its corpus in, a `Reproduction` out, which `write_reproduction` puts into a folder.
Answers and fine-tuned models are kept in the cache, so that a second call only reads them. Neither texts nor ids are
kept: rows are in the order of the posts, whose hash is part of the key.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError, missing_extra
from davy.core.reporter import SILENT, Reporter
from davy.corpus.post_source import PostSource, load_joined, load_posts
from davy.detectors import encoder
from davy.detectors.cache import cache_folder
from davy.evaluation.reproduce.paper_models import fine_tune, pretrain_further
from davy.evaluation.reproduce.paper_table import NotRun, Reproduction, page, record, whole_table
from davy.files.atomic import atomic_path, make_folder, write_json, write_text
from davy.files.data_hash import rows_hash
from davy.measure.intervals import Bootstrap
from davy.scoring.scorers import load_scorer, score_posts
from davy.training.config import Config, with_changes
from davy.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from davy.core.scheme import Question
    from davy.core.scorer import Scorer


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


PAPERS: Mapping[str, str] = {
    "edos": "davy.evaluation.reproduce.edos",
    "gmhp7k": "davy.evaluation.reproduce.gmhp7k",
}


def reproduce(
    paper: str,
    data: Path | str,
    *,
    encoders: Sequence[str] = (),
    changes: Mapping[str, str] | None = None,
    unlabelled: Sequence[Path] = (),
    models: Sequence[str] = (),
    likely: bool = False,
    only: Sequence[str] = (),
    fresh: bool = False,
    seed: int = 0,
    predictions: Path | None = None,
    reporter: Reporter = SILENT,
) -> Reproduction:
    """Return a paper's rows with ours beside them; `models` are further rows.

    `predictions` is a folder for what each row answered, one file a row: `davy challenge` puts them on a board.

    `encoders` are `[ROW=]NAME` for the transformer rows, `changes` fields of their config as text, and `unlabelled`
    posts that an encoder reads first where its row wants that. `likely` adds EDOS's B2 as the paper may have run it;
    `only` leaves out EDOS's other rows.
    """
    module = import_module(PAPERS[paper])
    posts = load_posts(PostSource(str(data), corpus=paper)).frame
    chosen = _encoders(encoders, module.ENCODERS)
    rows = _PaperRows(chosen, module.ENCODERS, changes or {}, unlabelled, reporter, fresh=fresh)
    for name in models:
        rows.loaded(name)  # a wrong name is an error now, not after minutes of fitting
    more = {"likely": likely, "only": tuple(only)} if paper == "edos" else {}
    found: Reproduction = module.reproduce(
        posts, rows, seed=seed, models=list(models), bootstrap=Bootstrap(seed=seed), **more
    )
    if predictions is not None:
        rows.write_answers(predictions)
    return found


def write_reproduction(found: Reproduction, folder: Path, *, command: str = "") -> None:
    """Write report.html, table.csv and results.json into a folder, each whole or not at all."""
    make_folder(folder)
    write_json(folder / "results.json", record(found))
    write_text(folder / "table.csv", whole_table(found).csv())
    page(found, command=command).write(folder / "report.html")


class _PaperRows:
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
        """Return the row's fine-tuned transformer: a model folder as it is, else made here from its encoder."""
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


def _encoders(given: Sequence[str], rows: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return each transformer row's encoder: the papers', unless the user names another."""
    chosen = dict(rows)
    for entry in given:
        row, _, name = entry.rpartition("=")
        if row and row not in rows:
            raise UserError(f"There is no transformer row {row!r} (--encoder); the rows are {', '.join(rows)}.")
        chosen.update({row: name} if row else {each: name for each, own in rows.items() if own is not None})
    return chosen


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
