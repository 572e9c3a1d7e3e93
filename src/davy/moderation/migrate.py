"""Compare a log of old Perspective scores with a detector's, and fit thresholds that keep the share of flags.

A log in; for each attribute a comparison with intervals, a report with pictures and `thresholds.yaml`, which a
community of the server takes, out. The log has a text or an id (with a file of posts that has the texts), and scores
as columns (`TOXICITY`) or as Perspective's own answer (`attributeScores`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.options import Option
from davy.core.reporter import SILENT, Reporter
from davy.core.scorer import Scorer, Scores
from davy.corpus.post_source import PostSource, load_posts
from davy.files import tables
from davy.files.atomic import make_folder, write_json, write_text
from davy.files.file_table import list_columns, translate_errors
from davy.files.formats import display_name
from davy.files.input_paths import join_paths
from davy.files.post_columns import TEXT_NAMES
from davy.measure.intervals import Bootstrap
from davy.measure.score_comparison import FEWEST, ScoreComparison, compare_scores
from davy.moderation.attribute_map import PERSPECTIVE, AttributeMap, attribute_scores, load_attributes
from davy.report.page import Page, Provenance
from davy.report.plots import line
from davy.report.tables import Column, Table
from davy.scoring.result import model_of
from davy.scoring.scorers import load_scorer

THRESHOLD = 0.7
"""What Perspective's documentation starts with for research and moderation."""
BATCH = 512
_TEXTS = (*TEXT_NAMES, "comment.text")


@dataclass(frozen=True, slots=True)
class AttributeComparison:
    """One attribute: what stands behind it, how it compared, and the scores that were compared."""

    attribute: str
    question: str
    label: str | None
    old_threshold: float
    figures: ScoreComparison
    old: Any
    new: Any
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many posts of the log were not compared, by reason."""
    no_number: str | None = None
    """The first old score that is no number, as the log has it."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A whole comparison: `left_out` says why an attribute of the log is not among them.

    `posts` counts the rows of the log that have a text, `dropped` the others by reason.
    """

    model: Mapping[str, str]
    posts: int
    attributes: tuple[AttributeComparison, ...]
    left_out: Mapping[str, str]
    dropped: Mapping[str, int] = field(default_factory=dict)

    def table(self) -> Table:
        """Return one row an attribute."""
        columns = (
            Column("attribute"),
            Column("ours"),
            Column("posts", "count"),
            Column("ranks", "metric", scale=(-1.0, 1.0)),
            Column("old", "number"),
            Column("flagged", "metric"),
            Column("new", "metric"),
            Column("same", "metric"),
        )
        rows = tuple(
            (
                it.attribute,
                it.question if it.label is None else f"{it.question}: {it.label}",
                len(it.old),
                it.figures.rank_correlation,
                it.old_threshold,
                it.figures.flagged,
                it.figures.threshold,
                it.figures.agreement,
            )
            for it in self.attributes
        )
        note = "ranks: rank correlation; old, new: thresholds; same: the share of posts whose decision stays"
        return Table(columns, rows, "Old scores and ours", note)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, without the scores."""
        names = ScoreComparison.__dataclass_fields__
        return {
            "model": dict(self.model),
            "posts": self.posts,
            "dropped": dict(self.dropped),
            "attributes": {
                it.attribute: {
                    "question": it.question,
                    "label": it.label,
                    "old_threshold": it.old_threshold,
                    "posts": len(it.old),
                    "dropped": dict(it.dropped),
                    "no_number": it.no_number,
                    **{name: getattr(it.figures, name).to_dict() for name in names},
                }
                for it in self.attributes
            },
            "left_out": dict(self.left_out),
        }

    def notes(self) -> list[str]:
        """Return what a reader has to know besides the table, a sentence each."""
        return [
            *self.count_notes(),
            *(
                f"{it.attribute}: no threshold is written, because {it.figures.threshold.note}. It takes posts on both "
                "sides of the threshold, by the old scores and by the new: give a longer log, or another --threshold."
                for it in self.attributes
                if it.figures.threshold.value is None
            ),
            *(f"{name}: {why}." for name, why in self.left_out.items()),
        ]

    def count_notes(self) -> list[str]:
        """Return how many rows of the log and posts of each attribute were not compared, and why."""
        rows = self.posts + sum(self.dropped.values())
        notes = (
            [f"{self.posts:,} of {rows:,} rows of the log were scored.{_said(self.dropped)}"] if self.dropped else []
        )
        for it in self.attributes:
            if it.dropped:
                dropped = _said(it.dropped, it.no_number)
                notes.append(f"{it.attribute}: {len(it.old):,} of {self.posts:,} posts were compared.{dropped}")
        return notes

    def thresholds(self) -> str:
        """Return the thresholds as the YAML file that a community takes."""
        lines = [
            "# Thresholds that flag the same share of posts as Perspective's scores did.",
            "# Use them: davy community set NAME --thresholds THIS-FILE",
            *(f"# {note}" for note in self.count_notes()),
            f"model: {json.dumps(self.model['name'])}",
            f"version: {json.dumps(self.model['version'])}",
            "thresholds:",
        ]
        for it in self.attributes:
            cut, flagged = it.figures.threshold, it.figures.flagged
            if cut.value is None:
                lines.append(f"  # {it.attribute}: no threshold, because {cut.note}")
                continue
            label = "" if it.label is None else f"label: {json.dumps(it.label)}, "
            lines.append(
                f"  {it.attribute}: {{question: {it.question}, {label}threshold: {cut.value:.6f}}}"
                f"  # fitted on {len(it.old)} posts; {_interval(cut)}; "
                f"flags {flagged.value:.1%} as {it.old_threshold:g} did"
            )
        return "\n".join(lines) + "\n"


def compare_log(
    log: Annotated[
        str, Option("The old scores: files, folders, patterns in quotes.", "logs", metavar="F…", read=join_paths)
    ],
    model: Annotated[str | Scorer, Option("The detector.", "--model -m", metavar="M")] = "embedded",
    *,
    posts: Annotated[str | None, Option("A file with the texts, found by id, where F has none.", metavar="F2")] = None,
    thresholds: Annotated[
        Mapping[str, float] | None,
        Option(
            "From where on you flagged: 0.5, or TOXICITY=0.8; repeat. Else 0.7.",
            "--threshold",
            metavar="[A=]T",
            read=parse_thresholds,
        ),
    ] = None,
    attributes: Annotated[
        str | AttributeMap, Option("Which question stands behind which attribute.", metavar="F3")
    ] = PERSPECTIVE,
    text: Annotated[str | None, Option("The column with the text.", "--text-column", metavar="C")] = None,
    resamples: int = 1000,
    seed: Annotated[int, Option("The seed of the resamples.")] = 0,
    reporter: Reporter = SILENT,
) -> Migration:
    """Return the comparison; `thresholds` are the old ones by attribute, under "" the one for all others."""
    known = load_attributes(attributes) if isinstance(attributes, str) else attributes
    whole = _read_log(log)
    frame = _with_texts(whole, log, text, posts)
    dropped = {"without a text": len(whole) - len(frame)} if len(frame) < len(whole) else {}
    old = _old_scores(frame)
    if not old:
        raise UserError(
            f"{log} has no scores: give columns such as TOXICITY, or Perspective's attributeScores. "
            f"It has {list_columns(frame.columns)}."
        )
    _refuse_percent(old, log)
    cuts = _thresholds_of(old, thresholds or {}, log)
    scorer = load_scorer(model)
    scores = _scored(frame, scorer, reporter)
    compared, left_out = [], {}
    for name, column in old.items():
        source = known.attributes.get(name)
        if source is None or not source:
            left_out[name] = "no question stands behind it"
            continue
        if source.formula is not None:
            left_out[name] = "a formula stands behind it, and a threshold is one question's"
            continue
        ours = attribute_scores(scores, source)
        if ours is None:
            left_out[name] = f"{scorer.name} does not answer it"
            continue
        both = np.isfinite(column.values) & ours[1]
        without = column.dropped(ours[1])
        if both.sum() < FEWEST:
            why = f"only {int(both.sum())} posts have both scores; {FEWEST} are needed"
            left_out[name] = (why + "." + _said(without, column.no_number)).removesuffix(".")
            continue
        values, new = column.values[both], ours[0][both]
        figures = compare_scores(values, new, cuts[name], bootstrap=Bootstrap(resamples, seed))
        kind = (str(source.question), source.label, cuts[name])
        compared.append(AttributeComparison(name, *kind, figures, values, new, without, column.no_number))
    if not compared:
        raise UserError("Nothing can be compared. " + "; ".join(f"{k}: {v}" for k, v in left_out.items()) + ".")
    return Migration(model_of(scorer), len(frame), tuple(compared), left_out, dropped)


def write_migration(migration: Migration, out: Path, *, log: str = "", command: str = "") -> list[Path]:
    """Write `thresholds.yaml`, `compare.json` and `report.html` into a folder; return them."""
    make_folder(out)
    page = Page(
        "Perspective's scores and ours",
        lead=f"{migration.posts:,} posts of {Path(log).name}, scored again by {migration.model['name']}.",
        provenance=Provenance(
            data=Path(log).name, model=f"{migration.model['name']} {migration.model['version']}", command=command
        ),
    )
    page.section(
        "Figures",
        "The new threshold flags the same share of posts as the old one did on the old scores. "
        "It does not flag the same posts: the last column says of how many the decision stays the same.",
    )
    page.table(migration.table())
    for note in migration.notes():
        page.say(note)
    for it in migration.attributes:
        page.section(it.attribute)
        page.plot(_flag_curves(it), f"The share flagged at each threshold. Old threshold {it.old_threshold:g}.")
    return [
        write_text(out / "thresholds.yaml", migration.thresholds()),
        write_json(out / "compare.json", migration.to_dict()),
        page.write(out / "report.html"),
    ]


def parse_thresholds(given: Sequence[str]) -> dict[str, float]:
    """Return thresholds by attribute from `0.7` or `TOXICITY=0.8`; "" is for all others."""
    parsed: dict[str, float] = {}
    for one in given:
        name, _, number = one.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not 0 < value <= 1:
            raise UserError(f"--threshold {one!r} is no threshold. Write 0.7, or TOXICITY=0.8.")
        parsed[name.upper()] = value
    return parsed


def _refuse_percent(old: Mapping[str, _OldScores], log: str) -> None:
    """Raise where a score is no share between 0 and 1: a threshold would be fitted to another scale."""
    for name, column in old.items():
        values = column.values
        outside = values[(values < 0) | (values > 1)]
        if len(outside):
            raise UserError(
                f"{display_name(log)} has {name} scores outside 0 to 1, such as {outside[0]:g} ({len(outside):,} of "
                f"{len(values):,}). Where they are in percent, divide them by 100."
            )


def _thresholds_of(attributes: Iterable[str], given: Mapping[str, float], log: str) -> dict[str, float]:
    """Return each attribute's old threshold; a name that the log does not have is an error, not passed over."""
    by_fold = {name.casefold(): name for name in attributes}
    cuts = dict.fromkeys(by_fold.values(), given.get("", THRESHOLD))
    for name, cut in given.items():
        if name and name.casefold() not in by_fold:
            raise UserError(
                f"--threshold {name}={cut:g}: {display_name(log)} has no scores of {name}; "
                f"it has {', '.join(by_fold.values())}.{nearest(name, by_fold.values())}"
            )
        if name:
            cuts[by_fold[name.casefold()]] = cut
    return cuts


def _flag_curves(it: AttributeComparison) -> Any:
    grid = np.linspace(0, 1, 51)
    curves = {
        "Perspective": [(float(x), float((it.old >= x).mean())) for x in grid],
        "Davy": [(float(x), float((it.new >= x).mean())) for x in grid],
    }
    return line(curves, x="threshold", y="share flagged")


def _said(dropped: Mapping[str, int], no_number: str | None = None) -> str:
    """Return what was left out as a sentence behind another; nothing where nothing was."""
    if not dropped:
        return ""
    hint = ""
    if no_number is not None:
        comma = re.fullmatch(r"\s*(\d*),(\d+)\s*", no_number)
        hint = f" {no_number[:20]!r} is no number" + (f": write {comma[1] or 0}.{comma[2]}." if comma else ".")
    return f" Left out: {', '.join(f'{n:,} {why}' for why, n in dropped.items())}.{hint}"


def _interval(metric: Any) -> str:
    return "no interval" if metric.low is None else f"95 % interval {metric.low:.3f} to {metric.high:.3f}"


def _read_log(log: str) -> pl.DataFrame:
    with tables.open_table(log) as table, translate_errors(table.name):
        return table.frame.collect()


def _with_texts(frame: pl.DataFrame, log: str, text: str | None, posts: str | None) -> pl.DataFrame:
    """Return the log with a column `text`, joined by id where a file of posts has the texts."""
    if posts is not None:
        if "id" not in frame.columns:
            raise UserError(f"{log} has no column id, so the texts of {posts} can't be found. Give the log ids.")
        texts = load_posts(PostSource(posts)).posts.select(pl.col("id").cast(pl.String), "text")
        joined = frame.with_columns(pl.col("id").cast(pl.String)).join(
            texts, on="id", how="inner", maintain_order="left", suffix=".post"
        )
        if not len(joined):
            raise UserError(f"No id of {log} is in {posts}.")
        if "text.post" in joined.columns:
            joined = joined.with_columns(pl.col("text.post").alias("text"))
        return joined.filter(pl.col("text").is_not_null())
    by_fold = {column.casefold(): column for column in reversed(frame.columns)}
    name = text or next((by_fold[known] for known in _TEXTS if known in by_fold), None)
    if name is None or name not in frame.columns:
        raise UserError(
            f"{log} has no column with the texts; it has {list_columns(frame.columns)}. Name it with --text-column, "
            "or give the file that has them with --posts."
        )
    column = pl.Series("text", [_comment_text(cell) for cell in frame[name].cast(pl.String)], dtype=pl.String)
    return frame.with_columns(column).filter(pl.col("text").is_not_null())


def _comment_text(cell: str | None) -> str | None:
    """Return the text of a cell: itself, or what Perspective's own request has in it, `{"text": …, "type": …}`."""
    if cell is None or not cell.lstrip().startswith("{"):
        return cell
    try:
        comment = json.loads(cell)
    except ValueError:
        return cell
    text = comment.get("text", cell)
    return text if isinstance(text, str) else None


@dataclass(frozen=True, slots=True)
class _OldScores:
    """An attribute's scores in a log, NaN where a post has none; `no_numbers` of these have something else instead."""

    values: Any
    no_numbers: int = 0
    no_number: str | None = None

    def dropped(self, answered: Any) -> dict[str, int]:
        """Return how many posts can't be compared, by reason; `answered` are those that the detector judged."""
        missing = np.isnan(self.values)
        counts = {
            "without a score": int(missing.sum()) - self.no_numbers,
            "with a score that is no number": self.no_numbers,
            "in a language that is not judged": int((~missing & ~answered).sum()),
        }
        return {why: n for why, n in counts.items() if n}


def _old_scores(frame: pl.DataFrame) -> dict[str, _OldScores]:
    """Return the old scores by attribute."""
    nested = next((c for c in frame.columns if c.casefold() == "attributescores"), None)
    if nested is not None:
        rows = [_answer(cell) for cell in frame[nested].to_list()]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: _numbers([_summary(row.get(name)) for row in rows]) for name in names}
    known = load_attributes().attributes
    by_name = {column.upper().removesuffix(".SCORE"): column for column in frame.columns}
    return {name: _numbers(frame[column].to_list()) for name, column in by_name.items() if name in known}


def _answer(cell: Any) -> dict[str, Any]:
    """Return the scores of one of Perspective's answers; none where a row has none."""
    try:
        answer = json.loads(cell) if isinstance(cell, str) else cell
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _summary(score: Any) -> Any:
    """Return the value of a score in Perspective's shape, or the score itself."""
    if not isinstance(score, dict):
        return score
    summary = score.get("summaryScore")
    return summary.get("value") if isinstance(summary, dict) else None


def _numbers(cells: Sequence[Any]) -> _OldScores:
    values = np.full(len(cells), np.nan)
    wrong = []
    for row, cell in enumerate(cells):
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            continue
        with suppress(TypeError, ValueError):
            values[row] = float(cell)
        if np.isnan(values[row]):
            wrong.append(str(cell))
    return _OldScores(values, len(wrong), wrong[0] if wrong else None)


def _scored(frame: pl.DataFrame, scorer: Scorer, reporter: Reporter) -> Scores:
    columns = frame.select(name for name in ("text", "lang") if name in frame.columns)
    reporter.begin("Scoring the log", len(frame))
    parts = []
    for start in range(0, len(columns), BATCH):
        parts.append(scorer.score(columns[start : start + BATCH]))
        reporter.advance(len(parts[-1]))
    reporter.end()
    return Scores.concat(parts)
