"""A challenge from one labelled file: which columns are tasks, how posts are divided, and what the form answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from davy import schemes
from davy.annotation.project import import_posts
from davy.challenges import labelled_file
from davy.challenges.boards import why_unranked
from davy.challenges.challenge import ChallengePhase, Submission, Team
from davy.challenges.labelled_file import FileChoices, PhaseChoice, plan_challenge
from davy.challenges.store import challenges
from davy.core.errors import KeyedError
from web_site import post

AT = datetime(2027, 1, 1, tzinfo=UTC)
PHASES = {"practice": PhaseChoice("2027-01-01", "2027-01-10", 5), "test": PhaseChoice("2027-01-11", "2027-01-20", 2)}
CATEGORIES = ("derogation", "animosity")


def table(n: int = 60, split: tuple[str, ...] = ()) -> pl.DataFrame:
    """Notes from a valley: a third are complaints of two kinds, in the spellings of EDOS's file."""
    rows = [
        {
            "rewire_id": f"note-{i}",
            "text": f"Note {i}: {'the bus' if i % 3 else 'the river'} was {'late' if i % 2 else 'early'}.",
            "label_sexist": "not sexist" if i % 3 else "sexist",
            "label_category": "none" if i % 3 else CATEGORIES[i // 3 % 2],
            **({"split": split[i % len(split)]} if split else {}),
        }
        for i in range(n)
    ]
    return pl.DataFrame(rows)


def chosen(rows: pl.DataFrame, scheme: Any = None, **more: Any) -> tuple[pl.DataFrame, FileChoices]:
    """What the form begins with for a file."""
    look = import_posts.look_at(rows, scheme)
    split, parts = labelled_file.split_column(rows)
    taken = {look.guess.text, look.guess.id, split}
    tasks = labelled_file.task_columns(rows, taken, look.guess.gold if scheme else None)
    posts = import_posts.posts_from(rows, look.guess, stem="f").frame
    return posts, replace(FileChoices(tasks, PHASES, split, parts), **more)


def planned(rows: pl.DataFrame, scheme: Any = None, **more: Any):
    posts, choices = chosen(rows, scheme, **more)
    about = {"name": "", "title": "Grüße aus dem Tal", "visibility": "accounts", "texts": {}}
    return plan_challenge(posts, choices, scheme=scheme, at=AT, **about)


def test_columns_of_labels_are_the_tasks_and_posts_are_drawn_with_a_seed():
    plan, frames = planned(table())
    assert plan.name == "gruesse-aus-dem-tal"
    assert [(task.question, task.positive) for task in plan.tasks] == [
        ("label_sexist", "sexist"),
        ("label_category", None),
    ]
    assert {name: len(frame) for name, frame in frames.items()} == {"train": 33, "practice": 9, "test": 18}
    assert {name: data.labels for name, data in plan.data.items()} == {
        "train": "public",
        "practice": "hidden",
        "test": "hidden",
    }
    again = planned(table())[1]
    other = planned(table(), seed=2)[1]
    assert again["test"]["id"].to_list() == frames["test"]["id"].to_list()
    assert other["test"]["id"].to_list() != frames["test"]["id"].to_list()


def test_a_task_about_a_part_of_anothers_posts_opens_when_that_one_has_closed():
    plan, _ = planned(table(), schemes.load("edos"))
    first, second = plan.tasks
    assert (first.question, second.question, second.after) == ("sexist", "category", ("A",))
    windows = plan.phases[1].windows
    assert windows["B"].opens == windows["A"].closes
    assert windows["B"].closes - windows["B"].opens == timedelta(days=10)


def test_a_split_column_is_found_and_without_a_test_part_dev_is_hidden():
    _, frames = planned(table(split=("train", "train", "dev", "test")))
    assert {name: len(frame) for name, frame in frames.items()} == {"train": 30, "practice": 15, "test": 15}
    rows = table(split=("train", "train", "dev"))
    assert labelled_file.split_column(rows) == ("split", {"train": "train", "dev": "test"})


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"tasks": ()}, "challenge_no_task"),
        ({"shares": {"practice": 40, "test": 60}}, "challenge_shares"),
        ({"split": "label_sexist", "parts": {"sexist": "train"}}, "challenge_empty_part"),
        ({"phases": {"test": PhaseChoice("2027-02-01", "2027-01-01", 2)}}, "challenge_dates"),
        ({"phases": {"test": PhaseChoice("soon", "2027-01-01", 2)}}, "moment"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changed: dict[str, Any], key: str):
    with pytest.raises(KeyedError) as refused:
        planned(table(), **changed)
    assert refused.value.key == key


def test_texts_that_are_all_alike_leave_nothing_to_hide_and_that_is_said():
    same = table().with_columns(pl.lit("One and the same note about the bus by the river.").alias("text"))
    with pytest.raises(KeyedError) as refused:
        planned(same)
    assert refused.value.key == "challenge_alike"


def test_scores_rank_a_task_with_two_labels_and_the_positive_one_comes_last():
    _, choices = chosen(table())
    by_score = [replace(choices.tasks[0], metric="auroc"), replace(choices.tasks[1], metric="auroc")]
    plan, _ = planned(table(), tasks=by_score[:1])
    assert (plan.tasks[0].kind, plan.tasks[0].labels) == ("score", ("not sexist", "sexist"))
    with pytest.raises(KeyedError) as refused:
        planned(table(), tasks=by_score[1:])
    assert refused.value.key == "challenge_two_labels"


def test_a_file_becomes_a_challenge_by_two_forms_and_stays_where_something_is_wrong(site):
    client = site.as_("expert")
    file = {"file": ("notes.csv", table().write_csv(), "text/csv")}
    path, page = "/challenges/new/labelled/upload", "/challenges/new"
    looked = post(client, path, page=page, files=file)
    assert "label_category" in looked.text
    assert "60 rows" in looked.text
    kept = looked.text.split('name="upload" value="')[1].split('"')[0]
    form = {
        "upload": kept, "columns": "chosen", "do": "make", "scheme": "", "column.text": "text",
        "column.id": "rewire_id", "task.0.column": "label_sexist", "task.0.chosen": "yes", "task.0.metric": "accuracy",
        "task.1.column": "label_category", "visibility": "accounts", "split": "", "phase.practice.chosen": "yes",
        "phase.practice.opens": "2027-01-01", "phase.practice.closes": "2027-02-01",
        "phase.test.opens": "2027-02-02", "phase.test.closes": "2027-01-02", "phase.test.survey": "yes",
    }  # fmt: skip
    wrong = post(client, path, {**form, "title": "Valley"}, page=page)
    assert wrong.status_code == 422
    assert "closes before it opens" in wrong.text
    assert 'value="Valley"' in wrong.text
    assert "notes.csv is here" in wrong.text
    made = post(client, path, {**form, "title": "Valley", "phase.test.closes": "2027-03-01"}, page=page)
    assert made.status_code == 303, made.text
    with site.store.read() as db:
        challenge = challenges.get(db, "valley")
        sets = challenges.data_sets(db, "valley")
    assert [(task.name, task.metric) for task in challenge.tasks] == [("A", "accuracy")]
    assert [(phase.name, phase.survey, phase.counts) for phase in challenge.phases] == [
        ("practice", False, "best"),
        ("test", True, "last"),
    ]
    assert {name: (data.size, data.labels_public) for name, data in sets.items()} == {
        "train": (33, True),
        "practice": (9, False),
        "test": (18, False),
    }


def test_why_a_submission_is_not_ranked_is_said_before_it_is_scored():
    team = Team("t", "c", "Lamplighters", "team", "u", AT)
    phase = ChallengePhase("p", "c", "test", 0, "test", {}, 2, None, "teams", "last", survey=True, staggered=True)
    survey = {"architecture": ["rules"], "training": ["none"], "data": ["labelled_only"], "features": ["none"]}

    def sent(key: str, value: float | None = None, **more: Any) -> Submission:
        figure = {"value": value} if "scored" in more.pop("state", "scored") else None
        return Submission(key, "p", "A", "t", "u", AT, "f.csv", 3, "d", "scored", figure=figure, **more)

    waiting = sent("1", state="waiting")
    assert why_unranked(waiting, [waiting], team, phase) == "survey"
    assert why_unranked(replace(waiting, survey=survey), [waiting], team, phase) == ""
    first, second = sent("1", 0.7, survey=survey), sent("2", 0.5, survey=survey)
    assert why_unranked(first, [first, second], team, phase) == "later"
    assert why_unranked(second, [first, second], team, phase) == ""
    best = replace(phase, counts="best")
    assert why_unranked(second, [first, second], team, best) == "better"
    nothing = sent("3", None, survey=survey)
    assert why_unranked(nothing, [nothing], team, phase) == "no_figure"
    assert why_unranked(second, [second], replace(team, withdrawn_at=AT), phase) == "left_out"
