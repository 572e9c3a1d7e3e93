"""What the scripts that measure the shipped detectors share: cached scores, pictures light and dark, tables in a page.

Texts in, what a detector says about them out, kept in a folder by the detector's version and the texts' hash, since
the large detector reads tens of posts a second.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from davy.core import Metric
from davy.core.scorer import Scorer
from davy.detectors.embedded import weights_folder
from davy.detectors.load import open_folder
from davy.report.plots import Plot

LANGUAGES = {"embedded-en": "en", "embedded-en-large": "en", "embedded-de": "de"}
_OPEN: dict[str, Scorer] = {}


@dataclass(frozen=True)
class DetectorScores:
    """A detector's probabilities for each question (texts × labels), and which texts it says yes to."""

    detector: str
    version: str
    probabilities: dict[str, np.ndarray]
    flagged: dict[str, np.ndarray]

    def yes(self, question: str) -> np.ndarray:
        """Return the probability of yes."""
        return self.probabilities[question][:, 1].astype(np.float64)


def scorer_of(name: str) -> Scorer:
    """Return a shipped detector, opened once; it reads every text whole, without a cascade."""
    if name not in _OPEN:
        _OPEN[name] = open_folder(weights_folder(name))
    return _OPEN[name]


def score_texts(detector: str | Scorer, texts: Sequence[str], cache: Path, *, most: int = 512) -> DetectorScores:
    """Return what a detector says about texts, from the cache where it is there."""
    scorer = scorer_of(detector) if isinstance(detector, str) else detector
    name = scorer.name
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    path = cache / f"{name}-{scorer.version}-{digest}.npz"
    if not path.is_file():
        parts = []
        for start in range(0, len(texts), most):
            parts.append(_scored(scorer, list(texts[start : start + most])))
            print(f"{name}: {min(start + most, len(texts)):,} of {len(texts):,} texts", file=sys.stderr, flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        np.savez(path, **{key: np.concatenate([part[key] for part in parts]) for key in parts[0]})
    found = dict(np.load(path))
    split = {kind: {k[2:]: v for k, v in found.items() if k.startswith(kind)} for kind in ("p.", "f.")}
    return DetectorScores(name, scorer.version, split["p."], split["f."])


def _scored(scorer: Scorer, texts: list[str]) -> dict[str, np.ndarray]:
    scores = scorer.score(pl.DataFrame({"text": texts}, schema={"text": pl.String}))
    columns: dict[str, Any] = scores.columns()
    found = {f"p.{name}": block for name, block in scores.probabilities.items()}
    for question in scorer.questions:
        if question.positive is not None:
            answers = columns[f"{question.name}.label"]
            found[f"f.{question.name}"] = np.array([answer == question.positive for answer in answers])
    return found


def write_plot(plot: Plot, folder: Path, name: str) -> None:
    """Write a plot for light and for dark pages."""
    plot.write(folder / f"{name}.svg")
    plot.write(folder / f"{name}-dark.svg", theme="dark")


def picture(name: str, words: str) -> str:
    """Return the Markdown of a picture that has a dark twin."""
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="../pictures/{name}-dark.svg">\n'
        f'<img alt="{words}" src="../pictures/{name}.svg"></picture>'
    )


def shown(metric: Metric | None, digits: int = 3) -> str:
    """Return a figure with its interval, as the tables of the docs have it."""
    if metric is None or metric.value is None:
        return "–"
    if metric.low is None or metric.high is None:
        return f"{metric.value:.{digits}f}"
    return f"{metric.value:.{digits}f} [{metric.low:.{digits}f}, {metric.high:.{digits}f}]"


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def write_block(page: Path, name: str, text: str) -> None:
    """Put text between a page's `<!-- name -->` and `<!-- /name -->`; what was there goes."""
    before = page.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.S)
    if not pattern.search(before):
        raise SystemExit(f"{page} has no place for {name!r}: add <!-- {name} --> and <!-- /{name} --> to it")
    page.write_text(pattern.sub(lambda m: f"{m[1]}{text}\n{m[2]}", before), encoding="utf-8")
