"""The detectors of a running server: found by name and version, loaded when first asked for, swapped while it runs.

The store says which there are; every process reads it every two seconds, so that an admin's change reaches all
of them without a restart. A new version is loaded before it takes over. At most `most_loaded` detectors are in
memory beside the one that the server was started with; the one not asked for longest goes first.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress

from anyio import to_thread

from davy.actions.detectors import load_registered
from davy.core.errors import UserError
from davy.core.scorer import Scorer, Scores
from davy.serve.detector import Detector
from davy.serve.errors import LocalizedError
from davy.store import Store
from davy.store.detectors import RegisteredDetector, list_detectors

logger = logging.getLogger("davy.serve")

MOST_LOADED = 4
POLL_SECONDS = 2.0


class Detectors:
    """The registry. `started` answers where the store names no default; `start` and `stop` belong to the lifespan."""

    def __init__(
        self,
        store: Store,
        started: Detector,
        *,
        most_loaded: int = MOST_LOADED,
        poll_seconds: float = POLL_SECONDS,
        load: Callable[[RegisteredDetector], Scorer] = load_registered,
    ) -> None:
        self.started = started
        self._store = store
        self._most_loaded = most_loaded
        self._poll_seconds = poll_seconds
        self._load_scorer = load
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
    def default_model(self) -> dict[str, str]:
        """Name and version of the detector that answers whoever names none."""
        default = self._default()
        return self.started.model if default is None else {"name": default.name, "version": default.version}

    @property
    def names(self) -> list[str]:
        """The names that may be asked for, the default first."""
        active = [entry.name for entry in self._entries if entry.state == "active"]
        return list(dict.fromkeys((self.default_model["name"], *active, self.started.model["name"])))

    @property
    def loaded(self) -> list[dict[str, str]]:
        """Name and version of each detector in this process's memory."""
        return [self.started.model, *(detector.model for detector in self._loaded.values())]

    async def score(
        self, texts: Sequence[str], langs: Sequence[str | None] | None = None, *, model: str | None = None
    ) -> tuple[dict[str, str], Scores]:
        """Return which detector answered and the scores; `model` is a name or `name@version`."""
        detector = await self._get(model)
        return detector.model, await detector.score(texts, langs)

    async def refresh(self) -> None:
        """Learn from the store what changed. Versions that take over are loaded before they do."""
        async with self._refreshing:
            entries = await to_thread.run_sync(self._read)
            if entries == self._entries:
                return
            names_in_use = {entry.name for entry in self._entries if entry.id in self._loaded}
            for entry in entries:
                if entry.is_default or (entry.state == "active" and entry.name in names_in_use):
                    try:
                        await self._load(entry)
                    except UserError as error:  # whoever asks for it is told; the others go on
                        logger.error("%s", error.message)
            self._entries = entries
            answering = {entry.id for entry in entries if entry.state != "retired"}
            for detector_id in set(self._loaded) - answering:
                self._unload(detector_id)

    def _read(self) -> list[RegisteredDetector]:
        with self._store.read() as db:
            return list_detectors(db)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            try:
                await self.refresh()
            except Exception:  # the database may be away for a while; the task must outlive that
                logger.exception("can't look for detectors; trying again")

    def _default(self) -> RegisteredDetector | None:
        return next((entry for entry in self._entries if entry.is_default), None)

    async def _get(self, model: str | None) -> Detector:
        entry = self._find(model)
        if entry is None:
            return self.started
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
            detector = Detector(scorer, name=entry.name, thresholds=entry.thresholds)
            await detector.start()
            self._loaded[entry.id] = detector
            return detector

    def _unload(self, detector_id: str) -> None:
        """Take a detector out of memory once what waits in its queue is answered."""
        task = asyncio.create_task(self._loaded.pop(detector_id).stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
