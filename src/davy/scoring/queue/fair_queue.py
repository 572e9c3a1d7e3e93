"""What waits for a detector, in whose turn: sender by sender, and of each sender request by request.

Rows of requests in, slices of them out (deficit round robin). A turn takes `QUANTUM` characters, so a hundred long
texts of one sender and a short one of another get the detector by turns. Whoever takes more than a turn has, such as
one long text, is in debt and passed over until it is paid.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from davy.core.scorer import Scorer, Scores

Row = tuple[str, str | None, str | None]
"""A post's text, its language where that is known, and the name of its picture where it has one."""

NOBODY = "\0"
"""A sender who has asked for nothing."""
QUANTUM = 1_000
"""Characters of a turn."""
POST_COST = 40
"""What a post costs whatever its length, in characters."""
PICTURE_COST = 4_000
SHORT = 2_000
"""Requests of so many characters need not wait for a longer one that is being scored."""


def cost_of(row: Row) -> int:
    """Return what a post costs, in characters."""
    return POST_COST + len(row[0]) + (PICTURE_COST if row[2] is not None else 0)


@dataclass(slots=True, eq=False)
class Request:
    """Posts of one sender, of which `taken` are scored or being scored. `function` asks the scorer itself instead."""

    sender: str
    rows: Sequence[Row]
    answer: asyncio.Future[Any]
    function: Callable[[Scorer], Any] | None = None
    costs: list[int] = field(init=False)
    cost: int = field(init=False)
    """What is left of it."""
    is_short: bool = field(init=False)
    taken: int = 0
    credit: int = QUANTUM
    parts: list[tuple[int, Scores]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.costs = [PICTURE_COST] if self.function else [cost_of(row) for row in self.rows]
        self.cost = sum(self.costs)
        self.is_short = self.cost <= SHORT

    def pay(self) -> int:
        """Take the next post and return what it costs."""
        cost = self.costs[self.taken]
        self.taken += 1
        self.cost -= cost
        self.credit -= cost
        return cost


@dataclass(slots=True, eq=False)
class _Sender:
    requests: deque[Request] = field(default_factory=deque)
    credit: int = QUANTUM
    is_new: bool = True
    """Whether it has had no turn yet: it comes before those that had one."""

    @property
    def cost(self) -> int:
        return sum(request.cost for request in self.requests)


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive posts of one request that are scored together."""

    request: Request
    start: int
    end: int

    @property
    def rows(self) -> Sequence[Row]:
        """The posts."""
        return self.request.rows[self.start : self.end]

    @property
    def cost(self) -> int:
        """What they cost."""
        return sum(self.request.costs[self.start : self.end])


class FairQueue:
    """Requests by sender. `waiting` is how many posts wait, `cost` how many characters."""

    def __init__(self) -> None:
        self.waiting = 0
        self.cost = 0
        self._senders: dict[str, _Sender] = {}
        self._turns: deque[_Sender] = deque()

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, request: Request) -> None:
        """Put a request at the end of its sender's."""
        sender = self._senders.get(request.sender)
        if sender is None:
            sender = self._senders[request.sender] = _Sender()
            place = next((n for n, other in enumerate(self._turns) if not other.is_new), len(self._turns))
            self._turns.insert(place, sender)
        sender.requests.append(request)
        self.waiting += len(request.rows)
        self.cost += request.cost

    def leave(self, request: Request) -> None:
        """Take what is left of a request off the queue, if anything is."""
        sender = self._senders.get(request.sender)
        if sender is None or request not in sender.requests:
            return
        self.waiting -= len(request.rows) - request.taken
        self.cost -= request.cost
        self._remove(sender, request)

    def before(self, sender: str, cost: int) -> int:
        """Return how many characters get their turn before a request of this cost has been scored.

        Of each other sender no more than this one asks for, and of each of its own requests no more than this one has.
        """
        own = self._senders.get(sender)
        mine = sum(min(request.cost, cost) for request in own.requests) if own is not None else 0
        return mine + sum(min(other.cost, mine + cost) for other in self._turns if other is not own)

    def posts_of(self, sender: str) -> int:
        """Return how many posts of a sender wait."""
        own = self._senders.get(sender)
        return sum(len(request.rows) - request.taken for request in own.requests) if own is not None else 0

    def take(self, most_posts: int, most_cost: int) -> list[Slice]:
        """Take the next batch off the queue: at least one post, and no more than these limits beyond it."""
        taken: dict[Request, int] = {}
        posts = cost = first = 0
        while self._turns and posts < most_posts:
            sender = _next_in_turn(self._turns)
            request = _next_in_turn(sender.requests)
            price = request.costs[request.taken]
            first = first or price
            # Short posts would wait for a long one in their batch.
            apart = (price > SHORT) != (first > SHORT) or request.function is not None
            if posts and (apart or cost + price > most_cost):
                break
            taken.setdefault(request, request.taken)
            self._pay(sender, request)
            posts, cost = posts + 1, cost + price
            if request.function is not None:
                break
        return [Slice(request, start, request.taken) for request, start in taken.items()]

    def take_short(self, most_posts: int) -> list[Slice]:
        """Take short requests off the queue that nothing was taken of, one of each sender by turns."""
        batch: list[Slice] = []
        posts = 0
        for request in list(self._short()):
            if batch and posts + len(request.rows) > most_posts:
                break
            for _ in request.rows:
                self._pay(self._senders[request.sender], request)
            posts += len(request.rows)
            batch.append(Slice(request, 0, request.taken))
        return batch

    def _short(self) -> Iterator[Request]:
        short = [[it for it in one.requests if it.is_short and not it.taken and it.rows] for one in self._turns]
        for each in zip_longest(*short):
            yield from (request for request in each if request is not None)

    def has_short(self) -> bool:
        """Whether a short request waits that nothing was taken of."""
        return next(self._short(), None) is not None

    def _pay(self, sender: _Sender, request: Request) -> None:
        cost = request.pay()
        sender.credit -= cost
        sender.is_new = False
        self.cost -= cost
        if request.function is None:
            self.waiting -= 1
        if request.taken == len(request.costs):
            self._remove(sender, request)

    def _remove(self, sender: _Sender, request: Request) -> None:
        sender.requests.remove(request)
        if not sender.requests:
            self._turns.remove(sender)
            del self._senders[request.sender]


def _next_in_turn(turns: deque[Any]) -> Any:
    """Return whose turn it is; those in debt are passed over, and a turn's characters are put to their credit."""
    if len(turns) == 1:
        turns[0].credit = max(turns[0].credit, 1)
    while turns[0].credit <= 0:
        turns[0].credit += QUANTUM
        turns.rotate(-1)
    return turns[0]
