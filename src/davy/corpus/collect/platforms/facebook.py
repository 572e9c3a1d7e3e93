"""Facebook: posts and comments as the Graph API answers them, and as people download their own.

The download has no ids, so they are made of time and text, and it writes letters beyond ASCII as the bytes of their
UTF-8, one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from davy.corpus.collect.records import Record, parse_time

_SHOWN = {"photo": "images", "album": "images", "video": "videos", "share": "links"}
"""The first word of an attachment's type → what the post has."""


def records(raw: Any) -> Iterator[Record]:
    """Yield the posts and comments of a page, a post with its comments, or a downloaded list."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
    elif isinstance(raw.get("comments_v2"), list):
        yield from records(raw["comments_v2"])
    elif "timestamp" in raw and isinstance(raw.get("data"), list):
        yield from _downloaded(raw)
    elif isinstance(raw.get("data"), list):
        yield from records(raw["data"])
    elif "id" in raw and ("message" in raw or "created_time" in raw):
        yield from _object(raw, None)


def _object(raw: dict[str, Any], post: str | None) -> Iterator[Record]:
    """Yield a post of the API, or a comment of `post`, then the comments under it."""
    text = str(raw.get("message") or raw.get("story") or "")
    page, _, number = str(raw["id"]).partition("_")
    above = (raw.get("parent") or {}).get("id") or post
    kinds = {_SHOWN.get(str(one.get("type", "")).split("_")[0]) for one in _attachments(raw)}
    author = raw.get("from") or {}
    if text.strip():
        yield Record(
            id=f"facebook:{raw['id']}",
            text=text,
            platform="facebook",
            community=page if number and post is None else None,
            time=_time(raw.get("created_time")),
            author=str(author["name"]).lower() if author.get("name") else None,
            author_id=author.get("id"),
            reply_to=f"facebook:{above}" if above else None,
            conversation=post or str(raw["id"]),
            retweet=False,
            reply=above is not None,
            media=bool(kinds & {"images", "videos"}),
            images="images" in kinds,
            videos="videos" in kinds,
            links="links" in kinds,
        )
    for comment in (raw.get("comments") or {}).get("data") or ():
        yield from _object({"parent": {"id": str(raw["id"])}, **comment}, post or str(raw["id"]))


def _attachments(raw: dict[str, Any]) -> list[dict[str, Any]]:
    shown = raw.get("attachments") or raw.get("attachment") or {}
    return list(shown.get("data") or []) if "data" in shown else [shown]


def _time(value: object) -> str | None:
    """Return a time of the API, which writes zones as +0000."""
    try:
        return parse_time(datetime.strptime(str(value), "%Y-%m-%dT%H:%M:%S%z").isoformat())
    except ValueError:
        return parse_time(value)


def _downloaded(raw: dict[str, Any]) -> Iterator[Record]:
    for part in raw["data"]:
        inner = part.get("comment")
        comment = inner if isinstance(inner, dict) else {}
        text = _letters(str(comment.get("comment") or part.get("post") or ""))
        if not text.strip():
            continue
        made = hashlib.sha256(f"{raw['timestamp']} {text}".encode()).hexdigest()[:24]
        author, group = comment.get("author"), comment.get("group")
        yield Record(
            id=f"facebook:{made}",
            text=text,
            platform="facebook",
            community=_letters(str(group)).lower() if group else None,
            time=parse_time(raw["timestamp"]),
            author=_letters(str(author)).lower() if author else None,
            reply=bool(comment),
            media=bool(raw.get("attachments")),
        )


def _letters(text: str) -> str:
    """Return a text whose letters were written as the bytes of their UTF-8; another text as it is."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
