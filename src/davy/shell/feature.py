"""What the shell offers by itself: completion."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "completion": Command(
            "davy.shell.completion:completion",
            "Print a script with which bash, zsh or fish complete commands and options.",
            "Your shell",
        ),
    },
)
