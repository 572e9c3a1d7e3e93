"""Which words carried a decision: leave each out in turn and see how far the score falls.

A text and a scorer in, weights for spans of the text out. Works on any scorer,
because it only asks for scores. A long text is left out a few words at a time,
so that the cost stays at `most` more texts.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Scorer, Scores
from davy.scoring.result import repair_text
from davy.text.words import find_words

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

# A word with apostrophes, hyphens and masked letters, or a run of anything else: emoji with their joiners stay whole.
_UNITS = re.compile(r"\w+(?:['’*-]+\w+)*|[^\w\s]+")


@dataclass(frozen=True, slots=True)
class SpanWeight:
    """How much of the chosen label's probability is lost without `text[start:end]`; below zero, it spoke against."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a text got its label for one question: `base` is the label's probability for the whole text."""

    text: str
    question: str
    label: str
    base: float
    weights: tuple[SpanWeight, ...]

    def _repr_html_(self) -> str:
        from davy.scoring.notebook import weighted_words_html

        spans = [(weight.start, weight.end, weight.weight) for weight in self.weights]
        return weighted_words_html(f"{self.question}: {self.label} ({self.base:.2f})", self.text, spans)

    def strongest(self, n: int = 5, least: float = 0.01) -> list[SpanWeight]:
        """Return the spans that carried the decision, the strongest first."""
        found = [weight for weight in self.weights if weight.weight >= least]
        return sorted(found, key=lambda weight: -weight.weight)[:n]


@dataclass(frozen=True, slots=True)
class TextVariants:
    """A text and what is left out of it in turn: the scorer reads it whole, then without each of `spans`."""

    text: str
    lang: str | None
    spans: tuple[tuple[int, int], ...]

    def texts(self) -> list[str]:
        """Return what has to be scored, the whole text first."""
        return [self.text, *(self.text[:start] + " " + self.text[end:] for start, end in self.spans)]


def explain(
    text: str, scorer: Scorer, *, question: str | None = None, lang: str | None = None, most: int = 96
) -> Explanation:
    """Return what each part of a text did for the answer; without `question`, for the one that decided the verdict."""
    import polars as pl

    variants = leave_out(text, scorer, lang=lang, most=most)
    texts = variants.texts()
    frame = pl.DataFrame(
        {"text": texts, "lang": [variants.lang] * len(texts)}, schema={"text": pl.String, "lang": pl.String}
    )
    return weigh(variants, scorer.score(frame), question=question)


def leave_out(text: str, scorer: Scorer, *, lang: str | None = None, most: int = 96) -> TextVariants:
    """Return a text with what to leave out of it, in the language whose scorer reads it whole."""
    text = repair_text(text)
    abilities = scorer.abilities
    if not abilities.explains:
        raise UserError(f"{scorer.name} does not look at words, so no word explains its answer. Use another model.")
    if not lang and abilities.language_of is not None:
        lang = abilities.language_of(text)  # a word less must not send the text to another language's detector
    return TextVariants(text, lang, tuple(_spans(text, most)))


def weigh(variants: TextVariants, scores: Scores, *, question: str | None = None) -> Explanation:
    """Return what each part of a text did for the answer, by the scores of `variants.texts()`."""
    if scores.languages()[0]:
        return Explanation(variants.text, "", "", 0.0, ())  # not judged, so there is nothing to explain
    asked = scores.question(question) if question else deciding_question(scores)
    label, column = _label(asked, scores)
    base = float(column[0])
    weights = tuple(
        SpanWeight(start, end, round(base - float(without), 6))
        for (start, end), without in zip(variants.spans, column[1:], strict=True)
    )
    return Explanation(variants.text, asked.name, label, round(base, 6), weights)


def word_weights(explanation: Explanation, *, against: bool = False) -> list[float]:
    """Return the weight of each word of the text, as people mark words: the strongest of the parts that it has.

    With `against` the signs are turned: what spoke for the other label of a yes/no question.
    """
    sign = -1.0 if against else 1.0
    found = []
    for start, end in find_words(explanation.text):
        parts = [sign * it.weight for it in explanation.weights if it.start < end and start < it.end]
        found.append(max(parts, default=0.0))
    return found


def add_reasons(
    frames: Iterable[pl.DataFrame], scorer: Scorer, *, text: str = "text", name: str = "why", replace: bool = False
) -> Iterator[pl.DataFrame]:
    """Yield frames with one more column: the strongest words of each post as JSON, `[["word", weight], …]`."""
    import polars as pl

    for frame in frames:
        if name in frame.columns and not replace:
            raise UserError(
                f"The file has a column {name!r} already, which --explain would add. "
                "Write over it with --replace, or keep both with --prefix."
            )
        langs = frame["lang"].to_list() if "lang" in frame.columns else [None] * len(frame)
        reasons = [
            None if post is None else json.dumps(_words(explain(post, scorer, lang=lang)), ensure_ascii=False)
            for post, lang in zip(frame[text].cast(pl.String).to_list(), langs, strict=True)
        ]
        yield frame.with_columns(pl.Series(name, reasons, dtype=pl.String))


def _words(explanation: Explanation) -> list[tuple[str, float]]:
    return [(explanation.text[it.start : it.end], it.weight) for it in explanation.strongest()]


def deciding_question(scores: Scores, row: int = 0) -> Question:
    """Return the root question that decided a post's verdict: the surest yes, or else the nearest to one."""
    names = {question.name for question in scores.questions}
    roots = [q for q in scores.questions if not q.under or q.under[0] not in names]
    answered = [q for q in roots if (mask := scores.has_answer(q)) is None or mask[row]]
    asked = [q for q in answered if q.positive is not None] or answered or roots

    def sureness(question: Question) -> float:
        yes = scores.positive(question.name)
        column = scores.probabilities[question.name].max(axis=1) if yes is None else yes
        return float(column[row])

    return max(asked, key=sureness)


def _label(question: Question, scores: Scores) -> tuple[str, Array]:
    """Return the label that the whole text got, and its probability in every variant."""
    block = scores.probabilities[question.name]
    chosen = scores.chosen(question.name)[0]
    label = chosen[0] if chosen else question.label_names[int(block[0].argmax())]
    return label, block[:, question.label_names.index(label)]


def _spans(text: str, most: int) -> list[tuple[int, int]]:
    """Return what to leave out: units of the text, taken several at a time where there are more than `most`."""
    units = [span for match in _UNITS.finditer(text) if (span := _without_marks(text, *match.span()))]
    size = -(-len(units) // most) or 1
    groups = [units[i : i + size] for i in range(0, len(units), size)]
    return [(group[0][0], group[-1][1]) for group in groups]


def _without_marks(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return a unit without punctuation and signs around it, or None where nothing else is left."""
    while start < end and _is_mark(text[start]):
        start += 1
    while start < end and _is_mark(text[end - 1]):
        end -= 1
    return (start, end) if start < end else None


def _is_mark(character: str) -> bool:
    """Return whether a character is punctuation or a sign such as + or €; emoji are none."""
    if character.isascii():
        return not character.isalnum()
    kind = unicodedata.category(character)
    return kind[0] == "P" or kind in ("Sm", "Sc")
