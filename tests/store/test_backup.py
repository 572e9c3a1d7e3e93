"""Backups: whole, checked, the same for both databases; a restore is all or nothing."""

import hashlib
import json
import os
import shutil
import stat
import threading
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import text

from davy.annotation.care.store import check_ins, responses, work_sessions
from davy.annotation.labelling.store import annotations, assignments, items
from davy.annotation.project.store import images, members, messages, phases, picture_locks, posts, projects
from davy.annotation.settling.store import agreements, cases, codes, verdicts
from davy.challenges.challenge import ChallengeEntry, ChallengePhase, ChallengeTask, TimeWindow
from davy.challenges.store import challenges, submissions, teams
from davy.core import Annotation, Guideline, Label, Post, Question, Scheme, Source, UserError, Verdict, Wording
from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.memes.store import image_library, meme_steps
from davy.moderation.store import appeals, communities, decisions, shadows, suggestions
from davy.people.store import invitations, keys, retention, sessions, users
from davy.rounds.round import Entry, TargetPrediction
from davy.rounds.store import entries, round_seeds, rounds
from davy.runs import store as project_suites
from davy.scheme_editor import store as scheme_drafts
from davy.schemes.store import schemes
from davy.store import Connection, Store, events, open_store, schema_versions
from davy.store.backup import row_counts, write_backup
from davy.store.restore import restore
from post_rows import add_post

SCHEME = Scheme(
    "grumble",
    1,
    (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),),
    guidelines=(Guideline(1, Wording({"en": "Be kind.", "de": "Sei nett. ß"})),),
)
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def fill(store: Store) -> dict[str, str]:
    """Put something into every table; return the secrets that were made."""
    with store.write() as db:
        ada = users.add(db, login="ada", name="Ada Ł", role="admin", by="shell", password_hash="h")
        _, invitation = invitations.create(db, role="expert", by=ada.id)
        _, session = sessions.start(db, ada.id)
        _, key = keys.create(db, name="k", owner=ada.id, scopes=["score"], by=ada.id)
        schemes.save(db, SCHEME, "name: grumble\n", by=ada.id)
        source = Source("forum", "CC0-1.0", AT, "rule")
        add_post(db, Post("p0", 'a\r\n\t"\\ 👩‍🚒\u2028 ü', "de", source=source, meta={"x": [1, "ä"]}))
        add_post(db, Post("p1", ""))
        # Its id sorts before that of the one it replaces, as after a clock that went back.
        first = Annotation("z", "p0", ada.id, "grumble", 1, 1, {"grumpy": ("yes",)}, AT, seconds=0.1, flags=("unsure",))
        annotations.add(db, first, SCHEME)
        second = Annotation("a", "p0", ada.id, "grumble", 1, 1, {"grumpy": ("no",)}, AT, replaces="z", comment="hm")
        annotations.add(db, second, SCHEME)
        verdicts.add(db, Verdict("p0", "grumpy", ("no",), "single", ("a",)), SCHEME, by=ada.id)
        jobs.enqueue(db, "count", {"to": 3, "ä": None}, owner=ada.id, key="once")
        job = jobs.lease(db, ["count"], worker="w", seconds=60)
        jobs.log(db, job, "a line")
        jobs.save_checkpoint(db, job, {"at": 2**40})
        detectors.add(db, name="words", version="1", source="keywords:w.txt", questions=["grumpy"], by=ada.id)
        fill_serving(db, ada.id)
        fill_project(db, ada.id)
        fill_challenge(db, ada.id)
    return {"session": session, "key": key, "invitation": invitation}


def fill_serving(db: Connection, ada: str) -> None:
    """Put something into every table of serving."""
    keys.add_usage(db, [keys.KeyUsage("k", "2026-01-02", 1, 2)])
    communities.create(db, communities.Community("forum", "grumpy", {"grumpy": 0.4}, 0.3, 0.5, ("k",)), by=ada)
    decision = decisions.Decision("forum", "a@1", "flag", [{"question": "grumpy"}], "r1", "de")
    decisions.add(db, [decision])
    appeals.add(db, appeals.Appeal("forum", decision.id, ada, "flag", "Das war ein Gruß."))
    decisions.add_counts(db, [decisions.ScoreCount("2026-01-02", "forum", "a@1", "grumpy", "de", 3, 7)])
    suggestions.add(db, suggestions.Suggestion("Soße", {"TOXICITY": 0.1}, {"grumpy": "no"}, by=ada))
    difference = shadows.ShadowDifference("a@1", "b@1", "grumpy", None, "yes", "no", 0.6, 0.4)
    shadows.add(db, [shadows.ShadowCount(AT, "a@1", "b@1", "grumpy", "de", n=1, distance=0.2)], [difference])


def fill_challenge(db: Connection, ada: str) -> None:
    """Put something into every table of challenges."""
    task = ChallengeTask("A", "Ä", "grumpy", ("no", "yes"))
    windows = {"A": TimeWindow(AT, AT + timedelta(days=1))}
    phase = ChallengePhase("", "", "test", 0, "test", windows, 2, None, "public", "last", survey=True, staggered=True)
    about = {"title": "Pokal ß", "visibility": "accounts", "settings": {"rules": "ü"}, "by": ada}
    phase = challenges.create(db, id="cup", tasks=[task], phases=[phase], **about).phases[0]
    rows = [ChallengeEntry("e1", "Ü 🐍", {"A": "yes"}), ChallengeEntry("e2", "no labels")]
    challenges.add_data(db, "cup", "test", rows, labels_public=False, data_hash="h")
    teams.accept_rules(db, "cup", ada)
    team = teams.create(db, "cup", "Łampe", "lampe", by=ada, captain=ada)
    teams.invite(db, team, "lin", by=ada)
    new = submissions.NewSubmission(phase.id, "A", team.id, ada, "p.csv", [1], "d", "a", "n", {"data": ["x"]})
    key = submissions.add(db, new, challenge_id="cup", at=AT)
    submissions.save_figure(db, key, {"value": 0.1})
    challenges.save_board(db, phase.id, "A", basis="b", content={"rows": []})


def fill_project(db: Connection, ada: str) -> None:
    """Put something into every table of a project."""
    projects.create(db, id="pilot", title="Pilot ß", scheme="grumble", scheme_version=1, settings={"a": [1]}, by=ada)
    lin = users.add(db, login="lin", name="Lin", role="annotator", by=ada).id
    members.add(db, "pilot", ada, ["annotator"], by=ada)
    members.add(db, "pilot", lin, ["wellbeing"], by=ada)
    phase = phases.add(db, "pilot", name="1", kind="production", answers=2, in_corpus=True, settings={}, by=ada)
    for post in ("p0", "p1"):
        posts.add(db, Post(post, "of the project"), project="pilot", by=ada)
    items.add(db, phase, [("p0", {"grumpy": ("no",)}, None), ("p1", None, "b")], by=ada)
    phase = phases.open_phase(db, phase.id, by=ada)
    held = assignments.take(db, phase, ada, lease=timedelta(minutes=30), at=AT)
    assert held is not None
    cases.add(db, project="pilot", item=held.item.id, post=held.item.post, kind="audit", by=ada, questions=["grumpy"])
    agreements.add(db, phase.id, answers=1, content={"fleiss": None})
    work_sessions.begin(
        db, work_sessions.new_sitting("pilot", ada, started_at=AT, at=AT, seconds=0.1, rest_until=AT, postponed=True)
    )
    check_ins.add(db, "pilot", ada, mood=3, words="ü")
    asked = messages.ask(db, "pilot", "Warum? ß", by=ada, post=held.item.post)
    messages.answer(db, "pilot", asked.id, "Darum.", by=lin)
    responses.put(db, "pilot", ada, "survey", {"clarity": 4})
    retention.set_rule(db, retention.make_rule("texts", 30, by=ada, project="pilot"))
    project_suites.create(db, "pilot", "Lamps", "name: lamps\n", by=ada)
    scheme_drafts.create(db, ada, {"name": "weather", "title": {"de": "Nässe"}, "questions": []})
    code = codes.create(db, "pilot", "Soße", by=ada)
    codes.put(db, "pilot", code.id, held.item.post, by=ada, note="n")
    meme = posts.add(db, Post("m", "of a meme", image="1" * 64), project="pilot", by=ada)
    meme_steps.add(db, phase, meme, "filter", "passed", by=ada, details={"lang": "dé"}, seconds=1.5)
    picture_locks.lock(db, "pilot", meme, by=ada)
    fill_round(db, ada)
    picture = images.StoredImage("0" * 64, "lampe ß.png", 3, 2, 70, "image/png", "CC0-1.0", "Łu")
    images.add(db, "pilot", [picture], by=ada)
    image_library.add(db, [image_library.LibraryImage(picture, "Lampe ü", "00ff")], by=ada)


def fill_round(db, author: str) -> None:
    """A round with an entry of its own phase, and a post to start from."""
    phase = phases.add(db, "pilot", name="round 1", kind="round", answers=3, in_corpus=True, settings={}, by="shell")
    phases.open_phase(db, phase.id, by="shell")
    duel = rounds.add(db, "pilot", name="ß", phase=phase.id, question="grumpy", targets=["t@1"], by="shell")
    entry = Entry("e1", duel.id, "e1", author, "yes", predictions=(TargetPrediction("t@1", "no", 0.25),), fooled=True)
    answers = {"grumpy": ("yes",)}
    entries.add(db, duel, entry, SCHEME, answers, text="Ü 🐍", lang="de", key="k", bands=["b1", "b2"])
    posts.ensure(db, pl.DataFrame({"id": ["seed"], "text": ["x"]}), project="pilot", by="shell")
    round_seeds.add(db, duel, "seed", [("seed", [])], by="shell")


def everything(store: Store) -> dict[str, list]:
    from davy.store.schema import metadata

    with store.read() as db:
        found = {
            table.name: [tuple(row) for row in db.execute(table.select().order_by(*table.primary_key.columns))]
            for table in metadata.sorted_tables
        }
    # A restore ends the sessions and says so in the record.
    found["sessions"] = [row[:-1] for row in found["sessions"]]
    found["events"] = [row for row in found["events"] if row[3] != "database restored"]
    return found


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def other_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A second empty database, to restore into."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'other.sqlite'}"
    return str(request.getfixturevalue("postgres_url"))


def test_a_backup_of_either_database_restores_into_either(store, other_url, tmp_path):
    secrets = fill(store)
    backup = write_backup(store, tmp_path / "b.davy")
    empty = [name for name, rows in backup.rows.items() if not rows]
    assert not empty, "fill() must reach every table, or this test proves less than it says"
    restored, aside = restore(tmp_path / "b.davy", other_url)
    assert (restored, aside) == (backup, None)
    with open_store(other_url) as other:
        assert everything(other) == everything(store)
        with other.write() as db:
            assert sessions.find(db, secrets["session"]) is None
            assert keys.check(db, secrets["key"], "score")[1].login == "ada"
            assert invitations.get_usable(db, secrets["invitation"]).state == "open"
            assert annotations.of_post(db, "p0", scheme="grumble", version=1)[0].id == "a"
            events.record(db, by="shell", what="later", about="nothing")
            assert [it.what for it in events.latest(db, limit=2)] == ["later", "database restored"]


def test_a_backup_twice_there_and_back_is_the_same(store, other_url, tmp_path):
    fill(store)
    write_backup(store, tmp_path / "1.davy")
    restore(tmp_path / "1.davy", other_url)
    with open_store(other_url) as other:
        write_backup(other, tmp_path / "2.davy")

    def tables(name: str) -> dict[str, bytes]:
        with zipfile.ZipFile(tmp_path / name) as archive:
            files = [it for it in archive.namelist() if it.startswith("tables/")]
            return {it: archive.read(it) for it in files if "sessions" not in it and "events" not in it}

    assert tables("1.davy") == tables("2.davy")


def test_a_backup_sees_one_moment_while_others_write(store, tmp_path):
    """Each write adds a post and its event; a backup that saw half a write would have one without the other."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            with store.write() as db:
                add_post(db, Post(f"n{number}", "x"))
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        counts = []
        for number in range(5):
            rows = write_backup(store, tmp_path / f"{number}.davy").rows
            counts.append((rows["posts"], rows["events"]))
    finally:
        stop.set()
        thread.join()
    assert all(n_posts == n_events for n_posts, n_events in counts)
    assert counts[-1][0] > 0


def test_a_backup_is_for_its_owner_only_and_does_not_overwrite(store, tmp_path):
    target = tmp_path / "b.davy"
    write_backup(store, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(UserError, match="there already"):
        write_backup(store, target)
    with pytest.raises(UserError, match="does not exist"):
        write_backup(store, tmp_path / "no" / "b.davy")
    assert "b.davy.part" not in os.listdir(tmp_path)


def test_a_database_with_rows_is_replaced_only_when_asked_and_kept_aside(store, tmp_path):
    fill(store)
    write_backup(store, tmp_path / "b.davy")
    with store.write() as db:
        add_post(db, Post("later", "x"))
    url = url_of(store)
    with pytest.raises(UserError, match="--replace"):
        restore(tmp_path / "b.davy", url)
    store.close()
    _, aside = restore(tmp_path / "b.davy", url, replace=True)
    with open_store(url) as again, again.read() as db:
        assert posts.count(db) == 7
        if not again.sqlite:
            assert db.execute(text(f"SELECT count(*) FROM {aside.split()[-1]}.posts")).scalar_one() == 8
    if store.sqlite:
        with open_store(f"sqlite:///{aside}") as old, old.read() as db:
            assert posts.count(db) == 8


def test_a_sqlite_file_in_use_is_not_replaced(tmp_path):
    url = f"sqlite:///{tmp_path / 'davy.sqlite'}"
    with open_store(url, create=True) as store:
        fill(store)
        write_backup(store, tmp_path / "b.davy")
        with pytest.raises(UserError, match="is in use"):
            restore(tmp_path / "b.davy", url, replace=True)
        with store.read() as db:
            assert posts.count(db) == 7
    assert sorted(it for it in os.listdir(tmp_path) if "-" not in it) == ["b.davy", "davy.sqlite"]


def test_a_file_of_a_newer_davy_is_refused(store, other_url, tmp_path):
    write_backup(store, tmp_path / "b.davy")
    rewrite(tmp_path / "b.davy", lambda manifest: manifest.update(database_version="9999"))
    with pytest.raises(UserError, match=r"of version 9999.*git pull"):
        restore(tmp_path / "b.davy", other_url)


def test_a_file_from_before_the_first_release_says_how_to_export_it(store, other_url, tmp_path):
    write_backup(store, tmp_path / "b.davy")
    rewrite(tmp_path / "b.davy", lambda manifest: manifest.update(database_version="0018"))
    said = r"before the first release \(version 0018\).*before 2026-11-19.*davy database restore.*davy project export"
    with pytest.raises(UserError, match=said) as caught:
        restore(tmp_path / "b.davy", other_url)
    assert "\n" not in caught.value.message
    assert "other.sqlite" not in os.listdir(tmp_path)


def rewrite(path: Path, change, *, tables: dict[str, bytes] | None = None, extra: dict[str, bytes] | None = None):
    """Change a backup's manifest; `tables` replaces members and mends their figures, `extra` adds members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    for name, content in (tables or {}).items():
        members[f"tables/{name}.jsonl"] = content
        about = manifest["tables"][name]
        about.update(bytes=len(content), rows=content.count(b"\n"), sha256=hashlib.sha256(content).hexdigest())
    change(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()
    members.update(extra or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def users_table(manifest):
    return manifest["tables"]["users"]


ROW = b'["u","l","n","ROLE","en",null,"2026-01-02T03:04:05+00:00",null,null]\n'

HARM = {
    "no manifest key": (lambda m: m.pop("tables"), {}),
    "another format": (lambda m: m.update(format="zip"), {}),
    "a newer format": (lambda m: m.update(format_version=2), {}),
    "wrong checksum": (lambda m: users_table(m).update(sha256="0" * 64), {}),
    "wrong count": (lambda m: users_table(m).update(rows=7), {}),
    "wrong size": (lambda m: users_table(m).update(bytes=users_table(m)["bytes"] - 1), {}),
    "negative size": (lambda m: users_table(m).update(bytes=-1), {}),
    "size as a truth value": (lambda m: users_table(m).update(rows=True), {}),
    "path out of the archive": (lambda m: users_table(m).update(file="../../etc/passwd"), {}),
    "a member too many": (lambda m: None, {"extra": {"../evil": b"x"}}),
    "a table too many": (
        lambda m: m["tables"].update(pg_authid=dict(users_table(m), file="tables/pg_authid.jsonl")),
        {},
    ),
    "a table too few": (lambda m: m["tables"].pop("users"), {}),
    "a column too many": (lambda m: users_table(m)["columns"].update(x="text"), {}),
    "a column as code": (lambda m: users_table(m)["columns"].update({'x") --': "text"}), {}),
    "an unknown kind": (lambda m: users_table(m)["columns"].update(id="pickle"), {}),
    "a date that is none": (lambda m: m.update(made_at="soon"), {}),
}

HARM_IN_ROWS = {
    "a row of the wrong shape": (lambda m: None, {"tables": {"users": b'{"id": 1}\n'}}),
    "a row too short": (lambda m: None, {"tables": {"users": b"[1]\n"}}),
    "a number for a text": (lambda m: None, {"tables": {"users": ROW.replace(b'"u"', b"5")}}),
    "no line end": (lambda m: None, {"tables": {"users": ROW.rstrip()}}),
    "a role that there is not": (lambda m: None, {"tables": {"users": ROW}}),
    "rows that contradict": (lambda m: None, {"tables": {"users": ROW.replace(b"ROLE", b"admin") * 2}}),
    "an answer to nothing": (lambda m: None, {"tables": {"answers": b'["nothing","q","l",0]\n'}}),
    "deep nesting": (lambda m: None, {"tables": {"users": b"[" * 100_000 + b"\n"}}),
    "a NUL": (lambda m: None, {"tables": {"users": ROW.replace(b"ROLE", b"admin").replace(b'"n"', b'"\\u0000"')}}),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_hostile_backup_is_refused_and_changes_nothing(harm, tmp_path, sqlite_template):
    shutil.copy(sqlite_template, tmp_path / "davy.sqlite")
    with open_store(f"sqlite:///{tmp_path / 'davy.sqlite'}") as store:
        refused(store, tmp_path, *HARM[harm])


@pytest.mark.parametrize("harm", HARM_IN_ROWS)
def test_a_backup_with_wrong_rows_is_refused_and_changes_nothing(store, harm, tmp_path):
    refused(store, tmp_path, *HARM_IN_ROWS[harm])


def refused(store: Store, folder: Path, change, options) -> None:
    write_backup(store, folder / "b.davy")
    rewrite(folder / "b.davy", change, **options)
    url = url_of(store)
    with store.read() as db:
        before = row_counts(db)
    store.close()
    with pytest.raises(UserError) as caught:
        restore(folder / "b.davy", url, replace=True)
    assert "\n" not in caught.value.message
    with open_store(url) as again, again.read() as db:
        assert row_counts(db) == before
    assert not [it for it in os.listdir(folder) if "restoring" in it or it.endswith(".bak")]


@pytest.mark.parametrize("cut", [0, 10, 2000, -30, -1])
def test_a_truncated_backup_is_refused(tmp_path, sqlite_template, cut):
    with open_store(f"sqlite:///{sqlite_template}") as store:
        write_backup(store, tmp_path / "b.davy")
    whole = (tmp_path / "b.davy").read_bytes()
    (tmp_path / "b.davy").write_bytes(whole[:cut])
    with pytest.raises(UserError, match="can't be restored"):
        restore(tmp_path / "b.davy", f"sqlite:///{tmp_path / 'new.sqlite'}")
    assert os.listdir(tmp_path) == ["b.davy"]


@pytest.mark.slow
def test_every_flipped_byte_is_noticed_or_harmless(tmp_path, sqlite_template):
    """Whatever byte of the file is damaged, a restore either refuses or brings the same rows."""
    with open_store(f"sqlite:///{sqlite_template}") as store:
        write_backup(store, tmp_path / "b.davy")
    whole = bytearray((tmp_path / "b.davy").read_bytes())
    for at in range(7, len(whole), len(whole) // 25):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        (tmp_path / "d.davy").write_bytes(damaged)
        target = tmp_path / f"{at}.sqlite"
        try:
            restore(tmp_path / "d.davy", f"sqlite:///{target}")
        except UserError:
            assert not target.exists()


@pytest.mark.slow
def test_a_bomb_is_not_unpacked(tmp_path, sqlite_template):
    with open_store(f"sqlite:///{sqlite_template}") as store:
        write_backup(store, tmp_path / "b.davy")
    bomb = b"[" + b" " * (80 * 1024 * 1024) + b"]\n"
    rewrite(tmp_path / "b.davy", lambda m: None, tables={"posts": bomb})
    assert (tmp_path / "b.davy").stat().st_size < 1024 * 1024
    with pytest.raises(UserError, match="longer than it says"):
        restore(tmp_path / "b.davy", f"sqlite:///{tmp_path / 'new.sqlite'}")
    huge = 10**15
    rewrite(tmp_path / "b.davy", lambda m: m["tables"]["posts"].update(bytes=huge))
    with pytest.raises(UserError, match="another size"):
        restore(tmp_path / "b.davy", f"sqlite:///{tmp_path / 'new.sqlite'}")
    assert os.listdir(tmp_path) == ["b.davy"]


def test_what_is_no_backup_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path / 'new.sqlite'}"
    (tmp_path / "text").write_text("hello")
    for name, said in {"text": "no backup", "missing": "no file", ".": "folder"}.items():
        with pytest.raises(UserError, match=said):
            restore(tmp_path / name, url)
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(UserError, match="no manifest"):
        restore(tmp_path / "zip", url)


def test_someone_elses_database_is_never_replaced(database_url, tmp_path, sqlite_template):
    with open_store(f"sqlite:///{sqlite_template}") as store:
        write_backup(store, tmp_path / "b.davy")
    from davy.store.store import make_engine
    from davy.store.url import parse_url

    if database_url.startswith("sqlite"):
        Path(database_url.removeprefix("sqlite:///")).touch()
    with Store(parse_url(database_url), make_engine(parse_url(database_url))) as bare, bare.write() as db:
        db.execute(text("CREATE TABLE recipes (id INTEGER)"))
    with pytest.raises(UserError, match="not one of Davy's"):
        restore(tmp_path / "b.davy", database_url, replace=True)


def test_a_backup_of_the_first_version_restores_into_today(database_url, other_url, tmp_path):
    from davy.store.store import make_engine
    from davy.store.url import parse_url

    if database_url.startswith("sqlite"):
        Path(database_url.removeprefix("sqlite:///")).touch()
    with Store(parse_url(database_url), make_engine(parse_url(database_url))) as bare:
        with bare.write() as db:
            schema_versions.upgrade(db, schema_versions.list_versions()[0])
            at = "2026-01-02 03:04:05.000000"
            db.execute(text(f"INSERT INTO posts (id, public_id, text, added_at) VALUES ('p', 'p', 'x', '{at}')"))
        write_backup(bare, tmp_path / "b.davy")
    if database_url != other_url:
        restore(tmp_path / "b.davy", other_url)
        with open_store(other_url) as store, store.read() as db:
            assert posts.get(db, "p").text == "x"


def url_of(store: Store) -> str:
    return store.url.set(drivername=store.url.drivername.partition("+")[0]).render_as_string(hide_password=False)
