"""What every table is made with: the one set of tables, names of constraints, indexes alike on both databases."""

from sqlalchemy import BigInteger, Index, Integer, MetaData, text

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

Serial = BigInteger().with_variant(Integer, "sqlite")


def table_index(name: str, *columns: str, where: str | None = None, unique: bool = False) -> Index:
    """Return an index, partial where `where` says so, written alike for both databases."""
    condition = None if where is None else text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)
