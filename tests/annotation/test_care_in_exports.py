"""What people told their contacts, a survey or the team is in no export; about themselves, only counts are."""

from __future__ import annotations

import zipfile
from pathlib import Path

from davy.annotation.care.store import check_ins, responses, work_sessions
from davy.annotation.exchange.exchange import ExportRequest, export_project
from davy.annotation.exchange.formats import FORMATS
from davy.annotation.project.store import members, messages
from davy.people.store import users
from davy.store.columns import now
from exchange_case import fill, written

PRIVATE = "a private grumblefop"


def everything_in(path: Path) -> bytes:
    """Return what is written, zips unpacked."""
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            return b"".join(packed.read(name) for name in packed.namelist())
    return written(path)


def test_no_export_holds_anything_that_belongs_to_care(store, tmp_path):
    project = fill(store)
    with store.write() as db:
        ann = users.find(db, "ann@example.org")
        contact = users.add(db, login="wil", name="Wil", role="annotator", by="shell")
        members.add(db, project.id, contact.id, ["wellbeing"], by="shell")
        check_ins.add(db, project.id, ann.id, mood=1, words=PRIVATE)
        responses.put(db, project.id, ann.id, "survey", {"better": PRIVATE})
        responses.put(db, project.id, ann.id, "about me", {"gender": PRIVATE})
        messages.ask(db, project.id, PRIVATE, by=ann.id)
        members.choose(db, project.id, ann.id, break_after_minutes=777001)
        at = now()
        work_sessions.begin(db, work_sessions.new_sitting(project.id, ann.id, started_at=at, at=at, seconds=987650.0))
    for name, format in FORMATS.items():
        out = tmp_path / (name if format.folder else f"{name}.{format.endings[0]}")
        statement = tmp_path / f"{name}.md"
        question = "hate" if name in ("crowd", "codabench", "doccano") else None
        export_project(
            store, ExportRequest(project=project.id, format=name, question=question), out, statement=statement
        )
        said = everything_in(out) + statement.read_bytes()
        assert len(said) > 500
        for secret in (PRIVATE, "777001", "987650", "Ann Secret", "ann@example.org", ann.id):
            assert secret.encode() not in said, (name, secret)
