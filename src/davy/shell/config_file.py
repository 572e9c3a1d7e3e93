"""`--config FILE`: a YAML file with a command's options in, their defaults out.

What stands on the command line counts before the environment, and that before the file. A name that the command does
not have is refused with its line, so that a slip of the pen does not go unnoticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from davy.core.errors import nearest
from davy.files.yaml_nodes import Problems, plain_values, read_file


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the options in a file the defaults of the command that is about to run."""
    return use_options(context, path, [str(param.name) for param in context.command.params if param.name != "config"])


def use_options(context: typer.Context, path: Path | None, names: Sequence[str]) -> Path | None:
    """Make the options in a file defaults; `names` may be in it, also those that this command does not have."""
    if path is None or context.resilient_parsing:
        return path
    problems = Problems(str(path), what="file of options", example="docs/serve/running.md")
    root = read_file(path, problems)
    known = {name.replace("_", "-"): name for name in names}
    values: dict[str, Any] = {}
    for key, node in (root or {}).items():
        name = known.get(str(key).replace("_", "-"))
        if name is None:
            where = root.line_of(str(key)) if root is not None else 1
            problems.add(where, f"There is no option {str(key)!r}.{nearest(str(key), list(known))}")
            continue
        values[name] = plain_values(node)
    problems.raise_first()
    context.default_map = {**(context.default_map or {}), **values}
    return path
