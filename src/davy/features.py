"""All features, in the order in which the rest asks them: commands in help, routers, what is deleted first."""

FEATURES = (
    "davy.annotation.feature",
    "davy.runs.feature",
    "davy.moderation.feature",
    "davy.rounds.feature",
    "davy.challenges.feature",
    "davy.people.feature",
)
