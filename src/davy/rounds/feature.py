"""What rounds offer to the rest."""

from davy.core.feature import Command, Feature, JobKind

FEATURE = Feature(
    tables=(
        "davy.rounds.store.entries",
        "davy.rounds.store.round_seeds",
        "davy.rounds.store.rounds",
    ),
    commands={
        "round": Command(
            "davy.rounds.cli:app",
            "Rounds of people against a detector: open, close, look at the story so far, replay recorded ones.",
            "Label",
        ),
    },
    subcommands={
        "round": {
            "open": "davy.rounds.cli:open_",
            "attack": "davy.rounds.cli:attack",
            "close": "davy.rounds.cli:close",
            "status": "davy.rounds.cli:status",
            "replay": "davy.rounds.cli:replay",
        },
    },
    routers=(
        "davy.rounds.pages.rounds:router",
        "davy.rounds.pages.round_entry:router",
        "davy.rounds.pages.round_contrast:router",
        "davy.rounds.pages.round_close:router",
        "davy.rounds.pages.attack:router",
    ),
    closing_rules={"round closed": "davy.rounds.open_round:why_open"},
    written_posts="davy.rounds.next_steps:written_posts",
    post_facts="davy.rounds.pages.entry_facts:post_facts",
    unused_tabs="davy.rounds.pages.rounds:unused_tabs",
    personal_data="davy.rounds.store.entries:personal_data",
    jobs=(
        JobKind(
            "attack a target",
            "davy.rounds.jobs:attack_target",
            page="/projects/{project}/attack",
            needs_files=True,
        ),
        JobKind(
            "close round",
            "davy.rounds.jobs:close_round",
            arguments="davy.rounds.jobs:CloseArguments",
            long=True,
            page="/projects/{project}/rounds",
            needs_files=True,
        ),
    ),
)
