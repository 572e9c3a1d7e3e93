"""`davy challenge submit` and `davy challenge baseline`: send predictions, a team's or a baseline's.

A team's go to a server with an API key or into a local database, a baseline's onto the boards as marked rows.
"""

from __future__ import annotations

import json as json_
import os
import secrets
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import typer

from davy.challenges.boards import UNRANKED, why_unranked
from davy.challenges.cli.challenge import Name, Phase, TaskName, choose_board, score_now
from davy.core.errors import UserError
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store


def submit(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Predictions: CSV, TSV, JSONL, or a zip with one.")],
    task: TaskName = None,
    phase: Phase = None,
    server: Annotated[
        str | None, typer.Option("--server", metavar="URL", help="The server; the key is in DAVY_KEY.")
    ] = None,
    team: Annotated[str | None, typer.Option("--team", help="In a local database: the team's name.")] = None,
    note: Annotated[str | None, typer.Option("--note", help="What your team calls this system.")] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Send predictions. A file that is refused does not count, and says where it is wrong.

    With --server, the API key is read from the variable DAVY_KEY; make one on the challenge's page of your team.

    Examples:

        DAVY_KEY=davy_… davy challenge submit edos predictions.csv --task A --server https://davy.example.org

        davy challenge submit edos predictions.csv --task A --team lamplighters
    """
    if not file.is_file():
        raise UserError(f"There is no file {file}.")
    sent = (
        _send(server, name, file, task, phase, note)
        if server is not None
        else _keep(database, name, file, task, phase, team, note)
    )
    if json:
        console.json(sent)
        return
    console.note(f"Taken: {sent['rows']:,} predictions for task {sent['task']} in {sent['phase']}, {sent['state']}.")
    if why := UNRANKED.get(sent.get("not_ranked") or ""):
        console.note(why)


def _keep(
    database: str | None, name: str, file: Path, task: str | None, phase: str | None, team: str | None, note: str | None
) -> dict[str, Any]:
    """Put the predictions into a local database and score them."""
    from davy.challenges.run_challenge import SubmissionRequest, name_key, take_submission
    from davy.challenges.store import challenges, submissions, teams
    from davy.store import open_store

    if team is None:
        raise UserError("Say for which team (--team NAME), or to which server (--server URL).")
    with open_store(database) as store:
        with store.read() as db:
            challenge = challenges.get(db, name)
            known = teams.find_by_key(db, name, name_key(team))
        if known is None:
            raise UserError(f"There is no team {team!r} in {name!r}. Teams are made on the challenge's pages.")
        chosen, asked = choose_board(challenge, phase, task)
        request = SubmissionRequest(name, chosen.name, asked, known.id, None, file.name, note=note)
        taken = take_submission(store, file, request)
    score_now(database)
    with open_store(database) as store, store.read() as db:
        own = [each for each in submissions.of_phase(db, chosen.id, asked) if each.team == known.id]
    mine = next(each for each in own if each.id == taken.id)
    why = why_unranked(mine, own, known, chosen) or None
    return {
        "id": mine.id,
        "phase": chosen.name,
        "task": asked,
        "rows": mine.rows,
        "state": mine.state,
        "not_ranked": why,
    }


def _send(server: str, name: str, file: Path, task: str | None, phase: str | None, note: str | None) -> dict[str, Any]:
    """Send the predictions to a server and return what it says."""
    key = os.environ.get("DAVY_KEY", "")
    if not key:
        raise UserError("Set DAVY_KEY to your API key; make one on the page of your team.")
    parts = urlsplit(server)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise UserError(f"{server!r} should begin with https://, so that nobody reads your key on the way.")
    boundary = secrets.token_hex(16)
    fields = {"task": task or "", "phase": phase or "", "note": note or ""}
    body = b"".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in fields.items()
    )
    shown = file.name.replace('"', "").replace("\r", "").replace("\n", "")
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{shown}"\r\n\r\n'
    body += head.encode() + file.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
    request = urllib.request.Request(  # noqa: S310 — the scheme was checked above
        f"{server.rstrip('/')}/api/challenges/{quote(name, safe='')}/submissions/upload",
        data=body,
        headers={"Authorization": f"Bearer {key}", "Content-Type": f"multipart/form-data; boundary={boundary}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            taken: dict[str, Any] = json_.load(answer)
            return taken
    except urllib.error.HTTPError as error:
        raise UserError(_message(error)) from None
    except (urllib.error.URLError, TimeoutError) as error:
        raise UserError(f"{server} can't be reached: {getattr(error, 'reason', error)}.") from None


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json_.load(error)["error"])
    except (ValueError, KeyError, TypeError):
        return f"The server answered {error.code}."


def baseline(
    name: Name,
    source: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="Predictions, or a folder of such files.")],
    task: TaskName = None,
    title: Annotated[str | None, typer.Option("--title", help="What its row is called; without it, the file.")] = None,
    human: Annotated[
        bool, typer.Option("--human-performance", help="It is human performance, not a baseline.")
    ] = False,
    database: Database = None,
) -> None:
    """Put baselines on every board whose posts they cover. They take no rank, and count for no limit.

    Examples:

        davy reproduce edos --data edos/ --predictions-out baselines/

        davy challenge baseline edos baselines/

        davy challenge baseline edos annotators.csv --task A --human-performance --title "one annotator"
    """
    from davy.challenges.challenge_baselines import add_baselines, baseline_files

    files = baseline_files(source)
    if title is not None and len(files) > 1:
        raise UserError(f"{source} has {len(files)} files, so one --title does not fit. Name one file.")
    files = [replace(each, name=title or each.name, kind="human" if human else each.kind) for each in files]
    with open_store(database) as store:
        sent = add_baselines(store, name, files, by=events.SHELL, task=task)
    score_now(database)
    console.note(f"Put {len(files)} on {len(sent)} boards of {name!r}.")
