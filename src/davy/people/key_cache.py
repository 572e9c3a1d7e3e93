"""API keys that were looked up within the last second, so that a busy key costs one look-up a second.

A secret in, its key and owner out. What may change between two look-ups (a key is revoked, an account switched
off) holds a second later at the latest, in every process; on the pages of this process at once (`forget`). While the
database does not answer, a key counts for up to a minute after it was last seen there. An end that was set beforehand,
the scope and the owner's permissions are checked with every request.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from davy.core.errors import UserError
from davy.people.store import keys
from davy.people.store.keys import ApiKey
from davy.people.store.users import User
from davy.store import Store
from davy.store.columns import token_hash

SECONDS = 1.0
WITHOUT_DATABASE = 60.0
"""Seconds that a key counts after it was last seen in a database that does not answer."""
MOST = 1_000
"""Keys that are remembered; beyond, all are looked up again."""

logger = logging.getLogger("davy.serve")


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key and its owner, when the store had them, and until when nobody asks it again."""

    key: ApiKey
    owner: User
    seen_at: float
    until: float


class KeyCache:
    """Remembers keys that exist, by the hash of their secret. Unknown ones are never remembered."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, KnownKey] = {}

    def recall(self, secret: str) -> tuple[ApiKey, User] | None:
        """Return a key that was looked up within the last second, and its owner. Touches no database."""
        known = self._known.get(token_hash(secret))
        return (known.key, known.owner) if known is not None and self._clock() < known.until else None

    def look_up(self, secret: str, scope: str) -> tuple[ApiKey, User]:
        """Return the key and its owner from the store, noting that it was used; refuse where it may not do `scope`.

        Where the store does not answer, return what it had within the last minute.
        """
        at, hashed = self._clock(), token_hash(secret)  # before the read, since the row may change after it
        try:
            with self._store.read() as db:
                key, owner = keys.check(db, secret, scope)
        except UserError as error:
            known = self._known.get(hashed)
            if error.status in (401, 403):  # the store has answered
                self._known.pop(hashed, None)
                raise
            if known is None or at - known.seen_at > WITHOUT_DATABASE:
                raise
            # Not each request asks a database that may take seconds to say nothing.
            until = min(at + SECONDS, known.seen_at + WITHOUT_DATABASE)
            self._known[hashed] = replace(known, until=until)
            keys.check_allowed(known.key, known.owner, scope)
            return known.key, known.owner
        self._note_use(key)
        if len(self._known) >= MOST:
            self.forget()
        self._known[hashed] = KnownKey(key, owner, at, at + SECONDS)
        return key, owner

    def _note_use(self, key: ApiKey) -> None:
        if not keys.needs_touch(key):
            return
        try:
            with self._store.write() as db:
                keys.touch(db, key.id)
        except UserError as error:  # a full disk: when it was used last is worth less than the answer
            logger.warning("can't note that key %s was used: %s", key.prefix, error.message)

    def knows_any(self) -> bool:
        """Whether some key would be accepted while the database does not answer."""
        oldest = self._clock() - WITHOUT_DATABASE
        return any(it.seen_at >= oldest for it in list(self._known.values()))

    def forget(self) -> None:
        """Look every key up again: something about keys or accounts has changed."""
        self._known.clear()
