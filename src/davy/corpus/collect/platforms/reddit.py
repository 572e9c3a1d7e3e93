"""Reddit: comments and submissions as the monthly dumps and the API write them, one a line.

A submission's text is its title and, where it has one, its body. What was
deleted or removed has no text left and gives no record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from davy.corpus.collect.records import Record, parse_time

GONE = frozenset({"[deleted]", "[removed]", "[ Removed by Reddit ]", "[deleted by user]"})

_OWN = ("subreddit", "subreddit_id", "link_id", "created_utc")
"""What tells a comment of Reddit's from a line of another platform that has a `body` too."""


def records(raw: Any) -> Iterator[Record]:
    """Yield the comment or submission of a line, or those of an API listing."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
    elif raw.get("kind") == "Listing":
        for child in raw["data"]["children"]:
            yield from records(child)
    elif raw.get("kind") in ("t1", "t3") and "data" in raw:
        yield from records(raw["data"])
    elif "body" in raw and any(name in raw for name in _OWN):
        yield from _comment(raw)
    elif "title" in raw or "selftext" in raw:
        yield from _submission(raw)


def _comment(raw: dict[str, Any]) -> Iterator[Record]:
    text = str(raw["body"])
    if text.strip() in GONE:
        return
    parent, thread = raw.get("parent_id"), raw.get("link_id")
    yield Record(
        **_shared(raw),
        id=f"reddit:t1_{str(raw['id']).removeprefix('t1_')}",
        text=text,
        reply_to=f"reddit:{parent}" if parent else None,
        conversation=str(thread) if thread else None,
        reply=True,
        media=False,
    )


def _submission(raw: dict[str, Any]) -> Iterator[Record]:
    body = str(raw.get("selftext") or "").strip()
    title = str(raw.get("title") or "").strip()
    if body in GONE:
        body = ""
        if raw.get("removed_by_category") or title in GONE:
            return
    text = "\n\n".join(part for part in (title, body) if part)
    if not text or text in GONE:
        return
    key = str(raw["id"]).removeprefix("t3_")
    hint, link = str(raw.get("post_hint") or ""), str(raw.get("url") or "")
    own = not link or bool(raw.get("is_self")) or "/comments/" in link
    picture = hint == "image" or "i.redd.it" in link or bool(raw.get("is_gallery"))
    film = bool(raw.get("is_video")) or "video" in hint
    yield Record(
        **_shared(raw),
        id=f"reddit:t3_{key}",
        text=text,
        conversation=f"t3_{key}",
        reply=False,
        retweet=bool(raw.get("crosspost_parent")),
        media=picture or film,
        images=picture,
        videos=film,
        links=not own and not picture and not film,
        urls=None if own else link,
    )


def _shared(raw: dict[str, Any]) -> dict[str, Any]:
    author = raw.get("author")
    return {
        "platform": "reddit",
        "community": str(raw["subreddit"]).lower() if raw.get("subreddit") else None,
        "time": parse_time(raw.get("created_utc") or raw.get("created")),
        "author": str(author).lower() if author and author not in GONE else None,
        "author_id": raw.get("author_fullname"),
    }
