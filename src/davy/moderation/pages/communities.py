"""Communities: whose thresholds decide, the curve behind a threshold, drift of scores, review. For admins."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from davy.annotation.exchange.spreadsheet_cells import escape_formula
from davy.annotation.project.store import members, projects
from davy.core.errors import about_field
from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.moderation.communities import (
    PostForReview,
    change_community,
    create_community,
    queue_posts,
    review_queue,
)
from davy.moderation.decision_records import COLUMNS, export_row, iter_records
from davy.moderation.drift import CurvePicture, curve_picture, flag_series, language_series
from davy.moderation.jobs import FIT_THRESHOLD
from davy.moderation.server_part import Moderation
from davy.moderation.statements import statements_of
from davy.moderation.store import appeals, communities, decisions, suggestions
from davy.moderation.store.communities import ACTIONS, Community, Policy
from davy.moderation.webhook_deliveries import is_failing, list_deliveries
from davy.people.pages.visitor import Form, allowed, field
from davy.people.store import keys
from davy.people.store.users import User
from davy.scoring.queue.detectors import Detectors
from davy.store import Connection
from davy.text.language_code import check_language
from davy.web import render
from davy.web.charts import line_chart
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Manages = Annotated[User, Depends(allowed("manage communities"))]

MOST_TAKEN = 500
"""Corrections that one click puts into the review queue."""


@router.get("/communities")
def show_all(request: Request, who: Manages) -> Response:
    """Return every community with what was decided, and the drift of posts of no community."""
    return _all(request)


def _all(request: Request, *, wrong: str = "", status: int = 200) -> Response:
    context = context_of(request)
    words = render.translator_of(request)
    with context.store.read() as db:
        known = communities.list_communities(db)
        queues = {one.name: review_queue(db, one) for one in known}
        totals = {one.name: decisions.totals(db, one.name) for one in known}
        counts = decisions.list_counts(db, "")
        choices = _choices(db, context)
    return render.page(
        request,
        "communities.html",
        status=status,
        communities=known,
        queues=queues,
        totals=totals,
        wrong=wrong,
        flags=line_chart(flag_series(counts, {}), "share", words, fit_top=True),
        langs=line_chart(language_series(counts), "share", words),
        **choices,
    )


@router.post("/communities")
@refused_by(_all)
def create(request: Request, who: Manages, form: Form) -> Response:
    """Add a community; where it has a webhook, its page shows the secret once."""
    with context_of(request).store.write() as db:
        made = create_community(db, field(form, "name", most=80), _settings(db, form), by=who.id)
    context_of(request).part(Moderation).decider.refresh()
    if made.secret:
        return show_community(request, made.name, secret=made.secret)
    return render.redirect(request, address_of(made.name), "community_saved", name=made.name)


@router.get("/communities/{community}")
def show(request: Request, community: str, who: Manages) -> Response:
    """Return a community: its threshold with the curve, what was decided, drift, and who reviews."""
    return show_community(request, community)


def show_community(
    request: Request, community: str, *, wrong: str = "", secret: str = "", status: int = 200
) -> Response:
    """Return a community's page; `secret` is its webhook's, shown once."""
    context = context_of(request)
    words = render.translator_of(request)
    with context.store.read() as db:
        shown = communities.get(db, community)
        queue = review_queue(db, shown)
        totals = decisions.totals(db, community)
        counts = decisions.list_counts(db, community)
        corrections = len(suggestions.list_open(db, community=community, limit=MOST_TAKEN))
        appealed = appeals.count_open(db, community)
        deliveries = list_deliveries(db, community)
        reviewers = _reviewers(db, shown)
        choices = _choices(db, context)
    curve: CurvePicture | None = curve_picture(shown.basis, shown.threshold) if shown.basis else None
    return render.page(
        request,
        "community.html",
        status=status,
        community=shown,
        queue=queue,
        totals=totals,
        corrections=corrections,
        appealed=appealed,
        deliveries=deliveries,
        failing=is_failing(deliveries),
        lone_reviewer=bool(appealed) and reviewers < 2,
        curve=curve,
        wrong=wrong,
        secret=secret,
        flags=line_chart(flag_series(counts, shown.thresholds), "share", words, fit_top=True),
        langs=line_chart(language_series(counts), "share", words),
        **choices,
    )


@router.post("/communities/{community}")
@refused_by(show_community)
def change(request: Request, community: str, who: Manages, form: Form) -> Response:
    """Change a community's question, thresholds, band, keys, project and webhook."""
    with context_of(request).store.write() as db:
        _, secret = change_community(db, community, _settings(db, form), by=who.id, every_language=True)
    context_of(request).part(Moderation).decider.refresh()
    if secret:
        return show_community(request, community, secret=secret)
    return render.redirect(request, address_of(community), "community_saved", name=community)


@router.post("/communities/{community}/fit")
@refused_by(show_community)
def fit(request: Request, community: str, who: Manages, form: Form) -> Response:
    """Queue a job that sets the threshold by a target on a project's settled answers."""
    target, project, number = field(form, "target"), field(form, "project", most=100), _number(form, "value")
    if target not in ("precision", "recall") or not 0 < number <= 1:
        raise LocalizedError("choice", status=422)
    with context_of(request).store.write() as db:
        communities.get(db, community)
        projects.get(db, project)
        default = next((one for one in detectors.list_detectors(db) if one.is_default), None)
        model = default.source if default is not None else context_of(request).settings.model
        arguments = {"community": community, "project": project, "rule": f"{target}={number:g}", "model": model}
        job = jobs.enqueue(db, FIT_THRESHOLD, arguments, owner=who.id)
    return render.redirect(request, f"/jobs/{job.id}", "community_fitting")


@router.post("/communities/{community}/corrections")
@refused_by(show_community)
def take_corrections(request: Request, community: str, who: Manages, form: Form) -> Response:
    """Put the corrections that programs sent for a community into its review project."""
    with context_of(request).store.write() as db:
        owner = communities.get(db, community)
        if owner.project is None:
            raise LocalizedError("no_review_project", status=409)
        waiting = suggestions.list_open(db, community=community, limit=MOST_TAKEN)
        posts = [
            PostForReview(one.id, one.text, one.lang, {"community": community, "suggested": dict(one.answers)})
            for one in waiting
        ]
        taken = queue_posts(db, owner.project, posts, source=f"corrections of {community}", by=who.id)
        for one in waiting:
            suggestions.settle(db, one.id, "taken", by=who.id, post=taken[one.id])
    return render.redirect(request, address_of(community), "corrections_taken", count=str(len(waiting)))


@router.get("/communities/{community}/decisions.csv")
def export(request: Request, community: str, who: Manages) -> Response:
    """Return every decision with its reasons and what reviewers settled on; no texts."""
    store = context_of(request).store
    with store.read() as db:
        shown = communities.get(db, community)

    def lines() -> Iterator[str]:
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow(COLUMNS)
        with store.read() as db:
            for record in iter_records(db, shown):
                row = export_row(record)
                writer.writerow([escape_formula(row[column] or "") for column in COLUMNS])
                if buffer.tell() > 65_536:
                    yield buffer.getvalue()
                    buffer.seek(0)
                    buffer.truncate()
        yield buffer.getvalue()

    headers = {"Content-Disposition": 'attachment; filename="decisions.csv"'}
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/communities/{community}/reasons.json")
def reasons(request: Request, community: str, who: Manages, decision: str | None = None) -> Response:
    """Return the statements of reasons of a community's decisions, or of one; nothing is sent anywhere."""
    with context_of(request).store.read() as db:
        made = list(statements_of(db, communities.get(db, community), decision=decision))
    headers = {"Content-Disposition": 'attachment; filename="statements-of-reasons.json"'}
    return JSONResponse({"statements": made}, headers=headers)


def _settings(db: Connection, form: FormData) -> dict[str, Any]:
    """Return what a form asks for; a wrong number is refused."""
    question = field(form, "question", most=80) or "hate"
    threshold = _number(form, "threshold", default="0.5")
    low, high = (_number(form, name) if field(form, name, most=8) else None for name in ("low", "high"))
    languages = _language_thresholds(form)
    known = {key.id for key in keys.list_keys(db)}
    return {
        "question": question,
        "thresholds": {question: threshold},
        "language_thresholds": {lang: {question: value} for lang, value in languages.items()},
        "policy": _policy(form),
        "review_unjudged": field(form, "review_unjudged") == "yes",
        "low": low,
        "high": high,
        "keys": tuple(key for key in map(str, form.getlist("key")) if key in known),
        "project": field(form, "project", most=100) or None,
        "webhook": field(form, "webhook", most=2000) or None,
    }


def _language_thresholds(form: FormData) -> dict[str, float]:
    """Return thresholds by language from `de 0.41; en 0.6`."""
    found = {}
    with about_field("languages"):
        for part in filter(None, map(str.strip, field(form, "languages", most=500).replace("\n", ";").split(";"))):
            lang, _, number = part.replace("=", " ").replace(":", " ").partition(" ")
            code = check_language(lang)
            try:
                found[str(code)] = float(number.strip().replace(",", "."))
            except ValueError:
                raise LocalizedError("community_languages", status=422) from None
    return found


def _policy(form: FormData) -> Policy | None:
    text = {
        name: field(form, f"policy_{name}", most=2000).strip() for name in ("ground", "explanation", "url", "action")
    }
    if not text["ground"] and not text["explanation"] and not text["url"]:
        return None
    return Policy(
        text["ground"],
        text["explanation"],
        text["url"],
        field(form, "policy_illegal") == "yes",
        text["action"] or ACTIONS[0],
    )


def address_of(name: str) -> str:
    return f"/communities/{quote(name, safe='')}"


def _number(form: FormData, name: str, *, default: str = "") -> float:
    text = field(form, name, most=8) or default
    with about_field(name):
        try:
            return float(text.replace(",", "."))
        except ValueError:
            raise LocalizedError("community_number", status=422) from None


def _reviewers(db: Connection, community: Community) -> int:
    if community.project is None:
        return 0
    people = members.of_project(db, community.project)
    return sum(bool({"annotator", "expert"} & set(one.roles)) for one in people)


def _choices(db: Connection, context: Any) -> dict[str, Any]:
    """Return what forms offer: questions of the detector, projects and keys."""
    questions = [q.name for q in context.part(Detectors).started.scorer.questions if q.positive is not None]
    active = [key for key in keys.list_keys(db) if key.state == "active" and key.allows("score")]
    return {"questions": questions, "projects": projects.list_projects(db), "active_keys": active, "actions": ACTIONS}
