"""A record: one post of a platform as its archive tells it, before anything is kept.

Platform readers make records; rules and strategies filter frames of them; `posts`
turns those that are kept into posts. A record knows who wrote it, because rules
ask; a post never does: `author` becomes a keyed hash where that was asked for,
and is dropped otherwise.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from time import gmtime
from typing import Any

import polars as pl

from davy.core.errors import UserError
from davy.core.post import POST_COLUMNS

EVERYTHING_FOUND = "search: everything"
"""What posts say that were taken without a rule."""
COLUMNS: tuple[str, ...] = (*POST_COLUMNS, "platform", "community", "time", "author")
"""What `posts` gives; every column is text. `author` is the keyed hash, or null."""


@dataclass(slots=True)
class Record:
    """One post of a platform. `time` is UTC as 2022-03-16T12:00:00Z, so that it sorts as text."""

    id: str
    text: str
    platform: str = ""
    lang: str | None = None
    community: str | None = None
    time: str | None = None
    author: str | None = None
    """The account's name, in lower case; never stored."""
    author_id: str | None = None
    to: str | None = None
    parent: str | None = None
    """The post that this one was derived from; a reply is not derived from what it answers."""
    reply_to: str | None = None
    conversation: str | None = None
    retweet: bool | None = None
    reply: bool | None = None
    quote: bool | None = None
    media: bool | None = None
    images: bool | None = None
    videos: bool | None = None
    links: bool | None = None
    urls: str | None = None
    image: str | None = None
    hashed: str | None = None
    """The author's keyed hash where the archive holds that in place of the author."""
    found: str | None = None
    """How it was found before, in a file that Davy collected earlier; so are the next three."""
    source: str | None = None
    licence: str | None = None
    collected_at: str | None = None


_BOOLEAN = {"retweet", "reply", "quote", "media", "images", "videos", "links"}
SCHEMA = pl.Schema({f.name: pl.Boolean if f.name in _BOOLEAN else pl.String for f in fields(Record)})


def records_frame(records: Sequence[Record]) -> pl.DataFrame:
    """Return records as a frame, one column a field."""
    columns: dict[str, list[Any]] = {name: [getattr(record, name) for record in records] for name in SCHEMA.names()}
    try:
        return pl.DataFrame(columns, schema=SCHEMA)
    except UnicodeEncodeError:  # half a surrogate pair, as some archives have it: no file can hold that
        whole = {name: [_without_lone_surrogates(cell) for cell in cells] for name, cells in columns.items()}
        return pl.DataFrame(whole, schema=SCHEMA)


def _without_lone_surrogates(cell: Any) -> Any:
    return cell.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(cell, str) else cell


def parse_time(value: object) -> str | None:
    """Return a time as records spell it, from ISO text or seconds since 1970; None where it is neither."""
    try:
        if isinstance(value, bool) or value in (None, ""):
            return None
        if isinstance(value, int):
            year, month, day, hour, minute, second, *_ = gmtime(value)
            return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        if isinstance(value, float) or str(value).replace(".", "", 1).isdigit():
            moment = datetime.fromtimestamp(float(str(value)), UTC)
        else:
            moment = datetime.fromisoformat(str(value))
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


_KEPT = ["platform", "community", "time", "conversation", "reply_to", "reply", "quote"]
"""What a post keeps in `meta`: the store has no columns for it."""


class AccountHasher:
    """Turns an account into its keyed hash. Without the key nobody can tell whether a hash is a given account's."""

    def __init__(self, key: bytes) -> None:
        if len(key) < 16:
            raise UserError(f"The key has {len(key)} bytes; at least 16. Make one: head -c 32 /dev/urandom > KEY")
        self._key = key

    @staticmethod
    def of(path: Path) -> AccountHasher:
        """Return the hasher whose key a file holds."""
        try:
            return AccountHasher(path.read_bytes())
        except OSError as error:
            raise UserError(
                f"Can't read the key {path}: {error.strerror}. Make one: head -c 32 /dev/urandom > {path}"
            ) from None

    def hashed(self, platform: str, account: str | None) -> str | None:
        """Return the hash of an account on a platform, 24 hexadecimal digits; None for None."""
        if account is None:
            return None
        return hmac.new(self._key, f"{platform}:{account}".encode(), hashlib.sha256).hexdigest()[:24]


def _merge_found(before: pl.Series, now: pl.Series) -> pl.Series:
    """Return how posts were found, earlier and now; who took everything has found nothing new."""
    everything = now.str.starts_with(EVERYTHING_FOUND)
    frame = pl.DataFrame({"before": before, "now": now, "everything": everything})
    both = pl.concat_str("before", pl.lit("; then "), "now")
    kept = pl.when(pl.col("before").is_null()).then("now").when("everything").then("before").otherwise(both)
    return frame.select(kept.alias("found")).to_series()


def stored_text() -> pl.Expr:
    """Return the text as posts keep it: without the name of whom it was passed on from."""
    return pl.col("text").str.replace(r"(?i)^(\s*RT )@\w+", "${1}[USER]")


def records_to_posts(
    records: pl.DataFrame, *, found: pl.Series, collected_at: str, names: AccountHasher | None = None,
    source: str | None = None, licence: str | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Return kept records as posts; `found` says how each was found, null where nothing was looked for.

    What a file of an earlier collection says of its posts stays. Names go no further than this.
    """
    records = records.with_columns(
        # Whose text was passed on, and whose profile it was posted on: both are an author's name.
        stored_text(),
        pl.when(pl.col("community").str.starts_with("u_").not_()).then("community"),
    )
    meta = [
        json.dumps({key: value for key, value in row.items() if value not in (None, False)}, ensure_ascii=False)
        for row in records.select(_KEPT).iter_rows(named=True)
    ]
    accounts = records.select(pl.coalesce("author_id", "author")).to_series()
    hashes = records["hashed"].to_list()
    if names is not None:
        rows = zip(hashes, records["platform"], accounts, strict=True)
        hashes = [known or names.hashed(platform, account) for known, platform, account in rows]
    return records.select(
        "id",
        "text",
        "lang",
        "image",
        pl.coalesce(pl.lit(source, pl.String), "source", "platform").alias("source"),
        pl.coalesce(pl.lit(licence, pl.String), "licence").alias("licence"),
        pl.coalesce("collected_at", pl.lit(collected_at)).alias("collected_at"),
        _merge_found(records["found"], found.cast(pl.String)).alias("found"),
        "parent",
        pl.Series("meta", meta, dtype=pl.String),
        "platform",
        "community",
        "time",
        pl.Series("author", hashes, dtype=pl.String),
    )
