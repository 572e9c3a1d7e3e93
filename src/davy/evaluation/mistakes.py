"""Which posts a detector got wrong, the surest answers first.

One question's settled answers and a detector's predictions in; mistakes out, each with how sure the detector was. What
it got wrong with most confidence says most: a label that people got wrong, or a habit that the detector learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from davy.core.answers import SEPARATOR
from davy.corpus.gold import Gold
from davy.evaluation.predictions import Predictions
from davy.report import Column, Table


@dataclass(frozen=True, slots=True)
class Mistake:
    """One post with a wrong answer, or none. `confidence` is the probability of the answer that was given."""

    row: int
    gold: str
    predicted: str | None
    confidence: float | None


def find_mistakes(gold: Gold, predictions: Predictions) -> list[Mistake]:
    """Return the posts whose labels are not the settled ones, the most confident first, those without answer last."""
    found = []
    answers = predictions.labels[gold.question.name]
    for row, labels in zip(gold.rows, gold.labels, strict=True):
        answer = answers[row]
        if answer is None or set(answer) != set(labels):
            predicted = None if answer is None else SEPARATOR.join(answer)
            sure = None if answer is None else predictions.confidence(gold.question, row)
            found.append(Mistake(row, SEPARATOR.join(labels), predicted, sure))
    return sorted(found, key=lambda one: (one.predicted is None, -(one.confidence or 0.0)))


def mistake_table(
    title: str, mistakes: Sequence[Mistake], ids: Sequence[str], texts: Sequence[str | None], *, most: int
) -> Table:
    """Return the first mistakes as a table whose texts are masked wherever people read them."""
    rows = [
        (one.gold, one.predicted, one.confidence, texts[one.row], ids[one.row])
        for one in list(mistakes)[:most]
    ]  # fmt: skip
    columns = [
        Column("gold"),
        Column("predicted"),
        Column("confidence", "number"),
        Column("text", "text"),
        Column("id"),
    ]
    more = f"{len(mistakes):,} errors; the {len(rows)} surest are listed" if len(mistakes) > len(rows) else ""
    return Table.of(columns, rows, title=title, note=more)
