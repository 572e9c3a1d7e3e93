"""Statements that go straight to the driver, one by one or in a pipeline, do what SQLAlchemy's own would."""

import contextlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import bindparam, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from davy.annotation.care.store.work_sessions import sittings
from davy.core import UserError
from davy.people.store.tables import users
from davy.store import Store, open_store
from davy.store.events import events
from davy.store.pipeline import begin_pipeline, pipeline_of
from davy.store.statements import ONE, PreparedStatement

NAMES = ("id", "login", "name", "role", "language", "created_at")
ADD = PreparedStatement(insert(users).values({name: bindparam(f"its_{name}") for name in NAMES}))
RENAME = PreparedStatement(update(users).where(users.c.id == bindparam("i")).values(name=bindparam("to")))
RENAMED = PreparedStatement(
    update(users).where(users.c.id == bindparam("i")).values(name=bindparam("to")).returning(users.c.name, users.c.role)
)
REMOVE = PreparedStatement(delete(users).where(users.c.id == bindparam("i")))
ALL = PreparedStatement(select(users.c.id, users.c.name, users.c.created_at, users.c.disabled_at).order_by(users.c.id))
FIRST = PreparedStatement(select(users.c.id).order_by(users.c.id).limit(ONE))
NOTE = PreparedStatement(
    insert(events)
    .inline()
    .values({name: bindparam(f"its_{name}") for name in ("at", "by", "what", "about", "details")})
)
NOTED = PreparedStatement(select(events.c.details, events.c.about).order_by(events.c.id.desc()).limit(ONE))
AT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def person(key: str, **more: object) -> dict[str, object]:
    values = {"id": key, "login": key, "name": key.title(), "role": "expert", "language": "en", "created_at": AT}
    return {f"its_{name}": value for name, value in (values | more).items()}


def names(store: Store) -> list[str]:
    with store.read() as db:
        return list(db.scalars(select(users.c.name).order_by(users.c.id)))


@pytest.fixture(params=[False, True], ids=["one by one", "in a pipeline"])
def pipelined(request) -> bool:
    return request.param


def begin(db, pipelined: bool) -> None:
    if pipelined:
        begin_pipeline(db)


def test_values_come_back_as_they_went_in(store: Store, pipelined: bool):
    zone = timezone(timedelta(hours=5, minutes=30))
    with store.write() as db:
        begin(db, pipelined)
        ADD.send(db, person("a", name="Zoë 🐙 'quoted' %s $1 \\ \n", created_at=AT.astimezone(zone)))
        ADD.send(db, person("b", created_at=datetime(1969, 12, 31, tzinfo=UTC)))
        about = {"n": 1, "share": 0.1, "words": ["ä", None, True], "nul": "\0"}
        NOTE.send(db, {"its_at": AT, "its_by": "x", "its_what": "y", "its_about": "", "its_details": about})
        (first, second) = ALL.rows(db, {})
        assert tuple(first) == ("a", "Zoë 🐙 'quoted' %s $1 \\ \n", AT, None)
        assert first[2].tzinfo is UTC
        assert second[2] == datetime(1969, 12, 31, tzinfo=UTC)
        assert list(NOTED.one(db, {})) == [about, ""]
    with store.read() as db:
        rows = db.execute(select(users.c.id, users.c.name, users.c.created_at, users.c.disabled_at).order_by("id"))
        assert [tuple(row) for row in rows] == [tuple(first), tuple(second)]


def test_rows_changed_are_counted_and_returned(store: Store, pipelined: bool):
    with store.write() as db:
        begin(db, pipelined)
        assert FIRST.one(db, {}) is None
        ADD.send(db, person("a"))
        assert RENAME.run(db, {"i": "a", "to": "Ada"}) == 1
        assert RENAME.run(db, {"i": "nobody", "to": "Ada"}) == 0
        assert tuple(RENAMED.one(db, {"i": "a", "to": "Ada L."})) == ("Ada L.", "expert")
        assert RENAMED.one(db, {"i": "nobody", "to": "x"}) is None
        later = RENAMED.send(db, {"i": "a", "to": "Lin"})
        sent = REMOVE.send(db, {"i": "a"})
        assert [tuple(row) for row in later.rows()] == [("Lin", "expert")]
        assert sent.n() == 1
    assert names(store) == []


def test_what_was_sent_comes_before_a_statement_of_sqlalchemys_and_is_kept_at_the_end(store: Store, pipelined: bool):
    with store.write() as db:
        begin(db, pipelined)
        ADD.send(db, person("a"))
        assert db.scalar(select(func.count()).select_from(users)) == 1
        ADD.send(db, person("b"))
        db.execute(update(users).values(name="Same"))
        ADD.send(db, person("c"))
    assert names(store) == ["Same", "Same", "C"]


def test_a_refusal_is_raised_by_its_own_statement_and_nothing_is_kept(store: Store, pipelined: bool):
    with store.write() as db:
        ADD.send(db, person("a"))

    def attempt(**how: object) -> None:
        with store.write() as db:
            begin(db, pipelined)
            ADD.send(db, person("b"))
            ADD.send(db, person("a"), **how)
            RENAME.send(db, {"i": "a", "to": "never"})
            ALL.rows(db, {})

    with pytest.raises(UserError, match="taken"):
        attempt(refused=lambda: UserError("taken", status=409))
    with pytest.raises(IntegrityError) as caught:
        attempt()
    assert "Ada" not in str(caught.value)
    assert names(store) == ["A"]
    with store.write() as db:  # the connection is as good as before
        begin(db, pipelined)
        assert pipeline_of(db) is None or pipelined
        ADD.send(db, person("b"))
    assert names(store) == ["A", "B"]


def test_a_refusal_at_the_very_end_keeps_nothing(store: Store, pipelined: bool):
    def gone(n: int) -> None:
        if n != 1:
            raise UserError("gone", status=409)

    def twice() -> None:
        with store.write() as db:
            begin(db, pipelined)
            ADD.send(db, person("a"))
            ADD.send(db, person("a"), refused=lambda: UserError("taken"))

    def nobody(*, look: bool) -> None:
        with store.write() as db:
            begin(db, pipelined)
            ADD.send(db, person("a"))
            RENAME.send(db, {"i": "nobody", "to": "x"}, changed=gone)
            if look:
                ALL.rows(db, {})

    with pytest.raises(UserError, match="taken"):
        twice()
    for look in (True, False):
        with pytest.raises(UserError, match="gone"):
            nobody(look=look)
    assert names(store) == []


@pytest.mark.postgres
def test_a_transaction_that_failed_unnoticed_is_not_called_kept(postgres_url):
    def swallow(store: Store) -> None:
        with store.write() as db:
            begin_pipeline(db)
            ADD.send(db, person("a"))
            with contextlib.suppress(IntegrityError):
                ADD.run(db, person("a"))

    with open_store(postgres_url, create=True) as store:
        with pytest.raises(RuntimeError, match="nothing of it was kept"):
            swallow(store)
        assert names(store) == []


def test_leaving_by_an_error_forgets_what_waited(store: Store, pipelined: bool):
    def leave() -> None:
        with store.write() as db:
            begin(db, pipelined)
            ADD.send(db, person("a"))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        leave()
    assert names(store) == []


def test_a_connection_goes_on_after_transactions_that_were_rolled_back(store: Store, pipelined: bool):
    def leave() -> None:
        with store.write() as db:
            begin(db, pipelined)
            ADD.send(db, person("lost"))
            ALL.rows(db, {})
            raise RuntimeError("stop")

    for number in range(3):
        with store.write() as db:
            begin(db, pipelined)
            ADD.send(db, person(f"p{number}"))
            for _ in range(9):  # often enough for a driver that prepares what it sees again and again
                assert db.scalar(select(func.count()).select_from(users)) == number + 1
        with pytest.raises(RuntimeError, match="stop"):
            leave()
    assert len(names(store)) == 3


def test_more_than_a_socket_holds_goes_through_both_ways(store: Store, pipelined: bool):
    with store.write() as db:
        begin(db, pipelined)
        for number in range(300):
            ADD.send(db, person(f"p{number:03}", name="x" * 20_000))
        sent = [ALL.send(db, {}) for _ in range(3)]
        assert [sum(len(row[1]) for row in it.rows()) for it in sent] == [6_000_000] * 3


@pytest.mark.postgres
def test_a_connection_that_the_server_ends_is_a_clear_line_and_the_next_one_works(postgres_url):
    with open_store(postgres_url, create=True) as store:
        with store.write() as db:
            begin_pipeline(db)
            ADD.send(db, person("a"))

        def cut_off() -> None:
            with store.write() as db:
                begin_pipeline(db)
                pid = db.scalar(text("SELECT pg_backend_pid()"))
                with store.engine.connect() as other:
                    other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
                ADD.send(db, person("b"))
                ALL.rows(db, {})

        with pytest.raises(UserError) as caught:
            cut_off()
        assert caught.value.status == 503
        with store.write() as db:
            begin_pipeline(db)
            ADD.send(db, person("c"))
        assert names(store) == ["A", "C"]


def test_seconds_are_floats_on_both_databases(store: Store):
    with store.write() as db:
        assert PreparedStatement(select(sittings.c.seconds, sittings.c["items"])).rows(db, {}) == []


def test_a_read_that_was_sent_early_is_taken_once_by_the_next_like_it(store: Store, pipelined: bool):
    one = PreparedStatement(select(users.c.name).where(users.c.id == bindparam("i")))
    with store.write(pipelined=pipelined) as db:
        ADD.send(db, person("a"))
        ADD.send(db, person("b"))
        one.prefetch(db, {"i": "a"})
        RENAME.send(db, {"i": "a", "to": "Ada"})
        early = pipeline_of(db) is not None
        assert one.one(db, {"i": "a"})[0] == ("A" if early else "Ada")
        assert one.one(db, {"i": "a"})[0] == "Ada"
        one.prefetch(db, {"i": "a"})
        assert one.one(db, {"i": "b"})[0] == "B"
        one.prefetch(db, {"i": "nobody"})
    assert names(store) == ["Ada", "B"]
