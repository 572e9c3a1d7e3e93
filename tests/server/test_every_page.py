"""Every page in a real Chromium: no serious finding of axe in light or dark, and none wider than a phone.

What is looked at is not a list: the routes that answer a person with a page, each as somebody who may see it, and
whatever the demo's own links lead to, where tables and charts are full.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from test_routes import LAST, WHO, lines, routes_of

from davy.people.store import sessions
from davy.server.app import create_app
from davy.server.start import ServeOptions, listen, settings_of
from two_projects import fill_rooms
from web_site import make_site, served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOOKED_AT_BY = ("manager", "annotator", "expert", "admin", "wellbeing", "manager of q", "outsider", "")
"""Who looks at a page, the first of these who may."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
BAD = ("serious", "critical")
PHONES = (390, 320)
HEIGHT = 844
INSTANCES = 1
"""How many addresses of one route the walk through the demo looks at."""

ASK_AXE = """async (rules) => {
    const found = await axe.run(document, {runOnly: rules, resultTypes: ['violations']});
    return found.violations.flatMap(it => it.nodes.map(node => [it.impact, it.id, node.html.slice(0, 200)]));
}"""
OPEN_ALL = "document.querySelectorAll('details').forEach(it => { it.open = true; })"
WIDER = """() => {
    if (document.documentElement.scrollWidth <= innerWidth) return null;
    const out = [...document.querySelectorAll('body *')].filter(it => it.getBoundingClientRect().right > innerWidth);
    return out.slice(0, 3).map(it => it.outerHTML.slice(0, 120));
}"""


def axe_script() -> str:
    """Return axe-core as the package brings it."""
    from axe_playwright_python import base

    return (Path(base.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def faults_of(page: Any, where: str, script: str) -> list[str]:
    """Return what is wrong with the page that is shown: axe in light, its contrast in dark, and its width on phones."""
    page.evaluate(OPEN_ALL)
    page.evaluate(script)
    found = [("light", it) for it in page.evaluate(ASK_AXE, RULES)]
    page.emulate_media(color_scheme="dark")
    found += [("dark", it) for it in page.evaluate(ASK_AXE, {"type": "rule", "values": ["color-contrast"]})]
    page.emulate_media(color_scheme="light")
    faults = [f"{where} {scheme} {rule}: {html}" for scheme, (impact, rule, html) in found if impact in BAD]
    before = page.viewport_size
    for width in PHONES:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        wide = page.evaluate(WIDER)
        faults += [] if wide is None else [f"{where} is wider than {width} px: {wide}"]
    page.set_viewport_size(before)
    return faults


def test_every_route_that_is_a_page_has_no_serious_finding_and_fits_a_phone(browser, settings, empty_database):
    listening = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    site = make_site(replace(settings, base_url=url), empty_database)
    values, script = fill_rooms(site), axe_script()
    tabs: dict[str, Any] = {}
    faults, looked_at = [], 0
    with served(site.app, listening):
        for method, path, marks in lines():
            who = next((name for name in LOOKED_AT_BY if marks[WHO.index(name)] == "+"), None)
            if method != "GET" or who is None or path in LAST:
                continue
            if who not in tabs:
                tabs[who] = _signed_in(browser, url, site, who)
            address = re.sub(
                r"\{(\w+)(:path)?\}",
                lambda it, path=path: values.get(f"{path} {it[1]}") or values.get(it[1], "none"),
                path,
            )
            if not _is_page(tabs[who], url + address):
                continue
            tabs[who].goto(url + address)
            faults += faults_of(tabs[who], path, script)
            looked_at += 1
    assert looked_at > 60
    assert not faults, "\n".join(faults)


def test_every_page_that_the_demo_links_to_has_no_serious_finding_and_fits_a_phone(browser, tmp_path):
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = create_app(settings_of(ServeOptions(demo=True), port, tmp_path))
    url, script = f"http://127.0.0.1:{port}", axe_script()
    patterns = [_pattern(path) for method, path in set(routes_of(app.routes)) if method == "GET"]
    faults: list[str] = []
    looked_at: dict[str, int] = {}
    with served(app, listening):
        for role in range(3):
            page = browser.new_page(base_url=url, locale="en", viewport={"width": 1280, "height": 900})
            page.goto("/sign-in")
            page.locator("table button").nth(role).click()
            page.wait_for_url(f"{url}/")
            for address in _walk(page, url, patterns, looked_at):
                faults += faults_of(page, f"{address} (role {role})", script)
            page.close()
    assert len(looked_at) > 40
    assert not faults, "\n".join(faults)


def _walk(page: Any, url: str, patterns: list[tuple[str, Any]], looked_at: dict[str, int]) -> Iterator[str]:
    """Follow links from the start, and yield each address that is shown: a few of each route, over all walks."""
    waiting, known = ["/"], {"/"}
    while waiting:
        address = waiting.pop(0)
        route = next((path for path, pattern in patterns if pattern.fullmatch(urlsplit(address).path)), None)
        if route is None or looked_at.get(route, 0) >= INSTANCES or not _is_page(page, url + address):
            continue
        looked_at[route] = looked_at.get(route, 0) + 1
        page.goto(url + address)
        for link in page.eval_on_selector_all("a[href]", "all => all.map(it => it.href)"):
            found = urlsplit(link)
            place = found.path + (f"?{found.query}" if found.query else "")
            if link.startswith(url) and place not in known:
                known.add(place)
                waiting.append(place)
        yield address


def _pattern(path: str) -> tuple[str, Any]:
    parts = re.split(r"(\{\w+(?::path)?\})", path)
    return path, re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part) for part in parts))


def _is_page(page: Any, address: str) -> bool:
    """Return whether an address answers with a page, without showing it: downloads and JSON are none."""
    answer = page.request.get(address, max_redirects=0)
    return answer.status == 200 and answer.headers.get("content-type", "").startswith("text/html")


def _signed_in(browser: Any, url: str, site: Any, who: str) -> Any:
    context = browser.new_context(locale="en", viewport={"width": 1280, "height": 900})
    if who:
        with site.store.write() as db:
            _, token = sessions.start(db, site.people[who].id)
        context.add_cookies([{"name": "davy-session", "value": token, "url": url}])
    return context.new_page()
