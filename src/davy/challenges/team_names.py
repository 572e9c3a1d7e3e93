"""What a team's name looks like: two names that could be taken for each other have the same key."""

from __future__ import annotations

import unicodedata

from davy.text.normalise import fold

_DIGITS = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "3": "e"})


def name_key(name: str) -> str:
    """Return the key of a name: case, accents, look-alikes of other scripts, blanks and signs make no difference."""
    folded = fold(unicodedata.normalize("NFKC", name).casefold()).translate(_DIGITS)
    letters = "".join(char for char in folded if char.isalnum()).replace("rn", "m").replace("vv", "w")
    return letters or unicodedata.normalize("NFKC", name).casefold().replace(" ", "")
