"""Adjudication rules as data: a post's answers in, what they settle out. Nothing here knows the store.

Each question has a rule. A child is settled only under its parent's settled answer, from those who answered it;
derived questions follow; a question with several labels is settled label by label. A refused post is no answer.
The one thing to know: where several people labelled a post, one lone voice on a child question never passes for
agreement, so that 2/3 means at least two people who say the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from davy.annotation.project.settings import AdjudicationRule
from davy.core import FLAGS, Annotation, Question, Scheme, UserError, Verdict
from davy.core.annotation import Answers
from davy.core.errors import nearest
from davy.core.spans import parse_spans
from davy.text.words import join_words, marked_words, snap_answer

SEVERE = Fraction(1, 3)
"""From this share on, the smaller of the two camps at the ends of a scale makes a split severe.

The memes paper calls two against three of five raters severe; one against two of three is the same with fewer raters.
"""

Rules = Mapping[str, AdjudicationRule]


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What a post's answers settle. A question under an unsettled one is in neither list: it waits."""

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    unsettled: Mapping[str, str] = field(default_factory=dict)
    """Question → why it is not settled."""
    dropped: str | None = None
    """The question whose rule drops the post."""


def read_rules(scheme: Scheme, given: Mapping[str, Any] | None) -> dict[str, AdjudicationRule]:
    """Return a rule for each question that is asked; one that the settings leave out goes by majority, else an expert.

    `"*"` names the rule of every question that has none of its own. What `check_rules` would refuse is passed over,
    so that no saved answer is ever lost to a setting.
    """
    made = {
        name: it if isinstance(it, AdjudicationRule) else AdjudicationRule(**it) for name, it in (given or {}).items()
    }
    usual = made.get("*", AdjudicationRule())
    return {it.name: made.get(it.name, usual) for it in scheme.questions if it.derived is None}


def check_rules(scheme: Scheme, given: Mapping[str, AdjudicationRule]) -> None:
    """Refuse rules that this scheme can't have: an unknown question, a severe split on what is no scale."""
    names = [question.name for question in scheme.questions]
    for name, rule in given.items():
        if name == "*":
            continue
        if name not in names:
            hint = nearest(name, names)
            raise UserError(f"Adjudication names {name!r}, which scheme {scheme.name!r} does not ask.{hint}")
        if rule.rule == "severe" and not scheme.question(name).ordered:
            raise UserError(f"The rule 'severe' is for a scale; {name!r} is none. Use majority, unanimous or share.")
        if rule.rule == "share" and Fraction(rule.share) <= Fraction(1, 2):
            raise UserError(f"The share of {name!r} is {rule.share}; it has to be more than a half, such as 2/3.")


def settle(
    scheme: Scheme, rules: Rules, annotations: Sequence[Annotation], decided: Answers | None = None, text: str = ""
) -> RuleOutcome:
    """Return what the annotations of one post settle; `decided` are answers that an expert gave, which stand.

    `text` is the post's, where a question asks for words of it.
    """
    panel = [it for it in annotations if not it.refused]
    verdicts: dict[str, Verdict] = {}
    unsettled: dict[str, str] = {}
    for question in scheme.questions:
        if not _applies(question, verdicts):
            continue
        if question.derived is not None:
            verdicts |= _derived(question, verdicts)
        elif decided and question.name in decided and _fits(question, decided[question.name], verdicts):
            rests_on = tuple(sorted(it.id for it in panel))
            post = annotations[0].post if annotations else ""
            verdicts[question.name] = Verdict(post, question.name, tuple(decided[question.name]), "expert", rests_on)
        else:
            found = _settled(scheme, question, rules[question.name], panel, verdicts, text)
            if isinstance(found, Verdict):
                verdicts[question.name] = found
            else:
                unsettled[question.name] = found
    dropped = next((name for name in unsettled if rules[name].otherwise == "drop"), None)
    return RuleOutcome(verdicts, unsettled, dropped)


def questions_for_expert(rules: Rules, outcome: RuleOutcome) -> dict[str, str]:
    """Return the unsettled questions that go to an expert, with why."""
    return {name: why for name, why in outcome.unsettled.items() if rules[name].otherwise == "expert"}


class HasLabels(Protocol):
    """Anything that says which labels were settled."""

    @property
    def labels(self) -> tuple[str, ...]: ...


AnyVerdict = TypeVar("AnyVerdict", bound=HasLabels)


def applicable_verdicts(scheme: Scheme, verdicts: Mapping[str, AnyVerdict]) -> dict[str, AnyVerdict]:
    """Return the verdicts whose question still applies: a child's older verdict falls when its parent's changes."""
    kept: dict[str, AnyVerdict] = {}
    for question in scheme.questions:
        if question.name in verdicts and _applies(question, kept):
            verdict = verdicts[question.name]
            if _fits(question, verdict.labels, kept):
                kept[question.name] = verdict
    return kept


def flag_votes(annotations: Iterable[Annotation]) -> dict[str, tuple[int, int]]:
    """Return flag → (how many raised it, how many answered), for the flags that anybody raised."""
    panel = [it for it in annotations if not it.refused]
    votes = {flag: sum(flag in it.flags for it in panel) for flag in FLAGS if flag != "refused"}
    return {flag: (n, len(panel)) for flag, n in votes.items() if n}


def flag_holds(rule: AdjudicationRule, votes: tuple[int, int]) -> bool:
    """Return whether a flag holds: by majority unless its rule says otherwise; with `single` one voice is enough."""
    raised, panel = votes
    return raised > 0 and (rule.rule == "single" or _passes(rule, raised, panel))


def _applies(question: Question, verdicts: Mapping[str, HasLabels]) -> bool:
    parent = verdicts.get(question.under[0]) if question.under else None
    return question.applies_under(parent.labels if parent else ())


def _above(question: Question, verdicts: Mapping[str, HasLabels]) -> set[str]:
    return set(verdicts[question.under[0]].labels) if question.under else set()


def _fits(question: Question, labels: Sequence[str], verdicts: Mapping[str, HasLabels]) -> bool:
    """Return whether the labels may be chosen beneath what was settled above."""
    return all(_allowed(question, label, _above(question, verdicts)) for label in labels)


def _allowed(question: Question, label: str, above: set[str]) -> bool:
    if not question.of_labels:
        label = question.label_in(label)
        return not label or question.label(label).fits_under(above)
    if label not in question.label_names:
        return question.open
    return question.label(label).fits_under(above)


def _derived(question: Question, verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    origin, table = question.derived or ("", {})
    if origin not in verdicts:
        return {}
    source = verdicts[origin]
    labels = tuple(dict.fromkeys(table[label] for label in source.labels if label in table))
    if not labels:
        return {}
    return {question.name: Verdict(source.post, question.name, labels, source.basis, source.annotations)}


def _settled(
    scheme: Scheme,
    question: Question,
    rule: AdjudicationRule,
    panel: Sequence[Annotation],
    verdicts: Mapping[str, Verdict],
    text: str,
) -> Verdict | str:
    full = {it.id: scheme.completed(it.answers) for it in panel}
    answers_by_person = {
        id_: tuple(answers[question.name]) for id_, answers in full.items() if question.name in answers
    }
    given = _possible(question, answers_by_person.values(), _above(question, verdicts))
    if not given:
        return "nobody"
    if len(given) == 1 and len(panel) > 1 and rule.rule != "single":
        return "one voice"
    found = SETTLED_BY[question.kind](_Ballot(scheme, question, rule, given, text))
    if isinstance(found, str):
        return found
    # Who answered beneath another parent has no vote here, but is no part of a unanimous answer either.
    basis = _basis(rule, found, list(answers_by_person.values()))
    return Verdict(panel[0].post, question.name, found, basis, tuple(sorted(answers_by_person)))


def _possible(question: Question, answered: Iterable[tuple[str, ...]], above: set[str]) -> list[tuple[str, ...]]:
    """Return the answers that are possible beneath what was settled above, without the labels that are not."""
    kept = [(labels, tuple(it for it in labels if _allowed(question, it, above))) for labels in answered]
    return [possible for labels, possible in kept if possible or not labels]


def _passes(rule: AdjudicationRule, n: int, voters: int) -> bool:
    if rule.rule in ("unanimous", "single"):
        return n == voters
    if rule.rule == "share":
        return n >= Fraction(rule.share) * voters
    return 2 * n > voters


@dataclass(frozen=True, slots=True)
class _Ballot:
    """What one question of one post is settled from."""

    scheme: Scheme
    question: Question
    rule: AdjudicationRule
    given: Sequence[tuple[str, ...]]
    text: str


def _one(ballot: _Ballot) -> tuple[str, ...] | str:
    """Return the most frequent answer, if it passes."""
    rule, given = ballot.rule, ballot.given
    counts = {labels: given.count(labels) for labels in given}
    best = max(counts, key=lambda labels: counts[labels])
    alone = list(counts.values()).count(counts[best]) == 1
    return best if alone and _passes(rule, counts[best], len(given)) else "split"


def _many(ballot: _Ballot) -> tuple[str, ...] | str:
    """Return the labels that are in; each label has to be settled as in or out."""
    question, rule, given = ballot.question, ballot.rule, ballot.given
    chosen = []
    for label in dict.fromkeys((*question.label_names, *(label for labels in given for label in labels))):
        n = sum(label in labels for labels in given)
        if _passes(rule, n, len(given)):
            chosen.append(label)
        elif not _passes(rule, len(given) - n, len(given)):
            return "split"
    return "split" if question.required and not chosen else tuple(chosen)


def _spans(ballot: _Ballot) -> tuple[str, ...] | str:
    """Return the words that are in, word by word and label by label.

    By majority a word that half of the people marked is out, as is usual for rationales; by the other rules it is a
    split. Most people marked something, but no two the same: that is a split by any rule.
    """
    question, rule, given, text = ballot.question, ballot.rule, ballot.given, ballot.text
    chosen = []
    for label in question.label_names or ("",):
        marks = [marked_words(text, (span for span in parse_spans(spans) if span.label == label)) for spans in given]
        words = set()
        for word in set().union(*marks):
            n = sum(word in mine for mine in marks)
            if _passes(rule, n, len(given)):
                words.add(word)
            elif rule.rule in ("unanimous", "single", "share") and not _passes(rule, len(given) - n, len(given)):
                return "split"
        chosen += join_words(text, words, label)
    someone = 2 * sum(bool(spans) for spans in given) > len(given)
    if not chosen and (question.required or someone):
        return "split"
    return snap_answer(question, text, [str(span) for span in chosen])


def _scale(ballot: _Ballot) -> tuple[str, ...] | str:
    """Return the middle answer, unless both ends of the scale have many voices or the middle decides nothing.

    Only the rule `severe` minds the order; by the others a scale is settled like any other label.
    """
    scheme, question, rule = ballot.scheme, ballot.question, ballot.rule
    if rule.rule != "severe":
        return _one(ballot)
    order = question.label_names
    places = sorted(order.index(labels[0]) for labels in ballot.given)
    smaller = min(places.count(0), places.count(len(order) - 1))
    if smaller and smaller >= (rule.least or SEVERE * len(places)):
        return "severe"
    if rule.middle == "left out":
        places = [place for place in places if place in (0, len(order) - 1)]
        if not places:
            return "undecided"
    low, high = places[(len(places) - 1) // 2], places[len(places) // 2]
    if low != high:
        return "split"
    tables = [it.derived[1] for it in scheme.questions if it.derived and it.derived[0] == question.name]
    return "undecided" if any(order[low] not in table for table in tables) else (order[low],)


SETTLED_BY: Mapping[str, Callable[[_Ballot], tuple[str, ...] | str]] = {
    "one": _one,
    "many": _many,
    "scale": _scale,
    "spans": _spans,
}
"""Kind of question → how its answers are settled; a text says why they are not."""


def _basis(rule: AdjudicationRule, found: tuple[str, ...], given: Sequence[tuple[str, ...]]) -> str:
    if len(given) == 1:
        return "single"
    same = sum(set(labels) == set(found) for labels in given)
    if same == len(given):
        return "unanimous"
    return "median" if rule.rule == "severe" and 2 * same <= len(given) else "majority"
