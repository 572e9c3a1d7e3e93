"""API keys that were looked up within the last second, so that a busy key costs one look-up a second.

A secret in, its key and owner out. What may change between two look-ups (a key is revoked, an account switched
off) holds a second later at the latest, in every process; on the pages of this process at once (`forget`). An end
that was set beforehand, the scope and the owner's permissions are checked with every request.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from davy.people.store import keys
from davy.people.store.keys import ApiKey
from davy.people.store.users import User
from davy.store import Store
from davy.store.columns import token_hash

SECONDS = 1.0
MOST = 1_000
"""Keys that are remembered; beyond, all are looked up again."""


class KeyCache:
    """Remembers keys that exist, by the hash of their secret. Unknown ones are never remembered."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[float, ApiKey, User]] = {}

    def recall(self, secret: str) -> tuple[ApiKey, User] | None:
        """Return a key that was looked up within the last second, and its owner. Touches no database."""
        at, key, owner = self._known.get(token_hash(secret), (0.0, None, None))
        return (key, owner) if key is not None and owner is not None and self._clock() - at < SECONDS else None

    def look_up(self, secret: str, scope: str) -> tuple[ApiKey, User]:
        """Return the key and its owner from the store, noting that it was used; refuse where it may not do `scope`."""
        at = self._clock()  # before the read, since the row may change after it
        with self._store.read() as db:
            key, owner = keys.check(db, secret, scope)
        if keys.needs_touch(key):
            with self._store.write() as db:
                keys.touch(db, key.id)
        if len(self._known) >= MOST:
            self.forget()
        self._known[token_hash(secret)] = (at, key, owner)
        return key, owner

    def forget(self) -> None:
        """Look every key up again: something about keys or accounts has changed."""
        self._known.clear()
