"""X (Twitter): answers of API v2, lines of its streams, flattened and older tweets.

`{"data": […], "includes": …}` pages, `{"data": {…}, "matching_rules": …}` stream
lines, one tweet a line with or without its author expanded, and v1.1 tweets
(`id_str`, `full_text`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from davy.corpus.collect.records import Record, parse_time

_LANGS = {"in": "id", "iw": "he"}
"""Codes that X spells in an old way."""


def records(raw: Any) -> Iterator[Record]:
    """Yield the tweets of an answer, a stream line or a plain tweet."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
        return
    if "data" not in raw:
        yield from _tweet_records(raw.get("tweet", raw), {}, {})
        return
    includes = raw.get("includes") or {}
    users = {user["id"]: user for user in includes.get("users", ())}
    media = {item["media_key"]: item for item in includes.get("media", ())}
    data = raw["data"]
    for tweet in data if isinstance(data, list) else [data]:
        yield from _tweet_records(tweet, users, media)


def _tweet_records(tweet: dict[str, Any], users: dict[str, Any], media: dict[str, Any]) -> Iterator[Record]:
    text = (tweet.get("note_tweet") or {}).get("text") or tweet.get("full_text") or tweet.get("text")
    key = tweet.get("id_str") or tweet.get("id")
    if text is None or key is None:
        return
    author = tweet.get("author") or tweet.get("user") or users.get(str(tweet.get("author_id"))) or {}
    known = {ref.get("type"): ref.get("id") for ref in tweet.get("referenced_tweets") or ()}
    replied = known.get("replied_to") or tweet.get("in_reply_to_status_id_str")
    kinds = _media(tweet, media)
    entities = tweet.get("entities") or {}
    urls = [str(url.get("expanded_url") or url.get("url")) for url in entities.get("urls", ()) if not _own(url)]
    lang = tweet.get("lang")
    yield Record(
        id=f"x:{key}",
        text=str(text),
        platform="x",
        lang=_LANGS.get(str(lang), lang) if lang not in ("und", "qme", "qht", "qam", "zxx", "art", "") else None,
        time=_time(tweet.get("created_at")),
        author=str(name).lower() if (name := author.get("username") or author.get("screen_name")) else None,
        author_id=str(account) if (account := tweet.get("author_id") or author.get("id_str")) else None,
        to=(users.get(str(tweet.get("in_reply_to_user_id"))) or {}).get("username"),
        reply_to=f"x:{replied}" if replied else None,
        conversation=tweet.get("conversation_id"),
        retweet="retweeted" in known or "retweeted_status" in tweet or str(text).startswith("RT @"),
        reply=bool(replied),
        quote="quoted" in known or bool(tweet.get("is_quote_status")),
        media=bool(kinds),
        images="photo" in kinds,
        videos=bool(kinds & {"video", "animated_gif"}),
        links=bool(urls),
        urls=" ".join(urls) or None,
    )


def _media(tweet: dict[str, Any], media: dict[str, Any]) -> set[str]:
    attached = tweet.get("attachments") or {}
    kinds = {str((media.get(key) or {}).get("type", "media")) for key in attached.get("media_keys") or ()}
    kinds |= {str(item.get("type", "media")) for item in attached.get("media") or ()}
    older = (tweet.get("extended_entities") or tweet.get("entities") or {}).get("media") or ()
    return kinds | {str(item.get("type", "media")) for item in older}


def _own(url: dict[str, Any]) -> bool:
    """Return whether an URL is X's own pointer to the tweet's media or quoted tweet, which no one wrote as a link."""
    return "media_key" in url or "/photo/" in str(url.get("expanded_url")) or "/video/" in str(url.get("expanded_url"))


def _time(value: Any) -> str | None:
    found = parse_time(value)
    if found is None and isinstance(value, str):
        from datetime import UTC, datetime

        try:
            moment = datetime.strptime(value, "%a %b %d %H:%M:%S %z %Y")  # how v1.1 wrote it
        except ValueError:
            return None
        found = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return found
