"""Measure explanations against people: does a detector's `--explain` put the words first that people marked?

Posts with marked words and detectors in; for each detector token F1, IoU F1 and AUPRC of its words out, beside words
drawn at random. The one thing to know: an explanation may be true to the detector and yet not be what people see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from davy.core.answers import NONE, split_cell
from davy.core.errors import UserError, nearest
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.spans import parse_spans
from davy.corpus.gold import ROW
from davy.corpus.post_source import GivenPosts, load_posts
from davy.files.data_hash import rows_hash
from davy.measure.intervals import Bootstrap
from davy.measure.rationales import WeighedText, marked_share, plausibility
from davy.scoring.explain import explain, word_weights
from davy.scoring.scorers import Models, load_scorers
from davy.text.words import find_words, marked_words

if TYPE_CHECKING:
    from davy.core import Metric
    from davy.core.scorer import Scorer

MARKS = "rationale.gold"
RANDOM = "random"
"""What words drawn by chance are called in tables."""


@dataclass(frozen=True, slots=True)
class ExplanationFigures:
    """How well each way of weighing words finds those that people marked. `metrics`: detector → its figures."""

    posts: int
    without_marks: int
    share: float
    """How much of a post people mark on average; so many words each way may choose."""
    metrics: dict[str, list[Metric]]
    data: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        figures = {name: [metric.to_dict() for metric in found] for name, found in self.metrics.items()}
        return {
            "posts": self.posts,
            "posts_without_marks": self.without_marks,
            "marked_share": self.share,
            "weights": figures,
            "data": self.data,
        }


def measure_explanations(
    posts: GivenPosts,
    models: Annotated[Models, Option("A detector to measure; again for more.", "--model -m", metavar="M")] = (),
    *,
    marks: Annotated[str, Option("Column of the words that people marked, such as 12-17|20-25.", metavar="C")] = MARKS,
    question: Annotated[
        str | None, Option("Explain this question; else what decides the verdict.", metavar="Q")
    ] = None,
    bootstrap: Annotated[
        Bootstrap | None, Options(Bootstrap, {"seed": "The seed of the resamples and of the random words."})
    ] = None,
    reporter: Reporter = SILENT,
) -> ExplanationFigures:
    """Return how far detectors' explanations agree with the words that people marked, given in column `marks`.

    `question` is what each detector is asked for; by default what decides its verdict. A post without a mark has no
    rationale to find and is left out.
    """
    if not models:
        raise UserError("Say whose explanations to measure: --model M (davy model list).")
    source = load_posts(posts)
    marked = _marked(source.frame, marks)
    scorers = load_scorers(models)
    kept = [(text, lang, places) for text, lang, places in marked if places]
    if not kept:
        raise UserError(f"No post has a mark in column {marks!r}, so there is nothing to compare with.")
    bootstrap, chance = bootstrap or Bootstrap(), np.random.default_rng((bootstrap or Bootstrap()).seed)
    weighed = {name: _weigh(scorer, kept, question, reporter) for name, scorer in scorers.items()}
    weighed[RANDOM] = [WeighedText(tuple(chance.random(len(find_words(text)))), places) for text, _, places in kept]
    share = marked_share(weighed[RANDOM])
    return ExplanationFigures(
        len(kept),
        len(marked) - len(kept),
        share,
        {name: plausibility(texts, share=share, bootstrap=bootstrap) for name, texts in weighed.items()},
        rows_hash(source.frame.select("text", marks)),
    )


def _marked(posts: pl.DataFrame, column: str) -> list[tuple[str, str | None, frozenset[int]]]:
    """Return each post that has an answer: its text, its language and the places of the words that people marked."""
    if column not in posts.columns:
        names = [name for name in posts.columns if name != ROW]
        raise UserError(
            f"There is no column {column!r} of marked words; the columns are {', '.join(names)}. "
            f"Name it with --marks.{nearest(column, names)}"
        )
    langs: Sequence[Any] = posts["lang"].to_list() if "lang" in posts.columns else [None] * len(posts)
    marked = []
    for row, (text, lang, cell) in enumerate(
        zip(posts["text"].to_list(), langs, posts[column].cast(pl.String).to_list(), strict=True), 1
    ):
        if cell is None or text is None:
            continue
        try:
            spans = parse_spans(() if cell == NONE else split_cell(cell))
        except ValueError as error:
            raise UserError(f"Row {row} of {column}: {error}. Write marked words as 12-17|20-25.") from None
        if spans and max(span.end for span in spans) > len(text):
            raise UserError(f"Row {row} of {column} marks more than the text, which has {len(text):,} characters.")
        marked.append((text, lang, frozenset(marked_words(text, spans))))
    return marked


def _weigh(
    scorer: Scorer, posts: Sequence[tuple[str, str | None, frozenset[int]]], question: str | None, reporter: Reporter
) -> list[WeighedText]:
    """Return the posts' words with their weights for yes, whatever the detector answered."""
    reporter.begin(f"Explaining with {scorer.name}", len(posts))
    weighed = []
    for text, lang, places in posts:
        explanation = explain(text, scorer, question=question, lang=lang)
        asked = next((it for it in scorer.questions if it.name == explanation.question), None)
        weighed.append(
            WeighedText(
                tuple(word_weights(explanation, against=asked is not None and explanation.label == asked.no)), places
            )
        )
        reporter.advance(1)
    reporter.end()
    return weighed
