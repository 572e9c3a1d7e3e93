"""The shipped emoji suite: the structure and counts that the paper published, in our own sentences."""

import re
from collections import Counter

import polars as pl
import pytest

from davy.testing import suites

# Kirk and others (2022), Table 4: cases by functionality in the sets original, identity, polarity, no emoji.
PUBLISHED = {
    "verb_swap": (10, 300, 50, 60, 60),
    "identity_swap": (20, 120, 20, 120, 120),
    "descriptor_swap": (10, 260, 40, 60, 60),
    "double_swap": (10, 288, 46, 60, 60),
    "append": (10, 288, 48, 60, 60),
    "positive_confounder": (13, 440, 65, 112, 88),
    "emoji_leetspeak": (15, 430, 45, 430, 140),
}
# The same paper, B.6.
TARGETS = {
    "muslims": 644,
    "gay people": 608,
    "disabled people": 608,
    "women": 608,
    "black people": 582,
    "trans people": 566,
    None: 314,
}
EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff\u20e3\u26a7]")


@pytest.fixture(scope="module")
def suite():
    return suites.load("emoji-en")


def test_every_cell_has_the_published_number_of_templates_and_cases(suite):
    for name, (templates, *sets) in PUBLISHED.items():
        cases = [case for case in suite.cases if case.functionality == name]
        assert len({case.template for case in cases}) == templates
        found = Counter(case.set for case in cases)
        assert [found[each] for each in ("original", "identity", "polarity", "no emoji")] == sets, name
    assert len(suite.cases) == 3930
    assert len({case.template for case in suite.cases}) == 88


def test_labels_and_targets_are_as_published(suite):
    assert Counter(case.expected for case in suite.cases) == {"hateful": 2654, "not hateful": 1276}
    assert Counter(case.target for case in suite.cases) == TARGETS


def test_no_text_occurs_twice(suite):
    assert len({" ".join(case.text.lower().split()) for case in suite.cases}) == 3930


def test_labels_follow_the_set_and_only_the_appended_emoji_flips_when_it_goes(suite):
    for case in suite.cases:
        if case.set == "original":
            assert case.expected == "hateful"
        elif case.set in ("identity", "polarity"):
            assert case.expected == "not hateful"
        else:
            assert case.expected == ("not hateful" if case.functionality == "append" else "hateful")


def test_sets_hold_emoji_and_the_set_without_them_holds_none(suite):
    for case in suite.cases:
        if case.set == "no emoji":
            assert not EMOJI.search(case.text), case.id
        elif not (case.functionality == "identity_swap" and case.set == "identity") or case.set == "original":
            assert EMOJI.search(case.text), case.id


def test_an_identity_perturbation_is_about_nobody_and_everything_else_about_somebody(suite):
    assert all((case.target is None) == (case.set == "identity") for case in suite.cases)


def test_pairs_share_their_template_and_agree_in_the_slots_that_both_have(suite):
    by_id = {case.id: case for case in suite.cases}
    assert {perturbed for _, perturbed in suite.links} == {case.id for case in suite.cases if case.set != "original"}
    for original, perturbed in suite.links:
        one, other = by_id[original], by_id[perturbed]
        assert one.set == "original"
        assert one.template == other.template
        assert all(one.fills[slot] == fill for slot, fill in other.fills.items() if slot in one.fills)
        if other.target is not None:
            assert one.target == other.target


def test_two_descriptors_are_for_black_people_alone_and_two_for_muslims(suite):
    seen = {}
    for case in suite.cases:
        if "animal" in case.fills:
            seen.setdefault(case.fills["animal"], set()).add(case.target)
    assert seen["🐒"] == seen["🦍"] == {"black people"}
    assert seen["🐐"] == seen["🐪"] == {"muslims"}


def test_slurs_are_not_in_clear_in_the_repository_and_masked_when_shown(suite):
    folder = suites.path_of("emoji-en").parent
    # The suites of identities say in harmless sentences what people call themselves; one such word is a slur too.
    looked = [file for file in folder.iterdir() if file.is_file() and not file.name.startswith("identities-")]
    files = [file.read_text("utf-8").lower() for file in looked]
    assert len(suite.hurtful) == 36
    for word in suite.hurtful:
        assert not any(re.search(rf"\b{re.escape(word.lower())}\b", text) for text in files)
    masked = suites.masker(suite)
    for word in suite.hurtful:
        assert masked(f"so {word} it is") != f"so {word} it is"


def test_each_slur_of_table_5_has_its_slots(suite):
    slurs = Counter(case.target for case in suite.cases if case.template == "smile-13" and case.set == "no emoji")
    assert slurs == {
        "women": 3,
        "trans people": 2,
        "gay people": 3,
        "black people": 2,
        "disabled people": 3,
        "muslims": 3,
    }
    assert sum(slurs.values()) == 16


def test_the_table_has_the_released_columns_and_names(suite):
    table = suites.table(suite)
    assert table.columns[:8] == [
        "case_id",
        "templ_id",
        "test_group_id",
        "text",
        "target",
        "functionality",
        "set",
        "label_gold",
    ]
    assert set(table["set"]) == {"orig", "identity_perturb", "polarity_perturb", "no_emoji_perturb"}
    assert set(table["functionality"]) == set(PUBLISHED)
    assert table["label_gold"].sum() == 2654
    assert table["text"].n_unique() == len(table) == table.select(pl.col("case_id").n_unique()).item() == 3930
    assert (table["target"] == "none").sum() == 314


def test_the_paper_s_own_sentences_are_not_in_it(suite):
    quoted = ("I want to ", "My new manager is", "are nothing but", "I find all", "You are just a", "deserve to die")
    assert not [case.id for case in suite.cases if any(part in case.text for part in quoted)]
