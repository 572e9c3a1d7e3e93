"""Reddit: new comments or submissions of communities, asked for again and again.

Reddit has no stream. Each turn asks for what is newer than the newest that was
seen; a listing reaches back a thousand posts, so a busy community needs short
pauses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from davy.core.errors import UserError
from davy.corpus.collect.live.events import StreamEvent
from davy.corpus.collect.live.web import WebClient
from davy.corpus.collect.platforms.readers import reader, records_of

SERVER = "https://oauth.reddit.com"
PAGE = 100
DEEPEST = 10


class NewPosts:
    """New posts of communities; `kind` is comments or new (submissions)."""

    platform = "reddit"

    def __init__(
        self, web: WebClient, communities: Sequence[str], *, kind: str = "comments", pause: float | None = 10.0
    ) -> None:
        self._web, self._kind, self.pause, self._read = web, kind, pause, reader("reddit")
        self._communities = [name.removeprefix("r/") for name in communities]

    def events(self, cursor: str | None) -> Iterator[StreamEvent]:
        """Yield what is newer than the cursor, oldest first; the cursor is JSON of community → newest post."""
        newest: dict[str, str] = json.loads(cursor) if cursor else {}
        for name in self._communities:
            found = self._newer(name, newest.get(name))
            for child in reversed(found):
                newest[name] = f"{child['kind']}_{child['data']['id']}"
                yield from (StreamEvent(record, json.dumps(newest)) for record in records_of(self._read, child))
            yield StreamEvent(cursor=json.dumps(newest))

    def _newer(self, name: str, last: str | None) -> list[dict]:  # type: ignore[type-arg]
        """Return what a community has that is newer than `last`, newest first.

        Going back page by page until `last` is met, and not `before=last`: a deleted `last` would give nothing.
        """
        found: list[dict] = []  # type: ignore[type-arg]
        after: str | None = None
        number = int(last.split("_")[1], 36) if last else -1
        for _ in range(DEEPEST if last else 1):
            params = {"limit": PAGE, "raw_json": 1, **({"after": after} if after else {})}
            data = (self._web.get(f"/r/{name}/{self._kind}", params) or {}).get("data") or {}
            if "children" not in data:
                raise UserError(f"Reddit has no listing for {name!r}. Check the name of the community.")
            new = [child for child in data["children"] if int(child["data"]["id"], 36) > number]
            found += new
            after = data.get("after")
            if len(new) < len(data["children"]) or not after:
                break
        return found
