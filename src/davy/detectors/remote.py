"""Detectors behind HTTP: Perspective, OpenAI moderation, and any server that speaks like them or like us.

Posts in, scores out. Answers are cached on disk by text (`davy.detectors.cache`).
A text of white space alone is not sent: services refuse it, and it gets 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from davy.core.errors import UserError, nearest
from davy.core.scheme import Label, Question
from davy.core.scorer import Abilities, Scores
from davy.detectors.cache import DiskCache, cache_folder
from davy.detectors.http import NO_ANSWER, Service
from davy.detectors.model_name import ModelName
from davy.files.yaml_nodes import load_shipped

if TYPE_CHECKING:
    import polars as pl

PERSPECTIVE = "https://commentanalyzer.googleapis.com/v1alpha1/comments:analyze"
OPENAI = "https://api.openai.com/v1/moderations"
OTHER_LANGUAGE = "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE"
"""Perspective's word for a text in a language that it does not judge."""
LONGEST = 20_000
"""Bytes of a text that are sent: Perspective's limit, which we keep for all."""

Numbers = dict[str, list[float] | None]
"""Question name → probabilities in the order of its labels; None where the service did not answer it."""


class ApiShape(Protocol):
    """How a service is spoken to: which questions it answers, and how a request and its answer look."""

    questions: tuple[Question, ...]
    version: str
    at_once: int
    """How many texts one request takes."""
    thresholds: Mapping[str, float]

    def body(self, texts: Sequence[str], lang: str | None) -> Any: ...

    def numbers(self, answer: Any) -> list[Numbers]: ...


class RemoteScorer:
    """Scores by asking a service, several requests at a time. `cache=None` keeps nothing."""

    abilities = Abilities()

    def __init__(
        self, name: str, service: Service, shape: ApiShape, *, cache: DiskCache | None = None, parallel: int = 4
    ) -> None:
        self.name = name
        self.version = shape.version
        self.questions = shape.questions
        self._service, self._shape, self._cache, self._parallel = service, shape, cache, parallel

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the service's scores; each text that the cache does not know is sent once."""
        import numpy as np

        langs = posts["lang"].to_list() if "lang" in posts.columns else [None] * len(posts)
        asked = [(_cut(text), lang) for text, lang in zip(posts["text"].fill_null("").to_list(), langs, strict=True)]
        known = self._known(asked)
        blocks, answered = {}, {}
        for question in self.questions:
            rows = [known[it].get(question.name) for it in asked]
            silent = [0.0] * len(question.labels)
            block = np.array([silent if row is None else row for row in rows], dtype=np.float64)
            blocks[question.name] = block.reshape(len(asked), len(question.labels))
            answered[question.name] = np.array([row is not None for row in rows], dtype=bool)
        partly = {name: mask for name, mask in answered.items() if not mask.all()}
        return Scores(self.questions, blocks, dict(self._shape.thresholds), answered=partly)

    def _known(self, asked: list[tuple[str, str | None]]) -> dict[tuple[str, str | None], Numbers]:
        known: dict[tuple[str, str | None], Numbers] = {}
        unknown: dict[str | None, list[str]] = {}
        for text, lang in dict.fromkeys(asked):
            held = _nothing(self.questions) if not text.strip() else self._cache and self._cache.get(text, lang)
            if held:
                known[text, lang] = held
            else:
                unknown.setdefault(lang, []).append(text)
        size = self._shape.at_once
        requests = [(texts[i : i + size], lang) for lang, texts in unknown.items() for i in range(0, len(texts), size)]
        with ThreadPoolExecutor(max_workers=self._parallel, thread_name_prefix="remote") as pool:
            try:
                for (texts, lang), answers in zip(requests, pool.map(self._ask, requests), strict=True):
                    known.update({(text, lang): answer for text, answer in zip(texts, answers, strict=True)})
            except (UserError, KeyboardInterrupt):
                pool.shutdown(wait=False, cancel_futures=True)  # what was answered is in the cache already
                raise
        return known

    def _ask(self, request: tuple[list[str], str | None]) -> list[Numbers]:
        texts, lang = request
        answer = self._service.post(self._shape.body(texts, lang))
        if answer is NO_ANSWER:
            return [dict.fromkeys((question.name for question in self.questions), None)] * len(texts)
        try:
            answers = [_probabilities(numbers) for numbers in self._shape.numbers(answer)]
        except _Impossible as error:
            raise UserError(
                f"{self._service.host} answered {error.question!r} with {error.value}, which is no probability. "
                "Try again later, or use another model.",
                status=502,
            ) from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise UserError(
                f"{self._service.host} answered in another shape than {self.name!r} expects "
                f"({type(error).__name__}). Check the address.",
                status=502,
            ) from error
        if len(answers) != len(texts):
            raise UserError(f"{self._service.host} answered {len(answers)} of {len(texts)} texts.", status=502)
        if self._cache is not None:
            for text, numbers in zip(texts, answers, strict=True):
                self._cache.put(text, lang, numbers)
        return answers


class PerspectiveShape:
    """Perspective: identity attack is `hate`, toxicity is `offensive`, both at 50 % (the papers' P-IA and P-TX).

    Further attributes are questions of their own names in lower case: `sexually_explicit`.
    """

    at_once = 1
    version = "v1alpha1"
    thresholds: Mapping[str, float] = {}

    def __init__(self, more: Sequence[str] = ()) -> None:
        self._attributes = ("IDENTITY_ATTACK", "TOXICITY", *more)
        yes_no = (Label("no"), Label("yes"))
        self.questions = (*_hate_and_offensive(), *(Question(a.lower(), yes_no, positive="yes") for a in more))
        if more:
            self.version = (
                f"v1alpha1 {' '.join(more)}"  # answers are kept by version: with other attributes they differ
            )

    def body(self, texts: Sequence[str], lang: str | None) -> Any:
        """Return the request for one text; the service is told not to keep it."""
        body = {
            "comment": {"text": texts[0]},
            "requestedAttributes": {name: {} for name in self._attributes},
            "doNotStore": True,
        }
        return {**body, "languages": [lang]} if lang else body

    def numbers(self, answer: Any) -> list[Numbers]:
        """Return the probability of each attribute."""
        scores = answer["attributeScores"]
        values = [float(scores[name]["summaryScore"]["value"]) for name in self._attributes]
        return [_yes_no(self.questions, values)]


class OpenAiShape:
    """OpenAI moderation: its two hate categories are `hate`; those and harassment are `offensive`."""

    at_once = 32
    thresholds: Mapping[str, float] = {}

    def __init__(self, model: str = "omni-moderation-latest") -> None:
        self.questions = _hate_and_offensive()
        self.version = model

    def body(self, texts: Sequence[str], lang: str | None) -> Any:  # noqa: ARG002
        """Return the request for several texts."""
        return {"model": self.version, "input": list(texts)}

    def numbers(self, answer: Any) -> list[Numbers]:
        """Return the two probabilities of each text."""
        return [self._of(result["category_scores"]) for result in answer["results"]]

    def _of(self, scores: Mapping[str, Any]) -> Numbers:
        hate = max(float(scores["hate"]), float(scores["hate/threatening"]))
        offensive = max(hate, float(scores["harassment"]), float(scores["harassment/threatening"]))
        return _yes_no(self.questions, [hate, offensive])


class DavyShape:
    """Another Davy's `/v1/score`. What it answers is learnt from its answers to two harmless texts."""

    at_once = 32

    def __init__(self, service: Service) -> None:
        answer = service.post({"texts": ["Good morning.", "Guten Morgen, wie geht es dir?"]})
        try:
            self.version = str(answer["model"]["version"])
            records = {name: given for result in answer["results"] for name, given in result["questions"].items()}
            self.questions = tuple(_understood(name, given) for name, given in records.items())
            self.thresholds: Mapping[str, float] = {
                name: float(given["threshold"]) for name, given in records.items() if "threshold" in given
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{service.host} does not answer like /v1/score. Check the address.", status=502) from error

    def body(self, texts: Sequence[str], lang: str | None) -> Any:
        """Return the request for several texts."""
        return {"texts": list(texts), "lang": lang} if lang else {"texts": list(texts)}

    def numbers(self, answer: Any) -> list[Numbers]:
        """Return each text's probabilities in the order of the labels."""
        if str(answer["model"]["version"]) != self.version:
            raise UserError("The model behind the address changed during the run. Start again.", status=502)
        return [
            {q.name: _in_order(q, record["questions"].get(q.name)) for q in self.questions}
            for record in answer["results"]
        ]


def perspective(asked: ModelName) -> RemoteScorer:
    """Return Perspective, with the key from PERSPECTIVE_API_KEY; `perspective:SEXUALLY_EXPLICIT,…` asks for more."""
    more = _attributes(asked.argument)
    key = _key("PERSPECTIVE_API_KEY", asked.name)
    service = Service(PERSPECTIVE, params={"key": key}, passes_over=OTHER_LANGUAGE)
    return _remote(asked.name, service, PerspectiveShape(more))


def _attributes(text: str) -> list[str]:
    """Return further attributes of Perspective by their names; an unknown one is an error."""
    known = [str(name) for name in load_shipped("davy.moderation.attributes", "perspective.yaml")["attributes"]]
    given = [part.strip().upper().replace(" ", "_") for part in text.split(",") if part.strip()]
    for name in given:
        if name not in known:
            raise UserError(f"Perspective has no attribute {name!r}.{nearest(name, known)}")
    return [name for name in dict.fromkeys(given) if name not in ("IDENTITY_ATTACK", "TOXICITY")]


def openai(asked: ModelName) -> RemoteScorer:
    """Return OpenAI moderation, with the key from OPENAI_API_KEY."""
    key = _key("OPENAI_API_KEY", asked.name)
    return _remote(asked.name, Service(OPENAI, headers={"Authorization": f"Bearer {key}"}), OpenAiShape())


def url(asked: ModelName) -> RemoteScorer:
    """Return a scorer for an address, which ends as its shape does; its key, if it needs one, is in DAVY_API_KEY."""
    address = asked.argument
    if not address.startswith(("http://", "https://")):
        raise UserError(f"{asked.name!r} is no address: url:https://host/v1/score")
    key = os.environ.get("DAVY_API_KEY")
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    path = address.partition("?")[0].rstrip("/")
    if path.endswith("comments:analyze"):
        perspective_like = Service(address, params={"key": key} if key else {}, passes_over=OTHER_LANGUAGE)
        return _remote(asked.name, perspective_like, PerspectiveShape())
    service = Service(address, headers=bearer)
    if path.endswith("/moderations"):
        return _remote(asked.name, service, OpenAiShape())
    if path.endswith("/v1/score"):
        return _remote(asked.name, service, DavyShape(service))
    raise UserError(
        f"{address} does not say what it speaks. Give an address that ends in /v1/score (ours), "
        "comments:analyze (Perspective) or /moderations (OpenAI)."
    )


def _remote(name: str, service: Service, shape: ApiShape) -> RemoteScorer:
    return RemoteScorer(
        name, service, shape, cache=DiskCache(cache_folder() / "remote", f"{service.url} {shape.version}")
    )


def _key(variable: str, name: str) -> str:
    key = os.environ.get(variable)
    if not key:
        raise UserError(f"{name!r} needs a key. Put it in the environment: export {variable}=…")
    return key


def _hate_and_offensive() -> tuple[Question, ...]:
    from davy import schemes

    return (schemes.load("hate").question("hate"), schemes.load("offensive").question("offensive"))


def _understood(name: str, given: Mapping[str, Any]) -> Question:
    """Return the question that a server's record answers: one of our schemes' where the labels agree."""
    from davy import schemes

    labels = tuple(given["labels"])
    for scheme in schemes.names():
        for question in schemes.load(scheme).questions:
            if question.name == name and question.label_names == labels:
                return question
    yes_no = "probability" in given and len(labels) == 2
    total = sum(float(value) for value in given["labels"].values())
    kind = "one" if yes_no or abs(total - 1) < 1e-3 else "many"
    return Question(name, tuple(Label(label) for label in labels), kind, positive=labels[1] if yes_no else None)


def _in_order(question: Question, given: Mapping[str, Any] | None) -> list[float] | None:
    return None if given is None else [float(given["labels"][name]) for name in question.label_names]


class _Impossible(Exception):
    """A service's number that is no probability, which must not reach the cache."""

    def __init__(self, question: str, value: float) -> None:
        super().__init__(question)
        self.question, self.value = question, value


def _probabilities(numbers: Numbers) -> Numbers:
    """Return a service's numbers as they are; one that is not from 0 to 1 (NaN is not) stops the run."""
    for question, values in numbers.items():
        for value in values or ():
            if not -1e-6 <= value <= 1 + 1e-6:
                raise _Impossible(question, value)
    return numbers


def _yes_no(questions: Sequence[Question], values: Sequence[float]) -> Numbers:
    found: Numbers = {}
    for question, value in zip(questions, values, strict=True):
        found[question.name] = [value if name == question.positive else 1 - value for name in question.label_names]
    return found


def _nothing(questions: Sequence[Question]) -> Numbers:
    """Return the scores of a text that says nothing: no to yes/no, no label of a `many`, the first of others."""
    numbers: Numbers = {}
    for question in questions:
        first = next((name for name in question.label_names if name != question.positive), "")
        numbers[question.name] = [float(name == first and not question.multilabel) for name in question.label_names]
    return numbers


def _cut(text: str) -> str:
    return text if len(text) < LONGEST // 4 else text.encode()[:LONGEST].decode(errors="ignore")
