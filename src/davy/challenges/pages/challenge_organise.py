"""Running a challenge: dates, boards, embargo and freeze; teams, how often they asked; what all the best systems miss.

For organisers, since most figures here are counted over hidden labels.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.upload_form import UploadForm, sent_file
from davy.challenges import run_challenge as action
from davy.challenges.boards import ladder
from davy.challenges.challenge import BOARDS, COUNTS, VISIBILITIES, Submission
from davy.challenges.challenge_analysis import analyse_board
from davy.challenges.challenge_baselines import BaselineFile, add_baselines
from davy.challenges.challenge_file import parse_moment
from davy.challenges.pages.challenge_access import ChallengePlace, challenge_page, in_challenge
from davy.challenges.store import challenges, submissions, teams
from davy.evaluation.pictures import confusion_svg
from davy.jobs import store as jobs
from davy.people.pages.confirm import FreshPassword
from davy.people.pages.visitor import Form, field
from davy.people.store import invitations, users
from davy.store import Connection
from davy.store.columns import now
from davy.web import render, uploads
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Runs = Annotated[ChallengePlace, Depends(in_challenge("organise"))]

PAIRS = 10


@router.get("/challenges/{challenge_id}/organise")
def organise(request: Request, place: Runs) -> Response:
    """Return the organisers' page."""
    return _page(request, place)


def _page(
    request: Request, place: ChallengePlace, *, link: dict[str, Any] | None = None, wrong: str = "", status: int = 200
) -> Response:
    with context_of(request).store.read() as db:
        challenge = challenges.get(db, place.challenge.id)
        every = teams.of_challenge(db, challenge.id)
        sent = [each for phase in challenge.phases for each in submissions.of_phase(db, phase.id)]
        values: dict[str, Any] = {
            "teams": every,
            "captains": {user.id: user for user in users.list_users(db)},
            "traces": submissions.shared_traces(db, challenge.id),
            "failed": [each for each in sent if each.state in ("failed", "cancelled")],
            "waiting": [each for each in sent if each.state in ("waiting", "running")],
            "asked": asked_often(sent),
            "sets": challenges.data_sets(db, challenge.id),
            "organisers": teams.organisers(db, challenge.id),
        }
    return challenge_page(
        request,
        replace(place, challenge=challenge),
        "challenge_organise.html",
        status=status,
        wrong=wrong,
        link=link,
        windows=list(challenge.windows()),
        boards=BOARDS,
        counts=COUNTS,
        visibilities=VISIBILITIES,
        phase_names={phase.id: phase.name for phase in challenge.phases},
        **values,
    )


@router.post("/challenges/{challenge_id}/organise/invite")
@refused_by(_page)
def invite(request: Request, place: Runs, fresh: FreshPassword, form: Form) -> Response:
    """Make a link for somebody without an account, which leads to the challenge; show it, this once."""
    if place.challenge.visibility == "people":
        raise LocalizedError("challenge_invite", status=409)
    context = context_of(request)
    with context.store.write() as db:
        made, token = invitations.create(db, role="annotator", by=place.user.id)
    url = context.link(f"/invitation/{token}?next={place.address}")
    return _page(request, place, link={"url": url, "expires_at": made.expires_at})


@router.post("/challenges/{challenge_id}/organise/{act}")
@refused_by(_page)
def change(request: Request, place: Runs, act: str, form: Form) -> Response:
    """Change texts, dates or a board, freeze, publish labels, let people in, leave a team out."""
    acts = {"settings": _settings, "dates": _dates, "board": _board, "freeze": _freeze, "labels": _labels,
            "person": _person, "team": _team, "again": _again}  # fmt: skip
    if act not in acts:
        raise LocalizedError("no_such", status=404)
    with context_of(request).store.write() as db:
        note = acts[act](db, place, form) or "challenge_saved"
    return render.redirect(request, f"{place.address}/organise", note)


def _settings(db: Connection, place: ChallengePlace, form: FormData) -> None:
    title, visibility = field(form, "title", most=200), field(form, "visibility")
    if not title or visibility not in VISIBILITIES:
        raise LocalizedError("choice", status=422)
    texts = {name: field(form, name, most=20_000) for name in ("description", "rules", "contact")}
    challenges.change_settings(db, place.challenge.id, by=place.user.id, title=title, visibility=visibility, **texts)


def _dates(db: Connection, place: ChallengePlace, form: FormData) -> None:
    """Change the window of one task in one phase; an empty `opens` is now."""
    action.change_windows(
        db,
        place.challenge,
        field(form, "phase"),
        [field(form, "task")],
        opens=field(form, "opens") or None,
        closes=field(form, "closes"),
        by=place.user.id,
    )


def _board(db: Connection, place: ChallengePlace, form: FormData) -> None:
    """Change who reads a phase's board, its embargo, limits and which submission counts."""
    phase = action.find_phase(place.challenge, field(form, "phase"))
    readers, counts, limit = field(form, "board"), field(form, "counts"), field(form, "limit")
    if readers not in BOARDS or counts not in COUNTS or not limit.isdigit() or not 1 <= int(limit) <= 10_000:
        raise LocalizedError("choice", status=422)
    if phase.frozen_at is not None and counts != phase.counts:
        raise LocalizedError("submission_frozen", status=409)
    try:
        embargo = parse_moment(field(form, "embargo"), at=now()) if field(form, "embargo") else None
    except ValueError:
        raise LocalizedError("moment", status=422) from None
    survey = bool(form.get("survey")) if phase.frozen_at is None else phase.survey
    changed = replace(phase, board=readers, counts=counts, limit=int(limit), embargo=embargo, survey=survey)
    challenges.change_phase(db, changed, by=place.user.id, what="challenge board changed")
    for task in place.challenge.tasks:
        action.queue_ranking(db, changed, task.name)


def _freeze(db: Connection, place: ChallengePlace, form: FormData) -> str:
    phase = action.find_phase(place.challenge, field(form, "phase"))
    action.freeze(db, place.challenge, phase, by=place.user.id)
    frozen = action.find_phase(challenges.get(db, place.challenge.id), phase.name).frozen_at is not None
    return "board_frozen" if frozen else "board_ranked_first"


def _labels(db: Connection, place: ChallengePlace, form: FormData) -> None:
    """Publish a set's labels once every phase on it has closed."""
    name, at = field(form, "data"), now()
    if name not in challenges.data_sets(db, place.challenge.id):
        raise LocalizedError("choice", status=422)
    for phase, _, window in place.challenge.windows():
        if phase.data == name and window.state(at) != "closed" and phase.frozen_at is None:
            raise LocalizedError("labels_early", status=409)
    challenges.publish_labels(db, place.challenge.id, name, by=place.user.id)


def _person(db: Connection, place: ChallengePlace, form: FormData) -> None:
    user = users.by_login(db, users.clean_login(field(form, "login")))
    if user is None:
        raise LocalizedError("no_account", status=404)
    organiser = bool(form.get("organiser"))
    teams.add_person(db, place.challenge.id, user.id, by=place.user.id, organiser=organiser)


def _team(db: Connection, place: ChallengePlace, form: FormData) -> None:
    """Leave a team out of the boards, or take it in again."""
    team = teams.get(db, place.challenge.id, field(form, "team"))
    teams.set_withdrawn(db, team, withdrawn=field(form, "out") == "yes", by=place.user.id)
    for phase in place.challenge.phases:
        for task in place.challenge.tasks:
            action.queue_ranking(db, phase, task.name)


def _again(db: Connection, place: ChallengePlace, form: FormData) -> None:
    """Have a failed submission scored again."""
    found = submissions.get(db, field(form, "submission"))
    if found.phase not in {phase.id for phase in place.challenge.phases} or found.state not in ("failed", "cancelled"):
        raise LocalizedError("no_such", status=404)
    jobs.retry(db, str(found.job), by=place.user.id)


@router.post("/challenges/{challenge_id}/baselines/upload")
@refused_by(_page)
async def baselines(request: Request, place: Runs, form: UploadForm) -> Response:
    """Put a baseline or human performance on every board whose posts its file covers."""
    await to_thread.run_sync(_add_baseline, request, place, form)
    return render.redirect(request, f"{place.address}/organise", "challenge_saved")


def _add_baseline(request: Request, place: ChallengePlace, form: FormData) -> None:
    sent, name = sent_file(form), field(form, "name", most=60)
    if not name:
        raise LocalizedError("no_upload", status=422)
    with tempfile.TemporaryDirectory(prefix="davy-baseline-") as folder:
        upload = uploads.receive_file(sent, kinds=("csv", "tsv", "jsonl"), limits=action.LIMITS)
        path = Path(folder) / f"{uploads.safe_name(name)}.{upload.kind}"
        shutil.move(upload.path, path)
        file = BaselineFile(path, name, "human" if form.get("human") else "baseline")
        task = field(form, "task") or None
        add_baselines(context_of(request).store, place.challenge.id, [file], by=place.user.id, task=task)


def asked_often(sent: Sequence[Submission]) -> dict[str, list[dict[str, Any]]]:
    """Return by team, for each phase and task, how often it asked, its best figure, and what a ladder had shown."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for each in sorted(sent, key=lambda one: one.id):
        if each.figure is not None and each.figure["value"] is not None:
            groups.setdefault((each.team, each.phase, each.task), []).append(float(each.figure["value"]))
    questions: dict[str, list[dict[str, Any]]] = {}
    for (team, phase, task), values in groups.items():
        row = {"phase": phase, "task": task, "times": len(values), "best": max(values), "ladder": ladder(values)[-1]}
        questions.setdefault(team, []).append(row)
    return questions


@router.get("/challenges/{challenge_id}/analysis")
def analysis(request: Request, place: Runs, phase: str = "", task: str = "", format: str = "") -> Response:
    """Return the analysis of a board's ten best systems, or as CSV how many got each post right."""
    challenge = place.challenge
    chosen = action.find_phase(challenge, phase) if phase else challenge.phases[-1]
    asked = action.find_task(challenge, task) if task else challenge.tasks[0]
    with context_of(request).store.read() as db:
        board = analyse_board(db, challenge, chosen, asked)
    if format == "csv" and board is not None:
        lines = [f'"{key}",{n},{len(board.systems)}' for key, n in zip(board.ids, board.right_counts, strict=True)]
        name = f"{challenge.id}-{chosen.name}-{asked.name}-errors.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response("\n".join(["id,right,systems", *lines, ""]), media_type="text/csv", headers=headers)
    picture = ""
    if board is not None:
        title = render.translator_of(request)("analysis.confusion")
        picture = Markup(confusion_svg(board.labels, board.confusion_shares, title=title))  # noqa: S704 — it escapes
    return challenge_page(
        request,
        place,
        "challenge_analysis.html",
        phase=chosen,
        task=asked,
        found=board,
        picture=picture,
        pairs=board.pairs[:PAIRS] if board else (),
    )
