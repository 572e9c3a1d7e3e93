"""The detectors of a running server: found by name and version, loaded when first asked for, swapped while it runs.

The store says which there are; every process reads it every two seconds, so that an admin's change reaches all
of them without a restart. A new version is loaded before it takes over; one that can't be loaded does not, and
whoever answered before goes on. At most `most_loaded` detectors are in
memory beside the one that the server was started with; the one not asked for longest goes first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from anyio import to_thread

from davy.core.errors import UserError
from davy.core.scorer import Scorer, Scores
from davy.detectors.registered import load_registered
from davy.detectors.store import RegisteredDetector, list_detectors
from davy.scoring.queue.detector import Detector, PostToScore
from davy.scoring.queue.pictures import HeldPictures
from davy.store import Store
from davy.web.context import ServerPart
from davy.web.errors import LocalizedError

logger = logging.getLogger("davy.serve")

MOST_LOADED = 4
POLL_SECONDS = 2.0
RETRY_SECONDS = 30.0
"""How long after a version could not be loaded it is tried again."""


def trouble_of(error: UserError) -> str:
    """Return what fails where the store raises this: `disk` or `database`."""
    return "disk" if error.status == 507 else "database"


class Detectors(ServerPart):
    """The registry. `started` answers where the store names no default; `make` puts a scorer behind a queue."""

    def __init__(
        self,
        store: Store,
        started: Detector,
        *,
        most_loaded: int = MOST_LOADED,
        poll_seconds: float = POLL_SECONDS,
        load: Callable[[RegisteredDetector], Scorer] = load_registered,
        make: Callable[..., Detector] = Detector,
        pictures: HeldPictures | None = None,
    ) -> None:
        self.started = started
        self.make = make
        self.pictures = HeldPictures() if pictures is None else pictures  # an empty one is false
        self.refused: dict[str, str] = {}
        """Why versions can't take over, by their id."""
        self.trouble: str | None = None
        """`database` or `disk`, if the store did not answer or could keep nothing when it was last asked."""
        self._store = store
        self._most_loaded = most_loaded
        self._poll_seconds = poll_seconds
        self._load_scorer = load
        self._retry_at: float | None = None
        self._read_entries: list[RegisteredDetector] = []
        self._entries: list[RegisteredDetector] = []
        self._loaded: OrderedDict[str, Detector] = OrderedDict()
        self._loading: dict[str, asyncio.Task[Detector]] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._poller: asyncio.Task[None] | None = None
        self._refreshing = asyncio.Lock()
        self._one_load = asyncio.Lock()

    async def start(self) -> None:
        """Open the queue of the first detector, load the default and begin to watch the store."""
        await self.started.start()
        await self.refresh()
        self._poller = asyncio.create_task(self._poll(), name="detectors")

    async def stop(self) -> None:
        """Answer what waits and close every queue."""
        if self._poller is not None:
            self._poller.cancel()
            with suppress(asyncio.CancelledError):
                await self._poller
        for detector_id in list(self._loaded):
            self._unload(detector_id)
        if self._stopping:
            await asyncio.wait(self._stopping)
        await self.started.stop()

    @property
    def ready(self) -> bool:
        """Whether texts can be scored now by the default detector."""
        default = self._default()
        return self.started.ready and (default is None or default.id in self._loaded)

    @property
    def default_model(self) -> dict[str, str | None]:
        """Name, version and data hash of the detector that answers whoever names none."""
        default = self._default()
        if default is None:
            return self.started.model
        return {"name": default.name, "version": default.version, "data_hash": default.data_hash}

    @property
    def names(self) -> list[str]:
        """The names that may be asked for, the default first."""
        active = [entry.name for entry in self._entries if entry.state == "active"]
        return list(dict.fromkeys((str(self.default_model["name"]), *active, str(self.started.model["name"]))))

    @property
    def loaded(self) -> list[dict[str, str | None]]:
        """Name, version and data hash of each detector in this process's memory."""
        return [self.started.model, *(detector.model for detector in self._loaded.values())]

    @property
    def is_full(self) -> bool:
        """Whether the default detector would refuse a post that comes now."""
        default = self._default()
        detector = self.started if default is None else self._loaded.get(default.id)
        return detector is not None and detector.is_full

    def queue_counters(self) -> list[tuple[str, dict[str, int]]]:
        """Return what the queue of each detector in this process's memory did, by its full name."""
        return [(it.full_name, it.counters) for it in (self.started, *self._loaded.values())]

    async def score(self, posts: Sequence[PostToScore], *, model: str | None = None) -> tuple[Detector, Scores]:
        """Return which detector answered and the scores; `model` is a name or `name@version`."""
        detector = await self.find(model)
        return detector, await detector.score(posts)

    async def refresh(self) -> None:
        """Learn from the store what changed. Versions that take over are loaded before they do."""
        async with self._refreshing:
            entries = await to_thread.run_sync(self._read)
            due = self._retry_at is not None and time.monotonic() >= self._retry_at
            if entries == self._read_entries and not due:
                return
            kept = await self._without_refused(entries)
            self._read_entries, self._entries = entries, kept
            answering = {entry.id for entry in kept if entry.state != "retired"}
            for detector_id in set(self._loaded) - answering:
                self._unload(detector_id)

    async def _without_refused(self, entries: list[RegisteredDetector]) -> list[RegisteredDetector]:
        """Return the versions with those that answered before in the place of those that can't be loaded."""
        names_in_use = {entry.name for entry in self._entries if entry.id in self._loaded}
        self.refused = {}
        kept = list(entries)
        for entry in entries:
            if not (entry.is_default or (entry.state == "active" and entry.name in names_in_use)):
                continue
            try:
                await self._load(entry)
            except Exception as error:  # noqa: BLE001 — garbage raises anything, and must not stop who answers
                why = error.message if isinstance(error, UserError) else f"{type(error).__name__} while loading"
                logger.error("%s can't take over: %s", entry.full_name, why)
                self.refused[entry.id] = why
                before = self._answered_before(entry)
                if before is not None:
                    kept = [before if it.id == before.id else it for it in kept if it.id != entry.id]
                elif entry.is_default:
                    kept = [replace(it, is_default=False) if it.id == entry.id else it for it in kept]
        self._retry_at = time.monotonic() + RETRY_SECONDS if self.refused else None
        return kept

    def _answered_before(self, entry: RegisteredDetector) -> RegisteredDetector | None:
        """Return the version, still in memory, whose place another one was to take."""
        same = [it for it in self._entries if it.id in self._loaded and it.id != entry.id]
        return next(
            (
                it
                for it in same
                if (it.is_default if entry.is_default else it.name == entry.name and it.state == "active")
            ),
            None,
        )

    def _read(self) -> list[RegisteredDetector]:
        with self._store.read() as db:
            found = list_detectors(db)
        self._store.check_writable()
        return found

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            before = self.trouble
            try:
                await self.refresh()
                self.trouble = None
            except UserError as error:  # the database may be away for a while; the task must outlive that
                self.trouble = trouble_of(error)
                if self.trouble != before:
                    logger.error("degraded: %s", error.message)
            except Exception:
                self.trouble = "database"
                logger.exception("can't look for detectors; trying again")
            if before and not self.trouble:
                logger.warning("well again: the %s", before)

    def _default(self) -> RegisteredDetector | None:
        return next((entry for entry in self._entries if entry.is_default), None)

    async def find(self, model: str | None = None) -> Detector:
        """Return the detector that a name or `name@version` means, loaded; without one, the default."""
        entry = self._find(model)
        return self.started if entry is None else await self.open(entry)

    async def open(self, entry: RegisteredDetector) -> Detector:
        """Return a version, loaded. It need not be in the store: a project's own detector is asked in this way."""
        if entry.id not in self._loaded:
            return await self._load(entry)
        self._loaded.move_to_end(entry.id)
        return self._loaded[entry.id]

    def _find(self, model: str | None) -> RegisteredDetector | None:
        """Return the version that a request means; None is the detector that the server was started with."""
        if not model:
            return self._default()
        for entry in self._entries:
            if (entry.state == "active" and model == entry.name) or (
                entry.state != "retired" and model == entry.full_name
            ):
                return entry
        started = self.started.model
        if model in (started["name"], f"{started['name']}@{started['version']}"):
            return None
        if any(model in (entry.name, entry.full_name) for entry in self._entries):
            raise LocalizedError("detector_retired", status=410, name=model[:200], known=", ".join(self.names))
        raise LocalizedError("no_detector", status=404, name=model[:200], known=", ".join(self.names))

    async def _load(self, entry: RegisteredDetector) -> Detector:
        """Return the loaded detector; requests that come while it is loaded wait for the same loading."""
        if entry.id in self._loaded:
            return self._loaded[entry.id]
        task = self._loading.get(entry.id)
        if task is None:
            task = self._loading[entry.id] = asyncio.create_task(self._open(entry))
            task.add_done_callback(lambda _: self._loading.pop(entry.id, None))
        return await asyncio.shield(task)

    async def _open(self, entry: RegisteredDetector) -> Detector:
        async with self._one_load:  # two at once would be in memory together, beyond the limit
            default = self._default()
            evictable = [key for key in self._loaded if default is None or key != default.id]
            for detector_id in evictable[: max(0, len(self._loaded) + 1 - self._most_loaded)]:
                self._unload(detector_id)
            scorer = await to_thread.run_sync(self._load_scorer, entry)
            detector = self.make(scorer, name=entry.name, thresholds=entry.thresholds)
            await detector.start()
            self._loaded[entry.id] = detector
            return detector

    def _unload(self, detector_id: str) -> None:
        """Take a detector out of memory once what waits in its queue is answered."""
        task = asyncio.create_task(self._loaded.pop(detector_id).stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
