"""Project files: presets follow their papers, and what is wrong with a file is said with its line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from davy.annotation.care import survey
from davy.annotation.project import project_file, settings
from davy.annotation.project.project_creation import check_plan, create_project
from davy.core.errors import UserError
from davy.schemes import load


@pytest.mark.parametrize("name", ["edos", "gmhp7k", "hateful-memes", "hatemoji-check", "meme-construction"])
def test_a_preset_fits_its_scheme_and_survives_being_stored(name):
    plan = project_file.read_plan(name)
    check_plan(plan, load(plan.scheme))
    stored = json.loads(json.dumps(settings.to_dict(plan.settings)))
    assert settings.from_dict(stored) == plan.settings
    assert set(plan.settings.consent) == {"en", "de"}
    assert plan.settings.support


@pytest.mark.parametrize("name", ["edos", "gmhp7k", "hateful-memes", "hatemoji-check", "meme-construction"])
def test_settings_written_as_yaml_read_back_as_they_were(name):
    plan = project_file.read_plan(name)
    off = replace(plan.settings.care, break_after_minutes=None, hard={"my_question": ("a_b",)})
    for kept in (
        plan.settings,
        replace(plan.settings, care=off, adjudication={"my_question": settings.AdjudicationRule()}),
    ):
        assert project_file.parse_settings(settings.to_yaml(kept).encode(), "settings") == kept


def test_gmhp7k_has_the_phases_of_the_papers_fifth_table():
    """11 discussed posts, then 46, 43 and 46 by all six, then one answer each: posts × people gives 276, 258, 276."""
    plan = project_file.read_plan("gmhp7k")
    assert [(it.name, it.kind, it.posts, it.people) for it in plan.phases] == [
        ("1", "discussion", "11", 1),
        ("2a", "calibration", "46", None),
        ("2b", "calibration", "43", None),
        ("2c", "calibration", "46", None),
        ("3", "production", "rest", 1),
    ]
    assert [(it.count or 0) * 6 for it in plan.phases if it.people is None] == [276, 258, 276]
    assert [it.corpus for it in plan.phases] == [False, False, False, False, True]


def test_edos_sends_level_a_to_experts_unless_all_agree_and_b_and_c_under_two_thirds():
    plan = project_file.read_plan("edos")
    rules = plan.settings.adjudication
    assert rules["sexist"] == settings.AdjudicationRule("unanimous", otherwise="expert")
    assert rules["category"] == rules["vector"] == settings.AdjudicationRule("share", "2/3", "expert")
    screening, main = plan.phases
    assert (screening.kind, screening.count, main.people) == ("screening", 200, 3)


def test_memes_have_a_training_three_pilots_with_feedback_and_five_ratings_before_their_confounders():
    for name, before in (("hateful-memes", []), ("meme-construction", ["filter", "build"])):
        plan = project_file.read_plan(name)
        assert [it.name for it in plan.phases[:4]] == ["training", "pilot-1", "pilot-2", "pilot-3"]
        assert all(it.behaviour.feedback and it.behaviour.needs_gold for it in plan.phases[:4])
        assert [it.name for it in plan.phases[4:]] == [*before, "rating", "confounders"]
        rating = next(it for it in plan.phases if it.name == "rating")
        assert (rating.people, rating.corpus, rating.behaviour.grows) == (5, True, True)


def test_a_file_changes_a_preset_where_it_says_so_and_only_there():
    raw = b"""
name: ours
title: Our corpus
preset: gmhp7k
care: {daily_minutes: 120}
phases:
  2a: {posts: 20}
  "3": {answers: 2, batches: {north: {people: [ada], quota: 50}}}
roster:
  - {login: ada, roles: [annotator, expert], pool: trained}
"""
    plan, preset = project_file.parse_plan(raw, "ours.yaml"), project_file.read_plan("gmhp7k")
    assert [it.posts for it in plan.phases] == ["11", "20", "43", "46", "rest"]
    assert plan.phases[4].people == 2
    assert plan.phases[4].batches["north"].quota == 50
    assert plan.settings.care.daily_minutes == 120
    assert plan.settings.care.timezone == "Europe/Berlin"
    assert plan.settings.adjudication == preset.settings.adjudication
    assert plan.roster[0].pool == "trained"


WRONG = {
    "a preset there is not": ("name: x\npreset: edoz\n", "f.yaml:2:", "Did you mean 'edos'?"),
    "an unknown key": ("name: x\ntitel: y\n", "f.yaml:2:", "Did you mean 'title'?"),
    "an unknown care rule": ("name: x\npreset: edos\ncare:\n  brek-minutes: 3\n", "f.yaml:4:", "'break-minutes'"),
    "a kind of phase there is not": (
        "name: x\npreset: edos\nphases:\n  - name: a\n    kind: trainin\n",
        "f.yaml:4:",
        "'training'",
    ),
    "a phase that the preset lacks": ("name: x\npreset: edos\nphases: {mian: {posts: 3}}\n", "f.yaml:3:", "'main'"),
    "a rule there is not": ("name: x\npreset: edos\nadjudication:\n  sexist: unanimus\n", "f.yaml:4:", "'unanimous'"),
    "a share above one": (
        "name: x\npreset: edos\nadjudication:\n  sexist: {rule: share, share: 5/3}\n",
        "f.yaml:4:",
        "at most 1",
    ),
    "a link that runs": (
        "name: x\npreset: edos\nsupport:\n  - {name: q, link: 'javascript:1'}\n",
        "f.yaml:4:",
        "https://",
    ),
    "two phases of one name": (
        "name: x\ntitle: x\nscheme: edos\nphases:\n  - {name: a, kind: production}\n  - {name: a, kind: production}\n",
        "f.yaml:4:",
        "called 'a'",
    ),
    "an anchor": ("name: &a x\ntitle: *a\n", "f.yaml:1:", "Anchors"),
    "a flag there is not": ("name: x\npreset: edos\nflags: {strange: majority}\n", "f.yaml:3:", "strange"),
    "a role there is not": (
        "name: x\npreset: edos\nroster:\n  - {login: a, roles: [boss]}\n",
        "f.yaml:4:",
        "manager",
    ),
    "no phases": ("name: x\ntitle: y\nscheme: edos\n", "f.yaml:1:", "lacks `phases:`"),
    "a deadline that is no day": (
        "name: x\npreset: edos\nphases: {main: {deadline: soon}}\n",
        "f.yaml",
        "2026-12-31",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_file_is_said_with_its_line_and_the_nearest_name(case):
    text, line, hint = WRONG[case]
    with pytest.raises(UserError) as error:
        project_file.parse_plan(text.encode(), "f.yaml")
    assert error.value.message.startswith(line)
    assert hint in error.value.message
    assert "\n" not in error.value.message


def test_a_plan_that_names_a_question_its_scheme_lacks_is_refused_with_the_nearest():
    raw = b"name: x\npreset: edos\nadjudication: {sexst: majority}\n"
    with pytest.raises(UserError, match="Did you mean 'sexist'"):
        check_plan(project_file.parse_plan(raw, "f.yaml"), load("edos"))


def test_a_file_brings_the_questions_of_the_survey(store):
    text = """
name: lamps
preset: hatemoji-check
survey:
  - {name: harder, words: {en: It got harder., de: Es wurde schwerer.}}
  - {name: ways, kind: text, words: Which ways worked?}
"""
    with store.write() as db:
        project = create_project(db, project_file.parse_plan(text.encode(), "lamps.yaml"), by="shell").project
    asked = survey.questions_of(project)
    assert [(it.id, it.kind, it.words.said_in("de")) for it in asked] == [
        ("harder", "scale", "Es wurde schwerer."),
        ("ways", "text", "Which ways worked?"),
    ]


def test_a_survey_question_of_an_unknown_kind_is_named_with_its_line():
    text = b"name: lamps\npreset: hatemoji-check\nsurvey:\n  - {name: a, kind: stars, words: How was it?}\n"
    with pytest.raises(UserError, match=r"lamps.yaml:4: .*scale, text"):
        project_file.parse_plan(text, "lamps.yaml")
