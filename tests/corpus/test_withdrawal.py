"""Deleted posts leave the store and files, with all that was derived from their text, and the report says so."""

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import annotations, tallies
from davy.annotation.project import phase_gates
from davy.annotation.project.store import phases, posts, withdrawals
from davy.annotation.settling.store import verdicts
from davy.core import Annotation, Guideline, Label, Post, Question, Scheme, UserError, Verdict, Wording
from davy.corpus.collect import withdrawal
from davy.corpus.collect.platforms import bluesky
from davy.schemes.store import schemes
from davy.shell.app import run
from davy.store import events, open_store
from post_rows import add_post
from work_project import make_bench

SCHEME = Scheme(
    "grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),),
    guidelines=(Guideline(1, Wording("Be kind.")),),
)  # fmt: skip
AT = datetime(2024, 5, 1, tzinfo=UTC)


def fill(store):
    """Three posts; `b` was derived from `a`, and `a` has a second thought, a comment and a verdict."""
    with store.write() as db:
        schemes.save(db, SCHEME, "name: grumble\n", by="shell")
        add_post(db, Post("a", "grumblefop words"))
        add_post(db, Post("b", "grumblefop words changed", parent="a"))
        add_post(db, Post("c", "other"))
        for key, post, replaces in (("n1", "a", None), ("n2", "a", "n1"), ("n3", "b", None), ("n4", "c", None)):
            given = Annotation(
                key, post, "ada", "grumble", 1, 1, {"grumpy": ("yes",)}, AT, comment="grumblefop", replaces=replaces
            )
            annotations.add(db, given, SCHEME)
        verdicts.add(db, Verdict("a", "grumpy", ("yes",), "expert", ("n2",), "grumblefop"), SCHEME, by="shell")
        verdicts.add(db, Verdict("c", "grumpy", ("no",), "expert", ("n4",)), SCHEME, by="shell")


def test_a_post_leaves_the_store_with_everything_that_was_derived_from_it(store):
    fill(store)
    with store.read() as db:
        seen = withdrawals.preview(db, ["a", "nowhere"])
    with store.write() as db:
        done = withdrawals.withdraw(db, ["a", "nowhere"], by="shell")
    assert (seen.found, seen.derived) == (done.found, done.derived) == (("a",), ("b",))
    assert done.rows == {"answers": 3, "annotations": 3, "verdict_annotations": 1, "verdicts": 1, "posts": 2}
    assert (done.asked, done.annotators, done.verdicts) == (2, 1, {"grumble: grumpy": 1})
    with store.read() as db:
        assert posts.count(db) == 1
        assert annotations.get(db, "n4").comment == "grumblefop"
        assert verdicts.of_post(db, "a", scheme="grumble", version=1) == {}
        left = verdicts.of_post(db, "c", scheme="grumble", version=1)["grumpy"]
        assert (left.labels, left.basis) == (("no",), "expert")
        assert events.latest(db, about="post a")[0].what == "post withdrawn"
        assert events.latest(db, about="posts")[0].details["removed"]["posts"] == 2


def test_looking_changes_nothing_and_withdrawing_twice_is_withdrawing_once(store):
    fill(store)
    with store.read() as db:
        withdrawals.preview(db, ["a"])
        assert posts.count(db) == 3
    for expected in (("a",), ()):
        with store.write() as db:
            assert withdrawals.withdraw(db, ["a"], by="shell").found == expected


@pytest.mark.parametrize("kind", ["training", "screening", "calibration"])
def test_a_phase_that_lost_a_post_is_done_when_everybody_answered_the_others(store, kind):
    bench = make_bench(store, n=4, people=("ada", "bo", "cy"), kind=kind, answers=None, gold={"grumpy": ["no"]})
    answered = bench.answer("ada")
    with store.write() as db:
        labelling.refuse(db, labelling.next_sheet(db, bench.project, bench.people["bo"]), annotation_id="refusal")
        withdrawals.withdraw(db, [answered.post.id], by="shell", project="pilot")
    for name in bench.people:
        while bench.answer(name):
            pass
    assert [item.given for item in bench.everything()] == [3, 3, 3], "nobody is done one post early"
    with store.read() as db:
        phase = phases.get(db, bench.phase.id)
        status = phase_gates.phase_status(db, bench.project, phase)
        assert (phase.size, status.done, status.out_of) == (3, 3, 3)
        assert [(it.given, it.refused) for it in tallies.of_phase(db, phase.id)] == [(3, 0)] * 3


def test_a_withdrawn_post_that_was_full_is_not_counted_as_filled(store):
    bench = make_bench(store, n=2, people=("ada", "bo"), answers=2)
    answered = bench.answer("ada")
    bench.answer("bo")
    with store.write() as db:
        withdrawals.withdraw(db, [answered.post.id], by="shell", project="pilot")
    with store.read() as db:
        assert phases.get(db, bench.phase.id).size == 1
        assert [it.filled for it in tallies.of_phase(db, bench.phase.id)] == [0, 0]


def test_many_posts_go_in_one_withdrawal(store):
    frame = pl.DataFrame({"id": [f"p{i:04d}" for i in range(1500)], "text": ["x"] * 1500})
    with store.write() as db:
        posts.ensure(db, frame, project=None, by="shell")
        done = withdrawals.withdraw(db, frame["id"][:1200].to_list(), by="shell")
        assert (len(done.found), posts.count(db)) == (1200, 300)


def test_removed_texts_are_in_neither_the_sqlite_file_nor_its_log(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///davy.sqlite", create=True) as made:
        fill(made)
    assert run(["collect", "withdraw", "a", "c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["database"]["posts"] == 2
    held = b"".join(path.read_bytes() for path in tmp_path.glob("davy.sqlite*"))
    assert b"grumblefop" not in held


@pytest.mark.parametrize("name", ["posts.csv", "posts.jsonl", "posts.parquet", "posts.tsv"])
def test_files_lose_the_posts_and_what_was_derived_and_keep_all_else(tmp_path, name):
    from davy.files import tables

    rows = pl.DataFrame(
        {
            "id": ["a", "b", "c", "d"],
            "text": ["one", "two", "three", "four"],
            "parent": [None, "a", "b", None],
            "meta": ['{"k": 1}', None, None, '{"k": 2}'],
            "score": [0.5, 0.25, 0.125, 1.0],
        }
    )
    path = tmp_path / name
    tables.write(rows.lazy(), path)
    done = withdrawal.clear(path, ["a", "nowhere"], change=False)
    assert (done.rows, done.removed, done.derived) == (4, 1, 2)
    assert len(tables.scan(path).collect()) == 4
    withdrawal.clear(path, ["a"])
    with tables.open_table(path) as table:
        left = table.frame.collect()
    assert left["id"].to_list() == ["d"]
    assert (left["score"].to_list(), json.loads(left["meta"][0])) == ([1.0], {"k": 2})


def test_a_live_archive_loses_them_too(tmp_path):
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps({"davy": {"id": key, "text": "x"}}) + "\n" for key in "abc"))
    assert withdrawal.clear(path, ["b"], change=False).removed == 1
    assert path.read_text().count("\n") == 3
    assert withdrawal.clear(path, ["b"]).removed == 1
    assert [json.loads(line)["davy"]["id"] for line in path.read_text().splitlines()] == ["a", "c"]


def test_posts_are_known_by_their_addresses():
    address = "at://did:plc:ada/app.bsky.feed.post/3k"
    assert bluesky.key(address) in withdrawal.possible_ids(address)
    assert "x:15" in withdrawal.possible_ids("https://twitter.com/ada/status/15?s=20")
    assert "reddit:t1_abc" in withdrawal.possible_ids("https://www.reddit.com/r/tea/comments/xyz/title/abc/")
    assert "reddit:t3_xyz" in withdrawal.possible_ids("https://reddit.com/r/tea/comments/xyz/title/")
    assert "mastodon:social.example/9" in withdrawal.possible_ids("https://social.example/@ada/9")
    assert withdrawal.possible_ids("15", "twitter") == ["15", "x:15"]


def test_withdraw_takes_a_list_and_says_what_it_can_not_reach(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gone.txt").write_text("# deleted in May\na\n\n")
    (tmp_path / "posts.csv").write_text("id,text\na,one\nb,two\n")
    assert run(["collect", "withdraw", "gone.txt", "--file", "posts.csv"]) == 0
    said = capsys.readouterr()
    assert "backups" in said.err
    assert (tmp_path / "posts.csv").read_text().count("\n") == 2
    assert run(["collect", "withdraw", "zzz", "--file", "posts.csv"]) == 0
    assert "None of the 1 ids was found" in capsys.readouterr().err
    (tmp_path / "empty.txt").write_text("\n")
    assert run(["collect", "withdraw", "empty.txt", "--file", "posts.csv"]) == 2
    assert run(["collect", "withdraw", "a"]) == 2  # no database here, and no file named


def test_a_file_without_ids_is_refused_and_stays(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("word,n\na,1\n")
    with pytest.raises(UserError, match="no column with ids"):
        withdrawal.clear(path, ["a"])
    assert path.read_text() == "word,n\na,1\n"
