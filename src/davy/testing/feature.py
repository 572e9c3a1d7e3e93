"""What testing offers to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "suite": Command(
            "davy.testing.cli.suite:app",
            "Look at functional tests, check your own, and write them to a file.",
            "Measure",
        ),
        "check": Command(
            "davy.testing.cli.check:check", "Run functional tests on one or more detectors, side by side.", "Measure"
        ),
    },
)
