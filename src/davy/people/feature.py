"""What people and their accounts offer to the rest."""

from davy.core.feature import Feature, JobKind

FEATURE = Feature(
    jobs=(
        JobKind(
            "apply retention rules",
            "davy.people.retention:apply_rules",
            enqueue_due="davy.people.retention:enqueue_today",
        ),
    ),
)
