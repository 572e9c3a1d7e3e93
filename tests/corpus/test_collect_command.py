"""`davy collect` as its users meet it."""

import json

import polars as pl
import pytest

from davy.shell.app import run

COMMENT = {"author": "Ada", "subreddit": "Tea", "created_utc": 1647432000, "link_id": "t3_x", "parent_id": "t3_x"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{**COMMENT, "id": f"c{i}", "body": f"tea number {i}" if i % 2 else "coffee"} for i in range(10)]
    (tmp_path / "RC.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_collect_keeps_what_the_rule_matches(here, capsys):
    assert (
        run(["collect", "RC.jsonl", "--platform", "reddit", "--rule", "tea", "--out", "posts.parquet", "--json"]) == 0
    )
    done = json.loads(capsys.readouterr().out)
    assert (done["read"], done["kept"], done["taken"]) == (10, 5, {"search": 5})
    assert pl.read_parquet("posts.parquet")["found"].unique().to_list() == ["search, rule tea"]


def test_a_bad_rule_shows_a_caret_and_writes_nothing(here, capsys):
    assert (
        run(["collect", "RC.jsonl", "--platform", "reddit", "--rule", "(tea OR coffee", "--out", "posts.parquet"]) == 2
    )
    shown = capsys.readouterr().err.splitlines()
    assert "never closed" in shown[0]
    assert shown[1].index("(") == shown[2].index("^")
    assert not list(here.glob("posts*"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["RC.jsonl", "--platform", "redit", "--out", "o.csv"], "reddit"),
        (["RC.jsonl", "--platform", "reddit", "--out", "o.doc"], "extension"),
        (["gone.jsonl", "--platform", "reddit", "--out", "o.csv"], "does not exist"),
        (["RC.jsonl", "--platform", "reddit", "--out", "no/o.csv"], "does not exist"),
        (["RC.jsonl", "--platform", "reddit", "--out", "o.csv", "--from", "soon"], "no day"),
        (["RC.jsonl", "--platform", "reddit", "--out", "o.csv", "--text-column", "body"], "goes with --platform plain"),
        (["RC.jsonl", "--platform", "reddit", "--out", "o.csv", "--strategies", "gone.yaml"], "gone.yaml"),
        (["RC.jsonl", "--platform", "reddit", "--out", "o.csv", "--author-key", "gone"], "urandom"),
    ],
)
def test_what_the_user_can_fix_is_one_line(here, capsys, arguments, words):
    assert run(["collect", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


STRATEGIES = """
strategies:
  - {name: words, kind: search, rule: tea, cap: 2}
  - {name: listed, kind: profiles, profiles: ["@Ada"], cap: 1}
  - {name: trend, kind: trend, terms: ["#none", coffee], from: 2022-03-16, until: 2022-03-16}
  - name: earlier
    kind: corpus
    path: old.csv
    licence: CC-BY-4.0
    lang: en
    keep: {label: [HOF]}
    labels: {hate: {column: label, values: {HOF: hateful, NOT: not hateful}}}
"""


def test_strategies_of_a_file_work_as_gmhp7k_did(here, capsys):
    (here / "ways.yaml").write_text(STRATEGIES)
    (here / "old.csv").write_text("id,text,label\n1,one,HOF\n2,two,NOT\n3,three,HOF\n")
    assert (
        run(
            ["collect", "RC.jsonl", "--platform", "reddit", "--strategies", "ways.yaml", "--out", "o.parquet", "--json"]
        )
        == 0
    )
    done = json.loads(capsys.readouterr().out)
    assert done["taken"] == {"words": 2, "listed": 1, "trend": 4, "earlier": 2}
    earlier = pl.read_parquet("o.parquet").filter(pl.col("source") == "old")
    assert earlier["id"].to_list() == ["old:1", "old:3"]
    assert earlier["licence"].to_list() == ["CC-BY-4.0"] * 2
    assert earlier["hate.gold"].to_list() == ["hateful"] * 2
    assert earlier["found"][1] == "corpus: earlier, old.csv:3"
    assert json.loads(earlier["meta"][1])["source_id"] == "3"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("strategies: []", "no list"),
        ("strategies: [{kind: serch, rule: a}]", "search"),
        ("strategies: [{kind: search, rle: a}]", "rule"),
        ("strategies: [{kind: search, rule: '(a'}]", "never closed"),
        ("strategies: [{kind: search, rule: a, cap: 0}]", "from 1 on"),
        ("strategies: [{kind: profiles}]", "needs 'profiles'"),
        ("strategies: [{rule: a}, {rule: b}]", "name of its own"),
        ("a: [", "not YAML"),
        ("strategies: [{kind: corpus, path: old.csv}]", "licence"),
        (
            "strategies: [{kind: corpus, path: old.csv, licence: x, labels: {hate: {column: label, values: {a: b}}}}]",
            "HOF",
        ),
    ],
)
def test_a_fault_in_the_strategies_is_named(here, capsys, text, words):
    (here / "ways.yaml").write_text(text)
    (here / "old.csv").write_text("id,text,label\n1,one,HOF\n")
    assert run(["collect", "RC.jsonl", "--platform", "reddit", "--strategies", "ways.yaml", "--out", "o.parquet"]) == 2
    assert words in capsys.readouterr().err
    assert not (here / "o.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mastodon", "--out", "a.jsonl"], "--server"),
        (["reddit", "--out", "a.jsonl"], "--community"),
        (["x", "--rule", "tea", "--out", "a.jsonl"], "DAVY_X_TOKEN"),
        (["x", "--server", "http://127.0.0.1:1", "--out", "a.jsonl"], "needs a rule"),
        (["gab", "--out", "a.jsonl"], "no live connector"),
        (["mastdon", "--out", "a.jsonl"], "mastodon"),
        (["bluesky", "--out", "a.csv"], "jsonl"),
        (["mastodon", "--server", "example.social", "--out", "a.jsonl"], "Write https://example.social"),
        (["reddit", "--server", "//here:1", "--community", "tea", "--out", "a.jsonl"], "Write https://here:1"),
        (["bluesky", "--server", "jetstream.example", "--out", "a.jsonl"], "Write wss://jetstream.example"),
        (["bluesky", "--rule", "a OR", "--out", "a.jsonl"], "Nothing follows"),
    ],
)
def test_live_says_what_it_needs(here, capsys, monkeypatch, arguments, words):
    monkeypatch.delenv("DAVY_X_TOKEN", raising=False)
    assert run(["collect", "live", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not list(here.glob("a.*"))


def test_an_archive_called_like_a_command_is_reached_by_its_path(here):
    (here / "live").write_bytes((here / "RC.jsonl").read_bytes())
    assert run(["collect", "read", "./live", "--platform", "plain", "--out", "o.csv"]) == 2  # no ending says what it is
    (here / "live").rename(here / "withdraw.jsonl")
    assert run(["collect", "withdraw.jsonl", "--platform", "reddit", "--out", "o.csv"]) == 0


def test_files_of_earlier_collections_are_joined_and_say_what_they_said(here, capsys):
    gab = {
        "id": 7,
        "body": "tea at Gab",
        "created_at": "2022-03-16T12:00:00Z",
        "user": {"username": "bob"},
        "conversation_id": "k1",
    }
    (here / "gab.jsonl").write_text(json.dumps(gab))
    assert (
        run(
            ["collect", "RC.jsonl", "--platform", "reddit", "--rule", "tea", "--licence", "terms", "--out", "r.parquet"]
        )
        == 0
    )
    assert run(["collect", "gab.jsonl", "--platform", "gab", "--out", "g.parquet"]) == 0
    assert run(["collect", "r.parquet", "g.parquet", "--platform", "plain", "--out", "both.parquet"]) == 0
    both = pl.read_parquet("both.parquet")
    assert both["found"].to_list() == ["search, rule tea"] * 5 + ["search: everything"]
    assert both["source"].to_list() == ["reddit"] * 5 + ["gab"]
    assert both["licence"].to_list() == ["terms"] * 5 + [None]
    assert [json.loads(meta)["conversation"] for meta in both["meta"]] == ["t3_x"] * 5 + ["k1"]
    assert json.loads(both["meta"][0])["reply_to"] == "reddit:t3_x"
    assert run(["collect", "both.parquet", "--platform", "plain", "--rule", "Gab", "--out", "again.parquet"]) == 0
    assert pl.read_parquet("again.parquet")["found"].to_list() == ["search: everything; then search, rule Gab"]


def test_equal_ids_with_other_texts_are_an_error_and_lose_no_post(here, capsys):
    (here / "jan.csv").write_text("id,text\n1,one\n2,two\n")
    (here / "feb.csv").write_text("id,text\n1,three\n2,four\n")
    (here / "o.csv").write_text("kept\n")
    command = ["collect", "jan.csv", "feb.csv", "--platform", "plain", "--out", "o.csv", "--replace"]
    assert run(command) == 2
    assert "feb.csv: id '1' was there before with another text" in capsys.readouterr().err
    assert run(command) == 2  # and where it goes on, too
    assert (here / "o.csv").read_text() == "kept\n"
    (here / "feb.csv").write_text("id,text\n1,one\n3,RT @ada four\n3,RT @ada four\n")
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repeated"] == 2
    assert pl.read_csv("o.csv")["text"].to_list() == ["one", "two", "RT [USER] four"]


def test_posts_of_a_json_list_without_ids_are_all_kept(here):
    (here / "list.json").write_text(json.dumps([{"text": "one"}, {"text": "two"}, {"text": "two"}]))
    assert run(["collect", "list.json", "--platform", "plain", "--out", "o.csv"]) == 0
    kept = [("list-1-1", "one"), ("list-1-2", "two"), ("list-1-3", "two")]
    assert pl.read_csv("o.csv").select("id", "text").rows() == kept


def test_a_post_that_its_author_changed_is_still_one_post(here, capsys):
    rows = [{**COMMENT, "id": "c1", "body": text} for text in ("tea", "tea, changed")]
    (here / "two.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(["collect", "two.jsonl", "--platform", "reddit", "--out", "o.parquet", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["kept"], done["repeated"]) == (1, 1)


@pytest.mark.parametrize("name", ["odd.csv", "odd.jsonl"])
def test_a_plain_file_without_a_known_text_column_lists_its_columns_and_writes_nothing(here, capsys, name):
    odd = pl.DataFrame({"Comment Text (raw)": ["one", "two"], "ID": ["a", "b"], "stars": [1, 2]})
    odd.write_csv(name) if name.endswith("csv") else odd.write_ndjson(name)
    (here / "o.csv").write_text("kept\n")
    command = ["collect", name, "--platform", "plain", "--replace"]
    for _ in range(2):
        assert run([*command, "--out", "o.csv"]) == 2
        said = capsys.readouterr().err
        assert "it has Comment Text (raw), ID, stars. Name it with --text-column." in said
    assert (here / "o.csv").read_text() == "kept\n"
    assert run([*command, "--text-column", "Coment Text (raw)", "--out", "o.csv"]) == 2
    assert "Did you mean 'Comment Text (raw)'?" in capsys.readouterr().err
    assert run([*command, "--text-column", "Comment Text (raw)", "--out", "o.csv"]) == 0
    assert "don't keep: stars. davy convert keeps every column." in capsys.readouterr().err
    assert pl.read_csv("o.csv").select("id", "text").rows() == [("a", "one"), ("b", "two")]


def test_lines_of_another_platform_are_not_taken_for_reddits(here, capsys):
    (here / "gab.jsonl").write_text(json.dumps({"id": 7, "body": "tea at Gab", "created_at": "2022-03-16"}))
    assert run(["collect", "gab.jsonl", "--platform", "reddit", "--out", "o.parquet"]) == 0
    assert "See that --platform is right" in capsys.readouterr().err
    assert run(["collect", "gab.jsonl", "--platform", "gab", "--out", "g.csv"]) == 0
    assert run(["collect", "g.csv", "--platform", "reddit", "--out", "o2.parquet"]) == 2
    assert "has posts of gab, not of reddit" in capsys.readouterr().err


def test_corpora_need_no_archive_and_repeated_ids_are_told(here, capsys):
    labels = "labels: {hate: {column: label, values: {HOF: hateful}}}"
    ways = f"strategies: [{{kind: corpus, path: old.csv, licence: x, {labels}}}]"
    (here / "ways.yaml").write_text(ways)
    (here / "old.csv").write_text("id,text,label\n1,one,HOF\n1,one again,HOF\n2,two,HOF\n")
    assert run(["collect", "--strategies", "ways.yaml", "--out", "o.parquet"]) == 0
    assert "3 read, 0 held no post, 1 repeated" in capsys.readouterr().err
    assert pl.read_parquet("o.parquet")["id"].to_list() == ["old:1", "old:2"]
    assert run(["collect", "--out", "o2.parquet"]) == 2
    assert "Name the archives" in capsys.readouterr().err
    assert run(["collect", "RC.jsonl", "--out", "o2.parquet"]) == 2
    assert "--platform" in capsys.readouterr().err


def test_listed_accounts_are_counted_one_by_one(here, capsys):
    (here / "ways.yaml").write_text("strategies: [{kind: profiles, profiles: ['@Ada', u/nobody]}]")
    assert run(["collect", "RC.jsonl", "--platform", "reddit", "--strategies", "ways.yaml", "--out", "o.parquet"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["ada", "10"] in rows
    assert ["nobody", "0"] in rows


def test_a_span_that_ends_before_it_begins_is_told(here, capsys):
    given = [
        "collect",
        "RC.jsonl",
        "--platform",
        "reddit",
        "--out",
        "o.parquet",
        "--from",
        "2022-04-02",
        "--until",
        "2022-04-01",
    ]
    assert run(given) == 2
    assert "2022-04-02 lies after 2022-04-01" in capsys.readouterr().err
    given[-1] = "2022-04-02"
    assert run(given) == 0
