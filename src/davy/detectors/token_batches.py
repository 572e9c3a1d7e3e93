"""Token ids of many posts in one array, and the work on them shared among cores.

Lists of ids in; padded batches out. Posts keep their places, so that results can be put back where they belong. Before
a tokenizer sees a text, the named steps that a model folder lists are done, the same in training and at run time.
Longer texts than a network reads are cut into windows. A yes/no question takes the answer of the window with the
highest probability of yes, and the questions below it follow that window, so that type and target come from the passage
that was found hateful.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from davy.core.scheme import Question

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
        batches = self._cut(order, tokens)
        for share in (0.5, 0.6, 0.7, 0.8, 0.9):
            smaller = self._cut(order, int(share * tokens))
            if len(smaller) == len(batches):
                return smaller
        return batches

    def longest_first(self, size: int) -> list[Array]:
        """Return the places of all posts, the longest first, `size` at a time."""
        import numpy as np

        order = np.argsort(-self.lengths, kind="stable")
        return [order[start : start + size] for start in range(0, len(order), size)]

    def _cut(self, order: Array, tokens: int) -> list[Array]:
        batches, start = [], 0
        while start < len(order):
            fit = max(1, tokens // max(1, int(self.lengths[order[start]])))
            batches.append(order[start : start + fit])
            start += fit
        return batches

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


PREPARATION_STEPS: tuple[str, ...] = ("emoji names", "calm capitals")
SHOUTED = 0.6
"""The share of capitals among a text's letters from which on it is shouting; German nouns alone stay far below."""


def prepare_text(text: str, steps: Sequence[str]) -> str:
    """Return a text after the named steps, in their order."""
    for step in steps:
        if step == "emoji names":
            text = name_emoji(text)
        elif step == "calm capitals":
            text = lower_shouting(text)
        else:
            raise ValueError(f"unknown text step {step!r}")
    return text


def name_emoji(text: str) -> str:
    """Return text in which each emoji is its Unicode name in colons, as BERTweet reads them: 🦞 is `:lobster:`."""
    if text.isascii():
        return text
    from davy.text import emoji

    return emoji.replace(text, None)


def lower_shouting(text: str) -> str:
    """Return a text that is mostly capitals in small letters: a tokenizer that minds case has few pieces for it."""
    letters = sum(map(str.isalpha, text))
    capitals = sum(map(str.isupper, text))
    return text.lower() if capitals > 4 and capitals >= SHOUTED * letters else text


MOST_CHARACTERS = 100_000
"""Longer texts are read by head and tail: a megabyte must not hold up everyone else."""
WINDOW_OVERLAP = 0.25
"""The share of a window that the one before has read, too, so that few sentences are cut in two."""


def cut_windows(rows: Sequence[Sequence[int]], length: int, ends: Sequence[int]) -> tuple[list[Sequence[int]], Array]:
    """Return windows of at most `length` tokens, and for each the place of its text.

    `ends` are the tokens that a tokenizer puts around an empty text; each window gets them again.
    """
    import numpy as np

    if all(len(row) <= length for row in rows):
        return list(rows), np.arange(len(rows))
    first, last = (list(ends[:1]), list(ends[-1:])) if len(ends) == 2 else ([], [])
    inner = length - len(first) - len(last)
    step = max(1, int(inner * (1 - WINDOW_OVERLAP)))
    windows: list[Sequence[int]] = []
    owners: list[int] = []
    for place, row in enumerate(rows):
        if len(row) <= length:
            windows.append(row)
            owners.append(place)
            continue
        body = row[len(first) : len(row) - len(last)]
        starts = range(0, max(1, len(body) - inner + step), step)
        windows += [[*first, *body[start : start + inner], *last] for start in starts]
        owners += [place] * len(starts)
    return windows, np.array(owners)


def join_windows(
    questions: Sequence[Question], blocks: Mapping[str, Array], read: Array, owners: Array
) -> tuple[dict[str, Array], Array]:
    """Return the probabilities of each post and whether it was read, from those of its windows."""
    import numpy as np

    posts = int(owners[-1]) + 1 if len(owners) else 0
    if posts == len(owners):
        return dict(blocks), read
    joined: dict[str, Array] = {}
    strongest: dict[str, Array] = {}
    for question in questions:
        block = blocks[question.name]
        if question.under and question.under[0] in strongest:
            rows = strongest[question.under[0]]
        else:
            column = question.label_names.index(question.positive) if question.positive else None
            score = block[:, column] if column is not None else block.max(axis=1)
            # Windows that were read come before those that a screen cleared: only they have answers below.
            rows = _largest(score + read, owners, posts)
        strongest[question.name] = rows
        joined[question.name] = block[rows]
    read_posts = np.zeros(posts, dtype=bool)
    np.logical_or.at(read_posts, owners, read)
    return joined, read_posts


def _largest(score: Array, owners: Array, posts: int) -> Array:
    """Return for each post the row with the largest score."""
    import numpy as np

    order = np.lexsort((score, owners))  # each post's rows together, the largest score last
    last = np.zeros(posts, dtype=np.int64)
    last[owners[order]] = np.arange(len(order))
    return np.asarray(order[last])
