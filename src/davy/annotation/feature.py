"""What annotation offers to the rest."""

from davy.core.feature import Feature, JobKind

FEATURE = Feature(
    jobs=(
        JobKind(
            "export project",
            "davy.annotation.exchange.jobs:export_project",
            arguments="davy.annotation.exchange.jobs:ExportArguments",
        ),
        JobKind(
            "import into project",
            "davy.annotation.exchange.jobs:import_file",
            arguments="davy.annotation.exchange.jobs:ImportArguments",
        ),
        JobKind(
            "measure agreement",
            "davy.annotation.settling.jobs:measure_agreement",
            enqueue_due="davy.annotation.settling.jobs:enqueue_due_phases",
        ),
    ),
)
