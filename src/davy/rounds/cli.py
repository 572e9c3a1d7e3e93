"""`davy round`: open a round, attack its target, close it, report on all rounds, replay recorded ones."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from davy.annotation.exchange.data_statement import RELEASE_TERMS
from davy.annotation.project.cli.project import Name
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import projects
from davy.core.errors import UserError
from davy.core.install import install_extra
from davy.core.options import Option
from davy.jobs.job_files import files_folder
from davy.rounds.attack import AttackResult, attack_target
from davy.rounds.candidates import choice_table
from davy.rounds.close_round import ClosedRound, close_project_round, has_encoders, round_story
from davy.rounds.open_round import find_target
from davy.rounds.open_round import open_round as open_in
from davy.rounds.replay import Replay, replay_rounds
from davy.rounds.round import EntryRules, RoundGoals
from davy.rounds.store import rounds
from davy.shell import console
from davy.shell.options import Database, Json
from davy.shell.verb_command import Run, verb_command
from davy.store import default_url, events, open_store

SHOWN = 10

app = typer.Typer(
    no_args_is_help=True,
    help="Rounds of people against a detector: open, close, look at the story so far, replay recorded ones.",
)


@verb_command(
    close_project_round,
    "project architecture emoji times base pending choose_by set workers seed files database json",
)
def close(
    run: Run[ClosedRound],
    project: Name,
    choose_by: str,
    files: Annotated[Path | None, Option("The server's folder for files.", metavar="DIR")] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Close a project's round: split its entries, train the candidates, and make the winner the next target.

    Called again after a stop it goes on where it was: entries and splits are frozen when it begins.

    Examples:

        davy round close duel --pending drop

        davy round close duel -a ./minilm -a tfidf --base labelled.csv
    """
    with open_store(database) as store:
        folder = files_folder(database or default_url(), files)
        if folder is None:
            raise UserError("Where do closes go? Name the server's folder for files: --files DIR")
        closed = run(store=store, project_id=project, files=folder, by=events.SHELL)
    if json:
        worse = {"worse": list(closed.worse)}
        console.json({"target": closed.target, "suites": dict(closed.suites), **worse, **closed.outcome.to_dict()})
        return
    table = choice_table(closed.outcome.results, closed.outcome.this, by=choose_by, incumbent=closed.incumbent)
    console.out().print(table.rich())
    if not has_encoders():
        console.note(f"Only n-grams could be tried here. Encoders need the extra train: {install_extra('train')}")


def status(project: Name, database: Database = None, json: Json = False) -> None:
    """Print the story of a project's rounds so far: error rates, targets, quality, composition, time.

    Examples:

        davy round status duel
    """
    with open_store(database) as store, store.read() as db:
        found = projects.get(db, project).id
        story, under_way = round_story(db, found), rounds.of_project(db, found)
    if json:
        console.json(story.to_dict())
        return
    if not story.tables and under_way:
        console.note(f"Round {under_way[-1].number} has no entry yet.")
    elif not story.tables:
        console.note(f"No entry yet. Open a round: davy round open {project} --target embedded")
    for table in story.tables.values():
        console.out().print(table.rich())


def open_(
    project: Name,
    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            help="The detector to fool: NAME or NAME@VERSION that the server knows, or what --model takes (a folder, "
            "embedded, url:http…). Several are fine; the first one counts.",
        ),
    ],
    name: Annotated[str | None, typer.Option("--name", help="What the round is called.")] = None,
    emoji: Annotated[
        bool, typer.Option("--require-emoji/--no-require-emoji", help="Whether an entry needs an emoji.")
    ] = True,
    lang: Annotated[list[str] | None, typer.Option("--lang", help="A language that entries may have.")] = None,
    shortest: Annotated[int, typer.Option("--shortest", help="The fewest characters of an entry.")] = 3,
    longest: Annotated[int, typer.Option("--longest", help="The most characters of an entry.")] = 280,
    goal_each: Annotated[int | None, typer.Option("--goal-each", help="How many entries each person writes.")] = None,
    goal_all: Annotated[int | None, typer.Option("--goal", help="How many entries the round has in all.")] = None,
    goal_week: Annotated[
        int | None, typer.Option("--goal-week", help="How many entries each person writes in seven days.")
    ] = None,
    accept_worse: Annotated[
        bool, typer.Option("--accept-worse", help="Take a new target that is worse than the one before it.")
    ] = False,
    anyway: Annotated[
        str | None, typer.Option("--anyway", help="Open it although an earlier phase says not yet; give the reason.")
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Open a round: people write texts that the target gets wrong. Its entries are validated in a phase of its own.

    Examples:

        davy round open duel --target embedded --lang en --goal 1000

        davy round open duel --target models/second --target embedded --goal-each 100 --goal-week 25
    """
    try:
        rules = EntryRules(emoji, tuple(lang or ()), shortest, longest)
    except ValueError as error:
        raise UserError(f"{error}.") from None
    goals = RoundGoals(goal_each=goal_each, goal_all=goal_all, goal_week=goal_week)
    with open_store(database) as store:
        with store.read() as db:
            found = projects.get(db, project)
            question = scheme_of(db, found).questions[0].name
        targets = [find_target(store, it, question, by=events.SHELL) for it in target]
        with store.write() as db:
            made = open_in(
                db,
                found,
                targets=targets,
                by=events.SHELL,
                name=name,
                rules=rules,
                goals=goals,
                anyway=anyway,
                accept_worse=accept_worse,
            )
    if json:
        console.json({"project": found.id, "round": made.number, "name": made.name, "targets": targets})
    console.note(f"Round {made.number} of {found.id} is open against {', '.join(targets)}.")


@verb_command(attack_target, "seeds target out question gold strategy tries most seed json")
def attack(
    run: Run[AttackResult],
    out: Path | None,
    json: Annotated[bool, Option("Print the figures as JSON.")] = False,
) -> None:
    """Try the papers' strategies on seed texts against a detector, and list what got through.

    It proposes; only people label. Put what got through into a round, where people say what it truly is.
    Seeds without a label count as what the target says of them; seeds that the target gets wrong already are left out.
    At most 100,000 texts are tried: seeds x strategies x tries.

    Examples:

        davy round attack seeds.csv --target embedded --out through.jsonl

        davy round attack seeds.csv --target embedded --strategy "emoji letters" --tries 20
    """

    result = run()
    if json:
        console.json(as_json(result))
    else:
        _show(result)
    if out is not None:
        console.note(f"Wrote {len(result.proposals):,} texts to {out}. Nobody has confirmed them.\n{RELEASE_TERMS}")


def as_json(result: AttackResult) -> dict[str, object]:
    """Return the figures of an attack without any text."""
    return {
        "target": result.target,
        "question": result.question,
        "seeds": result.seeds,
        "already_wrong": result.already_wrong,
        "strategies": [
            {"strategy": it.strategy, "seeds": it.seeds, "texts": it.texts, "through": it.through}
            for it in result.counts
        ],
        "release_terms": RELEASE_TERMS,
    }


def _show(result: AttackResult) -> None:
    rows = [
        (it.strategy, it.seeds, it.texts, it.through, f"{it.through / it.seeds:.0%}" if it.seeds else "–")
        for it in result.counts
    ]
    columns = ("strategy", "seeds", "texts", "got through", "share of seeds")
    console.table(columns, rows, right=columns[1:], title=f"{result.question} by {result.target}")
    if result.already_wrong:
        print(
            f"{result.already_wrong:,} of {result.seeds:,} seeds were left out: the target gets them wrong as they are."
        )
    drops = sorted(result.proposals, key=lambda it: it.after - it.before)[:SHOWN]
    if drops:
        console.table(
            ("strategy", "text", "before", "after"),
            [(it.strategy, it.text, f"{it.before:.3f}", f"{it.after:.3f}") for it in drops],
            right=("before", "after"),
            title="The largest drops",
        )


@verb_command(
    replay_rounds,
    "corpus data out base architecture emoji times round splits choose_by set workers seed recorded page json",
)
def replay(
    run: Run[Replay],
    out: Path,
    seed: int,
    recorded: Annotated[bool, Option("Train nothing: only measure what the files recorded.")] = False,
    page: Annotated[bool, Option("Draw report.html as well.", "--page/--no-page")] = True,
    json: Annotated[bool, Option("Print the result as JSON.")] = False,
) -> None:
    """Replay recorded rounds: close each as its people left it, and let the winner meet the next one.

    HatemojiBuild's rounds 5 to 7 follow rounds 1 to 4 (--base). Its files hold no predictions: the error rate is that
    of our target on the next round's originals. GAHD's files hold its targets' predictions: --recorded measures those
    alone, in seconds. Without --architecture the candidates are n-grams with a regression, which need no GPU.

    Examples:

      davy round replay gahd --data gahd/ --recorded --out runs/gahd

      davy round replay hatemojibuild --data hatemojibuild/ --base dynahate/ -a ./minilm --out runs/replay --workers 4
    """
    made = run(train=not recorded)
    if page:
        made.write_page(out, command=shlex.join(console.command_line()), seed=seed)
    console.note(f"Written: {out}/replay.json{', report.html' if page else ''}")
    if json:
        console.json(made.to_dict())
        return
    printed = console.out()
    for table in made.tables():
        printed.print(table.rich())
    for line in made.notes:
        printed.print(line, style="dim", markup=False)


@app.callback()
def round_() -> None:
    """Rounds of people against a detector: open, close, look at the story so far, replay recorded ones."""
