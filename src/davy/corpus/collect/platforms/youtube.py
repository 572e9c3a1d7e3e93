"""YouTube: comments as the Data API (v3) answers them, and as `yt-dlp --write-comments` keeps them.

A comment's community is the channel of its video, its conversation the video.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from davy.corpus.collect.platforms.mastodon import strip_markup
from davy.corpus.collect.records import Record, parse_time


def records(raw: Any) -> Iterator[Record]:
    """Yield the comments of a page, a thread, a comment, or of a video's file."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
        return
    kind = str(raw.get("kind") or "")
    if kind.endswith("ListResponse"):
        yield from records(raw.get("items") or [])
    elif kind == "youtube#commentThread":
        thread = raw["snippet"]
        yield from _comment(thread["topLevelComment"], thread)
        for reply in (raw.get("replies") or {}).get("comments") or ():
            yield from _comment(reply, thread)
    elif kind == "youtube#comment":
        yield from _comment(raw, {})
    elif isinstance(raw.get("comments"), list):
        for comment in raw["comments"]:
            yield from _saved(comment, str(raw.get("id") or ""), raw.get("channel_id"))


def _comment(raw: dict[str, Any], thread: dict[str, Any]) -> Iterator[Record]:
    told = {**thread, **raw["snippet"]}
    text = told.get("textOriginal")
    if text is None:  # the API gives the original to some callers alone
        text = strip_markup(str(told.get("textDisplay") or ""))
    if not str(text).strip():
        return
    parent = told.get("parentId")
    yield Record(
        id=f"youtube:{raw['id']}",
        text=str(text),
        platform="youtube",
        community=told.get("channelId"),
        time=parse_time(told.get("publishedAt")),
        author=str(told["authorDisplayName"]).lower() if told.get("authorDisplayName") else None,
        author_id=(told.get("authorChannelId") or {}).get("value"),
        reply_to=f"youtube:{parent}" if parent else None,
        conversation=told.get("videoId"),
        retweet=False,
        reply=bool(parent),
        media=False,
    )


def _saved(raw: dict[str, Any], video: str, channel: str | None) -> Iterator[Record]:
    if not str(raw.get("text") or "").strip():
        return
    parent = raw.get("parent") if raw.get("parent") not in (None, "root") else None
    yield Record(
        id=f"youtube:{raw['id']}",
        text=str(raw["text"]),
        platform="youtube",
        community=channel,
        time=parse_time(raw.get("timestamp")),
        author=str(raw["author"]).lower() if raw.get("author") else None,
        author_id=raw.get("author_id"),
        reply_to=f"youtube:{parent}" if parent else None,
        conversation=video or None,
        retweet=False,
        reply=parent is not None,
        media=False,
    )
