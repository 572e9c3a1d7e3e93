"""Bluesky's Jetstream: every public post as it is written, over a WebSocket, from a cursor in microseconds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from davy.core.errors import UserError
from davy.corpus.collect.live.events import ConnectionDropped, StreamEvent
from davy.corpus.collect.live.web import server_address
from davy.corpus.collect.platforms.bluesky import POSTS, key
from davy.corpus.collect.platforms.readers import reader, records_of

SERVER = "wss://jetstream2.us-east.bsky.network"
OVERLAP = 5_000_000
"""Microseconds that are asked for again after a break: Jetstream's clock may run behind itself. Repeats are dropped."""
PATIENCE = 1.0


class Jetstream:
    """The stream of posts; deletions come along with them."""

    platform = "bluesky"
    pause: float | None = 0.0

    def __init__(self, server: str | None = None) -> None:
        self._server = server_address(server or SERVER, "wss", "ws")

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield posts and deletions from the cursor on."""
        connect, closed = _websockets()
        query: dict[str, Any] = {"wantedCollections": POSTS}
        if cursor is not None:
            query["cursor"] = max(0, int(cursor) - OVERLAP)
        read = reader("bluesky")
        try:
            with connect(f"{self._server}/subscribe?{urlencode(query)}", max_size=4 << 20) as stream:
                while True:
                    try:
                        raw = json.loads(stream.recv(timeout=PATIENCE))
                    except TimeoutError:
                        yield StreamEvent()
                        continue
                    yield from _stream_events(raw, read)
        except (OSError, closed, ValueError) as error:
            raise ConnectionDropped(f"Jetstream broke off ({type(error).__name__})") from None


def _stream_events(raw: dict[str, Any], read: Any) -> Iterator[StreamEvent]:
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
