"""Connectors: one class for each way to listen to a platform. A cursor in, events from there on out.

X has a filtered stream, posts of accounts and posts by id. Bluesky has a WebSocket with every public post. Mastodon
has a public stream. Reddit has no stream, so each turn asks for what is newer than the newest post that was seen. What
was missed while a stream was down is fetched first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from davy.core.errors import UserError
from davy.corpus.collect.live.web import ConnectionDropped, StreamEvent, WebClient, parse_line, server_address
from davy.corpus.collect.platforms.bluesky import POSTS, key
from davy.corpus.collect.platforms.readers import reader, records_of

X_SERVER = "https://api.x.com"
X_RULE_TAG = "davy"
X_IDS_AT_ONCE = 100
"""The most ids that X takes in a request."""
X_FIELDS = {
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
        for line in self._web.lines("/2/tweets/search/stream", X_FIELDS):
            if not line.strip():
                yield StreamEvent()
                continue
            raw = parse_line(line)
            if any(rule.get("tag", X_RULE_TAG) == X_RULE_TAG for rule in raw.get("matching_rules") or [{}]):
                yield from _events(raw, self._read)

    def _set_rule(self) -> None:
        path = "/2/tweets/search/stream/rules"
        ours = [rule for rule in self._web.get(path).get("data") or () if rule.get("tag") == X_RULE_TAG]
        if [rule["value"] for rule in ours] == [self._rule]:
            return
        if ours:
            self._web.post(path, {"delete": {"ids": [rule["id"] for rule in ours]}})
        answer = self._web.post(path, {"add": [{"value": self._rule, "tag": X_RULE_TAG}]})
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
        for start in range(int(cursor or 0), len(self._ids), X_IDS_AT_ONCE):
            some = self._ids[start : start + X_IDS_AT_ONCE]
            raw = self._web.get("/2/tweets", {**X_FIELDS, "ids": ",".join(some)})
            for event in _events(raw, self._read):
                yield StreamEvent(event.record)
            yield StreamEvent(cursor=str(start + len(some)))


def platform_rule(rule: str) -> str:
    """Return a rule in one line, with older operators as v2 spells them (`filter:links` is `has:links`)."""
    line = re.sub(r"\bfilter:(links|media|images|videos|hashtags|mentions)", r"has:\1", " ".join(rule.split()))
    return line.replace("filter:retweets", "is:retweet").replace("filter:replies", "is:reply")


def _pages(web: WebClient, path: str, params: dict[str, Any], since: str | None, read: Any) -> Iterator[StreamEvent]:
    asked = {**X_FIELDS, **params, "max_results": 100, **({"since_id": since} if since else {})}
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


JETSTREAM_SERVER = "wss://jetstream2.us-east.bsky.network"
JETSTREAM_OVERLAP = 5_000_000
"""Microseconds that are asked for again after a break: Jetstream's clock may run behind itself. Repeats are dropped."""
JETSTREAM_PATIENCE = 1.0


class Jetstream:
    """The stream of posts; deletions come along with them."""

    platform = "bluesky"
    pause: float | None = 0.0

    def __init__(self, server: str | None = None) -> None:
        self._server = server_address(server or JETSTREAM_SERVER, "wss", "ws")

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield posts and deletions from the cursor on."""
        connect, closed = _websockets()
        query: dict[str, Any] = {"wantedCollections": POSTS}
        if cursor is not None:
            query["cursor"] = max(0, int(cursor) - JETSTREAM_OVERLAP)
        read = reader("bluesky")
        try:
            with connect(f"{self._server}/subscribe?{urlencode(query)}", max_size=4 << 20) as stream:
                while True:
                    try:
                        raw = json.loads(stream.recv(timeout=JETSTREAM_PATIENCE))
                    except TimeoutError:
                        yield StreamEvent()
                        continue
                    yield from _jetstream_events(raw, read)
        except (OSError, closed, ValueError) as error:
            raise ConnectionDropped(f"Jetstream broke off ({type(error).__name__})") from None


def _jetstream_events(raw: dict[str, Any], read: Any) -> Iterator[StreamEvent]:
    cursor = str(raw["time_us"]) if "time_us" in raw else None
    commit = raw.get("commit") or {}
    if commit.get("operation") == "delete" and commit.get("collection") == POSTS:
        yield StreamEvent(cursor=cursor, withdrawn=key(f"at://{raw.get('did')}/{POSTS}/{commit.get('rkey')}"))
        return
    found = list(records_of(read, raw))
    yield from (StreamEvent(record, cursor) for record in found)
    if not found:
        yield StreamEvent(cursor=cursor)


def _websockets() -> tuple[Any, type[Exception]]:
    try:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect
    except ImportError:
        raise UserError("Jetstream needs a package that is not there: pip install websockets") from None
    return connect, WebSocketException


REDDIT_SERVER = "https://oauth.reddit.com"
REDDIT_PAGE = 100
REDDIT_MOST_PAGES = 10


class NewPosts:
    """New posts of communities; `kind` is comments or new (submissions)."""

    platform = "reddit"

    def __init__(
        self, web: WebClient, communities: Sequence[str], *, kind: str = "comments", pause: float | None = 10.0
    ) -> None:
        self._web, self._kind, self.pause, self._read = web, kind, pause, reader("reddit")
        self._communities = [name.removeprefix("r/") for name in communities]

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield what is newer than the cursor, oldest first; the cursor is JSON of community → newest post."""
        newest: dict[str, str] = json.loads(cursor) if cursor else {}
        for name in self._communities:
            found = self._newer(name, newest.get(name))
            for child in reversed(found):
                newest[name] = f"{child['kind']}_{child['data']['id']}"
                yield from (StreamEvent(record, json.dumps(newest)) for record in records_of(self._read, child))
            yield StreamEvent(cursor=json.dumps(newest))

    def _newer(self, name: str, last: str | None) -> list[dict]:  # type: ignore[type-arg]
        """Return what a community has that is newer than `last`, newest first.

        Going back page by page until `last` is met, and not `before=last`: a deleted `last` would give nothing.
        """
        records: list[dict] = []  # type: ignore[type-arg]
        after: str | None = None
        number = int(last.split("_")[1], 36) if last else -1
        for _ in range(REDDIT_MOST_PAGES if last else 1):
            params = {"limit": REDDIT_PAGE, "raw_json": 1, **({"after": after} if after else {})}
            data = (self._web.get(f"/r/{name}/{self._kind}", params) or {}).get("data") or {}
            if "children" not in data:
                raise UserError(f"Reddit has no listing for {name!r}. Check the name of the community.")
            new = [child for child in data["children"] if int(child["data"]["id"], 36) > number]
            records += new
            after = data.get("after")
            if len(new) < len(data["children"]) or not after:
                break
        return records


MASTODON_PAGE = 40


class PublicStream:
    """A server's public posts: its own and those that reach it, or its own alone (`local`), or a tag's."""

    platform = "mastodon"
    pause: float | None = 0.0

    def __init__(self, web: WebClient, *, tag: str | None = None, local: bool = False) -> None:
        self._web, self._read = web, reader("mastodon")
        name = ("hashtag" if tag else "public") + ("/local" if local else "")
        self._stream, self._params = f"/api/v1/streaming/{name}", {"tag": tag} if tag else {}
        self._timeline = f"/api/v1/timelines/{f'tag/{tag}' if tag else 'public'}"
        self._local = {"local": "true"} if local else {}

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield what was missed since the cursor, then what comes."""
        if cursor is not None:
            yield from self._missed(cursor)
        kind = ""
        for line in self._web.lines(self._stream, self._params):
            if line.startswith("event:"):
                kind = line[6:].strip()
            elif line.startswith("data:"):
                yield from self._said(kind, line[5:].strip())
            else:
                yield StreamEvent()

    def _missed(self, cursor: str) -> Iterator[StreamEvent]:
        while True:
            page = self._web.get(self._timeline, {"min_id": cursor, "limit": MASTODON_PAGE, **self._local})
            for status in reversed(page):
                cursor = str(status.get("id") or cursor)
                yield from (StreamEvent(record, cursor) for record in records_of(self._read, status))
            yield StreamEvent(cursor=cursor)
            if len(page) < MASTODON_PAGE:
                return

    def _said(self, kind: str, data: str) -> Iterator[StreamEvent]:
        if kind == "delete":
            # The number is the server's own, and so is the post's address only where the post is the server's own too.
            yield StreamEvent(withdrawn=f"mastodon:{self._web.host}/{data}")
        elif kind == "update":
            status = parse_line(data)
            for record in records_of(self._read, status):
                yield StreamEvent(record, str(status.get("id") or "") or None)
