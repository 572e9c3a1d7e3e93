"""The kind of job that tells a community what was decided, or settled by its reviewers.

The worker tries again, ever later, where nobody listens.
"""

from __future__ import annotations

from typing import Any

from davy.jobs.worker import JobContext
from davy.moderation.webhooks import deliver, deliver_reviews


def deliver_webhook(context: JobContext) -> dict[str, Any]:
    """Send the decisions that the job names, or what reviewers settled about them, and return how it was taken."""
    what = "reviews" if "reviews" in context.arguments else "decisions"
    ids = [str(one) for one in context.arguments[what]]
    tell = deliver_reviews if what == "reviews" else deliver
    return {"status": tell(context.store, str(context.arguments["community"]), ids), what: len(ids)}
