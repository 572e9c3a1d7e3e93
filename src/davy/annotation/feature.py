"""What annotation offers to the rest."""

from davy.core.feature import Command, Feature, JobKind

FEATURE = Feature(
    tables=(
        "davy.annotation.care.store.check_ins",
        "davy.annotation.care.store.responses",
        "davy.annotation.care.store.work_sessions",
        "davy.annotation.labelling.store.tables",
        "davy.annotation.project.store.images",
        "davy.annotation.project.store.messages",
        "davy.annotation.project.store.picture_locks",
        "davy.annotation.project.store.tables",
        "davy.annotation.settling.store.agreements",
        "davy.annotation.settling.store.codes",
    ),
    commands={
        "project": Command(
            "davy.annotation.project.cli.project:app", "Make labelling projects, and take them from phase to phase."
        ),
    },
    subcommands={
        "project": {
            "open": "davy.annotation.project.cli.phases:open_",
            "close": "davy.annotation.project.cli.phases:close",
            "next-set": "davy.annotation.project.cli.phases:next_set",
            "add-phase": "davy.annotation.project.cli.phases:add_phase",
            "add-posts": "davy.annotation.project.cli.phases:add_posts",
            "hide": "davy.annotation.project.cli.phases:hide",
            "invite": "davy.annotation.project.cli.project:invite",
            "roster": "davy.annotation.project.cli.project:roster",
            "export": "davy.annotation.exchange.cli:export",
            "corpus": "davy.annotation.exchange.cli:corpus",
            "import": "davy.annotation.exchange.cli:import_",
            "audit": "davy.annotation.settling.cli:audit",
            "pools": "davy.annotation.settling.cli:pools",
        },
        "collect": {
            "withdraw": "davy.annotation.project.cli.withdraw:withdraw",
        },
    },
    busy_routers=("davy.annotation.labelling.pages.label:router",),
    routers=(
        "davy.annotation.project.pages.projects:router",
        "davy.annotation.project.pages.new_project:router",
        "davy.annotation.project.pages.project:router",
        "davy.annotation.project.pages.add_posts:router",
        "davy.annotation.project.pages.roster:router",
        "davy.annotation.project.pages.keys:router",
        "davy.annotation.project.pages.retention:router",
        "davy.annotation.project.pages.guideline:router",
        "davy.annotation.project.pages.project_settings:router",
        "davy.annotation.project.pages.project_api:router",
        "davy.annotation.care.pages.consent:router",
        "davy.annotation.settling.pages.discussion:router",
        "davy.annotation.care.pages.care:router",
        "davy.annotation.care.pages.hours:router",
        "davy.annotation.project.pages.channel:router",
        "davy.annotation.care.pages.survey:router",
        "davy.annotation.labelling.pages.my_answers:router",
        "davy.annotation.care.pages.my_data:router",
        "davy.annotation.settling.pages.open_coding:router",
        "davy.annotation.project.pages.watch:router",
        "davy.annotation.exchange.pages.exports:router",
        "davy.annotation.settling.pages.expert_many:router",  # before `expert/{case_id}`
        "davy.annotation.settling.pages.expert:router",
        "davy.annotation.settling.pages.verdicts:router",
        "davy.annotation.project.pages.phase:router",
        "davy.annotation.project.pages.phase_settings:router",
        "davy.annotation.project.pages.posts:router",
        "davy.annotation.project.pages.images:router",
        "davy.annotation.care.pages.picture_report:router",
    ),
    scheme_uses={
        "answers": "davy.annotation.project.store.project_schemes:answers_by",
        "projects": "davy.annotation.project.store.project_schemes:projects_by",
    },
    project_roster="davy.annotation.project.store.members",
    personal_data="davy.annotation.project.store.member_data:export",
    forget_person="davy.annotation.project.roster:forget_person",
    jobs=(
        JobKind(
            "export project",
            "davy.annotation.exchange.jobs:export_project",
            arguments="davy.annotation.exchange.jobs:ExportArguments",
            page="/projects/{project}/exports",
        ),
        JobKind(
            "import into project",
            "davy.annotation.exchange.jobs:import_file",
            arguments="davy.annotation.exchange.jobs:ImportArguments",
            page="/projects/{project}/exports",
        ),
        JobKind(
            "measure agreement",
            "davy.annotation.settling.jobs:measure_agreement",
            enqueue_due="davy.annotation.settling.jobs:enqueue_due_phases",
            page="/projects/{project}/watch",
        ),
    ),
    retention="davy.annotation.project.store.retention:RETENTION",
)
