"""Gab: posts of the public dumps (`body`, `user`, `post` around them) and statuses of its later, Mastodon-like API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from davy.corpus.collect.platforms.mastodon import strip_markup
from davy.corpus.collect.records import Record, parse_time


def records(raw: Any) -> Iterator[Record]:
    """Yield the post of a line, or the posts of a page of them."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
        return
    if isinstance(raw.get("data"), list):
        yield from records(raw["data"])
        return
    post = raw.get("post") if isinstance(raw.get("post"), dict) else raw
    body = post.get("body")
    text = body if body is not None else post.get("text")
    text = strip_markup(str(post["content"])) if text in (None, "") and post.get("content") else text
    if text is None or post.get("id") is None:
        return
    user = post.get("user") or post.get("account") or raw.get("actuser") or {}
    parent = post.get("in_reply_to_id") or (post.get("parent") or {}).get("id")
    kinds = _media(post)
    yield Record(
        id=f"gab:{post['id']}",
        text=str(text),
        platform="gab",
        lang=post.get("language") or None,
        community=_community(post),
        time=parse_time(post.get("created_at")),
        author=str(name).lower() if (name := user.get("username") or user.get("acct")) else None,
        author_id=str(user["id"]) if user.get("id") is not None else None,
        reply_to=f"gab:{parent}" if parent else None,
        conversation=str(post["conversation_id"]) if post.get("conversation_id") else None,
        retweet=bool(post.get("repost") or post.get("reblog") or raw.get("type") == "repost"),
        reply=bool(parent or post.get("is_reply")),
        quote=bool(post.get("is_quote") or post.get("quote_of_id") or post.get("quote")),
        media=bool(kinds),
        images=bool(kinds & {"image", "media", "giphy"}),
        videos=bool(kinds & {"video", "gifv", "youtube"}),
        links=bool(post.get("card") or (post.get("attachment") or {}).get("type") == "url") or None,
    )


def _community(post: dict[str, Any]) -> str | None:
    for name in ("group", "topic", "category_details"):
        place = post.get(name)
        if isinstance(place, dict) and (title := place.get("title") or place.get("name") or place.get("slug")):
            return str(title).lower()
    return None


def _media(post: dict[str, Any]) -> set[str]:
    attached = post.get("attachment") or {}
    kinds = (
        {str(attached["type"])} if isinstance(attached, dict) and attached.get("type") not in (None, "url") else set()
    )
    return kinds | {str(item.get("type", "media")) for item in post.get("media_attachments") or ()}
