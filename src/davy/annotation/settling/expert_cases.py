"""Experts settle what the rules left open: they see the answers without names, decide, and give a reason.

An expert never settles a post that they labelled or wrote, and answers only
what is open to them: an answer to a parent may settle its children from the
annotators' answers, else they are asked in the same sitting. Where a rule wants
several experts and they differ, the post is dropped.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from davy.annotation.labelling.store import items
from davy.annotation.project.project import Member, Project
from davy.annotation.project.store import phases, posts
from davy.annotation.settling.adjudication import answers_of, expert_decisions, marked_text, rules_of, settle_item
from davy.annotation.settling.rules import Rules, questions_for_expert, settle
from davy.annotation.settling.store import cases
from davy.annotation.settling.store.cases import AdjudicationCase
from davy.core import Annotation, Question, Scheme, UserError, Verdict
from davy.core.annotation import Answers
from davy.store import Connection
from davy.store.columns import now

MOST_REASON = 2_000
DROPPED_ELSEWHERE = "dropped in another case"
_NOT_UNDONE = {
    "others": "Another expert decided on this post since, or the decision is not yours.",
    "closed": "The phase of this post is closed, so what was decided stays.",
    "derived": "Somebody wrote another post from this one since, so its decision stays.",
}
_HELD = "Another expert holds this case. Take the next one."


class CaseRefused(UserError):
    """A case can't be opened or decided; `why` is a word that a page has a sentence for."""

    def __init__(self, why: str, message: str, *, status: int = 400) -> None:
        super().__init__(message, status=status)
        self.why = why


@dataclass(frozen=True, slots=True)
class AnonymousAnswer:
    """What one person answered, as experts see it: a letter stands for the name."""

    letter: str
    answers: Answers
    flags: tuple[str, ...]
    comment: str | None


@dataclass(frozen=True, slots=True)
class CaseReview:
    """A case in an expert's hands, given the `answers` that they have chosen so far."""

    case: AdjudicationCase
    voices: Sequence[AnonymousAnswer]
    questions: Sequence[Question]
    """What they have to answer, parents first; choosing an answer may call for another question, or make one fall."""
    settled: Mapping[str, Verdict]
    """What stands without them."""
    answers: Answers
    rules: Rules

    @property
    def missing(self) -> list[str]:
        """The questions that are not answered yet."""
        return [it.name for it in self.questions if it.name not in self.answers]


def take_case(db: Connection, project: Project, member: Member) -> AdjudicationCase | None:
    """Return the next case for an expert, leased to them; never one about a post that they labelled or wrote."""
    return cases.take(db, project.id, member.user)


def open_case(
    db: Connection,
    project: Project,
    member: Member,
    case_id: str,
    scheme: Scheme,
    answers: Answers | None = None,
    also: Collection[str] = (),
) -> CaseReview:
    """Return a case for an expert to decide, leased to them; `answers` are those that they have chosen so far.

    `also` names settled questions that they want to decide again: people can be wrong together.
    """
    case = _leased_case(db, project, member, case_id)
    return _sitting(db, project, case, scheme, answers or {}, also)


def review_case(
    db: Connection, project: Project, member: Member, case: AdjudicationCase, scheme: Scheme, answers: Answers
) -> CaseReview:
    """Return a case as an expert's answers would leave it, without a lease; who may not settle it is refused."""
    _check_may(db, project, case, member)
    if case.held_by not in (None, member.user) and case.leased_until is not None and case.leased_until >= now():
        raise CaseRefused("held", _HELD, status=409)
    return _sitting(db, project, case, scheme, answers, ())


def decide(
    db: Connection,
    project: Project,
    case_id: str,
    member: Member,
    scheme: Scheme,
    answers: Answers,
    reason: str,
    also: Collection[str] = (),
) -> str:
    """Decide a case and return what became of it: `settled`, `waiting` for another expert, or `dropped`."""
    reason = checked_reason(reason)
    here = open_case(db, project, member, case_id, scheme, answers, also)
    check_answers(scheme, here, answers, posts.get(db, here.case.post).text)
    decision = {"by": member.user, "answers": {k: list(v) for k, v in here.answers.items()}, "reason": reason}
    decisions = [*here.case.outcome.get("decisions", ()), decision]
    outcome = {**here.case.outcome, "decisions": decisions}
    if _differ(decisions, here.rules):
        outcome["why"] = "experts differ"
        _drop(db, here.case, member, outcome, reason)
        return "dropped"
    if len(decisions) < max((here.rules[name].experts for name in here.answers), default=1):
        cases.keep_decision(db, case_id, by=member.user, outcome=outcome)
        return "waiting"
    # They agree on what all have to agree on; on the rest the first one's word stands.
    outcome["answers"] = {k: v for it in reversed(decisions) for k, v in it["answers"].items()}
    words = " / ".join(it["reason"] for it in decisions)
    cases.settle(db, case_id, by=member.user, outcome=outcome, reason=words)
    item = items.get(db, here.case.item)
    settle_item(db, project, phases.get(db, item.phase), item, scheme)
    return "settled"


def drop_post(db: Connection, project: Project, case_id: str, member: Member, reason: str) -> None:
    """Drop a case's post from the corpus, with a reason; what people answered stays in the record."""
    reason = checked_reason(reason)
    case = _leased_case(db, project, member, case_id)
    decisions = [*case.outcome.get("decisions", ()), {"by": member.user, "answers": {}, "reason": reason}]
    _drop(db, case, member, {**case.outcome, "decisions": decisions, "why": "dropped by an expert"}, reason)


def why_not_undone(
    db: Connection, project: Project, case: AdjudicationCase, member: Member, on_item: Sequence[AdjudicationCase]
) -> str:
    """Return why an expert can't take back what they decided on a case, as a word; empty if they can."""
    decisions = case.outcome.get("decisions") or ()
    if case.project != project.id or not decisions or decisions[-1]["by"] != member.user:
        return "others"
    phase = phases.get(db, items.get(db, case.item).phase)
    if project.state != "open" or (phase.state != "open" and case.kind != "audit"):
        return "closed"
    later = [it for it in on_item if it.settled_at and case.settled_at and it.settled_at > case.settled_at]
    if any(it.outcome.get("decisions") for it in later):
        return "others"
    return "derived" if posts.has_derived(db, case.post) else ""


def undo(db: Connection, project: Project, member: Member, case_id: str, scheme: Scheme) -> None:
    """Open a case again for the expert who decided it last. Its verdicts count until a new decision replaces them.

    The decision stays in the record. A post that it dropped comes back, with its other cases.
    """
    case = cases.get(db, case_id)
    item = items.get(db, case.item)
    items.lock(db, item.id)
    on_item = cases.of_item(db, item.id)
    why = why_not_undone(db, project, case, member, on_item)
    if why:
        raise CaseRefused(f"undo_{why}", _NOT_UNDONE[why], status=409)
    *decisions, last = case.outcome["decisions"]
    undone = {"whom": last["by"], "answers": last["answers"], "reason": last["reason"]}
    kept = {name: value for name, value in case.outcome.items() if name not in ("answers", "why")}
    cases.reopen(
        db,
        case.id,
        by=member.user,
        outcome={**kept, "decisions": decisions, "undone": [*kept.get("undone", ()), undone]},
    )
    if case.state == "dropped":
        for other in on_item:
            if other.state == "dropped" and other.id != case.id and other.outcome.get("why") == DROPPED_ELSEWHERE:
                outcome = {name: value for name, value in other.outcome.items() if name != "why"}
                cases.reopen(db, other.id, by=member.user, outcome=outcome, held=False)
        items.set_state(db, item.id, "full")
    settle_item(db, project, phases.get(db, item.phase), items.get(db, item.id), scheme)


def last_undone(case: AdjudicationCase, member: Member) -> tuple[Answers, str]:
    """Return what an expert took back on a case, as the start of their new decision; nothing if they took none back."""
    mine = [it for it in case.outcome.get("undone", ()) if it["whom"] == member.user]
    if not mine or case.outcome.get("decisions"):
        return {}, ""
    return {name: tuple(labels) for name, labels in mine[-1]["answers"].items()}, str(mine[-1]["reason"])


def give_back(db: Connection, project: Project, member: Member, case_id: str | None = None) -> int:
    """Release one case that an expert holds, or all of them as when they leave; return how many."""
    return cases.release(db, project.id, member.user, case_id=case_id)


def checked_reason(reason: str) -> str:
    """Return a reason without blanks around it; none, or one that is too long, is refused."""
    reason = reason.strip()
    if not reason:
        raise CaseRefused("reason", "Give a reason: the annotators learn from it, and the guideline grows by it.")
    if len(reason) > MOST_REASON:
        raise CaseRefused(
            "long", f"The reason has {len(reason):,} characters; at most {MOST_REASON:,} are kept.", status=413
        )
    return reason


def check_answers(scheme: Scheme, here: CaseReview, answers: Answers, text: str) -> None:
    """Refuse answers that leave a case open, are not asked in it, don't fit the scheme or decide nothing."""
    stray = next((name for name in answers if name not in here.answers), None)
    if stray is not None:
        raise UserError(f"{stray!r} is not for you to answer in this case: it is settled, or does not apply.")
    if here.missing:
        raise CaseRefused("missing", f"{here.missing[0]!r} is not answered yet.")
    full = {**{name: it.labels for name, it in here.settled.items()}, **here.answers}
    faults = scheme.faults(full, complete=False, text=text)
    if faults:
        raise UserError(f"The answers don't fit scheme {scheme.name!r}: {faults[0]}")
    for name, labels in here.answers.items():
        tables = [it.derived[1] for it in scheme.questions if it.derived and it.derived[0] == name]
        if here.rules[name].rule == "severe" and any(labels[0] not in table for table in tables):
            raise CaseRefused("undecided", f"{labels[0]!r} decides nothing. Choose another answer, or drop the post.")
        if scheme.question(name).required and not labels:
            raise CaseRefused("missing", f"{name!r} needs at least one label.")


def _leased_case(db: Connection, project: Project, member: Member, case_id: str) -> AdjudicationCase:
    """Return a case that is this expert's from now on, or refuse it."""
    case = cases.get(db, case_id)
    _check_may(db, project, case, member)
    if not cases.hold(db, case.id, member.user):
        raise CaseRefused("held", _HELD, status=409)
    return case


def _sitting(
    db: Connection, project: Project, case: AdjudicationCase, scheme: Scheme, answers: Answers, also: Collection[str]
) -> CaseReview:
    item = items.get(db, case.item)
    rules = rules_of(project, phases.get(db, item.phase), scheme)
    given = answers_of(db, item, scheme)
    if case.kind == "flag":
        return CaseReview(case, _voices(case, given), (), {}, {}, rules)
    text = marked_text(db, item, scheme)
    chosen = {name: tuple(labels) for name, labels in answers.items()}
    decided = {name: it.labels for name, it in expert_decisions(cases.of_item(db, case.item)).items()}
    taken: dict[str, tuple[str, ...]] = {}
    reviewed = (_reviewed(case) | set(also)) & set(rules)
    while True:  # an answer counts only once its question is open to the expert, and may open the next
        outcome = settle(scheme, rules, given, {**decided, **taken}, text)
        asked = {name for name in (*outcome.verdicts, *outcome.unsettled) if name in taken}
        asked |= {*questions_for_expert(rules, outcome), *(reviewed & {*outcome.verdicts, *outcome.unsettled})}
        more = {name: labels for name, labels in chosen.items() if name in asked and name not in taken}
        if not more:
            break
        taken |= more
    questions = [it for it in scheme.questions if it.name in asked]
    settled = {name: it for name, it in outcome.verdicts.items() if name not in asked}
    kept = {name: labels for name, labels in taken.items() if name in asked}
    return CaseReview(case, _voices(case, given), questions, settled, kept, rules)


def _reviewed(case: AdjudicationCase) -> set[str]:
    """Return the questions that are asked again though they are settled: those that an audit doubts."""
    return set(case.questions) if case.kind == "audit" else set()


def _voices(case: AdjudicationCase, given: Sequence[Annotation]) -> list[AnonymousAnswer]:
    """Return the answers in an order by chance that stays the same for a case, under letters."""
    panel = sorted((it for it in given if not it.refused), key=lambda it: it.id)
    random.Random(case.id).shuffle(panel)  # noqa: S311 — an order, not a secret
    return [
        AnonymousAnswer(chr(ord("A") + place % 26), it.answers, it.flags, it.comment) for place, it in enumerate(panel)
    ]


def _check_may(db: Connection, project: Project, case: AdjudicationCase, member: Member) -> None:
    if case.project != project.id:
        raise UserError(f"There is no case {case.id!r} in this project.", status=404)
    if case.state != "open":
        raise CaseRefused("settled", "This case was settled a moment ago. Take the next one.", status=409)
    if cases.has_labelled(db, case.post, member.user):
        raise CaseRefused(
            "labelled", "You labelled or wrote this post, so another expert has to settle it.", status=403
        )
    if any(it["by"] == member.user for it in case.outcome.get("decisions", ())):
        raise CaseRefused("decided", "You have decided on this case; now another expert has to.", status=403)


def _differ(decisions: Sequence[Mapping[str, Any]], rules: Rules) -> bool:
    """Return whether experts differ on a question on which several have to agree."""
    first, *others = (it["answers"] for it in decisions)
    return any(
        rules[name].experts > 1 and sorted(labels) != sorted(other.get(name, []))
        for name, labels in first.items()
        for other in others
    )


def _drop(db: Connection, case: AdjudicationCase, member: Member, outcome: Mapping[str, Any], reason: str) -> None:
    cases.settle(db, case.id, by=member.user, outcome=outcome, reason=reason, state="dropped")
    cases.close_open(db, case.item, DROPPED_ELSEWHERE, by=member.user, reason=reason, state="dropped")
    items.set_state(db, case.item, "dropped")
