"""A new project in three steps: what it begins with can be read, files are always seen first, nothing typed is lost."""

from __future__ import annotations

import re

import polars as pl
import pytest

from davy.annotation.project import post_allocation, project_creation
from davy.annotation.project.pages.role_words import roster_of
from davy.annotation.project.project_file import preset_names, read_plan
from davy.annotation.project.store import members, phases, projects
from davy.core.errors import UserError
from davy.people.store import invitations, users
from davy.web.i18n import Translator
from web_site import Site, token_in

UPLOAD = "/projects/new/upload"
FILE = b"nr,comment,sexist.gold\n" + b"".join(
    b"%d,line %d,%s\n" % (i, i, (b"sexist", b"not sexist", b"")[min(i % 2 if i < 10 else 2, 2)]) for i in range(60)
)


def hidden(page: str) -> dict[str, str]:
    """Return what a step's form carries."""
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page))


def go_on(client, page: str, data: bytes = b"", **fields):
    """Send a step's form with what was typed in it."""
    files = {"file": ("posts.csv", data)} if data else None
    return client.post(UPLOAD, data={**hidden(page), "csrf": token_in(page), "do": "next", **fields}, files=files)


def test_every_preset_and_scheme_shows_its_questions_and_phases_before_it_is_chosen(site: Site):
    client = site.as_("expert")
    for start in [*(f"preset:{name}" for name in preset_names()), "scheme:hate"]:
        page = client.get(f"/projects/new?start={start}").text
        assert page.count('<details class="about-question">') >= 1, start
        assert 'name="step" value="start"' in page
    edos = client.get("/projects/new?start=preset:edos").text
    assert "A test on posts with known answers. Only people who pass go on." in edos
    assert "Vector of sexism" in edos or edos.count('<details class="about-question">') == 3


def test_three_steps_make_a_project_and_carry_what_was_typed(site: Site):
    client = site.as_("expert")
    page = client.get("/projects/new?start=preset:edos").text
    posts = go_on(client, page, title="Täter, im Netz!").text
    assert hidden(posts)["name"] == "taeter-im-netz"
    seen = go_on(client, posts, FILE, posts="file").text
    assert "60 rows" in seen
    assert "10 posts of this file have a known answer." in seen
    assert re.search(r'name="posts.screening"[^>]* value="10"', seen)
    assert "The sizes were made smaller to fit 60 posts." in seen
    chosen = {"columns": "chosen", "column.text": "comment", "column.id": "nr", "gold.sexist": "sexist.gold"}
    assert go_on(client, seen, posts="file", **chosen, **{"answers.main": "x"}).status_code == 422
    sized = {"posts.screening": "10", "answers.main": "2"}
    people = go_on(client, seen, posts="file", **chosen, **sized).text
    assert "It takes at least 2 annotators." in people
    assert hidden(people)["step"] == "people"
    refused = go_on(client, people, do="make", roster="ben boss")
    assert refused.status_code == 422
    assert "ben boss</textarea>" in refused.text
    made = go_on(client, refused.text, do="make", roster="ben\neve, expert")
    assert "The project is ready." in made.text
    with site.store.read() as db:
        sizes = {phase.name: phase.size for phase in phases.of_project(db, "taeter-im-netz")}
        assert phases.by_name(db, "taeter-im-netz", "main").answers == 2
        invited = {it.login: it.project_roles for it in invitations.list_unused(db, project="taeter-im-netz")}
    assert sizes == {"screening": 10, "main": 50}
    assert invited == {"ben": ("annotator",), "eve": ("expert",)}


def test_each_step_says_what_is_wrong_with_it_and_one_can_go_back(site: Site):
    client = site.as_("expert")
    page = client.get("/projects/new?start=preset:edos").text
    assert "1 to 200 characters" in go_on(client, page, title=" ").text
    bad = go_on(client, page, title="Pilot", name="A B")
    assert bad.status_code == 400
    assert "can&#39;t name a project" in bad.text
    assert 'value="Pilot"' in bad.text
    posts = go_on(client, page, title="Pilot").text
    assert "No file was chosen" in go_on(client, posts, posts="file").text
    seen = go_on(client, posts, b"id,text\n1,one\n2,two\n", posts="file").text
    assert "the project begins without that phase" in seen
    columns = {"columns": "chosen", "column.text": "text", "column.id": "id", "posts": "file"}
    people = go_on(client, seen, **columns, **{"posts.screening": "0"}).text
    back = go_on(client, people, do="back").text
    assert "posts.csv is here." in back
    assert '<option value="text" selected>' in back
    first = go_on(client, back, do="back", **columns).text
    assert re.search(r'name="title"[^>]*value="Pilot"', first)


def test_sizes_that_the_file_does_not_fill_are_refused_before_people_are_asked_for(site: Site):
    client = site.as_("expert")
    posts = go_on(client, client.get("/projects/new?start=preset:gmhp7k").text, title="Pilot").text
    rows = b"id,text\n" + b"".join(b"%d,line %d\n" % (i, i) for i in range(60))
    seen = go_on(client, posts, rows, posts="file").text
    sizes = {name: int(n) for name, n in re.findall(r'name="posts\.(\w+)"[^>]* value="(\d+)"', seen)}
    assert sizes == {"1": 2, "2a": 9, "2b": 8, "2c": 9}
    columns = {"columns": "chosen", "column.text": "text", "column.id": "id", "posts": "file"}
    refused = go_on(client, seen, **columns, **{"posts.1": "61"})
    assert refused.status_code == 400
    assert "Phase &#39;1&#39; takes 61 posts, and the pool has 60 left for it" in refused.text
    assert 'value="61"' in refused.text
    asked = go_on(client, seen, **columns, **{f"posts.{name}": str(n) for name, n in sizes.items()})
    assert hidden(asked.text)["step"] == "people"


def test_a_project_whose_posts_come_later_asks_for_no_file(site: Site):
    client = site.as_("expert")
    people = go_on(client, client.get("/projects/new?start=preset:rounds").text, title="Rounds of May").text
    assert hidden(people)["step"] == "people"
    posts = go_on(client, people, do="back").text
    assert re.search(r'value="later" checked', posts)
    people = go_on(client, posts, posts="later").text
    assert go_on(client, people, do="make").status_code == 303
    with site.store.read() as db:
        assert projects.get(db, "rounds-of-may").title == "Rounds of May"
        assert members.get(db, "rounds-of-may", site.people["expert"].id) is not None


def test_roles_are_accepted_as_people_call_them_in_any_language_of_the_pages():
    text = "ben\neve, fachkraft\nada leitung Vertrauensperson\nfay wellbeing contact; expert\nida annotator"
    named = {person.login: person.roles for person in roster_of(text, Translator("de"))}
    assert named == {
        "ben": ("annotator",),
        "eve": ("expert",),
        "ada": ("manager", "wellbeing"),
        "fay": ("wellbeing", "expert"),
        "ida": ("annotator",),
    }
    with pytest.raises(UserError) as refused:
        roster_of("eve boss", Translator("de"))
    assert "Fachkraft" in refused.value.values["known"]


def test_german_readers_write_roles_in_german(site: Site):
    with site.store.write() as db:
        users.set_language(db, site.people["expert"].id, "de", by="shell")
    client = site.as_("expert")
    posts = go_on(client, client.get("/projects/new?start=scheme:hate").text, title="Prüfung").text
    people = go_on(client, posts, posts="later").text
    assert "Entscheidet, worüber die Antworten uneinig sind." in people
    assert go_on(client, people, do="make", roster="eve fachkraft").status_code == 200
    with site.store.read() as db:
        assert invitations.list_unused(db, project="pruefung")[0].project_roles == ("expert",)


def test_the_consent_text_to_be_read_comes_in_the_readers_language_first(site: Site):
    for lang, first in (("de", "de"), ("en", "en")):
        with site.store.write() as db:
            users.set_language(db, site.people["expert"].id, lang, by="shell")
        client = site.as_("expert")
        posts = go_on(client, client.get("/projects/new?start=preset:edos").text, title=f"Pilot {lang}").text
        assert go_on(client, go_on(client, posts, posts="later").text, do="make").status_code == 303
        page = client.get(f"/projects/pilot-{lang}/settings").text
        assert re.findall(r'class="quoted prose" lang="(\w+)"', page)[0] == first


def test_a_free_address_is_made_from_any_title(store):
    with store.write() as db:
        names = [project_creation.free_name(db, title) for title in ("Ärger über Straßen!", "新しい", "new", "x" * 90)]
    assert names == ["aerger-ueber-strassen", "project", "new-2", "x" * 50]


def test_sizes_are_kept_where_the_file_is_large_enough():
    plan = read_plan("gmhp7k")
    assert post_allocation.fit_sizes(plan, 7000, 0) == {"1": 11, "2a": 46, "2b": 43, "2c": 46}
    assert post_allocation.fit_sizes(read_plan("edos"), 60, 0) == {"screening": 0}
    assert post_allocation.count_known(pl.DataFrame({"id": ["a", "b"], "hate.gold": ["hateful", None]})) == 1
