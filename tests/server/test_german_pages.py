"""Every page in English and in German: a sentence that is the same in both was not translated."""

from __future__ import annotations

import html
import re

from test_routes import lines

from davy.people.store import users
from two_projects import fill_rooms

WRITTEN_FOR_PROGRAMS = ("/api",)
IN_BOTH_LANGUAGES = ("/projects/{project_id}/settings",)
"""Pages whose forms hold each text in both languages."""
OURS = (
    *("Real Name of", "Notes from Mill Valley", "the lamp of", "Kind notes", "another of p", "no · yes"),
    *("Test cases with emoji", "manager of q"),
)
"""How texts begin that people of these tests wrote."""
HIDDEN = re.compile(r"<(script|style|time|code|pre|textarea|svg|select)\b[^>]*>.*?</\1>|<[^>]+>", re.DOTALL)
ENGLISH = re.compile(r"\b(the|is|are|was|of|and|to|not|no|but|for|with|a|an|it|has|have|must|by|from)\b", re.IGNORECASE)


def sentences(page: str) -> set[str]:
    """Return what a page's main part shows, as texts of at least three words that may be English."""
    body = page.partition("<main")[2].partition("</main>")[0]
    texts = (" ".join(html.unescape(part).split()) for part in HIDDEN.sub("\0", f"<main{body}").split("\0"))
    return {text for text in texts if len(text.split()) > 2 and ENGLISH.search(text)}


def address_of(path: str, values: dict[str, str]) -> str:
    """Return where a route leads in the projects of this test."""
    own = {name.rpartition(" ")[2]: value for name, value in values.items() if name.startswith(f"{path} ")}
    known = {**values, **own}
    return re.sub(r"{(\w+)(:path)?}", lambda part: str(known.get(part[1], part[0])), path)


def test_no_sentence_is_the_same_in_english_and_in_german(site):
    values = fill_rooms(site)
    untranslated, compared = set(), 0
    for who in ("admin", "manager"):
        client = site.as_(who)
        for method, path, _ in lines():
            if method != "GET" or path in IN_BOTH_LANGUAGES or path.startswith(WRITTEN_FOR_PROGRAMS):
                continue
            address = address_of(path, values)
            shown = []
            for lang in ("en", "de"):
                with site.store.write() as db:
                    users.set_language(db, site.people[who].id, lang, by="shell")
                page = client.get(address)
                is_page = page.status_code == 200 and page.headers["content-type"].startswith("text/html")
                shown.append(sentences(page.text) if is_page else set())
            compared += bool(shown[0])
            untranslated |= {(path, text) for text in shown[0] & shown[1] if not text.startswith(OURS)}
    assert compared > 60
    assert untranslated == set()
