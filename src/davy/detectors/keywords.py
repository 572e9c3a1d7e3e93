"""A word list as a detector: a post that holds one of the terms is a yes.

A lexicon in, a scorer out. Terms match whole words, whatever their case;
ä and ae, ß and ss are the same, and drawn-out letters ("sooo") match too.
Matching runs in polars: both sides are cut into tokens with single spaces
around them, so that finding a whole word is finding a piece of text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scores
from davy.detectors.baselines import content_hash
from davy.detectors.model_name import ModelName
from davy.text.lexicons.read import Lexicon, load
from davy.text.words import inflected_forms

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

_SPELLINGS = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "\ufe0f": "", "\ufe0e": "", "\u200b": "", "\u00ad": ""}
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")


class Keywords:
    """Gives a post the weight of the heaviest term that it holds, 0 where it holds none."""

    abilities = Abilities()

    def __init__(self, lexicon: Lexicon, question: Question, name: str = "keywords") -> None:
        self.name = name
        self.question = question
        self._patterns = _patterns(lexicon)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The one yes/no question that the list answers."""
        return (self.question,)

    @property
    def version(self) -> str:
        """A hash of the question, the terms and their weights."""
        return content_hash(self.questions, self._patterns)

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
        for weight in sorted(set(self._patterns.values())):
            terms = [term for term, its in self._patterns.items() if its == weight]
            hit = texts.to_frame("t").select(pl.col("t").str.contains_any(terms)).to_series().to_numpy()
            weights = np.where(hit, weight, weights)
        return weights


def keywords(asked: ModelName) -> Keywords:
    """Return the scorer of a word list, a file or a shipped one, for the first yes/no question of its scheme."""
    question = next((q for q in asked.questions() if q.positive is not None and len(q.labels) == 2), None)
    if question is None:
        raise UserError(f"Scheme {asked.scheme!r} has no yes/no question, so a word list can't answer it.")
    if not asked.argument:
        raise UserError("keywords needs a word list: keywords:FILE, one term a line.")
    return Keywords(load(asked.argument), question, asked.name)


def _patterns(lexicon: Lexicon) -> dict[str, float]:
    """Return each spelling of each term as it stands in a folded text, with its weight."""
    entries = [entry for entry in lexicon if entry.kind != "harmless"]
    heavy = next((entry for entry in entries if not 0 <= entry.weight <= 1), None)
    if heavy is not None:
        raise UserError(f"Lexicon {lexicon.name!r} has a weight of {heavy.weight}; a detector needs 0 to 1.")
    spelt = [(entry, spelling) for entry in entries for spelling in inflected_forms(entry)]
    patterns: dict[str, float] = {}
    for (entry, _), folded in zip(spelt, fold([spelling for _, spelling in spelt]), strict=True):
        if core := folded.strip():
            before, after = entry.mode in ("word", "start"), entry.mode in ("word", "end")
            pattern = f"{' ' * before}{core}{' ' * after}"
            patterns[pattern] = max(entry.weight, patterns.get(pattern, 0.0))
    return patterns


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
