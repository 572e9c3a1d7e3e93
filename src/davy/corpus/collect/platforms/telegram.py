"""Telegram: the `result.json` that Telegram Desktop exports, of one chat or of an account.

Only public channels and groups give records: what was said in a private chat is nobody's corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from davy.corpus.collect.records import Record, parse_time

PUBLIC = frozenset({"public_channel", "public_supergroup"})
_LINKS = frozenset({"link", "text_link"})


def records(raw: Any) -> Iterator[Record]:
    """Yield the messages of a chat, or those of every public chat of an account."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
    elif isinstance(raw.get("chats"), dict):
        yield from records(raw["chats"].get("list") or [])
    elif isinstance(raw.get("messages"), list) and raw.get("type") in PUBLIC:
        for message in raw["messages"]:
            yield from _message(message, str(raw["id"]), str(raw.get("name") or ""))


def _message(raw: dict[str, Any], chat: str, title: str) -> Iterator[Record]:
    parts = raw.get("text_entities") or raw.get("text") or []
    parts = [parts] if isinstance(parts, str) else parts
    text = "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in parts)
    if raw.get("type") != "message" or not text.strip():
        return
    marked = [part for part in parts if isinstance(part, dict) and part.get("type") in _LINKS]
    media, answered = str(raw.get("media_type") or ""), raw.get("reply_to_message_id")
    author = raw.get("from")
    yield Record(
        id=f"telegram:{chat}/{raw['id']}",
        text=text,
        platform="telegram",
        community=title.lower() or None,
        time=parse_time(int(raw["date_unixtime"]) if raw.get("date_unixtime") else raw.get("date")),
        author=author.lower() if isinstance(author, str) else None,
        author_id=str(raw["from_id"]) if raw.get("from_id") else None,
        reply_to=f"telegram:{chat}/{answered}" if answered else None,
        retweet="forwarded_from" in raw,
        reply=bool(answered),
        media=bool(media or raw.get("photo") or raw.get("file")),
        images=bool(raw.get("photo")),
        videos="video" in media,
        links=bool(marked),
        urls=" ".join(str(part.get("href") or part["text"]) for part in marked) or None,
    )
