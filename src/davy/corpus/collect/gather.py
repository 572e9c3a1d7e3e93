"""Go through archives, keep what the strategies want, and note how each post was found.

Archives in, one file of posts out. What was kept so far lies in a folder
`OUT.parts` beside the output with the place that was reached, so that a run that
met a damaged archive or was stopped goes on there; the output itself appears
only when it is whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl

from davy.core.errors import MissingFile, UserError
from davy.core.options import Option, Options
from davy.corpus.collect.collect_run import CollectCounts, CollectRun, open_run
from davy.corpus.collect.earlier_corpora import choose_posts
from davy.corpus.collect.platforms import NAMES, bluesky, canonical_name, plain, reader, records_of
from davy.corpus.collect.records import SCHEMA, AccountHasher, Record, records_frame, records_to_posts, stored_text
from davy.corpus.collect.strategies import Strategy, strategies_of
from davy.files import json_stream, tables

BATCH = 10_000
KEEP_EVERY = 50_000
"""Values between two savings of what was kept."""


@dataclass(frozen=True, slots=True)
class GatherSettings:
    """How archives are read."""

    platform: Annotated[
        str,
        Option(
            "x, reddit, gab, mastodon, bluesky, facebook, youtube, telegram, or plain for other files.",
            "--platform",
            metavar="P",
            read=canonical_name,
        ),
    ] = "plain"
    names: Annotated[
        AccountHasher | None,
        Option(
            "Keep each author as a hash under the secret key in this file.",
            "--author-key",
            metavar="F",
            read=AccountHasher.of,
        ),
    ] = None
    source: Annotated[str | None, Option("What to call the source; else the platform.", metavar="NAME")] = None
    licence: Annotated[str | None, Option("The licence or terms of the posts.", metavar="NAME")] = None
    encoding: Annotated[str | None, Option("How lines that are not UTF-8 are written, such as cp1252.")] = None
    skip_bad: Annotated[bool, Option("Leave out and count lines that can't be read.")] = False
    fresh: Annotated[bool, Option("Start again, even where a stopped run could go on.")] = False
    text_column: Annotated[
        str | None, Option("The column with the text of plain files, by no usual name.", metavar="C")
    ] = None
    """The column with the text of a plain file, where it has no usual name."""
    columns: Annotated[
        Sequence[str],
        Option(
            "What a column of plain files is, such as time=Datum: id, time, author, community, lang, parent or image.",
            "--column",
            metavar="FIELD=C",
        ),
    ] = ()


def gather(
    paths: Annotated[
        Sequence[Path], Option("Files to read, .zst, .gz, .xz, .bz2 too.", "archives", metavar="ARCHIVE…")
    ],
    out: Annotated[Path, Option("The file of posts to write, by its extension.", metavar="F")],
    strategies: Annotated[Sequence[Strategy], Options(strategies_of)],
    settings: Annotated[GatherSettings, Options(GatherSettings)],
    *,
    progress: Callable[[int], object] | None = None,
) -> CollectCounts:
    """Write the posts that the strategies take from the archives to `out`, and return what was done."""
    for path in paths:
        if not path.exists():
            raise MissingFile(f"{path} does not exist. Name archives that do.")
        if out.exists() and path.samefile(out):
            raise UserError(f"{out} is one of the archives. Write to another file.")
    run = {
        "platform": settings.platform,
        "archives": [[str(path.resolve()), _head(path)] for path in paths],
        "strategies": [strategy.described() for strategy in strategies],
        "options": [
            settings.source,
            settings.licence,
            settings.encoding,
            settings.skip_bad,
            settings.names is not None,
            *([settings.text_column] if settings.text_column else []),
            *settings.columns,
        ],
    }
    with open_run(out, run, fresh=settings.fresh) as parts:
        streamed = [strategy for strategy in strategies if strategy.kind != "corpus"]
        work = _Work(streamed, settings, parts, progress or (lambda _: None))
        for number, path in enumerate(paths):
            if number >= parts.archive:
                work.go_through(number, path)
        for number, strategy in enumerate((s for s in strategies if s.kind == "corpus"), len(paths)):
            if number >= parts.archive:
                work.choose(number, strategy)
        parts.finish(out)
    return parts.done


class _Work:
    """One run over all archives: batches of records in, kept posts into the parts."""

    def __init__(
        self,
        strategies: Sequence[Strategy],
        settings: GatherSettings,
        parts: CollectRun,
        progress: Callable[[int], object],
    ) -> None:
        self._strategies, self._settings, self._parts, self._progress = strategies, settings, parts, progress
        self._held: list[pl.DataFrame] = []
        self._seen = parts.ids()
        self._texts = {key: text for kept in parts.frames() for key, text in _own_texts(kept).iter_rows()}
        self._at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def go_through(self, number: int, path: Path) -> None:
        """Take what one archive has from where it was left; a fault in it is raised after what came before is saved."""
        done, start = self._parts.done, self._parts.place
        self._parts.archive, self._parts.place = number, start
        since, reached = 0, start
        try:
            for batch, size, place in self._batches(path, start):
                self._take(batch)
                since, reached = since + size, place
                self._progress(size)
                if since >= KEEP_EVERY:
                    self.save(number, reached)
                    since = 0
        except UserError as error:  # anything else, Ctrl-C too, goes on from the last saving: it may come in mid-batch
            self.save(number, reached)
            if done.kept:
                note = f"The {done.kept:,} posts kept so far wait in {self._parts.folder}; the same command goes on."
                raise UserError(f"{error.message} {note}") from None
            raise
        self.save(number + 1, 0)

    def choose(self, number: int, strategy: Strategy) -> None:
        """Take the chosen posts of an earlier corpus."""
        done = self._parts.done
        posts = choose_posts(strategy, collected_at=self._at)
        new = posts.filter(~pl.col("id").is_in(self._seen) & pl.col("id").is_first_distinct())
        kept = new if strategy.cap is None else new.head(strategy.cap)
        done.read += len(posts)
        done.repeated += len(posts) - len(new)
        done.matched += len(new)
        done.kept += len(kept)
        done.taken[strategy.name] = len(kept)
        done.over[strategy.name] = len(new) - len(kept)
        self._seen.update(kept["id"].to_list())
        self._held.append(kept)
        self.save(number + 1, 0)

    def save(self, archive: int, place: int) -> None:
        """Put what was kept and the place that was reached on disk."""
        if self._held:
            self._parts.add(pl.concat(self._held))
            self._held.clear()
        self._parts.mark(archive, place)

    def _batches(self, path: Path, start: int) -> Iterator[tuple[pl.DataFrame, int, int]]:
        """Yield (records, how many values they came from, the place behind them); on a fault, first what there is."""
        done = self._parts.done
        counts = json_stream.ReadCounts()
        held: list[Record] = []
        size, place, nothing = 0, start, 0
        read, watch = reader(self._settings.platform), None
        columns = plain.parse_columns(self._settings.columns)
        if self._settings.platform == "plain":
            read = partial(plain.records, text_column=self._settings.text_column)
            watch = plain.ColumnWatch(self._settings.text_column)
        fault: UserError | None = None
        bad = done.bad
        source = _values(path, start, self._settings, counts)
        while True:
            try:
                value = next(source, None)
            except UserError as error:
                value, fault = None, error
            if value is not None:
                if columns and not size and place == start == 0:
                    plain.check_columns(value.raw, columns, path)
                raw = plain.rename(value.raw, columns) if columns else value.raw
                _check_platform(raw, self._settings.platform, path)
                if watch is not None:
                    watch.see(raw)
                found = list(records_of(read, raw))
                size, place, nothing = size + 1, value.end, nothing + (not found)
                held += _with_ids(found, path, done.read + size)
            if size >= BATCH or value is None:
                batch = records_frame(held) if held else pl.DataFrame(schema=SCHEMA)
                self._refuse_other_texts(batch, path)
                if watch is not None:
                    if not start:
                        watch.refuse_textless(path)
                    done.left_out_columns = list(dict.fromkeys([*done.left_out_columns, *watch.left_out]))
                done.read, done.no_post, nothing = done.read + size, done.no_post + nothing, 0
                done.bad, done.first_bad = bad + counts.bad, done.first_bad or counts.first_bad
                yield batch, size, place
                held, size = [], 0
            if value is None:
                break
        if fault is not None:
            raise fault

    def _refuse_other_texts(self, records: pl.DataFrame, path: Path) -> None:
        """Raise where an id of the file's own stands for two texts: to take them for one post would lose a text."""
        here: dict[str, int] = {}
        for key, text in _own_texts(records).iter_rows():
            if self._texts.get(key, here.setdefault(key, text)) != text:
                raise UserError(
                    f"{path}: id {key[:60]!r} was there before with another text. Ids must differ over all archives: "
                    "write others into one, or rename its column of ids, so that ids are made from file and row."
                )

    def _count_profiles(self, strategy: Strategy, taken: pl.DataFrame) -> None:
        """Count the posts of each listed account by its place in the list: a run folder holds no names."""
        counts = self._parts.done.profiles.setdefault(strategy.name, [0] * len(strategy.profiles))
        for place, account in enumerate(sorted(strategy.profiles)):
            own = (taken["author"] == account).fill_null(False) | (taken["author_id"] == account).fill_null(False)
            counts[place] += int(own.sum())

    def _take(self, records: pl.DataFrame) -> None:
        """Hand the records to the strategies in turn; the first that matches and has room takes a post."""
        done = self._parts.done
        seen = pl.Series([key in self._seen for key in records["id"]], dtype=pl.Boolean)
        new = records.filter(records["id"].is_first_distinct() & ~seen)
        done.repeated += len(records) - len(new)
        how: pl.Series = pl.Series("found", [None], dtype=pl.String).new_from_index(0, len(new))
        wanted = pl.Series([False], dtype=pl.Boolean).new_from_index(0, len(new))
        for strategy in self._strategies:
            if not len(new):
                break
            hit = strategy.matches(new)
            wanted = wanted | hit
            free = (hit & how.is_null()).arg_true()
            room = len(free) if strategy.cap is None else max(0, strategy.cap - done.taken.get(strategy.name, 0))
            done.over[strategy.name] = done.over.get(strategy.name, 0) + max(0, len(free) - room)
            taken = free.head(room)
            done.taken[strategy.name] = done.taken.get(strategy.name, 0) + len(taken)
            if len(taken):
                how = how.scatter(taken, strategy.found)
                if strategy.profiles:
                    self._count_profiles(strategy, new[taken])
        done.matched += int(wanted.sum())
        kept = how.is_not_null()
        done.kept += int(kept.sum())
        if kept.any():
            settings = self._settings
            some = new.filter(kept)
            self._seen.update(some["id"].to_list())
            self._texts.update(_own_texts(some).iter_rows())
            self._held.append(
                records_to_posts(
                    some, found=how.filter(kept), collected_at=self._at, names=settings.names,
                    source=settings.source, licence=settings.licence,
                )
            )  # fmt: skip


def _own_texts(posts: pl.DataFrame) -> pl.DataFrame:
    """Return (id, hash of the text) of posts whose ids don't carry their platform: these are a file's own.

    `reddit:t1_x` is one post in every archive, whose text its author may have changed.
    """
    if "platform" not in posts.columns:  # chosen from an earlier corpus, whose name is in its ids
        return pl.DataFrame(schema={"id": pl.String, "text": pl.UInt64})
    own = posts.filter(~pl.col("id").str.starts_with(pl.col("platform") + ":"))
    return own.select("id", stored_text().hash().alias("text"))


def _check_platform(raw: object, platform: str, path: Path) -> None:
    """Raise where a row says itself that it is of another platform."""
    declared = raw.get("platform") if isinstance(raw, dict) else None
    if platform != "plain" and isinstance(declared, str) and declared.lower() in NAMES and declared.lower() != platform:
        raise UserError(
            f"{path} has posts of {declared.lower()}, not of {platform}. "
            f"Give --platform {declared.lower()}, or plain where Davy wrote the file."
        )


def _head(path: Path) -> str:
    """Return a hash of how a file starts: the same for one that was cut off and copied again, another for another."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.sha256(file.read(4096)).hexdigest()[:16]


def _with_ids(records: list[Record], path: Path, number: int) -> list[Record]:
    """Return the records of one value with ids: their own, or file, number and place in a list where there are none."""
    for place, record in enumerate(records, 1):
        made = f"{path.name.split('.')[0]}-{number}"
        record.id = record.id or (made if len(records) == 1 else f"{made}-{place}")
    return records


def _values(
    path: Path, start: int, settings: GatherSettings, counts: json_stream.ReadCounts
) -> Iterator[json_stream.JsonValue]:
    """Yield an archive's values; a table is read by rows, whose places are their numbers."""
    if json_stream.holds_json(path):
        yield from json_stream.read_values(
            path, start=start, encoding=settings.encoding, skip_bad=settings.skip_bad, counts=counts
        )
        return
    if path.name.lower().endswith(".car"):
        for number, raw in enumerate(bluesky.read_car(path), 1):
            if number > start:
                yield json_stream.JsonValue(raw, number - 1, number)
        return
    place = 0
    if json_stream.holds_text(path):
        yield from json_stream.read_lines(path, start=start, encoding=settings.encoding)
        return
    for batch in tables.batches(path, encoding=settings.encoding):
        if place + len(batch) > start:
            for number, row in enumerate(batch.iter_rows(named=True), place + 1):
                if number > start:
                    yield json_stream.JsonValue(row, number - 1, number)
        place += len(batch)
