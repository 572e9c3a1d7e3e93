"""The demo's own detector: learnt from what its English project settled, by the job that the project's page starts.

A small model of letters and words in the base install: it shows the way from labels to a detector, not a good one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from davy.actions.detectors import register_detector
from davy.jobs.kinds import LONG, TRAIN
from davy.jobs.worker import JobWorker
from davy.store import Store, jobs

PROJECT = "mill-valley"
NAME = "valley"


def add_detector(store: Store, people: Mapping[str, str], files: Path) -> None:
    """Train the detector and tell the server of it; `people` are the ids of humphry, jane and michael."""
    told = {"project": PROJECT, "name": NAME, "kind": "tfidf", "seed": 1}
    with store.write() as db:
        job = jobs.enqueue(db, TRAIN, told, owner=people["humphry"], project=PROJECT)
    with JobWorker(store, {TRAIN: LONG[TRAIN]}, files=files, once=True) as worker:
        worker.join()
    with store.read() as db:
        done = jobs.get(db, job.id)
    if done.state != "done":
        raise RuntimeError(f"the demo's training is {done.state}: {done.error}")
    register_detector(store, str(done.result["model"]), by=people["humphry"], name=NAME)
