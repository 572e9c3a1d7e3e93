"""A command from an action's signature: the options are declared there, and the shell adds what only it has.

    @verb_command(action.describe, "files [out] corpus scheme json")
    def describe(run: Run[DescribedCorpus], out: Path | None, json: Json = False) -> None:

The text lists the command's options in the order of its help; brackets make one optional that the action needs. An
option is the shell's own where this function declares it (`json`), else the action's; a parameter without declaration
(`out`) gets the value of the action's option. `run()` calls the action with what was given, and a reporter if it takes
one; its arguments come on top.
"""

from __future__ import annotations

import inspect
import keyword
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

import typer

from davy.core.options import DeclaredOption, Option, arguments_of, declared_option, mark_of, options_of
from davy.shell import console

Result = TypeVar("Result")
Other = TypeVar("Other")
SIMPLE = (str, Path, bool, int, float)
"""What a text of the command line can become; the first of these that a parameter takes."""


@dataclass(frozen=True)
class Run(Generic[Result]):
    """An action with what was given to the command, by option."""

    action: Callable[..., Result]
    given: Mapping[str, Any]

    def __call__(self, **more: Any) -> Result:
        """Return what the action returns, called with `more` on top, and with the shell's reporter if it takes one."""
        arguments = {**self.arguments, **more}
        if "reporter" not in inspect.signature(self.action).parameters:
            return self.action(**arguments)
        with console.ShellReporter() as reporter:
            return self.action(**arguments, reporter=reporter)

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The action's arguments, made once: what is read from a file or from stdin can't be read again."""
        return arguments_of(self.action, self.given)

    def of(self, other: Callable[..., Other]) -> Run[Other]:
        """Return another action with what was given to the command."""
        return Run(other, self.given)


def verb_command(action: Callable[..., Any], listed: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function of the shell a command with the action's options."""

    def decorate(show: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(show, eval_str=True).parameters
        marked = {name: mark for name, it in own.items() if isinstance(mark := mark_of(it.annotation), Option)}
        keys = {name: declared_option(own[name], mark).key for name, mark in marked.items()}
        known = {it.key: it for it in reversed(options_of(action))}
        known |= {keys[name]: declared_option(own[name], mark) for name, mark in marked.items()}
        parameters = [
            _parameter(known[key.strip("[]")], optional=key.startswith("["))
            if key.strip("[]") in known
            else own[key].replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for key in listed.split()
        ]

        def command(**given: Any) -> Any:
            values = {name.rstrip("_"): value for name, value in given.items()}
            run = Run(action, values)
            return show(**{name: run if name == "run" else values[keys.get(name, name)] for name in own})

        command.__name__, command.__doc__, command.__module__ = show.__name__, show.__doc__, show.__module__
        command.__annotations__ = {it.name: it.annotation for it in parameters}
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return command

    return decorate


def _parameter(declared: DeclaredOption, *, optional: bool) -> inspect.Parameter:
    """Return the parameter that typer reads an option from."""
    option, default, kind = declared.option, declared.default, _shell_type(declared.annotation)
    if optional or (get_origin(kind) is list and default is not inspect.Parameter.empty):
        default = None
    words: dict[str, Any] = {"help": option.help, "metavar": option.metavar, "min": option.min, "max": option.max}
    names = option.names.split()
    info = typer.Option(*names, **words) if names[0].startswith("-") else typer.Argument(**words)
    annotation = Annotated[kind | None if default is None else kind, info]  # type: ignore[valid-type]
    name = declared.key + "_" * keyword.iskeyword(declared.key)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _shell_type(annotation: Any) -> Any:
    """Return the type that typer reads: a simple one of a union, else a list for what takes several."""
    taken = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    for simple in SIMPLE:
        if simple in taken:
            return simple
    several = next(each for each in taken if get_origin(each) in (Sequence, tuple, list))
    return list[_shell_type(get_args(several)[0])]  # type: ignore[misc]
