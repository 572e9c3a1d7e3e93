"""`davy reproduce`: the papers' tables beside ours, on the splits that are present."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.cli import console
from davy.core.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from davy.compare.papers.paper_table import Reproduction
    from davy.core.scheme import Question
    from davy.core.scorer import Scorer

app = typer.Typer(
    no_args_is_help=True,
    help="Regenerate a paper's table beside ours.\n\n"
    "Rows that this machine can't run say why. Answers are remembered, so that a second run takes seconds.\n\n"
    "Examples:\n\n  davy reproduce edos --data edos/\n\n"
    "  davy reproduce gmhp7k --data gmhp7k/ --encoder deepset/gbert-base",
)

Data = Annotated[Path, typer.Option("--data", metavar="DIR", help="The folder with the corpus's published files.")]
Encoders = Annotated[
    list[str] | None,
    typer.Option(
        "--encoder",
        metavar="[ROW=]NAME",
        help="The encoder to fine-tune for a transformer's row, or a model folder that is fine-tuned already.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the fine-tuning config, such as epochs=1."),
]
Unlabelled = Annotated[
    Path | None, typer.Option(metavar="F", help="Posts that B4's and B6's encoders read before they are fine-tuned.")
]
Models = Annotated[
    list[str] | None, typer.Option("--model", "-m", metavar="M", help="One more detector as a row; again for more.")
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Write report.html, table.csv and results.json here.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute again what an earlier run remembered.")]
Seed = Annotated[int, typer.Option(help="The seed of fitting, chance and resamples.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
def edos(
    data: Data,
    encoder: Encoders = None,
    unlabelled: Unlabelled = None,
    set_: Set = None,
    model: Models = None,
    out: Out = None,
    fresh: Fresh = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print EDOS's baselines B0 to B6 beside Table 3: macro-F1 for tasks A, B and C.

    Fitted on train, measured on test where DIR has it, else on dev. The embedded detectors are extra rows. A
    transformer's row is fine-tuned here where its encoder is on this machine, which takes minutes on a GPU and hours
    without; it is kept, so that the next run only reads it.

    Examples:

      davy reproduce edos --data edos/ --out report

      davy reproduce edos --data edos/ --encoder B3=./minilm --unlabelled reddit.csv --set epochs=2
    """
    from davy.cli.train import parse_changes
    from davy.compare.papers import edos as paper
    from davy.measure.intervals import Bootstrap

    posts = _posts("edos", data, out)
    runner = _Runner(_encoders(encoder or [], paper.ENCODERS), parse_changes(set_), unlabelled, fresh=fresh)
    for name in model or []:
        runner.loaded(name)  # a name that is wrong is said now, not after minutes of fitting
    found = paper.reproduce(posts, runner, seed=seed, models=model or [], bootstrap=Bootstrap(seed=seed))
    _show(found, out, json=json)


@app.command()
def gmhp7k(
    data: Data,
    encoder: Encoders = None,
    set_: Set = None,
    model: Models = None,
    out: Out = None,
    fresh: Fresh = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print GMHP7k's two binary tasks beside Table 7, with and without undersampling.

    Fitted on train, measured on test where DIR has it, else on val; each task has its own split column. The shell
    shows four figures a row; --json and --out have all nine.

    Examples:

      davy reproduce gmhp7k --data gmhp7k/

      davy reproduce gmhp7k --data gmhp7k/ --encoder deepset/gbert-base --json
    """
    from davy.cli.train import parse_changes
    from davy.compare.papers import gmhp7k as paper
    from davy.measure.intervals import Bootstrap

    posts = _posts("gmhp7k", data, out)
    runner = _Runner(_encoders(encoder or [], paper.ENCODERS), parse_changes(set_), None, fresh=fresh)
    for name in model or []:
        runner.loaded(name)  # a name that is wrong is said now, not after minutes of fitting
    found = paper.reproduce(posts, runner, seed=seed, models=model or [], bootstrap=Bootstrap(seed=seed))
    _show(found, out, json=json, figures=paper.SHORT)


class _Runner:
    """What the papers' modules ask of us: scoring passes that are remembered, training, detectors by name."""

    def __init__(
        self, encoders: Mapping[str, str | None], changes: Mapping[str, str], unlabelled: Path | None, *, fresh: bool
    ) -> None:
        from davy.train.config import Config, with_changes

        with_changes(Config(), changes)  # a wrong field is said now, even where no row is fine-tuned
        self._encoders, self._changes, self._unlabelled, self._fresh = encoders, changes, unlabelled, fresh
        self._loaded: dict[str, Scorer] = {}

    def scored(self, key: Mapping[str, Any], make: Callable[[], Scorer], posts: pl.DataFrame) -> pl.DataFrame:
        """Return a detector's answers to the posts, remembered by `key` and the posts."""
        from davy.cli.evaluate import score_posts
        from davy.compare.gold import data_hash
        from davy.compare.score_cache import cached_scores
        from davy.models.cache import cache_folder

        def made() -> pl.DataFrame:
            console.note(f"{key['row']}: fitting and scoring {len(posts):,} posts …")
            return score_posts(posts, make(), what=f"Scoring with {key['row']}")

        folder = cache_folder() / "reproduce"
        return cached_scores(folder, {**key, "posts": data_hash(posts, [])}, made, fresh=self._fresh)

    def loaded(self, model: str) -> Scorer:
        """Return a detector by name; one that can't be loaded is a row that was not run."""
        from davy.compare.papers.paper_table import NotRun
        from davy.files import tables
        from davy.models.load import load

        try:
            if model not in self._loaded:
                self._loaded[model] = load(model, read=tables.batches)
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
        from davy.cli.reproduction_training import fine_tune

        name = self._encoders.get(row)
        if name is not None and (Path(name) / "manifest.json").is_file():
            return self.loaded(name)
        encoder = self._base(row, name, seed)
        config = f"{recipe}-{row.lower()}" if recipe == "edos" else recipe
        return fine_tune(row, config, encoder, train, choose, questions, seed=seed, changes=self._changes)

    def _base(self, row: str, name: str | None, seed: int) -> str:
        """Return the encoder that a row is fine-tuned from; a row whose encoder is not on this machine was not run."""
        from davy.cli.reproduction_training import pretrain_further
        from davy.cli.train import read_joined
        from davy.compare.papers.paper_table import NotRun

        if name is None:
            before = f"B{int(row[1:]) - 1}"
            if self._unlabelled is None:
                raise NotRun(f"its encoder reads unlabelled posts first: --unlabelled FILE, or --encoder {_typed(row)}")
            base = self._base(before, self._encoders.get(before), seed)
            texts = read_joined([str(self._unlabelled)], None)["text"].fill_null("").to_list()
            return pretrain_further(row, base, texts, seed=seed, changes=self._changes)
        if not _is_here(name):
            raise NotRun(f"{name} is not on this machine; name a folder or download it: --encoder {_typed(row)}")
        return name


def _posts(corpus: str, data: Path, out: Path | None) -> pl.DataFrame:
    """Return the corpus's posts, once it is plain that the report can be written."""
    from davy.cli.evaluate import check_folder, read_labelled

    check_folder(out)
    return read_labelled(str(data), corpus)[0]


def _encoders(given: list[str], rows: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return each transformer row's encoder: the papers', unless the user names another."""
    chosen = dict(rows)
    for entry in given:
        row, _, name = entry.rpartition("=")
        if row and row not in rows:
            raise UserError(f"There is no transformer row {row!r} (--encoder); the rows are {', '.join(rows)}.")
        chosen.update({row: name} if row else {each: name for each, own in rows.items() if own is not None})
    return chosen


def _typed(row: str) -> str:
    """Return a row's option as a shell takes it: names with blanks want quotes."""
    return shlex.quote(f"{row}=FOLDER")


def _is_here(name: str) -> bool:
    """Return whether an encoder is a folder, or in the Hugging Face cache of this machine."""
    from davy.models import hub

    if (Path(name).expanduser() / "config.json").is_file():
        return True
    try:
        return hub.is_cached(name)
    except ImportError:  # without the extra there is no cache to look into
        return False


def _show(found: Reproduction, out: Path | None, *, json: bool, figures: tuple[str, ...] = ()) -> None:
    import json as codec

    from davy.cli.evaluate import make_folder
    from davy.compare.papers.paper_table import page, reasons, record, tables, whole_table
    from davy.files.output_file import atomic_path

    if out is not None:
        make_folder(out)
        with atomic_path(out / "results.json") as hidden:
            hidden.write_text(codec.dumps(record(found), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        with atomic_path(out / "table.csv") as hidden:
            hidden.write_text(whole_table(found).csv(), encoding="utf-8")
        page(found, command=shlex.join(["davy", *sys.argv[1:]])).write(out / "report.html")
        console.note(f"Written: {out}/report.html, table.csv, results.json")
    if json:
        console.json(record(found))
        return
    printed = console.out()
    printed.print(found.title, style="bold", markup=False)
    for each in tables(found, figures):
        printed.print(each.rich())
    for line in (*found.notes, *reasons(found), f"Beside {found.source}. Data {found.data}, seed {found.seed}."):
        printed.print(line, style="dim", markup=False)
