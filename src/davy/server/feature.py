"""What the server offers to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "serve": Command("davy.server.cli.serve:serve", "Serve the web workbench and the API.", "Serve"),
        "doctor": Command(
            "davy.server.cli.doctor:doctor", "Check a deployment and say what is wrong, a line for each part.", "Serve"
        ),
        "work": Command(
            "davy.server.cli.work:work",
            "Run background jobs until Ctrl+C: exports, imports, trainings, scoring, evaluations, checks.",
            "Serve",
        ),
        "database": Command(
            "davy.server.cli.database:app", "Create, look at, upgrade, back up and restore the database.", "Serve"
        ),
    },
    routers=("davy.server.pages.health:router", "davy.server.pages.metrics:router", "davy.server.pages.api:router"),
)
