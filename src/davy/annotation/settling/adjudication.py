"""Settling posts: an item's answers or a discussion's shared answer in; verdicts, and cases for experts, out.

`settle_item` runs in the transaction that saved the last answer and may run again: it writes only what changed. What
an expert decided (`settling.expert_cases`) stands against later answers.

Flags are settled by majority and kept as a case of kind `flag`: settled at once if it is only noted, open if an expert
is to look. A project says with `flags: {unrealistic: {rule: majority, otherwise: drop}}` when a flag holds and what
follows then: `open` notes it, `expert` asks one, `drop` drops the post.

A shared answer is by `together`, with the notes of the talk; writing it down again replaces it. In a phase that counts
for the corpus it is also the verdict, by consensus. It is counted in a tally of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from davy.annotation.labelling.store import annotations, items, prefetch, tallies
from davy.annotation.project.project import Item, Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.settings import AdjudicationRule
from davy.annotation.project.store import posts
from davy.annotation.settling.rules import (
    RuleOutcome,
    Rules,
    flag_holds,
    flag_votes,
    questions_for_expert,
    read_rules,
    settle,
)
from davy.annotation.settling.store import cases, verdicts
from davy.annotation.settling.store.cases import AdjudicationCase
from davy.annotation.settling.store.verdicts import PostVerdicts
from davy.core import Annotation, Scheme, UserError, Verdict
from davy.core.annotation import Answers
from davy.store import Connection, events
from davy.store.columns import new_id, now

NOTED = AdjudicationRule("majority", otherwise="open")
NOT_NEEDED = "no longer needed"
"""Why a case was closed that no expert has to look at any more; a changed answer may ask for one again."""
TOGETHER = "together"
MOST_NOTES = 20_000


@dataclass(frozen=True, slots=True)
class ExpertDecision:
    """What an expert said to one question, and why."""

    labels: tuple[str, ...]
    by: str
    reason: str | None


def rules_of(project: Project, phase: Phase, scheme: Scheme) -> Rules:
    """Return the project's rules; in an expert's phase of one answer a post, that answer settles it."""
    if phase.behaviour.by_experts and phase.answers == 1:
        return read_rules(scheme, {"*": {"rule": "single"}})
    return read_rules(scheme, project.settings.get("adjudication"))


def settle_item(db: Connection, project: Project, phase: Phase, item: Item, scheme: Scheme) -> None:
    """Write what an item's answers settle, and open or close the cases that follow. Harmless when run again."""
    if not phase.behaviour.gives_verdicts:
        return
    prefetch.settlement(db, item)
    known = cases.of_item(db, item.id)
    if any(case.state == "dropped" for case in known):
        return
    rules = rules_of(project, phase, scheme)
    given = answers_of(db, item, scheme)
    decided = expert_decisions(known)
    taken = {name: decision.labels for name, decision in decided.items()}
    outcome = settle(scheme, rules, given, taken, marked_text(db, item, scheme))
    flagged = settle_flags(db, project, item, given, known)
    if flagged == "drop" or outcome.dropped:
        cases.close_open(db, item.id, NOT_NEEDED, by=events.SYSTEM)
        items.set_state(db, item.id, "dropped")
        return
    standing = verdicts.verdicts_of(db, item.post, scheme, project.id)
    _write(db, project, phase, item, scheme, outcome, decided, standing)
    _ask_expert(db, project, item, known, questions_for_expert(rules, outcome))
    state = "full" if outcome.unsettled or flagged == "expert" else "settled"
    if item.state != state:
        items.set_state(db, item.id, state)


def answers_of(db: Connection, item: Item, scheme: Scheme) -> list[Annotation]:
    """Return the current annotations of an item, oldest first."""
    answers = annotations.of_post(db, item.post, scheme=scheme.name, version=scheme.version)
    return [answer for answer in answers if answer.phase == item.phase]


def marked_text(db: Connection, item: Item, scheme: Scheme) -> str:
    """Return the text of an item's post where a question of the scheme asks for words of it, else nothing."""
    return posts.get(db, item.post).text if any(it.marks_text for it in scheme.questions) else ""


def expert_decisions(known: Sequence[AdjudicationCase]) -> dict[str, ExpertDecision]:
    """Return what experts decided on an item, by question; the latest counts."""
    decisions: dict[str, ExpertDecision] = {}
    settled = [case for case in known if case.state == "settled"]
    for case in sorted(settled, key=lambda case: case.settled_at or case.opened_at):
        for name, labels in case.outcome.get("answers", {}).items():
            decisions[name] = ExpertDecision(tuple(labels), case.settled_by or events.SYSTEM, case.reason)
    return decisions


def _write(
    db: Connection,
    project: Project,
    phase: Phase,
    item: Item,
    scheme: Scheme,
    outcome: RuleOutcome,
    decided: Mapping[str, ExpertDecision],
    standing: PostVerdicts,
) -> None:
    """Add the verdicts that differ from those that stand, and take back those on questions that are passed over now."""
    fresh: list[tuple[Verdict, str]] = []
    for name, settled in outcome.verdicts.items():
        word = decided.get(_asked_question(scheme, name)) if settled.basis == "expert" else None
        basis = "expert" if phase.behaviour.by_experts and settled.basis == "single" else settled.basis
        verdict = Verdict(item.post, name, settled.labels, basis, settled.annotations, word.reason if word else None)
        if standing.verdicts.get(name) != verdict:
            fresh.append((verdict, word.by if word else events.SYSTEM))
    verdicts.add_settled(db, fresh, scheme, project=project.id, post=item.post, turns=standing.turns)
    for name, stood in standing.verdicts.items():
        above = _passed_over_by(scheme, name, outcome) if stood.labels and name not in outcome.verdicts else None
        if above is not None:
            fallen = Verdict(item.post, name, (), above.basis, above.annotations)
            verdicts.take_back(db, fallen, scheme, by=events.SYSTEM, project=project.id)


def _passed_over_by(scheme: Scheme, name: str, outcome: RuleOutcome) -> Verdict | None:
    """Return the verdict above a question that leads past it, or None where the question may still be asked."""
    question = scheme.question(name)
    if question.under is None:
        return None
    above = outcome.verdicts.get(question.under[0])
    if above is None:
        return _passed_over_by(scheme, question.under[0], outcome)
    return None if question.applies_under(above.labels) else above


def _asked_question(scheme: Scheme, name: str) -> str:
    """Return the question that people are asked, where `name` follows from another."""
    derived = scheme.question(name).derived
    return _asked_question(scheme, derived[0]) if derived else name


def _ask_expert(
    db: Connection, project: Project, item: Item, known: Sequence[AdjudicationCase], wanted: Mapping[str, str]
) -> None:
    """Open, change or close the case about what the answers left unsettled."""
    waiting = next((case for case in known if case.kind == "disagreement" and case.state == "open"), None)
    questions, why = tuple(wanted), tuple(wanted.values())
    if waiting is None and wanted:
        cases.add(
            db,
            project=project.id,
            item=item.id,
            post=item.post,
            kind="disagreement",
            questions=questions,
            why=why,
            by=events.SYSTEM,
        )
    elif waiting is not None and not wanted:
        outcome = {**waiting.outcome, "why": NOT_NEEDED}
        cases.settle(db, waiting.id, by=events.SYSTEM, outcome=outcome, reason=None)
    elif waiting is not None and (waiting.questions, waiting.why) != (questions, why):
        cases.change(db, waiting.id, questions=questions, why=why)


def settle_flags(
    db: Connection, project: Project, item: Item, given: Sequence[Annotation], known: Sequence[AdjudicationCase]
) -> str:
    """Note what people flagged and return what follows: `open`, `expert` or `drop`. What an expert saw stands."""
    rules = {flag: AdjudicationRule(**rule) for flag, rule in (project.settings.get("flags") or {}).items()}
    votes = flag_votes(given)
    holding = [flag for flag, n in votes.items() if flag_holds(rules.get(flag, NOTED), n)]
    follows = {rules.get(flag, NOTED).otherwise for flag in holding}
    what = next((step for step in ("drop", "expert") if step in follows), "open")
    flagged = [case for case in known if case.kind == "flag"]
    if any(case.outcome.get("decisions") for case in flagged):
        return "open"
    record = {flag: {"for": n, "of": of, "holds": flag in holding} for flag, (n, of) in votes.items()}
    last = flagged[-1].outcome if flagged else {}
    if record == last.get("flags", {}) and not (what == "expert" and last.get("why") == NOT_NEEDED):
        return what
    for case in flagged:
        if case.state == "open":
            cases.settle(db, case.id, by=events.SYSTEM, outcome={**case.outcome, "why": "flags changed"}, reason=None)
    cases.add(
        db,
        project=project.id,
        item=item.id,
        post=item.post,
        kind="flag",
        why=holding,
        by=events.SYSTEM,
        state="open" if what == "expert" else "settled",
        outcome={"flags": record},
    )
    return what


def save_shared(
    db: Connection,
    project: Project,
    phase: Phase,
    item: Item,
    answers: Answers,
    notes: str,
    *,
    by: str,
    annotation_id: str | None = None,
) -> Annotation:
    """Keep what a discussion agreed on about an item, and return it; an earlier answer is replaced."""
    if not phase.behaviour.shared or item.phase != phase.id or phase.project != project.id:
        raise UserError("A shared answer belongs to an item of a discussion phase of the project.", status=409)
    if phase.state != "open" or project.state != "open":
        raise UserError(f"Phase {phase.name!r} is not open, so nothing is saved in it.", status=409)
    notes = notes.strip()
    if len(notes) > MOST_NOTES:
        raise UserError(f"The notes have {len(notes):,} characters; the most is {MOST_NOTES:,}.", status=413)
    scheme = scheme_of(db, project)
    faults = scheme.faults(answers, complete=True, text=posts.get(db, item.post).text)
    if faults:
        raise UserError(f"The answers don't fit the questions: {faults[0]}.")
    items.lock(db, item.id)
    earlier = shared_answer(db, project, phase, item)
    if annotation_id is not None and earlier is not None and earlier.id == annotation_id:
        return earlier
    given = Annotation(
        id=annotation_id or new_id(),
        post=item.post,
        annotator=TOGETHER,
        scheme=scheme.name,
        scheme_version=scheme.version,
        guideline_version=scheme.guideline.version if scheme.guideline else 0,
        answers={name: tuple(labels) for name, labels in answers.items()},
        at=now(),
        comment=notes or None,
        replaces=earlier.id if earlier else None,
        project=project.id,
        phase=phase.id,
    )
    annotations.add(db, given, scheme)
    items.settle_shared(db, item.id, settled=phase.in_corpus)
    new = int(earlier is None)
    tallies.count(db, phase.id, TOGETHER, at=given.at, given=new, filled=new)
    events.record(db, by=by, what="shared answer given", about=f"item {item.id}", annotation=given.id)
    if phase.in_corpus:
        _settle_agreed(db, project, scheme, given, by=by)
    return given


def _settle_agreed(db: Connection, project: Project, scheme: Scheme, given: Annotation, *, by: str) -> None:
    """Write a shared answer down as the verdict; what an earlier one settled and nobody asks any more is taken back."""
    agreed = scheme.completed(given.answers)
    stood = verdicts.of_post(db, given.post, scheme=scheme.name, version=scheme.version, project=project.id)
    for question, labels in agreed.items():
        verdict = Verdict(given.post, question, labels, "consensus", (given.id,))
        verdicts.add(db, verdict, scheme, by=by, again=True, project=project.id)
    for question, verdict in stood.items():
        if question not in agreed and verdict.labels:
            fallen = Verdict(given.post, question, (), "consensus", (given.id,))
            verdicts.take_back(db, fallen, scheme, by=by, project=project.id)


def shared_answer(db: Connection, project: Project, phase: Phase, item: Item) -> Annotation | None:
    """Return what a discussion agreed on about an item so far, or None."""
    answers = annotations.of_post(db, item.post, scheme=project.scheme, version=project.scheme_version)
    return next((one for one in answers if one.annotator == TOGETHER and one.phase == phase.id), None)
