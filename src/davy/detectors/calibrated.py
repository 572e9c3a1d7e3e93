"""A detector with temperatures and thresholds that were set on posts with settled answers.

A scorer and numbers for some of its questions in, a scorer out. A temperature divides the logits: below one half stays
below one half, but 0.9 comes to mean nine in ten. A threshold says from where on a yes/no question is a yes. Saved, the
numbers are in the manifest, and `detectors.load` puts them back before the engines that don't apply them.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scorer, Scores
from davy.detectors import folder as folders
from davy.detectors.baselines import content_hash
from davy.detectors.prevalence import Prevalence, moved, shifts_to
from davy.detectors.training_text_index import LearntTexts, seen_by_any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]


class WrappingScorer:
    """Passes on what `scorer` is called and answers; a subclass changes what it changes, `version` with it."""

    scorer: Scorer

    @property
    def name(self) -> str:
        """The scorer's name."""
        return self.scorer.name

    @property
    def version(self) -> str:
        """The scorer's version."""
        return self.scorer.version

    @property
    def questions(self) -> tuple[Question, ...]:
        """The scorer's questions."""
        return self.scorer.questions


SHARPEST = 4.0
"""Logits are multiplied or divided by so much at most: few posts that are all right would ask for certainty."""
SELF_CALIBRATED: tuple[str, ...] = ("onnx", "transformer", "meme", "meme-onnx", "meme-neighbours")
"""The engines that apply their manifest's temperatures and thresholds themselves."""
SELF_SHIFTED = "onnx"
"""The one of them that applies its shifts, too, before its answers are decoded together."""


@dataclass(frozen=True)
class CalibratedScorer(WrappingScorer):
    """Asks `scorer`, tempers its probabilities and sets thresholds, each by question."""

    scorer: Scorer
    temperatures: Mapping[str, float]
    thresholds: Mapping[str, float]
    folder: Path | None = None
    """The folder whose manifest has these numbers; None where nothing was saved yet."""
    set_on: LearntTexts | None = None
    """The texts that the numbers were set on, where they are new."""
    shifts: Mapping[str, float] = field(default_factory=dict)
    """What is added to the log odds of yes after the temperature."""
    prevalence: Mapping[str, float] = field(default_factory=dict)
    """The share of yes at which the probabilities hold."""

    @property
    def version(self) -> str:
        """The folder's, else a hash of the scorer's and of the numbers."""
        if self.folder is not None:
            return self.scorer.version
        numbers = {"temperatures": dict(self.temperatures), "thresholds": dict(self.thresholds)}
        numbers |= {"shifts": dict(self.shifts)} if self.shifts else {}
        return content_hash((), {"scorer": self.scorer.version, **numbers})

    @property
    def abilities(self) -> Abilities:
        """The scorer's, less its screen, whose numbers were set for other probabilities."""
        inner = self.scorer.abilities
        calibrated = seen_by_any((inner.calibrated, self.set_on))
        own = replace(inner, heads_apart=None, recalibrated=None)
        moves = self._at_prevalence if self.prevalence else None
        return replace(own, cascade=None, folder=self.folder, calibrated=calibrated, at_prevalence=moves)

    def _at_prevalence(self, prevalence: Prevalence) -> CalibratedScorer:
        more = shifts_to(prevalence, self.prevalence)
        shifts = {**self.shifts, **{name: self.shifts.get(name, 0.0) + value for name, value in more.items()}}
        return replace(self, shifts=shifts, folder=None)

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the scorer's probabilities, tempered, with the thresholds."""
        if recalibrated := self.scorer.abilities.recalibrated:
            return recalibrated(self.temperatures, self.thresholds, self.shifts).score(posts)
        scores = self.scorer.score(posts)
        blocks = {
            question.name: temper(
                scores.probabilities[question.name], self.temperatures.get(question.name, 1.0), question
            )
            for question in scores.questions
        }
        for name, shift in self.shifts.items():
            question = scores.question(name)
            blocks[name] = moved(blocks[name], shift, question.label_names.index(str(question.positive)))
        return replace(scores, probabilities=blocks, thresholds={**scores.thresholds, **self.thresholds})

    def save(self, folder: Path) -> None:
        """Write the scorer's folder with the numbers in its manifest, and which posts they were set on."""
        source = self.folder or self.scorer.abilities.folder
        if source is not None:
            shutil.copytree(source, folder, dirs_exist_ok=True)
        elif hasattr(self.scorer, "save"):
            self.scorer.save(folder)
        else:
            raise UserError(f"{self.name} is no model of a folder, so its calibration can't be saved.")
        if self.folder is None:
            self.set_numbers(folder)

    def set_numbers(self, folder: Path) -> None:
        """Put the numbers into the manifest of the scorer's own folder."""
        manifest = folders.read(folder)
        if self.set_on is not None:
            self.set_on.save_calibrated(folder)
        numbers = manifest.recalibrated(self.temperatures, self.thresholds, self.shifts)
        folders.write(folder, replace(numbers, prevalence={**manifest.prevalence, **self.prevalence}))


@dataclass(frozen=True)
class ThresholdScorer(WrappingScorer):
    """Asks `scorer` and decides by other thresholds. It keeps the name and version: where it is registered, those
    stand for the thresholds too."""

    scorer: Scorer
    thresholds: Mapping[str, float]

    @property
    def abilities(self) -> Abilities:
        """The scorer's, less its screen, which was set for its own thresholds."""
        inner = self.scorer.abilities
        alone, seeing = inner.one_by_one, inner.with_images
        return replace(
            inner,
            cascade=None,
            one_by_one=None if alone is None else lambda cores: replace(self, scorer=alone(cores)),
            with_images=None if seeing is None else lambda images: replace(self, scorer=seeing(images)),
            heads_apart=None,
            recalibrated=None,
        )

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the scorer's probabilities with the thresholds."""
        scores = self.scorer.score(posts)
        return replace(scores, thresholds={**scores.thresholds, **self.thresholds})


def temper(block: Array, temperature: float, question: Question) -> Array:
    """Return probabilities (posts × labels) after their logits were divided by a temperature."""
    import numpy as np

    if temperature == 1.0:
        return block
    clipped = np.clip(block.astype(np.float64), 1e-12, 1 - 1e-12)
    if question.multilabel:
        return np.asarray(1 / (1 + np.exp(-(np.log(clipped) - np.log1p(-clipped)) / temperature)))
    powers = np.exp((np.log(clipped) - np.log(clipped).max(axis=1, keepdims=True)) / temperature)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was set, and each question's figures before and after: `before["hate"]["macro-F1"]`."""

    temperatures: Mapping[str, float]
    thresholds: Mapping[str, float]
    before: Mapping[str, Mapping[str, float]]
    after: Mapping[str, Mapping[str, float]]
    posts: Mapping[str, int]
    """How many posts have a settled answer to each question."""
    one_label: tuple[str, ...] = ()
    """The yes/no questions that all posts answer alike."""
    learnt: int = 0
    """How many of the posts the detector learnt from, as far as it says."""
    of: int = 0
    """How many posts there were, with answers or without."""

    @property
    def frame(self) -> pl.DataFrame:
        """One row per question and figure, the temperature and the threshold among them."""
        import polars as pl

        rows = [
            {"question": name, "figure": figure, "before": figures[figure], "after": self.after[name][figure]}
            for name, figures in self.before.items()
            for figure in figures
        ]
        return pl.DataFrame(rows)

    @property
    def warnings(self) -> list[str]:
        """A sentence for posts that were learnt, thresholds that could not be set, and temperatures at a bound."""
        said = []
        if self.learnt:
            said.append(
                f"the detector learnt from {self.learnt:,} of these {self.of:,} posts and is surer of them than of "
                "others, so these numbers don't fit others. Calibrate on posts that it has not seen."
            )
        for name in self.one_label:
            posts = f"all {self.posts[name]:,} posts have one label"
            said.append(f"{name}: {posts}, so its threshold stays. Give posts of both.")
        for name, value in self.temperatures.items():
            if abs(abs(math.log(value)) - math.log(SHARPEST)) < 1e-6:
                right = "nearly always" if value < 1 else "no more than by chance"
                said.append(
                    f"{name}: the temperature stopped at its bound, {value:.3g}. On these {self.posts[name]:,} posts "
                    f"the detector is {right} right; use more or other posts."
                )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**asdict(self), "warnings": self.warnings}

    def __str__(self) -> str:
        lines = []
        for name, figures in self.before.items():
            moves = ", ".join(f"{f} {value:.3f} → {self.after[name][f]:.3f}" for f, value in figures.items())
            lines.append(f"{name}: {moves} ({self.posts[name]:,} posts)")
        return "\n".join([*lines, *self.warnings])
