"""`davy serve`: the web workbench and the API, on this machine until you say otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.detectors.prevalence import read_prevalence
from davy.shell.config_file import use_config
from davy.text.language_code import check_language


def serve(
    config: Annotated[  # noqa: ARG001 — its callback has read it by now
        Path | None,
        typer.Option(
            help="YAML file with these options, without the dashes.",
            envvar="DAVY_CONFIG",
            callback=use_config,
            is_eager=True,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 is every network.", envvar="DAVY_HOST")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535, envvar="DAVY_PORT")
    ] = 8460,
    database: Annotated[
        str | None, typer.Option(help="Database URL.", envvar="DAVY_DATABASE", show_default="sqlite:///davy.sqlite")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Detector that scores texts: see davy model list.", show_default="embedded", envvar="DAVY_MODEL"
        ),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve made-up content with ready accounts.")] = False,
    base_url: Annotated[
        str | None,
        typer.Option(help="Where people reach the server, such as https://davy.example.org.", envvar="DAVY_BASE_URL"),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Another name that people may use for this server. Repeat for more.", envvar="DAVY_ALLOW_HOST"
        ),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            help="Folder for exports and uploads.", envvar="DAVY_FILES", show_default="beside the SQLite file"
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            help="Processes that answer requests; 2 for a team of 50 at once.", min=1, max=64, envvar="DAVY_WORKERS"
        ),
    ] = 1,
    job_workers: Annotated[
        int,
        typer.Option(
            help="Processes that work on background jobs; 0 where davy work runs elsewhere.",
            min=0,
            max=64,
            envvar="DAVY_JOB_WORKERS",
        ),
    ] = 1,
    screen: Annotated[
        bool,
        typer.Option(
            "--screen",
            help="Clear plainly harmless posts without reading them to the end, as davy score does.",
            envvar="DAVY_SCREEN",
        ),
    ] = False,
    prevalence: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="The share of posts that are a yes here, to which probabilities are moved: 0.02, or "
            "hate=0.01,offensive=0.05.",
            envvar="DAVY_PREVALENCE",
        ),
    ] = None,
    shadow: Annotated[
        str | None,
        typer.Option(help="Detector that scores along and whose answers nobody sees.", envvar="DAVY_SHADOW"),
    ] = None,
    shadow_texts: Annotated[
        bool,
        typer.Option("--shadow-texts", help="Keep the texts on which the shadow differs.", envvar="DAVY_SHADOW_TEXTS"),
    ] = False,
    attributes: Annotated[
        str,
        typer.Option(metavar="FILE", help="What Perspective's attributes mean: a YAML file.", envvar="DAVY_ATTRIBUTES"),
    ] = "perspective",
    categories: Annotated[
        str,
        typer.Option(metavar="FILE", help="What OpenAI's categories mean: a YAML file.", envvar="DAVY_CATEGORIES"),
    ] = "moderation",
    drop_unsupported: Annotated[
        bool,
        typer.Option(
            "--drop-unsupported",
            help="Leave out attributes that can't be answered, as dropUnsupportedAttributes does.",
            envvar="DAVY_DROP_UNSUPPORTED",
        ),
    ] = False,
    default_language: Annotated[
        str | None,
        typer.Option(
            metavar="LANG",
            help="The language of comments that name none, where it can't be told: de.",
            envvar="DAVY_DEFAULT_LANGUAGE",
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="A site whose pages may call the API from a browser, such as https://forum.example. Repeat for more.",
            envvar="DAVY_CORS_ORIGIN",
        ),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(
            help="Posts that are scored together at most; 1 scores each request alone.",
            min=1,
            max=4096,
            envvar="DAVY_BATCH",
        ),
    ] = 64,
    max_wait: Annotated[
        float,
        typer.Option(
            help="Seconds that a post may wait for its turn; what would wait longer is refused with 429.",
            min=0.01,
            max=600,
            envvar="DAVY_MAX_WAIT",
        ),
    ] = 1.0,
    timeout: Annotated[
        float,
        typer.Option(help="Seconds that a request may take in all.", min=0.1, max=3600, envvar="DAVY_TIMEOUT"),
    ] = 30.0,
    max_body: Annotated[
        int,
        typer.Option(help="Bytes that a request may have.", min=1024, max=1_000_000_000, envvar="DAVY_MAX_BODY"),
    ] = 1_048_576,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Log every request (never its content).", envvar="DAVY_VERBOSE")
    ] = False,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log as lines of JSON.", envvar="DAVY_LOG_JSON")] = False,
) -> None:
    """Serve the web workbench and the API.

    Prints the address and runs until Ctrl+C. A missing database is made. When
    it has no account, a link to make the first admin is printed. Behind a TLS
    proxy, say with --base-url under which address people come in. Each option
    can stand in a file (--config) or in the environment, too. More is in
    docs/serve/serving.md and docs/serve/running.md.

    Examples:

      davy serve --demo

      davy serve --database sqlite:///work.sqlite --port 9000

      davy serve --model keywords:words.txt

      davy serve --host 0.0.0.0 --base-url https://davy.example.org --workers 2

      davy serve --config /etc/davy/serve.yaml --shadow embedded-careful
    """
    from davy.server.start import ServeOptions, run

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
            log_json=log_json,
            shadow=shadow,
            shadow_texts=shadow_texts,
            screen=screen,
            prevalence=read_prevalence(prevalence),
            attributes=attributes,
            categories=categories,
            drop_unsupported=drop_unsupported,
            default_language=check_language(default_language),
            cors_origins=tuple(cors_origin or ()),
            largest_batch=batch,
            most_wait=max_wait,
            request_seconds=timeout,
            max_body=max_body,
        )
    )
