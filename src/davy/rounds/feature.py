"""What rounds offer to the rest."""

from davy.core.feature import Feature, JobKind

FEATURE = Feature(
    jobs=(
        JobKind("attack a target", "davy.rounds.jobs.attack:attack_target"),
        JobKind(
            "close round",
            "davy.rounds.jobs.close:close_round",
            arguments="davy.rounds.jobs.close:CloseArguments",
            long=True,
        ),
    ),
)
