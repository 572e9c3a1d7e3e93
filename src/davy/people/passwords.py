"""Passwords: hashed with argon2id, checked slowly on purpose, and refused if guessers try them first.

A hash or a check takes about a tenth of a second: keep both off the event loop and outside of write transactions.
Checking against no hash takes as long, so that an answer's time does not tell whether a login exists. One takes 64 MB,
so only a few run at once. The list of common passwords (30,000 from leaks, as zxcvbn counts them, MIT) ships as short
hashes, since some of its words hurt; `scripts/list_passwords.py` makes it.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from davy.core.errors import UserError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

COMMON_PASSWORDS = Path(__file__).with_name("common_passwords.bin")
HASH_BYTES = 4
_LETTERS = str.maketrans("013457@$!", "oleastasi")
_AROUND = re.compile(r"^[\W\d_]+|[\W\d_]+$")


def is_common(password: str) -> bool:
    """Whether guessers try this, or something that differs by digits and marks around it, among the first."""
    return any(short_hash(form) in _hashes() for form in spellings(password))


def spellings(password: str) -> set[str]:
    """Return the spellings under which a password is looked up; `P4ssword!!` is `password`."""
    plain = unicodedata.normalize("NFKC", password).casefold()
    letters = plain.translate(_LETTERS)
    return {plain, letters, *(core for core in (_AROUND.sub("", plain), _AROUND.sub("", letters)) if len(core) > 4)}


def short_hash(form: str) -> bytes:
    """Return the start of a hash: enough to recognise 30,000 words, too little to be one of another word by chance."""
    return hashlib.blake2b(form.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


@cache
def _hashes() -> frozenset[bytes]:
    data = COMMON_PASSWORDS.read_bytes()
    return frozenset(data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES))


class WeakPassword(UserError):
    """A password that is refused; pages say why in their reader's language, by `key` and `values`."""

    def __init__(self, key: str, message: str, **values: object) -> None:
        super().__init__(message)
        self.key, self.values = key, values


SHORTEST = 10
LONGEST = 1000
_AT_ONCE = threading.BoundedSemaphore(4)


def hash_password(password: str, *, login: str = "") -> str:
    """Return what is stored of a new password; one that is too short, too long or easily guessed is refused."""
    if len(password) < SHORTEST:
        message = f"The password has {len(password)} characters. Use at least {SHORTEST}."
        raise WeakPassword("password_short", message, got=len(password), least=SHORTEST)
    if len(password) > LONGEST:
        raise UserError(f"The password has {len(password)} characters. Use at most {LONGEST}.")
    if len(set(password)) < 4:
        raise WeakPassword("password_repeats", "The password repeats a few characters. Use more different ones.")
    name = login.partition("@")[0].casefold()
    if is_common(password) or (len(name) > 3 and len(password.casefold().replace(name, "")) < SHORTEST / 2):
        message = "The password is one that is guessed first. Use a few words that don't belong together."
        raise WeakPassword("password_common", message)
    return rehash_password(password)


def rehash_password(password: str) -> str:
    """Return what is stored of a password that was right just now, whatever rules have come since."""
    with _AT_ONCE:
        return _hasher().hash(_bytes(password))


def check_password(password: str, password_hash: str | None) -> bool:
    """Whether the password belongs to the hash; always False, and as slow, where there is no hash."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        known_hash = password_hash or _decoy()
        with _AT_ONCE:
            right = _hasher().verify(known_hash, _bytes(password[: LONGEST + 1]))
    except (VerificationError, InvalidHashError):
        return False
    return right and password_hash is not None


def needs_rehash(password_hash: str) -> bool:
    """Whether the hash was made with older settings than today's."""
    return _hasher().check_needs_rehash(password_hash)


def _bytes(password: str) -> bytes:
    # Forms can send half a surrogate pair; it must fail as a wrong password, not as our bug.
    return password.encode("utf-8", "surrogatepass")


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _decoy() -> str:
    return _hasher().hash("nobody has this password")
