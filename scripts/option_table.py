"""Print every option of all commands beside what the table of options says, and where a command differs.

    python scripts/option_table.py [--all]

Options of one command alone are printed with `--all`. The last line counts; the exit code is 1 where one differs.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from davy.shell.option_table import PER_COMMAND, TABLE


class Use(NamedTuple):
    """An option as one command has it."""

    command: str
    name: str
    value: str
    default: object
    short: str
    help: str
    is_list: bool = False
    names: tuple[str, ...] = ()
    is_required: bool = False

    @property
    def is_switch(self) -> bool:
        """Whether it takes no value."""
        return not self.value


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield a command, or a group's commands, with their full names."""
    children = getattr(command, "commands", None)
    if not children:
        yield name, command
    for child, sub in sorted((children or {}).items()):
        yield from leaves(sub, f"{name} {child}")


def uses() -> dict[str, list[Use]]:
    """Return every option of every command by its long name, as the parser has it."""
    from davy.shell.app import COMMANDS, load_command

    found: dict[str, list[Use]] = defaultdict(list)
    for top in sorted(COMMANDS):
        for name, command in leaves(load_command(top), top):
            for option in command.params:
                long = next((it for it in option.opts if it.startswith("--")), "")
                if not long or long == "--help":
                    continue
                short = " ".join(it for it in option.opts if not it.startswith("--"))
                names = (*option.opts, *option.secondary_opts)
                value = "" if option.is_flag else (option.metavar or "?")
                found[long].append(
                    Use(
                        name,
                        long,
                        value,
                        option.default,
                        short,
                        option.help or "",
                        option.multiple,
                        names,
                        option.required,
                    )
                )
    return dict(sorted(found.items()))


def arguments_needed(command: str) -> int:
    """Return how many arguments without a name a command cannot do without."""
    from davy.shell.app import load_command

    found = dict(leaves(load_command(command.split()[0]), command.split()[0]))[command]
    return sum(it.required for it in found.params if it.param_type_name == "argument")


def differences(found: dict[str, list[Use]]) -> dict[str, list[str]]:
    """Return, by option, in what commands differ from the table."""
    wrong: dict[str, list[str]] = {}
    for name, commands in found.items():
        row = TABLE.get(name)
        if row is None and len(commands) > 1:
            wrong[name] = [f"not in the table: {', '.join(use.command for use in commands)}"]
        lines = [] if row is None else [line for use in commands for line in _differs(use)]
        if lines:
            wrong[name] = lines
    return wrong


def _differs(use: Use) -> Iterator[str]:
    row = TABLE[use.name]
    if use.is_switch != (not row.values):
        yield f"{use.command}: {'a switch' if use.is_switch else f'takes {use.value}'}"
    elif use.value and use.value not in row.values.split():
        yield f"{use.command}: {use.value}, not {row.values}"
    if use.short != row.short:
        yield f"{use.command}: short form {use.short or 'none'}, not {row.short or 'none'}"
    if row.default != PER_COMMAND and use.default != row.default and not (use.is_list and use.default is None):
        yield f"{use.command}: default {use.default}, not {row.default}"


def main() -> int:
    """Print the table and the differences."""
    found = uses()
    for name, commands in found.items():
        row = TABLE.get(name)
        if row is None and len(commands) == 1 and "--all" not in sys.argv:
            continue
        meaning = row.meaning if row else f"{commands[0].command}: {commands[0].help}"
        short = f", {row.short}" if row and row.short else ""
        value = " ".join(dict.fromkeys(use.value for use in commands if use.value))
        print(f"{name}{short} {value}".rstrip(), f"({len(commands)})", meaning, sep="\t")
    wrong = differences(found)
    for name, lines in wrong.items():
        print(f"\n{name} differs:", *lines, sep="\n  ")
    commands = {use.command for all_ in found.values() for use in all_}
    shared = sum(len(all_) > 1 for all_ in found.values())
    print(f"\n{len(commands)} commands, {len(found)} options, {shared} in several commands, {len(wrong)} differ.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
