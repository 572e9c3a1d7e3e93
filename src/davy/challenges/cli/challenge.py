"""`davy challenge`: make a challenge from a file, run its phases, send predictions, read and freeze its boards."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.challenges.store import challenges, submissions, teams
from davy.core.errors import UserError
from davy.people.store import users
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import default_url, events, open_store
from davy.store.columns import now

if TYPE_CHECKING:
    from davy.challenges.challenge import Challenge, ChallengePhase, ChallengeTask
    from davy.store import Store

app = typer.Typer(
    no_args_is_help=True,
    help="Run challenges: hidden labels, phases, teams, submissions, boards.\n\n"
    "The presets edos and hateful-memes make those challenges from the released files.",
)

Name = Annotated[str, typer.Argument(metavar="CHALLENGE", help="The challenge's name.")]
Phase = Annotated[str | None, typer.Option("--phase", help="The phase; without it, the one that is open.")]
TaskName = Annotated[str | None, typer.Option("--task", help="The task; without it, the only one.")]


@app.command()
def create(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A challenge's YAML file, or a preset: edos, hateful-memes.")
    ],
    data: Annotated[
        Path | None, typer.Option("--data", help="Where the data files are; without it, beside the YAML file.")
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option("--images", help="The folder of the posts' pictures, which the kit then has.", metavar="DIR"),
    ] = None,
    organiser: Annotated[str | None, typer.Option("--organiser", help="The login of the organiser.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Another name than the file's.")] = None,
    baselines: Annotated[
        Path | None,
        typer.Option("--baselines", help="A file of predictions, or a folder of them, to mark on the boards."),
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Make a challenge: its tasks, phases and data, all of it or nothing.

    Labels of a data set are hidden unless the file says `labels: public`. See docs/compare/challenges.md.

    Examples:

        davy challenge create mill-valley.yaml --organiser lin@example.org

        davy challenge create edos --data edos/ --baselines predictions/

        davy challenge create hateful-memes --data hateful_memes/
    """
    from davy.challenges.challenge_baselines import add_baselines, baseline_files
    from davy.challenges.challenge_creation import create_challenge
    from davy.challenges.challenge_file import read_plan

    plan = read_plan(file, at=now())
    plan = replace(plan, name=name) if name else plan
    if data is None and plan.corpus is not None:
        raise UserError(f"The challenge {plan.name!r} is made from released files. Say where they are: --data DIR")
    folder = data if data is not None else Path(file).parent
    marked = baseline_files(baselines) if baselines else []
    with open_store(database, create=True) as store:
        owner = None
        if organiser is not None:
            with store.read() as db:
                owner = users.find(db, organiser).id
        with console.ShellReporter() as reporter:
            made = create_challenge(
                store, plan, folder, by=events.SHELL, organiser=owner, images=images, reporter=reporter
            )
        sent = add_baselines(store, made.id, marked, by=events.SHELL) if marked else []
        if sent:
            score_now(database)
        shown = _described(store, made)
    if json:
        console.json(shown)
        return
    console.note(f"Made the challenge {made.id!r} with {len(sent)} entries of baselines. davy challenge show {made.id}")


@app.command("list")
def list_(database: Database = None, json: Json = False) -> None:
    """List the challenges.

    Example:

        davy challenge list
    """
    with open_store(database) as store, store.read() as db:
        known = challenges.list_challenges(db)
        sizes = {each.id: len(teams.of_challenge(db, each.id)) for each in known}
    if json:
        console.json([{"name": each.id, "title": each.title, "teams": sizes[each.id]} for each in known])
        return
    if not known:
        console.note("There is no challenge yet. Make one: davy challenge create FILE.yaml")
        return
    console.table(["name", "title", "tasks", "teams"], [
        [each.id, each.title, ", ".join(task.name for task in each.tasks), str(sizes[each.id])] for each in known
    ])  # fmt: skip


@app.command()
def show(name: Name, database: Database = None, json: Json = False) -> None:
    """Show a challenge: tasks, phases with their dates, data, teams and how many submissions there are.

    Example:

        davy challenge show edos
    """
    with open_store(database) as store:
        with store.read() as db:
            challenge = challenges.get(db, name)
        shown = _described(store, challenge)
    if json:
        console.json(shown)
        return
    console.note(f"{challenge.title} ({challenge.id})")
    console.table(["phase", "task", "opens", "closes", "state", "limit", "board", "sent"], [
        [row["phase"], row["task"], row["opens"], row["closes"], row["state"], str(row["limit"]), row["board"],
         str(row["submissions"])] for row in shown["windows"]
    ])  # fmt: skip
    console.table(["data", "posts", "labels"], [
        [row["name"], f"{row['posts']:,}", row["labels"]] for row in shown["data"]
    ])  # fmt: skip


@app.command("open-phase")
def open_phase(
    name: Name,
    phase: Annotated[str, typer.Argument(help="The phase.")],
    task: TaskName = None,
    opens: Annotated[str | None, typer.Option("--opens", help="When: 2027-01-10, with a time, or +14d.")] = None,
    closes: Annotated[str | None, typer.Option("--closes", help="When; a date counts to its end.")] = None,
    database: Database = None,
) -> None:
    """Open a phase now, or change its dates, of one task or of all that it has. --closes +0m closes it now.

    Examples:

        davy challenge open-phase edos test --closes +21d

        davy challenge open-phase edos test --task A --closes +0m

        davy challenge open-phase edos test --task B --opens 2027-01-20 --closes 2027-01-31
    """
    from davy.challenges.run_challenge import change_windows

    with open_store(database) as store, store.write() as db:
        challenge = challenges.get(db, name)
        tasks = None if task is None else [task]
        changed = change_windows(db, challenge, phase, tasks, opens=opens, closes=closes, by=events.SHELL)
        rows = _windows(db, challenges.get(db, name), now())
    console.table(["phase", "task", "opens", "closes", "state"], [
        [row["phase"], row["task"], row["opens"], row["closes"], row["state"]]
        for row in rows if row["phase"] == phase
    ])  # fmt: skip
    for asked in challenge.tasks:
        if asked.name in (tasks or changed.windows):
            _note_held_back(changed, asked)


def _note_held_back(phase: ChallengePhase, task: ChallengeTask) -> None:
    """Say where a task opens later than its own date, since it comes after another."""
    window = phase.window(task)
    if window is None or window.opens == phase.windows[task.name].opens:
        return
    earlier = [name for name in task.after if name in phase.windows]
    have = "has" if len(earlier) == 1 else "have"
    said = f"{task.name} opens when {' and '.join(earlier)} {have} closed, on {_when(window.opens)}."
    if window.closes <= window.opens:
        said += f" That is not before it closes itself: give --task {task.name} a later --closes."
    console.note(said)


@app.command()
def board(
    name: Name,
    phase: Phase = None,
    task: TaskName = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    database: Database = None,
    json: Json = False,
) -> None:
    """Print a board: ranks, figures with intervals, the paired test against the next place, and the summary.

    Examples:

        davy challenge board edos --phase test --task A

        davy challenge board edos --phase test --task A --csv > board.csv
    """
    from davy.challenges.boards import board_csv, board_rows
    from davy.challenges.run_challenge import rank_board

    with open_store(database) as store:
        with store.read() as db:
            challenge = challenges.get(db, name)
        chosen, asked = choose_board(challenge, phase, task)
        rank_board(store, chosen.id, asked)
        with store.read() as db:
            kept = challenges.find_board(db, chosen.id, asked)
    content: Any = kept.content if kept else {"rows": []}
    if json:
        console.json(content)
    elif csv:
        print(board_csv(content), end="")
    elif not content["rows"]:
        console.note(f"Nobody is on the board of {chosen.name}, task {asked}, yet.")
    else:
        heads, rows = board_rows(content)
        console.table(heads, rows)


@app.command()
def freeze(name: Name, phase: Annotated[str, typer.Argument(help="The phase.")], database: Database = None) -> None:
    """Freeze a phase's boards: nothing is taken any more, and nothing on them changes.

    Example:

        davy challenge freeze edos test
    """
    from davy.challenges.run_challenge import find_phase, rank_board
    from davy.challenges.run_challenge import freeze as freeze_boards

    with open_store(database) as store:
        with store.read() as db:
            challenge = challenges.get(db, name)
        chosen_phase = find_phase(challenge, phase)
        for task in challenge.tasks:
            rank_board(store, chosen_phase.id, task.name)
        with store.write() as db:
            freeze_boards(db, challenge, chosen_phase, by=events.SHELL)
    console.note(f"The boards of {phase!r} are frozen.")


@app.command()
def kit(
    name: Name,
    out: Annotated[Path, typer.Option("--out", help="The zip to write.")],
    database: Database = None,
) -> None:
    """Write the starting kit: what is asked, the data as far as it is public by now, sample submissions.

    Example:

        davy challenge kit edos --out edos-kit.zip
    """
    from davy.challenges.challenge_kit import write_kit

    with open_store(database) as store:
        write_kit(store, name, out)
    console.note(f"Wrote {out}.")


def score_now(database: str | None) -> None:
    """Score and rank what waits, in this process."""
    from davy.challenges.run_challenge import RANK_BOARD, SCORE_SUBMISSION
    from davy.jobs.processes import work

    work(database or default_url(), kinds=[SCORE_SUBMISSION, RANK_BOARD], once=True)


def choose_board(challenge: Challenge, phase: str | None, task: str | None) -> tuple[ChallengePhase, str]:
    """Return the phase and task that are meant; with several and none named, an error that lists them."""
    from davy.challenges.run_challenge import find_phase, find_task

    if task is None and len(challenge.tasks) > 1:
        raise UserError(f"Say which task: --task {' or '.join(each.name for each in challenge.tasks)}.")
    asked = challenge.tasks[0].name if task is None else find_task(challenge, task).name
    if phase is not None:
        return find_phase(challenge, phase), asked
    at, by_name = now(), {each.name: each for each in challenge.tasks}
    states = {
        each.name: window.state(at) for each in challenge.phases if (window := each.window(by_name[asked])) is not None
    }
    open_ones = [name for name, state in states.items() if state == "open"]
    if len(open_ones) != 1:
        listed = ", ".join(f"{name} ({state})" for name, state in states.items())
        raise UserError(f"Say which phase: --phase NAME. There are {listed}.")
    return find_phase(challenge, open_ones[0]), asked


def _windows(db: Any, challenge: Challenge, at: datetime) -> list[dict[str, Any]]:
    return [
        {
            "phase": phase.name, "task": task.name,
            "opens": _when(window.opens), "closes": _when(window.closes),
            "state": "frozen" if phase.frozen_at else window.state(at), "limit": phase.limit,
            "board": phase.board_readers(at), "submissions": len(submissions.of_phase(db, phase.id, task.name)),
        }
        for phase, task, window in challenge.windows()
    ]  # fmt: skip


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _described(store: Store, challenge: Challenge) -> dict[str, Any]:
    with store.read() as db:
        sets = challenges.data_sets(db, challenge.id)
        every = teams.of_challenge(db, challenge.id)
        windows = _windows(db, challenge, now())
    return {
        "name": challenge.id,
        "title": challenge.title,
        "visibility": challenge.visibility,
        "tasks": [{"name": each.name, "question": each.question, "metric": each.metric} for each in challenge.tasks],
        "windows": windows,
        "data": [
            {"name": each.name, "posts": each.size, "labels": "public" if each.labels_public else "hidden"}
            for each in sets.values()
        ],
        "teams": [{"name": each.name, "kind": each.kind} for each in every.values()],
    }
