"""Listen to a source and write what a rule keeps into an archive, so that nothing is lost when the line breaks.

Events in, lines of an archive out. Records are filtered in batches; after each
batch the archive is synced, and only then the cursor is saved beside it
(`ARCHIVE.cursor`). Ids of posts that were deleted go to `ARCHIVE.withdrawn`.
"""

from __future__ import annotations

import json
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.corpus.collect.live.web import ConnectionDropped, PostStream, StreamEvent
from davy.corpus.collect.platforms.readers import scrub
from davy.corpus.collect.records import AccountHasher, Record, records_frame
from davy.corpus.collect.rule import FilterRule
from davy.files.atomic import require_folder_of, write_json
from davy.files.file_lock import take_lock

BATCH = 500
LONGEST_HOLD = 2.0
"""Seconds that records wait at most before they are on disk."""
LONGEST_WAIT = 900.0
REMEMBERED = 200_000


@dataclass(slots=True)
class ListenCounts:
    """What listening brought."""

    seen: int = 0
    kept: int = 0
    repeated: int = 0
    withdrawn: int = 0
    breaks: int = 0
    resumed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as HTTP would."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ListenLimits:
    """When to stop: after so many kept posts or seconds; how often to try a line that stays broken."""

    posts: int | None = None
    seconds: float | None = None
    tries: int = 8
    pause: float = 1.0


class Listener:
    """One run of listening. `sleep` and `clock` are passed in so that tests need not wait."""

    def __init__(
        self,
        source: PostStream,
        archive: Path,
        *,
        rule: FilterRule | None = None,
        names: AccountHasher | None = None,
        limits: ListenLimits | None = None,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._source, self._rule, self._names, self._limits = source, rule, names, limits or ListenLimits()
        self._sleep, self._clock, self._tell = sleep, clock, tell
        self._archive = _Archive(archive, source.platform)
        self.counts = ListenCounts(resumed=self._archive.cursor is not None)
        self._held: list[Record] = []
        self._cursor = self._archive.cursor
        self._end = None if self._limits.seconds is None else clock() + self._limits.seconds
        self._flushed = clock()

    def run(self) -> ListenCounts:
        """Listen until a limit, the end of the source or Ctrl-C; whatever ends it, what came is on disk."""
        tries = 0
        with self._archive:
            try:
                while not self._over():
                    seen = self.counts.seen
                    try:
                        if self._listen() or self._source.pause is None:
                            break
                        tries, wait = 0, self._source.pause
                    except ConnectionDropped as dropped:
                        self._flush()
                        tries = 1 if self.counts.seen > seen else tries + 1
                        self.counts.breaks += 1
                        if tries > self._limits.tries:
                            raise UserError(
                                f"{dropped.why}; tried {self._limits.tries} times. What came is in"
                                f" {self._archive.path}; the same command goes on."
                            ) from None
                        doubled = self._limits.pause * 2 ** (tries - 1)
                        wait = min(LONGEST_WAIT, max(doubled, dropped.wait or 0.0))
                        self._tell(f"{dropped.why}; trying again in {wait:.0f} s")
                    if wait and not self._over():
                        self._sleep(wait)
            finally:
                self._flush()
        return self.counts

    def _listen(self) -> bool:
        """Take events until the source ends (False) or a limit is reached (True)."""
        for event in self._source.events(self._cursor):
            self._take(event)
            if len(self._held) >= BATCH or self._clock() - self._flushed > LONGEST_HOLD or self._near():
                self._flush()
            if self._over():
                return True
        self._flush()
        return False

    def _take(self, event: StreamEvent) -> None:
        if event.record is not None:
            self.counts.seen += 1
            self._held.append(event.record)
        if event.withdrawn is not None:
            self.counts.withdrawn += 1
            self._archive.withdraw(event.withdrawn)
        self._cursor = event.cursor or self._cursor

    def _near(self) -> bool:
        """Return whether the held records could fill the number of posts asked for."""
        return self._limits.posts is not None and self.counts.kept + len(self._held) >= self._limits.posts

    def _over(self) -> bool:
        full = self._limits.posts is not None and self.counts.kept >= self._limits.posts
        return full or (self._end is not None and self._clock() >= self._end)

    def _flush(self) -> None:
        """Put what the rule keeps on disk, then the cursor."""
        self._flushed = self._clock()
        held, self._held = self._held, []
        if held:
            kept = self._rule.matches(records_frame(held)).to_list() if self._rule is not None else [True] * len(held)
            for record, keep in zip(held, kept, strict=True):
                if keep and (self._limits.posts is None or self.counts.kept < self._limits.posts):
                    new = self._archive.add(record, self._names)
                    self.counts.kept += new
                    self.counts.repeated += not new
        self._archive.save(self._cursor)


class _Archive:
    """A JSONL file that only grows, with its cursor and the deletions beside it. One process writes it."""

    def __init__(self, path: Path, platform: str) -> None:
        if not path.name.endswith((".jsonl", ".ndjson")):
            raise UserError(f"{path}: a live archive is JSON lines. Name it such as {path.stem or 'archive'}.jsonl")
        require_folder_of(path)
        self.path, self._platform = path, platform
        self._state = path.with_name(f"{path.name}.cursor")
        self.cursor: str | None = None
        if self._state.exists():
            try:
                state = json.loads(self._state.read_text(encoding="utf-8"))
                self.cursor = state["cursor"]
            except (ValueError, KeyError, TypeError):
                raise UserError(f"{self._state} can't be read. Move it away to start from now.") from None
            if state.get("platform") != platform:
                raise UserError(f"{path} was begun with {state.get('platform')}, not {platform}. Name another file.")
        self._ids: OrderedDict[str, None] = OrderedDict()

    def __enter__(self) -> _Archive:
        self._file = self.path.open("ab+")
        take_lock(self._file, self.path)
        self._mend()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, record: Record, names: AccountHasher | None) -> bool:
        """Add a record unless it is there already; return whether it was new."""
        if record.id in self._ids:
            return False
        self._remember(record.id)
        self._file.write(json.dumps(scrub(record, names), ensure_ascii=False).encode() + b"\n")
        return True

    def withdraw(self, key: str) -> None:
        """Note that a post was deleted."""
        with self.path.with_name(f"{self.path.name}.withdrawn").open("a", encoding="utf-8") as file:
            file.write(key + "\n")

    def save(self, cursor: str | None) -> None:
        """Sync the lines, then write the cursor: it must never be ahead of them."""
        self._file.flush()
        os.fsync(self._file.fileno())
        if cursor is not None and cursor != self.cursor:
            write_json(self._state, {"platform": self._platform, "cursor": cursor}, indent=None)
            self.cursor = cursor

    def _mend(self) -> None:
        """Cut off a last line that a crash left half written, and remember the ids of the last lines."""
        size = self._file.seek(0, os.SEEK_END)
        start = self._file.seek(max(0, size - (8 << 20)))
        tail = self._file.read()
        whole = tail[: tail.rfind(b"\n") + 1]
        if len(whole) < len(tail):
            self._file.truncate(start + len(whole))
        for line in whole.split(b"\n")[1 if start else 0 :]:
            try:
                self._remember(str(json.loads(line)["davy"]["id"]))
            except (ValueError, KeyError, TypeError):
                continue
        self._file.seek(0, os.SEEK_END)

    def _remember(self, key: str) -> None:
        self._ids[key] = None
        if len(self._ids) > REMEMBERED:
            self._ids.popitem(last=False)
