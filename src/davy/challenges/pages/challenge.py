"""Challenges: the list, and one challenge with its rules, phases, data and boards.

Posts and counts of a task that has not been released are not shown, since both say something about labels.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from davy.challenges import boards
from davy.challenges import run_challenge as action
from davy.challenges.boards import SURVEY, board_csv
from davy.challenges.challenge import Challenge, ChallengePhase, ChallengeTask
from davy.challenges.challenge_kit import entry_lines, released, write_kit
from davy.challenges.pages.challenge_access import ChallengePlace, challenge_page, find_place, in_challenge
from davy.challenges.store import challenges, submissions, teams
from davy.challenges.store.challenges import ChallengeData, KeptBoard
from davy.core.errors import UserError
from davy.evaluation.pictures import MethodEntry, method_counts_svg, method_figures_svg
from davy.people.pages.visitor import Anyone, Form, field
from davy.store.columns import now
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Sees = Annotated[ChallengePlace, Depends(in_challenge("see the challenge"))]
Accepts = Annotated[ChallengePlace, Depends(in_challenge("accept the rules"))]
Downloads = Annotated[ChallengePlace, Depends(in_challenge("download"))]


@router.get("/challenges")
def list_challenges(request: Request, who: Anyone) -> Response:
    """Return the challenges that this visitor may see, newest first."""
    at = now()
    places = []
    with context_of(request).store.read() as db:
        for challenge in challenges.list_challenges(db):
            try:
                places.append(find_place(db, challenge.id, who.account))
            except UserError:
                continue
    open_now = {
        place.challenge.id: [
            f"{phase.name}: {task.name}"
            for phase in place.challenge.phases
            for task in place.challenge.tasks
            if (window := phase.window(task)) and window.state(at) == "open" and not phase.frozen_at
        ]
        for place in places
    }
    return render.page(request, "challenges.html", places=places, open_now=open_now)


@router.get("/challenges/{challenge_id}")
def overview(request: Request, place: Sees) -> Response:
    """Return what the challenge asks, its rules, phases and data."""
    return _overview(request, place)


def _overview(request: Request, place: ChallengePlace, *, wrong: str = "", status: int = 200) -> Response:
    at, challenge = now(), place.challenge
    with context_of(request).store.read() as db:
        sets = challenges.data_sets(db, challenge.id)
        organisers = teams.organisers(db, challenge.id)
        has_pictures = bool(challenges.pictures(db, challenge.id))
        n_teams = sum(team.kind == "team" for team in teams.of_challenge(db, challenge.id).values())
    out = {(phase.name, task.name) for phase, task in released(challenge, at)}
    ranked = {phase.data for phase in challenge.phases}
    files: list[tuple[str, str, ChallengeData | None]]
    files = [(name, "", data) for name, data in sets.items() if data.labels_public or name not in ranked]
    files += [
        (phase.data, task.name, None)
        for phase in challenge.phases
        for task in challenge.tasks
        if (phase.name, task.name) in out and not sets[phase.data].labels_public
    ]
    return challenge_page(
        request,
        place,
        "challenge.html",
        status=status,
        wrong=wrong,
        windows=list(challenge.windows()),
        files=list(dict.fromkeys(files)),
        has_pictures=has_pictures,
        organisers=organisers,
        teams=n_teams,
        markdown=render_markdown,
    )


@router.post("/challenges/{challenge_id}/accept")
@refused_by(_overview)
def accept(request: Request, place: Accepts, form: Form) -> Response:
    """Note that this person accepts the rules, and make their team where they name one."""
    name = field(form, "name", most=200)
    with context_of(request).store.write() as db:
        teams.accept_rules(db, place.challenge.id, place.user.id)
        if name:
            teams.create(db, place.challenge.id, name, action.name_key(name), by=place.user.id, captain=place.user.id)
    at = now()
    if name and any(window.state(at) == "open" for _, _, window in place.challenge.windows()):
        return render.redirect(request, f"{place.address}/submit", "team_made")
    if name:
        return render.redirect(request, place.address, "team_waits")
    return render.redirect(request, f"{place.address}/team", "rules_accepted")


@router.get("/challenges/{challenge_id}/data/{name}")
def data(request: Request, place: Downloads, name: str, task: str = "") -> Response:
    """Return a data set as JSON lines, as far as it is public by now."""
    if task and place.challenge.task(task) is None:
        raise LocalizedError("no_such", status=404)
    with context_of(request).store.read() as db:
        try:
            lines = list(entry_lines(db, place.challenge, name, task or None, at=now()))
        except UserError as error:
            raise LocalizedError("not_released", status=error.status) from None
    saved_as = f"{place.challenge.id}-{name}{'-' + task if task else ''}.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{saved_as}"'}
    return Response("".join(f"{line}\n" for line in lines), media_type="application/x-ndjson", headers=headers)


@router.get("/challenges/{challenge_id}/kit.zip")
def kit(request: Request, place: Downloads) -> Response:
    """Return the starting kit, packed for this request and gone with it."""
    folder = tempfile.TemporaryDirectory(prefix="davy-kit-")
    path = Path(folder.name) / "kit.zip"
    write_kit(context_of(request).store, place.challenge.id, path)
    name = f"{place.challenge.id}-kit.zip"
    return FileResponse(path, media_type="application/zip", filename=name, background=BackgroundTask(folder.cleanup))


@router.get("/challenges/{challenge_id}/board")
def board(request: Request, place: Sees, phase: str = "", task: str = "", format: str = "") -> Response:
    """Return a board as a page, CSV or JSON; unless a phase is named, the newest that has begun and may be read."""
    at = now()
    readable = [each for each in place.challenge.phases if place.reads_board(each, at)]
    chosen, asked = _chosen(place.challenge, readable, phase, task)
    kept, behind, left_out, unranked = None, False, 0, None
    if chosen is not None:
        with context_of(request).store.read() as db:
            kept = challenges.find_board(db, chosen.id, asked.name)
            sent = submissions.of_phase(db, chosen.id, asked.name)
            every = teams.of_challenge(db, place.challenge.id)
        left_out = boards.waiting_for_survey(sent, every, chosen)
        counted = boards.counted(sent, every, chosen)
        behind = chosen.frozen_at is None and submissions.basis(counted) != (kept.basis if kept else "")
        behind = behind and bool(counted or kept)
        if place.team is not None:
            own = [each for each in sent if each.team == place.team.id]
            reasons = [(each, boards.why_unranked(each, own, place.team, chosen)) for each in own]
            unranked = next((one for one in reasons if one[1] not in ("later", "better", "")), None)
    if format in ("csv", "json"):
        return _download(place, kept, chosen, asked, format)
    content: Any = kept.content if kept is not None else None
    return challenge_page(
        request,
        place,
        "challenge_board.html",
        phases=readable,
        hidden=len(place.challenge.phases) - len(readable),
        phase=chosen,
        task=asked,
        board=content,
        made_at=kept.made_at if kept else None,
        behind=behind,
        left_out=left_out,
        unranked=unranked,
        scale=_scale(content) if content else (0.0, 1.0),
        methods=method_pictures(request, content) if content else [],
        mine=place.team.name if place.team else "",
    )


def method_pictures(request: Request, content: Any) -> list[tuple[str, Markup, Markup]]:
    """Return for each question of the survey EDOS's Figures 1 and 2: how popular each answer is, and its figures."""
    words = render.translator_of(request)
    figures = {row["system"]: row["figure"]["value"] for row in content["rows"] if row["mark"] is None}
    entries = [
        MethodEntry(
            name,
            {
                question: [words(f"method.{question}.{each}") for each in answers if each in SURVEY[question]]
                for question, answers in content["surveys"][name].items()
                if question in SURVEY
            },
            {"figure": value},
        )
        for name, value in figures.items()
        if content["surveys"].get(name)
    ]
    if not entries:
        return []
    return [
        (
            question,
            Markup(method_counts_svg(entries, question, title=words(f"method.{question}"))),  # noqa: S704 — it escapes
            Markup(method_figures_svg(entries, question, "figure", title=words(f"method.{question}"))),  # noqa: S704
        )
        for question in SURVEY
    ]


def _scale(content: Any) -> tuple[float, float]:
    """Return the lowest and highest end of the intervals on a board."""
    figures = [row["figure"] for row in content["rows"] if row["figure"]["low"] is not None]
    return min((each["low"] for each in figures), default=0.0), max((each["high"] for each in figures), default=1.0)


def _chosen(
    challenge: Challenge, readable: list[ChallengePhase], phase: str, task: str
) -> tuple[ChallengePhase | None, ChallengeTask]:
    asked = action.find_task(challenge, task) if task else challenge.tasks[0]
    if phase:
        found = next((each for each in readable if each.name == phase), None)
        if found is None:
            raise LocalizedError("board_hidden", status=403)
        return found, asked
    at = now()
    begun = [each for each in readable if any(window.opens <= at for window in each.windows.values())]
    return next(iter((begun or readable)[-1:]), None), asked


def _download(
    place: ChallengePlace, kept: KeptBoard | None, phase: ChallengePhase | None, task: ChallengeTask, format: str
) -> Response:
    if kept is None or phase is None:
        raise LocalizedError("no_board", status=404)
    name = f"{place.challenge.id}-{phase.name}-{task.name}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if format == "json":
        return JSONResponse(public_board(place.challenge, phase, task, kept), headers=headers)
    return Response(board_csv(kept.content), media_type="text/csv; charset=utf-8", headers=headers)


def public_board(challenge: Challenge, phase: ChallengePhase, task: ChallengeTask, kept: KeptBoard) -> dict[str, Any]:
    """Return a board as HTTP gives it."""
    about = {"challenge": challenge.id, "phase": phase.name, "task": task.name, "made_at": kept.made_at.isoformat()}
    content = {name: value for name, value in kept.content.items() if name not in ("teams", "submissions", "task")}
    return {**about, "frozen": phase.frozen_at is not None, **content}
