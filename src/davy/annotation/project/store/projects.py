"""Projects: a scheme's questions asked about posts by a roster of people. Their phases and members have modules.

What a project's settings say is read elsewhere (`project.settings`); here they are kept whole, and every change of them
is an event with the sections it touched. A project begins with a copy of its scheme's guidelines; what it publishes is
its own, only grows, and is seen by its people alone.
"""

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, literal, select

from davy.annotation.project.project import Member, Project
from davy.annotation.project.store.tables import IS_THERE, MEMBERS, PROJECTS, members, project_guidelines, projects
from davy.core import Guideline, UserError, Wording
from davy.core.errors import nearest
from davy.schemes.store.schemes import guideline_content, guidelines, schemes
from davy.store import events
from davy.store.columns import now

_ONE = PROJECTS.select(projects.c.id == bindparam("project"), IS_THERE)
_NEWEST = (projects.c.state.desc(), projects.c.created_at.desc(), projects.c.id)
"""Open ones first, newest first."""
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
_COPIED = "version content digest changes added_at added_by".split()  # noqa: SIM905


def create(
    db: Connection,
    *,
    id: str,
    title: str,
    scheme: str,
    scheme_version: int,
    settings: Mapping[str, Any],
    by: str,
) -> Project:
    """Add a project and return it; its scheme must be in the database."""
    check_name(db, id)
    title = check_title(title)
    known = select(schemes.c.name).where(schemes.c.name == scheme, schemes.c.version == scheme_version)
    if not db.execute(known).first():
        raise UserError(
            f"Scheme {scheme!r} version {scheme_version} is not in this database. Add it first.", status=404
        )
    PROJECTS.insert(db, Project(id, title, scheme, scheme_version, settings, "open", now(), by))
    events.record(
        db, by=by, what="project created", about=f"project {id}", scheme=scheme, scheme_version=scheme_version
    )
    made = get(db, id)
    copy_guidelines(db, made)
    return made


def check_name(db: Connection, name: str) -> None:
    """Refuse a name that is not one, or that a project has."""
    if not _ID.fullmatch(name):
        raise UserError(f"{name[:60]!r} can't name a project. Use a-z, 0-9 and hyphens, at most 60, such as pilot-2.")
    if find(db, name) is not None:
        raise UserError(f"There is a project {name!r} already. Choose another name.", status=409)
    if name in taken_names(db):
        raise UserError(f"A deleted project has the name {name!r}. Restore it, or choose another name.", status=409)


def taken_names(db: Connection) -> set[str]:
    """Return the ids that no new project can have, also those of deleted projects that can be restored."""
    return set(db.scalars(select(projects.c.id)))


def check_title(title: str) -> str:
    """Return a title without spaces around it; one that is empty or too long is refused."""
    title = title.strip()
    if not title or len(title) > 200:
        raise UserError(f"A project's title has 1 to 200 characters, this one has {len(title)}.")
    return title


def get(db: Connection, project_id: str) -> Project:
    """Return the project with this id."""
    project = find(db, project_id)
    if project is None:
        names = list(db.scalars(select(projects.c.id).where(IS_THERE).order_by(projects.c.id).limit(1000)))
        raise UserError(f"There is no project {project_id[:60]!r}.{nearest(project_id, names)}", status=404)
    return project


def find(db: Connection, project_id: str) -> Project | None:
    """Return the project with this id, or None."""
    row = db.execute(_ONE, {"project": project_id}).one_or_none()
    return None if row is None else PROJECTS.read(row)


def list_projects(db: Connection) -> list[Project]:
    """Return all projects, open ones first, newest first."""
    return PROJECTS.list(db, PROJECTS.select(IS_THERE).order_by(*_NEWEST))


def of_user(db: Connection, user_id: str, *, left: bool = False) -> list[tuple[Project, Member]]:
    """Return the projects that a person is in, open ones first, each with their membership; `left` adds those left."""
    query = MEMBERS.select(members.c.user_id == user_id)
    query = query if left else query.where(members.c.left_at.is_(None))
    mine = {member.project: member for member in MEMBERS.list(db, query)}
    if not mine:
        return []
    found = PROJECTS.list(db, PROJECTS.select(projects.c.id.in_(list(mine)), IS_THERE).order_by(*_NEWEST))
    return [(project, mine[project.id]) for project in found]


def change_settings(db: Connection, project_id: str, settings: Mapping[str, Any], *, by: str) -> Project:
    """Replace a project's settings; the event names the sections that changed."""
    before = get(db, project_id).settings
    changed = sorted(key for key in {*before, *settings} if before.get(key) != settings.get(key))
    if changed:
        PROJECTS.update(db, projects.c.id == project_id, settings=settings)
        events.record(db, by=by, what="project settings changed", about=f"project {project_id}", sections=changed)
    return get(db, project_id)


def rename(db: Connection, project_id: str, title: str, *, by: str) -> Project:
    """Change a project's title; its address stays."""
    was, title = get(db, project_id), check_title(title)
    if title != was.title:
        PROJECTS.update(db, projects.c.id == project_id, title=title)
        events.record(db, by=by, what="project renamed", about=f"project {project_id}", title=title)
    return get(db, project_id)


def close(db: Connection, project_id: str, *, by: str) -> Project:
    """Close a project: nobody labels in it any more; pages and exports stay."""
    return _set_state(db, project_id, "closed", by=by)


def reopen(db: Connection, project_id: str, *, by: str) -> Project:
    """Open a closed project again."""
    return _set_state(db, project_id, "open", by=by)


def _set_state(db: Connection, project_id: str, state: str, *, by: str) -> Project:
    if get(db, project_id).state != state:
        closed_at = now() if state == "closed" else None
        PROJECTS.update(db, projects.c.id == project_id, state=state, closed_at=closed_at)
        what = "project closed" if state == "closed" else "project reopened"
        events.record(db, by=by, what=what, about=f"project {project_id}")
    return get(db, project_id)


def copy_guidelines(db: Connection, project: Project) -> None:
    """Give a new project the guidelines of its scheme."""
    theirs = select(literal(project.id), *(guidelines.c[name] for name in _COPIED)).where(
        guidelines.c.scheme == project.scheme, guidelines.c.scheme_version == project.scheme_version
    )
    db.execute(insert(project_guidelines).from_select(["project", *_COPIED], theirs))


def add_guideline(db: Connection, project: Project, guideline: Guideline, *, by: str) -> None:
    """Add the next version of a project's guideline."""
    content, digest = guideline_content(guideline)
    mine = project_guidelines.c.project == project.id
    newest = db.scalar(select(func.max(project_guidelines.c.version)).where(mine)) or 0
    if guideline.version <= newest:
        raise UserError(
            f"Project {project.id!r} has guideline {newest} already; a new one is {newest + 1}.", status=409
        )
    db.execute(
        insert(project_guidelines).values(
            project=project.id,
            version=guideline.version,
            content=content,
            digest=digest,
            changes=guideline.changes,
            added_at=now(),
            added_by=by,
        )
    )
    events.record(db, by=by, what="guideline added", about=f"project {project.id}", guideline=guideline.version)


def guidelines_of(db: Connection, project_id: str) -> list[Guideline]:
    """Return the guidelines of a project, oldest first."""
    query = select(project_guidelines).where(project_guidelines.c.project == project_id)
    return [
        Guideline(
            row.version,
            Wording(row.content["text"]),
            {note: Wording(words) for note, words in row.content["notes"].items()},
            row.changes,
        )
        for row in db.execute(query.order_by(project_guidelines.c.version))
    ]
