"""Suites that a project writes on its pages: counts while writing, versions, a check by one, and walls around it."""

from __future__ import annotations

import re

import pytest
from test_serve_runs import run_page, start

import exchange_case
from davy.annotation.project.store import members
from davy.runs import store as project_suites
from davy.runs.pages.suites import FillIn, SuiteForm, SuitePart, read_form
from web_site import Site, post

BASE = "/projects/tea-1/train/suites"
FILLED = {
    "title": "Kettles",
    "question": "hate hate",
    "lang": "en",
    "fill-0": "group",
    "words-0": "bakers\ncooks\n\ncooks",
    "target-0": "yes",
    "part-0": "Plain insults",
    "label-0": "hateful",
    "templates-0": "{group} are grumblefop\nwhat a grumblefop, said {group}",
    "part-1": "Praise",
    "label-1": "not hateful",
    "templates-1": "I like {group}",
}


@pytest.fixture
def tea(site: Site) -> Site:
    """A site with a filled project that the annotator manages."""
    exchange_case.fill(site.store)
    with site.store.write() as db:
        members.add(db, "tea-1", site.people["annotator"].id, ["manager"], by="shell")
    return site


def make(client, title="Kettles", start=""):
    answer = post(client, BASE, {"title": title, "start": start}, page=BASE)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def test_a_suite_is_written_as_a_form_counted_saved_and_run(tea):
    client = tea.as_("annotator")
    address = make(client)
    assert "No case yet" in client.get(address).text
    counted = post(client, f"{address}/count", FILLED, page=address, headers={"hx-request": "true"}).text
    assert "<html" not in counted
    assert "6 cases" in counted  # two groups in three templates
    assert "gr*mblefop" not in counted  # no word of ours is in the masking lexicon
    assert "No case yet" in client.get(address).text  # counting saves nothing
    assert post(client, address, FILLED, page=address).status_code == 303
    page = client.get(address).text
    assert "Saved as version 2" in page
    assert re.search(r'<textarea id="words-0"[^>]*>bakers\ncooks</textarea>', page)
    suite = re.search(r"suite=([^\"]+)", page)[1].replace("%40", "@")
    run, report = run_page(tea, client, start(client, "check", "/projects/tea-1/train/runs", suite=suite))
    assert "Kettles" in report
    assert "Plain insults" in report
    assert "1.000" in report  # the word list knows the word, and praise has none
    assert post(client, address, {**FILLED, "part-1": "Kind words"}, page=address).status_code == 303
    with tea.store.read() as db:
        kept = project_suites.get(db, "tea-1", suite.partition("@")[0], 2)
        assert project_suites.get(db, "tea-1", kept.id).version == 3
    assert "Praise" in client.get(run).text  # what was run stays as it was


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"fill-0": "Group!"}, 422, "small letters"),
        ({"part-0": ""}, 422, "what it tests"),
        ({"question": "/etc/passwd hate"}, 422, "not offered"),
        ({"templates-0": "{nobody} came"}, 303, ""),
        ({"templates-0": "x" * 20_001}, 413, "20000"),
    ],
)
def test_what_is_wrong_in_a_form_is_said(tea, change, status, words):
    client = tea.as_("annotator")
    address = make(client)
    answer = post(client, address, {**FILLED, **change}, page=address)
    assert answer.status_code == status
    if status == 303:  # a suite with a problem is kept, and says what it is
        assert "nobody" in client.get(address).text
    else:
        assert words in answer.text


def test_a_shipped_suite_is_copied_and_edited_as_yaml(tea):
    client = tea.as_("annotator")
    address = make(client, "Mine", "emoji-de")
    page = client.get(address).text
    assert "name: mine" in page
    assert "counts:" not in page
    assert re.search(r"[\d,]{3,} cases", page)
    broken = {"title": "Mine", "yaml": "name: mine\nscheme: /etc/passwd\n"}
    assert post(client, address, broken, page=address).status_code == 303
    assert "There is no scheme" in client.get(f"{address}?yaml=yes").text
    assert "root:" not in client.get(f"{address}?yaml=yes").text


def test_another_projects_suite_is_not_found(tea):
    with tea.store.write() as db:
        kept = project_suites.create(
            db, "tea-1", "Secret", SuiteForm("s", "en", "hate", "hate").to_yaml("s"), by="shell"
        )
    outsider = tea.as_("expert")
    for path in (BASE, f"{BASE}/{kept.id}"):
        assert outsider.get(path).status_code in (403, 404)
    assert post(outsider, f"{BASE}/{kept.id}", FILLED).status_code in (403, 404)
    assert start(outsider, "check", suite=f"{kept.id}@1").status_code == 422
    with tea.store.read() as db:
        assert project_suites.get(db, "tea-1", kept.id).version == 1


def test_a_form_and_its_yaml_say_the_same():
    form = SuiteForm(
        "Lamps",
        "de",
        "hate",
        "hate",
        (FillIn("group", ("no", "1.10", "Köche"), True), FillIn("mood", ("😡",))),
        (SuitePart("Nein!", "hateful", ("{group} sind {mood}", "- nein: ja")),),
    )
    assert read_form(form.to_yaml("lamps")) == form
    assert read_form("name: x\nsets: {}\n") is None
