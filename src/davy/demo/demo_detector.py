"""The demo's own detector: learnt from what its English project settled, and checked beside the server's.

Both are the jobs that the project's pages start. A small model of letters and words in the base install: it shows the
way from labels to a detector, not a good one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from davy.detectors.registered import register_detector
from davy.jobs import store as jobs
from davy.jobs.kinds import job_kinds
from davy.jobs.worker import JobWorker
from davy.runs import store as project_suites
from davy.runs.jobs.tasks import CHECK
from davy.runs.jobs.training import TRAIN
from davy.store import Store

PROJECT = "mill-valley"
NAME = "valley"
SUITE = "What people of the valley say"


def add_detector(store: Store, people: Mapping[str, str], folder: Path, files: Path, source: str) -> None:
    """Train the detector, tell the server of it and check it; `people` are the ids of humphry, jane and michael.

    `source` is how the server's own detector is loaded, which is checked beside it; empty for the demo's word list.
    """
    told: dict[str, Any] = {"project": PROJECT, "name": NAME, "kind": "tfidf", "seed": 1}
    made = _run(store, people["humphry"], TRAIN, told, files)
    register_detector(store, str(made["model"]), by=people["humphry"], name=NAME)
    with store.write() as db:
        text = (folder / "valley-suite.yaml").read_text(encoding="utf-8")
        suite = project_suites.create(db, PROJECT, SUITE, text, by=people["humphry"])
    models = {source: source, str(made["model"]): NAME} if source else {str(made["model"]): NAME}
    told = {"models": list(models), "names": list(models.values()), "out": "", "project": PROJECT}
    told |= {"suite": f"{suite.id}@{suite.version}", "suite_title": SUITE}
    _run(store, people["humphry"], CHECK, told, files)


def _run(store: Store, who: str, kind: str, told: Mapping[str, Any], files: Path) -> Mapping[str, Any]:
    """Do a job at once, as a worker does, and return what came of it."""
    with store.write() as db:
        job = jobs.enqueue(db, kind, dict(told), owner=who, project=PROJECT)
    with JobWorker(store, {kind: job_kinds()[kind].function}, files=files, once=True) as worker:
        worker.join()
    with store.read() as db:
        done = jobs.get(db, job.id)
    if done.state != "done":
        raise RuntimeError(f"the demo's job {kind} is {done.state}: {done.error}")
    result: Mapping[str, Any] = done.result
    return result
