"""Posts of Bluesky as Jetstream sends them: lines of a file, or the stream itself."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from davy_adapters.server import DavyError

POSTS = "app.bsky.feed.post"
WAIT = 5.0
LONGEST = 3000
"""Bytes of a post's text, by app.bsky.feed.post; networks pass on longer ones."""


@dataclass(frozen=True)
class Post:
    """A version of a post."""

    uri: str
    cid: str
    text: str


def post(line: str | bytes) -> Post | None:
    """Return the post of an event, or None where it is of something else; what no event can be is a ValueError."""
    try:
        event = json.loads(line)
        commit = event.get("commit") or {}
        if commit.get("collection") != POSTS or commit.get("operation") not in ("create", "update"):
            return None
        found = Post(f"at://{event['did']}/{POSTS}/{commit['rkey']}", commit["cid"], commit["record"]["text"])
        if len(found.text.encode()) > LONGEST or not isinstance(found.cid, str):
            raise ValueError
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError from error
    return found


def events(address: str) -> Iterator[str | bytes]:
    """Yield the events of a Jetstream server; after a break it goes on where it stopped."""
    if not address.startswith(("ws://", "wss://")):
        raise DavyError(f"{address!r} is not an address of Jetstream. Write wss://…")
    query: dict[str, str | int] = {"wantedCollections": POSTS}
    while True:
        try:
            with connect(f"{address}/subscribe?{urlencode(query)}", max_size=4 << 20) as stream:
                for line in stream:
                    yield line
                    query["cursor"] = json.loads(line).get("time_us", query.get("cursor", 0))
        except (OSError, ValueError, WebSocketException) as error:
            print(f"The stream broke off: {error}. Trying again.", file=sys.stderr)
        time.sleep(WAIT)
