"""Care on the web: who reads check-ins, hours, the channel, the survey, one's own data, and open coding."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest

from davy import schemes as shipped
from davy.annotation.care import care
from davy.annotation.care.store import check_ins, responses
from davy.annotation.exchange.exchange import export_survey
from davy.annotation.labelling.store import items
from davy.annotation.project.store import members, messages, phases, posts, projects
from davy.annotation.settling.store import codes
from davy.core import Post
from davy.people.store import users
from davy.schemes.store import schemes
from davy.store import events
from davy.store.columns import now
from web_site import PASSWORD, Site, hashed_password, post, token_in

HOME = "/projects/pilot"
ROLES = {
    "annotator": ["annotator"],
    "second": ["annotator"],
    "expert": ["expert"],
    "manager": ["manager"],
    "contact": ["wellbeing"],
    "attacker": ["adversarial"],
}


@pytest.fixture
def team(site: Site) -> Site:
    """A project with two annotators, an expert, a manager and a wellbeing contact; an admin stands outside."""
    with site.store.write() as db:
        schemes.save(db, shipped.load("edos"), shipped.text_of("edos").decode(), by=events.SHELL)
        for name in ("second", "manager", "contact", "attacker"):
            site.people[name] = users.add(
                db, login=name, name=f"{name} person", role="annotator", by="shell", password_hash=hashed_password()
            )
        settings = {
            "support": [{"name": "Night line", "phone": "0800 111"}],
            "pay": {"currency": "EUR", "per_hour": 18, "expert_per_hour": 20},
            "debrief": {"en": "It became **a corpus**. <script>alert(1)</script>"},
        }
        projects.create(
            db, id="pilot", title="Pilot", scheme="edos", scheme_version=1, settings=settings, by=events.SHELL
        )
        for name, roles in ROLES.items():
            members.add(
                db, "pilot", site.people[name].id, roles, by=events.SHELL, pool="=2+3" if name == "second" else None
            )
        phase = phases.add(
            db, "pilot", name="1", kind="production", answers=2, in_corpus=True, settings={}, by=events.SHELL
        )
        for number in range(4):
            posts.add(db, Post(f"p/{number}", f"post {number} <i>raw</i>"), project="pilot", by=events.SHELL)
        items.add(db, phase, [(f"p/{number}", None, None) for number in range(4)], by=events.SHELL)
        posts.add(db, Post("elsewhere", "of another project"), project=None, by=events.SHELL)
    return site


PAGES = ("care", "hours", "channel", "survey", "my-data", "coding")


def work(site: Site, name: str, minutes: int) -> None:
    """Let a person answer once a minute."""
    begun = now() - timedelta(minutes=minutes + 1)
    with site.store.write() as db:
        project, member = projects.get(db, "pilot"), members.get(db, "pilot", site.people[name].id)
        for minute in range(minutes + 1):
            care.after_save(db, project, member, None, 60, hard=False, at=begun + timedelta(minutes=minute))


def test_a_check_in_reaches_its_contact_and_nobody_else(team):
    writer = team.as_("annotator")
    page = writer.get(f"{HOME}/care").text
    assert "contact person" in page
    words = "The grumblefops <b>weigh</b> on me"
    sent = post(writer, f"{HOME}/care", {"mood": "2", "words": words, "contact": "yes"}, page=f"{HOME}/care")
    assert sent.status_code == 303
    shown = "The grumblefops &lt;b&gt;weigh&lt;/b&gt; on me"
    reader = team.as_("contact")
    html = reader.get(f"{HOME}/care").text
    assert shown in html
    assert "annotator person" in html
    assert "wants to be contacted" in html
    admin, manager = team.as_("admin"), team.as_("manager")
    assert admin.get(f"{HOME}/care").status_code == 403
    for client in (manager, team.as_("expert"), team.as_("second"), admin):
        for path in (*(f"{HOME}/{it}" for it in PAGES), HOME, f"{HOME}/watch", f"{HOME}/hours.csv", "/audit"):
            assert "grumblefops" not in client.get(path).text, path
    with team.store.read() as db:
        (made,) = check_ins.of_person(db, team.people["annotator"].id)
        record = " ".join(f"{it.what} {it.about} {it.details}" for it in events.latest(db, limit=1000))
    assert "check" not in record
    for client in (manager, admin):
        assert post(client, f"{HOME}/care/{made.id}/seen", page="/account").status_code == 403
    assert post(reader, f"{HOME}/care/{made.id}/seen", page=f"{HOME}/care").status_code == 303
    assert "· seen" in writer.get(f"{HOME}/care").text


def test_a_manager_who_takes_the_role_reads_nothing_that_was_written_before(team):
    post(team.as_("annotator"), f"{HOME}/care", {"words": "an earlier worry"}, page=f"{HOME}/care")
    with team.store.write() as db:
        members.set_roles(db, "pilot", team.people["manager"].id, ["manager", "wellbeing"], by="shell")
    assert "earlier worry" not in team.as_("manager").get(f"{HOME}/care").text
    assert "also runs this project" in team.as_("annotator").get(f"{HOME}/care").text


def test_an_empty_or_odd_check_in_is_refused_and_without_a_contact_none_is_sent(team):
    client = team.as_("annotator")
    assert post(client, f"{HOME}/care", {"words": " "}, page=f"{HOME}/care").status_code == 422
    assert post(client, f"{HOME}/care", {"mood": "9"}, page=f"{HOME}/care").status_code == 400
    with team.store.write() as db:
        members.leave(db, "pilot", team.people["contact"].id, by="shell")
    assert "no wellbeing contact yet" in client.get(f"{HOME}/care").text
    assert post(client, f"{HOME}/care", {"mood": "1"}, page=f"{HOME}/care").status_code == 409


def test_support_is_at_the_foot_of_every_page(team):
    client = team.as_("annotator")
    for page in PAGES:
        html = client.get(f"{HOME}/{page}").text
        assert "Night line" in html.partition("<footer")[2], page


def test_own_limits_are_kept_and_odd_ones_refused(team):
    client = team.as_("annotator")
    fields = {"break_after_minutes": "20", "break_after_hard": "", "daily_minutes": "60"}
    assert post(client, f"{HOME}/care/limits", fields, page=f"{HOME}/care").status_code == 303
    with team.store.read() as db:
        member = members.get(db, "pilot", team.people["annotator"].id)
        assert care.rules_of(projects.get(db, "pilot"), member).break_after_minutes == 20
    for odd in ("-1", "0", "1e9", "٣", "x"):
        wrong = post(client, f"{HOME}/care/limits", {"daily_minutes": odd}, page=f"{HOME}/care")
        assert wrong.status_code == 400, odd


def test_hours_are_shown_to_the_person_and_by_pseudonym_to_who_pays(team):
    work(team, "annotator", 90)
    work(team, "second", 30)
    mine = team.as_("annotator").get(f"{HOME}/hours").text
    assert "1 h 31 min" in mine
    assert "27.30 EUR" in mine
    assert "Everyone" not in mine
    work(team, "expert", 30)
    assert "10.33 EUR" in team.as_("expert").get(f"{HOME}/hours").text  # 31 minutes at 20
    for name in ("manager", "admin"):
        client = team.as_(name)
        assert "Everyone" in client.get(f"{HOME}/hours").text
        table = client.get(f"{HOME}/hours.csv")
        assert table.headers["content-disposition"] == 'attachment; filename="pilot-hours.csv"'
        header, *lines = table.text.strip().split("\n")
        assert header.startswith("annotator,pool,hours,items")
        assert len(lines) == 3
        assert "annotator person" not in table.text
        assert ",'=2+3,0.52," in table.text
    for name in ("annotator", "expert", "contact"):
        assert team.as_(name).get(f"{HOME}/hours.csv").status_code == 403


@pytest.mark.parametrize("who", ["contact", "attacker"])
def test_the_channel_shows_no_post_to_those_who_browse_none(team, who):
    post(team.as_("annotator"), f"{HOME}/channel/ask", {"text": "This one?", "post": "p/1"}, page=f"{HOME}/channel")
    client = team.as_(who)
    seen = client.get(f"{HOME}/channel")
    assert "This one?" in seen.text
    assert "raw" not in seen.text
    for id in ("p/1", "p/2", "never"):  # those that there are, and one that there isn't, are answered alike
        shown = client.get(f"{HOME}/channel?post={id}")
        asked = post(client, f"{HOME}/channel/ask", {"text": "And this?", "post": id}, page=f"{HOME}/channel")
        assert (shown.status_code, asked.status_code) == (404, 404)
        assert "raw" not in shown.text + asked.text
    assert post(client, f"{HOME}/channel/ask", {"text": "Hello?"}, page=f"{HOME}/channel").status_code == 303
    with team.store.read() as db:
        assert [it.first.text for it in messages.threads(db, "pilot")] == ["Hello?", "This one?"]


def test_questions_are_asked_about_a_post_answered_and_marked_as_unread(team):
    asker, manager = team.as_("annotator"), team.as_("manager")
    page = asker.get(f"{HOME}/channel?post=p/1").text
    assert "post 1 &lt;i&gt;raw&lt;/i&gt;" in page
    assert asker.get(f"{HOME}/channel?post=elsewhere").status_code == 404
    post(asker, f"{HOME}/channel/ask", {"text": "Is <b>this</b> one?", "post": "p/1"}, page=f"{HOME}/channel")
    odd = post(asker, f"{HOME}/channel/ask", {"text": "x", "post": "elsewhere"}, page=f"{HOME}/channel")
    assert odd.status_code == 404
    with team.store.read() as db:
        ((asked,),) = [[it.first for it in messages.threads(db, "pilot")]]
    seen = manager.get(f"{HOME}/channel").text
    assert "Is &lt;b&gt;this&lt;/b&gt; one?" in seen
    assert 'class="unread"' in seen
    assert 'class="mark"' not in seen  # read now, so nothing waits any more
    assert 'class="unread"' not in manager.get(f"{HOME}/channel").text
    assert "annotator person" not in seen
    answer = f"{HOME}/channel/{asked.id}/answer"
    assert post(team.as_("second"), answer, {"text": "no"}, page=f"{HOME}/channel").status_code == 403
    assert post(manager, answer, {"text": "Yes."}, page=f"{HOME}/channel").status_code == 303
    assert "/guideline/new?message=" in manager.get(f"{HOME}/channel").text
    form = manager.get(
        re.search(r'href="([^"]*guideline/new[^"]*)"', manager.get(f"{HOME}/channel").text).group(1)
    ).text
    assert form.count("Yes.</textarea>") >= 2  # in what changed, and at the end of the words in force
    assert manager.get(f"{HOME}/guideline/new?message=nowhere").status_code == 404
    assert "/guideline/new?message=" not in asker.get(f"{HOME}/channel").text
    assert post(asker, f"{HOME}/channel/announce", {"text": "x"}, page=f"{HOME}/channel").status_code == 403
    for client in (manager, team.as_("admin")):
        assert post(client, f"{HOME}/channel/announce", {"text": "Hear"}, page=f"{HOME}/channel").status_code == 303
    assert post(asker, f"{HOME}/channel/ask", {"text": " "}, page=f"{HOME}/channel").status_code == 422


def test_survey_results_wait_for_three_and_have_no_names(team):
    manager = team.as_("manager")
    for number, name in enumerate(("annotator", "second", "expert")):
        assert "once 3 people have answered" in manager.get(f"{HOME}/survey").text
        fields = {"q-clarity": str(3 + number % 2), "q-better": f"more soup {number}", "q-pay": "77"}
        post(team.as_(name), f"{HOME}/survey", fields, page=f"{HOME}/survey")
    html = manager.get(f"{HOME}/survey").text
    assert "3 people answered" in html
    assert "more soup 2" in html
    assert "3.3" in html
    assert "more soup 1" in team.as_("second").get(f"{HOME}/survey").text
    assert "more soup 2" not in team.as_("second").get(f"{HOME}/survey").text
    with team.store.read() as db:
        assert responses.get(db, "pilot", team.people["second"].id, "survey").content == {
            "clarity": 4,
            "better": "more soup 1",
        }
    own = "Was the soup warm? | War die Suppe warm?\nWhat else…\n"
    assert post(manager, f"{HOME}/survey/questions", {"questions": own}, page=f"{HOME}/survey").status_code == 303
    client = team.as_("annotator", **{"accept-language": "de"})
    assert "Was the soup warm?" in client.get(f"{HOME}/survey").text
    assert post(client, f"{HOME}/survey/questions", {"questions": ""}, page=f"{HOME}/survey").status_code == 403
    with team.store.read() as db:
        assert projects.get(db, "pilot").settings["pay"]["per_hour"] == 18  # other settings stay


def test_the_debrief_opens_when_the_project_closes_and_runs_no_script(team):
    client = team.as_("annotator")
    assert client.get(f"{HOME}/debrief").status_code == 403
    assert "once the project is closed" in team.as_("manager").get(f"{HOME}/debrief").text
    with team.store.write() as db:
        projects.close(db, "pilot", by="shell")
        members.leave(db, "pilot", team.people["annotator"].id, by="shell")
    html = client.get(f"{HOME}/debrief").text  # one who left is told, too
    assert "<strong>a corpus</strong>" in html
    assert "<script>alert" not in html


def test_someone_sees_takes_and_deletes_their_data_and_leaves(team):
    client = team.as_("annotator")
    about = {"gender": "woman", "first_language": "Plattdeutsch", "age": ""}
    assert post(client, f"{HOME}/my-data/about-me", about, page=f"{HOME}/my-data").status_code == 303
    post(client, f"{HOME}/care", {"words": "my own worry"}, page=f"{HOME}/care")
    given = client.get(f"{HOME}/my-data.json")
    assert given.headers["content-disposition"].startswith("attachment")
    kept = json.loads(given.text)
    assert kept["responses"][0]["content"] == {"gender": "woman", "first language": "Plattdeutsch"}
    assert kept["check_ins"][0]["words"] == "my own worry"
    assert json.loads(client.get("/account/my-data.json").text)["account"]["login"] == "annotator"
    assert post(client, f"{HOME}/my-data/leave", page=f"{HOME}/my-data").status_code == 303
    assert client.get(f"{HOME}/care").status_code == 403
    assert "Plattdeutsch" in client.get(f"{HOME}/my-data").text  # who left still has a way to their data
    assert post(client, f"{HOME}/my-data/delete", page=f"{HOME}/my-data").status_code == 400
    assert post(client, f"{HOME}/my-data/delete", {"sure": "yes"}, page=f"{HOME}/my-data").status_code == 303
    assert "Plattdeutsch" not in client.get(f"{HOME}/my-data").text
    assert json.loads(client.get(f"{HOME}/my-data.json").text)["check_ins"] == []
    assert team.as_("admin").get(f"{HOME}/my-data").status_code == 403


def test_an_account_is_deleted_with_its_password_and_signs_in_no_more(team):
    client = team.as_("annotator")
    fields = {"sure": "yes", "password": "wrong one"}
    assert post(client, "/account/delete", fields, page="/account").status_code == 403
    assert post(client, "/account/delete", {"password": PASSWORD}, page="/account").status_code == 400
    gone = post(client, "/account/delete", {"sure": "yes", "password": PASSWORD}, page="/account")
    assert gone.status_code == 303
    assert client.get("/account").status_code == 303
    again = post(team.visitor(), "/sign-in", {"login": "annotator", "password": PASSWORD}, page="/sign-in")
    assert again.status_code in (401, 403)
    page = team.as_("admin").get("/people").text
    assert "annotator person" not in page
    admin = post(team.as_("admin"), "/account/delete", {"sure": "yes", "password": PASSWORD}, page="/account")
    assert admin.status_code == 409


def test_posts_are_coded_by_name_and_codes_become_a_scheme(team, tmp_path):
    client, other = team.as_("annotator"), team.as_("second")
    page = client.get(f"{HOME}/coding").text
    assert "post 0 &lt;i&gt;raw&lt;/i&gt;" in page
    assert "of another project" not in page
    put = {"post": "p/0", "name": "Soup <b>"}
    assert post(client, f"{HOME}/coding/posts", put, page=f"{HOME}/coding").status_code == 303
    assert "post 0" not in client.get(f"{HOME}/coding").text  # what is new to you is not what you have coded
    part = other.post(
        f"{HOME}/coding/posts",
        data={"post": "p/0", "name": " soup <B> "},
        headers={"hx-request": "true", "x-csrf-token": token_in(other.get(f"{HOME}/coding").text)},
    )
    assert part.status_code == 200
    assert 'hx-swap-oob="true"' in part.text
    assert "Soup &lt;b&gt;" in part.text
    assert "<b>" not in part.text
    with team.store.read() as db:
        (soup,) = codes.list_codes(db, "pilot")
        assert (soup.posts, soup.coders, soup.shared) == (1, 2, 1)
    for form, status in (
        ({"post": "elsewhere", "name": "x"}, 404),
        ({"post": "p/0"}, 422),
        ({"post": "p/0", "name": "x" * 90}, 400),
    ):
        assert post(client, f"{HOME}/coding/posts", form, page=f"{HOME}/coding").status_code == status
    make = {"name": "Stew", "description": "Thick", "parent": soup.id}
    assert post(client, f"{HOME}/coding/codes", make, page=f"{HOME}/coding").status_code == 303
    assert post(client, f"{HOME}/coding/codes", make, page=f"{HOME}/coding").status_code == 409
    path = tmp_path / "draft.yaml"
    path.write_text(client.get(f"{HOME}/coding/draft.yaml").text)
    assert shipped.check(path) == []
    with team.store.read() as db:
        stew = next(it for it in codes.list_codes(db, "pilot") if it.name == "Stew")
    under = client.get(f"{HOME}/coding?code={soup.id}").text
    assert "post 0" in under
    merged = post(client, f"{HOME}/coding/codes/{stew.id}", {"into": soup.id}, page=f"{HOME}/coding")
    assert merged.status_code == 303
    taken = {"post": "p/0", "code": soup.id}
    assert post(other, f"{HOME}/coding/posts", taken, page=f"{HOME}/coding").status_code == 303
    assert team.as_("contact").get(f"{HOME}/coding").status_code == 403
    away = {"post": "p/1", "name": "Soup", "back": "https://evil.example/"}
    assert post(client, f"{HOME}/coding/posts", away, page=f"{HOME}/coding").headers["location"].startswith(HOME)


def test_every_page_is_there_in_german_and_every_field_has_a_label(team):
    with team.store.write() as db:
        for name in ("manager", "contact"):
            users.set_language(db, team.people[name].id, "de", by="shell")
        projects.close(db, "pilot", by="shell")
        check_ins.add(db, "pilot", team.people["annotator"].id, mood=3)
    work(team, "manager", 3)
    with team.store.write() as db:
        messages.ask(db, "pilot", "Wie?", by=team.people["annotator"].id)
        members.set_roles(db, "pilot", team.people["manager"].id, ["manager", "wellbeing"], by="shell")
    client = team.as_("manager")
    for page in (*PAGES, "debrief"):
        html = client.get(f"{HOME}/{page}").text
        assert '<html lang="de">' in html, page
        for tag in re.findall(r"<(?:input|select|textarea)[^>]*>", html):
            if 'type="hidden"' in tag or 'role="switch"' in tag:
                continue
            name = re.search(r'\bid="([^"]+)"', tag)
            assert name, tag
            assert f'for="{name.group(1)}"' in html, tag
    assert "Vertrauensperson" in team.as_("contact").get(f"{HOME}/care").text


def test_survey_answers_are_joined_with_labels_only_where_a_person_allows_it(team, tmp_path):
    fields = {"q-clarity": "4", "q-better": "more soup"}
    post(team.as_("second"), f"{HOME}/survey", fields, page=f"{HOME}/survey")
    post(team.as_("annotator"), f"{HOME}/survey", {**fields, "link": "yes"}, page=f"{HOME}/survey")
    assert export_survey(team.store, "pilot", tmp_path / "survey.csv") == 1
    with team.store.read() as db:
        mine = members.get(db, "pilot", team.people["annotator"].id).pseudonym
    header, row = (tmp_path / "survey.csv").read_text().replace('"', "").strip().split("\n")
    assert header == "annotator,question,words,answer"
    assert row == f"{mine},clarity,The guidelines were clear.,4"
    assert "checked" in team.as_("annotator").get(f"{HOME}/survey").text.partition('id="link"')[2][:40]
    post(team.as_("annotator"), f"{HOME}/survey", fields, page=f"{HOME}/survey")
    assert export_survey(team.store, "pilot", tmp_path / "survey.csv") == 0
