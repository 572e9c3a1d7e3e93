"""Schemes in the browser: written, copied, read from a file; a project made from one; and nobody else's business."""

from __future__ import annotations

import re

import pytest

from davy import schemes as shipped
from davy.annotation.project.store import members, projects
from davy.annotation.settling.store import codes
from davy.core.question_kind import QUESTION_KINDS
from davy.people.store import users
from davy.scheme_editor import draft
from davy.scheme_editor import store as scheme_drafts
from davy.schemes.store import schemes
from web_site import Site, post

LABELS = {
    "label.0.was": "", "label.0.title.en": "Dry", "label.0.title.de": "Trocken", "label.0.code": "0",
    "label.1.was": "", "label.1.title.en": "Wet", "label.1.title.de": "Nass", "label.1.code": "1",
    "label.1.yes": "yes", "label.1.examples.en": "It pours.\nIt drips.", "label.1.definition.en": "Some falls.",
}  # fmt: skip


def drafts(site: Site, role: str = "expert"):
    with site.store.read() as db:
        return scheme_drafts.of_owner(db, site.people[role].id)


def begin(site: Site, client, **form):
    answer = post(client, "/schemes", {"from": "empty", "title": "Rainy days", **form}, page="/schemes")
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def with_question(site: Site, client, title="Is it wet?"):
    address = begin(site, client)
    to = post(client, f"{address}/questions", {"title": title}, page=address).headers["location"]
    return address, to


def write_labels(client, to, was="is-it-wet", **more):
    form = {"was": was, "title.en": "Is it wet?", "kind": "one", "name": "wet", **LABELS, **more}
    return post(client, to, form, page=to)


def test_a_scheme_is_written_question_by_question_and_used_for_a_project(site):
    client = site.as_("expert")
    address, to = with_question(site, client)
    assert "not complete" in client.get(address).text
    assert client.get(f"{address}/preview").headers["location"] == address
    assert write_labels(client, to).headers["location"] == address
    page = client.get(address).text
    assert "ready" in page
    assert "not complete" not in page
    written = draft.finished(drafts(site)[0].content)
    wet = written.question("wet")
    assert wet.label_names == ("dry", "wet")
    assert wet.positive == "wet"
    assert wet.label("1").title == {"en": "Wet", "de": "Nass"}
    assert [str(example) for example in wet.label("1").examples] == ["It pours.", "It drips."]

    start = re.search(r"start=(own:\w+)", page)[1]
    assert "Rainy days" in client.get("/projects/new").text
    made = post(client, "/projects/new/upload", {"start": start, "name": "rain", "title": "Rain", "posts": "later"})
    assert made.status_code == 303, made.text
    with site.store.read() as db:
        project = projects.get(db, "rain")
        assert (project.scheme, project.scheme_version) == ("rainy-days", 1)
        kept = shipped.parse(schemes.get(db, "rainy-days", 1).yaml)
    assert kept.question("wet").label_names == ("dry", "wet")


def test_a_question_that_was_just_begun_says_what_it_needs_and_is_no_mistake_yet(site):
    client = site.as_("expert")
    _, to = with_question(site, client)
    page = client.get(to).text
    assert "needs at least 2" in page
    assert 'class="fault"' not in page


def test_a_project_keeps_its_questions_when_the_author_goes_on_writing(site):
    client = site.as_("expert")
    _, to = with_question(site, client)
    write_labels(client, to)
    start = f"own:{drafts(site)[0].id}"
    form = {"start": start, "title": "T", "posts": "later"}
    post(client, "/projects/new/upload", {**form, "name": "one"})
    post(client, "/projects/new/upload", {**form, "name": "two"})
    write_labels(client, to, was="wet", **{"label.1.title.en": "Soaked"})
    post(client, "/projects/new/upload", {**form, "name": "three"})
    with site.store.read() as db:
        used = {name: projects.get(db, name).scheme_version for name in ("one", "two", "three")}
        titles = [str(shipped.parse(row.yaml).question("wet").labels[1].title) for row in schemes.list_schemes(db)]
    assert used == {"one": 1, "two": 1, "three": 2}
    assert titles == ["Wet", "Soaked"]


def test_a_question_is_asked_under_answers_and_its_labels_under_some_of_them(site):
    client = site.as_("expert")
    address, to = with_question(site, client)
    write_labels(client, to)
    below = post(client, f"{address}/questions", {"title": "What falls?"}, page=address).headers["location"]
    form = {"was": "what-falls", "title.en": "What falls?", "kind": "many", "parent": "wet", **LABELS}
    post(client, below, {**form, "label.0.title.en": "Rain", "label.1.title.en": "Snow", "label.1.yes": ""}, page=below)
    falls = draft.finished(drafts(site)[0].content).question("what-falls")
    assert falls.under == ("wet", ("wet",))  # none was ticked: the parent's yes
    assert falls.kind == "many"
    post(client, below, {**form, "needed": ["wet=dry", "wet=wet"], "label.0.under": "dry", "label.0.was": "rain"})
    falls = draft.finished(drafts(site)[0].content).question("what-falls")
    assert falls.under == ("wet", ("dry", "wet"))
    assert falls.labels[0].under == ("dry",)
    # Renaming above takes what is below with it, moving it above does not go unnoticed, and undo brings it back.
    post(client, to, {"was": "wet", "title.en": "Wet?", "name": "moist", "kind": "one", **LABELS,
                      "label.1.was": "wet", "label.1.name": "soaked", "label.0.was": "dry"}, page=to)  # fmt: skip
    assert draft.finished(drafts(site)[0].content).question("what-falls").under == ("moist", ("dry", "soaked"))
    moved = post(client, f"{address}/questions/2/up", {"was": "what-falls"}, page=address)
    page = client.get(moved.headers["location"])
    assert "has to come before it" in page.text
    undo = re.search(r'action="(/schemes/\w+/bring-back/\d+)"', page.text)[1]
    post(client, undo, page=address)
    assert draft.problems(drafts(site)[0].content) == []
    post(client, f"{address}/questions/1/remove", {"was": "moist"}, page=address)
    (left,) = drafts(site)[0].content["questions"]
    assert left["under"] is None
    assert draft.problems(drafts(site)[0].content) == []


def test_order_and_removal_of_labels_and_what_the_form_does_not_show(site):
    client = site.as_("expert")
    address = begin(site, client, **{"from": "copy", "scheme": "scheme:edos"})
    to = f"{address}/questions/2"
    page = client.get(to).text
    fields = dict(re.findall(r'name="(label\.\d+\.was)" value="([^"]*)"', page))
    form = {"was": "category", "kind": "one", "parent": "sexist"}
    for name, was in fields.items():
        row = name.split(".")[1]
        form |= {name: was, f"label.{row}.name": was, f"label.{row}.place": str(50 - int(row))}
    post(client, to, {**form, "label.0.remove": "yes"}, page=to)
    category = drafts(site)[0].content["questions"][1]
    assert [label["name"] for label in category["labels"]] == ["prejudiced discussions", "animosity", "derogation"]
    assert category["absent"] == ["none"]
    text = client.get(address).text
    assert "has no label “threats, plans to harm and incitement” any more" in text


def test_problems_are_named_in_the_language_of_the_page_with_their_field(site):
    client = site.as_("expert", **{"accept-language": "de"})
    with site.store.write() as db:
        users.set_language(db, site.people["expert"].id, "de", by="shell")
    address, to = with_question(site, client, "Ist es nass?")
    write_labels(client, to, was="ist-es-nass", **{"label.1.code": "0"})
    page = client.get(to).text
    assert "Label, Code oder Schreibweise: „0“ steht schon für Label 1. Ändern Sie eines." in page
    assert 'aria-invalid="true"' in page
    assert "Frage 1, „Is it wet?“, Label 2: Label, Code" in client.get(address).text


def test_the_preview_shows_the_labelling_page_and_says_what_would_be_saved(site):
    client = site.as_("expert")
    address = begin(site, client, **{"from": "copy", "scheme": "scheme:edos"})
    page = client.get(f"{address}/preview").text
    assert 'value="not sexist"' in page
    assert '<span class="label-code">2.1</span> Descriptive attacks' in page
    asked = client.get(f"{address}/preview", params={"asked": "sexist", "answer.sexist": "sexist"}).text
    assert "This would be saved" not in asked
    answers = {"answer.sexist": "sexist", "answer.category": "derogation", "answer.vector": "descriptive attacks"}
    assert "<dd>2.1 Descriptive attacks</dd>" in client.get(f"{address}/preview", params=answers).text
    assert client.get(f"{address}/preview", params={"answer.sexist": ["sexist", "not sexist"]}).status_code == 400


def test_a_file_is_read_and_what_is_wrong_with_it_named_by_its_line(site):
    client = site.as_("expert")
    good = "name: weather\nversion: 3\nquestions:\n  - name: wet\n    labels: [dry, wet]\n"

    def send(text):
        return post(client, "/schemes", {"from": "file"}, page="/schemes", files={"file": ("w.yaml", text.encode())})

    address = send(good).headers["location"]
    assert "labels:" in client.get(f"{address}/scheme.yaml").text
    bad = send(good.replace("[dry, wet]", "[dry]"))
    assert bad.status_code == 422
    assert "File, line 5: question &#39;wet&#39; has 1 label" in bad.text
    assert "davy scheme" not in bad.text
    assert send("x" * 300_000).status_code == 413
    none = post(client, "/schemes", {"from": "file"}, page="/schemes", files={"file": ("", b"")})
    assert none.status_code == 422


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: w\nversion: 1\nquestions:\n  - {name: wet, labels: dry}\n", "muss eine Liste sein, ist aber ein Text."),
        (
            "name: w\nversion: 1\nquestions:\n  - {name: wet, labels: [dry, wet]}\n"
            "  - {name: deep, under: {wett: [wet]}, labels: [a, b], kind: two}\n",
            "Datei, Zeile 5: Die Frage &#39;deep&#39; hat die Art &#39;two&#39;; "
            f"es gibt: {', '.join(QUESTION_KINDS)}.",
        ),
        (
            "name: w\nversion: 1\nquestions:\n  - {name: a, under: b, labels: [x, y]}\n"
            "  - {name: b, labels: [x, y], lables: z}\n",
            "&#39;a&#39; steht vor &#39;b&#39;, an der sie hängt (in Zeile 5). Setzen Sie &#39;b&#39; darüber.",
        ),
        ("name: [", "Das ist kein YAML"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_german(site, text, said):
    client = site.as_("expert")
    post(client, "/language", {"lang": "de", "next": "/"})
    files = {"file": ("w.yaml", text.encode())}
    assert said in post(client, "/schemes", {"from": "file"}, page="/schemes", files=files).text


def test_open_coding_becomes_a_scheme(site):
    client = site.as_("expert")
    post(client, "/projects/new/upload", {"start": "scheme:hate", "name": "pilot", "title": "Pilot", "posts": "later"})
    with site.store.write() as db:
        top = codes.create(db, "pilot", "Soup", by="shell")
        codes.create(db, "pilot", "Cold soup", by="shell", parent=top.id)
    answer = post(client, "/projects/pilot/coding/draft", page="/projects/pilot/coding")
    page = client.get(answer.headers["location"]).text
    assert "Pilot (draft)" in page
    assert "Cold soup" in page


def test_a_scheme_is_its_authors_alone(site):
    """An outsider of the same role: not its page, not its file, not a copy, not a project, not a guess of its name."""
    client, admin = site.as_("expert"), site.as_("admin")
    address, to = with_question(site, client)
    write_labels(client, to)
    draft_id = drafts(site)[0].id
    post(client, "/projects/new/upload", {"start": f"own:{draft_id}", "name": "rain", "title": "R", "posts": "later"})
    for path in ("", "/preview", "/scheme.yaml", "/questions/1"):
        assert admin.get(address + path).status_code == 404
    before = drafts(site)
    for path in ("", "/questions", "/questions/1", "/questions/1/remove", "/remove", "/bring-back/1"):
        assert post(admin, address + path, {"title": "Mine", "was": "wet"}).status_code == 404
    assert drafts(site) == before
    assert "Rainy days" not in admin.get("/projects/new").text + admin.get("/schemes").text
    assert "rainy-days" not in admin.get("/projects/new").text + admin.get("/schemes").text
    for start in (f"own:{draft_id}", "scheme:rainy-days"):
        taken = post(admin, "/projects/new/upload", {"start": start, "name": "x", "title": "X", "posts": "later"})
        assert taken.status_code in (404, 422)
        assert "Dry" not in taken.text
    for source in ("scheme:rainy-days", "project:rain"):
        answer = post(admin, "/schemes", {"from": "copy", "scheme": source}, page="/schemes")
        assert answer.status_code == 404
    # A scheme of the same name by somebody else is another scheme.
    _, theirs_to = with_question(site, admin)
    write_labels(admin, theirs_to, **{"label.1.title.en": "Everything is wet"})
    start = f"own:{drafts(site, 'admin')[0].id}"
    post(admin, "/projects/new/upload", {"start": start, "name": "theirs", "title": "T", "posts": "later"})
    with site.store.read() as db:
        assert projects.get(db, "theirs").scheme == "rainy-days-2"
        assert "Everything" not in schemes.get(db, "rainy-days", 1).yaml
        assert projects.get(db, "rain").scheme == "rainy-days"


def test_schemes_for_everybody_can_be_read_copied_and_begun_with(site):
    admin = site.as_("admin")
    assert 'href="/schemes/edos"' in admin.get("/schemes").text
    assert 'href="/schemes/edos"' in admin.get("/projects/new?start=preset:edos").text
    page = admin.get("/schemes/edos").text
    assert "Is the post sexist?" in page
    assert 'href="/projects/new?start=scheme:edos"' in page
    copied = post(admin, "/schemes", {"from": "copy", "scheme": "scheme:edos"}, page="/schemes/edos")
    assert copied.headers["location"].startswith("/schemes/")
    assert admin.get("/schemes/no-such-scheme").status_code == 404
    assert post(admin, "/schemes/edos", {"title": "Mine"}, page="/schemes/edos").status_code == 404


def test_a_manager_copies_the_scheme_of_a_project_and_others_do_not(site):
    client = site.as_("expert")
    post(client, "/projects/new/upload", {"start": "scheme:hate", "name": "mine", "title": "Mine", "posts": "later"})
    address = begin(site, client, **{"from": "copy", "scheme": "project:mine"})
    assert "my-hate" in client.get(address).text
    with site.store.write() as db:
        members.add(db, "mine", site.people["admin"].id, ["annotator"], by="shell")
    answer = post(site.as_("admin"), "/schemes", {"from": "copy", "scheme": "project:mine"}, page="/schemes")
    assert answer.status_code == 404


def test_removing_a_scheme_can_be_undone(site):
    client = site.as_("expert")
    address = begin(site, client)
    assert post(client, f"{address}/remove", page=address).headers["location"] == "/schemes"
    assert drafts(site) == []
    assert client.get(address).status_code == 404
    post(client, f"{address}/restore", page="/schemes")
    assert client.get(address).status_code == 200


@pytest.mark.parametrize("form", [{"title": "x" * 400}, {"name": "x" * 200}, {"guideline.en": "x" * 100_001}])
def test_texts_that_are_too_long_are_refused(site, form):
    client = site.as_("expert")
    address = begin(site, client)
    assert (
        post(client, address, {"name": "n", **form, "title.en": form.get("title", "")}, page=address).status_code == 413
    )
