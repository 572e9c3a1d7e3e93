"""Runs: score a file, compare two detectors, evaluate, check with a suite. Each is a background job with a page.

The same pages serve the server (`/runs`) and a project (`/projects/P/train/runs`), where its own detectors, suites and
verdicts can be chosen too. Files with texts go after a while; reports stay.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from davy.annotation.project.pages.upload_form import UploadForm
from davy.detectors import store as detectors
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.job_files import WORDS
from davy.jobs.store import Job
from davy.people.pages.visitor import Form, field
from davy.runs import store as project_suites
from davy.runs.jobs.tasks import CHECK, COMPARE, EVALUATE, SAMPLE, SCORE
from davy.runs.pages.detector_choices import DetectorChoice, list_choices, list_trained, trained_entry
from davy.runs.pages.workplace import LIVE, Workplace, in_workplace, start_run
from davy.store import Connection, events
from davy.store.columns import new_id
from davy.testing import suites
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.refused_by import refused_by
from davy.web.reports import PAGE, read_json, report_response

router = APIRouter(include_in_schema=False)

Runs = Annotated[Workplace, Depends(in_workplace("score files", "train"))]

KINDS: Mapping[str, str] = {
    "score": SCORE,
    "compare": COMPARE,
    "evaluate": EVALUATE,
    "check": CHECK,
    "sample": SAMPLE,
}
"""The last part of a form's address, and the kind of job that it starts."""
REPORT_FILES = (PAGE, "figures.csv", "results.json", "cells.csv", "cases.csv", "junit.xml", "report.json")
SHOWN = 30
MOST_DETECTORS = 6
MADE_FILES = ("score", "compare", "sample")
"""What leaves a file to fetch; the others leave a report."""
SAMPLERS: Mapping[str, bool] = {
    "random": False,
    "keyword": False,
    "deciles": True,
    "uncertainty": True,
    "diversity": False,
}
"""The samplers of the form, and whether each asks a detector."""
JUDGE = "detector"
MOST_SAMPLED = 100_000


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as a list shows it."""

    job: Job
    verb: str
    detectors: tuple[str, ...]
    about: str
    live: bool


@router.get("/runs")
@router.get("/projects/{project_id}/train/runs")
def show(request: Request, where: Runs) -> Response:
    """Return what can be run, and the newest runs: one's own, or the project's."""
    with context_of(request).store.read() as db:
        found = where.latest(db, tuple(KINDS.values()), limit=SHOWN)
    rows = [_row(job) for job in found]
    live = any(row.live for row in rows)
    if is_htmx(request):
        return render.page(request, "parts/runs.html", where=where, rows=rows, live=live)
    can = context_of(request).settings.files_folder is not None
    return where.page(request, "runs.html", rows=rows, live=live, verbs=list(KINDS), can=can)


@router.get("/runs/new/{verb}")
@router.get("/projects/{project_id}/train/runs/new/{verb}")
def ask(request: Request, where: Runs, verb: str) -> Response:
    """Return the form of one kind of run; a project's has its own detectors and verdicts."""
    return _form_page(request, where, verb)


def _form_page(
    request: Request,
    where: Workplace,
    verb: str,
    *,
    form: FormData | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    if verb not in KINDS:
        raise LocalizedError("no_such", status=404)
    asked = request.query_params.get("detector", "")[:200]
    chosen, suite = (_sent_detectors(form), field(form, "suite")) if form is not None else ((), "")
    return where.page(
        request,
        "run_new.html",
        status=status,
        verb=verb,
        choices=list_choices(request, where.account, where.project),
        chosen=chosen or ((asked,) if asked else ()),
        suites=list_suites(request, where),
        suite=suite or request.query_params.get("suite", "")[:80],
        most=context_of(request).settings.max_upload // 1_000_000,
        kept=job_files.KEPT.days,
        samplers=list(SAMPLERS),
        once=new_id(),
        wrong=wrong,
    )


@router.post("/runs/{verb}/upload")
@router.post("/projects/{project_id}/train/runs/{verb}/upload")
@refused_by(_form_page, but=(403, 404, 500, 503))
async def start(request: Request, where: Runs, verb: str, form: UploadForm) -> Response:
    """Queue a run."""
    return await to_thread.run_sync(_start, request, where, verb, form)


def _start(request: Request, where: Workplace, verb: str, form: FormData) -> Response:
    if verb not in KINDS:
        raise LocalizedError("no_such", status=404)
    chosen = _detectors(request, where, _sent_detectors(form), verb)
    arguments, needs_file = _arguments(request, where, verb, form, chosen)
    job = start_run(request, where, KINDS[verb], arguments, form, needs_file=needs_file)
    return render.redirect(request, f"{where.address}/{job.id}", "run_started")


def _sent_detectors(form: FormData) -> tuple[str, ...]:
    return tuple(str(key)[:200] for key in form.getlist("detector") if isinstance(key, str))


@router.get("/runs/{job_id}")
@router.get("/projects/{project_id}/train/runs/{job_id}")
def show_run(request: Request, where: Runs, job_id: str) -> Response:
    """Return one run: how far it is, or what came of it."""
    context = context_of(request)
    with context.store.read() as db:
        job = where.find(db, job_id, tuple(KINDS.values()))
        lines = jobs.log_lines(db, job.id, limit=200)
        thresholds = _thresholds(db, job)
    row = _row(job)
    folder = context.settings.files_folder
    found: Any = job.result if row.verb in MADE_FILES else None
    fetchable: list[str] = []
    if job.state == "done" and folder is not None:
        if row.verb in MADE_FILES:
            name = str(job.result.get("file", ""))
            fetchable = [name] if job_files.find_file(folder, job.id, name) else []
        else:
            own = folder / job_files.REPORTS / job.id
            found = read_json(own / ("report.json" if row.verb == "check" else "results.json"))
            fetchable = [name for name in REPORT_FILES if (own / name).is_file()]
    values = {"row": row, "job": job, "lines": lines, "live": row.live, "found": found, "files": fetchable}
    if is_htmx(request):
        return render.live_part(request, "parts/run.html", where=where, page=PAGE, **values)
    more: dict[str, Any] = {
        "kept": job_files.KEPT.days,
        "thresholds": thresholds,
        "trained": _trained(request, where, job),
    }
    return where.page(request, "run.html", page=PAGE, **more, **values)


@router.get("/runs/{job_id}/files/{name}")
@router.get("/projects/{project_id}/train/runs/{job_id}/files/{name}")
def fetch(request: Request, where: Runs, job_id: str, name: str) -> Response:
    """Return a run's file, or show its report."""
    context = context_of(request)
    folder = context.settings.files_folder
    with context.store.read() as db:
        job = where.find(db, job_id, tuple(KINDS.values()))
    if job.state != "done" or folder is None:
        raise LocalizedError("no_such", status=404)
    if _row(job).verb in ("check", "evaluate"):
        if name not in REPORT_FILES:
            raise LocalizedError("no_such", status=404)
        report = folder / job_files.REPORTS / job.id / name
        return report_response(report, render.translator_of(request).lang)
    path = job_files.find_file(folder, job.id, name) if name == job.result.get("file") else None
    if path is None:
        raise LocalizedError("export_gone", status=410, days=job_files.KEPT.days)
    with context.store.write() as db:
        about = f"project {where.project}" if where.project else f"job {job.id}"
        events.record(db, by=where.account.id, what="run fetched", about=about, job=job.id, file=name)
    return FileResponse(path, media_type="application/octet-stream", filename=name)


@router.post("/runs/{job_id}/{act}")
@router.post("/projects/{project_id}/train/runs/{job_id}/{act}")
def change(request: Request, where: Runs, job_id: str, act: str, form: Form) -> Response:
    """Cancel a run, start it again, or remove its files."""
    context = context_of(request)
    if act not in ("cancel", "again", "remove"):
        raise LocalizedError("no_such", status=404)
    with context.store.write() as db:
        job = where.find(db, job_id, tuple(KINDS.values()))
        if act == "cancel":
            jobs.ask_cancel(db, job.id, by=where.account.id)
        elif act == "again":
            jobs.retry(db, job.id, by=where.account.id)
        else:
            events.record(db, by=where.account.id, what="run's files removed", about=f"job {job.id}")
    folder = context.settings.files_folder
    if act == "remove" and folder is not None:
        job_files.discard(folder, job.id)
        job_files.discard(folder / job_files.REPORTS, job.id)
    back = where.address if act == "remove" else f"{where.address}/{job.id}"
    return render.redirect(request, back, f"export_{act}")


def _trained(request: Request, where: Workplace, job: Job) -> list[DetectorChoice]:
    """Return the detectors of a run that its project trained, each with its training's id as the key."""
    if where.project is None:
        return []
    asked = [job.arguments.get("model"), *(job.arguments.get("models") or ())]
    with context_of(request).store.read() as db:
        made = list_trained(db, where.account, where.project)
    entries = [(each.id, entry) for each in made if (entry := trained_entry(each)) is not None]
    return [DetectorChoice(training, it.name, it.version, it.source) for training, it in entries if it.source in asked]


def list_suites(request: Request, where: Workplace) -> list[tuple[str, str]]:
    """Return the suites that can be run here, as (what a form sends, title); a project's own first."""
    words = render.translator_of(request)
    shipped = [(name, words.report(title)) for name, title in suites.titles()]
    if where.project is None:
        return shipped
    with context_of(request).store.read() as db:
        own = project_suites.list_suites(db, where.project)
    return [*((f"{suite.id}@{suite.version}", suite.name) for suite in own), *shipped]


def _detectors(request: Request, where: Workplace, sent: tuple[str, ...], verb: str) -> list[DetectorChoice]:
    """Return the detectors that a form names; one that this person may not ask is none."""
    known = {choice.key: choice for choice in list_choices(request, where.account, where.project)}
    chosen = [known[key] for key in dict.fromkeys(sent) if key in known]
    fewest, most = {"score": (1, 1), "compare": (2, 2), "sample": (1, 1)}.get(verb, (1, MOST_DETECTORS))
    if len(chosen) != len(set(sent)) or not fewest <= len(chosen) <= most:
        raise LocalizedError("detectors_chosen" if verb != "compare" else "two_detectors", status=422)
    return chosen


def _arguments(
    request: Request, where: Workplace, verb: str, form: FormData, chosen: list[DetectorChoice]
) -> tuple[dict[str, Any], bool]:
    """Return a job's arguments, and whether it needs a file."""
    names = [choice.name for choice in chosen]
    shown = [it.name if names.count(it.name) == 1 else f"{it.name}@{it.version}" for it in chosen]
    registered = [choice.registered for choice in chosen]
    models = {"models": [choice.source for choice in chosen], "registered": registered, "names": shown, "out": ""}
    if verb == "score":
        text = {"text_column": field(form, "text_column"), "why": bool(form.get("explain"))}
        return {"model": chosen[0].source, "registered": registered[0], "names": shown, "out": "", **text}, True
    if verb == "compare":
        return {**models, "text_column": field(form, "text_column")}, True
    if verb == "sample":
        return {**_plan(form, chosen[0]), "names": shown, "text_column": field(form, "text_column")}, True
    if verb == "check":
        suite, known = field(form, "suite"), dict(list_suites(request, where))
        if suite not in known:
            raise LocalizedError("choice", status=422)
        own = {"project": where.project, "suite_title": known[suite]} if "@" in suite else {}
        return {**models, "suite": suite, **own}, False
    if where.project is not None and form.get("posts") == "verdicts":
        return {**models, "project": where.project, "file": ""}, False
    return models, True


def _plan(form: FormData, detector: DetectorChoice) -> dict[str, Any]:
    """Return the arguments of a sample: the plan that a form describes, its words, and the detector as its judge."""
    words = [line.strip() for line in field(form, "words", most=20_000).splitlines() if line.strip()]
    samplers = []
    for kind, judged in SAMPLERS.items():
        n = field(form, f"n-{kind}", most=6) or "0"
        if not (n.isascii() and n.isdigit()) or int(n) > MOST_SAMPLED:
            raise LocalizedError("sample_size", status=422, most=MOST_SAMPLED)
        if int(n):
            more = {"judge": JUDGE} if judged else {"words": WORDS} if kind == "keyword" else {}
            samplers.append({kind: {"name": kind, "n": int(n), **more}})
    seed, question = field(form, "seed", most=6) or "0", field(form, "question")
    if not samplers or (int(field(form, "n-keyword", most=6) or 0) and not words):
        raise LocalizedError("nothing_sampled", status=422)
    if not seed.isdecimal() or (question and question not in detector.questions):
        raise LocalizedError("choice", status=422)
    judge = f"{JUDGE}={detector.source}#{question or detector.questions[0]}"
    asked = any(judged for kind, judged in SAMPLERS.items() if int(field(form, f"n-{kind}", most=6) or 0))
    text = json.dumps({"name": "page", "samplers": samplers}, ensure_ascii=False)  # JSON is YAML too
    return {"plan_text": text, "words": words, "judges": [judge] if asked else [], "seed": int(seed), "out": ""}


@cache
def _suite_titles() -> dict[str, str]:
    return dict(suites.titles())


def _row(job: Job) -> RunRow:
    verb = next(verb for verb, kind in KINDS.items() if kind == job.kind)
    names = tuple(str(name) for name in job.arguments.get("names") or job.arguments.get("models") or ())
    about = str(
        job.arguments.get("suite_title")
        or _suite_titles().get(str(job.arguments.get("suite")), job.arguments.get("suite"))
        or Path(str(job.arguments.get("file") or "")).name
    )
    return RunRow(job, verb, names, about, job.state in LIVE)


def _thresholds(db: Connection, job: Job) -> list[tuple[str, str, float]]:
    """Return the thresholds that a run's detectors were registered with, as (detector, question, threshold)."""
    known = job.arguments.get("registered") or ()
    ids = [known] if isinstance(known, str) else known
    return [
        (name, question, value)
        for name, detector_id in zip(job.arguments.get("names") or ids, ids, strict=False)
        if detector_id
        for question, value in detectors.get(db, detector_id).thresholds.items()
    ]
