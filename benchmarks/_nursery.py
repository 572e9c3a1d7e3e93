"""A process with a server ready, forked when it is told to: `python -m benchmarks._nursery URL SERVERS SESSION`.

Prints the ports, then reads numbers from stdin: for each, it forks the server of that place and prints its process id.
A life begins with the app made, templates compiled and no connection to the database open, within tenths of a second.
Sockets stay open between two lives, as under a service manager that hands them over. Ends, with its servers, when stdin
ends. SESSION is somebody whose labelling page is loaded and answered once beforehand.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from benchmarks._people import FORM_ID, SHEET, TOKEN
from davy.server.app import create_app, warm_up
from davy.server.start import ServeOptions, listen, server_config, settings_of


def main() -> None:
    """Wait for orders until stdin ends."""
    url, servers = sys.argv[1], int(sys.argv[2])
    options = ServeOptions(port=0, database=url, model="keywords:masking", job_workers=0)
    sockets = [listen("127.0.0.1", 0) for _ in range(servers)]
    apps = [create_app(settings_of(options, it.getsockname()[1])) for it in sockets]
    warm_up()
    for app in apps:
        server_config(app).load()
        _label_once(app, sys.argv[3])
        app.state.context.store.close()  # no process inherits a connection
    gc.collect()
    gc.freeze()
    print(*(it.getsockname()[1] for it in sockets), flush=True)
    alive = [0] * servers
    try:
        for line in sys.stdin:
            place = int(line)
            _reap(alive[place])
            alive[place] = os.fork()
            if not alive[place]:
                _live(apps[place], sockets, place)
            print(alive[place], flush=True)
    finally:
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL) if pid else None
            _reap(pid)


def _label_once(app: Any, session: str) -> None:
    """Load the labelling page and answer it, so that what is made at the first request is made."""
    base = app.state.context.settings.base_url
    client = TestClient(app, base_url=base, cookies={"davy-session": session})
    page = client.get("/projects/bench/label").content
    sheet, form, token = (pattern.search(page) for pattern in (SHEET, FORM_ID, TOKEN))
    if not (sheet and form and token):
        raise SystemExit("The labelling page has no post.")
    fields = {"csrf": token[1].decode(), "annotation_id": form[1].decode(), "answer.sexist": "not sexist", "do": "save"}
    client.post(sheet[1].decode(), data=fields, headers={"HX-Request": "true", "Origin": base}).raise_for_status()


def _live(app: Any, sockets: list[socket.socket], place: int) -> None:
    """Serve until killed."""
    os.close(0)
    for number, other in enumerate(sockets):
        if number != place:
            other.close()
    uvicorn.Server(server_config(app)).run(sockets=[sockets[place]])
    os._exit(0)


def _reap(pid: int) -> None:
    if pid:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
