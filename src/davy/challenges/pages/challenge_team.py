"""A team of a challenge: name, members and invitations; sending predictions; each submission with log and survey."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.upload_form import UploadForm, sent_file
from davy.challenges import run_challenge as action
from davy.challenges.boards import SURVEY, why_unranked
from davy.challenges.challenge import Submission, Team
from davy.challenges.pages.challenge_access import ChallengePlace, challenge_page, in_challenge
from davy.challenges.run_challenge import name_key
from davy.challenges.store import challenges, submissions, teams
from davy.challenges.submission_file import SubmissionRefused
from davy.core.errors import UserError
from davy.jobs import store as jobs
from davy.people.pages.visitor import Form, check_rate, client_address, field
from davy.people.store import keys
from davy.store import Connection
from davy.store.columns import now
from davy.web import render, uploads
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Has = Annotated[ChallengePlace, Depends(in_challenge("have a team"))]
Submits = Annotated[ChallengePlace, Depends(in_challenge("submit"))]
KEY_LASTS = timedelta(days=365)


@router.get("/challenges/{challenge_id}/team")
def team(request: Request, place: Has) -> Response:
    """Return the team's page, or the way to one."""
    return _team_page(request, place)


def _team_page(
    request: Request, place: ChallengePlace, *, wrong: str = "", secret: str = "", status: int = 200
) -> Response:
    with context_of(request).store.read() as db:
        own = place.team
        values: dict[str, Any] = {
            "members": teams.members(db, own.id) if own else [],
            "invited": teams.invitations(db, own.id) if own else [],
            "offers": [] if own else teams.invited_to(db, place.challenge.id, place.user.login),
            "lines": submission_lines(place, submissions.of_team(db, own.id)) if own else [],
        }
    base = context_of(request).link("")
    leads = own is not None and own.captain == place.user.id
    return challenge_page(
        request, place, "challenge_team.html", status=status, wrong=wrong, secret=secret, leads=leads, base_url=base,
        **values,
    )  # fmt: skip


@router.post("/challenges/{challenge_id}/team/{act}")
@refused_by(_team_page)
def change(request: Request, place: Has, act: str, form: Form) -> Response:
    """Make or rename a team, invite, join, leave, hand over, make a key."""
    if act == "key":
        return _make_key(request, place)
    acts = {"create": _create, "join": _join, "decline": _decline, "rename": _rename, "invite": _invite,
            "take-back": _take_back, "leave": _leave, "hand-over": _hand_over}  # fmt: skip
    if act not in acts:
        raise LocalizedError("no_such", status=404)
    check_rate(request, "words of a person", place.user.id)
    with context_of(request).store.write() as db:
        acts[act](db, place, form)
    return render.redirect(request, f"{place.address}/team", "team_saved")


def _create(db: Connection, place: ChallengePlace, form: FormData) -> None:
    name = field(form, "name", most=200)
    teams.create(db, place.challenge.id, name, name_key(name), by=place.user.id, captain=place.user.id)


def _join(db: Connection, place: ChallengePlace, form: FormData) -> None:
    teams.join(db, teams.get(db, place.challenge.id, field(form, "team")), place.user)


def _decline(db: Connection, place: ChallengePlace, form: FormData) -> None:
    invited = teams.get(db, place.challenge.id, field(form, "team"))
    teams.take_back(db, invited, place.user.login, by=place.user.id)


def _rename(db: Connection, place: ChallengePlace, form: FormData) -> None:
    name = field(form, "name", most=200)
    teams.rename(db, _led(place), name, name_key(name), by=place.user.id)


def _invite(db: Connection, place: ChallengePlace, form: FormData) -> None:
    teams.invite(db, _led(place), field(form, "login"), by=place.user.id)


def _take_back(db: Connection, place: ChallengePlace, form: FormData) -> None:
    teams.take_back(db, _led(place), field(form, "login"), by=place.user.id)


def _leave(db: Connection, place: ChallengePlace, form: FormData) -> None:
    if place.team is not None:
        teams.leave(db, place.team, place.user.id, by=place.user.id)


def _hand_over(db: Connection, place: ChallengePlace, form: FormData) -> None:
    teams.hand_over(db, _led(place), field(form, "user"), by=place.user.id)


def _led(place: ChallengePlace) -> Team:
    """Return the team that this person leads."""
    if place.team is None or place.team.captain != place.user.id:
        raise LocalizedError("submission_captain", status=403)
    return place.team


def _make_key(request: Request, place: ChallengePlace) -> Response:
    """Make a key that sends for this person's team and does nothing else; show it this once."""
    with context_of(request).store.write() as db:
        _led(place)
        name = f"challenge {place.challenge.id}"
        for old in keys.list_keys(db, owner=place.user.id):
            if old.name == name and old.state == "active":
                keys.revoke(db, old.id, by=place.user.id)
        _, secret = keys.create(
            db, name=name, owner=place.user.id, scopes=["submit"], by=place.user.id, lasts=KEY_LASTS
        )
    context_of(request).key_cache.forget()
    return _team_page(request, place, secret=secret)


def submission_lines(place: ChallengePlace, sent: Sequence[Submission]) -> list[dict[str, Any]]:
    """Return all of a team's submissions as pages show them; a figure only where the board may be read."""
    by_id, at = {phase.id: phase for phase in place.challenge.phases}, now()
    assert place.team is not None  # who has sent something has one
    lines = []
    for each in sent:
        phase = by_id[each.phase]
        own = sorted((it for it in sent if (it.phase, it.task) == (each.phase, each.task)), key=lambda it: it.id)
        unranked = why_unranked(each, own, place.team, phase)
        figure = each.figure if place.reads_board(phase, at) else None
        if unranked == "better" and figure is None:
            unranked = ""  # which of two files is better says something about hidden labels
        lines.append({"it": each, "phase": phase, "figure": figure, "unranked": unranked})
    return lines


# ---- sending ------------------------------------------------------------------------------------


@router.get("/challenges/{challenge_id}/submit")
def submit_form(request: Request, place: Submits) -> Response:
    """Return the form for predictions."""
    return _submit_page(request, place)


def _submit_page(
    request: Request,
    place: ChallengePlace,
    *,
    form: FormData | None = None,
    error: UserError | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    at = now()
    assert place.team is not None  # the permission asks for one
    with context_of(request).store.read() as db:
        targets = [
            (phase, task, window, submissions.count(db, phase.id, task.name, place.team.id))
            for phase, task, window in place.challenge.windows()
            if window.state(at) == "open" and phase.frozen_at is None
        ]
        last = next((each for each in submissions.of_team(db, place.team.id) if each.survey), None)
        public = {name: data.labels_public for name, data in challenges.data_sets(db, place.challenge.id).items()}
    return challenge_page(
        request,
        place,
        "challenge_submit.html",
        status=status,
        targets=targets,
        public=public,
        chosen=field(form, "target") if form is not None else "",
        survey=SURVEY,
        answered=dict(last.survey or {}) if last else {},
        leads=place.team.captain == place.user.id,
        wrong=wrong,
        faults=error.faults if isinstance(error, SubmissionRefused) else (),
    )


@router.post("/challenges/{challenge_id}/submit/upload")
@refused_by(_submit_page)
async def submit(request: Request, place: Submits, form: UploadForm) -> Response:
    """Check predictions and queue their scoring; what is wrong with them is shown at the form."""
    taken = await to_thread.run_sync(partial(receive_submission, request, place, form, survey=read_survey(form)))
    return render.redirect(request, f"{place.address}/submissions/{taken.id}", "submission_taken")


def receive_submission(
    request: Request, place: ChallengePlace, form: FormData, *, survey: Mapping[str, Any] | None = None
) -> Submission:
    """Take the file of a form for the sender's team; pages and the API both end here."""
    at, context = now(), context_of(request)
    if place.team is None:
        raise LocalizedError("not_in_challenge", status=403)
    sent = sent_file(form)
    check_rate(request, "words of a person", place.user.id)
    phase, task = _target(place, form)
    # Keyed, and by challenge: the hash can't be turned back, nor matched with another challenge's.
    about = f"challenge {place.challenge.id} {client_address(request)}".encode()
    wanted = action.SubmissionRequest(
        place.challenge.id,
        phase,
        task,
        place.team.id,
        place.user.id,
        uploads.safe_name(sent.filename or ""),
        at,
        hmac.digest(context.settings.secret_key.encode(), about, "sha256").hex()[:32],
        field(form, "note", most=120) or None,
        survey,
    )
    action.check_turn(context.store, wanted)  # before the file is looked at
    upload = uploads.receive_file(sent, kinds=action.KINDS, limits=action.LIMITS)
    try:
        return action.take_submission(context.store, upload.path, wanted)
    finally:
        upload.discard()


def _target(place: ChallengePlace, form: FormData) -> tuple[str, str]:
    """Return the phase and task that a form names as `PHASE/TASK`, or by fields; without a phase, the open one."""
    phase, _, task = field(form, "target").partition("/")
    task = task or field(form, "task") or (place.challenge.tasks[0].name if len(place.challenge.tasks) == 1 else "")
    phase = phase or field(form, "phase")
    if not task:
        raise LocalizedError("choice", status=422)
    at = now()
    open_ones = [each.name for each, own, window in place.challenge.windows()
                 if own.name == task and window.state(at) == "open" and not each.frozen_at]  # fmt: skip
    if not phase:
        phase = open_ones[0] if open_ones else place.challenge.phases[-1].name
    return phase, task


def read_survey(form: FormData) -> dict[str, list[str]] | None:
    """Return what a form answers of the survey; None where it answers nothing."""
    answers = {
        question: [each for each in form.getlist(question) if isinstance(each, str) and each in known]
        for question, known in SURVEY.items()
    }
    return answers if any(answers.values()) else None


# ---- one submission -----------------------------------------------------------------------------


@router.get("/challenges/{challenge_id}/submissions/{submission_id}")
def one(request: Request, place: Submits, submission_id: str) -> Response:
    """Return a submission of one's team with its log; for htmx only what changes."""
    with context_of(request).store.read() as db:
        line = own_line(db, place, submission_id)
        job = jobs.find(db, line["it"].job) if line["it"].job else None
        log = jobs.log_lines(db, line["it"].job) if line["it"].job else []
    values: dict[str, Any] = {"line": line, "job": job, "log": log, "live": line["it"].state in ("waiting", "running")}
    if is_htmx(request):
        return render.live_part(request, "parts/submission.html", place=place, **values)
    return challenge_page(request, place, "challenge_submission.html", survey=SURVEY, **values)


@router.post("/challenges/{challenge_id}/submissions/{submission_id}/{act}")
def act_on(request: Request, place: Submits, submission_id: str, act: str, form: Form) -> Response:
    """Answer the survey of a submission, or have a failed one scored again."""
    with context_of(request).store.write() as db:
        line = own_line(db, place, submission_id)
        if act == "survey" and (answers := read_survey(form)):
            submissions.save_survey(db, submission_id, answers, by=place.user.id, challenge_id=place.challenge.id)
            action.queue_ranking(db, line["phase"], line["it"].task)
        elif act == "again" and line["it"].state in ("failed", "cancelled"):
            try:
                action.score_again(db, submission_id, by=place.user.id)
            except SubmissionRefused as error:
                values: dict[str, Any] = error.values
                raise LocalizedError(error.key, status=error.status, **values) from None
        else:
            raise LocalizedError("no_such" if act not in ("survey", "again") else "choice", status=422)
    return render.redirect(request, f"{place.address}/submissions/{submission_id}", f"submission_{act}")


def own_line(db: Connection, place: ChallengePlace, submission_id: str) -> dict[str, Any]:
    """Return a submission of this person's team; another's is answered like one that there isn't."""
    try:
        submission = submissions.get(db, submission_id)
    except UserError:
        raise LocalizedError("no_such", status=404) from None
    if place.team is None or submission.team != place.team.id:
        raise LocalizedError("no_such", status=404)
    lines = submission_lines(place, submissions.of_team(db, place.team.id))
    return next(line for line in lines if line["it"].id == submission.id)
