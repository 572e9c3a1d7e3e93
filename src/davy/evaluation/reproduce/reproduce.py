"""Reproduce: a paper's table beside ours, on the splits that are present.

A paper's name and the folder of its corpus in, a `Reproduction` out, which `write_reproduction` puts into a folder.
Answers and fine-tuned models are kept in the cache, so that a second call only reads them. Neither texts nor ids are
kept: rows are in the order of the posts, whose hash is part of the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.corpus.post_source import PostSource, load_posts
from davy.evaluation.reproduce.paper_rows import PaperRows
from davy.evaluation.reproduce.paper_table import Reproduction, page, record, whole_table
from davy.files.atomic import make_folder, write_json, write_text
from davy.measure.intervals import Bootstrap

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
    rows = PaperRows(chosen, module.ENCODERS, changes or {}, unlabelled, reporter, fresh=fresh)
    for name in models:
        rows.loaded(name)  # a wrong name is an error now, not after minutes of fitting
    more = {"likely": likely, "only": tuple(only)} if paper == "edos" else {}
    reproduction: Reproduction = module.reproduce(
        posts, rows, seed=seed, models=list(models), bootstrap=Bootstrap(seed=seed), **more
    )
    if predictions is not None:
        rows.write_answers(predictions)
    return reproduction


def write_reproduction(found: Reproduction, folder: Path, *, command: str = "") -> None:
    """Write report.html, table.csv and results.json into a folder, each whole or not at all."""
    make_folder(folder)
    write_json(folder / "results.json", record(found))
    write_text(folder / "table.csv", whole_table(found).csv())
    page(found, command=command).write(folder / "report.html")


def _encoders(given: Sequence[str], rows: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return each transformer row's encoder: the papers', unless the user names another."""
    chosen = dict(rows)
    for entry in given:
        row, _, name = entry.rpartition("=")
        if row and row not in rows:
            raise UserError(f"There is no transformer row {row!r} (--encoder); the rows are {', '.join(rows)}.")
        chosen.update({row: name} if row else {each: name for each, own in rows.items() if own is not None})
    return chosen
