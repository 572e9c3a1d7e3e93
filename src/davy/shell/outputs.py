"""Nothing is written over unasked: the one rule for what every command writes, checked before its work starts.

An output that exists is refused without `--replace`. A file, or a report in a folder, is then written over in place.
A folder that has to be new takes the place of the old one, which is deleted only when the new one is whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import typer
import typer.main

from davy.core.errors import UserError
from davy.shell import console

WRITTEN = ("--out", "--failures", "--funnel", "--images-out", "--predictions-out", "--statement", "--survey")
"""The options that name what a command writes."""

OWN_RULE = {
    "collect live": "an archive that it adds to",
    "inspect correct": "what was published never changes in place",
    "suite copy": "word lists go beside it, and are asked about, too",
    "suite issue": "a file for each person, which may hold their answers",
}
"""Commands with another rule, and why; none of them writes over a file unasked."""

FINISHED = {
    "distil": ("run.json",),
    "meme train": ("manifest.json",),
    "pretrain": ("run.json",),
    "reproduce all": ("report.html",),
    "reproduce edos": ("report.html",),
    "reproduce gmhp7k": ("report.html",),
    "reproduce hatemoji": ("report.html",),
    "reproduce memes": ("report.html",),
    "round replay": ("report.html",),
    "train": ("run.json", "search.json"),
    "clean": (),
    "score": (),
}
"""Folders in which a stopped run goes on, by the files that only a finished one has. Shards have a manifest instead."""

NEW_FOLDERS = {
    "calibrate": "manifest.json",
    "distil": "run.json",
    "export": "manifest.json",
    "meme benchmark": "train.jsonl",
    "meme read": "funnel.json",
    "meme train": "manifest.json",
    "pretrain": "run.json",
    "project export": "README.md credits.csv",
}
"""Commands whose folder has to be new, and a file by which one that they wrote is known: no other is ever deleted."""


def guard(command: Any, name: str) -> Any:
    """Return a command, or a group, that refuses to write over what exists, and takes `--replace`."""
    for child, sub in getattr(command, "commands", {}).items():
        guard(sub, f"{name} {child}")
    written = {it.name: it.opts[0] for it in command.params if it.opts[0] in WRITTEN}
    if not written or name in OWN_RULE:
        return command
    folders = {it.opts[0] for it in command.params if it.metavar in ("DIR", "FOLDER")}
    own = next((it.name for it in command.params if "--replace" in it.opts), None)
    if own is None:
        command.params.append(_replace_option())
    action = command.callback

    def guarded(**given: Any) -> Any:
        replace = given[own] if own is not None else given.pop("replace")
        outs = {option: Path(given[key]) for key, option in written.items() if _names_place(given[key])}
        read = [it for key, value in given.items() if key not in written for it in _paths(value)] if outs else []
        for option, out in outs.items():
            if out.is_file() and option in folders:
                raise UserError(f"{out} is a file. Give a folder to write into.")
            if out.is_file() and out.resolve() in read:
                raise UserError(f"{out} is the input. Write to another file, then replace the input yourself.")
            if not replace:
                refuse_existing(out, option, FINISHED.get(name))
        with ExitStack() as until_done:
            for out in outs.values() if replace and name in NEW_FOLDERS else ():
                until_done.enter_context(_set_aside(out, NEW_FOLDERS[name].split(), read, goes_on=name in FINISHED))
            return action(**given)

    command.callback = guarded
    return command


def refuse_existing(out: Path, option: str = "--out", finished: tuple[str, ...] | None = None) -> None:
    """Raise where a file, or a folder that is not empty, would be written over.

    Of a folder in which a stopped run goes on, `finished` names the files that it has at the end.
    """
    taken = out.is_file() or (out.is_dir() and finished is None and any(out.iterdir()))
    if taken or any((out / name).is_file() for name in finished or ()):
        raise UserError(f"{out} exists. Write over it with --replace, or give another {option}.")


def _names_place(given: Any) -> bool:
    return given is not None and str(given) != "-" and "://" not in str(given)


def _replace_option() -> Any:
    """Return the option `--replace` as the parser has it."""

    def command(
        replace: bool = typer.Option(False, "--replace", help="Write over what the command writes, where it exists."),
    ) -> None:
        del replace

    made = typer.Typer(add_completion=False)
    made.command()(command)
    return next(it for it in typer.main.get_command(made).params if it.name == "replace")


@contextmanager
def _set_aside(out: Path, known_by: list[str], read: list[Path], *, goes_on: bool) -> Iterator[None]:
    """Free the name of a folder for the block; what had it comes back if the block fails, else it is deleted.

    A folder in which a run goes on is left as it is while it is not finished; what it took the place of is then deleted
    when it is.
    """
    aside = out.with_name(f".{out.name[:200]}.before")
    known = any((out / name).is_file() for name in known_by)
    if not out.is_dir() or not any(out.iterdir()) or (goes_on and not known):
        yield
        if goes_on and aside.is_dir():
            shutil.rmtree(aside)
        return
    whole = out.resolve()
    if not known or (out / ".git").exists():
        raise UserError(f"{out} was not written by this command, so it is not replaced. Give another folder.")
    if Path.cwd().resolve().is_relative_to(whole):
        raise UserError(f"{out} is the folder that you are in, so it can't be replaced. Give another folder.")
    if any(path.is_relative_to(whole) for path in read):
        raise UserError(f"{out} is read by this command, too. Give another folder.")
    if aside.exists():
        raise UserError(f"{aside} is left from a run that was ended. Rename it, or delete it, and try again.")
    out.rename(aside)
    try:
        yield
    except BaseException:
        if out.exists():
            console.note(f"What {out} held before is in {aside} until the run is finished.")
        else:
            aside.rename(out)
        raise
    shutil.rmtree(aside)


def _paths(value: Any) -> list[Path]:
    """Return what exists of the paths that an option was given, resolved."""
    given = value if isinstance(value, list | tuple) else [value]
    return [Path(it).resolve() for it in given if isinstance(it, str | Path) and str(it) and os.path.exists(it)]
