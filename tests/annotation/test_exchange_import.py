"""Files into a project: whole or not at all, under names of the file, counted like answers given on a page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from davy import schemes as scheme_files
from davy.annotation.exchange import row_import
from davy.annotation.exchange.exchange import ExportRequest, ImportRequest, export_project, import_file
from davy.annotation.exchange.formats import FORMATS, find_format
from davy.annotation.exchange.rows import AnsweredPost
from davy.annotation.labelling.store import items, tallies
from davy.annotation.labelling.store.tables import annotations, assignments, verdicts
from davy.annotation.project import monitoring
from davy.annotation.project.store import members, phases, projects
from davy.annotation.project.store import posts as stored_posts
from davy.annotation.project.store.tables import posts
from davy.core import Post, UserError
from davy.people.store import users
from davy.schemes.store import schemes
from exchange_case import about, rows, scheme


@pytest.fixture
def project(store):
    """An empty project with a training phase, a calibration and a production phase that takes three answers."""
    made = scheme()
    with store.write() as db:
        schemes.save(db, made, scheme_files.to_yaml(made), by="shell")
        project = projects.create(
            db, id="tea-2", title="More tea", scheme="tea", scheme_version=1, settings={}, by="shell"
        )
        for name, kind, kept in (("1", "training", False), ("2a", "calibration", False), ("3", "production", True)):
            phases.add(db, "tea-2", name=name, kind=kind, answers=3, in_corpus=kept, settings={}, by="shell")
    return project


def written(tmp_path, name, sent=None, **more):
    """Return a file of a format with our rows."""
    format = find_format(name)
    path = tmp_path / (f"{name}.{format.endings[0]}" if not format.folder else "folder")
    if format.folder:
        path.mkdir()
    format.write(iter(rows() if sent is None else sent), path, about(**more))
    return path


def counts(store):
    """Return how many rows the tables have that an import fills."""
    with store.read() as db:
        return [db.scalar(select(func.count()).select_from(it)) for it in (posts, annotations, assignments, verdicts)]


def without_guideline(sent: list[AnsweredPost]) -> list[AnsweredPost]:
    """Return rows as a scheme without guidelines keeps them."""
    return [replace(row, given=tuple(replace(it, guideline=0) for it in row.given)) for row in sent]


@pytest.mark.parametrize("name", ["long", "label-studio", "doccano", "prodigy", "argilla", "huggingface"])
def test_a_file_comes_in_and_goes_out_again_unchanged(store, project, tmp_path, name):
    path = written(tmp_path, name)
    came = import_file(store, ImportRequest("tea-2", name), path, by="shell")
    assert (came.posts, came.answers, len(came.people)) == (len(rows()), 3 * len(rows()), 3)
    out = tmp_path / "again.parquet"
    export_project(store, ExportRequest("tea-2"), out)
    assert list(find_format("long").read(out, about())) == without_guideline(rows())


def test_items_tallies_and_verdicts_are_counted_as_if_people_had_labelled(store, project, tmp_path):
    import_file(store, ImportRequest("tea-2", "long"), written(tmp_path, "long"), by="shell")
    with store.read() as db:
        phase = phases.by_name(db, "tea-2", "3")
        found = items.of_phase(db, phase.id)
        mine = {it.annotator: (it.given, it.refused) for it in tallies.of_phase(db, phase.id)}
    assert phase.size == len(found) == len(rows())
    assert {(it.given, it.room, it.state) for it in found} == {(2, 1, "open")}  # the third person refused
    n = len(rows())
    assert mine == {"imported:A07": (n, 0), "imported:A31": (n, 0), "imported:Zoë": (0, n)}
    assert counts(store)[3] == sum(len(row.settled) for row in rows())


def test_imported_answers_are_measured_though_their_phase_was_never_opened(store, project, tmp_path):
    import_file(store, ImportRequest("tea-2", "long"), written(tmp_path, "long"), by="shell")
    with store.read() as db:
        phase = phases.by_name(db, "tea-2", "3")
        assert phase.state == "waiting"
        assert [it.id for it in monitoring.due_phases(db)] == [phase.id]
        board = monitoring.load_dashboard(db, project)
    assert monitoring.catch_up(store, board)
    with store.read() as db:
        board = monitoring.load_dashboard(db, project)
    assert board.measured[phase.id], "the page has figures"
    assert not monitoring.catch_up(store, board)


def test_a_post_with_all_its_answers_is_settled_by_the_rules_where_the_file_has_no_verdict(store, project, tmp_path):
    row = rows()[0]
    fine = replace(row.given[1], flags=())
    sent = [replace(row, settled={}, given=(fine, replace(fine, annotator="b"), replace(fine, annotator="c")))]
    import_file(store, ImportRequest("tea-2", "long"), written(tmp_path, "long", sent), by="shell")
    with store.read() as db:
        (item,) = items.of_phase(db, phases.by_name(db, "tea-2", "3").id)
        (verdict,) = db.execute(select(verdicts)).all()
    assert (item.state, verdict.question, verdict.labels, verdict.basis) == (
        "settled",
        "hate",
        ["not hateful"],
        "unanimous",
    )


def test_what_is_settled_becomes_the_gold_of_a_training_phase(store, project, tmp_path):
    import_file(
        store, ImportRequest("tea-2", "long", phase="1", posts_only=True), written(tmp_path, "long"), by="shell"
    )
    with store.read() as db:
        found = items.of_phase(db, phases.by_name(db, "tea-2", "1").id)
    assert counts(store)[1:] == [0, 0, 0]
    assert found[0].gold == {"hate": ("hateful",), "target": (), "severity": ("2",)}
    assert found[1].gold is None


def test_a_post_with_rows_all_over_a_file_is_counted_once(store, project, tmp_path, monkeypatch):
    monkeypatch.setattr(row_import, "CHUNK", 3)
    apart = [replace(row, given=row.given[part]) for part in (slice(1), slice(1, None)) for row in rows()]
    path = written(tmp_path, "long", [row for row in apart if row.given])
    came = import_file(store, ImportRequest("tea-2", "long"), path, by="shell")
    assert (came.posts, came.known) == (len(rows()), 0)
    again = import_file(store, ImportRequest("tea-2", "long"), path, by="shell")
    assert (again.posts, again.known) == (0, len(rows()))


def test_importing_twice_brings_nothing_and_other_answers_are_refused(store, project, tmp_path):
    path = written(tmp_path, "long")
    import_file(store, ImportRequest("tea-2", "long"), path, by="shell")
    before = counts(store)
    again = import_file(store, ImportRequest("tea-2", "long"), path, by="shell")
    assert (again.posts, again.answers, again.settled, again.known) == (0, 0, 0, len(rows()))
    assert counts(store) == before
    first = rows()[0]
    other = replace(first.given[0], answers={"hate": ("not hateful",)})
    assert other.answers != first.given[0].answers
    changed = written(tmp_path, "long", [replace(first, given=(other,))])
    with pytest.raises(UserError, match=r"long\.csv: row 1: 'A07' has answered post 'p000'"):
        import_file(store, ImportRequest("tea-2", "long"), changed, by="shell")
    assert counts(store) == before


def test_an_import_is_written_in_short_transactions_and_goes_on_after_a_stop(store, project, tmp_path, monkeypatch):
    monkeypatch.setattr(row_import, "CHUNK", 5)
    path = written(tmp_path, "long")
    seen: list[int] = []

    def stop(done: int, _: int) -> None:
        if done:
            seen.append(counts(store)[0])  # another reader sees what is in while the rest is still to come
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(store, ImportRequest("tea-2", "long"), path, by="shell", progress=stop)
    assert seen == [5, 10]
    came = import_file(store, ImportRequest("tea-2", "long"), path, by="shell")
    assert (came.known, came.posts) == (10, len(rows()) - 10)
    out = tmp_path / "again.parquet"
    export_project(store, ExportRequest("tea-2"), out)
    assert list(find_format("long").read(out, about())) == without_guideline(rows())


def test_what_somebody_else_brought_in_after_the_check_is_refused_with_what_is_in(
    store, project, tmp_path, monkeypatch
):
    monkeypatch.setattr(row_import, "CHUNK", 5)
    path = written(tmp_path, "long")
    last = rows()[-1]

    def another(done: int, _: int) -> None:
        if done == 5:
            with store.write() as db:
                stored_posts.add(db, Post(last.id, "another text"), project="tea-2", by="shell")

    with pytest.raises(UserError, match=r"with another text.* The 15 rows before it are in, and are passed over"):
        import_file(store, ImportRequest("tea-2", "long"), path, by="shell", progress=another)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda row: replace(row, given=(replace(row.given[0], answers={"hate": ("lovely",)}),)),
            "'lovely' is not a label",
        ),
        (lambda row: replace(row, given=(replace(row.given[0], answers={}),)), "answers no question"),
        (lambda row: replace(row, given=(replace(row.given[0], phase="9"),)), "no phase '9'"),
        (lambda row: replace(row, given=(replace(row.given[1], answers={"severity": ("1",)}),)), "applies only where"),
        (lambda row: replace(row, given=(row.given[0], row.given[0])), "has answered post"),
        (lambda row: replace(row, given=(replace(row.given[0], annotator="x" * 101),)), "1 to 100 printable"),
        (lambda row: replace(row, id="p000", text="another text"), "with another text"),
        (lambda row: replace(row, id="p" * 201), "an id of 201 characters"),
        (lambda row: replace(row, text="a\0b"), "NUL character"),
        (
            lambda row: replace(row, given=tuple(replace(row.given[1], annotator=f"w{n}") for n in range(4))),
            "more answers than the 3",
        ),
    ],
)
def test_a_file_with_one_bad_row_at_its_end_changes_nothing(store, project, tmp_path, change, said):
    sent = [*rows()[:5], change(rows()[5])]
    path = written(tmp_path, "label-studio", sent)
    with pytest.raises(UserError) as caught:
        import_file(store, ImportRequest("tea-2", "label-studio"), path, by="shell")
    assert said in caught.value.message
    assert caught.value.message.startswith("label-studio.json: task 6")
    assert counts(store) == [0, 0, 0, 0]


def test_a_table_without_texts_never_brings_the_text_of_another_projects_post(store, project, tmp_path):
    with store.write() as db:
        projects.create(db, id="other", title="Other", scheme="tea", scheme_version=1, settings={}, by="shell")
        stored_posts.add(db, Post("p000", "a secret of another project"), project="other", by="shell")
        stored_posts.add(db, Post("p000", "a text of the shelf"), project=None, by="shell")
    path = written(tmp_path, "crowd", question="hate")
    with pytest.raises(UserError, match="there is no post 'p000' here, and the file has no texts"):
        import_file(store, ImportRequest("tea-2", "crowd", phase="3", question="hate"), path, by="shell")
    assert import_file(store, ImportRequest("tea-2", "long"), written(tmp_path, "long"), by="shell").posts == len(
        rows()
    )


def test_a_table_without_texts_needs_posts_that_are_there(store, project, tmp_path):
    path = written(tmp_path, "crowd", question="hate")
    wish = ImportRequest("tea-2", "crowd", phase="3", question="hate")
    with pytest.raises(UserError, match="there is no post 'p000' here, and the file has no texts"):
        import_file(store, wish, path, by="shell")
    import_file(
        store, ImportRequest("tea-2", "long", phase="3", posts_only=True), written(tmp_path, "long"), by="shell"
    )
    came = import_file(store, wish, path, by="shell")
    assert (came.posts, came.known, came.answers) == (0, len(rows()), 2 * len(rows()))


def test_a_name_of_a_file_and_a_members_pseudonym_stay_two_people(store, project, tmp_path):
    with store.write() as db:
        user = users.add(db, login="dana", name="Dana", role="annotator", by="shell")
        member = members.add(db, "tea-2", user.id, ["annotator"], by="shell")
    row = rows()[1]
    sent = [replace(row, given=(replace(row.given[0], annotator=member.pseudonym),))]
    import_file(store, ImportRequest("tea-2", "long"), written(tmp_path, "long", sent), by="shell")
    out = tmp_path / "out.jsonl"
    export_project(store, ExportRequest("tea-2", "doccano"), out)
    assert json.loads(out.read_text(encoding="utf-8"))["annotator"] == f"{member.pseudonym}~"


def test_spellings_and_words_for_nothing_become_the_schemes_own(store, project, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,annotator,phase,hate,text\nx1,w1,3,Not  Hateful,words\nx1,w2,3,NOT HATEFUL,words\n")
    import_file(store, ImportRequest("tea-2", "long", prefix="new-"), path, by="shell")
    out = tmp_path / "out.csv"
    export_project(store, ExportRequest("tea-2"), out)
    (row,) = find_format("long").read(out, about())
    assert (row.id, [dict(it.answers) for it in row.given]) == ("new-x1", [{"hate": ("not hateful",)}] * 2)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_not_there_or_of_another_kind_is_one_line(store, project, tmp_path, name):
    with pytest.raises(UserError, match=r"does not exist"):
        import_file(store, ImportRequest("tea-2", name), tmp_path / "nowhere.json", by="shell")
    odd = tmp_path / "odd.exe"
    odd.write_bytes(b"MZ\x00\x01")
    with pytest.raises(UserError) as caught:
        import_file(store, ImportRequest("tea-2", name), odd, by="shell")
    assert "\n" not in caught.value.message


def test_a_zip_that_climbs_out_of_its_folder_is_refused(store, project, tmp_path):
    import zipfile

    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../out.jsonl", "{}\n")
    with pytest.raises(UserError, match="leads out of its folder"):
        import_file(store, ImportRequest("tea-2", "huggingface"), path, by="shell")


def test_an_export_as_zip_comes_in_as_zip(store, project, tmp_path):
    import_file(store, ImportRequest("tea-2", "long"), written(tmp_path, "long"), by="shell")
    for name in ("huggingface", "codabench"):
        path = tmp_path / f"{name}.zip"
        export_project(store, ExportRequest("tea-2", name), path)
        came = import_file(
            store, ImportRequest("tea-2", name, phase="1", prefix=f"{name}-", posts_only=True), path, by="shell"
        )
        settled = [row for row in rows() if row.settled]
        assert came.posts == len(rows() if name == "huggingface" else settled)
