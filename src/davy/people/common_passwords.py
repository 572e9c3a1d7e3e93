"""Passwords that guessers try first.

A password in, whether it is one of them out: a common one, or a common word with digits and marks around it. The list
(30,000 from leaks, as zxcvbn counts them, MIT) ships as short hashes: some of its words hurt.
`scripts/list_passwords.py` makes it.
"""

import hashlib
import re
import unicodedata
from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("common_passwords.bin")
HASH_BYTES = 4
_LETTERS = str.maketrans("013457@$!", "oleastasi")
_AROUND = re.compile(r"^[\W\d_]+|[\W\d_]+$")


def is_common(password: str) -> bool:
    """Whether guessers try this, or something that differs by digits and marks around it, among the first."""
    return any(short_hash(form) in _hashes() for form in forms(password))


def forms(password: str) -> set[str]:
    """Return the spellings under which a password is looked up; `P4ssword!!` is `password`."""
    plain = unicodedata.normalize("NFKC", password).casefold()
    letters = plain.translate(_LETTERS)
    return {plain, letters, *(core for core in (_AROUND.sub("", plain), _AROUND.sub("", letters)) if len(core) > 4)}


def short_hash(form: str) -> bytes:
    """Return the start of a hash: enough to recognise 30,000 words, too little to be one of another word by chance."""
    return hashlib.blake2b(form.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


@cache
def _hashes() -> frozenset[bytes]:
    data = LIST.read_bytes()
    return frozenset(data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES))
