"""Communities that the server decides for: whose thresholds hold, what is uncertain, who reviews and who is told.

A community names what decides: a yes/no question, or an attribute with a formula. A probability from `low` up to `high`
is uncertain and goes to review; else the threshold decides. A language may have thresholds of its own; the uncertain
range then lies around them as it lies around the common one. Only the keys that it names may decide in its name.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, delete

from davy.core.errors import UserError, nearest
from davy.store import events
from davy.store.columns import TextColumn, now
from davy.store.rows import Rows

LONGEST_NAME = 80


ACTIONS: tuple[str, ...] = (
    "removed",
    "disabled",
    "demoted",
    "age_restricted",
    "interaction_restricted",
    "labelled",
)
"""What a platform does with a flagged post, as the EU's database of statements of reasons has it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rule that flagged posts break, and what happens to them. Each decision keeps the one it was made under."""

    ground: str
    """The rule's name and section, or the law's where the content is `illegal`."""
    explanation: str = ""
    """Why such posts break it."""
    url: str = ""
    illegal: bool = False
    action: str = "removed"


@dataclass(frozen=True, slots=True)
class Community:
    """One community. `keys` are ids of API keys; `project` reviews; `webhook` is told, signed with `secret`."""

    name: str
    question: str
    thresholds: Mapping[str, float] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    keys: tuple[str, ...] = ()
    project: str | None = None
    webhook: str | None = None
    secret: str | None = field(default=None, repr=False)
    basis: Mapping[str, Any] | None = None
    """What the threshold was fitted on, with the curve that the page draws."""
    lang: str | None = None
    """The language of its comments that name none, where it can't be told."""
    language_thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Thresholds of languages that have their own."""
    policy: Policy | None = None
    review_unjudged: bool = False
    """Whether a post that the detector can't judge goes to review."""
    salt: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    """What the keys of decisions that are sent twice are made with."""
    made_at: datetime = field(default_factory=now)
    made_by: str = events.SYSTEM

    @property
    def threshold(self) -> float:
        """The probability from which on the deciding question is a yes."""
        return self.threshold_in("")

    def threshold_in(self, lang: str) -> float:
        """Return the same for posts in a language."""
        own = self.language_thresholds.get(lang.lower().partition("-")[0], {})
        return float(own.get(self.question, self.thresholds.get(self.question, 0.5)))

    @property
    def language_thresholds_text(self) -> str:
        """The thresholds of languages as a form has them: `de 0.41; en 0.6`."""
        own = {lang: it[self.question] for lang, it in self.language_thresholds.items() if self.question in it}
        return "; ".join(f"{lang} {value:.6g}" for lang, value in own.items())

    def uncertain_in(self, lang: str) -> tuple[float, float] | None:
        """Return from where up to where posts in a language are uncertain."""
        if self.low is None or self.high is None:
            return None
        moved = self.threshold_in(lang) - self.threshold
        return max(0.0, self.low + moved), min(1.0, self.high + moved)

    def decide(self, probability: float, lang: str = "") -> str:
        """Return `review` where the probability is uncertain, else `flag` or `pass`."""
        band = self.uncertain_in(lang)
        if band is not None and band[0] <= probability < band[1]:
            return "review"
        return "flag" if probability >= self.threshold_in(lang) else "pass"


_ROWS = Rows(
    Community,
    "communities",
    Column("reviews_told", TextColumn),  # the id of the last verdict that the webhook was told of
    key="name",
    references={"project": "projects.id"},
)
communities = _ROWS.table


def create(db: Connection, community: Community, *, by: str) -> Community:
    """Add a community, with a fresh secret where it has a webhook."""
    _check(community)
    if find(db, community.name) is not None:
        raise UserError(f"There is a community {community.name!r} already.", status=409)
    made = replace(community, made_at=now(), made_by=by, secret=_secret(community, None))
    _ROWS.insert(db, made)
    empty = _shown(Community(made.name, ""))
    given = {name: value for name, value in _shown(made).items() if value != empty[name]}
    events.record(db, by=by, what="community created", about=f"community {made.name}", **given)
    return made


def change(db: Connection, name: str, *, by: str, **changes: Any) -> Community:
    """Change fields of a community and return it; a new webhook gets a new secret."""
    before = get(db, name)
    made = replace(before, **changes)
    _check(made)
    made = replace(made, secret=_secret(made, before))
    _ROWS.replace(db, made, communities.c.name == name)
    old, new = _shown(before), _shown(made)
    changed = [name for name in new if old[name] != new[name]]
    now_so, was = {name: new[name] for name in changed}, {name: old[name] for name in changed}
    events.record(db, by=by, what="community changed", about=f"community {name}", **now_so, was=was)
    return made


def _shown(community: Community) -> dict[str, Any]:
    """Return what the audit records of a community: all but its secrets and what the record says anyway."""
    left_out = ("name", "secret", "salt", "basis", "made_at", "made_by")
    return {name: value for name, value in asdict(community).items() if name not in left_out}


def renew_secret(db: Connection, name: str, *, by: str) -> str:
    """Give a community's webhook a new secret, and return it."""
    if not get(db, name).webhook:
        raise UserError(f"Community {name!r} has no webhook, so it needs no secret.", status=409)
    secret = secrets.token_urlsafe(32)
    _ROWS.update(db, communities.c.name == name, secret=secret)
    events.record(db, by=by, what="community secret renewed", about=f"community {name}")
    return secret


def remove(db: Connection, name: str, *, by: str, **facts: Any) -> None:
    """Remove a community whose decisions are gone; `facts` are kept with the event."""
    db.execute(delete(communities).where(communities.c.name == name))
    events.record(db, by=by, what="community removed", about=f"community {name}", **facts)


def get(db: Connection, name: str) -> Community:
    """Return a community by its name."""
    community = find(db, name)
    if community is None:
        known = [other.name for other in list_communities(db)]
        raise UserError(f"There is no community {name[:LONGEST_NAME]!r}.{nearest(name, known)}", status=404)
    return community


def find(db: Connection, name: str) -> Community | None:
    """Return a community by its name, or None."""
    return _ROWS.get(db, communities.c.name == name)


def list_communities(db: Connection) -> list[Community]:
    """Return every community by name. One small read: servers ask every few seconds."""
    return _ROWS.list(db, _ROWS.select().order_by(communities.c.name))


def _check(community: Community) -> None:
    name = community.name
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or "/" in name or name != name.strip():
        raise UserError(f"A community's name has 1 to {LONGEST_NAME} characters and no slash: {name[:100]!r} has not.")
    for thresholds in (community.thresholds, *community.language_thresholds.values()):
        for question, value in thresholds.items():
            if not 0 <= value <= 1:
                raise UserError(f"The threshold of {question} is {value:g}; it lies between 0 and 1.")
    policy = community.policy
    if policy is not None and not policy.ground.strip():
        raise UserError("A policy names its ground: the rule that flagged posts break.", status=422)
    if policy is not None and policy.action not in ACTIONS:
        raise UserError(f"There is no action {policy.action!r}. One of: {', '.join(ACTIONS)}.", status=422)
    if policy is not None and policy.url and not policy.url.startswith(("https://", "http://")):
        raise UserError(f"The policy's address {policy.url[:100]!r} has to begin with https://", status=422)
    low, high = community.low, community.high
    if (low is None) != (high is None) or (low is not None and high is not None and not 0 <= low < high <= 1):
        raise UserError("What is uncertain goes from a lower to a higher probability, both between 0 and 1.")
    if low is not None and high is not None and not low <= community.threshold <= high:
        raise UserError(
            f"The threshold of {community.question} is {community.threshold:g}, outside what is uncertain, {low:g} to "
            f"{high:g}: surer posts would be reviewed less. Set both so that the threshold lies between."
        )


def _secret(community: Community, before: Community | None) -> str | None:
    if not community.webhook:
        return None
    if before is not None and before.webhook == community.webhook and before.secret:
        return before.secret
    return secrets.token_urlsafe(32)
