"""The command tree, and the one place where errors become exit codes.

Commands are a table: a command's module is imported when the command is called, so
that `davy --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup, TyperOption

from davy.core.errors import UserError, missing_extra
from davy.shell import console

CONTEXT = {"help_option_names": ["-h", "--help"]}

COMMANDS: dict[str, tuple[str, str]] = {
    "scheme": ("davy.schemes.cli:app", "Look at the schemes, check your own, and start one from a copy."),
    "serve": ("davy.server.cli.serve:serve", "Serve the web workbench and the API."),
    "work": (
        "davy.server.cli.work:work",
        "Run background jobs until Ctrl+C: exports, imports, trainings, scoring, evaluations, checks.",
    ),
    "convert": (
        "davy.corpus.cli:convert",
        "Convert a file of posts between CSV, TSV, JSONL and Parquet, without loss.",
    ),
    "corpus": ("davy.corpus.cli:app", "Look at the public corpora that Davy reads by name."),
    "agree": (
        "davy.evaluation.cli.agree:agree",
        "Measure how far people agree: κ (Cohen, Fleiss, Randolph), Krippendorff's α, Gwet's AC1, percent.",
    ),
    "score": ("davy.scoring.cli:score", "Score a file of posts, one text, or one meme."),
    "model": ("davy.detectors.cli:app", "Look at the detectors, tell a server which to use, and convert weights."),
    "database": ("davy.server.cli.database:app", "Create, look at, upgrade, back up and restore the database."),
    "user": ("davy.people.cli.user:app", "Invite people, and say what they may do."),
    "key": ("davy.people.cli.key:app", "Make, list and revoke API keys, which let programs in."),
    "project": (
        "davy.annotation.project.cli.project:app",
        "Make labelling projects, and take them from phase to phase.",
    ),
    "challenge": (
        "davy.challenges.cli.challenge:app",
        "Run challenges: hidden labels, phases, teams, submissions, boards.",
    ),
    "migrate": ("davy.moderation.cli.migrate:app", "Come over from Perspective."),
    "community": (
        "davy.moderation.cli.community:app",
        "Set thresholds by community, send what is uncertain to review.",
    ),
    "job": ("davy.jobs.cli:app", "Start background jobs, look at them, stop them, run them again."),
    "suite": ("davy.testing.cli.suite:app", "Look at functional tests, check your own, and write them to a file."),
    "evaluate": (
        "davy.evaluation.cli.evaluate:evaluate",
        "Measure detectors on labelled posts: macro-F1, per-label figures, AUROC, confusion matrices, paired tests.",
    ),
    "explain": (
        "davy.evaluation.cli.explain:explain",
        "Measure whether the words of `davy score --explain` are those that people marked.",
    ),
    "round": (
        "davy.rounds.cli.round:app",
        "Rounds of people against a detector: open, close, look at the story so far, replay recorded ones.",
    ),
    "meme": (
        "davy.memes.cli.meme:app",
        "Memes: read source memes, keep licensed pictures, draw memes from layouts, make a benchmark.",
    ),
    "compare": (
        "davy.evaluation.cli.compare:compare",
        "Rank many systems against gold: intervals, paired tests, rank stability, and what the best ones still miss.",
    ),
    "inspect": (
        "davy.reviews.cli.inspect:app",
        "Let two people read what every system misses, sum it up, and correct the labels that were wrong.",
    ),
    "check": ("davy.testing.cli.check:check", "Run functional tests on one or more detectors, side by side."),
    "reproduce": ("davy.evaluation.cli.reproduce:app", "Regenerate a paper's table beside ours."),
    "clean": (
        "davy.corpus.clean.cli:clean",
        "Clean posts by a recipe and print the funnel: how many came to each step, were dropped, changed and left.",
    ),
    "collect": (
        "davy.corpus.collect.cli:app",
        "Collect posts from platform archives and live streams; withdraw posts that their authors deleted.",
    ),
    "describe": (
        "davy.corpus.describe.cli:describe",
        "Describe a corpus: labels, sources, lengths, emoji, words by class with NPMI, word clouds, papers.",
    ),
    "split": (
        "davy.corpus.split.cli:split",
        "Split posts into parts that look alike, and never part an original from its contrast or a post from its twin.",
    ),
    "sample": (
        "davy.corpus.sample.cli:sample",
        "Take posts for labelling: each sampler of the plan fills its quota from each source, no post is taken twice.",
    ),
    "train": (
        "davy.training.cli.train:train",
        "Fine-tune an encoder with a head for each question; several files each fill the heads they have answers for.",
    ),
    "pretrain": (
        "davy.training.cli.pretrain:pretrain",
        "Continue an encoder's pre-training: it guesses whole words that are hidden in your posts.",
    ),
    "distil": ("davy.training.cli.distil:distil", "Distil teachers into a student, on labelled and unlabelled posts."),
    "export": (
        "davy.training.cli.export:export",
        "Export a trained model: ONNX, int8, with tokenizer, thresholds, calibration and card in one folder.",
    ),
    "calibrate": (
        "davy.training.cli.calibrate:calibrate",
        "Set a detector's temperatures and thresholds on posts, and print its figures before and after.",
    ),
}
"""Each command: where it is, and the first line of its help, so that `davy --help` imports no command."""

SUBCOMMANDS: dict[str, dict[str, str]] = {
    "project": {
        "open": "davy.annotation.project.cli.phases:open_",
        "close": "davy.annotation.project.cli.phases:close",
        "next-set": "davy.annotation.project.cli.phases:next_set",
        "add-phase": "davy.annotation.project.cli.phases:add_phase",
        "add-posts": "davy.annotation.project.cli.phases:add_posts",
        "hide": "davy.annotation.project.cli.phases:hide",
        "invite": "davy.annotation.project.cli.project:invite",
        "roster": "davy.annotation.project.cli.project:roster",
        "export": "davy.annotation.exchange.cli:export",
        "corpus": "davy.annotation.exchange.cli:corpus",
        "import": "davy.annotation.exchange.cli:import_",
        "audit": "davy.annotation.settling.cli:audit",
        "pools": "davy.annotation.settling.cli:pools",
    },
    "database": {"retention": "davy.people.cli.retention:retention"},
    "round": {
        "open": "davy.rounds.cli.open:open_",
        "attack": "davy.rounds.cli.attack:attack",
        "close": "davy.rounds.cli.close:close",
        "status": "davy.rounds.cli.close:status",
        "replay": "davy.rounds.cli.replay:replay",
    },
    "challenge": {
        "submit": "davy.challenges.cli.submit:submit",
        "baseline": "davy.challenges.cli.baseline:baseline",
    },
    "reproduce": {
        "hatemoji": "davy.evaluation.cli.reproduce_hatemoji:hatemoji",
        "memes": "davy.evaluation.cli.reproduce_memes:memes",
    },
}
"""Commands of a group that lie in modules of their own."""


def _value_in_help(option: TyperOption, ctx: Any) -> str | None:
    """Return what help shows behind an option; a switch takes no value, though typer would write <bool>."""
    return None if option.is_flag and option.metavar is None else _USUAL_VALUE(option, ctx)


_USUAL_VALUE = TyperOption.display_type_rich
TyperOption.display_type_rich = _value_in_help  # type: ignore[method-assign, assignment]


class LazyGroup(TyperGroup):
    """Commands that are imported when they are called; until then each is a name and a line of help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments begin with."""
        if args and args[0] in COMMANDS:
            return args[0], load_command(args[0]), args[1:]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyGroup,
    name="davy",
    help="A workbench for people who fight online hate.\n\n"
    "Collect, clean, sample, label with care, train, test, compare and serve.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings=CONTEXT,
)


def _version(show: bool) -> None:
    if show:
        from davy.version import __version__

        typer.echo(f"davy {__version__}")
        raise typer.Exit()


@app.callback()
def davy(
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Print the version and stop.", callback=_version, is_eager=True)
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Show hurtful words unmasked in tables.")] = False,
) -> None:
    """Options that every command takes."""
    console.settings.plain = plain


@cache
def load_command(name: str) -> Any:
    """Return a command or a group of commands, imported now."""
    target = load_object(COMMANDS[name][0])
    if not isinstance(target, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name, context_settings=CONTEXT)(target)
        return typer.main.get_command(alone)
    for command, place in SUBCOMMANDS.get(name, {}).items():
        target.command(command)(load_object(place))
    target.info.name = name
    return typer.main.get_command(target)


def load_object(target: str) -> Any:
    """Return what `module:name` stands for."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code: 0 done, 1 a gate failed, 2 the user can fix it."""
    try:
        result = app(args=arguments, prog_name="davy", standalone_mode=False)
    except UserError as error:
        console.error(error.message)
        return 2
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        console.error(missing.message)
        return 2
    except typer.Abort:
        console.error("Stopped. Nothing was written.")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # everything but click's usage errors goes on up
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # a usage error of click's
            console.error(error.format_message())
            return int(error.exit_code)
        raise
    if result == 130:  # what typer makes of Ctrl-C
        console.note(console.NO_RESULT)
    return result if isinstance(result, int) else 0


for _name, (_, _help) in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)
