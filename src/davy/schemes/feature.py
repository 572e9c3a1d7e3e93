"""What schemes offer to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "scheme": Command("davy.schemes.cli:app", "Look at the schemes, check your own, and start one from a copy."),
    },
)
