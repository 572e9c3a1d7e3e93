"""What the server did, counted for Prometheus: requests by route and status, time, texts scored.

Routes are counted by their pattern (`/invitation/{token}`), so that neither tokens
nor made-up paths become labels. No texts, no accounts, no addresses.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

BUCKETS: tuple[float, ...] = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters that only grow, and one histogram of seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._events: Counter[str] = Counter()
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def count(self, event: str, by: int = 1) -> None:
        """Add to a named counter, such as `texts_scored`."""
        with self._lock:
            self._events[event] += by

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one answered request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds += seconds
            self._buckets[next((i for i, top in enumerate(BUCKETS) if seconds <= top), len(BUCKETS))] += 1

    def text(self, models: Iterable[dict[str, str]]) -> str:
        """Return everything in Prometheus' text format; `models` are the detectors in memory."""
        with self._lock:
            lines = ["# HELP davy_requests_total Requests answered.", "# TYPE davy_requests_total counter"]
            for (method, route, status), n in sorted(self._requests.items()):
                lines.append(f'davy_requests_total{{method="{method}",route="{_safe(route)}",status="{status}"}} {n}')
            lines += ["# HELP davy_request_seconds Time to answer.", "# TYPE davy_request_seconds histogram"]
            total = 0
            for top, n in zip((*map(str, BUCKETS), "+Inf"), self._buckets, strict=True):
                total += n
                lines.append(f'davy_request_seconds_bucket{{le="{top}"}} {total}')
            lines += [f"davy_request_seconds_sum {self._seconds:.6f}", f"davy_request_seconds_count {total}"]
            for name in ("texts_scored", "sign_ins", "sign_ins_refused", "rate_limited"):
                lines += [f"# TYPE davy_{name}_total counter", f"davy_{name}_total {self._events[name]}"]
        lines += [
            "# HELP davy_model_info The detectors in memory.",
            "# TYPE davy_model_info gauge",
            *(f'davy_model_info{{name="{_safe(m["name"])}",version="{_safe(m["version"])}"}} 1' for m in models),
        ]
        return "\n".join(lines) + "\n"


def _safe(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
