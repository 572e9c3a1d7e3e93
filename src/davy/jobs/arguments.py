"""A job's arguments: text from the shell or JSON from the store in, the dataclass of the kind out.

A field's default says its type. Paths become absolute in the shell, since a worker
runs in another folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

from davy.core.errors import UserError, nearest
from davy.jobs.kinds import job_kinds

Arguments = TypeVar("Arguments")


def path_field(default: Any = MISSING, *, new: bool = False) -> Any:
    """Return a dataclass field for a path; unless it is `new`, what is no path is left as it is (a model's name)."""
    return field(default=default, metadata={"path": "new" if new else "existing"})


def from_mapping(kind: type[Arguments], values: Mapping[str, Any]) -> Arguments:
    """Return a dataclass of the values that it knows; JSON's lists become tuples."""
    known = {it.name for it in fields(kind)}  # type: ignore[arg-type]
    return kind(**{
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if name in known and value is not None
    })  # fmt: skip


def parse_arguments(kind: str, given: Sequence[str]) -> dict[str, Any]:
    """Return a kind's arguments as JSON from texts `NAME=VALUE`; a name that is given twice makes a list."""
    arguments = {name: each.arguments for name, each in job_kinds().items() if each.arguments is not None}
    if kind not in arguments:
        names = list(arguments)
        raise UserError(f"There is no job {kind!r} to start; there are {', '.join(names)}.{nearest(kind, names)}")
    known = {it.name: it for it in fields(resolve_name(arguments[kind]))}
    values: dict[str, Any] = {}
    for entry in given:
        name, sign, text = entry.partition("=")
        if not sign or name not in known:
            hint = nearest(name, list(known))
            raise UserError(
                f"{entry!r} is no argument of a {kind} job; write NAME=VALUE with {', '.join(known)}.{hint}"
            )
        value = _value(known[name], text, entry)
        values[name] = [*values.get(name, []), value] if isinstance(_default(known[name]), tuple) else value
    missing = [name for name, it in known.items() if _default(it) is MISSING and name not in values]
    if missing:
        raise UserError(f"A {kind} job needs {missing[0]}=…; its arguments are {', '.join(known)}.")
    return values


def _value(it: Field[Any], text: str, entry: str) -> Any:
    default = _default(it)
    if "path" in it.metadata:
        path = Path(text).expanduser()
        return str(path.absolute()) if path.exists() or it.metadata["path"] == "new" else text
    try:
        if isinstance(default, bool):
            return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]
        return type(default)(text) if isinstance(default, int | float) else text
    except (KeyError, ValueError):
        raise UserError(f"{entry!r}: {it.name} wants something like {default!r}.") from None


def _default(it: Field[Any]) -> Any:
    return it.default_factory() if it.default_factory is not MISSING else it.default
