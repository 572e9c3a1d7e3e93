"""The attacker's page: start an attack on a target, see what got through, put it before people, fetch the file.

Only the role `adversarial` opens it; starting, proposing and fetching are events. It proposes; only people label.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.detectors import store as detectors
from davy.files.atomic import write_text
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.store import Job
from davy.people.pages.visitor import Form, field
from davy.rounds.attack import MOST_SEEDS, STRATEGIES, TRIES, check_strategies, put_proposals
from davy.rounds.jobs import ATTACK, PROPOSALS, SEEDS
from davy.rounds.store import entries, rounds
from davy.runs.pages.workplace import files_folder, find_job
from davy.scoring.queue.detectors import Detectors
from davy.store import Connection, events
from davy.store.columns import new_id
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx

router = APIRouter(include_in_schema=False)

Attacks = Annotated[ProjectAccess, Depends(in_project("attack"))]

SHOWN = 10
LISTED = 200
LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class AttackRow:
    """One attack as the page shows it; `proposals` are (number, row of the file, masked text)."""

    job: Job
    live: bool
    proposals: list[tuple[int, dict[str, Any], str]]
    left_out: int


@router.get("/projects/{project_id}/attack")
def show(request: Request, place: Attacks) -> Response:
    """Return the page; for htmx only the attacks."""
    context = context_of(request)
    with context.store.read() as db:
        found = jobs.latest(db, kind=ATTACK, project=place.project.id, limit=SHOWN)
        current = rounds.current(db, place.project.id)
        targets = _targets(request, db, place)
        seeds = len(_own_seeds(db, place))
    rows = [_row(request, job) for job in found]
    values: dict[str, Any] = {
        "rows": rows,
        "live": any(row.live for row in rows),
        "round": current if current is not None and current.state == "open" else None,
        "file": PROPOSALS,
    }
    if is_htmx(request):
        return render.page(request, "parts/attacks.html", place=place, **values)
    return project_page(
        request,
        place,
        "attack.html",
        can=context.settings.files_folder is not None,
        targets=targets,
        seeds=seeds,
        strategies=list(STRATEGIES),
        tries=TRIES,
        most=MOST_SEEDS,
        once=new_id(),
        **values,
    )


@router.post("/projects/{project_id}/attack")
def start(request: Request, place: Attacks, form: Form) -> Response:
    """Queue an attack with the texts that were typed, else with the project's settled entries."""
    context, folder = context_of(request), files_folder(request)
    chosen = [str(name) for name in form.getlist("strategies") if isinstance(name, str) and name in STRATEGIES]
    tries = field(form, "tries", most=2) or str(TRIES)
    typed = [line.strip() for line in field(form, "texts", most=LONGEST).splitlines() if line.strip()]
    with context.store.read() as db:
        target = field(form, "target", most=200)
        if target not in _targets(request, db, place) or not tries.isdecimal() or not 1 <= int(tries) <= 20:
            raise LocalizedError("choice", status=422)
        seeds = [{"id": f"typed-{n}", "text": text} for n, text in enumerate(typed, 1)] or _own_seeds(db, place)
    if not seeds:
        raise LocalizedError("no_seeds", status=422)
    upload = new_id()
    own = job_files.make_folder(folder, upload)
    lines = (json.dumps(seed, ensure_ascii=False) for seed in seeds[:MOST_SEEDS])
    write_text(own / SEEDS, "".join(f"{line}\n" for line in lines))
    arguments = {
        "project": place.project.id,
        "target": target,
        "upload": upload,
        "source": context.settings.model if target == _own_name(request) else "",
        "strategies": check_strategies(chosen),
        "tries": int(tries),
    }
    key = f"attack {place.project.id} {field(form, 'once', most=40) or upload}"
    with context.store.write() as db:
        job = jobs.enqueue(db, ATTACK, arguments, owner=place.account.id, key=key, project=place.project.id)
        if job.arguments.get("upload") == upload:
            _record(db, place, "attack started", job=job.id, target=target, seeds=len(seeds))
    if job.arguments.get("upload") != upload:  # a form that is sent twice asks once
        job_files.discard(folder, upload)
    return render.redirect(request, f"{place.address}/attack", "attack_started")


@router.get("/projects/{project_id}/attack/{job_id}/{name}")
def fetch(request: Request, place: Attacks, job_id: str, name: str) -> Response:
    """Return the file of what got through, for saving; every fetch is an event."""
    context = context_of(request)
    with context.store.read() as db:
        job = find_job(db, place.project.id, job_id, ATTACK)
    if job.state != "done" or name != PROPOSALS:
        raise LocalizedError("no_such", status=404)
    path = job_files.find_file(context.settings.files_folder, job.id, name)
    if path is None:
        raise LocalizedError("export_gone", status=410, days=job_files.KEPT.days)
    with context.store.write() as db:
        _record(db, place, "adversarial export fetched", job=job.id, file=name)
    return FileResponse(path, media_type="application/octet-stream", filename=f"{place.project.id}-{name}")


@router.post("/projects/{project_id}/attack/{job_id}/{act}")
def change(request: Request, place: Attacks, job_id: str, act: str, form: Form) -> Response:
    """Put chosen proposals into the open round, or cancel an attack."""
    context = context_of(request)
    if act not in ("propose", "cancel"):
        raise LocalizedError("no_such", status=404)
    with context.store.read() as db:
        job = find_job(db, place.project.id, job_id, ATTACK)
    if act == "cancel":
        with context.store.write() as db:
            jobs.ask_cancel(db, job.id, by=place.account.id)
        return render.redirect(request, f"{place.address}/attack", "export_cancel")
    rows = _chosen(form, _read(context.settings.files_folder, job))
    with context.store.write() as db:
        current = rounds.current(db, place.project.id)
        if current is None or current.state != "open":
            raise LocalizedError("no_open_round", status=409)
        n = put_proposals(db, current, rows, by=place.account.id)
        _record(db, place, "proposals put into a round", job=job.id, round=current.number, n=n)
    return render.redirect(request, f"{place.address}/attack", "proposals_put", n=str(n))


def _targets(request: Request, db: Connection, place: ProjectAccess) -> list[str]:
    """Return what may be attacked: the targets of the project's rounds, newest first, that the server still has."""
    known = {entry.full_name for entry in detectors.list_detectors(db) if entry.state != "retired"}
    known.add(_own_name(request))
    named = [target for round_ in reversed(rounds.of_project(db, place.project.id)) for target in round_.targets]
    return [target for target in dict.fromkeys(named) if target in known]


def _own_name(request: Request) -> str:
    """Return the server's own detector as name@version."""
    model = context_of(request).part(Detectors).started.model
    return f"{model['name']}@{model['version']}"


def _own_seeds(db: Connection, place: ProjectAccess) -> list[dict[str, Any]]:
    """Return the project's settled entries with their labels, newest round first, as rows of a file of seeds."""
    made = []
    for round_ in reversed(rounds.of_project(db, place.project.id)):
        for row in entries.of_round(db, round_.id):
            if row.entry.settled is not None and row.entry.dropped is None:
                label = {f"{round_.question}.gold": row.entry.settled}
                made.append({"id": row.entry.id, "text": row.text, "lang": row.lang, **label})
    return made[:MOST_SEEDS]


def _row(request: Request, job: Job) -> AttackRow:
    context = context_of(request)
    rows = _read(context.settings.files_folder, job) if job.state == "done" else []
    listed = [(number, row, context.mask(row["text"])) for number, row in enumerate(rows[:LISTED])]
    return AttackRow(job, job.state in ("waiting", "running"), listed, len(rows) - len(listed))


def _read(folder: Path | None, job: Job) -> list[dict[str, Any]]:
    """Return the rows of a job's file; none where it is gone by now."""
    path = job_files.find_file(folder, job.id, PROPOSALS)
    return [] if path is None else [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _chosen(form: FormData, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    numbers = [str(number) for number in form.getlist("proposal")]
    chosen = [rows[int(n)] for n in dict.fromkeys(numbers) if n.isascii() and n.isdigit() and int(n) < len(rows)]
    if not chosen:
        raise LocalizedError("no_proposal_chosen", status=422)
    return chosen


def _record(db: Connection, place: ProjectAccess, what: str, **details: Any) -> None:
    events.record(db, by=place.account.id, what=what, about=f"project {place.project.id}", **details)
