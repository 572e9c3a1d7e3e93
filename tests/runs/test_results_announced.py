"""Pages of jobs are redrawn whole when the job ends, lead to the result, and warn of figures of few posts."""

from __future__ import annotations

import pytest

from davy.core.metric import FEWEST
from davy.jobs import store as jobs
from davy.jobs.kinds import job_kinds, result_page
from davy.web.render import environment

HTMX = {"HX-Request": "true"}


@pytest.fixture
def job(site):
    with site.store.write() as db:
        return jobs.enqueue(db, "train", {"name": "kettle"}, owner=site.people["admin"].id, project=None)


def test_the_part_of_a_job_asks_for_the_whole_page_once_it_has_ended(site, job):
    client = site.as_("admin")
    page = f"/jobs/{job.id}"
    live = client.get(page, headers=HTMX)
    ended = live
    if "HX-Refresh" not in live.headers:
        with site.store.write() as db:
            jobs.ask_cancel(db, job.id, by=site.people["admin"].id)
        for _ in range(200):
            ended = client.get(page, headers=HTMX)
            if "HX-Refresh" in ended.headers:
                break
    assert ended.headers["HX-Refresh"] == "true"
    assert "HX-Refresh" not in client.get(page).headers


def test_every_kind_of_job_with_a_result_names_its_page():
    values = {"community": "a forum"}
    assert result_page("train", "j1", "p", values) == "/projects/p/train/j1"
    assert result_page("train", "j1", None, values) == ""
    assert result_page("check", "j1", None, values) == "/runs/j1"
    assert result_page("check", "j1", "p", values) == "/projects/p/train/runs/j1"
    assert result_page("fit threshold", "j1", None, values) == "/communities/a%20forum"
    assert result_page("no such kind", "j1", "p", values) == ""
    started_by_people = [name for name, kind in job_kinds().items() if kind.arguments]
    assert all(result_page(name, "j1", "p", values) for name in started_by_people)


@pytest.mark.parametrize(("n", "warned"), [(1, True), (FEWEST - 1, True), (FEWEST, False), (None, False)])
def test_a_figure_of_few_posts_has_a_warning(n, warned):
    from davy.web.i18n import Translator

    template = environment().from_string('{% import "macros.html" as m %}{{ m.few(t, n) }}')
    for lang in ("en", "de"):
        shown = template.render(t=Translator(lang), n=n)
        assert ('class="warning few"' in shown) is warned
