"""`davy reproduce hatemoji`: Tables 3, 4, 8 and 9 with our detectors as columns beside the paper's."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.actions.suite_source import load_suite
from davy.check import hatemoji as paper
from davy.check.answer_cache import AnswerCache
from davy.check.fairness import measure_fairness
from davy.check.run import run_suite
from davy.cli import console
from davy.collect import corpora
from davy.core import Metric
from davy.core.errors import UserError
from davy.files import tables as files
from davy.files.atomic import make_folder, write_text
from davy.measure.intervals import Bootstrap
from davy.report import Page, Provenance

if TYPE_CHECKING:
    import polars as pl

    from davy.check.hatemoji import HatemojiMetrics
    from davy.core import Scorer, Suite
    from davy.report import Table

SETS = {"emoji rounds": "hatemojibuild", "text rounds": "dynahate"}


def hatemoji(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Folder with hatemojicheck, hatecheck, hatemojibuild, dynahate."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Detector; repeat it for several columns.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write report.html and CSV tables.")
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", help="Bootstrap resamples of the fairness ratios.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampling.")] = 0,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Use answers that were given before.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the Hatemoji paper's Tables 3, 4, 8 and 9 with our detectors as columns beside the paper's.

    With HatemojiCheck's file in the folder, figures compare; without it our own suite emoji-en is run instead, and
    the tables say so. Of Table 8, test sets that are not in the folder are left empty.

    Examples:

      davy reproduce hatemoji --data data/ --model embedded --model embedded-en-large

      davy reproduce hatemoji --model embedded --out report
    """
    from davy.models.load import load

    if data is not None and not data.is_dir():
        raise UserError(f"There is no folder {data}. Give the one that holds the published files.")
    names = model or ["embedded"]
    scorers = [load(name, read=files.batches) for name in names]
    kept = AnswerCache.default() if cache else None
    suite, official = _suite(data)
    runs = []
    for name, scorer in zip(names, scorers, strict=True):
        with console.progress(name, len(suite.cases)) as done:
            runs.append(run_suite(suite, scorer, name=name, cache=kept, progress=done))
    fair = [measure_fairness(suite, one, bootstrap=Bootstrap(resamples, seed)) for one in runs]
    results: dict[str, list[HatemojiMetrics | None]] = {}
    if official:
        results["hatemojicheck"] = [paper.run_metrics(suite, one) for one in runs]
    results |= _others(data, names, scorers, kept) if data is not None else {}
    tables = [
        paper.table_3(suite, runs, official=official),
        paper.table_4(suite, runs, official=official),
        paper.table_8(results, names),
        paper.table_9(suite, runs, fair, official=official),
    ]
    _show(tables, suite, [f"{one.model} ({one.version})" for one in runs], seed, out, json)


def _suite(data: Path | None) -> tuple[Suite, bool]:
    """Return HatemojiCheck where the folder has it, else our own suite, and whether it is the paper's."""

    file = _file(data, "hatemojicheck")
    return (load_suite(f"hatemojicheck:{file}"), True) if file else (load_suite("emoji-en"), False)


def _file(data: Path | None, corpus: str) -> Path | None:
    """Return where a corpus lies in the folder: a folder of its name, or a file whose name holds it."""
    if data is None:
        return None
    named = [each for each in sorted(data.iterdir()) if corpus in each.name.lower().replace("_", "").replace("-", "")]
    return named[0] if named else None


def _others(data: Path, names: list[str], scorers: list[Scorer], cache: Any) -> dict[str, list[HatemojiMetrics | None]]:
    """Return the figures on the other test sets of Table 8 that the folder holds."""

    results: dict[str, list[HatemojiMetrics | None]] = {}
    file = _file(data, "hatecheck")
    if file is not None:
        suite = load_suite(f"hatecheck:{file}")
        results["hatecheck"] = [
            paper.run_metrics(suite, run_suite(suite, scorer, name=name, cache=cache))
            for name, scorer in zip(names, scorers, strict=True)
        ]
    parts: dict[str, list[tuple[list[str], list[str]]]] = {}
    for key, corpus in SETS.items():
        posts = _test_posts(data, corpus)
        if posts is not None:
            parts[key] = [_answers(posts, scorer) for scorer in scorers]
    for key, answers in parts.items():
        results[key] = [paper.hatemoji_metrics(gold, said, "hateful") for gold, said in answers]
    if set(parts) == set(SETS):
        both = [([*a[0], *b[0]], [*a[1], *b[1]]) for a, b in zip(*parts.values(), strict=True)]
        results["all rounds"] = [paper.hatemoji_metrics(gold, said, "hateful") for gold, said in both]
    return results


def _test_posts(data: Path, corpus: str) -> pl.DataFrame | None:
    """Return the test part of a corpus, or None where the folder does not hold it."""
    import polars as pl

    file = _file(data, corpus)
    if file is None:
        return None
    posts = corpora.load(corpus, file).posts.collect()
    if "split" not in posts.columns:
        return None
    test = posts.filter((pl.col("split") == "test") & pl.col("hate.gold").is_not_null() & pl.col("text").is_not_null())
    return test if len(test) else None


def _answers(posts: pl.DataFrame, scorer: Scorer) -> tuple[list[str], list[str]]:
    said: list[str] = []
    with console.progress(scorer.name, len(posts)) as done:
        for part in posts.iter_slices(256):
            scores = scorer.score(part.select("text", "lang"))
            said += ["hateful" if "hateful" in chosen else "not hateful" for chosen in scores.chosen("hate")]
            done(len(part))
    return posts["hate.gold"].to_list(), said


def _show(tables: list[Table], suite: Suite, models: list[str], seed: int, out: Path | None, json: bool) -> None:

    if out is not None:
        make_folder(out)
        origin = Provenance(
            data=f"{suite.name}, hash {suite.digest}",
            model=", ".join(models),
            seed=seed,
            command=shlex.join(["davy", *sys.argv[1:]]),
        )
        page = Page("Hatemoji: the paper's tables beside ours", provenance=origin)
        for number, table in zip((3, 4, 8, 9), tables, strict=True):
            page.section(table.title)
            page.table(table)
            write_text(out / f"table-{number}.csv", table.csv())
        page.write(out / "report.html")
        console.note(f"Wrote {out}/report.html and four CSV tables")
    if json:
        console.json({table.title: _records(table) for table in tables})
        return
    for table in tables:
        console.out().print(table.rich())


def _records(table: Table) -> list[dict[str, Any]]:
    names = [column.name or "row" for column in table.columns]
    return [dict(zip(names, map(_plain, row), strict=True)) for row in table.rows]


def _plain(cell: Any) -> Any:

    return cell.to_dict() if isinstance(cell, Metric) else cell
