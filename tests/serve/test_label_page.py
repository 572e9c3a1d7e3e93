"""The labelling page over HTTP: what is asked, what is saved, and what happens when things go wrong."""

from __future__ import annotations

import re

import pytest
from labelling import RUDE, add_phase, form_of, make_lamps, send
from web_site import post, token_in

from davy.store import annotations, members, phases, tallies

POLITE = {"rude": ("not rude",)}
TEXTS = [f"post number {n} shines" for n in range(1, 7)]


def mine(lamps, role="annotator"):
    """Return this person's annotations, oldest first."""
    with lamps.site.store.read() as db:
        return annotations.of_annotator(db, lamps.user(role))[::-1]


def test_a_post_is_asked_answered_saved_and_followed_by_the_next(site):
    lamps = make_lamps(site, TEXTS)
    client = site.as_("annotator")
    html = client.get(lamps.path).text
    assert "post number 1 shines" in html
    answer = send(client, html, RUDE, comment="a remark", flag=["unsure"], seconds="4.5")
    assert answer.status_code == 200
    assert "post number 2 shines" in answer.text
    assert "<html" not in answer.text
    assert 'hx-swap-oob="innerHTML">Saved.' in answer.text
    (kept,) = mine(lamps)
    assert dict(kept.answers) == RUDE
    assert (kept.comment, kept.flags, kept.seconds) == ("a remark", ("unsure",), 4.5)
