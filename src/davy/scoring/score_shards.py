"""Score a folder of Parquet shards, on this machine or on a Ray cluster.

Shards in, shards of the same names out, with the detector's columns added and the
rows in their order. A shard of more than `rows` rows is cut. Beside each finished
shard lies a note of what was done; the same call goes on after the last one, and
at the end the notes become `_davy.json`.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import polars as pl

from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.corpus.post_source import PostSource
from davy.detectors.cascade_screen import as_cascade
from davy.engines.shards import (
    FileFolder,
    ShardSlice,
    hide_password,
    map_shards,
    open_folder,
    open_work,
    read_slice,
    write_shard,
)
from davy.engines.unit_work import Engine
from davy.files.file_table import FileTable
from davy.files.post_columns import text_column
from davy.scoring.batch import ScoreSettings, check_columns, score_frames
from davy.scoring.result import model_of
from davy.scoring.score_file import ScoredFile, note_stale
from davy.scoring.scorers import load_scorer

ROWS = 65_536
"""The most rows of a unit: eight windows of scoring, about half a minute of one core."""
MANIFEST = "_davy.json"


def score_shards(
    source: PostSource,
    out: str,
    model: str = "embedded",
    *,
    settings: ScoreSettings | None = None,
    cascade: bool = True,
    resume: bool | None = None,
    engine: Engine | None = None,
    rows: int = ROWS,
    reporter: Reporter = SILENT,
) -> ScoredFile:
    """Score every shard of a folder or URL into another, and return what was done.

    `engine` does the work (None: this process). `resume` goes on after a stop where it can (None), must (True) or
    never does (False).
    """
    began = time.perf_counter()
    settings = settings or ScoreSettings()
    scorer = load_scorer(model)
    scorer = as_cascade(scorer) if cascade else scorer
    work = open_work(source.path, out, rows)
    units, columns = work.units, work.columns
    empty = FileTable(units[0].shard, pl.LazyFrame(schema=dict.fromkeys(columns, pl.Null)), work.json_columns, 0)
    settings = replace(settings, text=text_column(empty, source.text))
    check_columns(columns, scorer, settings)
    if settings.replace:
        note_stale(reporter, columns, scorer, settings)
    identity = {
        "shards": [asdict(unit) for unit in units],
        "model": model_of(scorer),
        "columns": [settings.text, settings.prefix],
    }
    done = _prepare(work.out, identity, resume, replace=settings is not None and settings.replace)
    waiting = [unit for unit in units if unit.name not in done]
    reporter.begin(f"Scoring {len(units)} shards", sum(unit.rows for unit in units))
    reporter.advance(sum(unit.rows for unit in units if unit.name in done))
    arguments = {"model": model, "version": scorer.version, "cascade": cascade, "settings": asdict(settings)}
    del scorer
    worker = "davy.scoring.score_shards:ShardScorer"
    results = map_shards(work, waiting, worker, arguments, engine, reporter)
    done |= {unit.name: result for unit, result in zip(waiting, results, strict=True)}
    reporter.end()
    return _finish(work.out, identity, [done[unit.name] for unit in units], out, time.perf_counter() - began)


class ShardScorer:
    """Scores slices of shards; made once in each working process."""

    def __init__(
        self,
        *,
        source: str,
        out: str,
        model: str,
        version: str,
        cascade: bool,
        settings: Mapping[str, Any],
        json_columns: list[str],
    ) -> None:
        scorer = load_scorer(model)
        self._scorer = as_cascade(scorer) if cascade else scorer
        if self._scorer.version != version:
            raise UserError(
                f"{model} is version {self._scorer.version} on a node and {version} here. Install the same everywhere."
            )
        self._source, self._out = open_folder(source), open_folder(out)
        self._settings = ScoreSettings(**settings)
        self._json = frozenset(json_columns)

    def __call__(self, unit: Mapping[str, Any]) -> dict[str, Any]:
        """Score one slice and return what was done; the note beside the shard is written last."""
        piece = ShardSlice(**unit)
        started, began, cpu = time.time(), time.perf_counter(), time.process_time()
        posts = read_slice(self._source, piece)
        scored = pl.concat(list(score_frames([posts], self._scorer, self._settings)))
        write_shard(self._out, piece.name, scored, self._json)
        verdicts = Counter(scored[f"{self._settings.prefix}verdict"].to_list())
        without = verdicts.pop(None, 0)
        note = {
            "rows": len(scored),
            "without_score": without,
            "verdicts": dict(verdicts),
            "started": round(started, 3),
            "seconds": round(time.perf_counter() - began, 3),
            "cpu_seconds": round(time.process_time() - cpu, 3),
        }
        self._out.write(_note_name(piece.name), json.dumps(note, ensure_ascii=False).encode())
        return note


def _note_name(shard: str) -> str:
    return f"_{shard}.json"


def _prepare(
    target: FileFolder, identity: dict[str, Any], resume: bool | None, *, replace: bool = False
) -> dict[str, Any]:
    """Return the notes of what an earlier run finished, and say in the folder what this run is."""
    names = set(target.names())
    identity = json.loads(json.dumps(identity))
    before: Any = _read_json(target, MANIFEST) if MANIFEST in names else None
    if before is None and any(name.endswith(".parquet") for name in names):
        raise UserError(f"{hide_password(target.url)} holds shards that no run of Davy left. Name an empty folder.")
    same = before is not None and before["run"] == identity
    if resume and not same:
        raise UserError(f"{hide_password(target.url)} holds nothing of this run to go on from. Leave --resume out.")
    if before is not None and not same and not replace:
        raise UserError(
            f"{hide_password(target.url)} holds the shards of another run. "
            "Write over them with --replace, or give another --out."
        )
    if same and resume is not False:
        if before["done"]:
            return dict(before["done"])
        return {unit["name"]: _read_json(target, _note_name(unit["name"])) for unit in identity["shards"]
                if _note_name(unit["name"]) in names}  # fmt: skip
    for name in names:
        if name == MANIFEST or name.endswith((".parquet", ".parquet.json")):
            target.remove(name)
    target.write(MANIFEST, json.dumps({"run": identity, "done": {}}).encode())
    return {}


def _finish(
    target: FileFolder, identity: dict[str, Any], notes: list[dict[str, Any]], out: str, seconds: float
) -> ScoredFile:
    """Write what was done into the folder, remove the notes, and return it."""
    names = [unit["name"] for unit in identity["shards"]]
    record = {"run": identity, "done": dict(zip(names, notes, strict=True))}
    target.write(MANIFEST, json.dumps(record, ensure_ascii=False).encode())
    for name in _notes_of(target):
        target.remove(name)
    verdicts: Counter[str] = Counter()
    for note in notes:
        verdicts.update(note["verdicts"])
    posts = sum(note["rows"] for note in notes)
    without = sum(note["without_score"] for note in notes)
    return ScoredFile(identity["model"], hide_password(out), posts, without, dict(verdicts.most_common()), seconds)


def _notes_of(target: FileFolder) -> Iterator[str]:
    return (name for name in target.names() if name.startswith("_") and name.endswith(".parquet.json"))


def _read_json(folder: FileFolder, name: str) -> Any:
    with folder.open(name) as file:
        return json.loads(file.read())
