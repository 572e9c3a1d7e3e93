"""The HTTP protocol with limits that uvicorn does not set: how large headers are, and how slowly a request may come.

A client that sends its headers byte by byte, floods them, or drips a body keeps a connection and memory for nothing.
Headers have to be complete in `HEADER_SECONDS` and `MOST_HEADER_BYTES`; a body has to come at `SLOWEST` bytes a second
after a while of grace. Who does not keep to that is cut off.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
MOST_HEADER_BYTES = 64 * 1024
MOST_HEADERS = 100
BODY_SECONDS = 20.0
SLOWEST = 1_024
"""Bytes a second that a body has at least, beyond the first `BODY_SECONDS`."""

TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 35\r\nconnection: close\r\n\r\nThe request's headers are too large"
)
TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 32\r\nconnection: close\r\n\r\nThe request came in too slowly.\n"
)


class GuardedProtocol(HttpToolsProtocol):
    """A connection that closes on headers too large, and on requests too slow."""

    header_seconds = HEADER_SECONDS
    body_seconds = BODY_SECONDS

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.access_log = False  # uvicorn's own has the query, where a key may be
        self._deadline: asyncio.TimerHandle | None = None
        self._in_headers = True
        self._header_bytes = 0
        self._field_bytes = 0
        self._body_bytes = 0
        self._body_began = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait(self.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass data on while it keeps to the limits."""
        if self._in_headers:
            if self._deadline is None:  # the next request on a connection that was kept
                self._wait(self.header_seconds)
            self._header_bytes += len(data)
            # What follows the headers may come in the same piece, so what counts is how much came before.
            if self._header_bytes - len(data) > MOST_HEADER_BYTES:
                self._refuse(TOO_LARGE)
                return
        super().data_received(data)
        if self._in_headers and self._header_bytes > MOST_HEADER_BYTES and not self.transport.is_closing():
            self._refuse(TOO_LARGE)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, unless there are too many or it is too large."""
        self._field_bytes += len(name) + len(value)
        if len(self.headers) >= MOST_HEADERS or self._field_bytes > MOST_HEADER_BYTES:
            self._refuse(TOO_LARGE)
            return
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Go on with the body, which has its own pace."""
        self._in_headers = False
        if self.transport.is_closing():
            return
        self._body_bytes = 0
        self._body_began = self.loop.time()
        self._wait(self.body_seconds)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body and wait for the next."""
        self._body_bytes += len(body)
        left = self._body_began + self.body_seconds + self._body_bytes / SLOWEST - self.loop.time()
        self._wait(max(0.0, left))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for nothing while the request is answered."""
        self._stop_waiting()
        self._in_headers, self._header_bytes, self._field_bytes = True, 0, 0
        super().on_message_complete()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self._refuse, TOO_SLOW)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, answer: bytes) -> None:
        self._stop_waiting()
        if self.transport.is_closing():
            return
        idle = self._in_headers and not self._header_bytes  # nothing was asked, so nothing is answered
        begun = self.cycle is not None and not self.cycle.response_complete and self.cycle.response_started
        if not begun and not idle:
            self.transport.write(answer)
        self.transport.close()
