"""What scoring offers to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "score": Command("davy.scoring.cli:score", "Score a file of posts, one text, or one meme.", "Use a detector"),
    },
)
