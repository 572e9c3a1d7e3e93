"""Every format: what goes out comes back, as far as the format can hold it."""

from __future__ import annotations

import csv
import json
import random
import string
from dataclasses import replace

import polars as pl
import pytest

from davy.annotation.exchange.corpus import majority_flags
from davy.annotation.exchange.formats import FORMATS, find_format
from davy.annotation.exchange.rows import AnsweredPost, GivenAnswer, SettledAnswer
from davy.core import Label, Question, Scheme, UserError
from exchange_case import about, rows, written

LOSSLESS = ("label-studio", "doccano", "prodigy", "argilla", "huggingface")


def there_and_back(tmp_path, name, sent, **more):
    """Return the rows after one trip through a file of a format."""
    format = find_format(name)
    path = tmp_path / f"file.{format.endings[0]}"
    if format.folder:
        path = tmp_path / "folder"
        path.mkdir()
    format.write(iter(sent), path, about(**more))
    return list(format.read(path, about(**more)))


@pytest.mark.parametrize("name", LOSSLESS)
def test_a_round_trip_keeps_every_odd_text_answer_flag_and_verdict(tmp_path, name):
    assert there_and_back(tmp_path, name, rows()) == rows()


def test_a_corpus_has_a_row_a_settled_post_with_basis_and_votes(tmp_path):
    sent = [it for it in rows() if it.settled]
    assert len(sent) < len(rows())
    came = there_and_back(tmp_path, "corpus", rows())
    assert [(it.id, it.text, it.meta) for it in came] == [(it.id, it.text, it.meta) for it in sent]
    assert [{name: (a.labels, a.basis) for name, a in it.settled.items()} for it in came] == [
        {name: (a.labels, a.basis) for name, a in it.settled.items()} for it in sent
    ]
    with (tmp_path / "file.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    for row, post in zip(table, sent, strict=True):
        votes = json.loads(row["hate.votes"] or "{}")
        assert sum(votes.values()) == sum("hate" in it.answers for it in post.given)
        raised = [flag for it in post.given for flag in it.flags]
        assert (row["flags"] or "").split("|") == sorted(
            {f for f in raised if 2 * raised.count(f) > len(post.given)}
        ) or [""]


def test_a_flag_that_most_people_raised_is_in_the_corpus():
    given = [GivenAnswer(str(n), "main", {}, flags=("other target",) if n < 2 else ("unrealistic",)) for n in range(3)]
    assert majority_flags(AnsweredPost(id="1", text="tea", given=tuple(given))) == "other target"
    assert majority_flags(AnsweredPost(id="1", text="tea", given=tuple(given[1:]))) is None


@pytest.mark.parametrize("name", LOSSLESS)
def test_a_post_that_nobody_answered_comes_back_too(tmp_path, name):
    sent = [replace(rows()[0], given=(), settled={}), replace(rows()[1], given=())]
    assert there_and_back(tmp_path, name, sent) == sent


@pytest.mark.parametrize("name", [*LOSSLESS, "long"])
def test_answers_in_two_phases_stay_apart(tmp_path, name):
    row = rows()[0]
    sent = [replace(row, given=(*row.given[:2], replace(row.given[0], phase="2a", answers={"hate": ("not hateful",)})))]
    back = there_and_back(tmp_path, name, sent)
    assert back == sent


@pytest.mark.parametrize("name", [*LOSSLESS, "long"])
@pytest.mark.parametrize("seed", range(3))
def test_random_rows_come_back(tmp_path, name, seed):
    sent = random_rows(random.Random(seed))
    assert there_and_back(tmp_path, name, sent) == sent


def test_task_worker_label_keeps_who_said_what(tmp_path):
    back = there_and_back(tmp_path, "crowd", rows())
    for row, wanted in zip(back, rows(), strict=True):
        said = {given.annotator: dict(given.answers) for given in row.given}
        assert (row.id, row.text) == (wanted.id, None)
        assert said == {given.annotator: dict(given.answers) for given in wanted.given if given.answers}


def test_task_worker_label_has_three_columns_for_one_question(tmp_path):
    path = tmp_path / "crowd.csv"
    find_format("crowd").write(rows(), path, about(question="hate"))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["task,worker,label", '"p000","A07","hateful"', '"p000","A31","not hateful"']


def test_a_codabench_bundle_keeps_settled_posts_and_their_verdicts(tmp_path):
    back = there_and_back(tmp_path, "codabench", rows())
    assert back == [replace(row, given=()) for row in rows() if row.settled]


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_rows_give_the_same_bytes(tmp_path, name):
    format = find_format(name)
    made = []
    for number in range(2):
        path = tmp_path / f"{number}.{format.endings[0]}"
        if format.folder:
            path.mkdir()
        format.write(iter(rows()), path, about())
        made.append(written(path))
    assert made[0] == made[1]


@pytest.mark.parametrize("name", ["label-studio", "argilla", "doccano", "prodigy"])
@pytest.mark.parametrize(
    "text", ["", "[", "[{]", '[{"data": ', "[1]", "{not json}\n", '"text"\n', "\x00\x01", "[" * 5000]
)
def test_a_broken_file_is_one_line_that_names_it(tmp_path, name, text):
    path = tmp_path / f"broken.{find_format(name).endings[0]}"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="broken") as caught:
        list(find_format(name).read(path, about()))
    assert "\n" not in caught.value.message


def test_bytes_that_are_not_utf8_are_one_line(tmp_path):
    for name in ("label-studio", "doccano"):
        path = tmp_path / f"latin.{find_format(name).endings[0]}"
        path.write_bytes(b'[{"data": {"text": "\xe4\xf6"}}]\n')
        with pytest.raises(UserError, match="UTF-8"):
            list(find_format(name).read(path, about()))


def random_rows(rng: random.Random) -> list[AnsweredPost]:
    """Return posts with random texts, answers and verdicts, by id."""
    signs = string.printable + "äß€\u200d\u2028👩‍🚀🏽'\"\\|=+-@\t\r\n"

    def words(most: int) -> str:
        return "".join(rng.choice(signs) for _ in range(rng.randrange(most)))

    made = []
    for number in range(40):
        given = []
        for who in rng.sample(["A01", "A02", "äöü", "x y"], rng.randrange(1, 4)):
            refused = rng.random() < 0.2
            mean = rng.random() < 0.5
            targets = tuple(rng.sample(["women", "trains", "tea drinkers"], rng.randrange(4)))
            answers = {"hate": ("hateful",), "target": targets, "severity": (rng.choice("123"),)}
            given.append(
                GivenAnswer(
                    who,
                    rng.choice(["2a", "3"]),
                    {} if refused else answers if mean else {"hate": ("not hateful",)},
                    ("refused",) if refused else tuple(rng.sample(["unsure", "unrealistic"], rng.randrange(3))),
                    rng.choice([None, "c" + words(20)]),
                    rng.choice([None, round(rng.random() * 100, 3)]),
                    None,
                    rng.randrange(3),
                )
            )
        given.sort(key=lambda it: it.phase or "")
        reason = rng.choice([None, "r" + words(20)])
        settled = {"hate": SettledAnswer(("hateful",), "expert", reason)} if rng.random() < 0.5 else {}
        meta = {words(5) or "k": rng.choice([None, 1, 2.5, True, words(9), [words(3)]])} if rng.random() < 0.5 else {}
        made.append(
            AnsweredPost(
                f"p{number:03}",
                words(60),
                lang=rng.choice([None, "en"]),
                meta=meta,
                given=tuple(given),
                settled=settled,
            )
        )
    return made


def test_the_rows_are_made_of_what_json_can_hold():
    assert json.dumps([dict(row.meta) for row in random_rows(random.Random(0))])


MARKS = Scheme(
    "marks",
    1,
    (
        Question("hate", (Label("hateful"), Label("not hateful")), positive="hateful"),
        Question("why", (), kind="spans", under=("hate", ("hateful",))),
        Question("tone", (Label("loud"), Label("sly")), kind="spans", under=("hate", ("hateful",))),
    ),
)
MARKED = AnsweredPost(
    "p1",
    "=go 👍🏽 away; now",
    given=(
        GivenAnswer("A07", "3", {"hate": ("hateful",), "why": ("0-6", "13-16"), "tone": ("0-3:loud", "7-12:sly")}),
        GivenAnswer("A31", "3", {"hate": ("hateful",), "why": (), "tone": ()}),
    ),
    settled={"hate": SettledAnswer(("hateful",), "unanimous"), "why": SettledAnswer(("0-6",), "expert", "clear")},
)


@pytest.mark.parametrize("name", [*LOSSLESS, "long"])
def test_marked_words_come_back_from_every_format_that_holds_answers(tmp_path, name):
    assert there_and_back(tmp_path, name, [MARKED], scheme=MARKS) == [MARKED]


def test_tables_have_the_marked_words_beside_their_offsets(tmp_path):
    for name, column, cell in (("long", "why", "0-6|13-16"), ("corpus", "why.gold", "0-6")):
        there_and_back(tmp_path, name, [MARKED], scheme=MARKS)
        with (tmp_path / "file.csv").open(encoding="utf-8", newline="") as file:
            row = next(csv.DictReader(file))
        assert row[column] == cell
        words = json.loads(row[f"{column}.words"].removeprefix("'"))
        assert words == ["=go 👍🏽", "now"][: len(words)]
    there_and_back(tmp_path, "huggingface", [MARKED], scheme=MARKS)
    answers = pl.read_parquet(tmp_path / "folder/annotations/*.parquet")
    assert answers["tone_words"].to_list() == [["=go", "away;"], []]


def test_a_challenge_bundle_leaves_words_out(tmp_path):
    (back,) = there_and_back(tmp_path, "codabench", [MARKED], scheme=MARKS)
    assert set(back.settled) == {"hate"}
    assert "why" not in (tmp_path / "folder/competition.yaml").read_text(encoding="utf-8")
