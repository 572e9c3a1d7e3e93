"""`davy project`: make labelling projects from a file or a preset, and take them from phase to phase."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.cli import console
from davy.cli.database import Database, Json
from davy.core.errors import UserError

if TYPE_CHECKING:
    from davy.annotate.going_on import Standing
    from davy.annotate.project_file import Plan

app = typer.Typer(
    no_args_is_help=True,
    help="Make labelling projects, and take them from phase to phase.\n\n"
    "Presets edos, gmhp7k, hatemoji-check and hateful-memes follow the papers.",
)

Name = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]
PhaseName = Annotated[str, typer.Argument(metavar="PHASE", help="The phase's name.")]
Anyway = Annotated[
    str | None, typer.Option("--anyway", help="Go on although the phase's rule says not yet; give the reason.")
]
Posts = Annotated[
    list[Path] | None,
    typer.Option("--posts", help="A file of posts (CSV, TSV, JSONL, Parquet). Give it several times for several."),
]


Gold = Annotated[
    list[str] | None,
    typer.Option("--gold", help="QUESTION=COLUMN: where the right answers are, unless the column is QUESTION.gold."),
]


@app.command()
def create(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A project's YAML file, or the name of a preset.")],
    posts: Posts = None,
    gold: Gold = None,
    name: Annotated[str | None, typer.Option("--name", help="Another name than the file's.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Another title than the file's.")] = None,
    manager: Annotated[str | None, typer.Option("--manager", help="The login of who will run it.")] = None,
    base_url: Annotated[str, typer.Option("--base-url", help="Where people reach the server, for links.")] = "",
    database: Database = None,
    json: Json = False,
) -> None:
    """Make a project: its scheme, posts, phases and roster, all of it or nothing.

    Examples:

        davy project create pilot.yaml --posts sample.jsonl

        davy project create gmhp7k --name our-corpus --posts posts.csv --manager lin

        davy project create edos --name pilot --posts edos.csv --gold sexist=label_sexist
    """
    from dataclasses import replace

    from davy.annotate import create as make
    from davy.annotate import project_file
    from davy.store import events, members, open_store, users

    plan = project_file.read(file)
    plan = replace(plan, name=name or plan.name, title=title or plan.title)
    folder = Path(file).parent if file not in project_file.presets() else Path()
    files = [folder / it.file for it in plan.phases if it.file]
    frames = _posts([*files, *(folder / it for it in plan.posts), *(posts or ())], gold)
    own = dict(zip((it.file for it in plan.phases if it.file), frames, strict=False))
    pool = frames[len(files) :]
    scheme = _scheme_file(plan, folder)
    with open_store(database) as store, store.write() as db:
        by = users.find(db, manager).id if manager else events.SHELL
        made = make.create(db, plan, by=by, posts_in=pool, files=own, scheme=scheme)
        on_roster = len(members.of_project(db, made.project.id))
    links = {login: f"{base_url.rstrip('/')}/invitation/{token}" for login, token in made.links}
    if json:
        console.json({**_about(made.project), "phases": [_phase(it) for it in made.phases], "invitations": links})
        return
    console.table(
        ["phase", "kind", "posts", "answers a post"],
        [(it.name, it.kind, f"{it.size:,}", it.answers or "everyone") for it in made.phases],
        title=f"Project {made.project.id}: {made.project.title}",
        right=["posts"],
    )
    for login, link in links.items():
        print(f"{login}\t{link}")
    if links:
        console.note("Send each person their link; it works once and is not shown again.")
    if not on_roster:
        console.note(
            f"Nobody is on its roster yet. Invite people: davy project invite {made.project.id} --role manager"
        )


@app.command("list")
def list_(database: Database = None, json: Json = False) -> None:
    """List the projects.

    Examples:

        davy project list

        davy project list --json
    """
    from davy.store import members, open_store, phases, projects

    with open_store(database) as store, store.read() as db:
        found = [
            (it, phases.of_project(db, it.id), len(members.of_project(db, it.id))) for it in projects.everything(db)
        ]
    if json:
        console.json([{**_about(it), "phases": [_phase(phase) for phase in steps]} for it, steps, _ in found])
        return
    if not found:
        console.note("There are no projects yet. Make one: davy project create gmhp7k --name pilot --posts posts.csv")
        return
    rows = [
        (
            it.id,
            it.title,
            f"{it.scheme} {it.scheme_version}",
            ", ".join(phase.name for phase in steps if phase.state == "open") or "–",
            people,
            it.state,
        )
        for it, steps, people in found
    ]
    console.table(["name", "title", "scheme", "open phases", "people", "state"], rows, right=["people"])


@app.command()
def show(project: Name, database: Database = None, json: Json = False) -> None:
    """Show a project's phases: posts, answers in all and per person, and what keeps each from going on.

    Examples:

        davy project show pilot
    """
    from davy.annotate import going_on
    from davy.store import open_store, projects

    with open_store(database) as store, store.read() as db:
        found = projects.get(db, project)
        rows = going_on.standings(db, found)
    if json:
        console.json({**_about(found), "phases": [{**_phase(it.phase), **_standing(it)} for it in rows]})
        return
    console.table(
        ["phase", "kind", "state", "posts", "answers", "per person", "what is next"],
        [
            (
                it.phase.name,
                it.phase.kind,
                it.phase.state,
                f"{it.phase.size:,}",
                f"{it.answers:,}",
                _per_person(it),
                it.closes or it.opens or it.next or ("open it" if it.may_open and it.phase.state == "waiting" else ""),
            )
            for it in rows
        ],
        title=f"Project {found.id}: {found.title} ({found.scheme} {found.scheme_version}, {found.state})",
        right=["posts", "answers", "per person"],
    )


@app.command("open")
def open_(project: Name, phase: PhaseName, anyway: Anyway = None, database: Database = None) -> None:
    """Open a phase, so that people can work in it. Its rule must allow it.

    Examples:

        davy project open pilot 2a

        davy project open pilot 3 --anyway "the pilot was enough"
    """
    _go(project, phase, "open", anyway, database)


@app.command()
def close(project: Name, phase: PhaseName, anyway: Anyway = None, database: Database = None) -> None:
    """Close a phase. Its rule must allow it.

    Examples:

        davy project close pilot 2a
    """
    _go(project, phase, "close", anyway, database)


@app.command("next-set")
def next_set(
    project: Name,
    phase: PhaseName,
    n: Annotated[int, typer.Option("--posts", help="How many posts to take from the production that waits.")] = 46,
    database: Database = None,
) -> None:
    """Add another calibration set after one whose gate stayed shut: 2b after 2a.

    Examples:

        davy project next-set pilot 2a --posts 43
    """
    from davy.annotate import create as make
    from davy.store import events, open_store, phases, projects

    if n < 1:
        raise UserError(f"--posts is {n}. A set has at least 1 post.")
    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        made = make.next_set(db, found, phases.by_name(db, project, phase), n=n, by=events.SHELL)
    console.note(
        f"Phase {made.name} has {made.size:,} posts and waits. Open it: davy project open {project} {made.name}"
    )


@app.command("add-phase")
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
        float | None, typer.Option("--at-least", help="A calibration's gate: the Fleiss kappa to reach.")
    ] = None,
    deadline: Annotated[str | None, typer.Option("--deadline", help="The last day, such as 2026-12-31.")] = None,
    database: Database = None,
) -> None:
    """Add a phase after those that a project has. It waits until it is opened.

    Examples:

        davy project add-phase pilot 4 --kind production --answers 3 --posts more.jsonl

        davy project add-phase pilot check --kind calibration --at-least 0.6 --posts set.csv
    """
    from davy.annotate import create as make
    from davy.annotate.current import scheme_of
    from davy.annotate.project_file import PhasePlan
    from davy.annotate.settings import Gate
    from davy.collect.whole import posts_in
    from davy.store import events, open_store, projects

    try:
        gate = Gate(at_least=at_least) if at_least is not None else None
        plan = PhasePlan(phase, kind, answers=answers, gate=gate, deadline=deadline)
    except ValueError as error:
        raise UserError(f"{error}.") from None
    frame = posts_in(posts) if posts else None
    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        made = make.add_phase(db, found, plan, scheme_of(db, found), by=events.SHELL, frame=frame)
    console.note(
        f"Phase {made.name} has {made.size:,} posts and waits. Open it: davy project open {project} {made.name}"
    )


@app.command("add-posts")
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
    from davy.annotate import create as make
    from davy.annotate.current import scheme_of
    from davy.store import events, open_store, phases, projects

    frames = _posts(files, gold)
    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        into, asked = phases.by_name(db, project, phase), scheme_of(db, found)
        n = sum(make.add_posts(db, found, into, frame, asked, by=events.SHELL, seed=seed) for frame in frames)
    console.note(f"{n:,} posts were added to phase {phase}.")


@app.command()
def invite(
    project: Name,
    login: Annotated[str | None, typer.Option("--login", help="Who: with an account they join at once.")] = None,
    role: Annotated[
        list[str] | None, typer.Option("--role", help="manager, expert, annotator or wellbeing; several are fine.")
    ] = None,
    pool: Annotated[str | None, typer.Option("--pool", help="The pool they belong to, such as trained.")] = None,
    days: Annotated[float, typer.Option("--days", help="How long the link works.")] = 7,
    base_url: Annotated[str, typer.Option("--base-url", help="Where people reach the server.")] = "",
    database: Database = None,
    json: Json = False,
) -> None:
    """Put somebody on the roster: an account at once, others by a link that works once.

    Examples:

        davy project invite pilot --login lin@example.org

        davy project invite pilot --role expert --role manager --days 2
    """
    from datetime import timedelta

    from davy.store import events, invitations, members, open_store, projects, users

    if not 0 < days <= 365:
        raise UserError(f"--days is {days:g}. An invitation lasts more than 0 and at most 365 days.")
    roles = role or ["annotator"]
    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        known = users.by_login(db, login) if login else None
        if known is not None:
            member = members.add(db, found.id, known.id, roles, by=events.SHELL, pool=pool)
        else:
            made, token = invitations.create(
                db,
                role="annotator",
                login=login,
                by=events.SHELL,
                lasts=timedelta(days=days),
                project=found.id,
                project_roles=roles,
                pool=pool,
            )
    if known is not None:
        if json:
            console.json({"login": known.login, "roles": list(member.roles), "pseudonym": member.pseudonym})
        console.note(f"{known.login} is on the roster of {found.id} as {', '.join(member.roles)}.")
        return
    link = f"{base_url.rstrip('/')}/invitation/{token}"
    if json:
        console.json({"link": link, "roles": list(made.project_roles), "expires_at": made.expires_at.isoformat()})
        return
    print(link)
    console.note(
        f"For one {', '.join(made.project_roles)}, until {made.expires_at:%Y-%m-%d %H:%M} UTC. Shown only now."
    )


@app.command()
def roster(project: Name, database: Database = None, json: Json = False) -> None:
    """List who is in a project, and the invitations that nobody has used yet.

    Examples:

        davy project roster pilot
    """
    from davy.store import invitations, members, open_store, projects, users

    with open_store(database) as store, store.read() as db:
        found = projects.get(db, project)
        people = [(it, users.get(db, it.user)) for it in members.of_project(db, found.id, left=True)]
        links = invitations.unused(db, project=found.id)
    if json:
        console.json(
            {
                "members": [
                    {
                        "login": user.login,
                        "pseudonym": it.pseudonym,
                        "roles": list(it.roles),
                        "pool": it.pool,
                        "left": it.left_at is not None,
                    }
                    for it, user in people
                ],
                "invitations": [
                    {"login": it.login, "roles": list(it.project_roles), "state": it.state} for it in links
                ],
            }
        )
        return
    rows = [
        (user.login, it.pseudonym, ", ".join(it.roles), it.pool or "", "left" if it.left_at else "")
        for it, user in people
    ]
    rows += [
        (it.login or "anyone", "", ", ".join(it.project_roles), it.pool or "", f"invitation, {it.state}")
        for it in links
    ]
    console.table(["login", "pseudonym", "roles", "pool", "state"], rows)


def _posts(paths: list[Path], gold: list[str] | None) -> list[Any]:
    """Return the posts of files, with the columns that hold right answers under the names that we know."""
    from davy.collect.whole import posts_in

    frames = [posts_in(path) for path in paths]
    for pair in gold or ():
        question, equals, column = pair.partition("=")
        if not equals or not question or not column:
            raise UserError(f"--gold is {pair!r}. Write a question and its column: --gold sexist=label_sexist")
        if not any(column in frame.columns for frame in frames):
            raise UserError(f"--gold names the column {column!r}, which none of the files has.")
        frames = [frame.rename({column: f"{question}.gold"}) if column in frame.columns else frame for frame in frames]
    return frames


def _go(project: str, name: str, what: str, anyway: str | None, database: str | None) -> None:
    from davy.annotate import going_on
    from davy.store import events, open_store, phases, projects

    with open_store(database) as store, store.write() as db:
        found = projects.get(db, project)
        phase = phases.by_name(db, project, name)
        act = going_on.open_phase if what == "open" else going_on.close_phase
        try:
            done = act(db, found, phase, by=events.SHELL, anyway=anyway)
        except going_on.NotYet as error:
            raise UserError(f"{error.message} To go on all the same: --anyway REASON") from None
    console.note(f"Phase {done.name} is {done.state}.")


def _scheme_file(plan: Plan, folder: Path) -> Any:
    """Return the scheme of a plan that names a file, with its text; None where it names one by its name."""
    if Path(plan.scheme).suffix not in (".yaml", ".yml"):
        return None
    from davy import schemes

    path = folder / plan.scheme
    return schemes.read(path), path.read_text(encoding="utf-8")


def _about(project: Any) -> dict[str, Any]:
    return {
        "name": project.id,
        "title": project.title,
        "scheme": project.scheme,
        "scheme_version": project.scheme_version,
        "state": project.state,
        "created_at": project.created_at.isoformat(),
    }


def _phase(phase: Any) -> dict[str, Any]:
    return {
        "name": phase.name,
        "kind": phase.kind,
        "state": phase.state,
        "posts": phase.size,
        "answers_a_post": phase.answers,
        "in_corpus": phase.in_corpus,
    }


def _standing(it: Standing) -> dict[str, Any]:
    return {
        "answers": it.answers,
        "per_person": it.per_person,
        "may_open": it.may_open,
        "may_close": it.may_close,
        "why_not": str(it.opens or it.closes or "") or None,
        "next": it.next,
    }


def _per_person(it: Standing) -> str:
    if it.per_person is None:
        return "–"
    return f"{it.per_person:,.0f}" if it.phase.answers is None else f"Ø {it.per_person:,.0f}"
