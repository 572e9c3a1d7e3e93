"""What challenges offer to the rest."""

from davy.core.feature import Feature, JobKind

FEATURE = Feature(
    jobs=(
        JobKind("score submission", "davy.challenges.jobs:score_submission"),
        JobKind("rank board", "davy.challenges.jobs:rank_board"),
    ),
)
