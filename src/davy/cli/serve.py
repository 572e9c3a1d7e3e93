"""`davy serve`: the web workbench and the API, on this machine until you say otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8460,
    database: Annotated[
        str | None, typer.Option(help="Database URL.", envvar="DAVY_DATABASE", show_default="sqlite:///davy.sqlite")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Detector that scores texts: see davy model list.", show_default="embedded")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve made-up content with ready accounts.")] = False,
    base_url: Annotated[
        str | None, typer.Option(help="Where people reach the server, such as https://davy.example.org.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name that people may use for this server. Repeat for more.")
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            help="Folder for exports and uploads.", envvar="DAVY_FILES", show_default="beside the SQLite file"
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes that answer requests; 2 for a team of 50 at once.", min=1, max=64)
    ] = 1,
    job_workers: Annotated[
        int,
        typer.Option(help="Processes that work on background jobs; 0 where davy work runs elsewhere.", min=0, max=64),
    ] = 1,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every request (never its content).")] = False,
) -> None:
    """Serve the web workbench and the API.

    Prints the address and runs until Ctrl+C. A missing database is made. When
    it has no account, a link to make the first admin is printed. Behind a TLS
    proxy, say with --base-url under which address people come in. More is in
    docs/serve/serving.md.

    Examples:

      davy serve --demo

      davy serve --database sqlite:///work.sqlite --port 9000

      davy serve --model keywords:words.txt

      davy serve --host 0.0.0.0 --base-url https://davy.example.org --workers 2
    """
    from davy.serve.start import ServeOptions, run

    run(
        ServeOptions(
            host=host,
            port=port,
            database=database,
            model=model,
            demo=demo,
            base_url=base_url,
            allow_hosts=tuple(allow_host or ()),
            files=files,
            workers=workers,
            job_workers=job_workers,
            verbose=verbose,
        )
    )
