"""`davy job`: start background jobs, look at them, stop them, run them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.jobs import store as jobs
from davy.jobs.kinds import parse_arguments
from davy.people.store.project_roster import project_roster
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store

if TYPE_CHECKING:
    from davy.jobs.store import Job

app = typer.Typer(
    no_args_is_help=True,
    help="Start background jobs, look at them, stop them, run them again.\n\n"
    "`davy work` runs them, and `davy serve` starts one such worker.",
)

WAITS = "It waits for a worker; `davy work` or `davy serve` runs one."

_PLAIN = ("id", "kind", "state", "owner", "done", "total", "note", "error", "attempts", "max_attempts", "created_at",
          "started_at", "finished_at")  # fmt: skip

Id = Annotated[str, typer.Argument(metavar="JOB", help="The job's id, as `davy job list` shows it.")]


@app.command("list")
def list_(
    state: Annotated[
        str | None, typer.Option("--state", help="Only waiting, running, done, failed or cancelled ones.")
    ] = None,
    limit: Annotated[int, typer.Option("--most", help="How many, newest first.", min=1, max=10_000)] = 50,
    database: Database = None,
    json: Json = False,
) -> None:
    """List background jobs, newest first.

    Examples:

        davy job list

        davy job list --state failed --json
    """

    with open_store(database) as store, store.read() as db:
        listed = jobs.latest(db, state=state, limit=limit)
    if json:
        console.json([_plain(job) for job in listed])
        return
    if not listed:
        console.note("There are no jobs." if state is None else f"There are no {state} jobs.")
        return
    rows = [
        (job.id, job.kind, job.state, _progress(job), f"{job.created_at:%Y-%m-%d %H:%M}", job.error or job.note or "")
        for job in listed
    ]
    console.table(["job", "kind", "state", "done", "since", "note"], rows, right=["done"])


@app.command()
def show(job: Id, database: Database = None, json: Json = False) -> None:
    """Show a job: how far it is, why it failed, and its log.

    Examples:

        davy job show 1m7f8j497zcy3pf5af43

        davy job show 1m7f8j497zcy3pf5af43 --json
    """

    with open_store(database) as store, store.read() as db:
        shown, lines = jobs.get(db, job), jobs.log_lines(db, job)
    if json:
        log = [{"at": it.at.isoformat(), "line": it.line} for it in lines]
        console.json({**_plain(shown), "arguments": shown.arguments, "result": shown.result, "log": log})
        return
    facts = {
        "job": shown.id,
        "kind": shown.kind,
        "state": shown.state + (", asked to cancel" if shown.state == "running" and shown.cancel_asked_at else ""),
        "progress": _progress(shown),
        "note": shown.note,
        "attempt": f"{shown.attempts} of {shown.max_attempts}",
        "added": f"{shown.created_at:%Y-%m-%d %H:%M:%S} UTC",
        "ended": f"{shown.finished_at:%Y-%m-%d %H:%M:%S} UTC" if shown.finished_at else None,
        "error": shown.error,
    }
    console.table(["", ""], [(name, value) for name, value in facts.items() if value])
    for it in lines:
        console.out().print(f"{it.at:%H:%M:%S}  {console.masked_text(it.line)}", markup=False)


@app.command()
def start(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="train, score, evaluate, check, or an export's name.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE…", help="What the job is to do; a list names it twice.")
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Add a job to the queue: a training, a scoring, an evaluation, a check, an export or an import.

    A job's arguments are written NAME=VALUE; a wrong name lists those that there are. Paths are those of the machine
    where the worker runs. Without out=, a trained model lies in the server's folder for files.

    Examples:

        davy job start train project=pilot kind=tfidf name=pilot-1

        davy job start train posts=train.csv scheme=edos kind=transformer encoder=./minilm out=runs/edos

        davy job start score file=posts.csv model=embedded out=scored.csv

        davy job start "export project" project=pilot format=corpus file=pilot.parquet
    """

    wanted = parse_arguments(kind, arguments or [])
    with open_store(database) as store, store.write() as db:
        if wanted.get("project"):
            project_roster().title(db, wanted["project"])  # refuses one that there isn't
        job = jobs.enqueue(db, kind, wanted, owner=events.SHELL, project=wanted.get("project"))
    if json:
        console.json(_plain(job))
    else:
        typer.echo(job.id)
        console.note(WAITS)


@app.command()
def cancel(job: Id, database: Database = None) -> None:
    """Cancel a job. A running one stops at its next step.

    Examples:

        davy job cancel 1m7f8j497zcy3pf5af43
    """

    with open_store(database) as store, store.write() as db:
        found = jobs.ask_cancel(db, job, by=events.SHELL)
    console.note("It is cancelled." if found.state == "cancelled" else "It stops at its next step.")


@app.command()
def retry(job: Id, database: Database = None) -> None:
    """Run a failed or cancelled job again, from its last checkpoint.

    Examples:

        davy job retry 1m7f8j497zcy3pf5af43
    """

    with open_store(database) as store, store.write() as db:
        jobs.retry(db, job, by=events.SHELL)
    console.note(WAITS)


def _progress(job: Job) -> str:
    return f"{job.done:,} of {job.total:,}" if job.total else f"{job.done:,}" if job.done else ""


def _plain(job: Job) -> dict[str, Any]:
    return console.record(job, *_PLAIN)
