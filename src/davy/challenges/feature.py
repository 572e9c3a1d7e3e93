"""What challenges offer to the rest."""

from davy.core.feature import Command, Feature, JobKind

FEATURE = Feature(
    tables=(
        "davy.challenges.store.challenges",
        "davy.challenges.store.submissions",
        "davy.challenges.store.teams",
    ),
    commands={
        "challenge": Command(
            "davy.challenges.cli.challenge:app",
            "Run challenges: hidden labels, phases, teams, submissions, boards.",
            "Measure",
        ),
    },
    subcommands={
        "challenge": {
            "submit": "davy.challenges.cli.submit:submit",
            "baseline": "davy.challenges.cli.submit:baseline",
        },
        "inspect": {"challenge": "davy.challenges.cli.inspect:challenge"},
    },
    routers=(
        "davy.challenges.pages.challenge_new:router",
        "davy.challenges.pages.challenge:router",
        "davy.challenges.pages.challenge_team:router",
        "davy.challenges.pages.challenge_organise:router",
        "davy.challenges.pages.challenge_api:router",
    ),
    personal_data="davy.challenges.store.teams:personal_data",
    forget_person="davy.challenges.store.teams:forget_person",
    jobs=(
        JobKind("score submission", "davy.challenges.jobs:score_submission"),
        JobKind("rank board", "davy.challenges.jobs:rank_board"),
    ),
    jobs_in_use="davy.challenges.store.submissions:jobs_in_use",
    withdraw_posts="davy.challenges.store.challenges:withdraw_posts",
)
