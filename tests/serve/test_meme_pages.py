"""The pages on which a team works on memes: filtered, reported, undone; each step as a form without scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient
from web_site import Site, token_in

from davy.annotate import meme_tasks
from davy.annotate.exchange.row_export import choose_phases, gather_rows
from davy.annotate.project_scheme import scheme_of
from davy.image.likeness import describe, pack
from davy.image.picture import read_picture
from davy.lexicons.read import load
from davy.store import image_library, images, members, meme_steps, phases, sessions
from davy.store.image_library import LibraryImage
from davy.store.tables import posts
from drawn_memes import draw
from meme_project import MemeBench, keep, make_memes

PASSES = {"language": "yes", "slurs": "no", "preserves": "yes", "do": "save", "seconds": "60"}


@dataclass
class MemeSite:
    """A site with a project of memes and a library."""

    site: Site
    bench: MemeBench
    shelf: list[str]

    def as_(self, name: str) -> TestClient:
        """Return a client of somebody of the project, by their name, or of a role on the server."""
        if name in self.site.people:
            return self.site.as_(name)
        with self.site.store.write() as db:
            _, token = sessions.start(db, self.bench.people[name].user)
        client = self.site.visitor()
        client.cookies.set("davy-session", token, domain="127.0.0.1")
        return client

    def send(self, client: TestClient, path: str, data: dict[str, Any]) -> Any:
        """Send a form with its token."""
        token = token_in(client.get("/account").text)
        return client.post(f"/projects/memes{path}", data={"csrf": token, **data})

    def task(self, name: str, task: str) -> str:
        """Return the assignment that a person has, or gets."""
        with self.site.store.write() as db:
            found = meme_tasks.next_task(db, self.bench.project, self.bench.people[name], task)
        assert found is not None
        return found.id


@pytest.fixture
def memes(site, tmp_path, monkeypatch) -> MemeSite:
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))
    bench = make_memes(site.store)
    rows = []
    for number, words in enumerate(("red dog", "green hill"), 30):
        stored = keep(site.store, draw(number), f"{words}.png")
        rows.append(LibraryImage(stored, words, pack(describe(read_picture(draw(number)).image))))
    with site.store.write() as db:
        image_library.add(db, rows, by="shell")
        members.add(db, "memes", site.people["expert"].id, ["manager"], by="shell")
    return MemeSite(site, bench, [row.key for row in rows])


def test_a_source_meme_is_filtered_by_a_form_and_waits_to_be_built(memes):
    ada = memes.as_("ada")
    page = ada.get("/projects/memes/memes/filter").text
    assert "CC0-1.0" in page, "the library's pictures stand with their licences"
    assert '?sharp=1" alt' not in page, "the meme's own picture is the blurred one"
    answer = memes.send(ada, f"/memes/filter/{memes.task('ada', 'filter')}", {**PASSES, "replacement": memes.shelf})
    assert answer.headers["location"] == "/projects/memes/memes/filter"
    assert "It waits to be built." in ada.get("/projects/memes/memes/filter").text
    with memes.site.store.write() as db:
        task = meme_tasks.next_task(db, memes.bench.project, memes.bench.people["ada"], "build")
        assert task.images == tuple(memes.shelf), "several pictures may replace one"
        assert meme_steps.newest(db, task.key, "filter").seconds == 60


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"language": ""}, "in a language of the project"),
        ({"slurs": ""}, "contains a slur"),
        ({"replacement": []}, "Choose at least one picture"),
        ({"preserves": ""}, "preserve the meme’s meaning"),
    ],
    ids=["language", "slurs", "no picture", "meaning"],
)
def test_what_the_filter_still_needs_is_said_and_the_answers_stay(memes, change, says):
    ada = memes.as_("ada")
    form = {**PASSES, "replacement": memes.shelf[:1], **change}
    answer = memes.send(ada, f"/memes/filter/{memes.task('ada', 'filter')}", form)
    assert answer.status_code == 422
    assert says in answer.text
    if form["replacement"]:
        assert f'value="{memes.shelf[0]}" form="filter" checked' in answer.text


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"language": "no", "do": "save"}, "language"),
        ({"language": "yes", "violation": "calls to violence", "do": "save"}, "violating"),
        ({"language": "yes", "slurs": "yes", "do": "save"}, "slur"),
        ({"language": "yes", "slurs": "no", "do": "none"}, "no replacement"),
    ],
)
def test_a_discarded_meme_can_be_taken_back_and_is_counted_once(memes, form, reason):
    ada = memes.as_("ada")
    first = memes.task("ada", "filter")
    memes.send(ada, f"/memes/filter/{first}", form)
    page = ada.get("/projects/memes/memes/filter").text
    assert "Discarded." in page
    with memes.site.store.read() as db:
        assert meme_steps.count_results(db, "memes") == {("filter", reason): 1}
    memes.send(ada, "/memes/undo/filter", {})
    memes.send(ada, f"/memes/filter/{first}", {**PASSES, "replacement": memes.shelf[:1]})
    with memes.site.store.read() as db:
        assert meme_steps.count_results(db, "memes") == {("filter", "passed"): 1}
        assert phases.by_name(db, "memes", "build").size == 1


def test_a_filter_that_others_went_on_from_stays(memes):
    ada, bo = memes.as_("ada"), memes.bench.people["bo"]
    memes.send(ada, f"/memes/filter/{memes.task('ada', 'filter')}", {**PASSES, "replacement": memes.shelf[:1]})
    with memes.site.store.write() as db:
        assert meme_tasks.next_task(db, memes.bench.project, bo, "build") is not None
    memes.send(ada, "/memes/undo/filter", {})
    assert "others have gone on" in ada.get("/projects/memes/memes/filter").text


def test_words_of_the_list_are_marked_masked_and_people_decide(memes):
    word = next(it.term for it in load("masking").entries if it.term.isalpha())
    with memes.site.store.write() as db:
        db.execute(update(posts).where(posts.c.project == "memes").values(text=f"you {word} over there"))
    page = memes.as_("ada").get("/projects/memes/memes/filter").text
    assert '<mark class="slur"><span class="masked-text">' in page
    assert "1 word is on the word list" in page
    assert f"> {word}" not in page.replace(f'plain-text">{word}', "")


def test_a_reported_picture_is_seen_by_nobody_exported_by_nobody_and_the_manager_is_told(memes):
    ada, bo, manager = memes.as_("ada"), memes.as_("bo"), memes.as_("expert")
    first = memes.task("ada", "filter")
    with memes.site.store.write() as db:
        task = meme_tasks.open_task(db, memes.bench.project, memes.bench.people["ada"], first)
    address = f"/projects/memes/images/{task.post.image}"
    assert bo.get(address).status_code == 200
    ask = ada.get(f"/projects/memes/report-picture/{first}").text
    assert "Lock the picture now" in ask
    assert task.post.image not in ask
    assert bo.get(f"/projects/memes/report-picture/{first}").status_code == 404, "it is before somebody else"
    done = memes.send(ada, f"/report-picture/{first}", {})
    assert "Nobody sees it any more" in done.text

    for who in (ada, bo, manager, memes.as_("admin")):
        for sharp in ("", "?sharp=1"):
            assert who.get(address + sharp).status_code == 404
    gone = memes.send(ada, f"/memes/filter/{first}", {**PASSES, "replacement": memes.shelf[:1]})
    assert gone.headers["location"] == "/projects/memes/memes/filter"
    assert task.post.image not in ada.get("/projects/memes/memes/filter").text
    memes.send(ada, "/memes/undo/filter", {})
    with memes.site.store.read() as db:
        assert images.find(db, "memes", task.post.image) is None
        project, scheme = memes.bench.project, scheme_of(db, memes.bench.project)
        rows = gather_rows(db, project, scheme, choose_phases(db, project, None))
        assert task.post.id not in {row.id for row in rows}

    assert "1 picture was locked" in manager.get("/projects/memes").text
    assert "1 picture was locked" not in ada.get("/projects/memes").text
    listed = manager.get("/projects/memes/locked-pictures").text
    assert "What did you do about it?" in listed
    assert "/images/" not in listed
    empty = memes.send(manager, f"/locked-pictures/{task.post.image}", {"note": " "})
    assert empty.status_code == 422
    memes.send(manager, f"/locked-pictures/{task.post.image}", {"note": "police, file 12"})
    assert "police, file 12" in manager.get("/projects/memes/locked-pictures").text
    assert "1 picture was locked" not in manager.get("/projects/memes").text
    assert ada.get("/projects/memes/locked-pictures").status_code == 403


def test_the_way_to_memes_stands_in_the_navigation_of_a_project_with_memes_alone(memes):
    ada = memes.as_("ada")
    overview = ada.get("/projects/memes").text
    assert 'href="/projects/memes/memes"' in overview
    assert "Work on memes" in overview
    hub = ada.get("/projects/memes/memes").text
    assert "Filter a meme" in hub
    assert "3 wait" in hub
    assert "No meme is settled yet" in hub
    assert "Nothing to rate now" in ada.get("/projects/memes/label").text
