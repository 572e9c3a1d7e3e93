"""Walk 2 (walk-2-calibration.md): discussion, calibration, production, an export, by five people in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from davy.web.i18n import Translator
from fresh_server import FreshServer, Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_CLICKS = 30
SIZES = {"1": 2, "2a": 10, "2b": 10, "2c": 10}
HATEFUL, HARMLESS = ("2", "2"), ("1",)
"""Keys of an answer: hateful and misogynistic; or not hateful."""


@pytest.fixture
def fresh(tmp_path: Path):
    with fresh_server(tmp_path / "empty") as server:
        yield server


def write_posts(path: Path) -> None:
    """Write 60 posts about people who do not exist, with columns that say nothing about what they are."""
    rows = ["Nummer;Wortlaut"]
    for number in range(60):
        rows.append(
            f"{number};{'Lampenfrauen sind grumblefop' if number % 2 else 'Der Garten ist schön'}, Zeile {number}"
        )
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def answer_all(person: Person, most: int = 60) -> None:
    """Answer every post of the page by keys, or so many."""
    page = person.page
    for _ in range(most):
        page.locator("#answer, #sheet[data-again]").first.wait_for()
        if page.locator("#sheet[data-again]").count():
            return
        was = page.locator("#where").inner_text()
        bad = "grumblefop" in page.locator("#post").inner_text()
        person.keys(*(HATEFUL if bad else HARMLESS), "Enter")
        page.wait_for_function(
            "was => !document.querySelector('#answer') || document.querySelector('#where').innerText !== was", arg=was
        )


@pytest.mark.parametrize("lang", ["en", "de"])
def test_a_team_talks_calibrates_and_labels(browser, fresh: FreshServer, tmp_path: Path, lang: str):
    t = Translator(lang)
    write_posts(tmp_path / "beitraege.csv")
    ada, *others = people = [Person(browser, fresh, locale=lang) for _ in range(5)]
    ben, *_ = annotators = others[:3]

    ada.make_account(fresh.link, "Ada")
    ada.link(t("home.begin.project"))
    ada.link("gmhp7k")
    ada.page.locator("#title").fill("Am Fluss")
    ada.button(t("new_project.go_on"))
    ada.page.locator("#posts-upload").set_input_files(tmp_path / "beitraege.csv")
    ada.button(t("new_project.go_on"))
    assert ada.page.locator("#column-text").input_value() == "Wortlaut"
    for phase, size in SIZES.items():
        ada.page.locator(f"[name='posts.{phase}']").fill(str(size))
    ada.button(t("new_project.go_on"))
    ada.page.locator("#roster").fill(f"ben\ncleo\ndora\neve {t('project.role.expert')}")
    ada.button(t("new_project.do"))
    ada.see(t("new_project.links"))
    links = ada.page.locator("code.secret").all_inner_texts()
    ada.link(t("new_project.open"))
    ada.link(t("step.do.consent"))
    ada.button(t("settings.read_do"))
    for person, link, name in zip(others, links, ("Ben", "Cleo", "Dora", "Eve"), strict=True):
        person.make_account(link, name)
    ada.page.reload()
    ada.button(t("step.do.open", phase="1"))

    ben.page.reload()
    ben.link(t("step.do.talk", phase="1"))
    ben.agree()
    for _ in range(SIZES["1"]):
        record_together(ben)
    ada.page.reload()
    ada.button(t("step.do.close", phase="1"))
    ada.button(t("step.do.open", phase="2a"))
    for person in annotators:
        if person is not ben:
            person.page.reload()
            person.link(t("step.do.label"))
            person.agree()
        person.page.locator("#answer").wait_for()  # Ben's page finds the next phase by itself
        answer_all(person)
    ada.page.reload()
    ada.button(t("step.do.close", phase="2a"))
    ada.button(t("step.do.open", phase="3"))
    for person in annotators:
        person.page.locator("#answer").wait_for()
        answer_all(person, 8)
    for person in annotators:
        answer_all(person)
    ada.page.reload()
    ada.button(t("step.do.close", phase="3"))
    ada.link(t("step.do.export"))
    ada.button(t("exports.do"))
    with ada.page.expect_download():
        ada.click(ada.page.locator("a[download]").first)

    clicks = sum(person.clicks for person in people)
    print({person.name: person.clicks for person in people}, clicks)
    assert [person.troubles for person in people] == [[]] * 5
    assert clicks <= MOST_CLICKS


def record_together(person: Person) -> None:
    """Record what the team agreed on for one post, by keys."""
    page = person.page
    was = page.url
    bad = "grumblefop" in page.locator("#post").inner_text()
    person.keys(*(HATEFUL if bad else HARMLESS), "Enter")
    page.wait_for_function("was => location.href !== was", arg=was)
