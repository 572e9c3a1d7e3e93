"""Start the server: from what `davy serve` was asked to a running uvicorn.

The port is taken before anything is loaded, so that a taken port is a clear line
at once. Everything that people need to know is printed when the server is ready.
"""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.demo import demo as demo_room
from davy.detectors import embedded
from davy.detectors import store as detectors
from davy.detectors.load import DEFAULT
from davy.detectors.prevalence import Prevalence
from davy.engines.child_process import follow_parent
from davy.files.cores import compute_threads
from davy.jobs.processes import WorkerProcesses
from davy.people.store import invitations, users
from davy.server.service_manager import inherited_socket, notify
from davy.shell.logs import say, set_up_logging
from davy.store import Store, default_url, events, open_store
from davy.store.serving import hold_database
from davy.web.process_counters import SharedFile
from davy.web.settings import DEMO_WORD_LIST, ServerSettings, bracketed, is_loopback, secret_key_for

if TYPE_CHECKING:
    import uvicorn

WORD_LIST = "keywords:masking"
"""The detector that every installation has: it stands in where no embedded one was built in."""
SPREADS = sys.platform == "linux"
"""Whether connections are spread over the sockets that share an address."""
START_SECONDS = 60
"""How long the first worker waits for the others before it says that the server is there."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of `davy serve`."""

    host: str = "127.0.0.1"
    port: int = 8460
    database: str | None = None
    model: str | None = None
    demo: bool = False
    base_url: str | None = None
    allow_hosts: tuple[str, ...] = ()
    files: Path | None = None
    workers: int = 1
    job_workers: int = 1
    verbose: bool = False
    log_json: bool = False
    shadow: str | None = None
    shadow_texts: bool = False
    screen: bool = False
    prevalence: Prevalence | None = None
    attributes: str = "perspective"
    categories: str = "moderation"
    drop_unsupported: bool = False
    default_language: str | None = None
    cors_origins: tuple[str, ...] = ()
    largest_batch: int = 64
    most_wait: float = 1.0
    request_seconds: float = 30.0
    max_body: int = 1_048_576
    is_inherited: bool = False
    """Whether a service manager holds the socket, so that host and port are its choice."""

    @property
    def is_spread(self) -> bool:
        """Whether each worker listens on a socket of its own, and the system spreads connections over them."""
        return SPREADS and self.workers > 1 and not self.is_inherited


def run(asked: ServeOptions) -> None:
    """Serve until Ctrl+C or a signal."""
    if asked.demo and not is_loopback(asked.host):
        raise UserError("The demo's passwords are public, so it is served on this machine only. Leave --host out.")
    # uvicorn shuts down in order and then sends itself the signal again: leave by way of the clean-up below.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    inherited = inherited_socket()
    listening = inherited or listen(asked.host, asked.port, spread=asked.workers > 1)
    asked = replace(asked, is_inherited=inherited is not None)
    with ExitStack() as stack:
        stack.callback(listening.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="davy-demo-")) if asked.demo else None
        if asked.demo:
            print("Building the demo: projects, people and nine days of their work …", file=sys.stderr, flush=True)
        settings = settings_of(asked, listening.getsockname()[1], Path(folder) if folder else None)
        if asked.workers > 1:
            shared = stack.enter_context(tempfile.TemporaryDirectory(prefix="davy-shared-"))
            settings = replace(settings, shared=Path(shared) / "shared.sqlite")
        set_up_logging(verbose=asked.verbose, as_json=asked.log_json)
        try:
            stack.enter_context(hold_database(settings.database, "davy serve"))
            with _job_processes(asked, settings), _others(asked, settings, listening) as others:
                _serve(asked, settings, listening, others.wait, others.stop)
        except KeyboardInterrupt:
            say(["Stopped."], as_json=asked.log_json)


def _job_processes(asked: ServeOptions, settings: ServerSettings) -> AbstractContextManager[object]:
    """Return the block within which processes work on background jobs; an empty one where none are wanted."""
    if not asked.job_workers:
        return nullcontext()
    open_store(settings.database, create=True).close()  # a worker does not make a database
    return WorkerProcesses(
        asked.job_workers, settings.database, settings.files, verbose=asked.verbose, log_json=asked.log_json
    )


@dataclass(frozen=True, slots=True)
class _Others:
    """The workers beside the first one."""

    processes: list[SpawnProcess]
    answering: Semaphore

    def wait(self) -> None:
        """Wait until all of them answer."""
        end = time.monotonic() + START_SECONDS
        for _ in self.processes:
            self.answering.acquire(timeout=max(0.0, end - time.monotonic()))

    def stop(self) -> None:
        """Tell them to stop, without waiting for it."""
        for process in self.processes:
            process.terminate()


@contextmanager
def _others(asked: ServeOptions, settings: ServerSettings, listening: socket.socket) -> Iterator[_Others]:
    """Run the other workers while the block runs."""
    if asked.workers > 1:
        open_store(settings.database, create=True).close()  # once, before several would want to
        SharedFile(settings.shared).close()
    spawn = multiprocessing.get_context("spawn")
    # A socket that nobody accepts from must not be passed on: what the system sends there is reset at the end.
    where = listening.getsockname()[:2] if asked.is_spread else listening
    answering = spawn.Semaphore(0)
    others = _Others(
        [
            spawn.Process(target=_worker, args=(asked, each, where, os.getpid(), answering), daemon=True)
            for each in (replace(settings, worker=number) for number in range(1, asked.workers))
        ],
        answering,
    )
    for process in others.processes:
        process.start()
    try:
        yield others
    finally:
        others.stop()
        for process in others.processes:
            process.join(15)


def _worker(
    asked: ServeOptions,
    settings: ServerSettings,
    where: socket.socket | tuple[str, int],
    parent: int,
    answering: Semaphore,
) -> None:
    """Serve beside the first process, and end with it, however it ends."""
    follow_parent(parent)
    set_up_logging(verbose=asked.verbose, as_json=asked.log_json)
    own = where if isinstance(where, socket.socket) else listen(*where, spread=True, is_ours=True)
    _serve(asked, settings, own, answering.release, leads=False)


def _serve(
    asked: ServeOptions,
    settings: ServerSettings,
    listening: socket.socket,
    when_started: Callable[[], None],
    stop_others: Callable[[], None] = lambda: None,
    *,
    leads: bool = True,
) -> None:
    """Run uvicorn on the socket; what people need to know is printed once it and the other workers answer."""
    from davy.server.app import create_app
    from davy.server.graceful_server import GracefulServer

    app = create_app(settings)
    lines = announcement(asked, settings, app.state.context.store) if leads else []

    def started() -> None:
        when_started()
        if leads:
            notify("READY=1")
            say(lines, as_json=asked.log_json)

    def stopping() -> None:
        stop_others()
        if leads:
            notify("STOPPING=1")

    # What is loaded by now stays: the collector need not look through it again with every few hundred requests.
    gc.collect()
    gc.freeze()
    is_shared = asked.is_inherited or (asked.workers > 1 and not asked.is_spread)
    server = GracefulServer(server_config(app), is_shared=is_shared, when_started=started, when_stopping=stopping)
    server.run(sockets=[listening])


def server_config(app: Any) -> uvicorn.Config:
    """Return how uvicorn serves an app of ours."""
    import uvicorn

    from davy.web.http_guard import GuardedProtocol

    return uvicorn.Config(
        app,
        http=GuardedProtocol,
        backlog=2048,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        forwarded_allow_ips=os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1"),
        timeout_graceful_shutdown=10,
    )


def listen(host: str, port: int, *, spread: bool = False, is_ours: bool = False) -> socket.socket:
    """Return a socket that listens on the address; a taken port or a foreign address says what to do.

    `spread`: each worker has a socket of its own on the address (`is_ours`), and the system spreads connections over
    them; from one socket, the worker that wakes first takes all that wait.
    """
    if spread and port and not is_ours:
        listen(host, port).close()  # sockets that spread would share the port with another server in silence
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if spread and SPREADS:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.bind((host.strip("[]"), port))
        made.listen(2048)
    except OSError as error:
        made.close()
        raise _cant_listen(host, port, error) from error
    return made


def _cant_listen(host: str, port: int, error: OSError) -> UserError:
    if error.errno == errno.EADDRINUSE:
        return UserError(
            f"Port {port} is taken, perhaps by another davy serve. Choose another: davy serve --port {port + 1}"
        )
    if error.errno == errno.EACCES:
        return UserError(f"Port {port} is reserved for the system. Choose one above 1023: davy serve --port 8460")
    return UserError(f"Can't listen on {host}: {error.strerror or error}. Name an address of this machine, or 0.0.0.0.")


def settings_of(asked: ServeOptions, port: int, demo_folder: Path | None = None) -> ServerSettings:
    """Return the server's settings; for the demo, over a fresh database filled with our content."""
    everywhere = asked.host in ("0.0.0.0", "::")  # noqa: S104 — compared, not bound
    name = socket.gethostname() if everywhere else bracketed(asked.host)
    database = demo_room.build(demo_folder) if demo_folder else asked.database or default_url()
    return ServerSettings(
        database=database,
        model=asked.model or default_model(demo=asked.demo),
        secret_key=secret_key_for(database),
        base_url=asked.base_url or f"http://{name}:{port}",
        hosts=(*asked.allow_hosts, name),
        demo_accounts=demo_room.PEOPLE if asked.demo else (),
        files=asked.files,
        shadow=asked.shadow,
        shadow_texts=asked.shadow_texts,
        screen=asked.screen,
        prevalence=asked.prevalence,
        attributes=asked.attributes,
        categories=asked.categories,
        drop_unsupported=asked.drop_unsupported,
        default_language=asked.default_language,
        cors_origins=asked.cors_origins,
        largest_batch=asked.largest_batch,
        threads=max(1, compute_threads() // asked.workers),
        most_wait=asked.most_wait,
        request_seconds=asked.request_seconds,
        max_body=asked.max_body,
        log_details=os.environ.get("DAVY_LOG_DETAILS") == "1",
    )


def default_model(*, demo: bool) -> str:
    """Return the embedded detector where this installation has one, else a word list."""
    if embedded.shipped_names():
        return DEFAULT
    return DEMO_WORD_LIST if demo else WORD_LIST


def announcement(asked: ServeOptions, settings: ServerSettings, store: Store) -> list[str]:
    """Return the lines that say where the server is and what to do first."""
    lines = [f"Davy is at {settings.base_url}  (stop with Ctrl+C)"]
    if settings.model in (WORD_LIST, DEMO_WORD_LIST) and not asked.model:
        lines.append("No embedded detector is installed: texts are scored by a word list. Choose one with --model.")
    if asked.model and (default := _default_detector(store)):
        lines.append(f"{default} answers by default, as chosen with davy model default; --model by its name.")
    if settings.demo:
        lines.append("Demo accounts:")
        lines += [f"  {who.role:<10} login {who.login:<10} password {who.password}" for who in settings.demo_accounts]
    elif link := first_admin_link(settings, store):
        lines += ["There is no account yet. Make the first admin (the link works once, for a day):", f"  {link}"]
    if not is_loopback(asked.host) and not settings.https:
        lines.append(
            "Warning: others can reach this server and its traffic is not encrypted. See docs/serve/serving.md, TLS."
        )
    return lines


def _default_detector(store: Store) -> str | None:
    with store.read() as db:
        return next((entry.full_name for entry in detectors.list_detectors(db) if entry.is_default), None)


def first_admin_link(settings: ServerSettings, store: Store) -> str | None:
    """Return a link to make the first admin, or None where there is an account; older such links stop working."""
    with store.write() as db:
        if users.count(db):
            return None
        for old in invitations.list_unused(db):
            if old.invited_by == events.SYSTEM:
                invitations.revoke(db, old.id, by=events.SYSTEM)
        _, token = invitations.create(db, role="admin", by=events.SYSTEM, lasts=timedelta(days=1))
    return f"{settings.base_url.rstrip('/')}/invitation/{token}"
