"""What connectors share: a client that asks platforms over HTTP, and the events that they yield.

Limits and breaks become `ConnectionDropped`, so that the loop that listens can ask again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from davy.core.errors import UserError
from davy.corpus.collect.records import Record

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One thing that a platform said; all None is a sign of life. `cursor` is from where to go on after it."""

    record: Record | None = None
    cursor: str | None = None
    withdrawn: str | None = None
    """The id of a post that its author deleted."""


class ConnectionDropped(Exception):
    """The connection ended or was refused for now; ask again after `wait` seconds, or when the loop thinks fit."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.why, self.wait = why, wait


class PostStream(Protocol):
    """One place to listen to. `pause` is how long to wait after `events` ended well, None where that is the end."""

    platform: str
    pause: float | None

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield what comes from the cursor on; raise `ConnectionDropped` where the connection breaks."""
        ...


BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
SILENCE = 40.0
"""Seconds without a byte after which a stream counts as broken; platforms send signs of life more often."""


class WebClient:
    """A platform's server. No redirect is followed: it could carry the token to another host."""

    def __init__(self, server: str, token: str | None = None, *, silence: float = SILENCE) -> None:
        import httpx

        self.server = server_address(server, "https", "http")
        self.host = httpx.URL(self.server).host
        headers = {"User-Agent": "davy-collect", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._client = httpx.Client(headers=headers, timeout=httpx.Timeout(30.0, read=silence))

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON that a path answers with."""
        return self._asked("GET", path, params=params or {})

    def post(self, path: str, body: Any) -> Any:
        """Return the JSON answer to a JSON body."""
        return self._asked("POST", path, json=body)

    def lines(self, path: str, params: Mapping[str, Any] | None = None) -> Iterator[str]:
        """Yield the lines of an answer that does not end, empty ones too: they are signs of life."""
        with self._trouble(), self._client.stream("GET", self.server + path, params=params or {}) as response:
            if not response.is_success:
                response.read()
                raise self._refused(response)
            yield from response.iter_lines()
        raise ConnectionDropped(f"{self.host} ended the stream")

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _asked(self, method: str, path: str, **more: Any) -> Any:
        with self._trouble():
            response = self._client.request(method, self.server + path, **more)
        if not response.is_success:
            raise self._refused(response)
        try:
            return response.json()
        except ValueError:
            raise UserError(f"{self.host} did not answer with JSON. Is {self.server} the right address?") from None

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        import httpx

        try:
            yield
        except httpx.TimeoutException:
            raise ConnectionDropped(f"{self.host} was silent for too long") from None
        except httpx.InvalidURL:
            raise UserError(f"{self.server} is no address. Give one such as https://example.social") from None
        except httpx.HTTPError as error:
            raise ConnectionDropped(f"{self.host} can't be reached ({type(error).__name__})") from None

    def _refused(self, response: httpx.Response) -> Exception:
        status = response.status_code
        if status in BUSY:
            return ConnectionDropped(f"{self.host} asks us to wait (status {status})", _retry_after(response.headers))
        if status in (401, 403):
            return UserError(f"{self.host} refused the token (status {status}). Check it, and what it may be used for.")
        if status == 404:
            return UserError(f"{self.host} does not know {response.url.path}. Check the name and the server.")
        return UserError(f"{self.host} refused the request (status {status}). Check the options.")


def server_address(server: str, scheme: str, *others: str) -> str:
    """Return a server's address without a slash at its end; one without a scheme can't be reached, however often."""
    found = urlsplit(server)
    if found.scheme not in (scheme, *others) or not found.hostname:
        raise UserError(f"--server {server} is no whole address. Write {scheme}://{server.rpartition('//')[2]}")
    return server.rstrip("/")


def parse_line(line: str) -> dict[str, Any]:
    """Return the JSON object of a stream's line; an empty one for a line that holds none."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a service asks us to wait: Retry-After, or the time when X's or Reddit's limit ends."""
    try:
        if "retry-after" in headers:
            return max(0.0, float(headers["retry-after"]))
        if "x-rate-limit-reset" in headers:
            return max(0.0, float(headers["x-rate-limit-reset"]) - time.time())
        if "x-ratelimit-reset" in headers:
            return max(0.0, float(headers["x-ratelimit-reset"]))
    except ValueError:
        return None
    return None
