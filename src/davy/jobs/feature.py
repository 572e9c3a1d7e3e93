"""What jobs offer to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    tables=("davy.jobs.store",),
    commands={
        "job": Command("davy.jobs.cli:app", "Start background jobs, look at them, stop them, run them again.", "Serve"),
    },
)
