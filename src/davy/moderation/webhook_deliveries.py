"""What became of a community's webhooks: the newest deliveries with their last error, and a test."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from davy.jobs import store as jobs
from davy.moderation.store import communities
from davy.moderation.webhooks import send
from davy.store import Connection, Store
from davy.store.columns import now

KIND = "deliver webhook"
LOOKED_AT = 500
"""Deliveries of all communities that are looked through for those of one."""
SHOWN = 10
WHAT: tuple[str, ...] = ("decisions", "reviews", "appeals")


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """One delivery: what it tells and how much of it, how far it is, and why it was last refused."""

    at: datetime
    what: str
    n: int
    state: str
    attempts: int
    again_at: datetime | None
    error: str


def list_deliveries(db: Connection, community: str) -> list[WebhookDelivery]:
    """Return a community's newest deliveries."""
    found = []
    for job in jobs.latest(db, kind=KIND, limit=LOOKED_AT):
        what = next((name for name in WHAT if name in job.arguments), "")
        if job.arguments.get("community") != community or not what:
            continue
        again = job.run_after if job.state == "waiting" and job.attempts else None
        n, error = len(job.arguments[what]), "" if job.state == "done" else job.error or ""
        found.append(WebhookDelivery(job.created_at, what, n, job.state, job.attempts, again, error))
        if len(found) == SHOWN:
            break
    return found


def is_failing(deliveries: list[WebhookDelivery]) -> bool:
    """Return whether the newest delivery that was tried was refused."""
    tried = next((it for it in deliveries if it.state == "done" or it.error), None)
    return tried is not None and tried.state != "done"


def send_test(store: Store, name: str) -> int:
    """Send a signed test to a community's webhook now; return the status. Raises what a delivery would."""
    with store.read() as db:
        community = communities.get(db, name)
    return send(community, {"test": True, "at": now().isoformat()})
