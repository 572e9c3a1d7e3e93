"""Challenges: the ones that a visitor may see, and making a new one from a zip with its file and its data."""

from __future__ import annotations

import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.upload_form import UploadForm, sent_file
from davy.challenges.challenge import Challenge
from davy.challenges.challenge_creation import create_challenge
from davy.challenges.challenge_file import parse_plan
from davy.challenges.pages.challenge_access import find_place
from davy.challenges.store import challenges
from davy.core.errors import UserError
from davy.files.file_safety import UploadLimits
from davy.people.pages.visitor import Anyone, allowed
from davy.people.store.users import User
from davy.store.columns import now
from davy.web import render, uploads
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

Makes = Annotated[User, Depends(allowed("make projects"))]


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


@router.get("/challenges/new")
def new(request: Request, who: Makes) -> Response:  # noqa: ARG001 — asks for the permission
    """Return the form for a new challenge."""
    return _form_page(request)


def _form_page(request: Request, *, wrong: str = "", status: int = 200) -> Response:
    return render.page(request, "challenge_new.html", status=status, wrong=wrong)


@router.post("/challenges/new/upload")
@refused_by(_form_page)
async def make(request: Request, who: Makes, form: UploadForm) -> Response:
    """Make a challenge of a zip; what is wrong with it is shown at the form."""
    limits = UploadLimits(size=context_of(request).settings.max_upload, members=50)
    receive = partial(uploads.receive_file, sent_file(form), kinds=("zip",), limits=limits)
    upload = await to_thread.run_sync(receive)
    try:
        made = await to_thread.run_sync(_make, request, who, upload.path)
    finally:
        upload.discard()
    return render.redirect(request, f"/challenges/{made.id}", "challenge_made")


def _make(request: Request, who: User, archive: Path) -> Challenge:
    """Make the challenge of an archive that was checked: no bomb, no path that leads out, no link."""
    with tempfile.TemporaryDirectory(prefix="davy-challenge-") as place, zipfile.ZipFile(archive) as packed:
        folder = Path(place)
        files = [
            each.filename
            for each in packed.infolist()
            if not each.is_dir() and not each.filename.startswith("__MACOSX/")
        ]
        plans = [name for name in files if name.lower().endswith((".yaml", ".yml"))]
        if len(plans) != 1:
            raise LocalizedError("challenge_zip", status=422, n=len(plans))
        packed.extractall(folder, members=files)
        file = folder / plans[0]
        plan = parse_plan(file.read_bytes(), plans[0], at=now())
        try:
            return create_challenge(context_of(request).store, plan, file.parent, by=who.id, organiser=who.id)
        except UserError as error:
            raise UserError(error.message.replace(f"{file.parent}/", ""), status=max(error.status, 400)) from None
