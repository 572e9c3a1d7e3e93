"""Communities: add and change one, fit its thresholds, queue posts for review, export its decisions.

A threshold is fitted for the community's question by a rule (`precision=0.9`, `recall=0.8` …). The whole curve is kept
with the community, so that its page can show what another threshold would give. Posts for review join the first
production phase of the community's project that is open or waits. Without one they are kept in a closed or a new phase,
until somebody opens it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from davy.annotation.project.phase_kind import MAIN_KIND
from davy.annotation.project.project import Phase, Project
from davy.annotation.project.project_creation import add_phase, add_posts, next_name
from davy.annotation.project.project_file import phase_plan
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, posts, projects
from davy.core.errors import UserError, about_field
from davy.core.gold import targets
from davy.core.scorer import Scorer
from davy.files import tables
from davy.files.data_hash import data_hash
from davy.measure.calibration import choose_threshold
from davy.measure.intervals import proportion
from davy.measure.ranking import precision_recall_curve
from davy.moderation.decision_records import COLUMNS, export_row, records_of
from davy.moderation.review_answers import check_review_scheme
from davy.moderation.store import communities, decisions
from davy.moderation.store.communities import Community
from davy.moderation.webhooks import check_url
from davy.store import Connection, Store, events

REVIEW = "review"
"""The name of a phase that is made for posts which have none to wait in."""
CURVE = 60
"""Points of the curve that are kept."""


@dataclass(frozen=True, slots=True)
class PostForReview:
    """One post: `id` is new in the project, `meta` says why it is here (never who wrote it)."""

    id: str
    text: str
    lang: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


def queue_posts(
    db: Connection, project_id: str, waiting: Sequence[PostForReview], *, source: str, by: str
) -> dict[str, str]:
    """Add posts to a project's review phase; return their keys by id."""
    if not waiting:
        return {}
    project = projects.get(db, project_id)
    phase = _phase_for_posts(db, project)
    frame = pl.DataFrame(
        {
            "id": [post.id for post in waiting],
            "text": [post.text for post in waiting],
            "lang": [post.lang for post in waiting],
            "source": [source] * len(waiting),
            "meta": [json.dumps(dict(post.meta), ensure_ascii=False) for post in waiting],
        },
        schema=dict.fromkeys(("id", "text", "lang", "source", "meta"), pl.String),
    )
    add_posts(db, project, phase, frame, scheme_of(db, project), by=by, while_closed=True)
    return posts.keys_of(db, project_id, [post.id for post in waiting])


def review_phase(db: Connection, project_id: str) -> Phase:
    """Return the phase that takes a project's posts for review."""
    for phase in phases.of_project(db, project_id):
        if phase.behaviour.spare_posts and phase.state != "closed":
            return phase
    raise UserError(
        f"Project {project_id!r} has no production phase that is open or waits, so nothing can be reviewed in it. "
        "Make one: davy project create moderation --name NAME",
        status=409,
    )


def _phase_for_posts(db: Connection, project: Project) -> Phase:
    """Return the phase that keeps posts for review: one that is open or waits, else a closed one, else a new one."""
    every = phases.of_project(db, project.id)
    phase = _keeper(every)
    if phase is not None:
        return phase
    name = REVIEW if REVIEW not in {phase.name for phase in every} else next_name(REVIEW, [one.name for one in every])
    plan = phase_plan(name, MAIN_KIND, answers="1")
    return add_phase(db, project, plan, scheme_of(db, project), by=events.SYSTEM)


def _keeper(every: Sequence[Phase]) -> Phase | None:
    production = [phase for phase in every if phase.behaviour.spare_posts]
    return next((phase for phase in production if phase.state != "closed"), production[-1] if production else None)


def fed_phases(db: Connection, project_id: str) -> set[str]:
    """Return the phase of a project that communities send posts to, if there are such communities."""
    if not any(community.project == project_id for community in communities.list_communities(db)):
        return set()
    phase = _keeper(phases.of_project(db, project_id))
    return {phase.id} if phase is not None else set()


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """Posts of a community that wait for a reviewer, and why nobody can review them: a key of the words, or ""."""

    waiting: int
    phase: str | None
    stopped: str


def review_queue(db: Connection, community: Community) -> ReviewQueue | None:
    """Return how many posts wait and whether somebody can review them; None for a community that has no project."""
    if community.project is None:
        return None
    waiting = decisions.count_unreviewed(db, community.name, community.project)
    project = projects.get(db, community.project)
    shown = _keeper(phases.of_project(db, project.id))
    if project.state == "closed":
        stopped = "project_closed"
    elif shown is None:
        stopped = "no_phase"
    else:
        stopped = "" if shown.state == "open" else f"phase_{shown.state}"
    return ReviewQueue(waiting, shown.name if shown else None, stopped)


def create_community(db: Connection, name: str, fields: Mapping[str, Any], *, by: str) -> Community:
    """Add a community with the fields that are named; without a question, the first threshold's decides."""
    question = fields.get("question") or next(iter(fields.get("thresholds") or {}), "hate")
    _check_fields(db, fields, question)
    return communities.create(db, Community(name, **{**fields, "question": question}), by=by)


def change_community(
    db: Connection, name: str, fields: Mapping[str, Any], *, by: str, every_language: bool = False
) -> tuple[Community, str | None]:
    """Change a community; thresholds are added to those it has. Return it, and the webhook's secret if it is new.

    A new threshold outside what is uncertain takes the uncertain range along, where none is named.
    With `every_language` a language that is not named loses its threshold of the deciding question.
    """
    before, wanted = communities.get(db, name), dict(fields)
    asks_anew = "question" in fields or "project" in fields
    project = {"project": fields.get("project", before.project)} if asks_anew else {}
    _check_fields(db, {**fields, **project}, fields.get("question", before.question))
    if "thresholds" in wanted:
        wanted["thresholds"] = {**before.thresholds, **wanted["thresholds"]}
    if "language_thresholds" in wanted:
        own, gone = wanted["language_thresholds"], wanted.get("question", before.question) if every_language else None
        kept = {lang: {q: t for q, t in it.items() if q != gone} for lang, it in before.language_thresholds.items()}
        joined = {lang: {**kept.get(lang, {}), **own.get(lang, {})} for lang in dict.fromkeys([*kept, *own])}
        wanted["language_thresholds"] = {lang: it for lang, it in joined.items() if it}
    if "low" not in wanted and before.low is not None and before.high is not None:
        moved = replace(before, **wanted).threshold
        if not before.low <= moved <= before.high:
            around = (before.low - before.threshold, before.high - before.threshold)
            wanted["low"], wanted["high"] = (round(min(1.0, max(0.0, moved + it)), 6) for it in around)
    made = communities.change(db, name, by=by, **wanted)
    return made, made.secret if made.secret != before.secret else None


def remove_community(db: Connection, name: str, *, by: str) -> None:
    """Remove a community with its decisions and appeals. The posts of its review project and their verdicts stay."""
    communities.get(db, name)
    communities.remove(db, name, by=by, decisions=decisions.remove_all(db, name))


def _check_fields(db: Connection, fields: Mapping[str, Any], question: str) -> None:
    """Refuse a project that can't review or does not ask what decides, and an address that no webhook may have."""
    if fields.get("project") is not None:
        with about_field("project"):
            project = projects.get(db, fields["project"])
            check_review_scheme(scheme_of(db, project), question, project.id)
            review_phase(db, project.id)
    if fields.get("webhook") is not None:
        with about_field("webhook"):
            check_url(fields["webhook"])


@dataclass(frozen=True, slots=True)
class FittedThreshold:
    """A threshold, and what it gives on the posts that it was fitted on."""

    question: str
    threshold: float
    basis: dict[str, Any]


def fit_threshold(posts: pl.DataFrame, scorer: Scorer, question: str, rule: str) -> FittedThreshold:
    """Return the threshold that is best by a rule on labelled posts, with precision and recall and their curve."""
    scores = scorer.score(posts)
    for asked, rows, table in targets(tuple(scorer.questions), posts):
        if asked.name != question or asked.positive is None:
            continue
        yes = table[:, asked.label_names.index(asked.positive)].astype(bool)
        chance = np.asarray(scores.positive(question), dtype=np.float64)[rows]
        cut = choose_threshold(chance, yes, rule)
        flagged = chance >= cut
        right = int((flagged & yes).sum())
        precision = proportion("precision", right, int(flagged.sum()), undefined="nothing is flagged")
        recall = proportion("recall", right, int(yes.sum()), undefined="nothing is a yes")
        basis = {
            "rule": rule,
            "model": f"{scorer.name}@{scorer.version}",
            "posts": len(rows),
            "data": data_hash(posts),
            "precision": precision.to_dict(),
            "recall": recall.to_dict(),
            "curve": _curve(chance, yes),
        }
        return FittedThreshold(question, cut, basis)
    raise UserError(
        f"The posts have no settled answers to {question!r}, or {scorer.name} does not answer it with yes or no. "
        f"It needs a column {question}.gold."
    )


def keep_threshold(db: Connection, name: str, fitted: FittedThreshold, *, by: str) -> None:
    """Give a community a fitted threshold, with what it was fitted on."""
    change_community(db, name, {"thresholds": {fitted.question: fitted.threshold}, "basis": fitted.basis}, by=by)


def export_decisions(store: Store, name: str, out: Path) -> int:
    """Write a community's decisions with what became of them to a file; return how many. Texts are not in it."""
    schema = dict.fromkeys(COLUMNS, pl.String)
    with store.read() as db:
        community = communities.get(db, name)
        n = 0

        def frames() -> Iterator[pl.DataFrame]:
            nonlocal n
            yield pl.DataFrame(schema=schema)
            for part in decisions.iter_parts(db, name):
                n += len(part)
                yield pl.DataFrame([export_row(it) for it in records_of(db, community, part)], schema=schema)

        tables.write(frames(), out, json=("reasons",))
    return n


def community_record(community: Community, totals: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return a community as JSON has it, without its secret."""
    return {
        "name": community.name,
        "question": community.question,
        "thresholds": dict(community.thresholds),
        "language_thresholds": {lang: dict(own) for lang, own in community.language_thresholds.items()},
        "uncertain": None if community.low is None else [community.low, community.high],
        "keys": list(community.keys),
        "project": community.project,
        "webhook": community.webhook,
        "policy": None if community.policy is None else asdict(community.policy),
        "review_unjudged": community.review_unjudged,
        "fitted": None if community.basis is None else {k: v for k, v in community.basis.items() if k != "curve"},
        "decisions": dict(totals or {}),
    }


def _curve(chance: Any, yes: Any) -> list[list[float]]:
    """Return points (threshold, precision, recall) from low to high thresholds."""
    precision, recall, cuts = precision_recall_curve(yes, chance)
    places = np.unique(np.linspace(0, len(cuts) - 1, min(CURVE, len(cuts))).astype(int))
    points = [[round(float(v), 4) for v in (cuts[i], precision[i], recall[i])] for i in places]
    return sorted(points)
