"""The table of the image library: words for pictures on the shelf, and what they look like."""

from sqlalchemy import Column, Table

from davy.store.columns import TextColumn, TimeColumn
from davy.store.table_base import metadata

library_images = Table(
    "library_images",
    metadata,
    # The key of a picture on the shelf (`images` without a project), which has its licence, credit and source.
    Column("key", TextColumn, primary_key=True),
    Column("words", TextColumn, nullable=False),
    # `image.likeness`, packed.
    Column("likeness", TextColumn, nullable=False),
    Column("added_at", TimeColumn, nullable=False),
    Column("added_by", TextColumn, nullable=False),
)
