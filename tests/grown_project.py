"""A project as large as one wants, filled by a few statements: what tests and benchmarks of growth start from.

It is project `p` of `two_projects` with posts, items, answers and verdicts added to one phase. Rows are made by the
database from numbers, alike on SQLite and PostgreSQL: a hundred thousand posts take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text
from starlette.testclient import TestClient

from davy.annotation.project.store import phases
from davy.people.store import users
from davy.server.app import create_app
from davy.store import Connection, Store
from davy.web.settings import ServerSettings
from two_projects import fill_rooms
from web_site import BASE, Site, hashed_password

ANSWERS = 2
"""Answers of each settled post: one by each of two people."""


def grow(db: Connection, phase: str, people: Sequence[str], *, n: int, settled: int) -> None:
    """Add `n` posts to a phase of project `p`, the first `settled` of them answered by two people and settled twice."""
    assert len(people) == ANSWERS
    _add(db, "posts", n, {"id": _id("post"), "public_id": _id("q"), "project": "'p'", **_POST})
    _add(db, "posts", n // 10, {"id": _id("shelf"), "public_id": _id("s"), "project": "NULL", **_POST})
    done = f"CASE WHEN i < {settled} THEN {{}} ELSE {{}} END"
    item = {
        "id": _id("item"),
        "phase": ":phase",
        "post": _id("post"),
        "position": "i + 1000",
        "given": done.format(ANSWERS, 0),
        "room": done.format(0, ANSWERS),
        "state": f"CASE WHEN i >= {settled} THEN 'open' WHEN i % 100 = 7 THEN 'full' ELSE 'settled' END",
    }
    _add(db, "items", n, item, phase=phase)
    for number, person in enumerate(people):
        _add_answers(db, f"a{number}", settled, phase=phase, person=person)
    for turn in ("1", "2"):
        verdict = {
            "id": _id(f"verdict-{turn}"),
            "post": _id("post"),
            **_SCHEME,
            "question": "'hate'",
            "labels": f"""'["' || {_LABEL} || '"]'""",
            "basis": "CASE WHEN i % 10 = 0 THEN 'expert' ELSE 'unanimous' END",
            "at": _time(db),
            "by": "'system'",
            "turn": turn,
            "project": "'p'",
        }
        _add(db, "verdicts", settled, verdict)
        for number in range(ANSWERS):
            rests_on = {"verdict": _id(f"verdict-{turn}"), "annotation": _id(f"a{number}")}
            _add(db, "verdict_annotations", settled, rests_on)
    case = {
        "id": _id("case"),
        "project": "'p'",
        "item": _id("item"),
        "post": _id("post"),
        "kind": "'disagreement'",
        "questions": "'hate'",
        "why": "''",
        "state": "CASE WHEN i % 100 = 7 THEN 'open' ELSE 'settled' END",
        "opened_at": _time(db),
    }
    _add(db, "cases", settled, case, where=" WHERE i % 50 = 7")
    db.execute(text("UPDATE phases SET size = size + :n WHERE id = :id"), {"id": phase, "n": n})


def _add_answers(db: Connection, name: str, n: int, *, phase: str, person: str) -> None:
    """Add one person's answers to the first `n` posts, with all that comes with them."""
    at = _time(db)
    annotation = {
        "id": _id(name),
        "post": _id("post"),
        "annotator": ":person",
        **_SCHEME,
        "guideline_version": "0",
        "at": at,
        "seconds": "4.5",
        "flags": "''",
        "project": "'p'",
        "phase": ":phase",
    }
    _add(db, "annotations", n, annotation, phase=phase, person=person)
    answer = {"annotation": _id(name), "question": "'hate'", "label": _LABEL, "position": "0"}
    _add(db, "answers", n, answer)
    assignment = {
        "id": _id(f"assignment-{name}"),
        "item": _id("item"),
        "phase": ":phase",
        "annotator": ":person",
        "state": "'done'",
        "taken_at": at,
        "done_at": at,
        "annotation": _id(name),
    }
    _add(db, "assignments", n, assignment, phase=phase, person=person)
    event = {"at": at, "by": ":person", "what": "'post annotated'", "about": f"'annotation ' || {_id(name)}"}
    _add(db, "events", n, event, person=person)
    key = {"phase": phase, "person": person}
    db.execute(text("DELETE FROM tallies WHERE phase = :phase AND annotator = :person"), key)
    tally = "INSERT INTO tallies VALUES (:phase, :person, :n, 0, 0, :n, 4.5 * :n, :n, NULL)"
    db.execute(text(tally), {**key, "n": n})


_SCHEME = {"scheme": "'hate'", "scheme_version": "1"}
_LABEL = "CASE WHEN i % 4 = 0 THEN 'hateful' ELSE 'not hateful' END"
_POST = {
    "text": "'On the way home somebody said that grumblefops never listen, number ' || i",
    "lang": "CASE WHEN i % 10 < 7 THEN 'en' WHEN i % 10 < 9 THEN 'de' END",
    "source": "CASE WHEN i % 2 = 0 THEN 'reddit' ELSE 'gab' END",
    "image": "CASE WHEN i % 50 = 49 THEN 'picture-' || i END",
    "added_at": "CURRENT_TIMESTAMP",
    "hidden": "CASE WHEN i % 100 = 99 THEN 1 ELSE 0 END",
}


def _id(name: str) -> str:
    """Return the SQL of an id that sorts by its number."""
    return f"'{name}-' || CAST(10000000 + i AS TEXT)"


def _time(db: Connection) -> str:
    """Return the SQL of a moment that is later for a later number."""
    if db.dialect.name == "sqlite":
        return "datetime('2026-01-01', '+' || i || ' seconds') || '.000000'"
    return "timestamptz '2026-01-01' + i * interval '1 second'"


def _add(db: Connection, table: str, n: int, columns: Mapping[str, str], where: str = "", **given: object) -> None:
    """Add the rows 0 to `n` to a table; columns are SQL of the row's number `i`."""
    numbers = "WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < :n)"
    names = ", ".join(f'"{name}"' for name in columns)
    rows = f"{numbers} SELECT {', '.join(columns.values())} FROM numbers{where}"
    db.execute(text(f"INSERT INTO {table} ({names}) {rows}"), {"n": n, **given})


LOOKED_AT_BY = ("manager", "annotator", "expert", "admin", "wellbeing", "manager of q")
"""Who looks at a page, the first of these who may."""
FILTERS = """
manager   /posts?project=p
manager   /posts?project=p&lang=de
manager   /posts?project=p&label=hateful
manager   /posts?project=p&label=hateful&lang=de
manager   /posts?project=p&label=unheard
manager   /posts?project=p&kind=meme
manager   /posts?project=p&kind=text
manager   /posts?project=p&after=q-10000500
annotator /posts?project=p
admin     /posts
admin     /posts?lang=de
admin     /posts?label=hateful
manager   /projects/p/verdicts?question=hate&label=hateful
manager   /projects/p/verdicts?question=hate&label=unheard
manager   /projects/p/verdicts?question=hate&basis=expert
manager   /projects/p/verdicts?question=hate&before=verdict-2-10000500
annotator /projects/p/mine/answers?q=never
annotator /projects/p/mine/answers?q=unheard
annotator /projects/p/coding?show=all
"""
"""Addresses with what people choose on a page, and who chooses it."""
WHOLE = (
    "/account/my-data.json",
    "/projects/{project_id}/my-data.json",
    "/projects/{project_id}/hours.csv",
    "/projects/{project_id}/images.zip",
)
"""Routes that hand out everything that there is, and so grow with it."""


@contextmanager
def grown_site(url: str, folder: Path, *, n: int, settled: int) -> Iterator[tuple[Site, dict[str, str]]]:
    """Yield a site over an empty database with a grown project, and what stands for each part of an address."""
    words = folder / "words.txt"
    words.write_text("grumblefop\t0.9\n")
    named = {"database": url, "model": f"keywords:{words}", "files": folder / "files"}
    settings = ServerSettings(**named, secret_key="k" * 40, base_url=BASE)
    app = create_app(settings)
    store: Store = app.state.context.store
    people = {}
    with store.write() as db:
        for role in ("admin", "expert", "annotator"):
            people[role] = users.add(db, login=role, name=role, role=role, by="shell", password_hash=hashed_password())
    site = Site(app, settings, store, people)
    values = fill_rooms(site)
    with store.write() as db:
        phase = phases.by_name(db, "p", values["name"]).id
        grow(db, phase, [site.people["annotator"].id, site.people["expert"].id], n=n, settled=settled)
    with TestClient(app, base_url=BASE) as site.running:
        yield site, values


def addresses(lines: Iterable[tuple[str, str, str]], values: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield (who looks, route, address) of every page, from the lines of the table of routes, and those filtered."""
    who = ("", "outsider", "annotator", "expert", "manager", "wellbeing", "left", "manager of q", "admin")
    for method, path, marks in lines:
        sees = next((name for name in LOOKED_AT_BY if marks[who.index(name)] == "+"), None)
        if method == "GET" and sees is not None and path not in WHOLE and "{token}" not in path:
            yield sees, path, fill_address(path, values)
    for line in FILTERS.strip().splitlines():
        sees, address = line.split()
        yield sees, address, address


def fill_address(path: str, values: dict[str, str]) -> str:
    """Return the address of a route with what stands for its parts."""
    return re.sub(r"\{(\w+)(:path)?\}", lambda it: values.get(f"{path} {it[1]}") or values.get(it[1], "none"), path)
