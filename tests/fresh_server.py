"""`davy serve` as its own process in an empty folder, with default settings but for the port, and people who click.

The link for the first admin is read from what the server prints. A `Person` is a tab of a real Chromium that counts
clicks; keys and typing are not counted.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PASSWORD = "four bright wicks"
MOST_TABS = 200
DESKTOP = {"width": 1280, "height": 900}


@dataclass
class FreshServer:
    """A server that nobody has used: where it is, its folder, and the link that it printed."""

    url: str
    folder: Path
    link: str


@contextmanager
def fresh_server(folder: Path) -> Iterator[FreshServer]:
    """Run `davy serve` in an empty folder while the block runs."""
    folder.mkdir(exist_ok=True)
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("DAVY_")}
    with (folder.parent / f"{folder.name}.log").open("w+", encoding="utf-8") as log:
        server = subprocess.Popen(
            [sys.executable, "-u", "-m", "davy", "serve", "--port", "0"],
            cwd=folder,
            env=surroundings,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert server.stdout is not None
            printed = ""
            for line in server.stdout:
                printed += line
                link = re.search(r"(http://127\.0\.0\.1:\d+)/invitation/\S+", printed)
                if link:
                    break
            else:
                log.seek(0)
                raise AssertionError(f"the server ended: {printed}{log.read()}")
            yield FreshServer(link[1], folder, link[0])
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)


class Person:
    """One tab whose clicks are counted. `troubles` collects what its console complains of.

    With `keyboard` nothing is clicked: Tab goes from one thing to the next, and Enter acts.
    """

    def __init__(self, browser: Any, server: FreshServer, *, keyboard: bool = False, **options: Any) -> None:
        self.keyboard = keyboard
        self.context = browser.new_context(base_url=server.url, **{"locale": "en", "viewport": DESKTOP, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.clicks = 0
        self.name = ""
        self.troubles: list[str] = []
        self.page.on("pageerror", lambda it: self.troubles.append(str(it)))

    def click(self, found: Any) -> None:
        """Click on something, once."""
        if self.keyboard:
            self.tab_to(found.first)
            found.first.press("Enter")
        else:
            found.first.click()
        self.page.wait_for_load_state()
        self.clicks += 1

    def tab_to(self, found: Any) -> None:
        """Press Tab until something has the focus, and its ring is drawn."""
        found.wait_for()
        for _ in range(MOST_TABS):
            if found.evaluate("it => it === document.activeElement"):
                assert found.evaluate("it => it.matches(':focus-visible')")
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{found} can't be reached by Tab")

    def button(self, name: str | re.Pattern[str], *, exact: bool = False) -> None:
        """Click on the button of this name."""
        self.click(self.page.get_by_role("button", name=name, exact=exact))

    def link(self, name: str | re.Pattern[str], *, exact: bool = False) -> None:
        """Click on the link of this name."""
        self.click(self.page.get_by_role("link", name=name, exact=exact))

    def keys(self, *pressed: str) -> None:
        """Press keys, one after the other."""
        for key in pressed:
            self.page.keyboard.press(key)

    def see(self, words: str) -> None:
        """Wait until these words are on the page."""
        self.page.get_by_text(words).first.wait_for()

    def agree(self) -> None:
        """Agree to the consent text by keys, and begin."""
        self.page.locator("#agree").press("Space")
        self.click(self.page.locator("main form.card button.primary"))

    def make_account(self, link: str, name: str) -> None:
        """Follow an invitation and make an account."""
        page = self.page
        self.name = name
        page.goto(link)
        page.locator("#name").fill(name)
        if page.locator("#login").count():  # an invitation may name the login
            page.locator("#login").fill(name.lower())
        page.locator("#password").fill(PASSWORD)
        page.locator("#again").fill(PASSWORD)
        self.click(page.locator("main form button.primary"))
