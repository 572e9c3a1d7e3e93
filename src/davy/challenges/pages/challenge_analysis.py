"""What all the best systems miss: counts, the pooled confusion matrix, errors by category, who fails together.

For organisers, since every figure here is counted over hidden labels.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from davy.challenges import run_challenge as action
from davy.challenges.challenge_analysis import analyse_board
from davy.challenges.pages.challenge_access import ChallengePlace, challenge_page, in_challenge
from davy.evaluation.pictures import confusion_svg
from davy.web import render
from davy.web.context import context_of

router = APIRouter(include_in_schema=False)

Runs = Annotated[ChallengePlace, Depends(in_challenge("organise"))]
PAIRS = 10


@router.get("/challenges/{challenge_id}/analysis")
def analysis(request: Request, place: Runs, phase: str = "", task: str = "", format: str = "") -> Response:
    """Return the analysis of a board's ten best systems, or as CSV how many got each post right."""
    challenge = place.challenge
    chosen = action.find_phase(challenge, phase) if phase else challenge.phases[-1]
    asked = action.find_task(challenge, task) if task else challenge.tasks[0]
    with context_of(request).store.read() as db:
        found = analyse_board(db, challenge, chosen, asked)
    if format == "csv" and found is not None:
        lines = [f'"{key}",{n},{len(found.systems)}' for key, n in zip(found.ids, found.right_counts, strict=True)]
        name = f"{challenge.id}-{chosen.name}-{asked.name}-errors.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response("\n".join(["id,right,systems", *lines, ""]), media_type="text/csv", headers=headers)
    picture = ""
    if found is not None:
        title = render.translator_of(request)("analysis.confusion")
        picture = Markup(confusion_svg(found.labels, found.confusion_shares, title=title))  # noqa: S704 — it escapes
    return challenge_page(
        request,
        place,
        "challenge_analysis.html",
        phase=chosen,
        task=asked,
        found=found,
        picture=picture,
        pairs=found.pairs[:PAIRS] if found else (),
    )
