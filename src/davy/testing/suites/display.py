"""Cases as people see them, and as files: masked for eyes, in clear for detectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from davy.testing.suite import Case, Suite

if TYPE_CHECKING:
    import polars as pl

    from davy.text.lexicons.read import Lexicon

RELEASED: dict[str, str] = {
    "original": "orig",
    "identity": "identity_perturb",
    "polarity": "polarity_perturb",
    "no emoji": "no_emoji_perturb",
}
"""What HatemojiCheck's file calls the sets."""


def lexicon(suite: Suite) -> Lexicon:
    """Return the words to mask in a suite's cases: the masking lexicon, and what the suite's own word lists hold."""
    return _lexicon(suite.hurtful)


@lru_cache(maxsize=8)  # what is compiled from a lexicon is kept beside it, so one suite must have one lexicon
def _lexicon(hurtful: tuple[str, ...]) -> Lexicon:
    from davy.text.lexicons.read import Lexicon, LexiconEntry, load

    masking = load("masking")
    if not hurtful:
        return masking
    return Lexicon("masking and the suite's own", (*masking.entries, *(LexiconEntry(word, "slur") for word in hurtful)))


def masker(suite: Suite) -> Callable[[str], str]:
    """Return a function that masks a case's text."""
    from davy.text.mask import mask

    words = lexicon(suite)
    return lambda text: mask(text, words)


def table(suite: Suite) -> pl.DataFrame:
    """Return the cases in HatemojiCheck's columns and with its names, texts in clear."""
    import polars as pl

    yes = suite.labels[0]
    return pl.DataFrame(
        {
            "case_id": [case.id for case in suite.cases],
            "templ_id": [_template_id(case) for case in suite.cases],
            "test_group_id": [case.template for case in suite.cases],
            "text": [case.text for case in suite.cases],
            "target": [case.target or "none" for case in suite.cases],
            "functionality": [case.functionality for case in suite.cases],
            "set": [RELEASED.get(case.set, case.set) for case in suite.cases],
            "label_gold": [_gold(case, yes) for case in suite.cases],
            "unrealistic_flags": [0] * len(suite.cases),
            "included_in_test_suite": [True] * len(suite.cases),
        },
        schema_overrides={"label_gold": pl.Int64},
    )


def _template_id(case: Case) -> str | None:
    """Return the template with the number of the set behind it, 0 for the original, as HatemojiCheck writes it."""
    if case.template is None:
        return None
    sets = list(RELEASED)
    return f"{case.template}.{sets.index(case.set) if case.set in sets else case.set}"


def _gold(case: Case, yes: str) -> int | None:
    return int(case.expected == yes) if case.test == "MFT" else None
