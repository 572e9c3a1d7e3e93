"""Three people, an expert and a manager go through a round in a real Chromium, and look at its pages in every form."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from browser_tab import PHONE, fits, open_tab
from davy.annotation.labelling import labelling
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, messages, projects
from davy.jobs.kinds import job_functions
from davy.jobs.worker import JobWorker
from davy.people.store import users
from davy.rounds import entries as entering
from davy.rounds.jobs import CLOSE_ROUND
from davy.rounds.round import TargetPrediction
from davy.rounds.store import entries, rounds
from davy.store.columns import new_id
from davy.text.lexicons.read import Lexicon

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESKTOP = {"width": 1280, "height": 900}
DUEL = "/projects/duel"
TEAM = {"mo": "manager", "ada": "annotator", "bo": "annotator", "cy": "annotator", "eve": "expert"}

Open = Callable[..., Any]


@pytest.fixture
def as_(browser, live) -> Iterator[Open]:
    """Open a tab as somebody of the project; the test fails when a console shows an error or a policy blocks."""
    troubles: list[str] = []
    with live.site.store.write() as db:
        plan = project_file.parse_plan(b"name: duel\npreset: rounds\n", "rounds.yaml")
        project_creation.create_project(db, plan, by="shell")
        for login, role in TEAM.items():
            user = users.add(db, login=login, name=f"{login} person", role="annotator", by="shell")
            members.add(db, "duel", user.id, [role], by="shell")
            members.consent(db, "duel", user.id)
    object.__setattr__(live.site.app.state.context, "lexicon", Lexicon.of("grumblefops"))

    def open_as(login: str, **options: Any) -> Any:
        return open_tab(browser, live, troubles, login, **{"viewport": DESKTOP, **options})

    yield open_as
    assert troubles == []


def say(page: Any, label: str, kind: str = "", target: str = "") -> None:
    """Answer the questions of a form; those beneath come up when the first is answered."""
    page.locator(f'input[name="answer.hate"][value="{label}"]').check(force=True)
    if kind:
        page.locator(f'input[name="answer.type"][value="{kind}"]').check(force=True)
        page.locator(f'input[name="answer.target"][value="{target}"]').check(force=True)


def enter(page: Any, text: str, emoji: str, *answers: str) -> None:
    """Write a text with an emoji from the picker, say what it is, and ask the target."""
    page.goto(f"{DUEL}/rounds/1/enter")
    page.locator("#text").fill(text)
    page.get_by_role("button", name="Add an emoji").click()
    page.locator(".emoji-grid button").first.wait_for()  # the list of emoji is there
    page.get_by_role("searchbox").fill(emoji)
    page.get_by_role("searchbox").press("Enter")
    page.keyboard.press("Escape")
    say(page, *answers)
    page.locator("#answer button.primary").click()
    page.locator(".verdict-card").wait_for()


def validate(page: Any, *answers: str) -> str:
    """Label the next entry of others; return what was shown."""
    page.goto(f"{DUEL}/label")
    page.locator("#answer").wait_for()
    shown = page.locator("#post").inner_text()
    say(page, *answers)
    page.locator('#answer button[value="save"]').click()
    page.locator("#answer").wait_for(state="detached")
    return shown


def settle(page: Any, label: str, kind: str = "", target: str = "") -> None:
    """Decide the next case as the expert."""
    page.goto(f"{DUEL}/expert")
    page.get_by_role("button", name="Settle the next case").click()
    page.locator("#answer").wait_for()
    say(page, label, kind, target)
    page.locator('textarea[name="reason"]').fill("The face turns a neutral sentence against women.")
    page.locator('#answer button[value="save"], #answer button.primary').first.click()
    page.wait_for_load_state()


def test_three_people_take_a_text_from_an_emoji_to_a_confirmed_pair(live, as_):
    manager = as_("mo")
    manager.goto(f"{DUEL}/rounds")
    manager.locator("#name").fill("First emoji")
    manager.get_by_role("button", name="Open the round").click()
    manager.get_by_role("heading", name="First emoji").wait_for()

    ada, bo, cy, eve = as_("ada"), as_("bo"), as_("cy"), as_("eve")
    enter(ada, "My new manager is a woman ", "nauseated face", "hateful", "animosity", "women")
    assert "You fooled the target." in ada.locator(".verdict-card").inner_text()
    assert "🤢" in ada.locator(".verdict-card").inner_text()

    shown = validate(bo, "hateful", "animosity", "women")
    assert "My new manager is a woman 🤢" in shown
    assert "fooled" not in shown.lower(), "they label blind"
    validate(cy, "not hateful")
    settle(eve, "hateful")
    entry = only_entry(live, "original")
    assert (entry.confirmed, entry.settled) == (True, "hateful")

    bo.goto(f"{DUEL}/rounds/1")
    bo.get_by_role("link", name="Write the contrast").first.click()
    bo.locator("#change-emoji").check()
    bo.locator("fieldset.swaps button").first.click()
    bo.locator("#text").wait_for()
    changed = bo.locator("#text").input_value()
    assert changed.startswith("My new manager is a woman ")
    assert not changed.endswith("🤢")
    say(bo, "not hateful")
    bo.locator('#answer button[value="save"]').click()
    bo.get_by_text("has its contrast").wait_for()
    validate(ada, "not hateful")
    validate(cy, "not hateful")
    contrast = only_entry(live, "contrast")
    assert (contrast.parent, contrast.change, contrast.settled) == (entry.id, "emoji", "not hateful")

    # Five more pairs, so that there is something to learn from; then the round closes and the next one opens.
    for number in range(5):
        fill_pair(live, number)
    manager.goto(f"{DUEL}/rounds/1")
    manager.get_by_role("link", name="Close the round").click()
    worker = JobWorker(
        live.site.store,
        {CLOSE_ROUND: job_functions(long=True)[CLOSE_ROUND]},
        files=live.site.settings.files_folder,
        poll_seconds=0.05,
    )
    with worker:
        manager.locator("form.card button.primary").click()
        until = time.monotonic() + 120
        while first_round(live).state != "closed" and time.monotonic() < until:
            time.sleep(0.5)
        manager.goto(f"{DUEL}/rounds/1/close")
        manager.get_by_text("The next target:").wait_for()
    closed = first_round(live)
    assert closed.state == "closed"
    manager.goto(f"{DUEL}/rounds")
    for box in manager.locator('input[name="target"]').all():
        box.set_checked(box.get_attribute("value") == closed.outcome["target"])
    # Measured on few posts, and worse on them than its predecessor: both take a tick.
    for tick in manager.locator("#few, #worse").all():
        tick.check()
    manager.locator("#name").fill("Second")
    manager.get_by_role("button", name="Open the round").click()
    manager.get_by_role("heading", name="Second").wait_for()
    assert closed.outcome["target"] in manager.locator("main").inner_text()

    # Every page of the round on a phone, in the dark, with a message unread.
    with live.site.store.write() as db:
        messages.announce(db, "duel", "Round 1 is open.", by=users.find(db, "mo").id)
    phones = {"viewport": PHONE, "color_scheme": "dark"}
    for login, paths in {"mo": ("", "/1"), "ada": ("", "/1", "/1/enter")}.items():
        page = as_(login, **phones)
        for path in paths:
            page.goto(f"{DUEL}/rounds{path}")
            assert fits(page), (login, path)


def first_round(live: Any) -> Any:
    with live.site.store.read() as db:
        return rounds.of_project(db, "duel")[0]


def fill_pair(live: Any, number: int) -> None:
    """Let people enter and confirm an original and its contrast, through the functions that pages use."""
    scene = (
        "The lamp by the old mill belongs to",
        "Across the river lives, with seven goats,",
        "Nobody waters our garden as well as",
        "The late ferry was steered by",
        "I got this kettle as a present from",
    )[number]
    hateful = {"hate": ("hateful",), "type": ("animosity",), "target": ("women",)}
    harmless = {"hate": ("not hateful",)}
    round_ = first_round(live)
    with live.site.store.write() as db:
        project, scheme = projects.get(db, "duel"), scheme_of(db, projects.get(db, "duel"))
        team = {login: members.get(db, "duel", users.find(db, login).id) for login in ("ada", "bo", "cy")}
        original = None
        for author, face, answers in (("ada", "🤮", hateful), ("bo", "🎉", harmless)):
            made = entering.enter(
                db,
                round_,
                scheme,
                entry_id=new_id(),
                author=team[author].user,
                text=f"{scene} a woman {face}",
                answers=answers,
                predictions=[TargetPrediction(round_.targets[0], "not hateful", 0.1)],
                original=original,
                change="emoji" if original else None,
            )
            for login in ("ada", "bo", "cy"):
                if login != author:
                    sheet = labelling.next_sheet(db, project, team[login])
                    labelling.save(db, sheet, answers, annotation_id=new_id())
            original = entries.get_text(db, "duel", made.id)


def only_entry(live: Any, which: str) -> Any:
    with live.site.store.read() as db:
        rows = entries.of_round(db, rounds.of_project(db, "duel")[0].id)
    (entry,) = [row.entry for row in rows if row.entry.set == which]
    return entry
