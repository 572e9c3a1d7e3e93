"""A shadow scores along: nobody sees it, its differences are counted, texts are kept only where that is allowed."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from test_serve_score import ask

from davy.detectors import embedded
from davy.moderation.server_part import Moderation
from davy.moderation.shadow import compare_shadows
from davy.moderation.store import shadows
from davy.store import open_store
from web_site import make_key, make_site


@pytest.fixture
def stricter(tmp_path):
    path = tmp_path / "stricter.txt"
    path.write_text("grumblefop\t0.9\ncandle\t0.8\n")
    return f"keywords:{path}"


def scored(settings, empty_database, texts, **more):
    """Return the answer to a request, and what the store knows of the shadow after the server has stopped."""
    made = make_site(replace(settings, **more), empty_database)
    with made.started():
        _, secret = make_key(made)
        body = ask(made, {"texts": texts, "lang": "en"}, secret).json()
        until = time.monotonic() + 60
        while made.app.state.context.part(Moderation).shadow._tasks and time.monotonic() < until:
            time.sleep(0.01)
    with open_store(settings.database) as store:
        return body, compare_shadows(store, differences=10)


def test_differences_are_counted_and_nobody_sees_the_shadow(settings, empty_database, stricter):
    texts = ["a grumblefop", "a candle", "a fine day"]
    body, (comparison,) = scored(settings, empty_database, texts, shadow=stricter)
    assert [it["questions"]["hate"]["probability"] for it in body["results"]] == [0.9, 0.0, 0.0]
    assert "stricter" not in str(body)
    (row,) = [row for row in comparison.rows if row.question == "hate"]
    assert (row.n, row.both, row.only_model, row.only_shadow, row.other, row.lang) == (3, 1, 0, 1, 0, "en")
    assert row.share == pytest.approx(1 / 3)
    assert row.distance == pytest.approx(0.8 / 3)
    (difference,) = comparison.differences
    assert (difference.label, difference.shadow_label, difference.text) == ("not hateful", "hateful", None)


@pytest.mark.skipif("embedded-en" not in embedded.shipped_names(), reason="no embedded detector")
def test_a_shadow_is_compared_in_its_own_languages_alone(settings, empty_database):
    made = make_site(replace(settings, shadow="embedded-en"), empty_database)
    with made.started():
        _, secret = make_key(made)
        posts = [{"text": "a fine day", "lang": "en"}, {"text": "ein schöner Tag", "lang": "de"}]
        posts += [{"text": "a fine day by the lake", "lang": "en-GB"}, {"text": "Guten Morgen", "lang": "de-AT"}]
        assert ask(made, {"posts": posts}, secret).status_code == 200
        until = time.monotonic() + 60
        while made.app.state.context.part(Moderation).shadow._tasks and time.monotonic() < until:
            time.sleep(0.01)
        assert made.app.state.context.part(Moderation).shadow.passed_over == 0
    with open_store(settings.database) as store:
        (comparison,) = compare_shadows(store)
    assert {(row.lang, row.n) for row in comparison.rows if row.question == "hate"} == {("en", 1), ("en-GB", 1)}


def test_texts_are_kept_only_where_the_operator_and_the_sender_allow_it(settings, empty_database, stricter):
    _, (comparison,) = scored(settings, empty_database, ["a candle"], shadow=stricter, shadow_texts=True)
    assert [it.text for it in comparison.differences] == ["a candle"]


def test_the_report_is_a_page_for_admins(settings, empty_database, stricter):
    made = make_site(replace(settings, shadow=stricter, shadow_texts=True), empty_database)
    with made.started():
        _, secret = make_key(made)
        ask(made, {"text": "a candle", "lang": "en"}, secret)
        context = made.app.state.context
        until = time.monotonic() + 60
        while context.part(Moderation).shadow._tasks and time.monotonic() < until:
            time.sleep(0.01)
        context.part(Moderation).shadow.flush()
        html = made.as_("admin").get("/detectors/shadow").text
        assert "stricter" in html
        assert "100.0%" in html
        assert made.as_("expert").get("/detectors/shadow").status_code == 403


def test_old_differences_make_room_for_new_ones(store, monkeypatch):
    monkeypatch.setattr(shadows, "MOST_KEPT", 3)
    with store.write() as db:
        for n in range(5):
            difference = shadows.ShadowDifference("a@1", "b@1", "q", "en", "yes", "no", 0.9, float(n))
            shadows.add(db, [], [difference])
        kept = shadows.list_differences(db, "a@1", "b@1")
    assert [it.shadow_probability for it in kept] == [4.0, 3.0, 2.0]


def test_counts_of_one_hour_add_up(store):
    from davy.store.columns import now

    at = now().replace(minute=0, second=0, microsecond=0)
    with store.write() as db:
        for _ in range(2):
            shadows.add(db, [shadows.ShadowCount(at, "a@1", "b@1", "q", "en", n=2, both=1, distance=0.5)])
        (total,) = shadows.totals(db)
    assert (total.n, total.both, total.distance) == (4, 2, 1.0)
