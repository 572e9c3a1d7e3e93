"""The store: the only SQL. Tables, migrations, and a module of queries for each noun.

with open_store("sqlite:///davy.sqlite") as store, store.write() as db:
    users.add(db, login="ada", name="Ada", role="expert", by="shell")
"""

from sqlalchemy import Connection

from davy.store.connection import open_store
from davy.store.store import Store
from davy.store.url import default_url

__all__ = ["Connection", "Store", "default_url", "open_store"]
