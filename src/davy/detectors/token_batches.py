"""Token ids of many posts in one array, and the work on them shared among cores.

Lists of ids in; padded batches out. Posts keep their places, so that results can be
put back where they belong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Item = TypeVar("Item")
Result = TypeVar("Result")


CHARACTERS_PER_TOKEN = 16
"""A text is cut to so many characters a token before it is tokenised: a megabyte costs no more than a page."""
HEAD_SHARE = 0.75


@dataclass(frozen=True)
class TokenRows:
    """Posts as token ids: all of them one after another, where each post starts and how long it is.

    A token may also be a vector, as it is between two layers of a network.
    """

    ids: Array
    starts: Array
    lengths: Array

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> TokenRows:
        """Return lists of ids as rows."""
        import numpy as np

        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        ids = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
        return cls(ids, np.cumsum(lengths) - lengths, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def batches(self, places: Array, *, tokens: int) -> list[Array]:
        """Return these places, longest posts first, in batches of at most `tokens`, padding included.

        There are as few as can be, and of one size, more or less: a small batch costs a run like a large one.
        """
        import numpy as np

        order = places[np.argsort(-self.lengths[places], kind="stable")]
        found = self._cut(order, tokens)
        for share in (0.5, 0.6, 0.7, 0.8, 0.9):
            smaller = self._cut(order, int(share * tokens))
            if len(smaller) == len(found):
                return smaller
        return found

    def longest_first(self, size: int) -> list[Array]:
        """Return the places of all posts, the longest first, `size` at a time."""
        import numpy as np

        order = np.argsort(-self.lengths, kind="stable")
        return [order[start : start + size] for start in range(0, len(order), size)]

    def _cut(self, order: Array, tokens: int) -> list[Array]:
        found, start = [], 0
        while start < len(order):
            fit = max(1, tokens // max(1, int(self.lengths[order[start]])))
            found.append(order[start : start + fit])
            start += fit
        return found

    def padded(self, places: Array, padding: int) -> tuple[Array, Array]:
        """Return the ids at these places (posts × longest), filled up with `padding`, and True where a token is."""
        import numpy as np

        lengths = self.lengths[places]
        mask = np.arange(max(1, int(lengths.max(initial=0)))) < lengths[:, None]
        ids = np.full((*mask.shape, *self.ids.shape[1:]), padding, dtype=self.ids.dtype)
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        ids[mask] = self.ids[np.repeat(self.starts[places], lengths) + within]
        return ids, mask


def cut(items: Any, most: int, *, tail: bool = True, glue: str | None = None) -> Any:
    """Return at most `most` of a text (with `glue` between) or of token ids: three quarters head and one quarter tail.

    Without `tail`, the head alone. Token ids end with the separator, so the tail keeps it; a head alone gets it back.
    """
    if len(items) <= most:
        return items
    if not tail:
        return items[:most] if glue is not None else [*items[: most - 1], items[-1]]
    head = int(most * HEAD_SHARE)
    start, end = items[:head], items[len(items) - (most - head) :]
    return start + glue + end if glue is not None else [*start, *end]


def map_threads(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> list[Result]:
    """Return the work's result for each item, in order; several are worked on at once, each by a thread.

    Where one fails or the user interrupts, the others are not waited for.
    """
    if len(items) < 2 or workers < 2:
        return [work(item) for item in items]
    pool = ThreadPoolExecutor(min(workers, len(items)))
    try:
        return list(pool.map(work, items))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
