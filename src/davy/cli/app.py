"""The command tree, and the one place where errors become exit codes.

Command modules import only typer and the standard library at the top; what a
command needs it imports when it runs, so that `davy --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from davy.cli import (
    agree,
    calibrate,
    check,
    clean,
    collect,
    console,
    convert,
    corpus,
    database,
    describe,
    distil,
    evaluate,
    export,
    job,
    key,
    model,
    pretrain,
    project,
    project_audit,
    project_export,
    project_people,
    project_phases,
    project_posts,
    reproduce,
    reproduce_hatemoji,
    sample,
    scheme,
    score,
    serve,
    split,
    suite,
    train,
    user,
    work,
)
from davy.core.errors import UserError

app = typer.Typer(
    name="davy",
    help="A workbench for people who fight online hate.\n\n"
    "Collect, clean, sample, label with care, train, test, compare and serve.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        from davy.version import __version__

        typer.echo(f"davy {__version__}")
        raise typer.Exit()


@app.callback()
def davy(
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version and stop.", callback=_version, is_eager=True)
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Show hurtful words unmasked in tables.")] = False,
) -> None:
    """Options that every command takes."""
    console.settings.plain = plain


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code: 0 done, 1 a gate failed, 2 the user can fix it."""
    try:
        result = app(args=arguments, prog_name="davy", standalone_mode=False)
    except UserError as error:
        console.error(error.message)
        return 2
    except typer.Abort:
        console.error("Stopped. Nothing was written.")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # everything but click's usage errors goes on up
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # a usage error of click's
            console.error(error.format_message())
            return int(error.exit_code)
        raise
    if result == 130:  # what typer makes of Ctrl-C
        console.error("Interrupted. Nothing unfinished was written; run the same command again.")
    return result if isinstance(result, int) else 0


# One line a command; groups are `add_typer(module.app, name=…)`, single verbs `command()(module.verb)`.
app.add_typer(scheme.app, name="scheme")
app.command()(serve.serve)
app.command()(work.work)
app.command()(convert.convert)
app.add_typer(corpus.app, name="corpus")
app.command()(agree.agree)
app.command()(score.score)
app.add_typer(model.app, name="model")
app.add_typer(database.app, name="database")
app.add_typer(user.app, name="user")
app.add_typer(key.app, name="key")
project.app.command("open")(project_phases.open_)
project.app.command()(project_phases.close)
project.app.command("next-set")(project_phases.next_set)
project.app.command("add-phase")(project_phases.add_phase)
project.app.command("add-posts")(project_phases.add_posts)
project.app.command()(project_posts.hide)
project.app.command()(project_people.invite)
project.app.command()(project_people.roster)
project.app.command()(project_export.export)
project.app.command()(project_export.corpus)
project.app.command("import")(project_export.import_)
project.app.command()(project_audit.audit)
project.app.command()(project_audit.pools)
app.add_typer(project.app, name="project")
app.add_typer(job.app, name="job")
app.add_typer(suite.app, name="suite")
app.command()(evaluate.evaluate)
app.command()(check.check)
reproduce.app.command()(reproduce_hatemoji.hatemoji)
app.add_typer(reproduce.app, name="reproduce")
app.command()(clean.clean)
app.add_typer(collect.app, name="collect")
app.command()(describe.describe)
app.command()(split.split)
app.command()(sample.sample)
app.command()(train.train)
app.command()(pretrain.pretrain)
app.command()(distil.distil)
app.command()(export.export)
app.command()(calibrate.calibrate)
