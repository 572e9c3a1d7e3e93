"""`davy doctor`: check a deployment, a line for each part; exit 1 where something is wrong."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Annotated

import typer

from davy.server.cli.serve import serve
from davy.shell import console
from davy.shell.config_file import use_options
from davy.shell.options import Database, Json


def _use_serve_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take from a file of options for `davy serve` those that are checked here."""
    return use_options(context, path, [name for name in signature(serve).parameters if name != "config"])


def doctor(
    config: Annotated[  # noqa: ARG001 — its callback has read it by now
        Path | None,
        typer.Option(
            help="The YAML file of options of davy serve.",
            envvar="DAVY_CONFIG",
            callback=_use_serve_config,
            is_eager=True,
        ),
    ] = None,
    database: Database = None,
    model: Annotated[
        str | None,
        typer.Option(help="Detector of davy serve.", show_default="embedded", envvar="DAVY_MODEL"),
    ] = None,
    shadow: Annotated[str | None, typer.Option(help="Detector that scores along.", envvar="DAVY_SHADOW")] = None,
    attributes: Annotated[
        str,
        typer.Option(metavar="FILE", help="What Perspective's attributes mean.", envvar="DAVY_ATTRIBUTES"),
    ] = "perspective",
    categories: Annotated[
        str,
        typer.Option(metavar="FILE", help="What OpenAI's categories mean.", envvar="DAVY_CATEGORIES"),
    ] = "moderation",
    prevalence: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="The share of posts that are a yes here.", envvar="DAVY_PREVALENCE"),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            help="Folder for exports and uploads.", envvar="DAVY_FILES", show_default="beside the SQLite file"
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address that davy serve listens on.", envvar="DAVY_HOST")] = "127.0.0.1",
    base_url: Annotated[str | None, typer.Option(help="Where people reach the server.", envvar="DAVY_BASE_URL")] = None,
    json: Json = False,
) -> None:
    """Check a deployment and say what is wrong, a line for each part.

    Looks at the database and its version, the disk, the folder for files, the secret, the address, the detectors,
    the jobs that wait, and the communities' webhooks and reviews, with the options, environment and file of davy
    serve. Changes nothing. Ends with 1 where something is wrong.

    Examples:

      davy doctor

      davy doctor --config /etc/davy/serve.yaml

      davy doctor --database postgresql://davy@localhost/davy --files /srv/davy --json
    """
    from davy.server.doctor import Deployment, check_deployment

    asked = Deployment(database, model, shadow, attributes, categories, prevalence, files, host, base_url)
    checks = []
    for check in check_deployment(asked):
        checks.append(check)
        if not json:
            print(f"{'ok' if check.ok else 'WRONG':5}  {check.part:11}  {check.text}", flush=True)
    well = all(check.ok for check in checks)
    if json:
        found = [{"part": check.part, "ok": check.ok, "text": check.text} for check in checks]
        console.json({"ok": well, "checks": found})
    if not well:
        raise typer.Exit(1)
