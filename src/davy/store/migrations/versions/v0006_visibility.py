"""Who may see which post: posts, guidelines and jobs belong to a project.

A post keeps its key, and gains the id that people see, which is unique within its project or on the shared shelf.
Where posts of today go:

- what one project uses becomes that project's;
- what several projects use becomes the first one's, and each other project gets a copy with its own key: their items,
  answers, verdicts, cases, messages and codes move over to it;
- what was published for everybody (it has verdicts or answers of no project) stays on the shelf, and each project that
  uses it gets a copy;
- what nothing uses stays on the shelf, hidden: it was given to some project that did not deal it out, and we can't tell
  to which.
"""

import json

import sqlalchemy as sa
from alembic import op

from davy.store.columns import new_id

revision = "0006"
down_revision = "0005"

_WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_MOMENT = sa.DateTime(timezone=True)
_CHUNK = 500
_COPIED = "text lang image source licence collected_at found parent meta added_at public_id author hidden"
_HAVE_PROJECT = ("annotations", "verdicts", "cases", "messages")


def upgrade() -> None:
    """Give posts, guidelines and jobs to their projects."""
    db = op.get_bind()
    op.drop_index("ix_posts_source", table_name="posts")
    op.add_column("posts", sa.Column("public_id", _WORDS, nullable=False, server_default=""))
    op.add_column("posts", sa.Column("project", _WORDS))
    op.add_column("posts", sa.Column("author", _WORDS))
    op.add_column("posts", sa.Column("hidden", sa.Integer(), nullable=False, server_default="0"))
    db.execute(sa.text("UPDATE posts SET public_id = id"))
    _fill_authors(db)
    _give_to_projects(db)
    for name, columns, condition in (
        ("uq_posts_project", ["project", "public_id"], sa.text("project IS NOT NULL")),
        ("uq_posts_shelf", ["public_id"], sa.text("project IS NULL")),
    ):
        op.create_index(name, "posts", columns, unique=True, sqlite_where=condition, postgresql_where=condition)
    _guidelines(db)
    _jobs(db)


def _fill_authors(db: sa.Connection) -> None:
    """Take the author of a post out of its meta, where only a search through text found it."""
    rows = db.execute(sa.text("SELECT id, meta FROM posts WHERE meta LIKE '%\"author\"%'")).all()
    authors = [(row.id, json.loads(row.meta).get("author")) for row in rows]
    _run(
        db,
        "UPDATE posts SET author = :author WHERE id = :id",
        [{"id": post, "author": author} for post, author in authors if isinstance(author, str)],
    )


def _give_to_projects(db: sa.Connection) -> None:
    parts = [
        "SELECT items.post, phases.project FROM items JOIN phases ON phases.id = items.phase",
        "SELECT coded.post, codes.project FROM coded JOIN codes ON codes.id = coded.code",
        *(f"SELECT post, project FROM {name} WHERE post IS NOT NULL AND project IS NOT NULL" for name in _HAVE_PROJECT),
    ]
    db.execute(sa.text(f"CREATE TEMPORARY TABLE users_of AS {' UNION '.join(parts)}"))
    db.execute(sa.text("CREATE INDEX ix_users_of ON users_of (post, project)"))
    published = (
        "(EXISTS (SELECT 1 FROM verdicts WHERE verdicts.post = posts.id AND verdicts.project IS NULL) OR "
        "EXISTS (SELECT 1 FROM annotations WHERE annotations.post = posts.id AND annotations.project IS NULL))"
    )
    first = "(SELECT min(users_of.project) FROM users_of WHERE users_of.post = posts.id)"
    db.execute(sa.text(f"UPDATE posts SET project = {first} WHERE NOT {published}"))
    db.execute(sa.text(f"UPDATE posts SET hidden = 1 WHERE project IS NULL AND NOT {published}"))
    others = db.execute(
        sa.text(
            "SELECT users_of.post, users_of.project FROM users_of JOIN posts ON posts.id = users_of.post "
            "WHERE posts.project IS NULL OR posts.project <> users_of.project"
        )
    ).all()
    if others:
        _copy(db, [{"post": row.post, "project": row.project, "key": new_id()} for row in others])
    db.execute(sa.text("DROP TABLE users_of"))


def _copy(db: sa.Connection, copies: list[dict[str, str]]) -> None:
    """Give projects their own copy of posts, and move what they did with these over to it."""
    # As a part of `users_of`, so that its columns compare by the same collation as ours.
    db.execute(sa.text("CREATE TEMPORARY TABLE copies AS SELECT post, project, post AS key FROM users_of WHERE 1 = 0"))
    _run(db, "INSERT INTO copies (post, project, key) VALUES (:post, :project, :key)", copies)
    db.execute(sa.text("CREATE INDEX ix_copies ON copies (post, project)"))
    columns = ", ".join(_COPIED.split())
    theirs = ", ".join(f"posts.{name}" for name in _COPIED.split())
    db.execute(
        sa.text(
            f"INSERT INTO posts (id, project, {columns}) "
            f"SELECT copies.key, copies.project, {theirs} FROM copies JOIN posts ON posts.id = copies.post"
        )
    )
    _copy_published(db)
    projects_of = {
        "items": "(SELECT phases.project FROM phases WHERE phases.id = items.phase)",
        "coded": "(SELECT codes.project FROM codes WHERE codes.id = coded.code)",
        **{name: f"{name}.project" for name in _HAVE_PROJECT},
    }
    for name, project in projects_of.items():
        own = f"SELECT copies.key FROM copies WHERE copies.post = {name}.post AND copies.project = {project}"
        db.execute(sa.text(f"UPDATE {name} SET post = ({own}) WHERE EXISTS ({own})"))
    db.execute(sa.text("DROP TABLE copies"))


def _copy_published(db: sa.Connection) -> None:
    """Give copies the verdicts that a published corpus brought: a project's export holds them."""
    names = "scheme scheme_version question labels basis reason at by turn".split()  # noqa: SIM905
    verdicts = sa.table("verdicts", *(sa.column(name) for name in ("id", "post", "project", *names)))
    copies = sa.table("copies", sa.column("post"), sa.column("key"))
    query = sa.select(copies.c.key, *(verdicts.c[name] for name in names)).join_from(
        verdicts, copies, verdicts.c.post == copies.c.post
    )
    rows = db.execute(query.where(verdicts.c.project.is_(None))).all()
    made = [{"id": new_id(), "post": row[0], **dict(zip(names, row[1:], strict=True))} for row in rows]
    for start in range(0, len(made), _CHUNK):
        db.execute(sa.insert(verdicts), made[start : start + _CHUNK])


def _guidelines(db: sa.Connection) -> None:
    """Each project has its own history; it begins with the one that it shared."""
    op.create_table(
        "project_guidelines",
        sa.Column("project", _WORDS, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("digest", _WORDS, nullable=False),
        sa.Column("changes", _WORDS, nullable=False),
        sa.Column("added_at", _MOMENT, nullable=False),
        sa.Column("added_by", _WORDS, nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_project_guidelines_project")),
        sa.PrimaryKeyConstraint("project", "version", name=op.f("pk_project_guidelines")),
    )
    columns = "version, content, digest, changes, added_at, added_by"
    theirs = ", ".join(f"guidelines.{name}" for name in columns.split(", "))
    db.execute(
        sa.text(
            f"INSERT INTO project_guidelines (project, {columns}) SELECT projects.id, {theirs} FROM projects "
            "JOIN guidelines ON guidelines.scheme = projects.scheme "
            "AND guidelines.scheme_version = projects.scheme_version"
        )
    )


def _jobs(db: sa.Connection) -> None:
    """A job knows the project that it works for."""
    op.add_column("jobs", sa.Column("project", _WORDS))
    projects = {row.id: row.project for row in db.execute(sa.text("SELECT id, project FROM phases"))}
    known = set(projects.values()) | set(db.scalars(sa.text("SELECT id FROM projects")))
    rows = []
    for job, arguments in db.execute(sa.text("SELECT id, arguments FROM jobs")).all():
        given = json.loads(arguments)
        project = given.get("project") or projects.get(given.get("phase"))
        if project in known:
            rows.append({"id": job, "project": project})
    _run(db, "UPDATE jobs SET project = :project WHERE id = :id", rows)
    op.create_index(
        "ix_jobs_project",
        "jobs",
        ["project", "id"],
        sqlite_where=sa.text("project IS NOT NULL"),
        postgresql_where=sa.text("project IS NOT NULL"),
    )


def _run(db: sa.Connection, sql: str, rows: list[dict[str, str]]) -> None:
    for start in range(0, len(rows), _CHUNK):
        db.execute(sa.text(sql), rows[start : start + _CHUNK])
