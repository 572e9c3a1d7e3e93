"""What reviewers settled about posts of a review project, who they are by their pseudonyms, and when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, select

from davy.annotation.labelling.store.tables import annotations, verdict_annotations, verdicts
from davy.annotation.project.store.tables import members
from davy.annotation.settling.store.verdicts import is_newest


@dataclass(slots=True)
class Review:
    """What is settled about one post: labels by question, pseudonyms, the time of the newest verdict."""

    at: datetime
    answers: dict[str, list[str]] = field(default_factory=dict)
    reviewers: list[str] = field(default_factory=list)


def reviews_of(db: Connection, posts: Sequence[str], project: str | None) -> dict[str, Review]:
    """Return the reviews of posts that have one, by the post's key."""
    found: dict[str, Review] = {}
    if project is None or not posts:
        return found
    names = _pseudonyms(db, project)
    for start in range(0, len(posts), 500):
        part = list(posts[start : start + 500])
        query = (
            select(verdicts.c.post, verdicts.c.question, verdicts.c.labels, verdicts.c.at, verdicts.c.by)
            .add_columns(annotations.c.annotator)
            .outerjoin(verdict_annotations, verdict_annotations.c.verdict == verdicts.c.id)
            .outerjoin(annotations, annotations.c.id == verdict_annotations.c.annotation)
            .where(verdicts.c.post.in_(part), verdicts.c.project == project, is_newest(project))
            .order_by(verdicts.c.id, annotations.c.id)
        )
        for post, question, labels, at, by, annotator in db.execute(query):
            review = found.setdefault(post, Review(at))
            review.at = max(review.at, at)
            review.answers[question] = list(labels)
            for who in (annotator, by):
                if who in names and names[who] not in review.reviewers:
                    review.reviewers.append(names[who])
    return found


def first_reviewers(db: Connection, post: str, project: str) -> list[str]:
    """Return the ids of everybody who answered or settled a post: they don't look at its appeal."""
    people = set(db.scalars(select(annotations.c.annotator).where(annotations.c.post == post)))
    people |= set(db.scalars(select(verdicts.c.by).where(verdicts.c.post == post, verdicts.c.project == project)))
    return sorted(people & set(_pseudonyms(db, project)))


def _pseudonyms(db: Connection, project: str) -> Mapping[str, str]:
    query = select(members.c.user_id, members.c.pseudonym).where(members.c.project == project)
    return {row.user_id: row.pseudonym for row in db.execute(query)}
