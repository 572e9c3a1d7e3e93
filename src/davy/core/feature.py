"""What a feature offers to the rest: a folder's `feature.py` fills one `Feature`, and `davy.features` lists them.

The rest asks the list and names no feature. Things are named as `"module:name"` and imported when they are needed, so
that `davy --help` imports neither pages nor models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pkgutil import resolve_name

LIST = "davy.features:FEATURES"
"""The one name that points upwards: the modules of all features, in their order."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the shell: its function or its group of commands, the first line of its help, and its task."""

    target: str
    help: str
    task: str


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of background job and its function, which takes a `JobContext`.

    `arguments` is the dataclass of its arguments, for kinds that a person may start. Long kinds take minutes to days,
    quick ones seconds to minutes. `enqueue_due` is called with the store now and then, and adds the jobs that are due.
    """

    name: str
    function: str
    arguments: str | None = None
    long: bool = False
    enqueue_due: str | None = None
    page: str = ""
    """Where its result is shown; `{id}`, `{project}` and the job's arguments are filled in."""
    project_page: str = ""
    """The same for a job of a project, where that is another page."""
    needs_files: bool = False
    """Whether it reads or writes in the server's folder for files: a worker without one leaves it to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """What the rest asks a feature for; strings are `"module:name"`."""

    commands: Mapping[str, Command] = field(default_factory=dict)
    subcommands: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Functions of commands by the group that they belong to, which may be another feature's."""
    busy_routers: tuple[str, ...] = ()
    """Routers that are asked most, and before all others."""
    routers: tuple[str, ...] = ()
    jobs: tuple[JobKind, ...] = ()
    trainers: Mapping[str, str] = field(default_factory=dict)
    """Functions by the kind of detector that the job `train` makes with them. They get its context, its arguments, the
    posts, the run's folder and the scheme, and return the job's result."""
    personal_data: str | None = None
    """Returns what is kept about a person. It gets the connection, the account's id, and the project's id or None."""
    forget_person: str | None = None
    """Deletes what says who a person is. It gets the connection and the `PersonDeletion` of an account."""
    withdraw_posts: str | None = None
    """Takes withdrawn posts out of the feature's tables that no key joins to posts. It gets the posts' public ids."""
    derived_posts: str | None = None
    """Returns the query for posts that were made from others. It gets the keys of those."""
    fed_phases: str | None = None
    """Returns the ids of phases that it goes on adding posts to. It gets the connection and the project's id."""
    server_part: str | None = None
    """Makes the feature's part of a running server, a `ServerPart`. It gets the `Context` with the parts before it."""
    tables: tuple[str, ...] = ()
    """Names of the modules that declare tables."""
    papers: Mapping[str, str] = field(default_factory=dict)
    """Functions by the paper whose tables they reproduce, for one page of all papers. They return a `PaperSection`."""
    closing_rules: Mapping[str, str] = field(default_factory=dict)
    """Functions by the `closes_by` of a kind of phase. They get an `OpenPhase` and return why it stays open or None."""
    unused_tabs: str | None = None
    """Returns the names of the feature's tabs that a project has no use for. It gets the connection and the access."""
    export_facts: str | None = None
    """Returns what gives a post's further meta for an export. It gets the connection and the project."""
    post_facts: str | None = None
    """Returns what pages tell an expert about a post, before and after the decision, as two sentences or empty.

    It gets the connection, the project, the post's id and the reader's words.
    """
    retention: str | None = None
    """Kinds of record that retention rules can remove: a mapping of names to `RetentionKind`."""
    scheme_uses: Mapping[str, str] = field(default_factory=dict)
    """Functions by what uses a scheme: `answers` or `projects`. They return the queries for a name and a version."""
    project_roster: str | None = None
    """The module that says who is in which project: it has the functions of `people.store.project_roster`."""
    written_posts: str | None = None
    """Returns how people write a project's posts, as `WrittenPosts`. It gets the connection, the id and permissions."""
    preparations: str | None = None
    """Returns what a project's checklist asks for before its phases open, as `Step`s. It gets the connection and the
    statuses of the phases."""
    jobs_in_use: str | None = None
    """Returns the query for jobs that no retention rule removes."""


@cache
def features() -> tuple[Feature, ...]:
    """Return all features in the order of the list."""
    return tuple(resolve_name(f"{module}:FEATURE") for module in resolve_name(LIST))
