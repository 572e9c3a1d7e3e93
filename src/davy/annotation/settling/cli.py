"""`davy project audit` and `davy project pools`: doubted verdicts go back to experts; pools against gold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from davy.annotation.project.images import folder_of
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, projects
from davy.annotation.settling import audit as auditing
from davy.annotation.settling.annotator_pools import pools_of
from davy.core.errors import UserError
from davy.files import tables
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store

Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]


def audit(
    project: Project,
    phase: Annotated[
        str | None, typer.Option("--phase", help="A phase of production or of experts.", show_default="the last one")
    ] = None,
    by: Annotated[
        str,
        typer.Option("--doubter", help="Who doubts: annotators (a model of how each one errs), or a detector's name."),
    ] = "annotators",
    budget: Annotated[int, typer.Option("--most", help="How many posts go back at most.")] = 50,
    at_least: Annotated[float, typer.Option("--doubt", help="Doubts below this probability don't count.")] = 0.5,
    posts: Annotated[
        Path | None, typer.Option("--posts", help="Have every settled post of this file checked; nothing is doubted.")
    ] = None,
    split: Annotated[
        str, typer.Option("--split", help="Of --posts, rows whose column split is one of these, such as dev,test.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only look; send nothing back.")] = False,
    database: Database = None,
    json: Json = False,
) -> None:
    """Send settled posts back to experts where a model of the annotators, or a detector, doubts the verdict.

    The most doubtful come first. A post comes back once, and nothing changes until an expert has decided.
    What an expert settled is not doubted.

    Examples:

        davy project audit pilot --dry-run

        davy project audit pilot --doubter embedded-en --most 100 --doubt 0.9

        davy project audit memes --posts split.jsonl --split dev,test
    """
    ids = _ids(posts, split) if posts is not None else set()
    if posts is not None:
        by, budget = "check", len(ids)
    with open_store(database) as store:
        with store.read() as db:
            chosen_project = projects.get(db, project)
            chosen = _phase(db, chosen_project.id, phase)
            scheme = scheme_of(db, chosen_project)
            if posts is not None:
                given = auditing.checks_of_posts(db, chosen_project, chosen, scheme, ids)
            elif by == "annotators":
                given = auditing.doubts_of_annotators(db, chosen_project, chosen, scheme)
            else:
                given = auditing.doubts_of_detector(db, chosen_project, chosen, scheme, _detector(by, store))
            with console.progress("Looking at settled posts") as step:
                doubts = []
                for doubt in given:
                    doubts.append(doubt)
                    step(1)
        limit = 0 if dry_run else budget
        with store.write() as db:
            done = auditing.audit(db, chosen_project, chosen, doubts, by=events.SHELL, budget=limit, at_least=at_least)
    if json:
        console.json({"project": chosen_project.id, "phase": chosen.name, "by": by, **_audit_values(done)})
    elif posts is not None:
        passed = len(ids) - len(done.opened)
        console.note(
            f"{len(done.opened):,} settled posts go to experts; {passed:,} are not settled here or were checked."
        )
    else:
        _print_doubts(done, f"Doubts about {chosen.name!r} of {chosen_project.id}, by {by}")


def _audit_values(done: auditing.Audit) -> dict[str, Any]:
    return {
        "looked_at": done.looked_at,
        "doubted": len({it.post for it in done.doubts}),
        "sent_back": list(done.opened),
        "doubts": [
            {"post": it.post, "question": it.question, "settled": it.settled, "instead": it.instead,
             "doubt": round(it.doubt, 4)}
            for it in done.doubts
        ],
    }  # fmt: skip


def _print_doubts(done: auditing.Audit, title: str) -> None:
    console.table(
        ["post", "question", "settled as", "rather", "doubt"],
        [(it.post, it.question, it.settled, it.instead, f"{it.doubt:.1%}") for it in done.doubts[:20]],
        title=title,
        right=["doubt"],
    )
    doubted = len({it.post for it in done.doubts})
    console.note(f"{done.looked_at:,} settled posts looked at, {doubted:,} doubted, {len(done.opened):,} sent back.")


def pools(project: Project, database: Database = None, json: Json = False) -> None:
    """Compare pools of annotators with gold: how often each pool's majority is right, question by question.

    Pools are set on the roster. Posts with gold come from training, calibration and screening. A question counts
    where gold has an answer to it.

    Examples:

        davy project pools pilot

        davy project pools pilot --json
    """

    with open_store(database) as store, store.read() as db:
        chosen_project = projects.get(db, project)
        figures = pools_of(db, chosen_project, scheme_of(db, chosen_project))
    if json:
        console.json([_figure(figure) for figure in figures])
        return
    if not figures:
        console.note("No post with gold has an answer yet, so there is nothing to compare.")
        return
    console.table(
        ["question", "among gold", "pool", "people", "posts", "right"],
        [
            (
                figure.question,
                figure.among or "all",
                figure.pool or "(none)",
                figure.people,
                figure.right.n,
                str(figure.right).split(" (")[0],
            )
            for figure in figures
        ],
        title=f"Pools of {chosen_project.id} against gold",
        right=["people", "posts", "right"],
    )


def _figure(figure: Any) -> dict[str, Any]:
    who = {
        "pool": figure.pool,
        "question": figure.question,
        "among": figure.among,
        "people": figure.people,
        "answers": figure.answers,
    }
    return {**who, "right": figure.right.to_dict()}


def _ids(path: Path, split: str) -> set[str]:
    """Return the ids of a file's posts, or of those in some of its parts."""
    with tables.open_table(str(path)) as table:
        frame = table.frame.collect()
    wanted = ["id", *(["split"] if split else [])]
    for column in wanted:
        if column not in frame.columns:
            raise UserError(f"{path} has no column {column!r}; it has {', '.join(frame.columns)}.")
    parts = {part.strip() for part in split.split(",")}
    rows = frame.select(wanted).iter_rows(named=True)
    found = {str(row["id"]) for row in rows if not split or str(row["split"]) in parts}
    if not found:
        raise UserError(f"{path} has no posts in {split}." if split else f"{path} has no posts.")
    return found


def _phase(db: Any, project: str, name: str | None) -> Any:

    fitting = [it for it in phases.of_project(db, project) if it.behaviour.gives_verdicts]
    if name is not None:
        chosen = phases.by_name(db, project, name)
        if chosen not in fitting:
            raise UserError(f"Phase {name!r} is of kind {chosen.kind}; only production and expert phases are settled.")
        return chosen
    if not fitting:
        raise UserError(f"Project {project!r} has no phase of production or of experts, so nothing is settled.")
    return fitting[-1]


def _detector(name: str, store: Any) -> Any:
    from davy.detectors.load import load
    from davy.scoring.scorers import Learning

    return load(name, read=Learning().read, images=lambda key: folder_of(store).read(key))
