"""What detectors offer to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    tables=("davy.detectors.store",),
    commands={
        "model": Command(
            "davy.detectors.cli:app",
            "Look at the detectors, tell a server which to use, and convert weights.",
            "Use a detector",
        ),
    },
)
