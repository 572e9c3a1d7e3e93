"""What comes next in a project: a checklist from posts to a detector in use, and what one person can do now.

A project and a person's permissions in, `NextSteps` out. Home, the project's overview and the pages of its phases ask
this module alone. The words of a step's act are `step.do.ACT`, filled with its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any
from urllib.parse import quote

from davy.annotation.labelling import eligibility
from davy.annotation.labelling.store import tallies
from davy.annotation.project import phase_gates
from davy.annotation.project.phase_gates import GateReason, PhaseStatus
from davy.annotation.project.project import Member, Phase, Project
from davy.annotation.project.settings import CONSENT_UNREAD
from davy.annotation.project.store import members, messages
from davy.annotation.settling.store import agreements, cases, phase_answers
from davy.core.feature import features
from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.people.store import invitations
from davy.store import Connection

STEPS: tuple[str, ...] = (
    *("posts", "people", "consent", "open", "label", "settle"),
    *("agreement", "export", "train", "check", "use"),
)
"""The lines of the checklist, in their order."""
DONE, NOW, BUSY, LATER = "done", "now", "busy", "later"
"""States of a step: it is done, somebody can do it now, it runs or people are at it, or others come first."""
EXPORT, TRAIN, CHECK = "export project", "train", "check"
"""Kinds of jobs, as `davy.annotation.exchange.jobs` and `davy.runs.jobs` name them."""

May = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do. `act` is a key of the words, `path` is in the project, `permission` says who can do it."""

    name: str
    state: str
    act: str = ""
    path: str = ""
    permission: str = "manage"
    values: Mapping[str, Any] = field(default_factory=dict)
    phase: Phase | None = None
    """The phase that a form opens or closes; None for a link."""
    reason: GateReason | None = None
    """Why it can't be done yet."""
    progress: Sequence[tuple[Phase, int]] = ()
    """For labelling: the phases, and how many posts this person has done in each."""


@dataclass(frozen=True, slots=True)
class WrittenPosts:
    """How people write a project's posts themselves, which a feature says through its hook of that name."""

    begun: bool
    posts: Step
    """The checklist's line while there are no posts."""
    mine: tuple[Step, ...] = ()
    """What a person can write now."""
    settle: Step | None = None
    """The checklist's line once everything that was written is settled."""


@dataclass(frozen=True, slots=True)
class NextSteps:
    """The checklist of a project, and what one person can do in it now, the likeliest first."""

    checklist: tuple[Step, ...]
    mine: tuple[Step, ...]
    unread: int

    @property
    def main(self) -> Step | None:
        """What this person should do first."""
        return self.mine[0] if self.mine else None

    @property
    def others(self) -> tuple[Step, ...]:
        """What waits for other people."""
        return tuple(step for step in self.checklist if step.state in (NOW, BUSY) and step not in self.mine)


def next_steps(
    db: Connection,
    project: Project,
    member: Member | None,
    may: May,
    statuses: Sequence[PhaseStatus] | None = None,
) -> NextSteps:
    """Return what comes next in a project, and for a person with these permissions; `member` is None for outsiders."""
    if statuses is None:
        statuses = phase_gates.phase_statuses(db, project)
    active = member if member is not None and member.left_at is None else None
    unread = messages.unread(db, project.id, active.user, active.read_until) if active else 0
    if project.state != "open":
        return NextSteps((), (), unread)
    written = written_posts(db, project.id, may)
    checklist = tuple(_Checklist(db, project, statuses, written).steps())
    phases = [row.phase for row in statuses]
    own = own_steps(db, project, active, may, phases, written) if active else []
    covered = {step.name for step in own}
    shared = [step for step in checklist if step.state == NOW and may(step.permission) and step.name not in covered]
    return NextSteps(checklist, tuple(own + [step for step in shared if step.act]), unread)


def written_posts(db: Connection, project_id: str, may: May) -> WrittenPosts:
    """Return how people write a project's posts, as the feature that has them do so says."""
    (hook,) = [feature.written_posts for feature in features() if feature.written_posts is not None]
    written: WrittenPosts = resolve_name(hook)(db, project_id, may)
    return written


def own_steps(
    db: Connection,
    project: Project,
    member: Member,
    may: May,
    every: Sequence[Phase],
    written: WrittenPosts | None = None,
) -> list[Step]:
    """Return what a person can work on now: posts to write or answer, memes, talks, and cases to settle.

    Cases come first for those who do not annotate.
    """
    written = written_posts(db, project.id, may) if written is None else written
    made = list(written.mine)
    for phase in every:
        talks = phase.behaviour.shared and phase.state == "open"
        if talks and may("label posts") and phase_answers.count_states(db, phase.id).get("open"):
            made.append(Step("label", NOW, "talk", "/discussion", "label posts", {"phase": phase.name}))
    for act, path in (("memes", "/memes"), ("label", "/label")):
        progress = [
            it for it in _own_progress(db, member, may, every) if bool(it[0].behaviour.task) == (act == "memes")
        ]
        if progress:
            made.append(Step("label", NOW, act, path, "label posts", progress=progress))
    waiting = cases.count_waiting(db, project.id, member.user) if may("settle cases") else 0
    if waiting:
        settle = Step("settle", NOW, "settle", "/expert", "settle cases", {"n": waiting})
        made = [*made, settle] if "annotator" in member.roles else [settle, *made]
    return made


def _own_progress(db: Connection, member: Member, may: May, every: Sequence[Phase]) -> list[tuple[Phase, int]]:
    """Return the phases in which a person has posts left, each with how many they dealt with."""
    left = []
    for phase in every:
        works = may("label posts") if phase.behaviour.task else "annotator" in member.roles
        if works and eligibility.may_work(member, phase, every):
            did = tallies.get(db, phase.id, member.user)
            done = did.given + did.refused
            if done < phase.size and phase_answers.count_states(db, phase.id).get("open"):
                left.append((phase, done))
    return left


class _Checklist:
    """The steps of one project, each from what the database knows of it."""

    def __init__(
        self, db: Connection, project: Project, statuses: Sequence[PhaseStatus], written: WrittenPosts
    ) -> None:
        self.db, self.project, self.statuses, self.written = db, project, statuses, written
        self.people = members.of_project(db, project.id)
        self.labelled = [row for row in statuses if row.phase.behaviour.gives_verdicts and row.answers]
        closed = [row for row in self.labelled if row.phase.state == "closed"]
        self.ended = bool(closed) and not any(row.phase.state == "open" and not row.fed for row in self.labelled)
        passed = [row.phase.position for row in statuses if row.gate is not None and row.gate.passed]
        self.spare = {
            row.phase.id
            for row in statuses
            if passed and row.phase.behaviour.gate and row.phase.state == "waiting" and row.phase.position > passed[0]
        }
        """Calibrations that nobody needs any more, since one before them has passed its gate."""
        waiting = [row for row in statuses if row.phase.state == "waiting" and row.phase.size]
        self.ended = self.ended and all(row.phase.id in self.spare for row in waiting)

    def steps(self) -> list[Step]:
        """Return every line of the checklist."""
        made = {name: getattr(self, f"_{name}")() for name in STEPS}
        before_opening = STEPS.index("open")
        every = [*list(made.values())[:before_opening], *self._preparations(), *list(made.values())[before_opening:]]
        return [step for step in every if step is not None]

    def _preparations(self) -> list[Step]:
        """Return what features ask for before the phases open."""
        asked = [resolve_name(feature.preparations) for feature in features() if feature.preparations is not None]
        return [step for of_feature in asked for step in of_feature(self.db, self.statuses)]

    @property
    def are_posts_written(self) -> bool:
        """Whether people write the posts themselves: no phase is there to be filled from a file."""
        kinds = [row.phase.behaviour for row in self.statuses]
        return self.written.begun or (bool(kinds) and not any(it.gives_verdicts or it.gate or it.task for it in kinds))

    def _posts(self) -> Step | None:
        if any(row.phase.size for row in self.statuses):
            return Step("posts", DONE, "add_more", "#add-posts")
        if self.are_posts_written:
            return self.written.posts
        fed = [row for row in self.statuses if row.fed]
        if fed:
            return Step("posts", BUSY, "fed", _phase_path(fed[0].phase), values={"phase": fed[0].phase.name})
        first = next((row.phase for row in self.statuses if not row.phase.behaviour.grows), None)
        if first is None:
            return Step("posts", NOW, "add_phase", "#add-phase")
        main = next((row.phase for row in self.statuses if row.phase.behaviour.spare_posts), first)
        return Step("posts", NOW, "add_posts", f"{_phase_path(main)}/posts", values={"phase": main.name})

    def _people(self) -> Step:
        have = sum("annotator" in member.roles for member in self.people)
        missing = max(0, self._needed() - have)
        if not missing:
            return Step("people", DONE, "people", "/roster")
        invited = len(invitations.list_unused(self.db, project=self.project.id))
        if invited >= missing:
            return Step("people", BUSY, "invited", "/roster", values={"n": invited})
        return Step("people", NOW, "invite", "/roster", values={"n": missing - invited})

    def _needed(self) -> int:
        """Return how many annotators the next phase takes, or one that only waits for more of them."""
        waiting = [
            row.opens for row in self.statuses if row.phase.state == "waiting" and row.phase.id not in self.spare
        ]
        blocked = (int(reason.values["n"]) for reason in waiting if reason is not None and reason.key == "no_people")
        return max([self._first_needs(), *blocked])

    def _first_needs(self) -> int:
        """Return how many annotators the first phase takes that has work left."""
        for row in self.statuses:
            phase, kind = row.phase, row.phase.behaviour
            wanted = phase.size or kind.grows or row.fed
            if (
                phase.state == "closed"
                or phase.id in self.spare
                or kind.by_experts
                or not wanted
                or 0 < phase.size <= row.done
            ):
                continue
            return (phase.answers or 1) if kind.fewest_people is None else kind.fewest_people
        return 2 if self.are_posts_written and not self.written.begun else 0

    def _consent(self) -> Step:
        unread = bool(self.project.settings.get(CONSENT_UNREAD))
        return Step("consent", NOW if unread else DONE, "consent", "/settings#read")

    def _open(self) -> Step:
        waiting = [row for row in self.statuses if row.phase.state == "waiting" and (row.phase.size or row.fed)]
        waiting = [row for row in waiting if row.phase.id not in self.spare]
        if not waiting:
            opened = any(row.phase.state != "waiting" for row in self.statuses)
            return Step("open", DONE if opened else LATER)
        # A phase without posts has nothing before those in front of it are open.
        ready = (row for row in waiting if row.may_open and (row.phase.size or row is waiting[0]))
        row = next(ready, waiting[0])
        values = {"phase": row.phase.name}
        if row.opens is not None:
            return Step("open", LATER, "open", values=values, reason=row.opens)
        held = any(it.phase.state == "open" and it.phase.behaviour.next_opens != "beside" for it in self.statuses)
        return Step("open", LATER if held and not row.fed else NOW, "open", values=values, phase=row.phase)

    def _label(self) -> Step:
        opened = [row for row in self.statuses if row.phase.state == "open"]
        unfinished = [row for row in opened if row.phase.size and (row.out_of == 0 or row.done < row.out_of)]
        if unfinished:
            phase = unfinished[0].phase
            values = {"phase": phase.name}
            return Step("label", BUSY, "follow", _phase_path(phase), "label posts", values)
        fed = next((row.phase for row in opened if row.fed), None)
        if fed is not None:
            return Step("label", BUSY, "fed", _phase_path(fed), "label posts", {"phase": fed.name})
        return Step("label", DONE if any(row.answers for row in self.statuses) else LATER)

    def _settle(self) -> Step:
        waiting = phase_answers.count_open_cases(self.db, self.project.id)
        experts = [member.user for member in self.people if "expert" in member.roles] if waiting else []
        if waiting and not any(cases.count_waiting(self.db, self.project.id, user, most=1) for user in experts):
            act = "another_expert" if experts else "name_expert"
            return Step("settle", NOW, act, "/roster", values={"n": waiting})
        if self.written.settle is not None:
            return self.written.settle
        for row in self.statuses:
            values = {"phase": row.phase.name}
            if row.next == "close":
                return Step("settle", NOW, "close", _phase_path(row.phase), values=values, phase=row.phase)
            if row.next is not None:
                return Step("settle", NOW, "review", _phase_path(row.phase), values=values)
        if waiting:
            return Step("settle", NOW, "settle", "/expert", "settle cases", {"n": waiting})
        return Step("settle", DONE if self.ended else LATER)

    def _agreement(self) -> Step | None:
        several = [row.phase for row in self.labelled if row.phase.answers != 1]
        if self.labelled and not several:
            return None
        if not self.ended:
            return Step("agreement", LATER)
        measured = agreements.newest_of(self.db, [phase.id for phase in several])
        return Step("agreement", DONE if measured else NOW, "agreement", "/watch", "watch")

    def _export(self) -> Step:
        done = self._newest_job(EXPORT, "done") is not None
        return Step("export", DONE if done else NOW if self.ended else LATER, "export", "/exports", "export")

    def _train(self) -> Step:
        if self._newest_job(TRAIN, "done") is not None:
            return Step("train", DONE, "train", "/train", "train")
        running = self._newest_job(TRAIN, "running") or self._newest_job(TRAIN, "waiting")
        if running is not None:
            return Step("train", BUSY, "training", f"/train/{running.id}", "train")
        return Step("train", NOW if self.ended else LATER, "train", "/train", "train")

    def _check(self) -> Step:
        trained = self._newest_job(TRAIN, "done")
        done = self._newest_job(CHECK, "done") is not None
        path = f"/train/{trained.id}" if trained else "/train"
        return Step("check", DONE if done else NOW if trained else LATER, "check", path, "train")

    def _use(self) -> Step:
        trained = self._newest_job(TRAIN, "done")
        if trained is None:
            return Step("use", LATER)
        source = (trained.result or {}).get("model")
        used = any(it.source == source and it.state != "retired" for it in detectors.list_detectors(self.db))
        return Step("use", DONE if used else NOW, "use", f"/train/{trained.id}", "train")

    def _newest_job(self, kind: str, state: str) -> jobs.Job | None:
        return next(iter(jobs.latest(self.db, kind=kind, project=self.project.id, state=state, limit=1)), None)


def _phase_path(phase: Phase) -> str:
    return f"/phases/{quote(phase.name, safe='')}"
