"""The kind of job that tells a community what was decided; the worker tries again, ever later, where nobody listens."""

from __future__ import annotations

from typing import Any

from davy.actions.webhooks import deliver
from davy.jobs.worker import JobContext


def deliver_webhook(context: JobContext) -> dict[str, Any]:
    """Send the decisions that the job names, and return how it was taken."""
    ids = [str(one) for one in context.arguments["decisions"]]
    return {"status": deliver(context.store, str(context.arguments["community"]), ids), "decisions": len(ids)}
