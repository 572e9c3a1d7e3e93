"""What the server did, counted for Prometheus: requests by route and status, time, texts scored.

Routes are counted by their pattern (`/invitation/{token}`), so that neither tokens nor made-up paths become
labels. No texts, no accounts, no addresses. A process counts in its memory and writes its sums to the shared
file every second and when it is asked, so that counting costs a request nothing and every process can tell
the sums of all; one that died keeps its part.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping

from davy.web.process_counters import SharedFile

BUCKETS: tuple[float, ...] = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
EVENTS: tuple[str, ...] = ("texts_scored", "sign_ins", "sign_ins_refused", "rate_limited", "timed_out")


class Metrics:
    """Counters that only grow, by the name and labels that Prometheus sees; one histogram of seconds."""

    def __init__(self, shared: SharedFile | None = None) -> None:
        self._lock = threading.Lock()
        self._shared = shared or SharedFile()
        self._process = uuid.uuid4().hex
        self._counts: defaultdict[str, float] = defaultdict(int)
        self._changed = False
        with self._shared.transaction() as db:
            db.execute("CREATE TABLE IF NOT EXISTS counts (process TEXT PRIMARY KEY, content TEXT)")

    def count(self, event: str, by: int = 1) -> None:
        """Add to a named counter, such as `texts_scored`."""
        self._add({f"davy_{event}_total": by})

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one answered request."""
        bucket = next((str(top) for top in BUCKETS if seconds <= top), "+Inf")
        self._add(
            {
                f'davy_requests_total{{method="{method}",route="{_safe(route)}",status="{status}"}}': 1,
                f'davy_request_seconds_bucket{{le="{bucket}"}}': 1,
                "davy_request_seconds_sum": seconds,
            }
        )

    def flush(self) -> None:
        """Write this process's sums to the shared file, where they changed."""
        with self._lock:
            if not self._changed:
                return
            self._changed, content = False, json.dumps(self._counts)
        with self._shared.transaction() as db:
            db.execute("INSERT OR REPLACE INTO counts VALUES (?, ?)", (self._process, content))

    def totals(self) -> Mapping[str, float]:
        """Return the sums over all processes of this server."""
        self.flush()
        with self._shared.transaction() as db:
            contents = [row[0] for row in db.execute("SELECT content FROM counts")]
        totals: defaultdict[str, float] = defaultdict(int)
        for content in contents:
            for name, n in json.loads(content).items():
                totals[name] += n
        return totals

    def text(
        self,
        models: Iterable[Mapping[str, str | None]],
        queues: Iterable[tuple[str, Mapping[str, int]]] = (),
        gauges: Mapping[str, float] | None = None,
    ) -> str:
        """Return everything in Prometheus' text format.

        `models` are the detectors that answer; `queues` what their queues did and `gauges` what holds now, both in the
        process that is asked.
        """
        totals = self.totals()
        lines = ["# HELP davy_requests_total Requests answered.", "# TYPE davy_requests_total counter"]
        lines += [f"{name} {n}" for name, n in sorted(totals.items()) if name.startswith("davy_requests_total{")]
        lines += ["# HELP davy_request_seconds Time to answer.", "# TYPE davy_request_seconds histogram"]
        total: float = 0
        for top in (*map(str, BUCKETS), "+Inf"):
            total += totals[f'davy_request_seconds_bucket{{le="{top}"}}']
            lines.append(f'davy_request_seconds_bucket{{le="{top}"}} {total}')
        lines += [f"davy_request_seconds_sum {totals['davy_request_seconds_sum']:.6f}"]
        lines += [f"davy_request_seconds_count {total}"]
        for event in EVENTS:
            lines += [f"# TYPE davy_{event}_total counter", f"davy_{event}_total {totals[f'davy_{event}_total']}"]
        lines += ["# HELP davy_model_info The detectors that answer.", "# TYPE davy_model_info gauge"]
        lines += [
            f'davy_model_info{{name="{_safe(str(m["name"]))}",version="{_safe(str(m["version"]))}"}} 1' for m in models
        ]
        lines += ["# HELP davy_queue What a detector's queue did, in this process.", "# TYPE davy_queue gauge"]
        lines += [
            f'davy_queue{{model="{_safe(model)}",what="{what}"}} {n}'
            for model, counters in queues
            for what, n in counters.items()
        ]
        for name, value in (gauges or {}).items():
            lines += [f"# TYPE {name} gauge", f"{name} {value}"]
        return "\n".join(lines) + "\n"

    def _add(self, counts: dict[str, float]) -> None:
        with self._lock:
            self._changed = True
            for name, n in counts.items():
                self._counts[name] += n


def _safe(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
