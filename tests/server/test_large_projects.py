"""Pages of a large project: what people choose is looked for in a part of it, and found in the end."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from davy.annotation.labelling.store import annotations
from davy.annotation.project.store import post_pages
from davy.annotation.settling.store import verdict_history
from grown_project import grown_site

SETTLED = 60


@pytest.fixture(params=[pytest.param("sqlite"), pytest.param("postgres", marks=pytest.mark.postgres)])
def grown(request, tmp_path: Path, monkeypatch):
    """Yield a site whose project has more posts, verdicts and answers than are looked at for one page."""
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "images"))
    monkeypatch.setattr(post_pages, "LOOKED_AT", 20)
    monkeypatch.setattr(verdict_history, "MOST_COUNTED", 20)
    monkeypatch.setattr(annotations, "SEARCHED", 20)
    url = (
        f"sqlite:///{tmp_path / 'davy.sqlite'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    with grown_site(url, tmp_path, n=100, settled=SETTLED) as (site, _):
        yield site


def pages(client, address: str) -> list[str]:
    """Return a page and all that its link leads on to."""
    found = []
    while address:
        found.append(client.get(address).text)
        link = re.search(r'class="pager"><a class="button" href="([^"]+)"', found[-1])
        path = address.partition("?")[0]
        address = "" if link is None else unescape(link[1]) if link[1].startswith("/") else path + unescape(link[1])
        assert len(found) < 30, "the pages have no end"
    return found


def numbers(shown: list[str]) -> list[int]:
    """Return the numbers of the posts that pages show, in their order, each once."""
    return list(dict.fromkeys(int(it) for page in shown for it in re.findall(r"never listen, number (\d+)", page)))


def test_posts_with_a_rare_property_are_found_a_part_at_a_time(grown):
    manager = grown.as_("manager")
    shown = pages(manager, "/posts?project=p&kind=meme")
    assert len(shown) == 6
    assert "None of the 20 posts looked at" in shown[1]
    assert "picture-49" in shown[2]
    hateful = pages(manager, "/posts?project=p&label=hateful")
    assert numbers(hateful) == [number for number in range(SETTLED) if number % 4 == 0]
    assert "or more" in hateful[0]


def test_verdicts_with_a_rare_basis_are_found_a_part_at_a_time(grown):
    shown = pages(grown.as_("manager"), "/projects/p/verdicts?question=hate&basis=expert")
    assert numbers(shown) == [number for number in reversed(range(SETTLED)) if number % 10 == 0]
    assert "The newest 20 verdicts" in shown[0]


def test_own_answers_are_searched_a_part_at_a_time(grown):
    shown = pages(grown.as_("annotator"), "/projects/p/mine/answers?q=number 7")
    assert numbers(shown) == [7]
    assert "None of the 20 answers looked at" in shown[0]
    assert numbers(pages(grown.as_("annotator"), "/projects/p/mine/answers")) == list(reversed(range(SETTLED)))


def test_languages_and_labels_to_choose_from_are_those_that_there_are(grown):
    shown = grown.as_("manager").get("/posts?project=p").text
    assert re.findall(r'<option value="(..)"', shown) == ["de", "en"]
    assert 'value="not hateful"' in shown
