"""Tables of answers and what became of them: assignments, tallies, verdicts, cases.

They are used by every answer or by most of the store. What was collected, answered or decided is only ever added to.
An index is here because a query needs it: docs/serve/store.md says which.
"""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    Table,
    UniqueConstraint,
)

from davy.store.columns import JsonColumn, TextColumn, TimeColumn, metadata, table_index

annotations = Table(
    "annotations",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False),
    Column("annotator", TextColumn, nullable=False),
    Column("scheme", TextColumn, nullable=False),
    Column("scheme_version", Integer, nullable=False),
    Column("guideline_version", Integer, nullable=False),
    Column("at", TimeColumn, nullable=False),
    Column("seconds", Float),
    Column("flags", TextColumn, nullable=False),
    Column("comment", TextColumn),
    # Deferrable, so that a restore can add rows in any order.
    Column("replaces", TextColumn, ForeignKey("annotations.id", deferrable=True, initially="IMMEDIATE"), unique=True),
    Column("project", TextColumn),
    Column("phase", TextColumn),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
    table_index("ix_annotations_post", "post", "id"),
    table_index("ix_annotations_annotator", "annotator", "id"),
    table_index("ix_annotations_scheme", "scheme", "scheme_version", "id"),
    table_index("ix_annotations_phase", "phase", "id", where="phase IS NOT NULL"),
)

answers = Table(
    "answers",
    metadata,
    Column("annotation", TextColumn, ForeignKey("annotations.id"), primary_key=True),
    Column("question", TextColumn, primary_key=True),
    Column("label", TextColumn, primary_key=True),
    Column("position", Integer, nullable=False),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False),
    Column("scheme", TextColumn, nullable=False),
    Column("scheme_version", Integer, nullable=False),
    Column("question", TextColumn, nullable=False),
    Column("labels", JsonColumn, nullable=False),
    Column("basis", TextColumn, nullable=False),
    Column("reason", TextColumn),
    Column("at", TimeColumn, nullable=False),
    Column("by", TextColumn, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("project", TextColumn),
    UniqueConstraint("scheme", "scheme_version", "question", "post", "turn", name="uq_verdicts_turn"),
    ForeignKeyConstraint(["scheme", "scheme_version"], ["schemes.name", "schemes.version"]),
    table_index("ix_verdicts_post", "post", "id"),
    table_index("ix_verdicts_project", "project", "question", "id", where="project IS NOT NULL"),
    table_index("ix_verdicts_shelf", "id", where="project IS NULL"),
)

verdict_annotations = Table(
    "verdict_annotations",
    metadata,
    Column("verdict", TextColumn, ForeignKey("verdicts.id"), primary_key=True),
    Column("annotation", TextColumn, ForeignKey("annotations.id"), primary_key=True),
    table_index("ix_verdict_annotations_annotation", "annotation"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("item", TextColumn, ForeignKey("items.id"), nullable=False),
    Column("phase", TextColumn, nullable=False),
    Column("annotator", TextColumn, nullable=False),
    Column("state", TextColumn, nullable=False),
    Column("taken_at", TimeColumn, nullable=False),
    Column("leased_until", TimeColumn),
    Column("done_at", TimeColumn),
    Column("annotation", TextColumn, ForeignKey("annotations.id")),
    UniqueConstraint("item", "annotator", name="uq_assignments_item"),
    CheckConstraint("state IN ('held', 'done', 'refused', 'skipped', 'lapsed', 'again', 'barred')", name="state"),
    table_index("ix_assignments_annotator", "annotator", "phase", "done_at"),
    table_index("ix_assignments_held", "leased_until", where="state = 'held'"),
    table_index("ix_assignments_mine", "annotator", "phase", where="state IN ('held', 'again')"),
    table_index("ix_assignments_annotation", "annotation", where="annotation IS NOT NULL"),
)

tallies = Table(
    "tallies",
    metadata,
    # One row a person and phase, so that counting never makes two people wait for each other.
    Column("phase", TextColumn, ForeignKey("phases.id"), primary_key=True),
    Column("annotator", TextColumn, primary_key=True),
    Column("given", Integer, nullable=False),
    Column("refused", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("filled", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("place", Integer, nullable=False),
    Column("last_at", TimeColumn),
)

cases = Table(
    "cases",
    metadata,
    Column("id", TextColumn, primary_key=True),
    Column("project", TextColumn, ForeignKey("projects.id"), nullable=False),
    Column("item", TextColumn, ForeignKey("items.id"), nullable=False),
    Column("post", TextColumn, ForeignKey("posts.id"), nullable=False),
    Column("kind", TextColumn, nullable=False),
    Column("questions", TextColumn, nullable=False),
    Column("why", TextColumn, nullable=False),
    Column("state", TextColumn, nullable=False),
    Column("opened_at", TimeColumn, nullable=False),
    Column("held_by", TextColumn),
    Column("leased_until", TimeColumn),
    Column("settled_by", TextColumn),
    Column("settled_at", TimeColumn),
    Column("outcome", JsonColumn),
    Column("reason", TextColumn),
    # How far an audit doubts the verdict: the most doubtful come first.
    Column("doubt", Float),
    CheckConstraint("kind IN ('disagreement', 'flag', 'audit')", name="kind"),
    CheckConstraint("state IN ('open', 'settled', 'dropped')", name="state"),
    table_index("ix_cases_open", "project", "id", where="state = 'open'"),
    table_index("ix_cases_item", "item"),
    table_index("uq_cases_open", "item", "kind", where="state = 'open'", unique=True),
    table_index("ix_cases_post", "post"),
)
