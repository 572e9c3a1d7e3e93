"""Ask a web service, patiently: time-outs, and waiting as long as it says before asking again.

A request in, the JSON answer out, or a `UserError` that names the service and
what to do. Errors never quote what was sent.
"""

from __future__ import annotations

import random
import re
import time
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError

if TYPE_CHECKING:
    import httpx

BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_WAIT = 120.0
NO_ANSWER = object()
"""What `Service.post` returns where the service refuses one text and not the run."""


class Service:
    """One endpoint. `tries` counts the first; waits double from `pause` seconds unless the service says how long.

    A refusal that holds the word `passes_over` is about one text: it is no answer, and the next is asked.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        seconds: float = 30.0,
        tries: int = 6,
        pause: float = 0.5,
        sleep: Callable[[float], Any] = time.sleep,
        passes_over: str = "",
    ) -> None:
        import httpx

        self.url = url
        self.host = httpx.URL(url).host
        self._tries, self._pause, self._sleep, self._passes_over = tries, pause, sleep, passes_over
        # A redirect could carry the key to another host, so none is followed.
        self._client = httpx.Client(headers=dict(headers or {}), timeout=seconds)
        weakref.finalize(self, self._client.close)
        # Kept apart from `url`, which errors may show: the key may be in it.
        self._target = httpx.URL(url).copy_merge_params(dict(params or {}))

    def post(self, body: Any) -> Any:
        """Return the JSON answer to a JSON body, asking again while the service is busy."""
        import httpx

        trouble = ""
        for attempt in range(self._tries):
            wait = self._pause * 2**attempt * random.uniform(0.8, 1.2)  # noqa: S311 — so that clients don't ask in step
            try:
                response = self._client.post(self._target, json=body)
            except httpx.TimeoutException:
                trouble = "did not answer in time"
            except httpx.HTTPError as error:
                trouble = f"can't be reached ({type(error).__name__})"
            else:
                if response.is_success:
                    return self._json(response)
                if response.status_code not in BUSY:
                    if self._passes_over and self._passes_over in response.text:
                        return NO_ANSWER
                    raise self._refused(response)
                trouble = f"is busy (status {response.status_code})"
                wait = max(wait, _retry_after(response.headers.get("Retry-After")))
            if attempt + 1 < self._tries:
                self._sleep(min(wait, LONGEST_WAIT))
        raise UserError(f"{self.host} {trouble}; asked {self._tries} times. Try again later.", status=503)

    def _json(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError:
            raise UserError(
                f"{self.host} did not answer with JSON. Is {self.url} the right address?", status=502
            ) from None

    def _refused(self, response: httpx.Response) -> UserError:
        if response.status_code in (401, 403):
            return UserError(f"{self.host} refused the key (status {response.status_code}). Check the key.", status=502)
        if response.is_redirect:
            return UserError(f"{self.host} sends us elsewhere. Give its final address.", status=502)
        return UserError(
            f"{self.host} refused the request: status {response.status_code}{_error_code(response)}.", status=502
        )


def _error_code(response: httpx.Response) -> str:
    """Return the service's own code for what is wrong; its message may quote the post, so it is left out."""
    try:
        error = response.json()["error"]
        word = str(error.get("status") or error.get("code") or error.get("type"))
    except (ValueError, KeyError, AttributeError, TypeError):
        return ""
    return f" ({word})" if re.fullmatch(r"[A-Za-z0-9_]{2,60}", word) else ""


def _retry_after(after: str | None) -> float:
    """Return the seconds of a Retry-After header, which may be a number or a date."""
    if not after:
        return 0.0
    try:
        return max(0.0, float(after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
