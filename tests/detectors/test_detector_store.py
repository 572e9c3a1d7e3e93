"""The detectors in the store: one active version a name, one default, and a record of every change."""

from __future__ import annotations

import pytest

from davy.core import UserError
from davy.detectors import store as detectors
from davy.store import events


def add(db, name="comments", version="v1", **more):
    return detectors.add(
        db, name=name, version=version, source=f"/models/{name}-{version}", questions=["hate"], by="shell", **more
    )


def states(db):
    return {entry.full_name: (entry.state, entry.is_default) for entry in detectors.list_detectors(db)}


def test_a_new_version_takes_the_place_of_the_active_one(store):
    with store.write() as db:
        add(db)
        add(db, version="v2")
        assert states(db) == {"comments@v1": ("retired", False), "comments@v2": ("active", False)}
        assert detectors.find(db, "comments").version == "v2"
        assert detectors.find(db, "comments@v1").version == "v1"


def test_the_default_stays_with_the_name_when_its_version_changes(store):
    with store.write() as db:
        detectors.set_default(db, add(db).id, by="shell")
        add(db, version="v2")
        assert states(db) == {"comments@v1": ("retired", False), "comments@v2": ("active", True)}
        detectors.set_state(db, detectors.find(db, "comments@v1").id, "active", by="shell")
        assert states(db) == {"comments@v1": ("active", True), "comments@v2": ("retired", False)}


def test_there_is_one_default_and_a_retired_detector_is_none(store):
    with store.write() as db:
        first, second = add(db), add(db, name="memes")
        detectors.set_default(db, first.id, by="shell")
        detectors.set_default(db, second.id, by="shell")
        assert [entry.name for entry in detectors.list_detectors(db) if entry.is_default] == ["memes"]
        detectors.set_state(db, second.id, "retired", by="shell")
        assert not any(entry.is_default for entry in detectors.list_detectors(db))
        with pytest.raises(UserError, match="memes@v1 is retired"):
            detectors.set_default(db, second.id, by="shell")


def test_a_shadow_leaves_the_active_version_alone(store):
    with store.write() as db:
        add(db)
        add(db, version="v2", state="shadow")
        assert states(db) == {"comments@v1": ("active", False), "comments@v2": ("shadow", False)}


def test_what_was_added_is_read_back_and_every_change_is_recorded(store):
    with store.write() as db:
        entry = add(db, thresholds={"hate": 0.7}, data_hash="d1")
        detectors.set_state(db, entry.id, "retired", by="u1")
    with store.read() as db:
        kept = detectors.get(db, entry.id)
        recorded = [(event.what, event.by) for event in events.latest(db, about="detector comments@v1")]
    assert (kept.thresholds, kept.data_hash, kept.questions) == ({"hate": 0.7}, "d1", ("hate",))
    assert recorded == [("detector retired", "u1"), ("detector added", "shell")]


@pytest.mark.parametrize(
    ("name", "version", "words"),
    [
        ("comments", "v1", "is known already"),
        ("a@b", "v1", "no @"),
        (" ", "v1", "1 to 80"),
        ("x" * 81, "v1", "1 to 80"),
    ],
)
def test_a_name_that_is_taken_or_no_name_is_refused(store, name, version, words):
    with store.write() as db:
        add(db)
        with pytest.raises(UserError, match=words):
            add(db, name=name, version=version)


def test_an_unknown_detector_says_which_there_are(store):
    with store.write() as db:
        with pytest.raises(UserError, match="davy model add"):
            detectors.find(db, "comments")
        add(db)
        with pytest.raises(UserError, match="comments@v1"):
            detectors.find(db, "something else")
