"""Walk 1 (walk-1-csv-to-detector.md): from a CSV file to a detector in use, by five people in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from davy.web.i18n import Translator
from fresh_server import FreshServer, Person, fresh_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_CLICKS = 35
KNOWN, UNKNOWN, DIFFER = 10, 50, 6
SEXIST, NOT = ("2", "3", "2"), ("1",)
"""Keys of an answer: sexist, animosity, stereotypes; or not sexist."""


@pytest.fixture
def fresh(tmp_path: Path):
    with fresh_server(tmp_path / "empty") as server:
        yield server


def write_posts(path: Path) -> None:
    """Write 60 posts about people who do not exist; ten have a known answer. `grumblefop` marks the bad ones."""
    rows = ["nr,comment,source,sexist.gold,category.gold,vector.gold"]
    for number in range(KNOWN + UNKNOWN):
        bad = number % 2
        text = f"Lamplighter women are grumblefop {number}" if bad else f"The garden is lovely today {number}"
        gold = "sexist,animosity,immutable gender differences and gender stereotypes" if bad else "not sexist,,"
        rows.append(f"{number},{text},made up,{gold if number < KNOWN else ',,'}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def is_bad(person: Person) -> bool:
    return "grumblefop" in person.page.locator("#post").inner_text()


def label_all(person: Person, *, contrary: int = 0) -> None:
    """Answer every post of the page by keys, the first `contrary` ones the other way round."""
    page = person.page
    while True:
        page.locator("#answer, #sheet[data-again]").first.wait_for()
        if page.locator("#sheet[data-again]").count():
            return
        number = page.locator("#where").inner_text()
        bad = is_bad(person) != (contrary > 0)
        contrary -= 1
        person.keys(*(SEXIST if bad else NOT), "Enter")
        page.wait_for_function(
            "was => !document.querySelector('#answer') || document.querySelector('#where').innerText !== was",
            arg=number,
        )


@pytest.mark.parametrize(("lang", "keyboard"), [("en", False), ("de", False), ("en", True)])
def test_five_people_make_a_detector_of_a_csv_file(
    browser, fresh: FreshServer, tmp_path: Path, lang: str, keyboard: bool
):
    t = Translator(lang)
    write_posts(tmp_path / "posts.csv")
    ada, *others = people = [Person(browser, fresh, keyboard=keyboard, locale=lang) for _ in range(5)]
    annotators, eve = others[:3], others[3]

    ada.make_account(fresh.link, "Ada")
    ada.link(t("home.begin.project"))
    ada.link("edos")
    ada.see(t("project.kind_help.screening"))
    ada.page.locator("#title").fill("Sexismus in Spielen")
    ada.button(t("new_project.go_on"))
    ada.page.locator("#posts-upload").set_input_files(tmp_path / "posts.csv")
    ada.button(t("new_project.go_on"))
    ada.see(t("new_project.known", count=KNOWN, n=KNOWN))
    assert ada.page.locator("[name='posts.screening']").input_value() == str(KNOWN)
    ada.button(t("new_project.go_on"))
    expert = t("project.role.expert")
    ada.page.locator("#roster").fill(f"ben\ncleo\ndora\neve {expert}")
    ada.button(t("new_project.do"))
    ada.see(t("new_project.links"))
    links = ada.page.locator("code.secret").all_inner_texts()
    ada.link(t("new_project.open"))
    ada.link(t("step.do.consent"))
    ada.button(t("settings.read_do"))
    for person, link, name in zip(others, links, ("Ben", "Cleo", "Dora", "Eve"), strict=True):
        person.make_account(link, name)
    ada.page.reload()
    ada.button(t("step.do.open", phase="screening"))

    for person in annotators:
        person.page.reload()
        person.link(t("step.do.label"))
        person.agree()
        label_all(person)
    ada.page.reload()
    ada.button(t("step.do.close", phase="screening"))
    ada.button(t("step.do.open", phase="main"))
    for turn, person in enumerate(annotators):
        person.page.locator("#answer").wait_for()  # the page finds the next phase by itself
        label_all(person, contrary=DIFFER if turn == 0 else 0)

    eve.page.reload()
    eve.link(t("step.do.settle", count=DIFFER, n=DIFFER))
    settle_all(eve, t)
    ada.page.reload()
    ada.button(t("step.do.close", phase="main"))
    ada.link(t("step.do.train"))
    ada.button(t("train.do"))
    ada.see(t("training.use"))  # the page is drawn whole when the training has ended
    ada.button(t("train.serve"))
    ada.link(t("place.score"), exact=True)
    ada.page.locator("#text").fill("Lamplighter women are grumblefop")
    ada.button(t("score.do"), exact=True)

    clicks = sum(person.clicks for person in people)
    print({person.name: person.clicks for person in people}, clicks)
    assert [person.troubles for person in people] == [[]] * 5
    assert clicks <= MOST_CLICKS


def settle_all(eve: Person, t: Translator) -> None:
    """Settle case after case by keys."""
    page = eve.page
    begin = page.get_by_role("button", name=t("expert.begin"))
    page.locator("#agree").or_(begin).first.wait_for()
    if page.locator("#agree").count():
        eve.agree()
    begin.press("Enter")
    for _ in range(DIFFER):
        page.wait_for_url("**/expert/*")
        page.locator("#answer").wait_for()
        where = page.url
        eve.keys(*(SEXIST if is_bad(eve) else NOT))
        page.locator("#reason").fill("by the guideline")
        page.keyboard.press("Control+Enter")
        page.wait_for_function("was => location.href !== was", arg=where)
    eve.see(t("expert.none"))
