"""What schemes offer to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    tables=("davy.schemes.store.schemes",),
    commands={
        "scheme": Command(
            "davy.schemes.cli:app", "Look at the schemes, check your own, and start one from a copy.", "Label"
        ),
    },
)
