"""Completion, asked of bash itself, and the groups of `davy --help`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from davy.shell.app import COMMANDS, TASKS, run

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import option_table


@pytest.fixture
def scripts(capsys):
    def script(shell):
        assert run(["completion", shell]) == 0
        return capsys.readouterr().out

    return script


def completed(script, folder, *words):
    """Return what bash offers for the last word, after sourcing the script."""
    asked = " ".join(f"'{word}'" for word in ("davy", *words))
    (folder / "davy.bash").write_text(script)
    code = (
        f"source davy.bash; COMP_WORDS=({asked}); COMP_CWORD={len(words)}; "
        "$(complete -p davy | sed -E 's/.*-F ([^ ]+) .*/\\1/'); printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["conv"], ["convert"]),
        (["project", "add-"], ["add-phase", "add-posts"]),
        (["project", "--database", "x", "export", "--exch"], ["--exchange-format"]),
        (["meme", "library", "s"], ["search"]),
        (["score", "posts.csv", "--casc"], ["--cascade"]),
        (["score", "posts.csv", "--no-"], ["--no-cascade"]),
        (["score", "posts.c"], []),
    ],
)
def test_bash_completes_commands_and_options(scripts, tmp_path, words, offered):
    assert completed(scripts("bash"), tmp_path, *words) == offered


def test_bash_knows_every_command_and_option(scripts, tmp_path):
    script = scripts("bash")
    assert set(COMMANDS) <= set(completed(script, tmp_path, ""))
    uses = option_table.uses()
    for command in ("agree", "project export", "meme library add", "serve"):
        names = {name for name, several in uses.items() for use in several if use.command == command}
        assert names <= set(completed(script, tmp_path, *command.split(), "--")), command


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_read_by_its_shell_and_names_every_option(scripts, shell, tmp_path):
    script = scripts(shell)
    for name, uses in option_table.uses().items():
        assert name in script
        assert all(f"' {use.command}'" in script for use in uses)
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        assert subprocess.run([shell, "-n", "script"], cwd=tmp_path, check=False).returncode == 0


def test_an_unknown_shell_is_one_line(capsys):
    assert run(["completion", "bsh"]) == 2
    assert "there is bash, zsh, fish. Did you mean 'bash'?" in capsys.readouterr().err


def test_help_lists_commands_by_task(capsys):
    assert {command.task for command in COMMANDS.values()} == set(TASKS)
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"─ {task} ─") for task in TASKS]
    assert places == sorted(places)
    assert shown.index("─ Train ─") < shown.index(" distil ") < shown.index("─ Measure ─")
