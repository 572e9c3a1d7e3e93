"""What rounds offer to the rest."""

from davy.core.feature import Command, Feature, JobKind

FEATURE = Feature(
    commands={
        "round": Command(
            "davy.rounds.cli.round:app",
            "Rounds of people against a detector: open, close, look at the story so far, replay recorded ones.",
        ),
    },
    subcommands={
        "round": {
            "open": "davy.rounds.cli.open:open_",
            "attack": "davy.rounds.cli.attack:attack",
            "close": "davy.rounds.cli.close:close",
            "status": "davy.rounds.cli.close:status",
            "replay": "davy.rounds.cli.replay:replay",
        },
    },
    routers=(
        "davy.rounds.pages.round_close:router",
        "davy.rounds.pages.rounds:router",
        "davy.rounds.pages.round_entry:router",
        "davy.rounds.pages.round_contrast:router",
        "davy.rounds.pages.attack:router",
    ),
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
