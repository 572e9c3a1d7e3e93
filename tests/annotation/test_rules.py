"""Adjudication rules: what the answers of one post settle, and what they leave to an expert."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest

from davy.annotation.project import project_file
from davy.annotation.project.settings import AdjudicationRule
from davy.annotation.settling.rules import (
    applicable_verdicts,
    check_rules,
    flag_holds,
    flag_votes,
    questions_for_expert,
    read_rules,
    settle,
)
from davy.core import Annotation, Label, Question, Scheme, UserError, Verdict
from davy.schemes import load

AT = datetime(2026, 1, 2, tzinfo=UTC)
GRUMBLE = Scheme(
    "grumble",
    1,
    (
        Question("grumpy", (Label("no"), Label("yes")), positive="yes"),
        Question("about", (Label("tea"), Label("rain"), Label("wind")), kind="many", under=("grumpy", ("yes",))),
    ),
)
EDOS_RULES = {
    "sexist": {"rule": "unanimous", "otherwise": "expert"},
    "category": {"rule": "share", "share": "2/3", "otherwise": "expert"},
    "vector": {"rule": "share", "share": "2/3", "otherwise": "expert"},
}


def said(*answers, scheme=GRUMBLE, flags=None) -> list[Annotation]:
    """One annotation for each answer; None is a refusal."""
    return [
        Annotation(
            f"n{place}",
            "p",
            f"a{place}",
            scheme.name,
            scheme.version,
            0,
            {} if given is None else {name: (it,) if isinstance(it, str) else tuple(it) for name, it in given.items()},
            AT,
            flags=("refused",) if given is None else (flags or {}).get(place, ()),
        )
        for place, given in enumerate(answers)
    ]


def grumpy(*labels: str | None) -> list[Annotation]:
    return said(*(None if label is None else {"grumpy": label} for label in labels))


def ruled(labels, **rule):
    rules = read_rules(GRUMBLE, {"*": rule})
    return settle(GRUMBLE, rules, grumpy(*labels))


@pytest.mark.parametrize(
    ("rule", "labels", "label", "basis"),
    [
        ({"rule": "majority"}, ["no", "no", "no"], "no", "unanimous"),
        ({"rule": "majority"}, ["no", "no", "yes"], "no", "majority"),
        ({"rule": "majority"}, ["no", "yes"], None, "split"),
        ({"rule": "majority"}, ["no", None], "no", "single"),
        ({"rule": "majority"}, [None, None], None, "nobody"),
        ({"rule": "unanimous"}, ["no", "no", "no"], "no", "unanimous"),
        ({"rule": "unanimous"}, ["no", "no", "yes"], None, "split"),
        ({"rule": "unanimous"}, ["no", "no", None], "no", "unanimous"),
        ({"rule": "share", "share": "3/5"}, ["no", "no", "no", "yes", "yes"], "no", "majority"),
        ({"rule": "share", "share": "4/5"}, ["no", "no", "no", "yes", "yes"], None, "split"),
        ({"rule": "share", "share": "2/3"}, ["no", "no", "yes", "yes"], None, "split"),
        ({"rule": "single"}, ["no"], "no", "single"),
        ({"rule": "single"}, ["no", "no"], "no", "unanimous"),
        ({"rule": "single"}, ["no", "yes"], None, "split"),
    ],
)
def test_a_rule_settles_what_it_says_and_leaves_the_rest(rule, labels, label, basis):
    outcome = ruled(labels, **rule)
    if label is None:
        assert (dict(outcome.verdicts), outcome.unsettled) == ({}, {"grumpy": basis})
    else:
        verdict = outcome.verdicts["grumpy"]
        assert (verdict.labels, verdict.basis, outcome.unsettled) == ((label,), basis, {})
        assert verdict.annotations == tuple(f"n{i}" for i, it in enumerate(labels) if it is not None)


def test_several_labels_are_settled_one_by_one_from_those_who_were_asked():
    rules = read_rules(GRUMBLE, {})
    yes = [{"grumpy": "yes", "about": about} for about in (("tea", "rain"), ("tea",), ("tea", "wind"))]
    outcome = settle(GRUMBLE, rules, said(*yes, {"grumpy": "no"}))
    about = outcome.verdicts["about"]
    assert (about.labels, about.basis, about.annotations) == (("tea",), "majority", ("n0", "n1", "n2"))
    none = settle(GRUMBLE, rules, said(*({"grumpy": "yes", "about": ()} for _ in range(3))))
    assert (none.verdicts["about"].labels, none.verdicts["about"].basis) == ((), "unanimous")
    tie = settle(GRUMBLE, rules, said(yes[0], yes[1], {"grumpy": "no"}))
    assert tie.unsettled == {"about": "split"}  # rain: one for, one against
    lone = settle(GRUMBLE, rules, said(yes[0], {"grumpy": "no"}), {"grumpy": ("yes",)})
    assert lone.unsettled == {"about": "one voice"}


def test_a_share_is_counted_among_those_who_answered_the_question():
    rules = read_rules(GRUMBLE, {"about": {"rule": "share", "share": "2/3"}})
    yes = [{"grumpy": "yes", "about": about} for about in (("tea",), ("tea",), ("wind",))]
    outcome = settle(GRUMBLE, rules, said(*yes, {"grumpy": "no"}, {"grumpy": "no"}))
    assert outcome.verdicts["about"].labels == ("tea",)
    assert settle(GRUMBLE, rules, said(yes[0], *yes, {"grumpy": "no"}, yes[2])).unsettled == {"about": "split"}


def test_what_happens_otherwise_is_the_rules_to_say():
    for otherwise in ("expert", "drop", "open"):
        rules = read_rules(GRUMBLE, {"grumpy": {"otherwise": otherwise}})
        outcome = settle(GRUMBLE, rules, grumpy("no", "yes"))
        assert bool(questions_for_expert(rules, outcome)) == (otherwise == "expert")
        assert (outcome.dropped == "grumpy") == (otherwise == "drop")


@pytest.mark.parametrize(
    ("ratings", "hate"),
    [
        ("11111", "hateful"),
        ("11113", "hateful"),
        ("13333", "not hateful"),
        ("11133", "severe"),
        ("11333", "severe"),
        ("11222", "undecided"),
        ("11122", "hateful"),
        ("22333", "not hateful"),
        ("11223", "undecided"),
        ("22222", "undecided"),
        ("113", "severe"),
        ("133", "severe"),
        ("112", "hateful"),
        ("123", "severe"),
        ("223", "undecided"),
        ("1133", "severe"),
        ("1122", "split"),
        ("3333", "not hateful"),
    ],
)
def test_memes_go_to_an_expert_on_a_severe_split_and_by_the_middle_rating_else(ratings, hate):
    scheme = load("hateful-memes")
    rules = read_rules(scheme, {"rating": {"rule": "severe", "experts": 2}})
    labels = dict(zip("123", scheme.question("rating").label_names, strict=True))
    outcome = settle(scheme, rules, said(*({"rating": labels[it]} for it in ratings), scheme=scheme))
    if "hateful" in hate:
        verdict = outcome.verdicts["hate"]
        assert verdict.labels == (hate,)
        assert verdict.basis == ("unanimous" if len(set(ratings)) == 1 else "majority")
        assert ("protected" in outcome.unsettled) == (hate == "hateful")
    else:
        assert outcome.unsettled == {"rating": hate}


@pytest.mark.parametrize(
    ("ratings", "counts", "left_out"),
    [
        # The paper's example of severe disagreement, and its mirror.
        ("11333", "severe", "severe"),
        ("11133", "severe", "severe"),
        ("11233", "severe", "severe"),
        # One lone voice at an end is no severe disagreement.
        ("13333", "not hateful", "not hateful"),
        ("11113", "hateful", "hateful"),
        ("12333", "not hateful", "not hateful"),
        # How "not sure" counts is the project's to say.
        ("11222", "undecided", "hateful"),
        ("11223", "undecided", "hateful"),
        ("12223", "undecided", "split"),
        ("22222", "undecided", "undecided"),
    ],
)
def test_severe_is_two_at_each_end_of_five_and_not_sure_counts_as_the_project_says(ratings, counts, left_out):
    scheme = load("hateful-memes")
    labels = dict(zip("123", scheme.question("rating").label_names, strict=True))
    given = said(*({"rating": labels[it]} for it in ratings), scheme=scheme)
    kept = project_file.read_plan("hateful-memes").settings.adjudication["rating"]
    assert (kept.rule, kept.least, kept.middle, kept.experts) == ("severe", 2, "counts", 2)
    for middle, expected in (("counts", counts), ("left out", left_out)):
        rules = read_rules(scheme, {"rating": replace(kept, middle=middle)})
        outcome = settle(scheme, rules, given)
        found = outcome.verdicts["hate"].labels[0] if "hate" in outcome.verdicts else outcome.unsettled["rating"]
        assert found == expected


def test_a_scale_without_a_majority_is_settled_by_its_middle():
    scale = Scheme("s", 1, (Question("mood", tuple(Label(it) for it in "12345"), kind="scale"),))
    rules = read_rules(scale, {"mood": {"rule": "severe"}})
    verdict = settle(scale, rules, said(*({"mood": it} for it in "23345"), scheme=scale)).verdicts["mood"]
    assert (verdict.labels, verdict.basis) == (("3",), "median")


def brute_force_edos(votes, expert=None):
    """The paper's rule, said again from scratch: three votes such as ("no",) or ("2", "2.1") → settled, asked."""
    settled, asked = {}, []
    a = [vote[0] != "no" for vote in votes]
    if len(set(a)) == 1:
        settled["A"] = a[0]
    elif expert is None:
        return settled, ["A"]
    else:
        settled["A"] = expert
    if not settled["A"]:
        return settled, asked
    for level, place in (("B", 0), ("C", 1)):
        counts = Counter(vote[place] for vote in votes if vote[0] != "no")
        if level == "C":
            counts = Counter({it: n for it, n in counts.items() if it.startswith(settled["B"] + ".")})
        best = max(counts.values(), default=0)
        if best < 2:
            asked.append(level)
            break
        settled[level] = next(it for it, n in counts.items() if n == best)
    return settled, asked


def test_every_split_of_three_answers_goes_where_the_edos_rules_send_it():
    scheme = load("edos")
    rules = read_rules(scheme, EDOS_RULES)
    names = {level: question.name for level, question in zip("ABC", scheme.questions, strict=True)}
    codes = {label.code: label.name for it in scheme.questions[1:] for label in it.labels}
    options = [("no",), *((code.split(".")[0], code) for code in codes if "." in code)]
    assert len(options) == 12

    def answers(vote):
        if vote == ("no",):
            return {"sexist": "not sexist"}
        return {"sexist": "sexist", "category": codes[vote[0]], "vector": codes[vote[1]]}

    seen = Counter()
    for votes in product(options, repeat=3):
        given = said(*map(answers, votes), scheme=scheme)
        for expert in (None, True, False):
            decided = {} if expert is None else {"sexist": ("sexist" if expert else "not sexist",)}
            settled, asked = brute_force_edos(votes, expert)
            if expert is not None and brute_force_edos(votes)[1] != ["A"]:
                continue
            outcome = settle(scheme, rules, given, decided)
            assert list(questions_for_expert(rules, outcome)) == [names[level] for level in asked], votes
            found = {
                level: outcome.verdicts[name].labels[0] for level, name in names.items() if name in outcome.verdicts
            }
            wanted = {
                level: codes[it] if level != "A" else ("not sexist", "sexist")[it] for level, it in settled.items()
            }
            assert found == wanted, votes
            seen[tuple(asked)] += 1
    assert set(seen) == {(), ("A",), ("B",), ("C",)}


def test_who_answered_beneath_another_parent_has_no_vote_but_breaks_unanimity():
    scheme = load("edos")
    rules = read_rules(scheme, EDOS_RULES)
    said_so = {
        label.code: {"sexist": "sexist", "category": label.under[0], "vector": label.name}
        for label in scheme.question("vector").labels
    }
    outcome = settle(scheme, rules, said(said_so["2.1"], said_so["2.1"], said_so["3.1"], scheme=scheme))
    assert [(it.basis, len(it.annotations)) for it in outcome.verdicts.values()] == [
        ("unanimous", 3),
        ("majority", 3),
        ("majority", 3),
    ]
    # Two agree on a vector, but an expert put the post under another category: their vectors are out.
    decided = {"category": ("prejudiced discussions",)}
    assert settle(
        scheme, rules, said(said_so["2.1"], said_so["2.1"], said_so["3.1"], scheme=scheme), decided
    ).unsettled == {"vector": "nobody"}


def test_an_older_verdict_on_a_child_falls_when_its_parents_changes():
    verdicts = {
        "grumpy": Verdict("p", "grumpy", ("yes",), "expert"),
        "about": Verdict("p", "about", ("tea",), "expert"),
    }
    assert applicable_verdicts(GRUMBLE, verdicts) == verdicts
    changed = {**verdicts, "grumpy": Verdict("p", "grumpy", ("no",), "expert")}
    assert list(applicable_verdicts(GRUMBLE, changed)) == ["grumpy"]


def test_a_flag_holds_when_more_than_half_of_those_who_answered_raise_it():
    given = said(*[{"grumpy": "no"}] * 3, None, flags={0: ("unsure", "unrealistic"), 1: ("unrealistic",)})
    votes = flag_votes(given)
    assert votes == {"unrealistic": (2, 3), "unsure": (1, 3)}
    assert [flag for flag, n in votes.items() if flag_holds(AdjudicationRule(), n)] == ["unrealistic"]
    assert flag_holds(AdjudicationRule("single"), votes["unsure"])
    assert not flag_holds(AdjudicationRule("unanimous"), votes["unrealistic"])


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"grumpi": AdjudicationRule()}, "Did you mean 'grumpy'"),
        ({"grumpy": AdjudicationRule("severe")}, "is for a scale"),
        ({"grumpy": AdjudicationRule("share", share="1/3")}, "more than a half"),
    ],
)
def test_rules_that_a_scheme_cannot_have_are_refused(rules, words):
    with pytest.raises(UserError, match=words):
        check_rules(GRUMBLE, rules)


MARKS = Scheme(
    "marks",
    1,
    (
        Question("grumpy", (Label("no"), Label("yes")), positive="yes"),
        Question("why", (), kind="spans", under=("grumpy", ("yes",))),
        Question("tone", (Label("loud"), Label("sly")), kind="spans", under=("grumpy", ("yes",))),
    ),
)
TEXT = "no tea again today"  # words: 0-2, 3-6, 7-12, 13-18


def marked(*marks: tuple[str, ...], tone: tuple[tuple[str, ...], ...] = (), rules=None):
    """What people who all say yes and mark these words settle."""
    tones = tone or ((),) * len(marks)
    given = [{"grumpy": "yes", "why": why, "tone": how} for why, how in zip(marks, tones, strict=True)]
    return settle(MARKS, read_rules(MARKS, rules), said(*given, scheme=MARKS), text=TEXT)


def test_a_word_is_in_where_most_people_marked_it_and_neighbours_are_one_span():
    # tea: 2 of 3, again: 2 of 3, no and today: 1 of 3.
    outcome = marked(("3-12",), ("0-6",), ("7-18",))
    assert outcome.verdicts["why"].labels == ("3-12",)
    assert outcome.verdicts["why"].basis == "majority"
    assert marked(("3-6",), ("3-6",)).verdicts["why"].basis == "unanimous"
    assert marked((), (), ("3-6",)).verdicts["why"].labels == ()


def test_half_of_the_people_are_no_majority_for_a_word_and_nothing_in_common_is_a_split():
    assert marked(("0-6",), ("3-6",)).verdicts["why"].labels == ("3-6",)
    assert marked(("0-2",), ("3-6",)).unsettled == {"why": "split"}
    assert marked((), ("3-6",)).verdicts["why"].labels == ()


def test_a_rule_that_wants_more_than_a_majority_leaves_words_to_an_expert():
    rules = {"why": {"rule": "unanimous"}}
    assert marked(("0-6",), ("3-6",), rules=rules).unsettled == {"why": "split"}
    assert marked(("3-6",), ("3-6",), rules=rules).verdicts["why"].labels == ("3-6",)


def test_spans_are_settled_label_by_label():
    tone = (("0-2:loud", "3-6:sly"), ("0-6:loud",), ("3-6:sly",))
    outcome = marked(("0-2",), ("0-2",), ("0-2",), tone=tone)
    assert outcome.verdicts["tone"].labels == ("0-2:loud", "3-6:sly")


def test_an_expert_s_marks_stand():
    given = said(
        {"grumpy": "yes", "why": ("0-2",), "tone": ()}, {"grumpy": "yes", "why": ("3-6",), "tone": ()}, scheme=MARKS
    )
    outcome = settle(MARKS, read_rules(MARKS, None), given, {"why": ("13-18",)}, TEXT)
    assert (outcome.verdicts["why"].labels, outcome.verdicts["why"].basis) == (("13-18",), "expert")
