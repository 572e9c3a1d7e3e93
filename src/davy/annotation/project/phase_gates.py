"""When a phase may open and close, and what comes after it, by the table of `project.phase_kind`.

A project and its phases in, one `PhaseStatus` per phase out: what is done, what is
allowed, and where not, why. A manager who knows better goes on anyway, with a reason that the record keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pkgutil import resolve_name
from typing import Any

from davy.annotation.labelling import screening
from davy.annotation.labelling.store.tallies import Tally
from davy.annotation.project import images, monitoring
from davy.annotation.project.project import Member, Phase, Project
from davy.annotation.project.settings import CONSENT_UNREAD
from davy.annotation.project.store import members, phases
from davy.annotation.settling import agreement
from davy.annotation.settling.store import phase_answers
from davy.core import UserError
from davy.core.feature import features
from davy.people.store import invitations
from davy.store import Connection, events

EXACT = 20_000
"""Up to so many posts the states of items are counted; beyond, tallies must do, since a page has no time."""

SENTENCES: Mapping[str, str] = {
    "project_closed": "The project is closed.",
    "no_posts": "It has no posts yet.",
    "consent_unread": "The consent text is the preset's. Read it on the page Settings, and say that it is true here.",
    "no_pictures": "Posts name {n} pictures that are not here: {name} and so on. Add them on the page Pictures.",
    "no_people": "Annotators needed: {n}. On the roster: {have}.",
    "before_open": "Phase {phase} is still open.",
    "before_waiting": "Phase {phase} comes first.",
    "gate_shut": "People don't agree far enough in phase {phase} yet: {figures} (wanted: {least}).",
    "not_done": "{missing} of {people} people have posts left to answer.",
    "nobody": "Nobody has answered yet.",
    "no_answer": "{n} posts have no shared answer yet.",
    "undecided": "For {n} people it is not decided whether they passed.",
    "not_full": "{n} posts still need answers.",
    "cases": "{n} cases wait for an expert.",
    "unsettled": "{n} posts are not settled yet.",
    "round_open": "It closes with round {n}.",
    "no_pictures.one": "Posts name a picture that is not here: {name}. Add it on the page Pictures.",
    "no_answer.one": "One post has no shared answer yet.",
    "undecided.one": "For one person it is not decided whether they passed.",
    "not_full.one": "One post still needs answers.",
    "cases.one": "One case waits for an expert.",
    "unsettled.one": "One post is not settled yet.",
}


@dataclass(frozen=True, slots=True)
class GateReason:
    """Why something is not allowed yet: a key of `SENTENCES` and what fills it in, so that pages can translate it."""

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        of_one = SENTENCES.get(f"{self.key}.one") if self.values.get("n") == 1 else None
        return (of_one or SENTENCES[self.key]).format(**self.values)


@dataclass(frozen=True, slots=True)
class PhaseStatus:
    """Where a phase stands. `next` says what to do about it: open, close, review, add a set, or nothing."""

    phase: Phase
    answers: int
    people: int
    per_person: float | None
    done: int
    """Posts that need no more answers; in a phase that everyone answers, people who did all."""
    out_of: int
    opens: GateReason | None
    """Why it can't be opened; None where it can, or is open."""
    closes: GateReason | None
    """Why it can't be closed; None where it can, or is not open."""
    fed: bool = False
    """Whether something goes on adding posts to it: a community, a round, or an earlier phase."""
    next: str | None = None
    gate: agreement.AgreementGateResult | None = None

    @property
    def may_open(self) -> bool:
        """Whether its rule lets it be opened."""
        return self.phase.state != "open" and self.opens is None

    @property
    def may_close(self) -> bool:
        """Whether its rule lets it be closed."""
        return self.phase.state == "open" and self.closes is None


def phase_statuses(db: Connection, project: Project) -> list[PhaseStatus]:
    """Return where every phase of a project stands, in their order: the rows of a table such as GMHP7k's fifth."""
    every = phases.of_project(db, project.id)
    given = phase_answers.tallies_of(db, [phase.id for phase in every])
    people = members.of_project(db, project.id)
    fed = fed_phases(db, project.id)
    gates: dict[str, agreement.AgreementGateResult] = {}
    return [_phase_status(db, project, phase, every, given, people, gates, fed) for phase in every]


def fed_phases(db: Connection, project_id: str) -> set[str]:
    """Return the ids of phases that a feature goes on adding posts to."""
    asked = [resolve_name(feature.fed_phases) for feature in features() if feature.fed_phases is not None]
    return {phase for of_feature in asked for phase in of_feature(db, project_id)}


def phase_status(db: Connection, project: Project, phase: Phase) -> PhaseStatus:
    """Return where one phase stands."""
    return next(status for status in phase_statuses(db, project) if status.phase.id == phase.id)


def open_phase(db: Connection, project: Project, phase: Phase, *, by: str, anyway: str | None = None) -> Phase:
    """Open a phase if its rule allows it, or with a reason `anyway`; return it."""
    status = phase_status(db, project, phase)
    if phase.state == "open":
        return phase
    _allow(db, project, phase, status.opens or _missing_pictures(db, project), "opened", by=by, anyway=anyway)
    return phases.open_phase(db, phase.id, by=by)


def _missing_pictures(db: Connection, project: Project) -> GateReason | None:
    """Return that pictures are missing. It reads all posts, so it is asked when a phase opens, not by every page."""
    missing = images.missing_names(db, project.id)
    return GateReason("no_pictures", {"n": len(missing), "name": missing[0][:80]}) if missing else None


def close_phase(db: Connection, project: Project, phase: Phase, *, by: str, anyway: str | None = None) -> Phase:
    """Close a phase if its rule allows it, or with a reason `anyway`; return it. A screening hands out its results."""
    if phase.state == "closed":
        return phase
    if phase.state == "waiting":
        raise UserError(f"Phase {phase.name!r} was never opened.", status=409)
    status = phase_status(db, project, phase)
    _allow(db, project, phase, status.closes, "closed", by=by, anyway=anyway)
    if phase.behaviour.screens:
        hand_out_posts(db, project, phase)
    return phases.close_phase(db, phase.id, by=by)


def hand_out_posts(db: Connection, project: Project, phase: Phase) -> None:
    """Note for everyone how their screening went, so that those who passed go on."""
    for result in screening.screening_results(db, project, phase, agreement.scheme_of(db, project)):
        if result.state != screening.OPEN and members.get(db, project.id, result.user) is not None:
            members.choose(db, project.id, result.user, screening=result.state)


def _allow(
    db: Connection, project: Project, phase: Phase, reason: GateReason | None, what: str, *, by: str, anyway: str | None
) -> None:
    if reason is None:
        return
    why = (anyway or "").strip()
    if reason.key in ("project_closed", "no_posts"):  # nothing that a reason could mend
        raise PhaseNotReady(phase, reason)
    if not why:
        raise PhaseNotReady(phase, reason)
    if len(why) > 500:
        raise UserError(f"A reason has at most 500 characters, this one has {len(why)}.")
    about = f"project {project.id}"
    events.record(db, by=by, what=f"phase {what} anyway", about=about, phase=phase.name, rule=str(reason), reason=why)


class PhaseNotReady(UserError):
    """A phase's rule does not let it go on yet; pages find its words by `key` and `values`."""

    def __init__(self, phase: Phase, reason: GateReason) -> None:
        super().__init__(f"Phase {phase.name!r} can't go on yet. {reason}", status=409)
        self.key, self.values = f"going.{reason.key}", reason.values


def _phase_status(
    db: Connection,
    project: Project,
    phase: Phase,
    every: Sequence[Phase],
    given: Sequence[Tally],
    people: Sequence[Member],
    gates: dict[str, agreement.AgreementGateResult],
    fed: Collection[str],
) -> PhaseStatus:
    tallies = [tally for tally in given if tally.phase == phase.id]
    active = [tally for tally in tallies if tally.given]
    workers = [member for member in people if "annotator" in member.roles]
    done, out_of = _progress(db, phase, tallies, workers)
    # A discussion's answers are everybody's: one a post, and none of them one person's.
    answers = done if phase.behaviour.shared else sum(tally.given for tally in tallies)
    closes = None
    if phase.state == "open":
        closes = closing_rule(phase.behaviour.closes_by)(OpenPhase(db, project, phase, tallies, workers, done))
    return PhaseStatus(
        phase,
        answers,
        len(active),
        None if phase.behaviour.shared or not active else answers / len(active),
        done,
        out_of,
        _opens(db, project, phase, every, workers, gates, done, fed=phase.id in fed) if phase.state != "open" else None,
        closes,
        phase.id in fed,
        _next(db, project, phase, every, closes, gates, used=answers > 0 and phase.id not in fed),
        _gate(db, project, phase, gates) if phase.behaviour.gate and answers else None,
    )


def _progress(db: Connection, phase: Phase, tallies: Sequence[Tally], workers: Sequence[Member]) -> tuple[int, int]:
    if phase.answers is None:
        return len(workers) - len(_unfinished(phase, tallies, workers)), len(workers)
    if phase.behaviour.shared or phase.size <= EXACT:
        states = phase_answers.count_states(db, phase.id)
        return phase.size - states.get("open", 0), phase.size
    return min(phase.size, sum(tally.filled for tally in tallies)), phase.size


def _unfinished(phase: Phase, tallies: Sequence[Tally], workers: Sequence[Member]) -> list[Member]:
    did = {tally.annotator: tally.given + tally.refused for tally in tallies}
    wanted = phase.settings.get("people") or ()
    eligible = [one for one in workers if not wanted or {one.user, one.pseudonym, one.pool} & set(wanted)]
    return [member for member in eligible if did.get(member.user, 0) < phase.size]


def _opens(
    db: Connection,
    project: Project,
    phase: Phase,
    every: Sequence[Phase],
    workers: Sequence[Member],
    gates: dict[str, agreement.AgreementGateResult],
    done: int,
    *,
    fed: bool,
) -> GateReason | None:
    """Return why a phase can't be opened, or None. Training and screening may go on beside what comes after them."""
    if project.state != "open":
        return GateReason("project_closed")
    if not phase.size and not phase.behaviour.grows and not fed:
        return GateReason("no_posts")
    before = [other for other in every if other.position < phase.position and other.size]
    for earlier in before:
        if earlier.behaviour.next_opens == "after" and earlier.state == "open":
            return GateReason("before_open", {"phase": earlier.name})
        if earlier.state == "waiting" and not earlier.behaviour.gate:
            return GateReason("before_waiting", {"phase": earlier.name})
    shut = _after_calibration(db, project, phase, before, gates)
    if shut is not None:
        return shut
    fewest = phase.behaviour.fewest_people
    needed = phase.answers or 1 if fewest is None else fewest
    answered = phase.answers is not None and 0 < phase.size <= done  # by people of a file that was brought in
    # Entries of a round wait for the people who are invited to it.
    have = len(workers) + (invitations.count_open(db, project.id, "annotator") if phase.behaviour.from_round else 0)
    if have < needed and not answered:
        return GateReason("no_people", {"n": needed, "have": have})
    return GateReason("consent_unread") if project.settings.get(CONSENT_UNREAD) else None


def _after_calibration(
    db: Connection,
    project: Project,
    phase: Phase,
    before: Sequence[Phase],
    gates: dict[str, agreement.AgreementGateResult],
) -> GateReason | None:
    """Return why people are not in step yet: the last calibration that was done must have passed its gate."""
    sets = [other for other in before if other.behaviour.gate]
    if not sets:
        return None
    closed = [other for other in sets if other.state == "closed"]
    if phase.behaviour.gate:  # sets come one after another
        return None if len(closed) == len(sets) else GateReason("before_waiting", {"phase": sets[len(closed)].name})
    if not closed:
        return GateReason("before_waiting", {"phase": sets[0].name})
    gate = _gate(db, project, closed[-1], gates)
    return None if gate.passed else _shut(closed[-1], gate)


def _shut(phase: Phase, gate: agreement.AgreementGateResult) -> GateReason:
    figures = ", ".join(
        f"{line.question} {'–' if line.metric is None or line.metric.value is None else f'{line.metric.value:.2f}'}"
        for line in gate.lines
    )
    least = f"{gate.lines[0].at_least:g}" if gate.lines else "–"
    return GateReason("gate_shut", {"phase": phase.name, "figures": figures or "–", "least": least})


def _gate(
    db: Connection, project: Project, phase: Phase, gates: dict[str, agreement.AgreementGateResult]
) -> agreement.AgreementGateResult:
    if phase.id not in gates:
        gates[phase.id] = monitoring.gate_of(db, project, phase)
    return gates[phase.id]


@dataclass(frozen=True, slots=True)
class OpenPhase:
    """What a closing rule looks at."""

    db: Connection
    project: Project
    phase: Phase
    tallies: Sequence[Tally]
    workers: Sequence[Member]
    done: int


def _everyone_answered(work: OpenPhase) -> GateReason | None:
    missing = len(_unfinished(work.phase, work.tallies, work.workers))
    if missing:
        return GateReason("not_done", {"missing": missing, "people": len(work.workers)})
    return None if any(tally.given for tally in work.tallies) else GateReason("nobody")


def _shared_answers(work: OpenPhase) -> GateReason | None:
    left = work.phase.size - work.done
    return GateReason("no_answer", {"n": left}) if left > 0 else None


def _people_decided(work: OpenPhase) -> GateReason | None:
    scheme = agreement.scheme_of(work.db, work.project)
    results = screening.screening_results(work.db, work.project, work.phase, scheme)
    waiting = sum(result.state == screening.OPEN for result in results)
    return GateReason("undecided", {"n": waiting}) if waiting or not results else None


def posts_settled(work: OpenPhase) -> GateReason | None:
    """Return why a phase stays open until every post is settled and no case waits for an expert."""
    if work.phase.answers is None:  # `done` counts people there
        left = phase_answers.count_states(work.db, work.phase.id).get("open", 0)
    else:
        left = work.phase.size - work.done
    if left > 0:
        return GateReason("not_full", {"n": left})
    cases = phase_answers.count_open_cases(work.db, work.project.id)
    if cases:
        return GateReason("cases", {"n": cases})
    exact = work.phase.size <= EXACT
    unsettled = phase_answers.count_states(work.db, work.phase.id).get("full", 0) if exact else 0
    return GateReason("unsettled", {"n": unsettled}) if unsettled else None


def _posts_answered(work: OpenPhase) -> GateReason | None:
    if work.phase.answers is None:
        return _everyone_answered(work)
    left = work.phase.size - work.done
    return GateReason("not_full", {"n": left}) if left > 0 else None


ClosingRule = Callable[[OpenPhase], GateReason | None]
CLOSING_RULES: Mapping[str, ClosingRule] = {
    "everyone answered": _everyone_answered,
    "shared answers": _shared_answers,
    "people decided": _people_decided,
    "posts settled": posts_settled,
    "posts answered": _posts_answered,
}
"""Why an open phase can't be closed, or None: a function for each `closes_by` of a kind of phase."""


@cache
def closing_rule(name: str) -> ClosingRule:
    """Return the rule of this name: one of `CLOSING_RULES` or of a feature."""
    own = {key: target for feature in features() for key, target in feature.closing_rules.items()}
    rule: ClosingRule = CLOSING_RULES[name] if name in CLOSING_RULES else resolve_name(own[name])
    return rule


def _next(
    db: Connection,
    project: Project,
    phase: Phase,
    every: Sequence[Phase],
    closes: GateReason | None,
    gates: dict[str, agreement.AgreementGateResult],
    *,
    used: bool,
) -> str | None:
    """Return what to do next about a phase: close it if it was `used` and gets no more posts.

    After a calibration that failed: review it and go on.
    """
    if phase.state == "open":
        return "close" if closes is None and used else None
    if phase.state == "closed" and phase.behaviour.gate:
        later = [other for other in every if other.behaviour.gate and other.position > phase.position]
        done = [other for other in later if other.state != "waiting"]
        if done or _gate(db, project, phase, gates).passed:
            return None
        return "review" if later else "add set"
    return None
