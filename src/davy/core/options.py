"""How a parameter of an action is given on a command line: declared once, on the action's signature.

    def describe(*, least: Annotated[int, Option("Leave out words in fewer posts.", metavar="N", min=1)] = 5)

The parameter's type and default are the option's. Nothing here knows the shell: `cli.verb_command` makes its commands
from it, and `options_of` lists the options of any action.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, get_args, get_origin


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its help, and what the parameter does not say by itself.

    `names` are separated by spaces, such as `--model -m` or `--page/--no-page`; `--` and the parameter's name when
    empty. A name without dashes is a positional argument's. `read` makes the value of what was given, whose type is
    then that of its parameter.
    """

    help: str
    names: str = ""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    read: Callable[[Any], Any] | None = None


Changes = Mapping[str, str | Option | None]
"""By key, another sentence of help, another declaration, or None for what is no option here."""
NO_CHANGES: Changes = {}


@dataclass(frozen=True, slots=True)
class Options:
    """A parameter made of several options: those on the signature of `kind`; `changed` is for this parameter alone."""

    kind: Callable[..., Any]
    changed: Changes = field(default_factory=dict)
    each: bool = False
    """Whether the parameter takes a list, with one part for each value of the first option."""


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """An option with the type and default of its parameter, and `key`, by which commands list it."""

    key: str
    option: Option
    annotation: Any
    default: Any


def declared_option(parameter: inspect.Parameter, option: Option) -> DeclaredOption:
    """Return a parameter's option; its key is its first name, without dashes."""
    names = option.names or f"--{parameter.name.rstrip('_').replace('_', '-')}"
    key = names.split()[0].partition("/")[0].lstrip("-").replace("-", "_")
    annotation, default = _without_marks(parameter.annotation), parameter.default
    if option.read is not None:
        annotation = next(iter(inspect.signature(option.read, eval_str=True).parameters.values())).annotation
        default = default if default is parameter.empty else None
    return DeclaredOption(key, replace(option, names=names), annotation, default)


def mark_of(annotation: Any) -> Option | Options | None:
    """Return what is declared in a parameter's annotation, if anything is."""
    marks = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((mark for mark in marks if isinstance(mark, Option | Options)), None)


def options_of(function: Callable[..., Any], changed: Changes = NO_CHANGES) -> list[DeclaredOption]:
    """Return the options that are declared on a signature, in its order, with those of its parts."""
    listed: list[DeclaredOption] = []
    for _, part in _parts(function, changed):
        listed += options_of(part.kind, part.changed) if isinstance(part, Options) else [part]
    return listed


def arguments_of(
    function: Callable[..., Any], given: Mapping[str, Any], changed: Changes = NO_CHANGES
) -> dict[str, Any]:
    """Return the arguments of a call from values by key; a parameter without one keeps its default."""
    arguments: dict[str, Any] = {}
    for parameter, part in _parts(function, changed):
        if isinstance(part, DeclaredOption):
            value, read = given.get(part.key), part.option.read
            if value is not None:
                arguments[parameter] = value if read is None else read(value)
            continue
        made = [part.kind(**arguments) for arguments in _parts_given(part, given)]
        if made:
            arguments[parameter] = made if part.each else made[0]
    return arguments


def _parts_given(options: Options, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each part that can be made: what it needs was given."""
    first = options_of(options.kind, options.changed)[0].key
    each = [{**given, first: [value]} for value in given.get(first) or ()] if options.each else [given]
    for values in each:
        arguments = arguments_of(options.kind, values, options.changed)
        needed = [it.name for it in inspect.signature(options.kind).parameters.values() if it.default is it.empty]
        if all(name in arguments for name in needed):
            yield arguments


def _parts(function: Callable[..., Any], changed: Changes) -> Iterator[tuple[str, DeclaredOption | Options]]:
    """Yield each declared parameter's name with its option, or with the options that it is made of."""
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        mark = mark_of(parameter.annotation)
        if isinstance(mark, Options):
            yield parameter.name, replace(mark, changed={**mark.changed, **changed})
        elif mark is not None:
            usual = declared_option(parameter, mark)
            other = changed.get(usual.key, mark)
            if other is not None:
                other = replace(mark, help=other) if isinstance(other, str) else other
                yield parameter.name, declared_option(parameter, other)


def _without_marks(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
