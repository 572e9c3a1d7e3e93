"""A restore is refused while a server or a worker holds the database, on both databases, and works afterwards."""

from __future__ import annotations

import subprocess
import sys

import pytest

from davy.core.errors import UserError
from davy.store import open_store
from davy.store.backup import write_backup
from davy.store.restore import restore
from davy.store.serving import hold_database, refuse_held_file

HOLD = """
import sys
from davy.store import open_store
from davy.store.serving import hold_database
with hold_database(sys.argv[1], sys.argv[2]), open_store(sys.argv[1]) as store:
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("name", ["davy serve", "davy work"])
def test_a_restore_is_refused_while_another_process_holds_the_database(database_url, name, tmp_path):
    with open_store(database_url, create=True) as store:
        write_backup(store, tmp_path / "b.davy")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, database_url, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(UserError, match=r"is in use\. Stop `davy serve` and `davy work`") as refused:
        restore(tmp_path / "b.davy", database_url, replace=True)
    holder.communicate("\n", timeout=60)
    assert refused.value.status == 409
    _, aside = restore(tmp_path / "b.davy", database_url, replace=True)
    assert aside is not None


def test_a_file_that_nobody_holds_any_more_can_be_replaced(tmp_path):
    path = tmp_path / "davy.sqlite"
    with hold_database(f"sqlite:///{path}", "davy serve"), hold_database(f"sqlite:///{path}", "davy work"):
        with pytest.raises(UserError, match="is in use"):
            refuse_held_file(path)
        refuse_held_file(tmp_path / "other.sqlite")
    refuse_held_file(path)
