"""Which detectors somebody may ask: the server's own, and those that were trained in projects which they run.

A detector that a project trained belongs to it. Who does not run that project is answered as if there were none, until
an admin puts it into use for the server.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread
from starlette.requests import Request

from davy.annotation.project.store import projects
from davy.core.errors import UserError
from davy.detectors import embedded
from davy.detectors import folder as folders
from davy.detectors import store as detectors
from davy.detectors.store import RegisteredDetector
from davy.jobs import store as jobs
from davy.jobs.store import Job
from davy.people.store.users import User
from davy.runs.jobs.training import TRAIN
from davy.scoring.queue.detector import Detector
from davy.scoring.queue.detectors import Detectors
from davy.store import Connection, events
from davy.store.columns import now
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.settings import DEMO_WORD_LIST

TRAINED = "trained:"
"""What the key of a project's own detector begins with; its training's id follows."""
MOST_TRAINED = 50


@dataclass(frozen=True, slots=True)
class DetectorChoice:
    """One detector to choose: `key` is what a form sends, `source` what `--model` would take."""

    key: str
    name: str
    version: str
    source: str
    questions: tuple[str, ...] = ()
    project: str = ""
    """The title of the project that trained it; empty for the server's own."""
    registered: str = ""
    """Its id in the registry, whose thresholds hold wherever it answers; empty where it is not registered."""


def list_choices(request: Request, who: User, project: str | None = None) -> list[DetectorChoice]:
    """Return what a person may choose from, the server's default first; with `project`, trained ones of that alone.

    Each detector comes once: one that a project trained and an admin put into use is the registered one.
    """
    context = context_of(request)
    with context.store.read() as db:
        entries = [entry for entry in detectors.list_detectors(db) if entry.state == "active"]
        trained = list_trained(db, who, project)
        titles = {each.id: each.title for each in projects.list_projects(db)}
    choices = [
        DetectorChoice(it.full_name, it.name, it.version, it.source, it.questions, registered=it.id) for it in entries
    ]
    loaded = context.part(Detectors)
    started = loaded.started.model
    if context.settings.model != DEMO_WORD_LIST:
        own = DetectorChoice(
            f"{started['name']}@{started['version']}", str(started["name"]), str(started["version"]),
            context.settings.model, loaded.started.questions,
        )  # fmt: skip
        if not any(each.key == own.key for each in choices):  # a registered one answers first
            choices = [own, *choices]
    default = str(loaded.default_model["name"])
    choices.sort(key=lambda it: it.name != default)
    in_use = {it.source for it in entries}
    for job in trained:
        entry = trained_entry(job)
        if entry is not None and entry.source not in in_use:
            title = titles.get(job.project or "", "")
            choices.append(DetectorChoice(entry.id, entry.name, entry.version, entry.source, entry.questions, title))
    return choices


def list_trained(db: Connection, who: User, project: str | None = None) -> list[Job]:
    """Return the finished trainings that a person may see, newest first."""
    seen = None if who.role == "admin" else who.id
    found = jobs.latest(db, kind=TRAIN, state="done", project=project, visible_to=seen, limit=MOST_TRAINED)
    return [job for job in found if job.project]


def trained_entry(job: Job) -> RegisteredDetector | None:
    """Return what a training made as the registry would have it; None where its folder is gone."""
    source = str((job.result or {}).get("model", "")) if isinstance(job.result, dict) else ""
    if not source or not (Path(source) / folders.MANIFEST).is_file():
        return None
    try:
        manifest = folders.read(Path(source), check=False)
    except UserError:
        return None
    questions = tuple(question.name for question in manifest.questions)
    return RegisteredDetector(
        f"{TRAINED}{job.id}", str(job.arguments.get("name") or manifest.name), manifest.version, source, "active",
        False, questions, {}, manifest.settings.get(folders.DATA), job.created_at, job.owner,
    )  # fmt: skip


def installed_for_memes(request: Request) -> list[str]:
    """Return the shipped detectors of memes that are installed and that the server does not know by name yet."""
    return [name for name in embedded.installed_memes() if name not in context_of(request).part(Detectors).names]


def _shipped_entry(name: str) -> RegisteredDetector:
    """Return a shipped detector as the registry would have it."""
    path = embedded.weights_folder(name)
    assert path is not None  # only those that are installed are offered
    manifest = folders.read(path, check=False)
    questions = tuple(question.name for question in manifest.questions)
    return RegisteredDetector(
        f"shipped:{name}", name, manifest.version, name, "active", False, questions, {},
        manifest.settings.get(folders.DATA), now(), events.SHELL,
    )  # fmt: skip


async def find_detector(request: Request, who: User, key: str, *, pictures: bool = False) -> Detector:
    """Return the detector that a form names, loaded; a project's own only for those who run the project.

    For `pictures`, the shipped detectors of memes can be named although nobody has added them.
    """
    context = context_of(request)
    if pictures and key in installed_for_memes(request):
        return await context.part(Detectors).open(await to_thread.run_sync(_shipped_entry, key))
    if not key.startswith(TRAINED):
        return await context.part(Detectors).find(key or None)
    entry = await to_thread.run_sync(_trained, request, who, key)
    return await context.part(Detectors).open(entry)


def _trained(request: Request, who: User, key: str) -> RegisteredDetector:
    job_id = key.removeprefix(TRAINED)
    with context_of(request).store.read() as db:
        if who.role != "admin" and not jobs.is_visible(db, job_id, who.id):
            raise LocalizedError("no_such", status=404)
        job = jobs.get(db, job_id)
    entry = trained_entry(job) if job.kind == TRAIN and job.state == "done" else None
    if entry is None:
        raise LocalizedError("no_such", status=404)
    return entry
