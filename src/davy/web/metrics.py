"""What the server did, counted for Prometheus: requests by route and status, time, texts scored by model.

Routes are counted by their pattern (`/invitation/{token}`), so that neither tokens nor made-up paths become
labels. No texts, no accounts, no addresses. A process counts in its memory and writes its sums, and what is true of it
now, to the shared file every second and when it is asked: whichever process answers tells the figures of all. One that
died keeps its sums and loses its gauges.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from davy.web.process_counters import SharedFile

BUCKETS: tuple[float, ...] = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

COUNTERS: dict[str, str] = {
    "davy_requests_total": "Requests answered; probes of health and metrics are not counted.",
    "davy_texts_scored_total": "Texts scored.",
    "davy_sign_ins_total": "Sign-ins.",
    "davy_sign_ins_refused_total": "Refused sign-ins.",
    "davy_rate_limited_total": "Requests beyond a rate limit or a quota.",
    "davy_timed_out_total": "Requests that a detector took too long for.",
}
HISTOGRAMS: dict[str, str] = {
    "davy_request_seconds": "Time to answer a request.",
    "davy_scoring_seconds": "Time from a request's texts to their scores, waiting included.",
}
GAUGES: dict[str, str] = {
    "davy_build_info": "The version that runs.",
    "davy_worker_up": "Processes that answer requests.",
    "davy_worker_memory_bytes": "Memory of a process.",
    "davy_model_info": "The detectors that a process has loaded.",
    "davy_queue": "What a detector's queue did in a process, and how many texts wait in it.",
    "davy_detectors_refused": "Versions of detectors that can't take over.",
    "davy_shadow_passed_over": "Texts that the shadow could not keep up with.",
    "davy_jobs": "Background jobs that wait, run or failed.",
    "davy_job_waiting_seconds": "How long the oldest job waits that is due.",
}
WITHOUT_LABELS: tuple[str, ...] = (
    "davy_sign_ins_total",
    "davy_sign_ins_refused_total",
    "davy_rate_limited_total",
    "davy_timed_out_total",
)
"""Counters that are there with 0 from the start, so that rates of them are known."""

GAUGE_SECONDS = 10.0
"""How long what a process said of itself is believed."""

Labels = tuple[tuple[str, str], ...]
Gauge = tuple[str, Mapping[str, str], float]
"""Name, labels and value of what is true now."""


class Metrics:
    """Counters and histograms that only grow, over all processes of a server, and gauges of each.

    `gauges` says what is true of this process, whenever it is asked.
    """

    def __init__(self, shared: SharedFile | None = None, *, worker: int = 0) -> None:
        self.gauges: Callable[[], Iterable[Gauge]] = tuple
        self._lock = threading.Lock()
        self._shared = shared or SharedFile()
        self._process = uuid.uuid4().hex
        self._worker = str(worker)
        self._counts: defaultdict[tuple[str, Labels], float] = defaultdict(int)
        with self._shared.transaction() as db:
            db.execute("CREATE TABLE IF NOT EXISTS told (process TEXT PRIMARY KEY, at REAL, counts TEXT, gauges TEXT)")

    def count(self, event: str, by: float = 1, **labels: str) -> None:
        """Add to a counter: `texts_scored` is `davy_texts_scored_total`."""
        with self._lock:
            self._counts[f"davy_{event}_total", tuple(labels.items())] += by

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one answered request."""
        labels = (("method", method), ("route", route), ("status", str(status)), ("worker", self._worker))
        with self._lock:
            self._counts["davy_requests_total", labels] += 1
            self._observe("davy_request_seconds", (("route", route),), seconds)

    def scored(self, model: str, texts: int, seconds: float) -> None:
        """Note texts that a detector scored for one request."""
        labels = (("model", model),)
        with self._lock:
            self._counts["davy_texts_scored_total", labels] += texts
            self._observe("davy_scoring_seconds", labels, seconds)

    def flush(self) -> None:
        """Write this process's sums and gauges to the shared file."""
        gauges = [(name, {**labels, "worker": self._worker}, value) for name, labels, value in self.gauges()]
        with self._lock:
            counts = [(name, labels, n) for (name, labels), n in self._counts.items()]
        content = (self._process, time.time(), json.dumps(counts), json.dumps(gauges))
        with self._shared.transaction() as db:
            db.execute("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)", content)

    def text(self, gauges: Iterable[Gauge] = ()) -> str:
        """Return everything in Prometheus' text format; `gauges` are true of the server, whichever process says so."""
        self.flush()
        with self._shared.transaction() as db:
            rows = db.execute("SELECT at, counts, gauges FROM told").fetchall()
        totals: defaultdict[tuple[str, Labels], float] = defaultdict(int)
        for name in WITHOUT_LABELS:
            totals[name, ()] = 0
        for _at, counts, _gauges in rows:
            for name, labels, n in json.loads(counts):
                totals[name, tuple((key, value) for key, value in labels)] += n
        now = time.time()
        held = [gauge for at, _, told in rows if now - at < GAUGE_SECONDS for gauge in json.loads(told)]
        lines = [line for name, about in COUNTERS.items() for line in _counter_lines(name, about, totals)]
        lines += [line for name, about in HISTOGRAMS.items() for line in _histogram_lines(name, about, totals)]
        lines += [line for name, about in GAUGES.items() for line in _gauge_lines(name, about, [*held, *gauges])]
        return "\n".join(lines) + "\n"

    def _observe(self, name: str, labels: Labels, seconds: float) -> None:
        top = next((str(top) for top in BUCKETS if seconds <= top), "+Inf")
        self._counts[f"{name}_bucket", (*labels, ("le", top))] += 1
        self._counts[f"{name}_sum", labels] += seconds


def _counter_lines(name: str, about: str, totals: Mapping[tuple[str, Labels], float]) -> Iterable[str]:
    yield from (f"# HELP {name} {about}", f"# TYPE {name} counter")
    yield from sorted(_line(name, labels, n) for (known, labels), n in totals.items() if known == name)


def _histogram_lines(name: str, about: str, totals: Mapping[tuple[str, Labels], float]) -> Iterable[str]:
    yield from (f"# HELP {name} {about}", f"# TYPE {name} histogram")
    for labels in sorted(labels for known, labels in totals if known == f"{name}_sum"):
        n: float = 0
        for top in (*map(str, BUCKETS), "+Inf"):
            bound = (*labels, ("le", top))
            n += totals.get((f"{name}_bucket", bound), 0)
            yield _line(f"{name}_bucket", bound, n)
        yield _line(f"{name}_sum", labels, round(totals[f"{name}_sum", labels], 6))
        yield _line(f"{name}_count", labels, n)


def _gauge_lines(name: str, about: str, gauges: Iterable[Gauge]) -> Iterable[str]:
    yield from (f"# HELP {name} {about}", f"# TYPE {name} gauge")
    yield from sorted(_line(name, tuple(labels.items()), value) for known, labels, value in gauges if known == name)


def _line(name: str, labels: Labels, value: float) -> str:
    shown = ",".join(f'{key}="{_safe(label)}"' for key, label in labels)
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _safe(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
