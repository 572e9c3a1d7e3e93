"""Which decisions reviewers have settled since a community was last told, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest

from davy.annotation.project.store import projects
from davy.annotation.settling.store import verdicts
from davy.core import Label, Post, Question, Scheme, Verdict
from davy.moderation.store import communities, decisions
from davy.moderation.store.communities import Community
from davy.moderation.store.decisions import Decision
from davy.schemes.store import schemes
from davy.store.columns import now
from post_rows import add_post

SCHEME = Scheme("grumble", 1, (Question("grumpy", (Label("yes"), Label("no")), positive="yes"),))


@pytest.fixture
def reviewed(store):
    """A community with a review project of three posts, and another project."""
    with store.write() as db:
        schemes.save(db, SCHEME, "name: grumble\n", by="shell")
        for name in ("review", "other"):
            about = {"scheme": "grumble", "scheme_version": 1, "settings": {}, "by": "shell"}
            projects.create(db, id=name, title=name, **about)
            for number in range(3):
                add_post(db, Post(f"{name}{number}", "x"), project=name)
        communities.create(db, Community("forum", "grumpy", project="review"), by="shell")
        made = [
            Decision("forum", "m@1", "review", [], post=f"review{number}", reference=str(number)) for number in range(3)
        ]
        decisions.add(db, made)
    return store, [one.id for one in made]


def settle(store, post, label="yes", project="review"):
    with store.write() as db:
        verdicts.add(db, Verdict(post, "grumpy", (label,), "expert"), SCHEME, by="x", project=project, again=True)


def take(store, before=None):
    before = before or now() + timedelta(seconds=1)
    with store.read() as db:
        has_new = decisions.has_new_reviews(db, "forum", "review", before=before)
    with store.write() as db:
        taken = decisions.take_reviewed(db, "forum", "review", before=before)
    assert has_new or not taken
    return taken


def test_each_settled_decision_is_taken_once_and_again_where_it_changes(reviewed):
    store, (first, second, _) = reviewed
    settle(store, "review0")
    assert take(store) == [], "what was settled before the first call is not told"
    settle(store, "review1")
    settle(store, "other1", project="other")
    assert take(store) == [second]
    assert take(store) == []
    settle(store, "review0", "no")
    settle(store, "review1", "no")
    assert take(store) == [first, second]


def test_a_verdict_that_is_too_young_waits_and_one_of_another_project_is_not_looked_at(reviewed):
    store, (_, _, third) = reviewed
    take(store)
    settle(store, "other2", project="other")
    with store.read() as db:
        assert not decisions.has_new_reviews(db, "forum", "review", before=now() + timedelta(seconds=1))
    settle(store, "review2")
    assert take(store, before=now() - timedelta(seconds=10)) == []
    assert take(store) == [third]


def test_a_change_of_the_community_does_not_forget_what_was_told(reviewed):
    store, (first, *_) = reviewed
    take(store)
    settle(store, "review0")
    assert take(store) == [first]
    with store.write() as db:
        communities.change(db, "forum", by="shell", thresholds={"grumpy": 0.7})
    assert take(store) == []
