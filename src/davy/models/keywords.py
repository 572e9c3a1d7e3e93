"""A word list as a detector: a post that holds one of the terms is a yes.

A file of terms in, a scorer out. Terms match whole words, whatever their case;
ä and ae, ß and ss are the same, and drawn-out letters ("sooo") match too.
Matching runs in polars: both sides are cut into tokens with single spaces
around them, so that finding a whole word is finding a piece of text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Scores
from davy.models.asked import Asked
from davy.models.baselines import content_hash

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

_SPELLINGS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "\ufe0f": "", "\ufe0e": "", "\u200b": "", "\u00ad": ""}
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")


@dataclass(frozen=True)
class Keywords:
    """Gives a post the weight of the heaviest term that it holds, 0 where it holds none."""

    terms: Mapping[str, float]
    question: Question
    name: str = "keywords"
    _folded: dict[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        folded: dict[str, float] = {}
        for term, key in zip(self.terms, fold(list(self.terms)), strict=True):
            if key.strip():
                folded[key] = max(self.terms[term], folded.get(key, 0.0))
        object.__setattr__(self, "_folded", folded)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The one yes/no question that the list answers."""
        return (self.question,)

    @property
    def version(self) -> str:
        """A hash of the question, the terms and their weights."""
        return content_hash(self.questions, self._folded)

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the weight of the heaviest term as the probability of yes."""
        import numpy as np

        yes = self._weights(posts["text"].fill_null("").to_list())
        block = np.zeros((len(posts), len(self.question.labels)))
        place = self.question.label_names.index(str(self.question.positive))
        block[:, 1 - place] = 1 - yes
        block[:, place] = yes
        return Scores(self.questions, {self.question.name: block})

    def _weights(self, texts: list[str]) -> Array:
        import numpy as np

        weights = self._found(fold(texts))
        # A drawn-out letter may stand for one letter or for two: both are tried where there is one.
        drawn = [i for i, text in enumerate(texts) if _DRAWN_OUT.search(text.lower())]
        for kept in (r"\1", r"\1\1"):
            short = [_DRAWN_OUT.sub(kept, texts[i].lower()) for i in drawn]
            if short:
                weights[drawn] = np.maximum(weights[drawn], self._found(fold(short)))
        return weights

    def _found(self, folded: list[str]) -> Array:
        import numpy as np
        import polars as pl

        weights = np.zeros(len(folded))
        texts = pl.Series(folded, dtype=pl.String)
        for weight in sorted(set(self._folded.values())):
            terms = [term for term, its in self._folded.items() if its == weight]
            hit = texts.to_frame("t").select(pl.col("t").str.contains_any(terms)).to_series().to_numpy()
            weights = np.where(hit, weight, weights)
        return weights


def keywords(asked: Asked) -> Keywords:
    """Return the scorer of a word list: it answers the first yes/no question of its scheme."""
    question = next((q for q in asked.questions() if q.positive is not None and len(q.labels) == 2), None)
    if question is None:
        raise UserError(f"Scheme {asked.scheme!r} has no yes/no question, so a word list can't answer it.")
    return Keywords(read_terms(asked.path()), question, asked.name)


def read_terms(path: Path) -> dict[str, float]:
    """Return the terms of a file with their weights: one a line, then perhaps a tab and a weight; # is a comment."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start}). Save the word list as UTF-8.") from None
    terms: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        term, tab, weight = line.strip().partition("\t")
        if not term or term.startswith("#"):
            continue
        try:
            terms[term] = float(weight) if tab else 1.0
        except ValueError:
            raise UserError(f"{path}, line {number}: the weight {weight!r} is not a number from 0 to 1.") from None
        if not 0 <= terms[term] <= 1:
            raise UserError(f"{path}, line {number}: the weight {weight} is not a number from 0 to 1.")
    if not terms:
        raise UserError(f"{path} holds no terms. Write one a line.")
    return terms


def fold(texts: list[str]) -> list[str]:
    """Return texts as tokens in one spelling, with one space before, between and after them."""
    import polars as pl

    spelt = (
        pl.col("t")
        .str.normalize("NFKC")
        .str.to_lowercase()
        .str.replace_many(list(_SPELLINGS), list(_SPELLINGS.values()))
        .str.replace_all(r"([^\p{L}\p{M}\p{N}])", " $1 ")
        .str.replace_all(r"\s+", " ")
        .str.strip_chars()
    )
    frame = pl.DataFrame({"t": texts}, schema={"t": pl.String})
    return frame.select(pl.concat_str([pl.lit(" "), spelt, pl.lit(" ")])).to_series().to_list()
