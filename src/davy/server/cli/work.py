"""`davy work`: run background jobs, in a process of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.jobs.processes import work as run
from davy.shell.logs import set_up_logging
from davy.shell.options import Database


def work(
    database: Database = None,
    files: Annotated[
        Path | None,
        typer.Option(
            help="Folder for exports, uploads and models, as davy serve has it.",
            envvar="DAVY_FILES",
            show_default="beside the SQLite file",
        ),
    ] = None,
    kinds: Annotated[
        str | None, typer.Option(help="Only these kinds of job, with commas.", show_default="all kinds")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when no job is due.")] = False,
    lease: Annotated[float, typer.Option(help="Seconds until another worker takes over from a dead one.", min=1)] = 60,
    parent: Annotated[int | None, typer.Option(hidden=True, help="End with this process, which started it.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every job.", envvar="DAVY_VERBOSE")] = False,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log as lines of JSON.", envvar="DAVY_LOG_JSON")] = False,
) -> None:
    """Run background jobs until Ctrl+C: exports, imports, trainings, scoring, evaluations, checks.

    davy serve starts one such process by itself. Start more on this machine or, with PostgreSQL and a shared folder
    for files, on others. A killed worker's jobs go on in another one.

    Examples:

      davy work --database sqlite:///davy.sqlite

      davy work --kinds train,score

      davy work --once
    """

    set_up_logging(verbose=verbose, as_json=log_json)
    chosen = [kind.strip() for kind in (kinds or "").split(",") if kind.strip()]
    how = {"verbose": verbose, "log_json": log_json}
    run(database, files, kinds=chosen, once=once, parent=parent, lease_seconds=lease, **how)
