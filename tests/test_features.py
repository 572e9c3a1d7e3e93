"""Every feature is on the list, and everything that it registers exists and is asked for."""

import re
from dataclasses import fields
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import davy
from davy.core.feature import Feature, features
from davy.features import FEATURES
from davy.jobs.kinds import job_functions, job_kinds
from davy.people.store import personal_data, users
from davy.people.store.project_roster import ProjectRoster, project_roster
from davy.people.store.retention import retention_kinds
from davy.server.routers import load_routers

SOURCE = Path(davy.__file__).parent
HOOKS = [field.name for field in fields(Feature) if field.type == "str | None"]


def test_every_folder_with_pages_jobs_or_commands_is_on_the_list():
    doors = [path for name in ("cli", "jobs", "pages") for path in SOURCE.glob(f"*/**/{name}*")]
    folders = {path.relative_to(SOURCE).parts[0] for path in doors} - {"shell"}
    assert folders
    assert not folders - {module.split(".")[1] for module in FEATURES}
    written = {f"davy.{path.parent.name}.feature" for path in SOURCE.glob("*/feature.py")}
    assert set(FEATURES) == written - {"davy.core.feature"}


def test_whatever_a_feature_names_exists():
    assert HOOKS
    for feature in features():
        named = [getattr(feature, hook) for hook in HOOKS if getattr(feature, hook) is not None]
        named += [command.target for command in feature.commands.values()]
        named += [function for group in feature.subcommands.values() for function in group.values()]
        named += [*feature.closing_rules.values(), *feature.papers.values(), *feature.scheme_uses.values()]
        assert all(resolve_name(name) is not None for name in named)


def test_the_roster_of_projects_has_every_function_that_accounts_ask_for():
    asked = [name for name in vars(ProjectRoster) if not name.startswith("_")]
    assert asked
    for name in asked:
        _self, *parameters = takes(getattr(ProjectRoster, name))
        assert takes(getattr(project_roster(), name)) == parameters


def takes(function):
    return [(each.name, each.kind, each.default) for each in signature(function).parameters.values()]


def test_no_two_features_register_the_same_name():
    kinds = [kind.name for feature in features() for kind in feature.jobs]
    commands = [name for feature in features() for name in feature.commands]
    assert len(kinds) == len(set(kinds)) == len(job_kinds())
    assert len(commands) == len(set(commands))


def test_every_router_is_mounted_and_every_kind_of_job_runs_somewhere():
    named = [name for feature in features() for name in (*feature.busy_routers, *feature.routers)]
    assert sorted(map(id, load_routers())) == sorted(id(resolve_name(name)) for name in named)
    for kind in job_kinds().values():
        assert callable(resolve_name(job_functions(long=kind.long)[kind.name]))
        assert kind.arguments is None or fields(resolve_name(kind.arguments))
        assert kind.enqueue_due is None or callable(resolve_name(kind.enqueue_due))


def test_every_module_that_declares_a_table_is_named_by_its_feature():
    makes_table = re.compile(r"^\w+ = (?:Rows|Table)\(", re.MULTILINE)
    declaring = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for path in SOURCE.rglob("*.py")
        if makes_table.search(path.read_text(encoding="utf-8"))
    }
    own = {name for each in features() for name in each.tables}
    assert "davy.people.store.tables" in declaring
    assert declaring == own | {"davy.store.events"}


def test_every_table_of_retention_kinds_is_used():
    tables = [resolve_name(feature.retention) for feature in features() if feature.retention is not None]
    assert tables
    assert set(retention_kinds()) == {name for table in tables for name in table}


def test_deleting_an_account_asks_every_feature_to_forget_the_person(store, monkeypatch):
    asked = []
    real = personal_data.resolve_name

    def noted(name):
        asked.append(name)
        return real(name)

    monkeypatch.setattr(personal_data, "resolve_name", noted)
    with store.write() as db:
        lin = users.add(db, login="lin@example.org", name="Lin", role="annotator", by="shell")
        personal_data.export(db, lin.id)
        personal_data.delete_account(db, lin.id, by="shell")
    wanted = {getattr(each, hook) for each in features() for hook in ("personal_data", "forget_person")} - {None}
    assert set(asked) == wanted
