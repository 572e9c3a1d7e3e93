"""What moderation offers to the rest."""

from davy.core.feature import Command, Feature, JobKind

FEATURE = Feature(
    tables=(
        "davy.moderation.store.appeals",
        "davy.moderation.store.communities",
        "davy.moderation.store.decisions",
        "davy.moderation.store.shadows",
        "davy.moderation.store.suggestions",
    ),
    commands={
        "migrate": Command("davy.moderation.cli.migrate:app", "Come over from Perspective.", "Serve"),
        "community": Command(
            "davy.moderation.cli.community:app",
            "Set thresholds by community, send what is uncertain to review.",
            "Serve",
        ),
    },
    subcommands={"model": {"shadow": "davy.moderation.cli.shadow:shadow"}},
    busy_routers=(
        "davy.moderation.pages.api:router",
        "davy.moderation.pages.comments:router",
        "davy.moderation.pages.moderations:router",
        "davy.moderation.pages.appeals:router",
    ),
    routers=(
        "davy.moderation.pages.detectors:router",
        "davy.moderation.pages.communities:router",
        "davy.moderation.pages.community_desk:router",
    ),
    server_part="davy.moderation.server_part:Moderation",
    personal_data="davy.moderation.personal_data:personal_data",
    forget_person="davy.moderation.personal_data:forget_person",
    jobs=(
        JobKind("deliver webhook", "davy.moderation.jobs:deliver_webhook"),
        JobKind("fit threshold", "davy.moderation.jobs:fit_community_threshold", page="/communities/{community}"),
    ),
    fed_phases="davy.moderation.communities:fed_phases",
    retention="davy.moderation.store.retention:RETENTION",
)
