"""The detectors that an action works with, and one scoring pass over a frame.

Names as `--model` takes them, or scorers under a name of the caller's, in; loaded
scorers out. All are loaded before the first one reads a post, so that a wrong name
is an error at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import Question
from davy.core.scorer import Scorer
from davy.corpus.gold import answer_columns, with_gold
from davy.corpus.post_source import load_posts
from davy.detectors.load import load
from davy.image.picture_names import pictures_in
from davy.scoring.batch import ScoreSettings, added_columns, score_frames

Models = Sequence[str] | Mapping[str, str | Scorer]
"""Detectors by name; in a mapping the key is what reports call each."""


@dataclass(frozen=True, slots=True)
class Learning:
    """What detectors that learn from a file (`tfidf:FILE`) learn: `gold` columns, and only these `questions`."""

    gold: Sequence[str] = ()
    questions: Sequence[str] = ()
    label_none: bool = False

    def read(self, path: Path, scheme: str | None) -> tuple[tuple[Question, ...], pl.DataFrame]:
        """Return the questions that a file of posts has settled answers to, and the posts."""
        posts = load_posts(str(path), unique_ids=False).posts
        entries = [entry for entry in self.gold if entry.rpartition("=")[2] in posts.columns]
        rules, columns = answer_columns(
            posts, entries, scheme, asked=self.questions, file=str(path), label_none=self.label_none
        )
        asked = [q for q in rules.questions if q.name in columns and (not self.questions or q.name in self.questions)]
        return tuple(asked) or rules.questions, with_gold(posts, columns)


def load_scorer(model: str | Scorer, *, images: Path | None = None, learning: Learning | None = None) -> Scorer:
    """Return the scorer that a name stands for; a scorer is returned as it is. `images` is the folder of pictures."""
    pictures = None if images is None else pictures_in(images)
    return load(model, read=(learning or Learning()).read, images=pictures) if isinstance(model, str) else model


def load_scorers(models: Models, learning: Learning | None = None, *, images: Path | None = None) -> dict[str, Scorer]:
    """Return every detector under its name; one that is named twice is an error. `images` is the folder of pictures."""
    check_names(list(models))
    named = models if isinstance(models, Mapping) else {name: name for name in models}
    return {name: load_scorer(model, images=images, learning=learning) for name, model in named.items()}


def check_names(names: Sequence[str]) -> None:
    """Raise where a detector is named twice."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{twice!r} is named twice. Name each model once.")


def score_posts(posts: pl.DataFrame, scorer: Scorer, reporter: Reporter = SILENT, *, task: str = "") -> pl.DataFrame:
    """Return a detector's answers to the posts, in their order: the columns that scoring adds."""
    columns = posts.select(name for name in ("id", "text", "lang", "image") if name in posts.columns)
    reporter.begin(task or f"Scoring with {scorer.name}", len(posts))
    frames = list(score_frames([columns], scorer, ScoreSettings(replace=True), progress=reporter.advance))
    reporter.end()
    return pl.concat(frames).select(added_columns(scorer))
