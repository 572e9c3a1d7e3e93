"""Ask a scorer about texts: as they are where it reads them so, else in a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from davy.core.scorer import Scorer, Scores


class TextScorer(Scorer, Protocol):
    """A scorer that reads texts and their languages, and so needs no frame around a single one."""

    def score_texts(self, texts: Sequence[str], langs: Sequence[str | None]) -> Scores: ...


def score_texts(scorer: Scorer, texts: Sequence[str], langs: Sequence[str | None]) -> Scores:
    """Return the scores of some texts, put into a frame where the scorer needs one."""
    # Not isinstance: of a protocol it reads every property, and `abilities` asks the disk.
    if callable(getattr(scorer, "score_texts", None)):
        return cast(TextScorer, scorer).score_texts(texts, langs)
    import polars as pl

    return scorer.score(pl.DataFrame({"text": texts, "lang": langs}, schema={"text": pl.String, "lang": pl.String}))
