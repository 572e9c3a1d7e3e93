"""The command tree, secrets that come as files, and the one place where errors become exit codes.

Features name their commands: a command's module is imported when the command is called, so
that `davy --help` answers at once.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup, TyperOption

from davy.core.errors import UserError, missing_extra, nearest
from davy.core.feature import Command, features
from davy.shell import console, option_table, outputs

CONTEXT = {"help_option_names": ["-h", "--help"]}

COMMANDS: dict[str, Command] = {name: command for feature in features() for name, command in feature.commands.items()}
"""Each command of every feature, so that `davy --help` imports no command."""
TASKS = ("Make a corpus", "Label", "Use a detector", "Train", "Measure", "Serve", "Your shell")
"""What commands are for, in the order of the work; `davy --help` lists them so."""


def _value_in_help(option: TyperOption, ctx: Any) -> str | None:
    """Return what help shows behind an option; a switch takes no value, though typer would write <bool>."""
    return None if option.is_flag and option.metavar is None else _USUAL_VALUE(option, ctx)


_USUAL_VALUE = TyperOption.display_type_rich
TyperOption.display_type_rich = _value_in_help  # type: ignore[method-assign, assignment]


class LazyGroup(TyperGroup):
    """Commands that are imported when they are called; until then each is a name and a line of help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments begin with."""
        if args and args[0] in COMMANDS:
            return args[0], load_command(args[0]), args[1:]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyGroup,
    name="davy",
    help="A workbench for people who fight online hate.\n\n"
    "Collect, clean, sample, label with care, train, test, compare and serve.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings=CONTEXT,
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
    console.settings.plain, console.settings.latex = plain, False


@cache
def load_command(name: str) -> Any:
    """Return a command or a group of commands, imported now."""
    target = resolve_name(COMMANDS[name].target)
    if not isinstance(target, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name, context_settings=CONTEXT)(target)
        return _guarded(alone, name)
    for feature in features():
        for command, function in feature.subcommands.get(name, {}).items():
            target.command(command)(resolve_name(function))
    target.info.name = name
    return _guarded(target, name)


def _guarded(group: typer.Typer, name: str) -> Any:
    """Return a command that is ready to run; what was imported until now is never garbage."""
    command = outputs.guard(option_table.apply(typer.main.get_command(group)), name)
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    return command


SECRETS: tuple[str, ...] = ("DAVY_SECRET_KEY", "DAVY_DATABASE", "DAVY_DATABASE_PASSWORD")
LARGEST_SECRET = 10_000


def read_secret_files(environment: MutableMapping[str, str]) -> None:
    """Set each secret whose file is named, as containers and systemd hand them over; both together are refused.

    `DAVY_SECRET_KEY_FILE=/run/secrets/key` stands for `DAVY_SECRET_KEY`. A file is read once, at the start; from then
    on the secret is in the environment of this process and of those that it starts.
    """
    for name in SECRETS:
        path = environment.get(f"{name}_FILE")
        if not path:
            continue
        if environment.get(name):
            raise UserError(f"{name} and {name}_FILE are both set. Keep one of them.")
        try:
            text = Path(path).read_text(encoding="utf-8")[:LARGEST_SECRET].strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise UserError(f"{name}_FILE: can't read {path}: {why}") from None
        if not text:
            raise UserError(f"{name}_FILE: {path} is empty.")
        environment[name] = text
        del environment[f"{name}_FILE"]  # processes that this one starts have the secret itself


OUR_FAULT = 70
"""What sysexits.h calls an internal error of a program."""


def _our_fault(error: Exception) -> int:
    """Keep the traceback of a fault of ours where its reader can find it, say so in one line, and return 70.

    What an exception says may quote a post, so only its kind is printed. DAVY_DEBUG=1 prints all of it.
    """
    from datetime import datetime
    from tempfile import gettempdir
    from traceback import format_exception

    from davy.version import __version__

    lines = "".join(format_exception(error))
    if os.environ.get("DAVY_DEBUG"):
        print(lines, file=sys.stderr, end="")
        return OUR_FAULT
    path = Path(gettempdir(), f"davy-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}.txt")
    said = f"This is a fault of Davy, not yours ({type(error).__name__})."
    try:
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(f"davy {__version__}, Python {sys.version}, {sys.platform}\n{lines}")
    except OSError as failed:
        console.error(f"{said} Its details can't be kept ({failed.strerror}): DAVY_DEBUG=1 prints them.")
        return OUR_FAULT
    console.error(f"{said} Please report {path}. Read it first: it may quote your posts.")
    return OUR_FAULT


def _unknown_option(error: Any) -> str:
    """Return what to say of an option that a command lacks: its new name, or one like it; "" for other errors."""
    name, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    known = [it for param in context.command.params for it in (*param.opts, *param.secondary_opts)] if context else []
    if name is None or context is None or name in known:
        return ""
    command = context.command_path
    now = option_table.OLD_NAMES.get(command.partition(" ")[2], {}).get(name)
    if now is not None:
        return f"{name} of {command} is called {now} now."
    longer = [it for it in known if it.startswith(f"{name}-")]
    hint = f" Did you mean {longer[0]}?" if longer else nearest(name, [it for it in known if it != "--help"])
    return f"{command} has no option {name}.{hint or f' {command} --help lists them.'}"


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code.

    0 is done, 1 a gate failed, 2 the user can fix it, 70 our fault, 130 Ctrl-C.
    """
    try:
        read_secret_files(os.environ)
        result = app(args=arguments, prog_name="davy", standalone_mode=False)
    except UserError as error:
        console.error(error.message)
        return 2
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            return _our_fault(error)
        console.error(missing.message)
        return 2
    except typer.Abort:
        console.error("Stopped. Nothing was written.")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 (what is not the user's is our fault, and kept)
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # a usage error of click's
            console.error(_unknown_option(error) or error.format_message())
            return int(error.exit_code)
        return _our_fault(error)
    if result == 130 and "--parent" not in arguments:  # what typer makes of Ctrl-C; a server stops its worker unsaid
        console.note(console.NO_RESULT)
    return result if isinstance(result, int) else 0


for _task in TASKS:
    for _name, _command in COMMANDS.items():
        if _command.task == _task:
            app.command(_name, help=_command.help, rich_help_panel=_task)(lambda: None)
