"""Tabs of a real Chromium on a live server, with somebody signed in; what their consoles complain of is noted.

They wait as long as Playwright does by itself, half a minute: a loaded machine needs it, and a quiet one never waits.
"""

from __future__ import annotations

from typing import Any

from davy.people.store import sessions, users

PHONE = {"width": 390, "height": 844}
"""The size of a common phone's screen."""


def open_tab(browser: Any, live: Any, troubles: list[str], login: str | None = None, **options: Any) -> Any:
    """Return a tab in a new browser context, of somebody signed in where a login is named."""
    context = browser.new_context(base_url=live.url, **{"locale": "en", **options})
    if login:
        with live.site.store.write() as db:
            _, token = sessions.start(db, users.find(db, login).id)
        context.add_cookies([{"name": "davy-session", "value": token, "url": live.url}])
    return another_tab(context, troubles)


def another_tab(context: Any, troubles: list[str]) -> Any:
    """Return one more tab of a context."""
    page = context.new_page()
    page.on("console", lambda it: troubles.append(it.text) if it.type in ("error", "warning") else None)
    page.on("pageerror", lambda it: troubles.append(str(it)))
    return page


def fits(page: Any) -> bool:
    """Return whether nothing sticks out sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
