"""Pictures of how scores change: the share above the threshold and of each language by day, and a threshold's curve.

Counts in, series for `charts.line_chart` or coordinates from 0 to 100 out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from davy.measure.intervals import wilson
from davy.moderation.store.decisions import BUCKETS, ScoreCount

MOST_LANGUAGES = 5


@dataclass(frozen=True, slots=True)
class CurvePicture:
    """Precision and recall over the threshold: two paths, and where the threshold in use stands."""

    precision: str
    recall: str
    mark: float
    points: tuple[tuple[float, float, float], ...]
    """A few (threshold, precision, recall) for the table below."""


def flag_series(counts: Sequence[ScoreCount], thresholds: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return day by day the share of posts at or above each question's threshold, as buckets tell it."""
    sums: dict[str, dict[str, list[int]]] = {}
    for count in counts:
        cut = round(thresholds.get(count.question, 0.5) * BUCKETS)
        cell = sums.setdefault(count.day, {}).setdefault(count.question, [0, 0])
        cell[0] += count.n if count.bucket >= cut else 0
        cell[1] += count.n
    return _series(sums)


def language_series(counts: Sequence[ScoreCount]) -> list[dict[str, Any]]:
    """Return day by day the share of each of the most frequent languages."""
    if not counts:
        return []
    # Each post is counted once a question, so one question is enough: the one most posts were asked.
    by_question: dict[str, int] = {}
    for count in counts:
        by_question[count.question] = by_question.get(count.question, 0) + count.n
    question = max(by_question, key=lambda name: by_question[name])
    mine = [count for count in counts if count.question == question]
    by_lang: dict[str, int] = {}
    days: dict[str, int] = {}
    for count in mine:
        by_lang[count.lang] = by_lang.get(count.lang, 0) + count.n
        days[count.day] = days.get(count.day, 0) + count.n
    frequent = sorted(by_lang, key=lambda lang: -by_lang[lang])[:MOST_LANGUAGES]
    sums = {day: {lang or "?": [0, n] for lang in frequent} for day, n in days.items()}
    for count in mine:
        if count.lang in frequent:
            sums[count.day][count.lang or "?"][0] += count.n
    return _series(sums)


def curve_picture(basis: Mapping[str, Any], threshold: float) -> CurvePicture:
    """Return the picture of a fitted threshold's curve."""
    points = [(float(a), float(b), float(c)) for a, b, c in basis["curve"]]
    few = [points[round(i * (len(points) - 1) / 9)] for i in range(10)] if len(points) > 10 else points
    return CurvePicture(
        _path([(x, precision) for x, precision, _ in points]),
        _path([(x, recall) for x, _, recall in points]),
        round(threshold * 100, 2),
        tuple(few),
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{round(x * 100, 2)} {round(100 - y * 100, 2)}" for x, y in points)


def _series(sums: Mapping[str, Mapping[str, Sequence[int]]]) -> list[dict[str, Any]]:
    series = []
    for day in sorted(sums):
        figures = {}
        for name, (part, n) in sums[day].items():
            low, high = wilson(part, n)
            figures[name] = {"share": [part / n, low, high, n]}
        series.append({"at": f"{day}T00:00:00+00:00", "questions": figures})
    return series
