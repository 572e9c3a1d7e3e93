"""What reviews offer to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "inspect": Command(
            "davy.reviews.cli.inspect:app",
            "Let two people read what every system misses, sum it up, and correct the labels that were wrong.",
            "Label",
        ),
    },
    subcommands={
        "suite": {
            "project": "davy.reviews.cli.suite_review:project",
            "issue": "davy.reviews.cli.suite_review:issue",
            "review": "davy.reviews.cli.suite_review:review",
        },
    },
)
