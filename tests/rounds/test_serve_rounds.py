"""The pages of rounds: open one, enter, see the verdict, validate, write the contrast; and what is refused."""

from __future__ import annotations

import re

import pytest

from davy.annotation.labelling import labelling
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.store import members, projects
from davy.people.store import users
from davy.rounds.entries import SENTENCES
from davy.rounds.frame import entries_frame
from davy.rounds.round import TAKEN_BACK
from davy.rounds.store import entries, round_seeds, rounds
from davy.scoring.queue.detectors import Detectors
from davy.store.columns import new_id
from davy.web.i18n import Translator
from web_site import Site, post, token_in

HATEFUL = {
    "answer.hate": "hateful",
    "answer.type": "derogation",
    "answer.target": "women",
    "asked": ["hate", "type", "target"],
}
HARMLESS = {"answer.hate": "not hateful", "asked": ["hate"]}
TEXT = "what a lovely lot they are 🐍"


@pytest.fixture
def duel(site: Site) -> Site:
    """A project of the preset `rounds` with a manager, four who write and an expert."""
    with site.store.write() as db:
        plan = project_file.parse_plan(b"name: duel\npreset: rounds\n", "rounds.yaml")
        project_creation.create_project(db, plan, by="shell")
        for name, role in (
            ("mo", "manager"),
            ("ada", "annotator"),
            ("bo", "annotator"),
            ("cy", "annotator"),
            ("eve", "expert"),
        ):
            site.people[name] = users.add(db, login=name, name=name, role="annotator", by="shell")
            members.add(db, "duel", site.people[name].id, [role], by="shell")
            members.consent(db, "duel", site.people[name].id)
    return site


def target_of(site: Site) -> str:
    model = site.app.state.context.part(Detectors).started.model
    return f"{model['name']}@{model['version']}"


def opened(site: Site, **fields: str) -> None:
    values = {"target": target_of(site), "needs_emoji": "yes", "languages": "", "shortest": "3", "longest": "280"}
    answer = post(site.as_("mo"), "/projects/duel/rounds", {**values, **fields}, page="/projects/duel/rounds")
    assert answer.status_code == 303, answer.text


def enter(site: Site, who: str, text: str, answers=HATEFUL, **more):
    """Send the form as a browser does; return what came back and the entry's id."""
    client = site.as_(who)
    page = client.get("/projects/duel/rounds/1/enter").text
    form = {"csrf": token_in(page), "entry_id": field_in(page, "entry_id"), "text": text, **answers, **more}
    return client.post("/projects/duel/rounds/1/enter", data=form), form["entry_id"]


def field_in(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return found.group(1)


def label(site: Site, who: str, answers) -> None:
    with site.store.write() as db:
        project, member = projects.get(db, "duel"), members.get(db, "duel", site.people[who].id)
        sheet = labelling.next_sheet(db, project, member)
        labelling.save(db, sheet, answers, annotation_id=new_id())


def settle(site: Site, text: str = TEXT) -> str:
    """Let ada enter a hateful text and two others confirm it; return its id."""
    _, entry_id = enter(site, "ada", text)
    for who in ("bo", "cy"):
        label(site, who, {"hate": ("hateful",), "type": ("derogation",), "target": ("women",)})
    return entry_id


def contrast(site: Site, who: str, original: str, text: str, answers=HARMLESS, **more):
    client = site.as_(who)
    address = f"/projects/duel/rounds/1/contrast/{original}"
    page = client.get(address).text
    form = {
        "csrf": token_in(page),
        "entry_id": field_in(page, "entry_id"),
        "text": text,
        "do": "save",
        **answers,
        **more,
    }
    return client.post(address, data=form)


def test_who_has_nothing_to_label_is_led_to_what_else_they_can_do(duel):
    opened(duel)
    page = duel.as_("bo").get("/projects/duel/label").text
    assert re.search(r'primary"[^>]*href="/projects/duel/rounds/1/enter">Enter a text<', page)
    settle(duel)
    page = duel.as_("bo").get("/projects/duel/label").text
    assert 'href="/projects/duel/rounds/1/contrast">Write one contrast<' in page
    assert len(re.findall(r'class="button primary"', page)) == 1
    opened_by_expert = duel.as_("eve").get("/projects/duel/begin", follow_redirects=False)
    assert opened_by_expert.headers["location"] == "/projects/duel/rounds/1/enter"


def test_every_refusal_has_its_sentence_in_both_languages():
    for lang in ("en", "de"):
        assert all(Translator(lang).has(f"rounds.refused.{why}") for why in SENTENCES)


def test_a_manager_opens_a_round_against_the_servers_detector(duel: Site):
    opened(duel, name="First", goal_all="100", goal_each="30", goal_week="8", languages="en de")
    with duel.store.read() as db:
        made = rounds.by_number(db, "duel", 1)
    assert (made.name, made.targets, made.goal_all, made.goal_week, made.rules.languages) == (
        "First",
        (target_of(duel),),
        100,
        8,
        ("en", "de"),
    )
    page = duel.as_("ada").get("/projects/duel/rounds/1")
    assert "0 of 100 entries in all" in page.text
    assert "0 of your 8 entries for seven days" in page.text


def test_a_round_without_a_target_of_the_list_is_not_opened(duel: Site):
    for target in ("", "other@1"):
        answer = post(duel.as_("mo"), "/projects/duel/rounds", {"target": target}, page="/projects/duel/rounds")
        assert (answer.status_code, "Choose at least one target" in answer.text) == (422, True)


def test_a_round_of_too_few_people_asks_for_a_reason(duel: Site):
    with duel.store.write() as db:
        members.leave(db, "duel", duel.people["ada"].id, by="shell")
    values = {"target": target_of(duel), "name": "Kept"}
    answer = post(duel.as_("mo"), "/projects/duel/rounds", values, page="/projects/duel/rounds")
    assert answer.status_code == 409
    assert 'name="anyway"' in answer.text
    assert 'value="Kept"' in answer.text


def test_a_round_counts_people_who_are_invited_since_its_entries_wait_for_them(duel: Site):
    with duel.store.write() as db:
        members.leave(db, "duel", duel.people["ada"].id, by="shell")
    invited = {"roles": "annotator", "days": "7", "login": "", "pool": ""}
    assert (
        post(duel.as_("mo"), "/projects/duel/roster/invite", invited, page="/projects/duel/roster").status_code == 200
    )
    opened(duel)


def test_an_entry_shows_at_once_whether_the_target_was_fooled(duel: Site):
    opened(duel)
    answer, entry_id = enter(duel, "ada", TEXT)
    assert answer.status_code == 303
    page = duel.as_("ada").get(answer.headers["location"]).text
    assert "You fooled the target." in page
    assert "Not hateful" in page
    assert "1 of your 1 entries fooled the target" in page
    answer, _ = enter(duel, "ada", "a grumblefop is what they all are 🐍")
    assert "The target was right." in duel.as_("ada").get(answer.headers["location"]).text
    with duel.store.read() as db:
        row = entries.get_text(db, "duel", entry_id)
    assert (row.entry.fooled, row.entry.predictions[0].target) == (True, target_of(duel))


def test_a_form_that_is_sent_twice_is_one_entry_and_one_piece_of_work(duel: Site):
    opened(duel)
    client = duel.as_("ada")
    page = client.get("/projects/duel/rounds/1/enter").text
    form = {"csrf": token_in(page), "entry_id": field_in(page, "entry_id"), "text": TEXT, **HATEFUL}
    first, second = (client.post("/projects/duel/rounds/1/enter", data=form) for _ in range(2))
    assert first.headers["location"] == second.headers["location"]
    with duel.store.read() as db:
        assert len(entries.of_round(db, rounds.by_number(db, "duel", 1).id)) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("they are a lovely lot", "has no emoji"),
        ("Die Nachbarin hat den ganzen Tag gesungen und laut gelacht 🐍", "reads like “de”"),
        ("🐍" + "long " * 100, "this round takes 280 at most"),
        ("", "There is no text yet"),
    ],
)
def test_a_text_that_breaks_a_rule_is_refused_and_stays_in_the_form(duel: Site, text: str, sentence: str):
    opened(duel, languages="en")
    answer, _ = enter(duel, "ada", text)
    assert answer.status_code == 422
    assert sentence in answer.text
    assert text.strip() in answer.text
    with duel.store.read() as db:
        assert entries.of_round(db, rounds.by_number(db, "duel", 1).id) == []


def test_a_text_with_a_question_left_open_stays_in_the_form(duel: Site):
    opened(duel)
    answer, _ = enter(duel, "ada", TEXT, {"answer.hate": "hateful", "asked": ["hate"]})
    assert (answer.status_code, TEXT in answer.text, "still open" in answer.text) == (422, True, True)


def test_a_target_that_went_away_leaves_the_text_in_the_form(duel: Site):
    opened(duel)
    with duel.store.write() as db:
        from sqlalchemy import update

        from davy.rounds.store.rounds import rounds as table

        db.execute(update(table).values(targets=["gone@1"]))
    answer, _ = enter(duel, "ada", TEXT)
    assert answer.status_code == 503
    assert "The target gone@1 can&#39;t be asked now" in answer.text
    assert TEXT in answer.text
    with duel.store.read() as db:
        assert entries.of_round(db, rounds.by_number(db, "duel", 1).id) == []


def test_a_near_copy_of_an_earlier_entry_is_caught(duel: Site):
    opened(duel)
    enter(duel, "ada", "my neighbour sings all day and I think that is what they all do 🐍")
    answer, _ = enter(duel, "bo", "my neighbour sings all day and I think that is what they all do 🐷")
    assert (answer.status_code, "too like an earlier entry" in answer.text) == (409, True)


def test_nobody_gets_their_own_entry_to_validate(duel: Site):
    opened(duel)
    enter(duel, "ada", TEXT)
    assert TEXT not in duel.as_("ada").get("/projects/duel/label").text
    page = duel.as_("bo").get("/projects/duel/label").text
    assert TEXT in page
    assert 'value="ambiguous"' in page
    assert " checked" not in page.split('id="answer"')[1].split("</form>")[0], "the author's answer must not show"


def take_back(site: Site, name: str, entry_id: str):
    path = f"/projects/duel/rounds/1/entries/{entry_id}/take-back"
    return post(site.as_(name), path, {}, page="/projects/duel/rounds/1/enter")


def test_an_author_takes_an_entry_back_and_enters_its_text_again(duel: Site):
    opened(duel)
    _, entry_id = enter(duel, "ada", TEXT)
    assert take_back(duel, "bo", entry_id).status_code == 404, "it is ada's"
    answer = take_back(duel, "ada", entry_id)
    assert answer.status_code == 303
    form = duel.as_("ada").get(answer.headers["location"]).text
    assert TEXT in form.split("<textarea")[1].split("</textarea>")[0]
    assert TEXT not in duel.as_("bo").get("/projects/duel/label").text, "nobody labels it"
    assert "taken back" in duel.as_("ada").get("/projects/duel/rounds/1").text
    again, other = enter(duel, "ada", TEXT, answers=HARMLESS)
    assert (again.status_code, other != entry_id) == (303, True)
    assert take_back(duel, "ada", entry_id).status_code == 409, "once is enough"
    with duel.store.read() as db:
        rows = entries_frame(db, rounds.by_number(db, "duel", 1))
    assert rows["dropped"].to_list() == [TAKEN_BACK, None], "the raw rate still counts it"


def test_an_entry_that_somebody_labels_can_not_be_taken_back(duel: Site):
    opened(duel)
    _, entry_id = enter(duel, "ada", TEXT)
    assert TEXT in duel.as_("bo").get("/projects/duel/label").text
    answer = take_back(duel, "ada", entry_id)
    assert answer.status_code == 409
    assert "somebody else has begun to label it" in answer.text
    assert TEXT in duel.as_("bo").get("/projects/duel/label").text


def test_the_explanation_marks_words_of_ones_own_entry_alone(duel: Site):
    opened(duel)
    _, entry_id = enter(duel, "ada", "a grumblefop is what they all are 🐍")
    why = f"/projects/duel/rounds/1/entries/{entry_id}/why"
    assert re.search(r'<mark class="for-4">grumblefop</mark>', duel.as_("ada").get(why).text)
    assert duel.as_("bo").get(why).status_code == 404


def test_a_settled_entry_gets_its_contrast_and_no_second(duel: Site):
    opened(duel)
    original = settle(duel)
    page = duel.as_("bo").get("/projects/duel/rounds/1").text
    assert f"/projects/duel/rounds/1/contrast/{original}" in page
    answer = contrast(duel, "bo", original, TEXT.replace("🐍", "💖"), change="emoji")
    assert answer.status_code == 303
    assert "This entry has its contrast" in duel.as_("bo").get(answer.headers["location"]).text
    with duel.store.read() as db:
        made = entries.contrast_of(db, "duel", original).entry
    assert (made.change, made.label, made.author) == ("emoji", "not hateful", duel.people["bo"].id)
    kept = take_back(duel, "bo", made.id)
    assert (kept.status_code, "its original waits for it" in kept.text) == (409, True)


@pytest.mark.parametrize(
    ("text", "answers", "change", "sentence"),
    [
        ("what a lovely pair they are 💖", HARMLESS, "emoji", "this one changes both"),
        (TEXT, HARMLESS, "emoji", "the same words and the same emoji"),
        (TEXT.replace("lot", "pair"), HARMLESS, "emoji", "You chose to change the emoji, and the words changed"),
        (TEXT.replace("🐍", "💖"), HATEFUL, "emoji", "A contrast flips it"),
    ],
)
def test_a_contrast_that_breaks_a_rule_is_refused_and_stays_in_the_form(duel: Site, text, answers, change, sentence):
    opened(duel)
    original = settle(duel)
    answer = contrast(duel, "bo", original, text, answers, change=change)
    assert answer.status_code == 422
    assert sentence in answer.text
    assert text in answer.text
    with duel.store.read() as db:
        assert entries.contrast_of(db, "duel", original) is None


def test_comparing_and_swapping_work_without_scripts(duel: Site):
    opened(duel)
    original = settle(duel)
    answer = contrast(duel, "bo", original, TEXT, swap="0 💖", do="")
    assert (answer.status_code, "<ins>💖</ins>" in answer.text) == (200, True)
    answer = contrast(duel, "bo", original, TEXT.replace("lot", "pair"), do="compare")
    assert "<del>lot</del>" in answer.text
    assert "words 1 (at most 3), emoji 0" in answer.text


def test_contributions_are_the_managers_to_see(duel: Site):
    opened(duel)
    enter(duel, "ada", TEXT)
    with duel.store.read() as db:
        name = members.get(db, "duel", duel.people["ada"].id).pseudonym
    assert name in duel.as_("mo").get("/projects/duel/rounds/1").text
    assert name not in duel.as_("bo").get("/projects/duel/rounds/1").text
    assert TEXT not in duel.as_("bo").get("/projects/duel/rounds/1").text


def test_sentences_that_the_target_gets_wrong_are_offered_as_a_start(duel: Site):
    opened(duel)
    client = duel.as_("mo")
    page = client.get("/projects/duel/rounds/1").text
    file = ("news.csv", b"id,text\nn1,The town has a new bridge\nn2,A grumblefop won the race\n", "text/csv")
    answer = client.post(
        "/projects/duel/rounds/1/seeds/upload",
        data={"csrf": token_in(page), "support": "news"},
        files={"file": file},
    )
    assert answer.status_code == 303, answer.text
    with duel.store.read() as db:
        round_ = rounds.by_number(db, "duel", 1)
        assert round_seeds.counts(db, round_.id) == {"news": 1}
    page = duel.as_("ada").get("/projects/duel/rounds/1/enter?support=news").text
    assert "A grumblefop won the race" in page
    _, entry_id = enter(
        duel,
        "ada",
        "A grumblefop won the race 🏁",
        HARMLESS,
        support="news",
        derived_from=field_in(page, "derived_from"),
    )
    with duel.store.read() as db:
        row = entries.get_text(db, "duel", entry_id)
    assert row.entry.support == "news"
    assert "A grumblefop" not in duel.as_("ada").get("/projects/duel/rounds/1/enter?support=news").text


def test_the_pages_speak_german(duel: Site):
    opened(duel)
    with duel.store.write() as db:
        users.set_language(db, duel.people["ada"].id, "de", by=duel.people["ada"].id)
    answer, _ = enter(duel, "ada", "kein Emoji weit und breit")
    assert "Der Text hat kein Emoji" in answer.text


def test_another_projects_round_is_not_there(duel: Site):
    opened(duel)
    _, entry_id = enter(duel, "ada", TEXT)
    with duel.store.write() as db:
        plan = project_file.parse_plan(b"name: other\npreset: rounds\n", "rounds.yaml")
        project_creation.create_project(db, plan, by="shell")
        members.add(db, "other", duel.people["bo"].id, ["annotator"], by="shell")
        members.consent(db, "other", duel.people["bo"].id)
    for path in ("1", "1/enter", f"1/contrast/{entry_id}", f"1/entries/{entry_id}/why", "0", "x"):
        assert duel.as_("bo").get(f"/projects/other/rounds/{path}").status_code == 404


def test_an_expert_reads_that_it_is_an_entry_and_after_deciding_what_the_target_said(duel: Site):
    opened(duel)
    enter(duel, "ada", TEXT)
    label(duel, "bo", {"hate": ("hateful",), "type": ("derogation",), "target": ("women",)})
    label(duel, "cy", {"hate": ("not hateful",)})
    eve, queue = duel.as_("eve"), "/projects/duel/expert"
    path = post(eve, queue, page=queue).headers["location"]
    shown = eve.get(path).text
    assert "This is an entry of round 1" in shown
    assert "said: " not in shown
    form = {"asked": "hate", "answer.hate": "not hateful", "reason": "a joke", "do": "save"}
    after = post(eve, path, form, page=path).headers["location"]
    told = f"The target {target_of(duel)} said: Not hateful."
    listed = eve.get(after).text
    assert listed.count(told) == 2  # in the banner, and in the list of decisions
    assert f'action="{path}/undo"' in listed


def test_an_expert_reads_that_an_entry_was_flagged_and_not_that_most_flagged_it(duel: Site):
    opened(duel)
    enter(duel, "ada", TEXT)
    with duel.store.write() as db:
        project, member = projects.get(db, "duel"), members.get(db, "duel", duel.people["bo"].id)
        answers = {"hate": ("hateful",), "type": ("derogation",), "target": ("women",)}
        sheet = labelling.next_sheet(db, project, member)
        labelling.save(db, sheet, answers, annotation_id=new_id(), flags=("unrealistic",))
    label(duel, "cy", {"hate": ("hateful",), "type": ("derogation",), "target": ("women",)})
    shown = duel.as_("eve").get("/projects/duel/expert").text
    assert "flagged as unrealistic" in shown
    assert "most" not in re.sub(r"<[^>]+>", " ", shown.split("<table")[1].split("</table>")[0])


def gaps(page: str) -> dict[str, tuple[int, list[str]]]:
    """What a page says that the round lacks: title → how many, and those that it names."""
    part = page.split('<section class="gaps">')[1].split("</section>")[0]
    found = {}
    for title, n, rest in re.findall(
        r"<p><strong>([^<]+)</strong> (\d+) of \d+ in no entry yet(.*?)</p>", part, re.DOTALL
    ):
        found[title] = int(n), re.findall(r'class="tag">([^<]+)<', rest)
    return found


def test_everybody_sees_at_once_which_groups_ways_and_emoji_a_round_still_lacks(duel):
    opened(duel)
    before = gaps(duel.as_("bo").get("/projects/duel/rounds/1/enter").text)
    address = "/projects/duel/rounds/1/enter"
    client = duel.as_("ada")
    page = client.get(address).text
    form = {"csrf": token_in(page), "entry_id": field_in(page, "entry_id"), "text": TEXT, **HATEFUL}
    answer = client.post(address, data={**form, "strategy": "irony or mockery"}, headers={"HX-Request": "true"})
    live = gaps(answer.text)
    titles = list(before)
    assert [before[title][0] - live[title][0] for title in titles] == [1, 1, 1, 1], "type, target, way and emoji"
    assert all(gaps(duel.as_(who).get(address).text).keys() == live.keys() for who in ("bo", "cy"))
    assert gaps(duel.as_("mo").get("/projects/duel/rounds/1").text)[titles[0]][0] == live[titles[0]][0]
    client.post(f"/projects/duel/rounds/1/entries/{form['entry_id']}/take-back", data={"csrf": form["csrf"]})
    again = gaps(duel.as_("bo").get(address).text)
    assert {title: n for title, (n, _) in again.items()} == {title: n for title, (n, _) in before.items()}


def test_what_a_round_lacks_is_read_from_kept_entries_of_that_round(duel):
    from davy.annotation.project.project_scheme import scheme_of
    from davy.rounds.round_gaps import find_gaps, listed_emoji

    opened(duel)
    enter(duel, "ada", TEXT)
    with duel.store.read() as db:
        round_ = rounds.of_project(db, "duel")[0]
        found = {gap.kind: gap for gap in find_gaps(db, round_, scheme_of(db, projects.get(db, "duel")))}
    assert "women" not in found["target"].missing
    assert len(found["target"].missing) == found["target"].size - 1
    assert "derogation" not in found["type"].missing
    assert "🐍" not in found["emoji"].missing
    assert set(found["emoji"].missing) | {"🐍"} == set(listed_emoji(()))
    assert len(found["strategy"].missing) == found["strategy"].size, "ada named no way"
    assert len(set(listed_emoji(["de"]))) == len(listed_emoji(["de"])) < len(listed_emoji(["de", "en"]))
