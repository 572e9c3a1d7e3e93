"""Ask a server of Davy: a text in, its record out. Python's standard library is enough."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ATTEMPTS = 5
LONGEST_WAIT = 30.0


class DavyError(Exception):
    """The server refused or could not be reached; its own words."""


@dataclass(frozen=True)
class DavyServer:
    """A server and a key of the scope `score`."""

    url: str
    key: str
    timeout: float = 60.0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise DavyError(f"{self.url!r} is not an address of a server. Write http://… or https://…")

    @classmethod
    def from_environment(cls) -> DavyServer:
        """Return the server that DAVY_URL and DAVY_KEY name."""
        missing = [name for name in ("DAVY_URL", "DAVY_KEY") if not os.environ.get(name)]
        if missing:
            raise DavyError(f"Set {' and '.join(missing)}: the server's address and a key of the scope score.")
        return cls(os.environ["DAVY_URL"].rstrip("/"), os.environ["DAVY_KEY"])

    def score(self, text: str, lang: str | None = None, questions: Sequence[str] | None = None) -> dict[str, Any]:
        """Return a text's record: verdict, questions with probabilities, and why it was not judged if so."""
        answer = self._post("/v1/score", {"text": text, "lang": lang, "questions": questions})
        record: dict[str, Any] = answer["results"][0]
        return record

    def analyze(self, text: str, attribute: str, lang: str | None = None) -> float:
        """Return the score of one of Perspective's attributes."""
        asked = {"comment": {"text": text}, "requestedAttributes": {attribute: {}}, "doNotStore": True}
        answer = self._post("/v1alpha1/comments:analyze", {**asked, **({"languages": [lang]} if lang else {})})
        return float(answer["attributeScores"][attribute]["summaryScore"]["value"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer; a busy server is asked again when it says so."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)  # noqa: S310 — http(s) alone, above
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310 — http(s) alone, above
                    found: dict[str, Any] = json.load(answer)
                    return found
            except urllib.error.HTTPError as error:
                with error:
                    words = error.read().decode("utf-8", "replace")
                if error.code not in (429, 503) or attempt == ATTEMPTS:
                    raise DavyError(f"{self.url}{path} answered {error.code}: {_message(words)}") from None
                time.sleep(min(LONGEST_WAIT, float(error.headers.get("Retry-After", 1))))
            except OSError as error:
                raise DavyError(f"{self.url} can't be reached: {error}. Is the server running?") from None
        raise AssertionError("unreachable")


def _message(words: str) -> str:
    """Return the words of an error in any of the shapes that the server has."""
    try:
        error = json.loads(words)["error"]
    except (ValueError, KeyError, TypeError):
        return words[:200]
    return str(error["message"] if isinstance(error, dict) else error)
