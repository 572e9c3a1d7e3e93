"""Write docs/commands.md from the command line itself, so that the two can't drift apart.

`--check` changes nothing and exits 1 where the page is out of date.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import typer.main

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
HEAD = """# Commands

Made by `make docs` from the program itself; `davy COMMAND --help` prints the same. Exit codes: 0 done, 1 a gate failed,
2 something that you can fix, said in one line. `davy --plain COMMAND` shows hurtful words unmasked.
"""


def page() -> str:
    """Return the whole page."""
    from davy.cli.app import app

    root = typer.main.get_command(app)
    parts = [HEAD, _options(root)]
    parts += [_section(f"davy {name}", command) for name, command in sorted(root.commands.items())]  # type: ignore[attr-defined]
    return "\n".join(parts).rstrip() + "\n"


def _section(name: str, command: Any, depth: int = 2) -> str:
    children = getattr(command, "commands", None)
    lines = [f"{'#' * depth} `{name}`\n", _plain(command.help or "") + "\n"]
    if children:
        lines += [_section(f"{name} {child}", sub, depth + 1) for child, sub in sorted(children.items())]
    else:
        lines.append(_options(command))
    return "\n".join(lines)


def _options(command: Any) -> str:
    rows = []
    for parameter in command.params:
        if parameter.name == "help":
            continue
        names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            names = f"`{(parameter.metavar or parameter.name).upper()}`"
        rows.append(f"| {names} | {_plain(getattr(parameter, 'help', '') or '').replace('|', chr(92) + '|')} |")
    return "\n".join(["| option | meaning |", "| --- | --- |", *rows, ""]) if rows else ""


def _plain(text: str) -> str:
    text = re.sub(r"\[/?[a-z ]+\]", "", inspect.cleandoc(text).replace("\b", ""))
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def main() -> int:
    """Write the page, or with `--check` say whether it is current."""
    fresh = page()
    if "--check" in sys.argv:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == fresh else 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
