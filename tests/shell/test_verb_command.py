"""Commands made from actions: the options are those of the signature, the values reach the action."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from davy.core.options import Option, Options, arguments_of, options_of
from davy.core.reporter import Reporter
from davy.shell.verb_command import Run, verb_command


def read_pairs(given: Sequence[str]) -> dict[str, str]:
    return dict(entry.split("=") for entry in given)


@dataclass(frozen=True)
class File:
    path: Annotated[str, Option("The file.", "file", metavar="F")]
    encoding: Annotated[str | None, Option("Its encoding.")] = None


def measure(
    file: Annotated[File, Options(File)],
    out: Annotated[Path | str, Option("Where to.", "--out -o")],
    *,
    beside: Annotated[File | None, Options(File, {"file": Option("Another file.", "--beside")})] = None,
    questions: Annotated[Sequence[str], Option("Only this one.", "--question")] = (),
    least: Annotated[int, Option("The fewest.", min=1)] = 5,
    changes: Annotated[Mapping[str, str] | None, Option("Change it.", "--set", read=read_pairs)] = None,
    quick: Annotated[bool, Option("Be quick.", "--quick/--slow")] = True,
    text: str = "not an option",
    reporter: Reporter | None = None,
) -> dict[str, object]:
    given = {"file": file, "out": out, "beside": beside, "questions": questions, "least": least, "changes": changes}
    return {**given, "quick": quick, "text": text, "reporter": isinstance(reporter, Reporter)}


def call(*line: str, listed: str = "file out [beside] encoding question least set quick json", **more: object):
    seen: dict[str, object] = {}

    @verb_command(measure, listed)
    def command(run: Run[dict[str, object]], out: str | None, json: Annotated[bool, Option("As JSON.")] = False) -> int:
        """Measure a file."""
        seen.update(run(**more), json=json, shown_out=out)
        return 3

    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, list(line), standalone_mode=False)
    return result, seen


def test_values_reach_the_action_and_what_was_not_given_keeps_its_default():
    result, seen = call("a.csv", "-o", "b.csv", "--question", "x", "--question", "y", "--set", "rate=1", "--json")
    assert result.return_value == 3
    assert seen == {
        "file": File("a.csv"), "out": "b.csv", "beside": None, "questions": ["x", "y"], "least": 5,
        "changes": {"rate": "1"}, "quick": True, "text": "not an option", "reporter": True, "json": True,
        "shown_out": "b.csv",
    }  # fmt: skip


def test_parts_share_an_option_and_a_part_that_lacks_its_own_is_not_made():
    _, seen = call("a.csv", "--out", "b", "--beside", "c.csv", "--encoding", "cp1252", "--slow")
    assert (seen["file"], seen["beside"]) == (File("a.csv", "cp1252"), File("c.csv", "cp1252"))
    assert (seen["quick"], seen["questions"], seen["changes"]) == (False, (), None)
    _, seen = call("a.csv", "--out", "b", "--encoding", "cp1252")
    assert seen["beside"] is None


def test_what_the_shell_says_stands_on_top_of_the_options():
    _, seen = call("a.csv", "--out", "b", text="from the shell", least=9)
    assert (seen["text"], seen["least"]) == ("from the shell", 9)


def test_limits_and_needed_options_are_checked_before_the_action_is_called():
    result, seen = call("a.csv", "--out", "b", "--least", "0")
    assert "--least" in str(result.exception.format_message())
    assert not seen
    result, seen = call("a.csv")
    assert "--out" in str(result.exception.format_message())
    assert not seen


def test_an_option_that_is_needed_may_be_left_out_where_the_command_says_so():
    result, _ = call("a.csv", listed="file [out] [beside] encoding json")
    assert isinstance(result.exception, TypeError), "the shell let it pass, the action did not"


def test_an_option_that_nobody_declares_is_an_error_of_ours():
    with pytest.raises(KeyError, match="colour"):
        call("a.csv", listed="file out colour json")


def test_every_option_of_an_action_can_be_listed():
    listed = {it.key: (it.option.names, it.option.help, it.default) for it in options_of(measure)}
    assert listed["least"] == ("--least", "The fewest.", 5)
    assert list(listed) == ["file", "encoding", "out", "beside", "question", "least", "set", "quick"]


@dataclass(frozen=True)
class Files:
    path: Annotated[str, Option("Files.", "files", read=lambda given: "+".join(given))]
    encoding: Annotated[str | None, Option("Their encoding.")] = None


def join(files: Annotated[list[Files], Options(Files, {"encoding": None}, each=True)]) -> list[Files]:
    return files


def test_an_option_may_be_left_out_of_a_part_and_a_part_be_made_for_each_value():
    assert [it.key for it in options_of(join)] == ["files"]
    assert join(**arguments_of(join, {"files": ["a", "b"], "encoding": "cp1252"})) == [Files("a"), Files("b")]
