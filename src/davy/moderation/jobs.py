"""Jobs of communities: set a threshold by a target on settled answers, and tell a community what was decided.

The worker tries a webhook again, ever later, if nobody listens.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from davy.annotation.exchange.exchange import ExportRequest, export_project
from davy.jobs.worker import JobContext
from davy.moderation.communities import fit_threshold, keep_threshold
from davy.moderation.store import communities
from davy.moderation.webhooks import deliver, deliver_appeals, deliver_reviews
from davy.scoring.scorers import load_scorer

FIT_THRESHOLD = "fit threshold"


def fit_community_threshold(context: JobContext) -> dict[str, Any]:
    """Score the project's settled posts, choose the threshold and give it to the community; return the figures."""
    name, rule = str(context.arguments["community"]), str(context.arguments["rule"])
    with context.store.read() as db:
        community = communities.get(db, name)
    with tempfile.TemporaryDirectory(prefix="davy-fit-") as folder:
        file = Path(folder) / "posts.parquet"
        export_project(context.store, ExportRequest(str(context.arguments["project"]), "corpus"), file)
        posts = pl.read_parquet(file)
    scorer = load_scorer(str(context.arguments.get("model") or "embedded"))
    fitted = fit_threshold(posts, scorer, community.question, rule)
    with context.store.write() as db:
        keep_threshold(db, name, fitted, by=context.job.owner)
    return {"threshold": fitted.threshold, "posts": fitted.basis["posts"], "rule": rule}


def deliver_webhook(context: JobContext) -> dict[str, Any]:
    """Send the decisions that the job names, what reviewers settled about them, or appeals; return how it was taken."""
    tellers = {"decisions": deliver, "reviews": deliver_reviews, "appeals": deliver_appeals}
    what = next(name for name in tellers if name in context.arguments)
    ids = [str(one) for one in context.arguments[what]]
    return {"status": tellers[what](context.store, str(context.arguments["community"]), ids), what: len(ids)}
