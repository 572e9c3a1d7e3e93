"""Mastodon's public stream, after what was missed since the cursor was fetched from the public timeline."""

from __future__ import annotations

from collections.abc import Iterator

from davy.corpus.collect.live.events import StreamEvent
from davy.corpus.collect.live.web import WebClient, parse_line
from davy.corpus.collect.platforms.readers import reader, records_of

PAGE = 40


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
            page = self._web.get(self._timeline, {"min_id": cursor, "limit": PAGE, **self._local})
            for status in reversed(page):
                cursor = str(status.get("id") or cursor)
                yield from (StreamEvent(record, cursor) for record in records_of(self._read, status))
            yield StreamEvent(cursor=cursor)
            if len(page) < PAGE:
                return

    def _said(self, kind: str, data: str) -> Iterator[StreamEvent]:
        if kind == "delete":
            # The number is the server's own, and so is the post's address only where the post is the server's own too.
            yield StreamEvent(withdrawn=f"mastodon:{self._web.host}/{data}")
        elif kind == "update":
            status = parse_line(data)
            for record in records_of(self._read, status):
                yield StreamEvent(record, str(status.get("id") or "") or None)
