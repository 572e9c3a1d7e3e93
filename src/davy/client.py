"""A small typed client of Davy's API: texts in, answers out. It needs httpx and nothing else of Davy's.

    from davy.client import Client

    with Client("http://127.0.0.1:8460", key="davy_…") as davy:
        answer = davy.score("What a day")
        print(answer.verdict, answer.questions["hate"].probability)

Busy servers (429 and 503 with Retry-After) are asked again, `attempts` times in all; everything else that goes wrong is
a `ClientError` with the server's own words.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx

LONGEST_WAIT = 30.0
MOST_AT_ONCE = 100


class ClientError(Exception):
    """The server refused, or could not be reached; `status` is None where there was no answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """What a detector said to one question; probability and threshold where it is a yes/no question."""

    label: str
    labels: Mapping[str, float]
    probability: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """What a detector said about one post: the verdict's path, each question that it leads to, and by whom.

    `decision` is a community's (`pass`, `flag`, `review`); `unsupported_language` is set where the post was not judged.
    """

    verdict: str | None
    questions: Mapping[str, QuestionAnswer]
    model: str
    version: str
    raw: Mapping[str, Any]
    decision: str | None = None
    unsupported_language: str | None = None


class Client:
    """Asks one server with one key. Safe to use from several threads; close it, or use it in a `with` block."""

    def __init__(self, address: str, key: str, *, timeout: float = 30.0, attempts: int = 5) -> None:
        self._attempts = max(1, attempts)
        headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._http = httpx.Client(base_url=address.rstrip("/"), headers=headers, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def score(
        self, text: str, *, lang: str | None = None, model: str | None = None, community: str | None = None
    ) -> PostAnswer:
        """Return the answer to one text."""
        return self.score_many([text], lang=lang, model=model, community=community)[0]

    def score_many(
        self,
        texts: Sequence[str],
        *,
        lang: str | None = None,
        model: str | None = None,
        community: str | None = None,
        questions: Sequence[str] | None = None,
    ) -> list[PostAnswer]:
        """Return the answers to some texts, in their order; more than a server takes at once go in several requests."""
        fields = {"lang": lang, "model": model, "community": community, "questions": list(questions or []) or None}
        asked = {name: value for name, value in fields.items() if value is not None}
        answers: list[PostAnswer] = []
        for start in range(0, len(texts), MOST_AT_ONCE):
            body = self._send("/v1/score", {"texts": list(texts[start : start + MOST_AT_ONCE]), **asked})
            answers += [_answer(result, body["model"]) for result in body["results"]]
        return answers

    def analyze(self, text: str, attributes: Sequence[str], *, lang: str | None = None) -> dict[str, float]:
        """Return Perspective's attributes of a text, by name, as `comments:analyze` has them."""
        body = {
            "comment": {"text": text},
            "requestedAttributes": {name: {} for name in attributes},
            **({"languages": [lang]} if lang else {}),
        }
        scores = self._send("/v1alpha1/comments:analyze", body)["attributeScores"]
        return {name: float(score["summaryScore"]["value"]) for name, score in scores.items()}

    def _send(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        for attempt in range(1, self._attempts + 1):
            try:
                response = self._http.post(path, json=body)
            except httpx.HTTPError as error:
                raise ClientError(f"{self._http.base_url} could not be reached: {type(error).__name__}") from error
            wait = response.headers.get("retry-after", "")
            if response.status_code in (429, 503) and wait.isdigit() and attempt < self._attempts:
                time.sleep(min(LONGEST_WAIT, float(wait)))
                continue
            if response.is_success:
                answer: dict[str, Any] = response.json()
                return answer
            raise ClientError(_message(response), response.status_code)
        raise AssertionError("the last attempt returns or raises")


def _answer(result: Mapping[str, Any], model: Mapping[str, str]) -> PostAnswer:
    questions = {
        name: QuestionAnswer(it["label"], it["labels"], it.get("probability"), it.get("threshold"))
        for name, it in result["questions"].items()
    }
    told = (result.get("decision"), result.get("unsupported_language"))
    return PostAnswer(result["verdict"], questions, model["name"], model["version"], result, *told)


def _message(response: httpx.Response) -> str:
    try:
        error = response.json()["error"]
        return str(error["message"]) if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError):
        return f"The server answered {response.status_code}."
