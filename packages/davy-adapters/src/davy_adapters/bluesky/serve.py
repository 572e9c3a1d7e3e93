"""Give labels to whoever asks: com.atproto.label.queryLabels, and com.atproto.label.subscribeLabels as a stream."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import libipld
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from davy_adapters.bluesky.labels import Journal

QUERY, SUBSCRIBE = "/xrpc/com.atproto.label.queryLabels", "/xrpc/com.atproto.label.subscribeLabels"
PAUSE = 0.5
"""Seconds between two looks at the file."""
MOST = 250


def answer(journal: Journal, address: str) -> tuple[HTTPStatus, dict[str, Any]] | None:
    """Return the answer to a request, or None where it is for the stream."""
    parts = urlsplit(address)
    asked = parse_qs(parts.query)
    try:
        cursor = int(asked.get("cursor", ["0"])[0])
        limit = int(asked.get("limit", ["50"])[0])
    except ValueError:
        cursor = limit = -1
    if cursor < 0 or not 1 <= limit <= MOST:
        return _refused("InvalidRequest", f"cursor and limit are whole numbers; limit is from 1 to {MOST}.")
    if parts.path == SUBSCRIBE:
        return None
    if parts.path != QUERY:
        return _refused(
            "MethodNotImplemented", "There are queryLabels and subscribeLabels here.", HTTPStatus.NOT_IMPLEMENTED
        )
    if not (patterns := asked.get("uriPatterns")):
        return _refused(
            "InvalidRequest", "Name uriPatterns: addresses of posts, or their beginnings with * at the end."
        )
    sources = asked.get("sources")
    found = [
        (at, it)
        for at, it in journal.refresh().after(cursor)
        if (not sources or it["src"] in sources) and any(_fits(it["uri"], one) for one in patterns)
    ]
    more = {"cursor": str(found[limit - 1][0])} if len(found) > limit else {}
    return HTTPStatus.OK, {**more, "labels": [it for _, it in found[:limit]]}


def _fits(uri: str, pattern: str) -> bool:
    return uri.startswith(pattern[:-1]) if pattern.endswith("*") else uri == pattern


def _refused(error: str, words: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> tuple[HTTPStatus, dict[str, Any]]:
    return status, {"error": error, "message": words}


async def stream(journal: Journal, subscriber: ServerConnection) -> None:
    """Send every label after the subscriber's cursor, or every new one, until the subscriber goes."""
    asked = parse_qs(urlsplit(subscriber.request.path).query)
    last = len(journal.refresh())
    if "cursor" in asked:
        if (cursor := int(asked["cursor"][0])) > last:
            await subscriber.send(
                _frame({"op": -1}, {"error": "FutureCursor", "message": f"The last label is {last}."})
            )
            return
        last = cursor
    while True:
        for number, label in journal.refresh().after(last):
            signature = base64.b64decode(label["sig"]["$bytes"] + "==")
            body = {"seq": number, "labels": [{**label, "sig": signature}]}
            await subscriber.send(_frame({"op": 1, "t": "#labels"}, body))
        last = len(journal)
        try:
            await asyncio.wait_for(subscriber.wait_closed(), PAUSE)
        except TimeoutError:
            continue
        return


def _frame(header: dict[str, Any], body: dict[str, Any]) -> bytes:
    return libipld.encode_dag_cbor(header) + libipld.encode_dag_cbor(body)


async def start(journal: Journal, host: str, port: int) -> Server:
    """Return a server that listens."""

    def respond(_: ServerConnection, request: Request) -> Response | None:
        found = answer(journal, request.path)
        if found is None:
            return None
        status, body = found
        content = json.dumps(body).encode()
        headers = Headers(
            {"Content-Type": "application/json", "Content-Length": str(len(content)), "Connection": "close"}
        )
        return Response(status.value, status.phrase, headers, content)

    async def handle(subscriber: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await stream(journal, subscriber)

    return await serve(handle, host, port, process_request=respond)
