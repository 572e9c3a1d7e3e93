"""Reports of runs on the server: their files, and a report's page under a policy of its own.

A report is one self-contained page whose scripts and styles are allowed by their hashes. It is served in a sandbox: it
has no cookies and no origin, and can't reach the workbench.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from starlette.responses import FileResponse, HTMLResponse, Response

from davy.web.errors import LocalizedError
from davy.web.i18n import translate_report

PAGE = "report.html"
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')


def report_response(path: Path, lang: str) -> Response:
    """Return a report's page in its sandbox, in the reader's language, or another of its files for saving."""
    if not path.is_file() or path.is_symlink():
        raise LocalizedError("no_such", status=404)
    if path.suffix != ".html":
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)
    html = path.read_text("utf-8")
    found = _POLICY.search(html)
    if found is None:  # not one of ours
        raise LocalizedError("no_such", status=404)
    policy = f"{found[1]}; frame-ancestors 'none'; sandbox allow-scripts"
    return HTMLResponse(translate_report(html, lang), headers={"Content-Security-Policy": policy})


def read_json(path: Path) -> Any:
    """Return what a report's JSON file holds; None where it is not there."""
    return msgspec.json.decode(path.read_bytes()) if path.is_file() else None
