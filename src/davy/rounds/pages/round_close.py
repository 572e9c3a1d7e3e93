"""The page that closes a round: what would be tried, how far it is, and what it gave.

A job does the work. The page of a closed round shows how often people fooled the target, and the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import Manages, ProjectAccess, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.core.install import install_extra
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.people.pages.visitor import Form, field
from davy.report import Table
from davy.rounds.candidates import BASE, EMOJI, TIMES, CandidateResult, choice_table
from davy.rounds.close_round import begin_close, has_encoders, pending_entries
from davy.rounds.frame import entries_frame
from davy.rounds.jobs import CLOSE_ROUND
from davy.rounds.pages.rounds import find_round
from davy.rounds.round import Round
from davy.rounds.round_figures import RoundErrorRate, error_rates
from davy.runs.pages.workplace import files_folder
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

LOG_LINES = 8


@router.get("/projects/{project_id}/rounds/{round_number}/close")
def show_close(request: Request, place: Manages, round_number: str) -> Response:
    """Return what closing the round would do, how far it is, or what came of it."""
    return _page(request, place, round_number)


def _page(request: Request, place: ProjectAccess, round_number: str, *, wrong: str = "", status: int = 200) -> Response:
    with context_of(request).store.read() as db:
        round_ = find_round(db, place, round_number)
        job = _job(db, place, round_)
        waiting = len(pending_entries(db, round_)) if round_.state != "closed" else 0
        lines = jobs.log_lines(db, job.id, limit=LOG_LINES) if job is not None else []
        rates = _error_rates(db, place, round_)
    live = round_.state != "closed" and job is not None and job.state in ("waiting", "running")
    if is_htmx(request):
        return render.live_part(
            request, "parts/round_closing.html", place=place, round=round_, job=job, lines=lines, live=live
        )
    winner = CandidateResult.from_dict(round_.outcome["winner"]) if round_.outcome else None
    results = [CandidateResult.from_dict(each) for each in round_.outcome.get("results", ())]
    return project_page(
        request,
        place,
        "round_close.html",
        status=status,
        round=round_,
        job=job,
        live=live,
        measured_on=winner.measured_on(round_.outcome["chosen_by"]) if winner is not None else None,
        lines=lines,
        waiting=waiting,
        architectures=_architectures(request),
        encoders=has_encoders(),
        install_train=install_extra("train"),
        times=TIMES,
        ways=EMOJI,
        rates=rates,
        table=_choices_table(round_.outcome, results) if results else None,
        wrong=wrong,
    )


def _error_rates(db: Connection, place: ProjectAccess, round_: Round) -> Sequence[RoundErrorRate]:
    """Return how often people fooled the target of a closed round."""
    if round_.state != "closed":
        return ()
    scheme = scheme_of(db, place.project)
    return error_rates(entries_frame(db, round_, scheme), scheme.question(round_.question))


def _choices_table(outcome: Mapping[str, Any], results: Sequence[CandidateResult]) -> Table:
    """Return the candidates with the target that the round was held against."""
    before = outcome["targets"].get(outcome.get("incumbent", {}).get("name"))
    return choice_table(results, outcome["round"], by=outcome["chosen_by"], incumbent=before)


@router.post("/projects/{project_id}/rounds/{round_number}/close")
@refused_by(_page)
def start_close(request: Request, place: Manages, round_number: str, form: Form) -> Response:
    """Stop the round from taking entries and queue its close."""
    context = context_of(request)
    files_folder(request)
    with context.store.write() as db:
        round_ = find_round(db, place, round_number)
        arguments = {"project": place.project.id, **_choices(request, form)}
        waiting = pending_entries(db, round_)
        if round_.state == "closed":
            raise LocalizedError("round_is_closed", status=409)
        if waiting and arguments["pending"] != "drop":
            raise LocalizedError("round_pending", status=409, n=len(waiting))
        if not waiting:  # else the job drops them, once it has checked that the rest suffices
            begin_close(db, place.project.id, by=place.account.id)
        last = _job(db, place, round_)
        if last is not None and last.state in ("failed", "cancelled"):
            jobs.retry(db, last.id, by=place.account.id, arguments=arguments)
        else:
            key = f"close {round_.id}"
            owner, project = place.account.id, place.project.id
            jobs.enqueue(db, CLOSE_ROUND, arguments, owner=owner, key=key, project=project)
    return render.redirect(request, f"{place.address}/rounds/{round_number}/close", "round_closing")


def _choices(request: Request, form: FormData) -> dict[str, Any]:
    """Return what the form asks for; an architecture or a factor that was not offered is refused."""
    architectures = [it for it in form.getlist("architecture") if isinstance(it, str)]
    times = [it for it in form.getlist("times") if isinstance(it, str)]
    if not architectures or not set(architectures) <= set(_architectures(request)):
        raise LocalizedError("choice", status=422)
    if not times or not set(times) <= {str(each) for each in TIMES}:
        raise LocalizedError("choice", status=422)
    pending = "drop" if field(form, "pending") == "drop" else "refuse"
    return {"architectures": architectures, "times": [int(each) for each in times], "pending": pending}


def _architectures(request: Request) -> list[str]:
    """Return what can be trained here: n-grams, and the server's encoders where the extra is installed."""
    folder = context_of(request).settings.files_folder
    own = folder / job_files.ENCODERS if folder is not None else None
    encoders = sorted(it.name for it in own.iterdir() if it.is_dir()) if own is not None and own.is_dir() else []
    return [BASE, *(encoders if has_encoders() else [])]


def _job(db: Connection, place: ProjectAccess, round_: Round) -> jobs.Job | None:
    if round_.opened_at is None:
        return None
    latest = jobs.latest(db, kind=CLOSE_ROUND, project=place.project.id, limit=1)
    return next((job for job in latest if job.created_at >= round_.opened_at), None)
