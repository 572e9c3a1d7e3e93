"""Mastodon: statuses of its API and streams, and the `outbox.json` of an account's own export.

Only public statuses give records: what was meant for followers is nobody's corpus.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from davy.corpus.collect.records import Record, parse_time

_BREAK = re.compile(r"<br\s*/?>|</li>", re.I)
_PARAGRAPH = re.compile(r"</p>\s*(?=<p|<)|</p>|</div>|</blockquote>", re.I)
_TAG = re.compile(r"<[^<>]*>")


def strip_markup(markup: str) -> str:
    """Return what a reader sees: breaks as line ends, paragraphs with an empty line between them, no tags."""
    if "<" not in markup:
        return html.unescape(markup).strip()
    text = _PARAGRAPH.sub("\n\n", _BREAK.sub("\n", markup))
    text = _TAG.sub("", text)
    return html.unescape(text).strip()


PUBLIC = frozenset({"as:Public", "Public", "https://www.w3.org/ns/activitystreams#Public"})


def records(raw: Any) -> Iterator[Record]:
    """Yield the statuses of a line, a page, a stream event or an outbox."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
    elif "orderedItems" in raw:
        yield from records(raw["orderedItems"])
    elif "statuses" in raw and "content" not in raw:
        yield from records(raw["statuses"])
    elif "payload" in raw:
        if raw.get("event") == "update":
            inner = raw["payload"]
            yield from records(json.loads(inner) if isinstance(inner, str) else inner)
    elif isinstance(raw.get("object"), dict):
        if raw.get("type") == "Create":
            yield from _activity(raw["object"])
    elif raw.get("type") in ("Note", "Article", "Question"):
        yield from _activity(raw)
    elif "content" in raw and raw.get("visibility", "public") in ("public", "unlisted"):
        yield from _status(raw)


def key(uri: str, fallback: object = None) -> str:
    """Return the id of a status from its address: host and number, without the account between them."""
    parts = urlsplit(uri)
    number = parts.path.rstrip("/").removesuffix("/activity").rsplit("/", 1)[-1]
    return f"mastodon:{parts.netloc}/{number}" if parts.netloc and number else f"mastodon:{fallback}"


def _status(raw: dict[str, Any]) -> Iterator[Record]:
    account = raw.get("account") or {}
    original = raw.get("reblog")
    body = original if isinstance(original, dict) else raw
    kinds = {str(item.get("type", "media")) for item in body.get("media_attachments") or ()}
    uri = str(raw.get("uri") or raw.get("url") or "")
    parent = raw.get("in_reply_to_id")
    host = urlsplit(uri).netloc
    text = "\n".join(part for part in (str(body.get("spoiler_text") or ""), strip_markup(str(body["content"]))) if part)
    yield Record(
        id=key(uri, raw.get("id")),
        text=text,
        platform="mastodon",
        lang=body.get("language"),
        community=host or None,
        time=parse_time(raw.get("created_at")),
        author=str(account["acct"]).lower() if account.get("acct") else None,
        author_id=str(account.get("uri") or account.get("url") or account.get("id") or "") or None,
        reply_to=f"mastodon:{host}/{parent}" if parent else None,
        retweet=isinstance(original, dict),
        reply=bool(parent),
        media=bool(kinds),
        images="image" in kinds,
        videos=bool(kinds & {"video", "gifv"}),
        links=bool(raw.get("card")) or None,
    )


def _activity(note: dict[str, Any]) -> Iterator[Record]:
    to = note.get("to") or []
    cc = note.get("cc") or []
    audience = {*(to if isinstance(to, list) else [to]), *(cc if isinstance(cc, list) else [cc])}
    if audience and not audience & PUBLIC:
        return
    content = note.get("content") or next(iter((note.get("contentMap") or {}).values()), None)
    if content is None or not note.get("id"):
        return
    kinds = {str(item.get("mediaType", "media")).split("/")[0] for item in note.get("attachment") or ()}
    author = note.get("attributedTo")
    langs = list(note.get("contentMap") or {})
    parent = note.get("inReplyTo")
    text = "\n".join(part for part in (str(note.get("summary") or ""), strip_markup(str(content))) if part)
    yield Record(
        id=key(str(note["id"])),
        text=text,
        platform="mastodon",
        lang=langs[0] if len(langs) == 1 else None,
        community=urlsplit(str(note["id"])).netloc or None,
        time=parse_time(note.get("published")),
        author=str(author).rstrip("/").rsplit("/", 1)[-1].lstrip("@").lower() if isinstance(author, str) else None,
        author_id=author if isinstance(author, str) else None,
        reply_to=key(str(parent)) if parent else None,
        retweet=False,
        reply=bool(parent),
        media=bool(kinds),
        images="image" in kinds,
        videos="video" in kinds,
    )
