"""Check a deployment: what `davy serve` would be started with in, one `Check` for each part out.

Nothing is written and nothing is started. Each check that fails says what is wrong and what to do about it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from davy.core.errors import UserError
from davy.detectors import store as detectors
from davy.detectors.load import load
from davy.detectors.prevalence import at_prevalence, read_prevalence
from davy.detectors.registered import load_registered
from davy.jobs import store as jobs
from davy.jobs.job_files import files_folder
from davy.moderation.attribute_map import check_lexicon_kinds, load_attributes
from davy.moderation.communities import review_queue
from davy.moderation.store import communities
from davy.moderation.store.communities import Community
from davy.moderation.webhook_deliveries import is_failing, list_deliveries
from davy.scoring.result import one_post
from davy.store import Connection, default_url, open_store
from davy.store.columns import now
from davy.store.connection import inspect_versions
from davy.store.url import parse_url, sqlite_path
from davy.text.lexicons.read import KINDS
from davy.web.settings import ServerSettings, is_loopback, secret_key_for

LEAST_FREE = 2**30
"""Bytes of a disk below which it will soon be full: a backup or a trained model takes some hundred megabytes."""
SILENT = timedelta(minutes=5)
"""How long a job may wait beyond its time, or be held without a sign of life, before nobody seems to work on jobs."""
MOST_JOBS = 10_000
"""Jobs that are looked at."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a server is started with, as `davy serve` has it."""

    database: str | None = None
    model: str | None = None
    shadow: str | None = None
    attributes: str = "perspective"
    categories: str = "moderation"
    prevalence: str | None = None
    files: Path | None = None
    host: str = "127.0.0.1"
    base_url: str | None = None

    @property
    def url(self) -> str:
        """The database's address."""
        return self.database or default_url()


@dataclass(frozen=True, slots=True)
class Check:
    """One part of a deployment: whether it is well, and what was seen or what to do."""

    part: str
    ok: bool
    text: str


def check_deployment(asked: Deployment) -> Iterator[Check]:
    """Yield each part's check; what can't be looked at without the database is left out where there is none."""
    yield (database := _checked("database", _database, asked))
    yield _checked("disk", _disk, asked)
    yield _checked("files", _files, asked)
    yield _checked("secret", _secret, asked)
    yield _checked("address", _address, asked)
    yield _checked("detectors", _detectors, asked)
    if database.ok:
        yield _checked("registered", _registered, asked)
        yield _checked("jobs", _jobs, asked)
        yield _checked("communities", _communities, asked)


def _checked(part: str, check: Callable[[Deployment], str], asked: Deployment) -> Check:
    """Return what a check saw, or the refusal that it raised."""
    try:
        return Check(part, True, check(asked))
    except UserError as error:
        return Check(part, False, error.message)


def _database(asked: Deployment) -> str:
    found, needed = inspect_versions(asked.url)
    with open_store(asked.url) as store:
        store.check_writable()
        return f"{store} answers, is of version {found or needed} and takes changes."


def _disk(asked: Deployment) -> str:
    url = parse_url(asked.url)
    folder = files_folder(asked.url, asked.files)
    places = [sqlite_path(url)] if url.get_backend_name() == "sqlite" else []
    free = {}
    for place in [*places, *([folder] if folder is not None else [])]:
        there = next(path for path in (place.absolute(), *place.absolute().parents) if path.is_dir())
        free[there] = shutil.disk_usage(there).free
        if free[there] < LEAST_FREE:
            raise UserError(
                f"The disk of {there} has {free[there] / 1e6:,.0f} MB left; {LEAST_FREE / 1e6:,.0f} MB are wanted. "
                "Make room."
            )
    return "; ".join(f"{size / 1e9:,.0f} GB free for {path}" for path, size in free.items()) or "Not on this machine."


def _files(asked: Deployment) -> str:
    folder = files_folder(asked.url, asked.files)
    if folder is None:
        raise UserError("With this database name a folder that all servers share: --files FOLDER, or DAVY_FILES.")
    if asked.files is not None and not asked.files.is_absolute():
        raise UserError(f"{asked.files} means another folder wherever a server is started. Name it whole: {folder}")
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise UserError(
            f"Files can't be kept in {folder}: {there} is no folder that one may write to. Run: ls -ld {there}"
        )
    return f"{folder} takes files."


def _secret(asked: Deployment) -> str:
    url = parse_url(asked.url)
    given = os.environ.get("DAVY_SECRET_KEY")
    if given is None and url.get_backend_name() == "sqlite":
        path = sqlite_path(url)
        if not path.with_name(path.name + ".secret").exists():
            return "It is made beside the database at the first start."
    ServerSettings(asked.url, "", secret_key_for(asked.url))  # refuses one that is too short
    return "DAVY_SECRET_KEY is set." if given else "It is beside the database, for its owner's eyes alone."


def _address(asked: Deployment) -> str:
    if asked.base_url is None:
        if not is_loopback(asked.host):
            raise UserError(
                f"The server listens on {asked.host}, and nobody said where people reach it. "
                "Put a proxy with TLS before it and say --base-url https://NAME"
            )
        return "The server is for this machine alone."
    ServerSettings(asked.url, "", "-" * 32, base_url=asked.base_url)
    parts = urlsplit(asked.base_url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise UserError(
            f"{asked.base_url} is not encrypted: passwords, keys and posts can be read on the way. "
            "Put a proxy with TLS before the server, as docs/serve/serving.md shows, and say --base-url https://…"
        )
    return f"People reach it at {asked.base_url}."


def _detectors(asked: Deployment) -> str:
    from davy.server.start import default_model

    attributes, categories = load_attributes(asked.attributes), load_attributes(asked.categories)
    for meanings in (attributes, categories):
        check_lexicon_kinds(meanings, KINDS)
    share = read_prevalence(asked.prevalence)
    names = [asked.model or default_model(demo=False), *([asked.shadow] if asked.shadow else []), *attributes.models]
    for name in dict.fromkeys(names):
        scorer = at_prevalence(load(name), share)
        if not scorer.abilities.images:
            scorer.score(one_post("A fine day.", "en"))
    return f"{', '.join(dict.fromkeys(names))} can be loaded."


def _registered(asked: Deployment) -> str:
    with open_store(asked.url) as store, store.read() as db:
        entries = [entry for entry in detectors.list_detectors(db) if entry.state == "active"]
    for entry in entries:
        try:
            at_prevalence(load_registered(entry), read_prevalence(asked.prevalence))
        except UserError as error:
            raise UserError(
                f"{entry.full_name} can't be loaded: {error.message} Bring it back, or: davy model retire {entry.name}"
            ) from None
    return f"{len(entries)} detectors that an admin added can be loaded." if entries else "No detector was added."


def _jobs(asked: Deployment) -> str:
    """Say whether somebody works on jobs: a held job's lease is renewed while its worker lives."""
    at = now()
    with open_store(asked.url) as store, store.read() as db:
        waiting = [job for job in jobs.latest(db, state="waiting", limit=MOST_JOBS) if job.run_after < at - SILENT]
        running = [job.leased_until or at for job in jobs.latest(db, state="running", limit=MOST_JOBS)]
    silent = [until for until in running if until < at - SILENT]
    if not silent and (not waiting or any(until >= at for until in running)):
        return f"{len(waiting)} jobs wait for others to end." if waiting else "No job waits for a worker."
    since = min([*silent, *(job.run_after for job in waiting)])
    late = len(waiting) + len(silent)
    raise UserError(
        f"{late} job{'s wait' if late > 1 else ' waits'} and nobody works on them, since {since:%Y-%m-%d %H:%M} UTC. "
        "Start a worker: davy work, or davy serve --job-workers 1"
    )


def _communities(asked: Deployment) -> str:
    """Say whose webhook fails, and where posts wait for a review that nobody can do."""
    with open_store(asked.url) as store, store.read() as db:
        every = communities.list_communities(db)
        wrong = [fault for one in every for fault in (*_webhook_faults(db, one), *_review_faults(db, one))]
    if wrong:
        raise UserError(" ".join(wrong))
    return f"{len(every)} communities: their webhooks and reviews work." if every else "No community was added."


def _webhook_faults(db: Connection, community: Community) -> Iterator[str]:
    deliveries = list_deliveries(db, community.name)
    if community.webhook and is_failing(deliveries):
        error = next(it.error for it in deliveries if it.error)
        yield f"The webhook of {community.name} fails: {error} Mend its receiver, then send a test from its page."


def _review_faults(db: Connection, community: Community) -> Iterator[str]:
    queue = review_queue(db, community)
    if queue is None or not queue.waiting or not queue.stopped:
        return
    reason = {"project_closed": "is closed", "no_phase": "has no phase for them"}.get(queue.stopped)
    yield (
        f"{queue.waiting} posts of {community.name} wait for a review that nobody can do: project {community.project} "
        f"{reason or f'has not opened its phase {queue.phase}'}. Open it, or name another project: "
        f"davy community set {community.name} --project PROJECT"
    )
