"""What a process writes to its log: lines for people or lines of JSON, with hurtful words masked.

A request's id is in every line that is written while it is answered, whichever part writes it.
"""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType

from davy.text.mask import MaskFilter

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being answered."""


class JsonLines(logging.Formatter):
    """Each record as one line of JSON: when, how grave, which part, what; and the fields that a request has."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        made = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": made, "level": record.levelname.lower(), "name": record.name, "message": record.getMessage()}
        if (request_id := REQUEST_ID.get()) is not None:
            line["request"] = request_id
        if record.exc_info or record.exc_text:
            line["exception"] = record.exc_text or self.formatException(record.exc_info)  # type: ignore[arg-type]
        return json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False)


def set_up_logging(*, verbose: bool, as_json: bool = False) -> None:
    """Log warnings to stderr with hurtful words masked; `verbose` logs requests and jobs too.

    Python's warnings and errors that end the process are logged as well, so that every line has one form.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("%(asctime)s %(name)s %(message)s"))
    handler.addFilter(MaskFilter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("davy.access", "davy.jobs"):
        logging.getLogger(name).setLevel(logging.INFO if verbose else logging.WARNING)
    if as_json:
        logging.captureWarnings(True)
        sys.excepthook = _log_end


def say(lines: list[str], *, as_json: bool) -> None:
    """Print lines for whoever started the process; as JSON where the log is."""
    if as_json:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = [
            json.dumps({"at": at, "level": "info", "name": "davy.serve", "message": it.strip()}, ensure_ascii=False)
            for it in lines
        ]
    print("\n".join(lines), flush=True)


def _log_end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    logging.getLogger("davy").critical("the process ends by an error", exc_info=(kind, error, trace))
