"""Posts for tests of single tables: their key is their id, as in a database from before the two were told apart."""

from __future__ import annotations

from sqlalchemy import update

from davy.annotation.project.store import posts
from davy.annotation.project.store import tables as project_tables
from davy.core import Post
from davy.store import Connection


def add_post(db: Connection, post: Post, *, project: str | None = None) -> str:
    """Add a post whose key is its id, and return that."""
    key = posts.add(db, post, project=project, by="shell")
    db.execute(update(project_tables.posts).where(project_tables.posts.c.id == key).values(id=post.id))
    return post.id
