"""All tables: every module that declares some is named here, so that none is missing where all are made or walked."""

from importlib import import_module

from davy.store.columns import metadata as metadata

TABLES = (
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
    "davy.challenges.store.challenges",
    "davy.challenges.store.submissions",
    "davy.challenges.store.teams",
    "davy.detectors.store",
    "davy.jobs.store",
    "davy.memes.store.image_library",
    "davy.memes.store.meme_steps",
    "davy.moderation.store.communities",
    "davy.moderation.store.decisions",
    "davy.moderation.store.shadows",
    "davy.moderation.store.suggestions",
    "davy.people.store.invitations",
    "davy.people.store.keys",
    "davy.people.store.retention",
    "davy.people.store.tables",
    "davy.rounds.store.entries",
    "davy.rounds.store.round_seeds",
    "davy.rounds.store.rounds",
    "davy.runs.store",
    "davy.scheme_editor.store",
    "davy.schemes.store.schemes",
    "davy.store.events",
)
"""The modules that declare tables; a test counts the tables in a fresh process."""

for _name in TABLES:
    import_module(_name)
