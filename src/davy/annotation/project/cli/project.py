"""`davy project`: make labelling projects from a file or a preset, look at them, and put people on their rosters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy import schemes
from davy.annotation.project import images as pictures
from davy.annotation.project import phase_gates, project_file
from davy.annotation.project import project_creation as make
from davy.annotation.project.roster import Joined
from davy.annotation.project.roster import invite as invite_to
from davy.annotation.project.store import members, phases, projects
from davy.core.errors import UserError
from davy.core.gold import name_gold
from davy.people.cli.invitation_link import BaseUrl, invitation_link, invitation_time, note_address
from davy.people.store import invitations, users
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store

if TYPE_CHECKING:
    from davy.annotation.project.phase_gates import PhaseStatus
    from davy.annotation.project.project_file import ProjectPlan


app = typer.Typer(
    no_args_is_help=True,
    help="Make labelling projects, and take them from phase to phase.\n\n"
    "Presets edos, gmhp7k, hatemoji-check and hateful-memes follow the papers.",
)

Name = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]
Posts = Annotated[
    list[Path] | None,
    typer.Option("--posts", help="A file of posts (CSV, TSV, JSONL, Parquet). Give it several times for several."),
]
Gold = Annotated[
    list[str] | None,
    typer.Option("--gold", help="QUESTION=COLUMN: where the right answers are, unless the column is QUESTION.gold."),
]

Licence = Annotated[str | None, typer.Option("--licence", help="Of the pictures, where their credits.csv has none.")]
CreditLine = Annotated[str | None, typer.Option("--credit", help="Who made the pictures, for exports.")]


@app.command()
def create(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A project's YAML file, or the name of a preset.")],
    posts: Posts = None,
    gold: Gold = None,
    name: Annotated[str | None, typer.Option("--name", help="Another name than the file's.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Another title than the file's.")] = None,
    manager: Annotated[str | None, typer.Option("--manager", help="The login of who will run it.")] = None,
    images: Annotated[
        Path | None, typer.Option("--images", help="The folder with the pictures that posts name in a column `image`.")
    ] = None,
    licence: Licence = None,
    credit: CreditLine = None,
    base_url: BaseUrl = "",
    database: Database = None,
    json: Json = False,
) -> None:
    """Make a project: its scheme, posts, phases and roster, all of it or nothing.

    Examples:

        davy project create pilot.yaml --posts sample.jsonl

        davy project create gmhp7k --name our-corpus --posts posts.csv --manager lin

        davy project create edos --name pilot --posts edos.csv --gold sexist=label_sexist

        davy project create hateful-memes --name memes --posts memes.jsonl --images img/ --licence CC-BY-4.0
    """
    from contextlib import ExitStack
    from dataclasses import replace

    plan = project_file.read_plan(file)
    plan = replace(plan, name=name or plan.name, title=title or plan.title)
    folder = Path(file).parent if file not in project_file.preset_names() else Path()
    files = [folder / it.file for it in plan.phases if it.file]
    frames = read_posts([*files, *(folder / it for it in plan.posts), *(posts or ())], gold)
    own = dict(zip((it.file for it in plan.phases if it.file), frames, strict=False))
    pool = frames[len(files) :]
    scheme = _scheme_file(plan, folder)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(database))
        stored = None
        if images is not None:
            files_in, wanted = pictures.pictures_in_folder(images), pictures.wanted_names(frames)
            about = pictures.Credit(licence, credit)
            stored = stack.enter_context(pictures.storing_pictures(store, files_in, wanted, credit=about))
        db = stack.enter_context(store.write())
        by = users.find(db, manager).id if manager else events.SHELL
        preset = file in project_file.preset_names()
        made = make.create_project(db, plan, by=by, posts_in=pool, files=own, scheme=scheme, preset=preset)
        pictures.add_pictures(db, made.project.id, stored, by=by)
        missing = pictures.missing_names(db, made.project.id)
        on_roster = len(members.of_project(db, made.project.id))
    links = {login: invitation_link(base_url, token) for login, token in made.links}
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
        note_address(base_url)
    if made.left_out:
        console.note(
            f"Left out, since no post has right answers (columns such as QUESTION.gold): {', '.join(made.left_out)}."
        )
    if preset and plan.settings.consent:
        console.note("People read the preset's consent text as it is. See whether it is true: the page Settings.")
    if missing:
        console.note(
            f"Posts name {len(missing):,} pictures that are not here yet. Add them: "
            f"davy project images {made.project.id} FOLDER"
        )
    if not on_roster:
        console.note(
            f"Nobody is on its roster yet. Invite people: davy project invite {made.project.id} --role manager"
        )


@app.command("images")
def add_images(
    project: Name,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder with the pictures.")],
    licence: Licence = None,
    credit: CreditLine = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Add the pictures that a project's posts name and that are not here yet; others are left out.

    A file credits.csv in the folder says whose each is: name, licence, credit, source.

    Examples:

        davy project images memes img/

        davy project images memes img/ --licence CC-BY-4.0 --credit "Lin Example"
    """

    files = pictures.pictures_in_folder(folder)
    with open_store(database) as store:
        with store.read() as db:
            projects.get(db, project)
        about = pictures.Credit(licence, credit)
        n, missing = pictures.add_missing(store, project, files, by=events.SHELL, credit=about)
    if json:
        console.json({"project": project, "added": n, "missing": missing})
        return
    print(f"{n:,} pictures were added to {project}.")
    if missing:
        listed = ", ".join(missing[:5])
        console.note(f"{len(missing):,} that posts name are still missing: {listed}{' …' if len(missing) > 5 else ''}")


@app.command("list")
def list_(database: Database = None, json: Json = False) -> None:
    """List the projects.

    Examples:

        davy project list

        davy project list --json
    """

    with open_store(database) as store, store.read() as db:
        listed = [
            (project, phases.of_project(db, project.id), len(members.of_project(db, project.id)))
            for project in projects.list_projects(db)
        ]
    if json:
        console.json(
            [{**_about(project), "phases": [_phase(phase) for phase in steps]} for project, steps, _ in listed]
        )
        return
    if not listed:
        console.note("There are no projects yet. Make one: davy project create gmhp7k --name pilot --posts posts.csv")
        return
    rows = [
        (
            project.id,
            project.title,
            f"{project.scheme} {project.scheme_version}",
            ", ".join(phase.name for phase in steps if phase.state == "open") or "–",
            people,
            project.state,
        )
        for project, steps, people in listed
    ]
    console.table(["name", "title", "scheme", "open phases", "people", "state"], rows, right=["people"])


@app.command()
def show(project: Name, database: Database = None, json: Json = False) -> None:
    """Show a project's phases: posts, answers in all and per person, and what keeps each from going on.

    Examples:

        davy project show pilot
    """

    with open_store(database) as store, store.read() as db:
        shown = projects.get(db, project)
        rows = phase_gates.phase_statuses(db, shown)
    if json:
        console.json({**_about(shown), "phases": [{**_phase(row.phase), **_status_row(row)} for row in rows]})
        return
    console.table(
        ["phase", "kind", "state", "posts", "answers", "per person", "what is next"],
        [
            (
                row.phase.name,
                row.phase.kind,
                row.phase.state,
                f"{row.phase.size:,}",
                f"{row.answers:,}",
                _per_person(row),
                row.closes
                or row.opens
                or row.next
                or ("open it" if row.may_open and row.phase.state == "waiting" else ""),
            )
            for row in rows
        ],
        title=f"Project {shown.id}: {shown.title} ({shown.scheme} {shown.scheme_version}, {shown.state})",
        right=["posts", "answers", "per person"],
    )


def read_posts(paths: list[Path], gold: list[str] | None) -> list[Any]:
    """Return the posts of files, with the columns that hold right answers under the names that we know."""
    from davy.files.tables import read_posts

    frames = [read_posts(path) for path in paths]
    for pair in gold or ():
        column = pair.rpartition("=")[2]
        if not any(column in frame.columns for frame in frames):
            raise UserError(f"--gold names the column {column!r}, which none of the files has.")
        frames = [name_gold(frame, [pair], ()).drop(column) if column in frame.columns else frame for frame in frames]
    return frames


def _scheme_file(plan: ProjectPlan, folder: Path) -> Any:
    """Return the scheme of a plan that names a file, with its text; None where it names one by its name."""
    if Path(plan.scheme).suffix not in (".yaml", ".yml"):
        return None

    path = folder / plan.scheme
    return schemes.read(path), path.read_text(encoding="utf-8")


def _about(project: Any) -> dict[str, Any]:
    return {"name": project.id, **console.record(project, "title", "scheme", "scheme_version", "state", "created_at")}


def _phase(phase: Any) -> dict[str, Any]:
    about = {"posts": phase.size, "answers_a_post": phase.answers, "in_corpus": phase.in_corpus}
    return {**console.record(phase, "name", "kind", "state"), **about}


def _status_row(it: PhaseStatus) -> dict[str, Any]:
    why_not = str(it.opens or it.closes or "") or None
    return {**console.record(it, "answers", "per_person", "may_open", "may_close"), "why_not": why_not, "next": it.next}


def _per_person(it: PhaseStatus) -> str:
    if it.per_person is None:
        return "–"
    return f"{it.per_person:,.0f}" if it.phase.answers is None else f"Ø {it.per_person:,.0f}"


def invite(
    project: Name,
    login: Annotated[str | None, typer.Option("--login", help="Who: with an account they join at once.")] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="manager, expert, annotator, wellbeing or adversarial; several are fine."),
    ] = None,
    pool: Annotated[str | None, typer.Option("--pool", help="The pool they belong to, such as trained.")] = None,
    days: Annotated[float, typer.Option("--days", help="How long the link works.")] = 7,
    base_url: BaseUrl = "",
    database: Database = None,
    json: Json = False,
) -> None:
    """Put somebody on the roster: an account at once, others by a link that works once.

    Examples:

        davy project invite pilot --login lin@example.org

        davy project invite pilot --role expert --role manager --days 2
    """
    lasts = invitation_time(days)
    with open_store(database) as store, store.write() as db:
        chosen = projects.get(db, project)
        came = invite_to(db, chosen.id, login, role or ["annotator"], by=events.SHELL, lasts=lasts, pool=pool)
    if isinstance(came, Joined):
        known, member = came.user, came.member
        if json:
            console.json({"login": known.login, "roles": list(member.roles), "pseudonym": member.pseudonym})
        console.note(f"{known.login} is on the roster of {chosen.id} as {', '.join(member.roles)}.")
        return
    made, link = came.invitation, invitation_link(base_url, came.token)
    if json:
        console.json({"link": link, "roles": list(made.project_roles), "expires_at": made.expires_at.isoformat()})
        return
    print(link)
    console.note(
        f"For one {', '.join(made.project_roles)}, until {made.expires_at:%Y-%m-%d %H:%M} UTC. Shown only now."
    )
    note_address(base_url)


def roster(project: Name, database: Database = None, json: Json = False) -> None:
    """List who is in a project, and the invitations that nobody has used yet.

    Examples:

        davy project roster pilot
    """

    with open_store(database) as store, store.read() as db:
        found = projects.get(db, project)
        people = [(it, users.get(db, it.user)) for it in members.of_project(db, found.id, left=True)]
        links = invitations.list_unused(db, project=found.id)
    if json:
        console.json(
            {
                "members": [
                    {
                        "login": user.login,
                        "pseudonym": member.pseudonym,
                        "roles": list(member.roles),
                        "pool": member.pool,
                        "left": member.left_at is not None,
                    }
                    for member, user in people
                ],
                "invitations": [
                    {"login": link.login, "roles": list(link.project_roles), "state": link.state} for link in links
                ],
            }
        )
        return
    rows = [
        (user.login, member.pseudonym, ", ".join(member.roles), member.pool or "", "left" if member.left_at else "")
        for member, user in people
    ]
    rows += [
        (link.login or "anyone", "", ", ".join(link.project_roles), link.pool or "", f"invitation, {link.state}")
        for link in links
    ]
    console.table(["login", "pseudonym", "roles", "pool", "state"], rows)
