"""What moderation offers to the rest."""

from davy.core.feature import Feature, JobKind

FEATURE = Feature(
    jobs=(
        JobKind("deliver webhook", "davy.moderation.jobs.webhooks:deliver_webhook"),
        JobKind("fit threshold", "davy.moderation.jobs.thresholds:fit_community_threshold"),
    ),
)
