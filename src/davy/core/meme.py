"""Kinds of meme, and the rule that gives a meme its kind from what could be flipped.

For each side of a hateful meme, its picture and its text, people look for the smallest replacement that makes it
harmless. "Nothing can flip it" says that the other side is hateful alone; "no replacement found" says nothing about
the meme, so its kind stays undetermined and it may only be trained on.
"""

from dataclasses import dataclass

MULTIMODAL_HATE = "multimodal hate"
UNIMODAL_HATE = "unimodal hate"
BENIGN_IMAGE = "benign image"
BENIGN_TEXT = "benign text"
RANDOM_NOT_HATEFUL = "random non-hateful"
UNDETERMINED = "undetermined"

MEME_KINDS: tuple[str, ...] = (
    MULTIMODAL_HATE,
    UNIMODAL_HATE,
    BENIGN_IMAGE,
    BENIGN_TEXT,
    RANDOM_NOT_HATEFUL,
    UNDETERMINED,
)
"""As the column `kind` has them. The plan `memes` fills dev and test from the first five; the last is for train."""

SIDES: tuple[str, ...] = ("image", "text")
"""What a confounder replaces."""

FLIPPED = "flipped"
NOTHING_FLIPS = "nothing can flip it"
NOT_FOUND = "no replacement found"
FLIP_ANSWERS: tuple[str, ...] = (FLIPPED, NOTHING_FLIPS, NOT_FOUND)
"""What people answer for a side of a hateful meme."""


def hateful_kind(image: str | None, text: str | None) -> str:
    """Return the kind of a hateful meme from the answer for each side; None where a side has no answer that holds.

    A side is `flipped` only once its confounder is settled as not hateful; until then pass None.
    """
    for answer in (image, text):
        if answer is not None and answer not in FLIP_ANSWERS:
            raise ValueError(f"a side of a meme is {', '.join(FLIP_ANSWERS)}, not {answer!r}")
    if NOTHING_FLIPS in (image, text):
        return UNIMODAL_HATE
    return MULTIMODAL_HATE if image == text == FLIPPED else UNDETERMINED


def meme_kind(hateful: bool, *, side: str | None = None, image: str | None = None, text: str | None = None) -> str:
    """Return the kind of a settled meme. `side` is what a confounder replaced, `image` and `text` what flips it.

    A confounder that people still call hateful has flipped nothing, so its kind is undetermined.
    """
    if side is not None and side not in SIDES:
        raise ValueError(f"a confounder replaces {' or '.join(SIDES)}, not {side!r}")
    if side is not None:
        return UNDETERMINED if hateful else BENIGN_IMAGE if side == "image" else BENIGN_TEXT
    return hateful_kind(image, text) if hateful else RANDOM_NOT_HATEFUL


# ---- what comes before: filtering source memes -----------------------------------------------------

VIOLATIONS: tuple[str, ...] = (
    "self-injury or suicide",
    "child exploitation or nudity",
    "calls to violence",
    "adult nudity or sex",
    "invitation to terrorism",
    "human trafficking",
)
"""What a source meme must not contain."""

PASSED = "passed"
DISCARDS: tuple[str, ...] = ("language", "violating", "slur", "no replacement")
"""Why a source meme is discarded, in the order in which it is asked; slurs are unimodal by definition."""


@dataclass(frozen=True, slots=True)
class FilterAnswers:
    """What a person says of a source meme. `replacements` are the keys of pictures that may replace its own."""

    language: bool
    """Whether its text is in a language of the project."""
    violations: tuple[str, ...] = ()
    slurs: bool = False
    replacements: tuple[str, ...] = ()
    preserves: bool = False
    """Whether the replacements, under the meme's text, preserve its meaning and intent."""

    def __post_init__(self) -> None:
        for violation in self.violations:
            if violation not in VIOLATIONS:
                raise ValueError(f"a meme violates by {', '.join(VIOLATIONS)}, not by {violation!r}")

    @property
    def result(self) -> str:
        """`PASSED`, or why it is discarded: one of `DISCARDS`."""
        found = (not self.language, bool(self.violations), self.slurs, not (self.replacements and self.preserves))
        return next((why for why, holds in zip(DISCARDS, found, strict=True) if holds), PASSED)
