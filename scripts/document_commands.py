"""Write docs/commands/ from the command line itself, a page a command, so that the two can't drift apart.

`--check` changes nothing and exits 1 where a page is missing, out of date or of no command.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import typer.main

FOLDER = Path(__file__).parent.parent / "docs" / "commands"
INDEX = "README.md"
HEAD = """# Commands

Made by `make docs` from the program itself; `davy COMMAND --help` prints the same. `davy --plain COMMAND` shows hurtful
words unmasked.

| exit code | means |
| --- | --- |
| 0 | done |
| 1 | a gate failed |
| 2 | something that you can fix, said in one line |
| 70 | a fault of Davy: one line, which names a file to report; `DAVY_DEBUG=1` prints what is in it |
| 130, 143 | Ctrl-C, SIGTERM: what was done is kept where a command can go on, and said |

What exists is written over only with `--replace`.

An option means the same in every command: [options](options.md).
"""
OPTIONS = """# Options

Made by `make docs` from the table that all commands are held to. An option that several commands have means the same in
each of them. Options of one command alone are on its page.
"""
OLD = """## Names that changed

Nothing has the old names any more: using one is an error that names the new one.
"""


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    from davy.shell.app import COMMANDS, app, load_command

    root = typer.main.get_command(app)
    commands = [(name, load_command(name)) for name in sorted(COMMANDS)]
    found = {f"{name}.md": _section(f"davy {name}", command).rstrip() + "\n" for name, command in commands}
    rows = [f"| [`davy {name}`]({name}.md) | {_first_line(command)} |" for name, command in commands]
    table = "\n".join(["| command | what it does |", "| --- | --- |", *rows])
    found["options.md"] = _shared_options()
    found[INDEX] = "\n".join([HEAD, _options(root), table, ""])
    return found


def _shared_options() -> str:
    from davy.shell.option_table import OLD_NAMES, TABLE

    rows = [f"| {_names(name, row.short)} | {row.meaning} |" for name, row in TABLE.items()]
    old = [
        f"| `davy {command}` | `{before}` | `{now}` |"
        for command, names in OLD_NAMES.items()
        for before, now in names.items()
    ]
    shared = ["| option | meaning |", "| --- | --- |", *rows, ""]
    return "\n".join([OPTIONS, *shared, OLD, "| command | before | now |", "| --- | --- | --- |", *old, ""])


def _names(name: str, short: str) -> str:
    return f"`{name}`, `{short}`" if short else f"`{name}`"


def _section(name: str, command: Any, depth: int = 1) -> str:
    children = getattr(command, "commands", None)
    lines = [f"{'#' * depth} `{name}`\n", _plain(command.help or "") + "\n"]
    if children:
        lines += [_section(f"{name} {child}", sub, depth + 1) for child, sub in sorted(children.items())]
    else:
        lines.append(_options(command))
    return "\n".join(lines)


def _first_line(command: Any) -> str:
    return _plain(command.help or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _options(command: Any) -> str:
    rows = []
    for parameter in command.params:
        if parameter.name == "help" or getattr(parameter, "hidden", False):
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
    """Write the pages, or with `--check` say whether they are current."""
    fresh = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    if "--check" in sys.argv:
        return 0 if there == fresh else 1
    FOLDER.mkdir(exist_ok=True)
    for name in there.keys() - fresh.keys():
        (FOLDER / name).unlink()
    for name, text in fresh.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
