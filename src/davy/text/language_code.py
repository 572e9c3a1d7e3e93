"""Check a language that somebody names as a default: a code in, the same code in small letters out."""

from __future__ import annotations

import re

from davy.core.errors import UserError

_CODE = re.compile(r"[a-z]{2,3}")


def check_language(given: str | None) -> str | None:
    """Return a language's code; anything else than two or three letters is refused."""
    if given is None:
        return None
    code = given.strip().lower().partition("-")[0]
    if not _CODE.fullmatch(code):
        raise UserError(f"{given[:40]!r} is no language. Give its code of two or three letters, such as de.")
    return code
