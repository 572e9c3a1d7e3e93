"""`davy project open`, `close`, `next-set`, `add-phase`, `add-posts` and `hide`: a project's phases and their posts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.annotation.project import phase_gates
from davy.annotation.project import project_creation as make
from davy.annotation.project.cli.project import Gold, Name, read_posts
from davy.annotation.project.project_file import phase_plan
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, posts, projects
from davy.core.errors import UserError
from davy.shell import console
from davy.shell.options import Database
from davy.store import events, open_store

PhaseName = Annotated[str, typer.Argument(metavar="PHASE", help="The phase's name.")]
Anyway = Annotated[
    str | None, typer.Option("--anyway", help="Go on although the phase's rule says not yet; give the reason.")
]


def open_(project: Name, phase: PhaseName, anyway: Anyway = None, database: Database = None) -> None:
    """Open a phase, so that people can work in it. Its rule must allow it.

    Examples:

        davy project open pilot 2a

        davy project open pilot 3 --anyway "the pilot was enough"
    """
    _go(project, phase, "open", anyway, database)


def close(project: Name, phase: PhaseName, anyway: Anyway = None, database: Database = None) -> None:
    """Close a phase. Its rule must allow it.

    Examples:

        davy project close pilot 2a
    """
    _go(project, phase, "close", anyway, database)


def next_set(
    project: Name,
    phase: PhaseName,
    n: Annotated[int, typer.Option("--most", help="How many posts to take from the production that waits.")] = 46,
    database: Database = None,
) -> None:
    """Add another calibration set after one whose gate stayed shut: 2b after 2a.

    Examples:

        davy project next-set pilot 2a --most 43
    """

    if n < 1:
        raise UserError(f"--most is {n}. A set has at least 1 post.")
    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        made = make.next_set(db, found, phases.by_name(db, project, phase), n=n, by=events.SHELL)
    console.note(
        f"Phase {made.name} has {made.size:,} posts and waits. Open it: davy project open {project} {made.name}"
    )


def add_phase(
    project: Name,
    phase: PhaseName,
    kind: Annotated[
        str, typer.Option("--kind", help="training, discussion, calibration, screening, production or expert.")
    ],
    answers: Annotated[
        str | None, typer.Option("--answers", help="How many people answer each post, or everyone.")
    ] = None,
    posts: Annotated[Path | None, typer.Option("--posts", help="A file of posts for it.")] = None,
    at_least: Annotated[
        float | None, typer.Option("--kappa", help="A calibration's gate: the Fleiss kappa to reach.")
    ] = None,
    deadline: Annotated[str | None, typer.Option("--deadline", help="The last day, such as 2026-12-31.")] = None,
    database: Database = None,
) -> None:
    """Add a phase after those that a project has. It waits until it is opened.

    Examples:

        davy project add-phase pilot 4 --kind production --answers 3 --posts more.jsonl

        davy project add-phase pilot check --kind calibration --kappa 0.6 --posts set.csv
    """
    from davy.files.tables import read_posts

    plan = phase_plan(phase, kind, at_least=at_least, answers=answers, deadline=deadline)
    frame = read_posts(posts) if posts else None
    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        made = make.add_phase(db, found, plan, scheme_of(db, found), by=events.SHELL, frame=frame)
    console.note(
        f"Phase {made.name} has {made.size:,} posts and waits. Open it: davy project open {project} {made.name}"
    )


def add_posts(
    project: Name,
    phase: PhaseName,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of posts.")],
    gold: Gold = None,
    seed: Annotated[int, typer.Option("--seed", help="For the order of the posts.")] = 0,
    database: Database = None,
) -> None:
    """Add posts to a phase that is open or waits. A training or screening needs columns such as QUESTION.gold.

    Examples:

        davy project add-posts pilot 3 more.jsonl
    """

    frames = read_posts(files, gold)
    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        into, asked = phases.by_name(db, project, phase), scheme_of(db, found)
        n = sum(make.add_posts(db, found, into, frame, asked, by=events.SHELL, seed=seed) for frame in frames)
    console.note(f"{n:,} posts were added to phase {phase}.")


def _go(project: str, name: str, what: str, anyway: str | None, database: str | None) -> None:

    with open_store(database) as store, store.write() as db:
        chosen = projects.get(db, project)
        phase = phases.by_name(db, project, name)
        act = phase_gates.open_phase if what == "open" else phase_gates.close_phase
        try:
            done = act(db, chosen, phase, by=events.SHELL, anyway=anyway)
        except phase_gates.PhaseNotReady as error:
            raise UserError(f"{error.message} To go on all the same: --anyway REASON") from None
    console.note(f"Phase {done.name} is {done.state}.")


def hide(
    project: Name,
    ids: Annotated[list[str], typer.Argument(metavar="IDS…", help="Ids of posts, or files with one a line.")],
    show: Annotated[bool, typer.Option("--undo", help="Show them again instead.")] = False,
    database: Database = None,
) -> None:
    """Hide posts of a project, such as a test set: managers see them, others only where a phase gives them one.

    Examples:

        davy project hide pilot test-ids.txt

        davy project hide pilot p17 p18 --undo
    """

    wanted = [post for one in ids for post in (_lines(Path(one)) if Path(one).is_file() else [one])]
    with open_store(database) as store, store.write() as db:
        projects.get(db, project)
        n = posts.set_hidden(db, project, list(dict.fromkeys(wanted)), hidden=not show, by=events.SHELL)
    console.note(f"{n:,} posts of project {project!r} are {'shown' if show else 'hidden'} now.")


def _lines(path: Path) -> list[str]:
    from davy.files.atomic import read_text

    return [line.strip() for line in read_text(path, "ids").splitlines() if line.strip()]
