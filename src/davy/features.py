"""All features, in the order in which the rest asks them: commands in help, routers, what is deleted first."""

FEATURES = (
    "davy.schemes.feature",
    "davy.corpus.feature",
    "davy.annotation.feature",
    "davy.scheme_editor.feature",
    "davy.reviews.feature",
    "davy.rounds.feature",
    "davy.memes.feature",
    "davy.detectors.feature",
    "davy.scoring.feature",
    "davy.training.feature",
    "davy.testing.feature",
    "davy.evaluation.feature",
    "davy.challenges.feature",
    "davy.moderation.feature",
    "davy.runs.feature",
    "davy.people.feature",
    "davy.jobs.feature",
    "davy.web.feature",
    "davy.shell.feature",
    "davy.server.feature",
)
