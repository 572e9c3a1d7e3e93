"""The values that a column has, found by jumping from one to the next in an index, however many rows there are."""

from __future__ import annotations

from sqlalchemy import Column, ColumnElement, Connection, func, select


def distinct_values(db: Connection, column: Column[str], *where: ColumnElement[bool], most: int = 1_000) -> list[str]:
    """Return the values of a column in the rows that match, sorted, at most so many.

    It needs an index of what `where` compares, and then the column.
    """
    smallest = select(func.min(column).label("value")).where(*where)
    found = smallest.cte("found", recursive=True)
    following = select(func.min(column)).where(*where, column > found.c.value).scalar_subquery()
    found = found.union_all(select(following).where(found.c.value.is_not(None)))
    return [str(it) for it in db.scalars(select(found.c.value).where(found.c.value.is_not(None)).limit(most))]
