"""X API v2: the filtered stream with a rule of ours, the posts of listed accounts, and posts by their ids.

What was missed while the stream was down is fetched by a search since the
newest post that was seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from davy.core.errors import UserError
from davy.corpus.collect.live.events import StreamEvent
from davy.corpus.collect.live.web import WebClient, parse_line
from davy.corpus.collect.platforms.readers import reader, records_of

SERVER = "https://api.x.com"
TAG = "davy"
AT_ONCE = 100
"""The most ids that X takes in a request."""
FIELDS = {
    "tweet.fields": "created_at,lang,author_id,conversation_id,referenced_tweets,entities,attachments",
    "expansions": "author_id,attachments.media_keys",
    "user.fields": "username",
    "media.fields": "type",
}


class FilteredStream:
    """Posts that match a rule, as they are written. X's own rule set gets ours, tagged `davy`; others' rules stay."""

    platform = "x"
    pause: float | None = 0.0

    def __init__(self, web: WebClient, rule: str) -> None:
        self._web, self._rule, self._read = web, platform_rule(rule), reader("x")

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield what was missed since the cursor, then what comes."""
        self._set_rule()
        if cursor is not None:
            yield from _pages(self._web, "/2/tweets/search/recent", {"query": self._rule}, cursor, self._read)
        for line in self._web.lines("/2/tweets/search/stream", FIELDS):
            if not line.strip():
                yield StreamEvent()
                continue
            raw = parse_line(line)
            if any(rule.get("tag", TAG) == TAG for rule in raw.get("matching_rules") or [{}]):
                yield from _events(raw, self._read)

    def _set_rule(self) -> None:
        path = "/2/tweets/search/stream/rules"
        ours = [rule for rule in self._web.get(path).get("data") or () if rule.get("tag") == TAG]
        if [rule["value"] for rule in ours] == [self._rule]:
            return
        if ours:
            self._web.post(path, {"delete": {"ids": [rule["id"] for rule in ours]}})
        answer = self._web.post(path, {"add": [{"value": self._rule, "tag": TAG}]})
        if answer.get("errors"):
            title = str(answer["errors"][0].get("title", "not valid"))[:80]
            raise UserError(f"X does not take the rule ({title}). See which operators your access allows.")


class UserPosts:
    """The posts of listed accounts, newest since the cursor. One pass over them all; no stream."""

    platform = "x"
    pause: float | None = None

    def __init__(self, web: WebClient, accounts: Sequence[str]) -> None:
        self._web, self._accounts, self._read = web, accounts, reader("x")

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield each account's posts; the cursor is JSON of account → newest post."""
        newest: dict[str, str] = json.loads(cursor) if cursor else {}
        for name in self._accounts:
            account = name if name.isdigit() else self._number(name)
            last = newest.get(account)
            for event in _pages(self._web, f"/2/users/{account}/tweets", {}, last, self._read):
                if event.cursor is not None:
                    newest[account] = max(newest.get(account, "0"), event.cursor, key=int)
                yield StreamEvent(event.record)
            # An account's newest post counts only when all pages were read: they come newest first.
            yield StreamEvent(cursor=json.dumps(newest))

    def _number(self, name: str) -> str:
        found = (self._web.get(f"/2/users/by/username/{name}") or {}).get("data") or {}
        if "id" not in found:
            raise UserError(f"X knows no account {name!r}, or does not show it. Check the name, or leave it out.")
        return str(found["id"])


class PostsById:
    """Posts whose ids a file lists, as corpora that may not publish texts give them. One pass; no stream."""

    platform = "x"
    pause: float | None = None

    def __init__(self, web: WebClient, ids: Sequence[str]) -> None:
        self._web, self._ids, self._read = web, list(dict.fromkeys(ids)), reader("x")

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield the posts, a hundred a request; the cursor is how many ids were asked for. Deleted ones are missing."""
        for start in range(int(cursor or 0), len(self._ids), AT_ONCE):
            some = self._ids[start : start + AT_ONCE]
            raw = self._web.get("/2/tweets", {**FIELDS, "ids": ",".join(some)})
            for event in _events(raw, self._read):
                yield StreamEvent(event.record)
            yield StreamEvent(cursor=str(start + len(some)))


def platform_rule(rule: str) -> str:
    """Return a rule in one line, with older operators as v2 spells them (`filter:links` is `has:links`)."""
    line = re.sub(r"\bfilter:(links|media|images|videos|hashtags|mentions)", r"has:\1", " ".join(rule.split()))
    return line.replace("filter:retweets", "is:retweet").replace("filter:replies", "is:reply")


def _pages(web: WebClient, path: str, params: dict[str, Any], since: str | None, read: Any) -> Iterator[StreamEvent]:
    asked = {**FIELDS, **params, "max_results": 100, **({"since_id": since} if since else {})}
    while True:
        raw = web.get(path, asked)
        yield from _events(raw, read)
        token = (raw.get("meta") or {}).get("next_token")
        if not token:
            return
        asked["pagination_token" if "users" in path else "next_token"] = token


def _events(raw: dict[str, Any], read: Any) -> Iterator[StreamEvent]:
    for record in records_of(read, raw):
        yield StreamEvent(record, record.id.removeprefix("x:"))
