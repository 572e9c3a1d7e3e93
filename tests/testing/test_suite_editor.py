"""Suites written in Python, fill-ins that ship, swaps of names and pronouns, and words that a masked model suggests."""

import polars as pl
import pytest

import davy
from davy import schemes
from davy.core import UserError
from davy.testing import metrics
from davy.testing.report.files import failed_posts
from davy.testing.run import run_suite
from davy.testing.suite import Case, Suite
from davy.testing.suites import load, read
from davy.testing.suites.labelled_posts import from_posts
from davy.testing.suites.robustness_tests import robustness
from davy.text.lexicons.read import fill_in
from davy.text.perturb import swap
from fake_detectors import Rule


def bakers():
    suite = davy.Suite(
        "bakers", lang="en", sets={"typo": {"test": "INV"}, "praise": {"test": "DIR", "expect": "lower"}}
    )
    suite.lexicon("group", ["bakers", {"text": "cooks", "one": "a cook"}], target=True).lexicon("who", "woman")
    suite.add(
        "insult",
        "{Group} are the worst, says {who}",
        label="hateful",
        versions={"typo": "{Group} are teh worst, says {who}", "praise": "{Group} are the best, says {who}"},
        fills={"who": ["Mary", "Aisha"]},
        capability="Vocabulary",
        title="Plain insults",
    )
    return suite.add("insult", "I like {group}", label="not hateful").add(
        "negation", "Nobody says that {group} are bad", label="not hateful", capability="Negation"
    )


def test_a_suite_written_in_python_is_the_suite_of_its_file(tmp_path):
    editor = bakers()
    suite = editor.build()
    assert len(suite.cases) == 3 * 4 + 2 + 2
    assert suite.capabilities == {"insult": "Vocabulary", "negation": "Negation"}
    assert {case.target for case in suite.cases} == {"bakers", "cooks"}
    saved = load(editor.save(tmp_path / "bakers.yaml"))
    assert saved.digest == suite.digest


def test_a_template_that_does_not_fit_is_refused_and_leaves_the_suite_as_it_was():
    editor = bakers()
    before = editor.yaml()
    with pytest.raises(UserError, match="no lexicon of that name"):
        editor.add("insult", "{grupp} are bad")
    with pytest.raises(UserError, match="say which label"):
        editor.add("new", "{group} again")
    with pytest.raises(UserError, match=r"no fill-ins 'wommen' for 'en'.*woman"):
        editor.lexicon("x", "wommen")
    assert editor.yaml() == before


def test_check_takes_it_and_counts_failures_by_capability_and_kind_of_test():
    suite = bakers().build()
    run = run_suite(suite, Rule(lambda text: 0.9 if "the worst" in text else 0.2))
    passed = metrics.passed_by_test(suite, run, suite.capability)
    rates = {key: (metrics.failure_rate(one).value, one.n) for key, one in passed.items() if key[0] != "all"}
    assert rates == {
        ("Vocabulary", "MFT"): (0.0, 6),
        ("Vocabulary", "INV"): (1.0, 4),
        ("Vocabulary", "DIR"): (0.0, 4),
        ("Negation", "MFT"): (0.0, 2),
    }


def test_a_file_can_take_lists_that_ship(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\nversion: 1\nlang: de\nlexicons:\n  faith: {shipped: religion, target: yes}\nfunctionalities:\n"
        '  - name: f\n    label: not hateful\n    templates: [{id: a, text: "{Faith} wohnen hier"}]\n',
        encoding="utf-8",
    )
    suite = load(path)
    assert [case.text for case in suite.cases] == [f"{word} wohnen hier" for word in fill_in("de", "religion")]
    assert suite.targets == tuple(sorted(word.lower() for word in fill_in("de", "religion")))
    path.write_text(path.read_text("utf-8").replace("religion", "relgion"), encoding="utf-8")
    assert "religion" in read(path).problems[0].message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She told him that his dog bit her.", "He told her that her dog bit him."),
        ("HER dog likes herself, and it is hers", "HIS dog likes himself, and it is his"),
        ("They saw her and left", "They saw him and left"),
        ("Nobody was there", None),
    ],
)
def test_pronouns_are_swapped_in_english(text, expected):
    assert swap(text, "other pronouns", "en") == expected
    assert swap(text, "other pronouns", "de") is None


def test_a_name_becomes_another_for_the_same_gender_everywhere_in_the_text():
    swapped = swap("Aisha met John. John smiled at Aisha.", "other names", "en")
    words = swapped.replace(".", "").split()
    assert words[0] == words[-1] != "Aisha"
    assert words[2] == words[3] != "John"
    assert words[0] in fill_in("en", "woman")
    assert words[2] in fill_in("en", "man")
    assert swap("Aisha's Johnny", "other names", "en") != "Aisha's Johnny", "a name before 's counts"
    assert "Johnny" in swap("Aisha's Johnny", "other names", "en")
    assert swap("nobody here", "other names", "en") is None


def test_robustness_swaps_names_and_leaves_pronouns_where_the_question_is_about_women():
    posts = pl.DataFrame({"id": ["a"], "text": ["Mary said she is late"], "label": ["0"], "lang": ["en"]})
    hate = robustness(posts, schemes.load("hate").question("hate"), label="label")
    assert {"other names", "other pronouns"} <= set(hate.functionalities)
    posts = posts.with_columns(label=pl.lit("not sexist"))
    sexist = robustness(posts, schemes.load("edos").question("sexist"), label="label")
    assert "other names" in sexist.functionalities
    assert "other pronouns" not in sexist.functionalities


def test_failures_become_posts_to_train_on_but_not_those_of_a_suite_that_measures():
    suite = bakers().build()
    run = run_suite(suite, Rule(lambda text: 0.9 if "the worst" in text or "like" in text else 0.2), name="mine")
    frame = failed_posts(suite, [run])
    by_text = dict(zip(frame["text"], frame["hate.gold"], strict=True))
    assert by_text["I like cooks"] == "not hateful"
    assert by_text["Bakers are teh worst, says Mary"] == "hateful", "a changed case has its original's label"
    assert len(frame) == 2 + 4
    assert set(frame["failed_by"]) == {"mine"}
    with pytest.raises(UserError, match="none may learn from it"):
        failed_posts(load("emoji-en"), [])


def test_cases_that_annotators_disagreed_on_are_counted_apart():
    meta = [
        '{"functionality": "f", "disagreement_in_case": "True"}',
        '{"functionality": "f", "disagreement_in_case": "False"}',
        '{"functionality": "f", "label_annotated": "[\'hateful\', \'non-hateful\', \'hateful\']"}',
        '{"functionality": "f"}',
    ]
    posts = pl.DataFrame(
        {
            "id": list("abcd"),
            "text": ["one", "two", "three", "four"],
            "lang": ["en"] * 4,
            "parent": [None] * 4,
            "meta": meta,
            "hate.gold": ["hateful"] * 4,
        }
    )
    suite = from_posts(posts, schemes.load("hate").question("hate"), name="s", version="1")
    run = run_suite(suite, Rule(lambda text: 0.9 if text in ("two", "three", "four") else 0.1))
    found = metrics.accuracy_by_dispute(suite, run)
    assert {key: (one.value, one.n) for key, one in found.items()} == {True: (0.5, 2), False: (1.0, 1)}
    plain = Suite("p", "1", "hate", "en", (Case("a", "x", "f", "hateful"),))
    assert metrics.accuracy_by_dispute(plain, run_suite(plain, Rule(lambda text: 0.9))) == {}


def test_a_masked_model_suggests_whole_words_with_the_probabilities_of_transformers(tmp_path):
    from transformers import pipeline

    from davy.detectors.masked_words import suggest_words
    from tiny_encoder import make_tiny_encoder

    folder = make_tiny_encoder(tmp_path / "tiny")
    words = suggest_words(["they are {mask} people"], str(folder), most=5)
    filled = pipeline("fill-mask", model=str(folder), top_k=18)("they are [MASK] people")
    theirs = [one for one in filled if one["token_str"].isalpha() and not one["token_str"].startswith("[")]
    assert [one.word for one in words] == [one["token_str"] for one in theirs][:5]
    assert [one.probability for one in words] == pytest.approx([one["score"] for one in theirs][:5], abs=1e-5)
    with pytest.raises(UserError, match="must hold"):
        suggest_words(["no gap here"], str(folder))
