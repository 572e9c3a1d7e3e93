"""`davy completion`: what a shell needs to complete commands and options, made from the parser.

The script holds all names, so that pressing Tab starts no Python. Anything else is completed as a file's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from davy.core.errors import UserError, nearest

BASH = """# Completion of davy for bash.
_davy() {
    local at='' i words=''
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
            @PATHS@) at="$at ${COMP_WORDS[i]}" ;;
        esac
    done
    case "$at" in
@WORDS@
    esac
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _davy davy
"""
ZSH = """#compdef davy
# Completion of davy for zsh.
_davy() {
    local at='' i found=''
    for ((i = 2; i < CURRENT; i++)); do
        case "$at ${words[i]}" in
            @PATHS@) at="$at ${words[i]}" ;;
        esac
    done
    case "$at" in
@WORDS@
    esac
    compadd -- ${=found}
    _files
}
compdef _davy davy
"""
FISH = """# Completion of davy for fish.
function __davy_words
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case @PATHS@
                set at "$at $word"
        end
    end
    switch "$at"
@WORDS@
    end
end
complete -c davy -a '(__davy_words)'
"""
SHELLS = {
    "bash": (BASH, " | ", "        '{at}') words='{words}' ;;"),
    "zsh": (ZSH, " | ", "        '{at}') found='{words}' ;;"),
    "fish": (FISH, " ", "        case '{at}'\n            string split ' ' -- '{words}'"),
}
"""By shell: its script, what stands between the cases of a choice, and one case with what it offers."""


def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print a script with which bash, zsh or fish complete commands and options.

    Keep it where your shell looks for such scripts, and make it again when Davy is new.

    Examples:

        davy completion bash > ~/.local/share/bash-completion/completions/davy

        davy completion zsh > ~/.zfunc/_davy    # with fpath+=~/.zfunc before compinit in ~/.zshrc

        davy completion fish > ~/.config/fish/completions/davy.fish
    """
    if shell not in SHELLS:
        raise UserError(f"There is no completion for {shell!r}; there is bash, zsh, fish.{nearest(shell, SHELLS)}")
    script, between, case = SHELLS[shell]
    offered = dict(_offered())
    paths = between.join(f"'{at}'" for at in offered if at)
    cases = "\n".join(case.format(at=at, words=" ".join(words)) for at, words in offered.items())
    print(script.replace("@PATHS@", paths).replace("@WORDS@", cases), end="")


def _offered() -> Iterator[tuple[str, list[str]]]:
    """Yield what may follow each command, by its words with a space before each; "" is davy itself."""
    import typer.main

    from davy.shell.app import COMMANDS, app, load_command

    yield "", [*COMMANDS, *_options(typer.main.get_command(app))]
    for name in COMMANDS:
        yield from _below(f" {name}", load_command(name))


def _below(at: str, command: Any) -> Iterator[tuple[str, list[str]]]:
    children = getattr(command, "commands", {})
    yield at, [*children, *_options(command)]
    for name, child in children.items():
        yield from _below(f"{at} {name}", child)


def _options(command: Any) -> list[str]:
    names = [name for it in command.params for name in (*it.opts, *it.secondary_opts) if name.startswith("--")]
    return sorted({*names, "--help"})
