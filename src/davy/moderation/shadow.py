"""A shadow: a second detector that scores what the first one answers, and the report on where the two differ.

Nobody sees its answers. Posts in languages that it was not made for are not compared. It works after the answer has
left, in a queue of its own, and passes over posts when it can't keep up, so that the answering detector never waits for
it. Sums and single differences go to the store every few seconds; texts only if the operator keeps them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from anyio import to_thread

from davy.core.errors import UserError
from davy.core.scheme import applicable_questions
from davy.core.scorer import Scores
from davy.measure.intervals import wilson
from davy.moderation.store import shadows
from davy.moderation.store.shadows import ShadowCount, ShadowDifference
from davy.scoring.queue.detector import Detector, PostToScore
from davy.store import Store
from davy.text.language import detect_many

logger = logging.getLogger("davy.serve")

MOST_WAITING = 512
"""Posts that may wait for the shadow."""
SURE = 0.5
MOST_NOTED = 100
"""Single differences of one flush."""


class Shadow:
    """Compares its detector with whoever answered. `offer` returns at once."""

    def __init__(self, store: Store, detector: Detector, *, keep_texts: bool = False) -> None:
        self.detector = detector
        self.passed_over = 0
        self._store = store
        self._keep_texts = keep_texts
        self._waiting = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._counts: dict[tuple[object, ...], ShadowCount] = {}
        self._differences: list[ShadowDifference] = []

    def offer(self, answered: Detector, posts: Sequence[PostToScore], scores: Scores, *, store_text: bool) -> None:
        """Let the shadow score what was just answered, where it has room."""
        if self._waiting + len(posts) > MOST_WAITING or any(post.image for post in posts):
            self.passed_over += len(posts)
            return
        self._waiting += len(posts)
        task = asyncio.create_task(self._compare(answered, list(posts), scores, store_text))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Finish what was offered."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def flush(self) -> None:
        """Add the sums since the last time to the store."""
        counts, self._counts = self._counts, {}
        differences, self._differences = self._differences, []
        if counts:
            with self._store.write() as db:
                shadows.add(db, counts.values(), differences)

    def _reads(self, lang: str) -> bool:
        """Return whether the shadow was made for a language; where that can't be told, the two are compared."""
        made_for = self.detector.scorer.abilities.languages
        return made_for is None or lang == "und" or lang.lower().partition("-")[0] in made_for

    async def _compare(self, answered: Detector, posts: list[PostToScore], scores: Scores, store_text: bool) -> None:
        try:
            languages = await to_thread.run_sync(_languages, posts)
            rows = [row for row, lang in enumerate(languages) if self._reads(lang)]
            if not rows:
                return
            some = [posts[row] for row in rows]
            pair = (scores.take(np.array(rows)), await self.detector.score(some))
            self._add(answered, some, pair, [languages[row] for row in rows], keep=self._keep_texts and store_text)
        except UserError:  # its queue is full, or it can't score these
            self.passed_over += len(posts)
        except Exception as error:  # noqa: BLE001 — a shadow's fault must not reach whoever was answered
            self.passed_over += len(posts)
            logger.error("the shadow failed: %s", type(error).__name__)
        finally:
            self._waiting -= len(posts)

    def _add(
        self,
        answered: Detector,
        posts: Sequence[PostToScore],
        scores: tuple[Scores, Scores],
        languages: Sequence[str],
        *,
        keep: bool,
    ) -> None:
        hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        ours, others = scores
        shared = [q.name for q in ours.questions if q.name in {it.name for it in others.questions}]
        reached = (_reached(ours), _reached(others))
        for name in shared:
            views = [_view(side, asked, name) for side, asked in zip(scores, reached, strict=True)]
            for row, post in enumerate(posts):
                mine, theirs = (view[row] for view in views)
                if mine is None or theirs is None:
                    continue
                pair = (answered.full_name, self.detector.full_name, name)
                fresh = ShadowCount(hour, *pair, languages[row])
                count = self._counts.setdefault(shadows.key_of(fresh), fresh)
                if _count(count, mine, theirs) and len(self._differences) < MOST_NOTED:
                    text = post.text if keep else None
                    self._differences.append(
                        ShadowDifference(
                            *pair, languages[row] or None, mine[0], theirs[0], mine[2], theirs[2], text=text
                        )
                    )


_Answer = tuple[str, bool | None, float | None]
"""The label, whether that is a yes (None where the question is not yes/no), the probability of yes."""


def _reached(scores: Scores) -> list[set[str]]:
    """Return for each post the questions that its answers lead to."""
    chosen = {question.name: scores.chosen(question.name) for question in scores.questions}
    rows = range(len(scores))
    return [set(applicable_questions(scores.questions, {name: it[row] for name, it in chosen.items()})) for row in rows]


def _view(scores: Scores, reached: Sequence[set[str]], name: str) -> list[_Answer | None]:
    """Return each post's answer to a question; None where it was not put to the post."""
    question = scores.question(name)
    answered = scores.has_answer(question)
    yes: Any = scores.positive(name)
    found: list[_Answer | None] = []
    for row, chosen in enumerate(scores.chosen(name)):
        if name not in reached[row] or (answered is not None and not answered[row]):
            found.append(None)
        elif yes is None:
            found.append(("|".join(chosen), None, None))
        else:
            found.append(("|".join(chosen), question.positive in chosen, round(float(yes[row]), 6)))
    return found


def _count(count: ShadowCount, mine: _Answer, theirs: _Answer) -> bool:
    """Add one post to the sums; return whether the two decided differently."""
    count.n += 1
    if mine[1] is None or theirs[1] is None:
        count.other += mine[0] != theirs[0]
        return mine[0] != theirs[0]
    count.both += mine[1] and theirs[1]
    count.only_model += mine[1] and not theirs[1]
    count.only_shadow += theirs[1] and not mine[1]
    count.distance += abs((mine[2] or 0.0) - (theirs[2] or 0.0))
    return mine[1] != theirs[1]


def _languages(posts: Sequence[PostToScore]) -> list[str]:
    """Return each post's language; `und` where it is not given and the guess is no better than chance."""
    detected = iter(detect_many([post.text for post in posts if not post.lang]))
    guesses = (lang if probability >= SURE else "und" for lang, probability in detected)
    return [post.lang or next(guesses) for post in posts]


@dataclass(frozen=True, slots=True)
class ShadowRow:
    """One question in one language: how often the two decided differently, and how far apart they are on average."""

    question: str
    lang: str
    n: int
    both: int
    only_model: int
    only_shadow: int
    other: int
    share: float
    low: float
    high: float
    distance: float | None


@dataclass(frozen=True, slots=True)
class ShadowComparison:
    """A detector that answered, the shadow beside it, and how they compare; models are `name@version`."""

    model: str
    shadow: str
    rows: tuple[ShadowRow, ...]
    differences: tuple[ShadowDifference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        found = [{**asdict(it), "at": it.at.isoformat()} for it in self.differences]
        return {
            "model": self.model,
            "shadow": self.shadow,
            "questions": [asdict(row) for row in self.rows],
            "differences": found,
        }


def compare_shadows(store: Store, *, differences: int = 0) -> list[ShadowComparison]:
    """Return what was counted, by pair of models, with the newest single differences of each."""
    with store.read() as db:
        pairs: dict[tuple[str, str], list[ShadowRow]] = {}
        for count in shadows.totals(db):
            pairs.setdefault((count.model, count.shadow), []).append(_row(count))
        return [
            ShadowComparison(
                *pair,
                tuple(rows),
                tuple(shadows.list_differences(db, *pair, limit=differences)) if differences else (),
            )
            for pair, rows in pairs.items()
        ]


def _row(count: ShadowCount) -> ShadowRow:
    low, high = wilson(count.differ, count.n)
    yes_or_no = count.other == 0
    return ShadowRow(
        count.question,
        count.lang,
        count.n,
        count.both,
        count.only_model,
        count.only_shadow,
        count.other,
        count.differ / count.n,
        low,
        high,
        count.distance / count.n if yes_or_no and (count.distance or count.both or count.differ == 0) else None,
    )
