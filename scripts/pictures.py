"""Take the README's pictures again: the demo in a real Chromium, into docs/pictures/.

Run it after a page's look has changed: python scripts/pictures.py
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
CHROMIUM = "/usr/bin/chromium"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
LARGEST = 150_000
TEXT = "Women at the town meeting talk and talk and never say one thing worth hearing."
GERMAN = "Weiber gehören nicht in die Feuerwehr, die heulen beim ersten Funken."


@contextmanager
def demo() -> Iterator[str]:
    """Serve the demo on a free port and yield its address."""
    command = [sys.executable, "-m", "davy", "serve", "--demo", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        if not found:
            raise SystemExit("davy serve --demo did not start")
        yield found.group()
    finally:
        server.terminate()
        server.wait(20)


def opened(browser: Browser, url: str, role: str, **options: Any) -> Page:
    """Return a tab that is signed in with a role of the demo."""
    page = browser.new_context(base_url=url, **options).new_page()
    page.set_default_timeout(90_000)
    page.goto("/sign-in")
    page.locator("table button").nth(["admin", "expert", "annotator"].index(role)).click()
    page.wait_for_url(f"{url}/", timeout=90_000)
    return page


def score(page: Page, text: str) -> None:
    """Score a text on its page and wait for the result."""
    page.goto("/score")
    page.fill("#text", text)
    page.locator("#explain").check()
    page.locator("form.score button.primary").click()
    page.locator("#result .card").first.wait_for()
    page.evaluate("document.activeElement.blur()")
    page.evaluate("document.querySelector('#text').scrollIntoView()")
    page.mouse.move(0, 0)


def save(page: Page, name: str, **options: Any) -> None:
    """Save a picture with few colours, so that the repository stays small."""
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path, **options)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}  {size:,} bytes")
    if size > LARGEST:
        raise SystemExit(f"{path} is larger than {LARGEST:,} bytes")


def take(browser: Browser, url: str) -> None:
    """Take every picture."""
    desktop: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "locale": "en", "color_scheme": "light"}
    page = opened(browser, url, "admin", **desktop)
    save(page, "home")
    page.goto("/posts?kind=meme")
    page.locator(".picture img").last.wait_for()
    page.wait_for_load_state("networkidle")
    page.get_by_role("switch").nth(1).check()
    save(page, "memes")
    page.goto("/people")
    page.fill("#login", "ada@example.org")
    page.locator("form.card button.primary").click()
    page.locator("#invitation-link").wait_for()
    # The address of this run means nothing to a reader.
    page.locator("#invitation-link").evaluate("it => it.textContent = 'https://davy.example.org/invitation/gXk4…'")
    save(page, "people")

    page.goto("/challenges/lamp-cup/board")
    save(page, "board")
    tall(browser, url, desktop)
    settle(browser, url, desktop)  # before the expert's account speaks German
    enter(browser, url, desktop)

    dark = opened(
        browser, url, "expert", **{**desktop, "color_scheme": "dark", "viewport": {"width": 1280, "height": 1180}}
    )
    dark.locator("footer button[value=de]").click()
    dark.wait_for_load_state()
    score(dark, GERMAN)
    save(dark, "score-german-dark")

    phone = opened(browser, url, "annotator", viewport={"width": 390, "height": 844}, locale="en", color_scheme="light")
    phone.goto("/posts?label=hateful")
    save(phone, "posts-phone")
    label(browser, url, desktop)
    memes(browser, url, desktop)


def tall(browser: Browser, url: str, desktop: dict[str, Any]) -> None:
    """Take the pages whose best part is further down: a scored text, a project's progress, a calibration, a check."""
    page = opened(browser, url, "admin", **{**desktop, "viewport": {"width": 1280, "height": 1180}})
    score(page, TEXT)
    save(page, "score")
    page.goto("/projects/mill-valley/watch")
    save(page, "watching")
    page.goto("/projects/am-fluss/phases/2a")
    save(page, "calibration")
    check(page)


def check(page: Page) -> None:
    """Take the report of the check that the demo ran."""
    page.goto("/projects/mill-valley/train/runs")
    page.locator("table").get_by_role("link", name="Check").first.click()
    page.wait_for_url("**/train/runs/*")
    save(page, "check")


def settle(browser: Browser, url: str, desktop: dict[str, Any]) -> None:
    """Take a case before the expert: what three people answered, under letters, and what she has chosen so far."""
    page = opened(browser, url, "expert", **{**desktop, "viewport": {"width": 1280, "height": 1000}})
    page.goto("/projects/mill-valley/expert")
    page.get_by_role("button", name="Settle the next case").click()
    page.locator("#post").wait_for()
    save(page, "adjudication")


def memes(browser: Browser, url: str, desktop: dict[str, Any]) -> None:
    """Take the pages on which memes are filtered, built, confounded and shown with their kinds."""
    page = opened(browser, url, "annotator", **desktop)
    page.goto("/projects/valley-memes/consent")
    page.locator("#agree").check()
    page.locator("form.card button.primary").click()
    for name, path in (("filter", "filter"), ("build", "build"), ("confound", "confound")):
        page.goto(f"/projects/valley-memes/memes/{path}")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
        save(page, f"meme-{name}")
    dark = {**desktop, "color_scheme": "dark"}
    for name, options in (("families", {**desktop, "viewport": {"width": 1280, "height": 1400}}), ("figures", dark)):
        page = opened(browser, url, "admin", **options)
        page.goto(f"/projects/valley-memes/memes/{name}")
        if name == "families":
            page.goto("/projects/valley-memes/memes/families?kind=multimodal hate")
        page.wait_for_load_state("networkidle")
        for switch in page.locator(".family [data-picture]").all():
            switch.check()
        page.wait_for_load_state("networkidle")
        save(page, f"meme-{name}")
    phone = opened(browser, url, "annotator", viewport={"width": 390, "height": 844}, locale="en", color_scheme="dark")
    phone.goto("/projects/valley-memes/memes/build")
    phone.wait_for_load_state("networkidle")
    phone.wait_for_timeout(500)
    save(phone, "meme-build-phone-dark")


def enter(browser: Browser, url: str, desktop: dict[str, Any]) -> None:
    """Take the page of a round where somebody has just tried a text on the target."""
    page = opened(browser, url, "annotator", **desktop)
    page.goto("/projects/emoji-duel/consent")
    page.locator("#agree").check()
    page.locator("form.card button.primary").click()
    page.goto("/projects/emoji-duel/rounds/2/enter")
    save(page, "round")


def label(browser: Browser, url: str, desktop: dict[str, Any]) -> None:
    """Take the labelling page: a post with masked words, answered half, and the same on a phone in the dark."""
    page = opened(browser, url, "annotator", **desktop)
    page.goto("/projects/mill-valley/consent")
    page.locator("#agree").check()
    page.locator("form.card button.primary").click()
    page.locator("#answer").wait_for()
    while not page.locator(".masked-text").count():
        path = page.locator("#sheet").get_attribute("data-path")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.wait_for_function("was => document.querySelector('#sheet').dataset.path !== was", arg=path)
    page.keyboard.press("2")
    save(page, "labelling")
    phone = opened(browser, url, "annotator", viewport={"width": 390, "height": 844}, locale="en", color_scheme="dark")
    phone.goto("/projects/mill-valley/label")
    phone.locator("#answer").wait_for()
    save(phone, "labelling-phone-dark")


def main() -> None:
    """Start the demo and a browser, and take every picture."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with demo() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        take(browser, url)
        browser.close()


if __name__ == "__main__":
    main()
