"""Challenges over HTTP for programs: list and read them, send predictions with a key, read boards. JSON in and out."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.requests import Request

from davy.challenges import run_challenge as action
from davy.challenges.challenge import Submission
from davy.challenges.pages.challenge import public_board
from davy.challenges.pages.challenge_access import ChallengePlace, by_key, find_place
from davy.challenges.pages.challenge_team import own_line, receive_submission, submission_lines
from davy.challenges.store import challenges, submissions
from davy.core.errors import UserError
from davy.people.pages.visitor import key_or_session
from davy.people.store.users import User
from davy.store.columns import now
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(prefix="/api/challenges")

Reads = Annotated[User, Depends(key_or_session("submit", "see projects"))]
Sees = Annotated[ChallengePlace, Depends(by_key("see the challenge", "submit"))]
Submits = Annotated[ChallengePlace, Depends(by_key("submit", "submit"))]


@router.get("")
def list_challenges(request: Request, who: Reads) -> list[dict[str, Any]]:
    """Return the challenges that the key's owner may see."""
    rows = []
    with context_of(request).store.read() as db:
        for each in challenges.list_challenges(db):
            try:
                rows.append(_described(find_place(db, each.id, who)))
            except UserError:
                continue
    return rows


@router.get("/{challenge_id}")
def show(place: Sees) -> dict[str, Any]:
    """Return a challenge with its tasks and windows."""
    return _described(place)


@router.get("/{challenge_id}/board")
def board(request: Request, place: Sees, phase: str, task: str) -> dict[str, Any]:
    """Return a board; one that the key's owner may not read is refused."""
    chosen_phase, asked = action.find_phase(place.challenge, phase), action.find_task(place.challenge, task)
    if not place.reads_board(chosen_phase, now()):
        raise LocalizedError("board_hidden", status=403)
    with context_of(request).store.read() as db:
        kept = challenges.find_board(db, chosen_phase.id, asked.name)
    if kept is None:
        raise LocalizedError("no_board", status=404)
    return public_board(place.challenge, chosen_phase, asked, kept)


@router.get("/{challenge_id}/submissions")
def list_submissions(request: Request, place: Submits) -> list[dict[str, Any]]:
    """Return what the team of the key's owner has sent, newest first."""
    assert place.team is not None  # the permission asks for one
    with context_of(request).store.read() as db:
        return [_shown(line) for line in submission_lines(place, submissions.of_team(db, place.team.id))]


@router.post("/{challenge_id}/submissions/upload")
async def submit(request: Request, place: Submits) -> dict[str, Any]:
    """Take predictions as a form with the fields `file`, `task`, `phase` and `note`."""
    async with request.form(max_files=1, max_fields=20) as form:
        taken = await to_thread.run_sync(partial(receive_submission, request, place, form))
    return await to_thread.run_sync(_taken, request, place, taken)


def _described(place: ChallengePlace) -> dict[str, Any]:
    at, challenge = now(), place.challenge
    return {
        "name": challenge.id,
        "title": challenge.title,
        "tasks": [
            {"name": each.name, "title": each.title, "metric": each.metric, "labels": list(each.labels)}
            for each in challenge.tasks
        ],
        "windows": [
            {
                "phase": phase.name,
                "task": task.name,
                "opens": window.opens.isoformat(),
                "closes": window.closes.isoformat(),
                "state": "frozen" if phase.frozen_at else window.state(at),
                "limit": phase.limit,
            }
            for phase, task, window in challenge.windows()
        ],
    }


def _taken(request: Request, place: ChallengePlace, taken: Submission) -> dict[str, Any]:
    with context_of(request).store.read() as db:
        return _shown(own_line(db, place, taken.id))


def _shown(line: dict[str, Any]) -> dict[str, Any]:
    """Return a submission as programs read it; `not_ranked` is why a board leaves it out, null where it does not."""
    each, phase = line["it"], line["phase"]
    about = {"id": each.id, "phase": phase.name, "task": each.task, "at": each.at.isoformat(), "file": each.file}
    return {
        **about,
        "rows": each.rows,
        "state": each.state,
        "figure": line["figure"],
        "surveyed": each.survey is not None,
        "not_ranked": line["unranked"] or None,
    }
