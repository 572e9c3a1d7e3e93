"""One decision for many cases: what an expert chose for all of them in, what became of each out.

Each case is held to the rules of a single one (`settling.expert_cases`): what can't be
settled this way is left as it was, with a word that says why. The caller's transaction
holds all of them. A severe split is there for an expert to read, so that
no majority settles it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from davy.annotation.labelling.store import items
from davy.annotation.project.project import Member, Project
from davy.annotation.project.settings import AdjudicationRule
from davy.annotation.project.store import posts
from davy.annotation.settling.adjudication import answers_of, expert_decisions, marked_text
from davy.annotation.settling.expert_cases import (
    CaseRefused,
    check_answers,
    checked_reason,
    decide,
    drop_post,
    review_case,
)
from davy.annotation.settling.rules import settle
from davy.annotation.settling.store import cases
from davy.annotation.settling.store.cases import AdjudicationCase
from davy.core import Scheme, UserError
from davy.core.annotation import Answers
from davy.store import Connection, events

DECISIONS: tuple[str, ...] = ("majority", "answer", "keep", "drop")
"""What can be decided for many: each as most people said, one answer, keep flagged posts, drop the posts."""
LEFT: tuple[str, ...] = (
    "settled",
    "held",
    "labelled",
    "decided",
    "severe",
    "no majority",
    "missing",
    "undecided",
    "unfit",
)
"""Why a case is left; pages have words for each."""
MOST_CASES = 25


@dataclass(frozen=True, slots=True)
class SharedDecision:
    """What an expert decides for many cases; `answers` where they give one answer to all."""

    what: str
    answers: Answers = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseDecision:
    """What the shared decision means for one case: the answers that it gets, or why it is left."""

    case: AdjudicationCase
    answers: Answers = field(default_factory=dict)
    left: str = ""
    outcome: str = ""
    """Once it was done: `settled`, `waiting` for another expert, or `dropped`."""


def plan_decisions(
    db: Connection, project: Project, member: Member, scheme: Scheme, case_ids: Iterable[str], shared: SharedDecision
) -> list[CaseDecision]:
    """Return what a decision would do with each case, ordered by id; nothing is written and nothing leased."""
    ids = sorted(set(case_ids))
    if shared.what not in DECISIONS:
        raise UserError(f"{shared.what[:60]!r} is no decision; there are {', '.join(DECISIONS)}.")
    if len(ids) > MOST_CASES:
        raise UserError(f"{len(ids):,} cases at once are too many; at most {MOST_CASES}.")
    return [_plan(db, project, member, scheme, cases.get(db, case_id), shared) for case_id in ids]


def settle_many(
    db: Connection,
    project: Project,
    member: Member,
    scheme: Scheme,
    case_ids: Iterable[str],
    shared: SharedDecision,
    reason: str,
) -> list[CaseDecision]:
    """Decide the cases that may be decided so, and return what became of each."""
    reason = checked_reason(reason)
    planned = plan_decisions(db, project, member, scheme, case_ids, shared)
    done = [one if one.left else _carry_out(db, project, member, scheme, one, shared, reason) for one in planned]
    decided = [one for one in done if not one.left]
    if decided:
        events.record(
            db,
            by=member.user,
            what="cases decided together",
            about=f"project {project.id}",
            decision=shared.what,
            answer="; ".join(f"{name}: {', '.join(labels)}" for name, labels in shared.answers.items()),
            cases=len(decided),
            left=len(done) - len(decided),
        )
    return done


def _plan(
    db: Connection, project: Project, member: Member, scheme: Scheme, case: AdjudicationCase, shared: SharedDecision
) -> CaseDecision:
    try:
        answers = _majority(db, case, scheme) if shared.what == "majority" else shared.answers
        here = review_case(db, project, member, case, scheme, answers)
        if shared.what == "drop":
            return CaseDecision(case)
        if (shared.what == "keep") != (case.kind == "flag"):
            raise CaseRefused("unfit", "Flagged posts are kept or dropped, all others answered or dropped.")
        if shared.what == "majority":
            _check_majority(case, here.missing)
        check_answers(scheme, here, here.answers, posts.get(db, case.post).text)
    except CaseRefused as error:
        return CaseDecision(case, left=error.why)
    except UserError as error:
        if error.status == 404:  # no case of this project
            raise
        return CaseDecision(case, left="unfit")
    return CaseDecision(case, here.answers)


def _majority(db: Connection, case: AdjudicationCase, scheme: Scheme) -> Answers:
    """Return what more than half of the people say to each question, under what experts decided before."""
    item = items.get(db, case.item)
    rules = {question.name: AdjudicationRule("majority") for question in scheme.questions if not question.derived}
    decided = {name: it.labels for name, it in expert_decisions(cases.of_item(db, case.item)).items()}
    outcome = settle(scheme, rules, answers_of(db, item, scheme), decided, marked_text(db, item, scheme))
    return {name: verdict.labels for name, verdict in outcome.verdicts.items() if name in rules}


def _check_majority(case: AdjudicationCase, missing: Sequence[str]) -> None:
    if "severe" in case.why:
        raise CaseRefused("severe", "People are far apart on the scale. Read the post and give an answer.")
    if missing:
        raise CaseRefused("no majority", f"No answer to {missing[0]!r} has a majority.")


def _carry_out(
    db: Connection,
    project: Project,
    member: Member,
    scheme: Scheme,
    planned: CaseDecision,
    shared: SharedDecision,
    reason: str,
) -> CaseDecision:
    case = planned.case
    try:
        if shared.what == "drop":
            drop_post(db, project, case.id, member, reason)
            return CaseDecision(case, outcome="dropped")
        became = decide(db, project, case.id, member, scheme, planned.answers, reason)
    except CaseRefused as error:  # somebody was quicker; a refused case has nothing written but its lease
        cases.release(db, project.id, member.user, case_id=case.id)
        return CaseDecision(case, left=error.why)
    return CaseDecision(case, planned.answers, outcome=became)
