"""Kinds of background job, those of every feature by name, and the arguments of one.

Text from the shell or JSON from the store in, the dataclass of the kind out; a field's default says its type. Paths
become absolute in the shell, since a worker runs in another folder. A kind's function is imported when a job runs. A
worker process has threads for long kinds and for quick ones, so that a training never holds up an export.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar
from urllib.parse import quote

from davy.core.errors import UserError, nearest
from davy.core.feature import JobKind, features

Arguments = TypeVar("Arguments")


def job_kinds() -> dict[str, JobKind]:
    """Return all kinds by name."""
    return {kind.name: kind for feature in features() for kind in feature.jobs}


def result_page(kind: str, job_id: str, project: str | None, arguments: Mapping[str, Any]) -> str:
    """Return the address of the page that shows what a job made; empty where there is none."""
    known = job_kinds().get(kind)
    if known is None:
        return ""
    page = (known.project_page or known.page) if project else known.page
    values = {**arguments, "id": job_id, "project": project}
    named = set(re.findall(r"{(\w+)}", page))
    if not all(values.get(name) for name in named):
        return ""
    return page.format(**{name: quote(str(values[name]), safe="") for name in named})


def job_functions(*, long: bool) -> dict[str, str]:
    """Return the functions of the long kinds, or of the quick ones, by name."""
    return {name: kind.function for name, kind in job_kinds().items() if kind.long == long}


def check_kinds(names: list[str]) -> list[str]:
    """Return the kinds; one that there isn't is an error."""
    known = list(job_kinds())
    for name in names:
        if name not in known:
            raise UserError(f"There is no kind of job {name!r}; there are {', '.join(known)}.{nearest(name, known)}")
    return names


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
