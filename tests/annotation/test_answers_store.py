"""Schemes, annotations and verdicts: added, never changed."""

import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from davy.annotation.labelling.store import annotations
from davy.annotation.project.store import projects
from davy.annotation.settling.store import verdicts
from davy.core import Annotation, Guideline, Label, Post, Question, Scheme, UserError, Verdict, Wording
from davy.schemes.store import schemes
from davy.store import Store, events
from davy.store.columns import new_id
from post_rows import add_post

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
SCHEME = Scheme(
    "grumble",
    1,
    (
        Question("grumpy", (Label("yes"), Label("no")), positive="yes"),
        Question("about", (Label("tea"), Label("rain")), kind="many", under=("grumpy", ("yes",))),
    ),
    guidelines=(Guideline(1, Wording({"en": "Be kind.", "de": "Sei nett."}), {"irony": Wording("Look twice.")}),),
)


@pytest.fixture
def ready(store: Store) -> Store:
    """A store with the scheme and three posts."""
    with store.write() as db:
        schemes.save(db, SCHEME, "name: grumble\n", by="shell")
        for number in range(3):
            add_post(db, Post(f"p{number}", "…"))
    return store


def answer(post: str = "p0", annotator: str = "ada", **options) -> Annotation:
    answers = options.pop("answers", {"grumpy": ("yes",), "about": ("rain", "tea")})
    return Annotation(new_id(), post, annotator, "grumble", 1, 1, answers, AT, **options)


def test_a_scheme_comes_back_with_its_text_and_guidelines(ready):
    with ready.read() as db:
        stored = schemes.get(db, "grumble")
        assert (stored.version, stored.yaml, stored.digest) == (1, "name: grumble\n", schemes.digest(SCHEME))
        assert schemes.list_schemes(db) == [stored]
        with pytest.raises(UserError, match="Did you mean 'grumble'"):
            schemes.get(db, "grumbel")


def test_a_scheme_changes_until_it_has_answers(ready):
    changed = replace(SCHEME, questions=SCHEME.questions[:1])
    with ready.write() as db:
        schemes.save(db, changed, "name: grumble # shorter\n", by="shell")
        schemes.save(db, SCHEME, "name: grumble\n", by="shell")
        annotations.add(db, answer(), SCHEME)
    with pytest.raises(UserError, match="version 1 is in use, so it can't change") as caught, ready.write() as db:
        schemes.save(db, changed, "name: grumble # shorter\n", by="shell")
    assert caught.value.status == 409
    with ready.write() as db:
        schemes.save(db, SCHEME, "name: grumble # a comment is no change of questions\n", by="shell")
        schemes.save(db, replace(changed, version=2), "name: grumble\nversion: 2\n", by="shell")
        assert [it.version for it in schemes.list_schemes(db)] == [1, 2]
        assert schemes.get(db, "grumble").version == 2


def test_guidelines_grow_but_never_change(ready):
    first, second = SCHEME.guidelines[0], Guideline(2, Wording("Be kinder."), changes="kinder")
    with ready.write() as db:
        project = projects.create(
            db, id="pilot", title="Pilot", scheme="grumble", scheme_version=1, settings={}, by="shell"
        )
        projects.add_guideline(db, project, second, by="ada")
        assert projects.guidelines_of(db, "pilot") == [first, second]
    with pytest.raises(UserError, match="a new one is 3"), ready.write() as db:
        projects.add_guideline(db, project, replace(second, text=Wording("Be wild.")), by="ada")


def test_what_a_scheme_brings_later_is_for_later_projects(ready):
    grown = replace(SCHEME, guidelines=(*SCHEME.guidelines, Guideline(2, Wording("Be kinder."))))
    about = {"title": "T", "scheme": "grumble", "scheme_version": 1, "settings": {}, "by": "shell"}
    with ready.write() as db:
        projects.create(db, id="before", **about)
        schemes.save(db, grown, "name: grumble\ntitle: other words\n", by="shell")
        projects.create(db, id="after", **about)
        assert [len(projects.guidelines_of(db, name)) for name in ("before", "after")] == [1, 2]
        assert schemes.get(db, "grumble").yaml == "name: grumble\n"
    changed = replace(SCHEME, guidelines=(Guideline(1, Wording("Be wild.")),))
    with pytest.raises(UserError, match="guideline 3"), ready.write() as db:
        schemes.save(db, changed, "name: grumble\n", by="shell")


def test_an_annotation_comes_back_as_it_was(ready):
    given = answer(seconds=2.5, flags=("unsure", "other target"), comment="hm 🤔")
    none = answer("p1", answers={"grumpy": ("yes",), "about": ()})
    refused = answer("p2", answers={}, flags=("refused",))
    with ready.write() as db:
        for it in (given, none, refused):
            assert annotations.add(db, it, SCHEME)
    with ready.read() as db:
        for it in (given, none, refused):
            assert annotations.get(db, it.id) == it
        assert annotations.of_post(db, "p0", scheme="grumble", version=1) == [given]
        assert [it.id for it in annotations.of_annotator(db, "ada")] == [refused.id, none.id, given.id]
        assert annotations.count(db, scheme="grumble", version=1) == 3
        assert events.latest(db, by="ada", limit=1)[0].about == f"annotation {refused.id}"


def test_the_same_annotation_sent_twice_is_kept_once_and_another_under_its_id_is_refused(ready):
    given = answer()
    with ready.write() as db:
        assert annotations.add(db, given, SCHEME) is True
        assert annotations.add(db, given, SCHEME) is False
    with pytest.raises(UserError, match="other answers"), ready.write() as db:
        annotations.add(db, replace(given, answers={"grumpy": ("no",)}), SCHEME)


def test_a_second_thought_replaces_the_first_once(ready):
    first = answer()
    second = answer(answers={"grumpy": ("no",)}, replaces=first.id)
    with ready.write() as db:
        annotations.add(db, first, SCHEME)
        annotations.add(db, second, SCHEME)
        assert annotations.of_post(db, "p0", scheme="grumble", version=1) == [second]
        assert annotations.of_post(db, "p0", scheme="grumble", version=1, replaced=True) == [first, second]
        assert annotations.count(db, scheme="grumble", version=1) == 1
    with pytest.raises(UserError, match="replaced already"), ready.write() as db:
        annotations.add(db, answer(replaces=first.id), SCHEME)
    with pytest.raises(UserError, match="same person"), ready.write() as db:
        annotations.add(db, answer(annotator="bob", replaces=second.id), SCHEME)


def test_two_tabs_that_replace_one_annotation_at_once_leave_one(ready):
    first = answer()
    with ready.write() as db:
        annotations.add(db, first, SCHEME)
    outcomes: list[str] = []
    barrier = threading.Barrier(4)

    def save() -> None:
        barrier.wait()
        try:
            with ready.write() as db:
                annotations.add(db, answer(replaces=first.id), SCHEME)
            outcomes.append("saved")
        except UserError as error:
            outcomes.append(str(error.status))

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["409", "409", "409", "saved"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"answers": {"grumpy": ("maybe",)}}, "'maybe' is not a label"),
        ({"answers": {"grumpy": ("no",), "about": ("tea",)}}, "applies only where"),
        ({"post": "p9"}, "no post 'p9'"),
        ({"replaces": "nothing"}, "no annotation 'nothing'"),
    ],
)
def test_an_annotation_that_does_not_fit_is_refused(ready, options, said):
    with pytest.raises(UserError, match=said), ready.write() as db:
        annotations.add(db, answer(**options), SCHEME)
    with ready.read() as db:
        assert annotations.count(db, scheme="grumble", version=1) == 0


def test_an_unknown_version_or_guideline_is_refused(ready):
    with pytest.raises(UserError, match="version 2 is not in"), ready.write() as db:
        annotations.add(db, replace(answer(), scheme_version=2), replace(SCHEME, version=2))
    with pytest.raises(UserError, match="no guideline 7"), ready.write() as db:
        annotations.add(db, replace(answer(), guideline_version=7), SCHEME)


def test_a_verdict_says_what_it_rests_on_and_a_later_one_counts(ready):
    given = [answer(annotator=name) for name in ("ada", "bob")]
    first = Verdict("p0", "grumpy", ("yes",), "unanimous", tuple(sorted(it.id for it in given)))
    second = Verdict("p0", "grumpy", ("no",), "expert", reason="a quotation")
    with ready.write() as db:
        for it in given:
            annotations.add(db, it, SCHEME)
        verdicts.add(db, first, SCHEME, by="system")
        assert verdicts.of_post(db, "p0", scheme="grumble", version=1) == {"grumpy": first}
        with pytest.raises(UserError, match="already"):
            verdicts.add(db, second, SCHEME, by="eve")
        verdicts.add(db, second, SCHEME, by="eve", again=True)
        assert verdicts.of_post(db, "p0", scheme="grumble", version=1) == {"grumpy": second}
        assert verdicts.history(db, "p0", "grumpy", scheme="grumble", version=1) == [first, second]


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict("p0", "mood", ("yes",), "expert"), "no question 'mood'"),
        (Verdict("p0", "grumpy", ("maybe",), "expert"), "not a label"),
        (Verdict("p0", "grumpy", (), "expert"), "takes one label, got 0"),
        (Verdict("p9", "grumpy", ("yes",), "expert"), "no post 'p9'"),
        (Verdict("p0", "grumpy", ("yes",), "majority", ("x", "y")), "not about post 'p0'"),
    ],
)
def test_a_verdict_that_does_not_fit_is_refused(ready, verdict, said):
    with pytest.raises(UserError, match=said), ready.write() as db:
        verdicts.add(db, verdict, SCHEME, by="eve")


def test_a_corpus_brings_its_own_verdicts(ready):
    gold = [("p0", "grumpy", ("yes",)), ("p0", "about", ("tea", "rain")), ("p1", "grumpy", ("no",))]
    published = (Verdict(post, question, labels, "published") for post, question, labels in gold)
    with ready.write() as db:
        assert verdicts.add_published(db, published, SCHEME, by="shell") == 3
        assert verdicts.of_post(db, "p0", scheme="grumble", version=1)["about"].labels == ("tea", "rain")
    for post in ("p0", "p9"):
        more = [Verdict("p2", "grumpy", ("no",), "published"), Verdict(post, "grumpy", ("no",), "published")]
        with pytest.raises(UserError, match="none was added"), ready.write() as db:
            verdicts.add_published(db, more, SCHEME, by="shell")
    with ready.read() as db:
        found = [verdicts.of_post(db, post, scheme="grumble", version=1) for post in ("p0", "p1", "p2")]
        assert [len(it) for it in found] == [2, 1, 0]
