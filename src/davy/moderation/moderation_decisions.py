"""Decide for communities: thresholds while a request waits, all else a moment later.

Scores in, scores with the community's thresholds out, at once. Counts of scores by day, decisions, posts for review and
webhooks are made from a buffer every few seconds, off the event loop, in one transaction; then receivers are told what
reviewers have settled. Texts are held until then and
go nowhere but into the review project of a community that has one.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np

from davy.core.errors import UserError
from davy.core.scorer import Scores
from davy.jobs import store as jobs
from davy.moderation.appeals import settle_appeals
from davy.moderation.attribute_map import AttributeMap, load_attributes
from davy.moderation.communities import PostForReview, queue_posts
from davy.moderation.deciding_scores import NOT_JUDGED, DecidingScores, community_thresholds, deciding_scores
from davy.moderation.store import appeals, communities, decisions
from davy.moderation.store.communities import Community
from davy.moderation.store.decisions import BUCKETS, Decision, ScoreCount, sent_key
from davy.people.store.keys import ApiKey
from davy.scoring.queue.detector import Detector, PostToScore
from davy.scoring.result import repair_text
from davy.store import Connection, Store, events
from davy.store.columns import now

WEBHOOK = "deliver webhook"

logger = logging.getLogger("davy.serve")

MOST_HELD = 20_000
"""Posts that wait to be counted; beyond, posts are scored but not counted, and a warning says so."""
TOLD = 100
"""Decisions of one webhook."""
WEBHOOK_ATTEMPTS = 8
SETTLING = timedelta(seconds=10)
"""How old a verdict is before a receiver is told: one that began earlier and ends later is not passed over then."""


@dataclass(frozen=True, slots=True)
class _Scored:
    """Posts of one request that wait to be counted."""

    detector: Detector
    posts: Sequence[PostToScore]
    scores: Scores
    community: Community | None
    deciding: DecidingScores | None
    references: Sequence[str | None]
    may_store: bool


class Decider:
    """Knows the communities of the store, and holds what was scored since it last wrote."""

    def __init__(self, store: Store, *, attributes: AttributeMap | None = None, settling: timedelta = SETTLING) -> None:
        self._store = store
        self._attributes = attributes or load_attributes()
        self._settling = settling
        self._communities: dict[str, Community] = {}
        self._held: list[_Scored] = []
        self._posts = 0
        self._dropped = 0
        self._lock = threading.Lock()
        self.refresh()

    def refresh(self) -> None:
        """Learn from the store which communities there are."""
        with self._store.read() as db:
            self._communities = {one.name: one for one in communities.list_communities(db)}

    def decide(
        self,
        detector: Detector,
        posts: Sequence[PostToScore],
        scores: Scores,
        *,
        community: str | None,
        key: ApiKey | None,
        references: Sequence[str | None] = (),
        may_store: bool = True,
    ) -> tuple[Scores, list[str | None]]:
        """Return the scores with the community's thresholds and each post's decision; remember both to be counted.

        `references` are the senders' ids of the first posts; where they are fewer than the posts, the others are parts
        of these and are not counted. A community that the key may not use decides nothing. A post that its question
        has no answer for is `not_judged`.
        """
        asked = self.community_of(community, key)
        deciding = None
        if asked is not None:
            by_language = asked.language_thresholds or self._attributes.languages
            langs = [_language(detector, post) if by_language else "" for post in posts]
            scores = replace(scores, thresholds={**scores.thresholds, **community_thresholds(asked, scores, langs)})
            deciding = deciding_scores(asked, scores, posts, langs, self._attributes)
        outcomes: list[str | None] = [*deciding.outcomes] if deciding else [None] * len(posts)
        whole = len(references) or len(posts)
        with self._lock:
            if self._posts + whole > MOST_HELD:
                self._dropped += whole
                return scores, outcomes
            self._posts += whole
            held = _Scored(detector, posts[:whole], scores, asked, deciding, references, may_store)
            self._held.append(held)
        return scores, outcomes

    def record_unjudged(
        self, detector: Detector, post: PostToScore, *, community: Community, reference: str | None, may_store: bool
    ) -> None:
        """Remember a post that nothing could judge, such as one in a language that the detector does not read."""
        deciding = DecidingScores(np.zeros(1), [NOT_JUDGED], [0.5])
        with self._lock:
            if self._posts < MOST_HELD:
                self._posts += 1
                held = _Scored(detector, [post], Scores((), {}), community, deciding, [reference], may_store)
                self._held.append(held)

    def community_of(self, name: str | None, key: ApiKey | None) -> Community | None:
        """Return the community of this name, where there is one and the key may use it."""
        asked = self._communities.get(name or "")
        return asked if asked is not None and key is not None and key.id in asked.keys else None

    def flush(self) -> None:
        """Write down what was scored since the last time; what can't be written now waits for the next time."""
        self.refresh()
        self._write_held()
        self._tell_reviews()
        self._settle_appeals()

    def _settle_appeals(self) -> None:
        """Note what reviewers settled about appeals, and ask for webhooks."""
        before = now() - self._settling
        for community in self._communities.values():
            if community.project is None:
                continue
            with self._store.read() as db:
                if not appeals.count_open(db, community.name):
                    continue
            with self._store.write() as db:
                settled = settle_appeals(db, community, before=before)
                if community.webhook:
                    _ask_for_webhooks(db, community.name, "appeals", settled)

    def _tell_reviews(self) -> None:
        """Ask for webhooks about what reviewers settled since the last time."""
        before = now() - self._settling
        for community in self._communities.values():
            if not community.webhook or community.project is None:
                continue
            asked = (community.name, community.project)
            with self._store.read() as db:
                if not decisions.has_new_reviews(db, *asked, before=before):
                    continue
            with self._store.write() as db:
                _ask_for_webhooks(db, community.name, "reviews", decisions.take_reviewed(db, *asked, before=before))

    def _write_held(self) -> None:
        with self._lock:
            held, self._held = self._held, []
            posts, self._posts = self._posts, 0
            dropped, self._dropped = self._dropped, 0
        if dropped:
            logger.warning("%d posts were scored but not counted: too many at once", dropped)
        if not held:
            return
        counts: Counter[tuple[str, str, str, str, str, int]] = Counter()
        made: list[tuple[Community, Decision, PostForReview | None]] = []
        for scored in held:
            langs = [_language(scored.detector, post) for post in scored.posts]
            _count(counts, scored, langs)
            made += _decisions(scored, langs)
        try:
            with self._store.write() as db:
                decisions.add_counts(db, [ScoreCount(*key, n) for key, n in sorted(counts.items())])
                _write(db, made)
        except UserError:
            with self._lock:  # the database is busy or away
                self._held = held + self._held
                self._posts += posts
            raise


def _language(detector: Detector, post: PostToScore) -> str:
    if post.lang:
        return post.lang[:20]
    language_of = detector.scorer.abilities.language_of
    return (language_of(repair_text(post.text)) or "") if language_of is not None else ""


def _count(counts: Counter[tuple[str, str, str, str, str, int]], scored: _Scored, langs: list[str]) -> None:
    day = f"{now():%Y-%m-%d}"
    name = scored.community.name if scored.community else ""
    for question in scored.scores.questions:
        yes = scored.scores.positive(question.name)
        if yes is None:
            continue
        answered = scored.scores.has_answer(question)
        buckets = np.clip((yes * BUCKETS).astype(int), 0, BUCKETS - 1)
        for row, lang in enumerate(langs):
            if answered is None or answered[row]:
                counts[(day, name, scored.detector.full_name, question.name, lang, int(buckets[row]))] += 1


def _decisions(scored: _Scored, langs: list[str]) -> list[tuple[Community, Decision, PostForReview | None]]:
    community, deciding = scored.community, scored.deciding
    if community is None or deciding is None:
        return []
    found: list[tuple[Community, Decision, PostForReview | None]] = []
    model = scored.detector.full_name
    for row, (post, lang) in enumerate(zip(scored.posts, langs, strict=True)):
        outcome = deciding.outcomes[row]
        reference = scored.references[row] if row < len(scored.references) else None
        text = repair_text(post.text)
        decision = Decision(
            community.name,
            model,
            outcome,
            _reasons(scored, row),
            reference,
            lang or None,
            policy=None if outcome == "pass" else community.policy,
            sent_key=sent_key(community.salt, reference, text, outcome, model) if reference else None,
        )
        doubtful = outcome == "review" or (outcome == NOT_JUDGED and community.review_unjudged)
        wanted = doubtful and community.project is not None and scored.may_store and text.strip()
        probability = {"probability": round(float(deciding.chance[row]), 4)} if outcome == "review" else {}
        meta = {"community": community.name, **probability, "reference": reference}
        review = PostForReview(decision.id, text, lang or None, meta) if wanted else None
        found.append((community, decision, review))
    return found


def _reasons(scored: _Scored, row: int) -> list[dict[str, Any]]:
    """Return each yes/no question's probability, threshold and label: what the decision rests on.

    Where an attribute decides, it comes first.
    """
    scores, reasons = scored.scores, list[dict[str, Any]]()
    if scored.deciding is not None and scored.deciding.attribute:
        reasons.append(scored.deciding.reason(row))
    for question in scores.questions:
        yes = scores.positive(question.name)
        answered = scores.has_answer(question)
        if yes is None or (answered is not None and not answered[row]):
            continue
        threshold = float(np.broadcast_to(scores.thresholds.get(question.name, 0.5), len(scores))[row])
        reasons.append(
            {
                "question": question.name,
                "probability": round(float(yes[row]), 6),
                "threshold": round(threshold, 6),
                "label": "|".join(scores.chosen(question.name)[row]),
            }
        )
    return reasons


def _write(db: Connection, made: list[tuple[Community, Decision, PostForReview | None]]) -> None:
    """Keep decisions, put what is uncertain into the review projects and ask for webhooks."""
    new = decisions.add(db, [decision for _, decision, _ in made])
    made = [one for one in made if one[1].id in new]
    by_name = {community.name: community for community, _, _ in made}
    for name, community in by_name.items():
        waiting = [review for one, _, review in made if one.name == name and review is not None]
        if waiting and community.project is not None:
            try:
                source = f"community {name}"
                keys = queue_posts(db, community.project, waiting, source=source, by=events.SYSTEM)
            except UserError as error:  # decisions stand, and the log says what is missing
                logger.warning("posts of community %s can't be kept for review: %s", name, error.message)
                keys = {}
            for decision_id, key in keys.items():
                decisions.set_post(db, decision_id, key)
        decided = [decision.id for one, decision, _ in made if one.name == name and decision.decision != "pass"]
        if community.webhook:
            _ask_for_webhooks(db, name, "decisions", decided)


def _ask_for_webhooks(db: Connection, community: str, what: str, ids: Sequence[str]) -> None:
    """Put webhooks about decisions, or about what reviewers settled of them, into the queue."""
    for start in range(0, len(ids), TOLD):
        arguments = {"community": community, what: list(ids[start : start + TOLD])}
        jobs.enqueue(db, WEBHOOK, arguments, owner=events.SYSTEM, max_attempts=WEBHOOK_ATTEMPTS)
