"""Self-contained pages, read as text and opened in a real browser."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from davy.core import Metric, Report, UserError
from davy.report import Column, Page, Provenance, Table, plots
from davy.text.lexicons import LexiconEntry, load


def a_listed_word() -> str:
    """A mild word from the shipped lexicon, so that none is written here."""
    return next(entry.term for entry in load("de") if _simple(entry))


def _simple(entry: LexiconEntry) -> bool:
    return entry.kind == "insult" and entry.mode == "word" and entry.term.isascii() and entry.term.isalpha()


def a_page() -> Page:
    page = Page(
        "A <report>",
        lead="With & without.",
        provenance=Provenance("sha256:abc", "model 1", 7, "davy check x", datetime(2026, 1, 2, tzinfo=UTC)),
    )
    page.section("Figures", "Some words <script>alert(1)</script>.")
    page.metrics(Report("Overall", (Metric("accuracy", 0.9, 10, 0.8, 1.0),), "d", "m", datetime.now(UTC)))
    page.plot(plots.bars([Metric("x", 0.5, 3, 0.2, 0.8)]), "A bar.")
    page.section("Figures", "The same title again.")
    page.table(Table.of([Column("text", "text")], [(f"you {a_listed_word()} <img src=x onerror=alert(1)> 👩‍🚀",)]))
    page.markdown("**bold** <b>no</b> [x](javascript:alert(1)) ![i](http://example.org/i.png)")
    return page


def test_a_page_asks_for_nothing_and_escapes_everything() -> None:
    html = a_page().html()
    assert html.count("<script>") == 1  # ours, allowed by its hash
    assert "<img src=x" not in html
    loaded = re.sub(r'<a href="http[^"]*"', "", html)  # links go somewhere only when somebody follows them
    assert not re.search(r'(?:src|href)="(?!data:|#)', loaded)
    assert "default-src 'none'" in html
    assert 'href="#figures"' in html
    assert 'id="figures-"' in html
    for value in ("sha256:abc", "model 1", ">7<", "davy check x", "2026-01-02 00:00 UTC"):
        assert value in html


def test_texts_are_masked_and_announced_by_a_warning() -> None:
    html = a_page().html()
    assert html.index("This page shows hateful texts") < html.index("<main>")
    shown = re.sub(r"<[^>]*>", "", html)
    assert a_listed_word() not in shown
    assert "hateful texts" not in Page("Figures only").html()
    assert "hasserfüllte" in Page("Bericht", lang="de", texts=True).html()


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = a_page().write(tmp_path / "report.html")
    assert path.read_text("utf-8").endswith("</html>\n")
    assert [found.name for found in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(UserError, match="does not exist"):
        a_page().write(tmp_path / "none" / "report.html")
    Page("lone \ud800 surrogate").write(tmp_path / "odd.html")


@pytest.mark.browser
def test_in_a_browser_words_show_by_key_and_nothing_is_fetched_or_refused(browser: Any, tmp_path: Path) -> None:
    path = a_page().write(tmp_path / "report.html")
    page = browser.new_page(viewport={"width": 390, "height": 800})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    word = page.locator(".veiled").first
    assert "*" in word.inner_text()
    word.focus()
    page.keyboard.press("Enter")
    assert word.inner_text() == a_listed_word()
    page.keyboard.press("Space")
    assert "*" in word.inner_text()
    page.locator("#show-all").click()
    assert page.locator("#show-all").inner_text() == "Mask all words"
    assert word.inner_text() == a_listed_word()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert said == []
    # Nothing is wider than a phone but what scrolls on its own.
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
def test_in_a_browser_dark_and_paper_choose_their_own_pictures(browser: Any, tmp_path: Path) -> None:
    path = a_page().write(tmp_path / "report.html")
    page = browser.new_page(color_scheme="dark")
    page.goto(path.as_uri())
    assert page.locator("img.dark-only").is_visible()
    assert not page.locator("img.light-only").is_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(21, 21, 20)"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("img.light-only").is_visible()
    assert not page.locator("nav.contents").is_visible()
