"""What people and their accounts offer to the rest."""

from davy.core.feature import Command, Feature, JobKind

FEATURE = Feature(
    tables=(
        "davy.people.store.invitations",
        "davy.people.store.keys",
        "davy.people.store.retention",
        "davy.people.store.tables",
    ),
    commands={
        "user": Command("davy.people.cli.user:app", "Invite people, and say what they may do.", "Serve"),
        "key": Command("davy.people.cli.key:app", "Make, list and revoke API keys, which let programs in.", "Serve"),
    },
    subcommands={
        "database": {
            "retention": "davy.people.cli.retention:retention",
        },
    },
    routers=(
        "davy.people.pages.account:router",
        "davy.people.pages.sign_in:router",
        "davy.people.pages.confirm:router",
        "davy.people.pages.invitation:router",
        "davy.people.pages.password_reset:router",
        "davy.people.pages.people:router",
        "davy.people.pages.keys:router",
        "davy.people.pages.audit:router",
        "davy.people.pages.retention:router",
    ),
    jobs=(
        JobKind(
            "apply retention rules",
            "davy.people.retention:apply_rules",
            enqueue_due="davy.people.retention:enqueue_today",
        ),
    ),
    retention="davy.people.store.retention:ACCOUNT_KINDS",
)
