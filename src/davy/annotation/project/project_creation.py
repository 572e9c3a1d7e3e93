"""Make a project: a plan and frames of posts in; scheme, posts, phases with their items, and a roster out.

Everything happens on the connection that comes in, so that one transaction has all of it or nothing. Posts that the
project has already are used again. The pool is shuffled once by the plan's seed, and the phases take from it in order.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from davy import schemes as shipped
from davy.annotation.labelling.store import items
from davy.annotation.project import images, post_allocation, roster
from davy.annotation.project import settings as project_settings
from davy.annotation.project.post_allocation import severities
from davy.annotation.project.project import Phase, Project
from davy.annotation.project.project_file import PhasePlan, ProjectPlan
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.settings import CONSENT_UNREAD, ProjectSettings
from davy.annotation.project.store import members, phases, posts, projects
from davy.annotation.settling.rules import check_rules
from davy.core import Scheme, UserError
from davy.core.errors import KeyedError, nearest
from davy.people.store import invitations, users
from davy.schemes.store import schemes
from davy.store import Connection, events

if TYPE_CHECKING:
    import polars as pl


RESERVED: tuple[str, ...] = ("new",)
"""Names that no project can have, since `/projects/NAME` is something else."""
LONGEST_MADE = 50
"""How long a name is that is made from a title; a number may follow."""


@dataclass(frozen=True, slots=True)
class CreatedProject:
    """A new project; `links` are (login, token) of the invitations for people who have no account yet."""

    project: Project
    phases: tuple[Phase, ...]
    posts: int
    links: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    """Phases of a preset that need right answers, which none of the posts has."""


def create_project(
    db: Connection,
    plan: ProjectPlan,
    *,
    by: str,
    posts_in: Sequence[pl.DataFrame] = (),
    files: Mapping[str, pl.DataFrame] | None = None,
    scheme: tuple[Scheme, str] | None = None,
    preset: bool = False,
    consent_unread: bool = False,
) -> CreatedProject:
    """Add the project of a plan. `posts_in` is the pool, `files` the phases' own posts by the name in the plan.

    `scheme` brings a scheme and its YAML where the plan names a file; else the store's or a shipped one is used.
    Whoever makes it is its manager, unless that is the shell. `preset`: the plan is a preset's as it ships, so its
    phases that need right answers are left out where no post has one. `consent_unread`: no phase opens until a
    manager has said that the consent text is true.
    """
    check_name(db, plan.name)
    asked = _scheme(db, plan.scheme, scheme, by=by)
    check_plan(plan, asked)
    left_out: tuple[str, ...] = ()
    if preset:
        plan, left_out = without_gold_phases(plan, posts_in)
    kept = project_settings.to_dict(plan.settings)
    if consent_unread and plan.settings.consent:
        kept[CONSENT_UNREAD] = True
    if plan.survey:
        kept["survey"] = {"questions": [question.to_dict() for question in plan.survey]}
    project = projects.create(
        db,
        id=plan.name,
        title=plan.title,
        scheme=asked.name,
        scheme_version=asked.version,
        settings=kept,
        by=by,
    )
    links = _roster(db, project, plan, by=by)
    added = _add_all(db, project, posts_in, files or {}, by=by)
    rows = post_allocation.allocate_posts(plan, asked, posts_in, files or {})
    hard = severities((*posts_in, *(files or {}).values()), asked)
    made = []
    for phase_plan in plan.phases:
        phase = _phase(db, project, phase_plan, by=by)
        _add_items(db, phase, rows[phase_plan.name], hard, by=by, seed=plan.seed)
        made.append(phases.get(db, phase.id))
    return CreatedProject(project, tuple(made), added, tuple(links), left_out)


def check_name(db: Connection, name: str) -> None:
    """Refuse a name that no project can have, or that one has."""
    if name in RESERVED:
        raise UserError(f"{name!r} is the address of a page. Choose another name for the project.")
    projects.check_name(db, name)


def free_name(db: Connection, title: str) -> str:
    """Return a name for a project of this title that none has: small letters, digits and hyphens."""
    spelled = title.lower().translate({ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue", ord("ß"): "ss"})
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_MADE].strip("-") or "project"
    taken = {*RESERVED, *projects.taken_names(db)}
    return name if name not in taken else next_name(name, taken)


def without_gold_phases(plan: ProjectPlan, posts_in: Sequence[pl.DataFrame]) -> tuple[ProjectPlan, tuple[str, ...]]:
    """Return a plan without the phases that need right answers where no post of the pool has one, and their names."""
    if not posts_in or any(name.endswith(".gold") for frame in posts_in for name in frame.columns):
        return plan, ()
    gone = tuple(phase.name for phase in plan.phases if phase.behaviour.needs_gold and phase.count)
    return replace(plan, phases=tuple(phase for phase in plan.phases if phase.name not in gone)), gone


def can_remove(db: Connection, phase: Phase) -> bool:
    """Return whether a phase is empty, or waits and has a phase beside it whose answers enter the corpus."""
    if not phase.size:
        return True
    others = [other for other in phases.of_project(db, phase.project) if other.id != phase.id]
    only = phase.behaviour.gives_verdicts and not any(other.behaviour.gives_verdicts for other in others)
    return phase.state == "waiting" and not only and not phases.has_answers(db, phase.id)


def remove_phase(db: Connection, phase: Phase, *, by: str) -> None:
    """Take a phase out of a project; one that was opened and has posts, or belongs to a round, stays.

    The posts of one that waits go to the project's waiting production, unless they came with right answers.
    """
    if phase.behaviour.from_round:
        raise UserError(f"Phase {phase.name!r} belongs to its round and stays with it.", status=409)
    if not can_remove(db, phase):
        raise UserError(f"Phase {phase.name!r} was worked in, or is the project's main work, so it stays.", status=409)
    if phase.size:
        freed = phases.remove_unstarted(db, phase, phase.size)
        every = phases.of_project(db, phase.project)
        spare = [it for it in every if it.behaviour.spare_posts and it.state == "waiting" and it.id != phase.id]
        if spare and not phase.behaviour.needs_gold:
            items.add(db, spare[-1], [(post, None, None) for post in freed], by=by, shuffled=False)
    phases.remove(db, phase.id, by=by)


def add_phase(
    db: Connection, project: Project, plan: PhasePlan, scheme: Scheme, *, by: str, frame: pl.DataFrame | None = None
) -> Phase:
    """Add a phase after those that a project has, with the posts of a frame where there is one; return it."""
    phase = _phase(db, project, plan, by=by)
    if frame is not None:
        add_posts(db, project, phase, frame, scheme, by=by)
    return phases.get(db, phase.id)


def add_posts(
    db: Connection,
    project: Project,
    phase: Phase,
    frame: pl.DataFrame,
    scheme: Scheme,
    *,
    by: str,
    seed: int = 0,
    while_closed: bool = False,
) -> int:
    """Add the posts of a frame to a phase, and return how many; a closed phase takes none but `while_closed`."""
    if phase.state == "closed" and not while_closed:
        raise UserError(f"Phase {phase.name!r} is closed. Add posts to one that is open or waits.", status=409)
    if phase.behaviour.from_round:
        raise UserError(
            f"The posts of phase {phase.name!r} are the entries of its round. Enter them there.", status=409
        )
    frame = images.with_known_keys(db, project.id, frame)
    posts.ensure(db, frame, project=project.id, by=by)
    rows = post_allocation.rows_of(frame, scheme, gold=phase.behaviour.needs_gold)
    post_allocation.need_gold(phase, rows)
    random.Random(seed).shuffle(rows)  # noqa: S311 — an order, not a secret
    return _add_items(db, phase, rows, severities([frame], scheme), by=by, seed=seed)


@dataclass(frozen=True, slots=True)
class AddedPosts:
    """What a file brought to a phase: how many posts are new in it, and how many it had already."""

    new: int
    known: int


def add_new_posts(
    db: Connection, project: Project, phase: Phase, frame: pl.DataFrame, scheme: Scheme, *, by: str
) -> AddedPosts:
    """Add those posts of a frame that a phase does not have yet; one that changed meanwhile is refused."""
    import polars as pl

    frame = images.with_known_keys(db, project.id, frame)
    changed = posts.changed_ids(db, frame, project=project.id)
    if changed:
        raise KeyedError(
            "posts_changed",
            f"{len(changed):,} posts are there already with other words, such as {changed[0][:60]!r}. "
            "Nothing was added. Give each post an id of its own.",
            status=409,
            n=len(changed),
            id=changed[0][:60],
        )
    known = items.ids_in(db, phase, [str(post) for post in frame["id"]])
    new = frame.filter(~pl.col("id").is_in(list(known))) if known else frame
    return AddedPosts(add_posts(db, project, phase, new, scheme, by=by) if len(new) else 0, len(known))


def next_set(db: Connection, project: Project, after: Phase, *, n: int, by: str) -> Phase:
    """Add another calibration phase like `after` and return it: 2b after 2a, with n posts from the last phase.

    The new phase comes after the other calibrations, and waits.
    """
    if not after.behaviour.gate:
        raise UserError(f"Phase {after.name!r} is no calibration, so it has no next set.", status=409)
    every = phases.of_project(db, project.id)
    name = next_name(after.name, [phase.name for phase in every])
    made = phases.add(
        db,
        project.id,
        name=name,
        kind=after.kind,
        answers=after.answers,
        in_corpus=after.in_corpus,
        settings=after.settings,
        by=by,
    )
    sources = [phase for phase in every if phase.state == "waiting" and phase.behaviour.spare_posts]
    if not sources:
        raise UserError("No production phase waits with posts to take from. Upload posts for the set.", status=409)
    ids = phases.remove_unstarted(db, sources[-1], n)
    items.add(db, made, [(post, None, None) for post in ids], by=by, shuffled=False)
    last = max((phase for phase in every if phase.behaviour.gate), key=lambda phase: phase.position)
    return phases.move_after(db, made.id, last.id)


def next_name(name: str, taken: Iterable[str]) -> str:
    """Return a name for the set after this one: 2b after 2a, set 2 after set 1, more-2 after more."""
    taken = set(taken)
    while True:
        last = name[-1:]
        if last.isascii() and last.isalpha() and name[-2:-1].isdigit() and last.lower() != "z":
            name = name[:-1] + chr(ord(last) + 1)
        elif last.isdigit():
            stem = name.rstrip("0123456789")
            name = f"{stem}{int(name[len(stem) :]) + 1}"
        else:
            name = f"{name}-2"
        if name not in taken:
            return name


def check_plan(plan: ProjectPlan, scheme: Scheme) -> None:
    """Refuse a plan that names questions or labels which its scheme does not have."""
    check_settings(plan.settings, scheme)
    for phase in plan.phases:
        check_phase(phase, scheme)


def check_phase(phase: PhasePlan, scheme: Scheme) -> None:
    """Refuse a phase that names questions which its scheme does not have, or a coefficient that there is not."""
    used = [(name, f"phase {phase.name!r}: gate") for name in (phase.gate.questions if phase.gate else ())]
    used += [(name, f"phase {phase.name!r}: pass") for name in (phase.pass_.questions if phase.pass_ else ())]
    _check_questions(used, scheme)
    if phase.gate:
        from davy.annotation.settling.agreement import coefficient

        coefficient(phase.gate.coefficient)


def check_settings(settings: ProjectSettings, scheme: Scheme) -> None:
    """Refuse settings that name questions or labels which the scheme does not have."""
    check_rules(scheme, settings.adjudication)
    _check_questions([(name, "care: hard") for name in settings.care.hard], scheme)
    for name, labels in settings.care.hard.items():
        known = list(scheme.question(name).label_names)
        for label in labels:
            if label not in known:
                raise UserError(f"care: hard: {label!r} is not a label of {name!r}.{nearest(label, known)}")


def change_settings(
    db: Connection, project_id: str, wanted: ProjectSettings, *, by: str, without: Collection[str] = ()
) -> None:
    """Check settings and write them. Sections that project files don't know stay, but for those of `without`."""
    project = projects.get(db, project_id)
    check_settings(wanted, scheme_of(db, project))
    ours = {slot.name for slot in fields(ProjectSettings)}.union(without)
    rest = {name: value for name, value in project.settings.items() if name not in ours}
    projects.change_settings(db, project.id, {**rest, **project_settings.to_dict(wanted)}, by=by)


def _check_questions(used: Iterable[tuple[str, str]], scheme: Scheme) -> None:
    names = [question.name for question in scheme.questions]
    for name, where in used:
        if name not in names:
            raise UserError(
                f"{where} names the question {name!r}; scheme {scheme.name!r} asks {', '.join(names)}."
                f"{nearest(name, names)}"
            )


def _add_items(
    db: Connection, phase: Phase, rows: list[post_allocation.Row], hard: Mapping[str, float], *, by: str, seed: int
) -> int:
    """Add rows to a phase in their order (the pool was shuffled before), but hard posts evenly spread out."""
    if not rows:
        return 0
    places = None
    if any(post in hard for post, _, _ in rows):
        places = post_allocation.spread_severe([hard.get(post, 0.0) for post, _, _ in rows], seed=seed)
    return items.add(db, phase, rows, by=by, places=places, shuffled=False)


def _add_all(
    db: Connection, project: Project, posts_in: Sequence[pl.DataFrame], files: Mapping[str, pl.DataFrame], *, by: str
) -> int:
    return sum(posts.ensure(db, frame, project=project.id, by=by) for frame in (*posts_in, *files.values()))


def _phase(db: Connection, project: Project, plan: PhasePlan, *, by: str) -> Phase:
    kept = plan.settings()
    for batch in kept.get("batches", {}).values():
        batch["people"] = [_person(db, project, login) for login in batch["people"]]
        batch.pop("posts", None)
    return phases.add(
        db,
        project.id,
        name=plan.name,
        kind=plan.kind,
        answers=plan.people,
        in_corpus=plan.corpus,
        settings=kept,
        by=by,
    )


def _person(db: Connection, project: Project, name: str) -> str:
    """Return who a batch names: somebody on the roster by their id, a pool by its name."""
    user = users.by_login(db, name)
    if user is not None and members.get(db, project.id, user.id) is not None:
        return user.id
    pools = {member.pool for member in members.of_project(db, project.id)}
    pools |= {invitation.pool for invitation in invitations.list_unused(db, project=project.id)}
    if name in pools:
        return name
    raise UserError(f"A batch names {name!r}, who is neither on the roster with an account nor a pool of it.")


def _roster(db: Connection, project: Project, plan: ProjectPlan, *, by: str) -> list[tuple[str, str]]:
    """Put people on the roster: those with an account at once, others by an invitation; return (login, token)."""
    links = []
    for person in plan.roster:
        user = users.by_login(db, person.login)
        roles = {*person.roles, "manager"} if user is not None and user.id == by else person.roles
        came = roster.invite(db, project.id, person.login, roles, by=by, pool=person.pool)
        if isinstance(came, roster.Invited):
            links.append((person.login, came.token))
    if by not in (events.SHELL, events.SYSTEM) and members.get(db, project.id, by) is None:
        members.add(db, project.id, by, ["manager"], by=by)
    return links


def _scheme(db: Connection, name: str, given: tuple[Scheme, str] | None, *, by: str) -> Scheme:
    """Return the scheme that a plan asks, having made sure that the store has it."""
    if given is None:
        stored = [kept for kept in schemes.list_schemes(db) if kept.name == name]
        if stored:
            return shipped.parse(stored[-1].yaml)
        if name not in shipped.names():
            known = sorted({*shipped.names(), *(kept.name for kept in schemes.list_schemes(db))})
            raise UserError(f"There is no scheme {name!r}; there are {', '.join(known)}.{nearest(name, known)}")
        given = shipped.load(name), shipped.text_of(name).decode()
    scheme, text = given
    schemes.save(db, scheme, text, by=by)
    return scheme
