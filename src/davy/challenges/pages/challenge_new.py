"""A new challenge: from one file of labelled posts and a form, or from a zip with a file that describes it.

The labelled file is always looked at first: its columns are the tasks to choose from. It stays with the form, and so
does all that was typed, until the challenge is made.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project import import_posts
from davy.annotation.project.import_posts import PostChoices, TableLook
from davy.annotation.project.pages.upload_form import (
    NOTHING_SENT,
    StoredUpload,
    UploadForm,
    find_upload,
    keep_files,
    sent_file,
    upload_limits,
)
from davy.challenges.challenge import BOARDS, VISIBILITIES, Challenge
from davy.challenges.challenge_creation import create_challenge, create_from_frames
from davy.challenges.challenge_file import parse_plan
from davy.challenges.labelled_file import (
    METRICS,
    PARTS,
    SHARES,
    FileChoices,
    PhaseChoice,
    TaskChoice,
    label_counts,
    plan_challenge,
    split_column,
    split_columns,
    task_columns,
)
from davy.core.errors import UserError
from davy.core.scheme import Scheme
from davy.files.file_safety import UploadLimits
from davy.people.pages.visitor import allowed
from davy.people.pages.visitor import field as form_field
from davy.people.store.users import User
from davy.scheme_editor.pages import schemes
from davy.store.columns import now
from davy.web import render, uploads
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refusal, refused_by

if TYPE_CHECKING:
    import polars as pl

router = APIRouter(include_in_schema=False)

Makes = Annotated[User, Depends(allowed("make projects"))]

TEXTS: Mapping[str, int] = {"title": 200, "name": 60, "visibility": 20, "scheme": 100, "contact": 500,
                            "description": 20_000, "rules": 20_000}  # fmt: skip
"""What a form holds besides its file and what it says about that, and how long each may be."""
PRACTICE_DAYS, TEST_DAYS = 28, 7


@dataclass(frozen=True, slots=True)
class SentFile:
    """A labelled file as its sender sees it: its columns, and what was chosen or guessed for each."""

    kept: StoredUpload = NOTHING_SENT
    look: TableLook | None = None
    rows: pl.DataFrame | None = None
    columns: PostChoices = field(default_factory=PostChoices)
    choices: FileChoices | None = None


@router.get("/challenges/new")
def new(request: Request, who: Makes) -> Response:
    """Return the form for a new challenge."""
    return _form_page(request, who)


def _form_page(
    request: Request,
    who: User,
    *,
    sent: SentFile | None = None,
    typed: Mapping[str, str] | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    context, sent = context_of(request), sent or SentFile()
    with context.store.read() as db:
        shared = schemes.shared_schemes(db, render.translator_of(request).lang)
    rows, look = sent.rows, sent.look
    return render.page(
        request,
        "challenge_new.html",
        status=status,
        wrong=wrong,
        typed={**dict.fromkeys(TEXTS, ""), **(typed or {})},
        kept=sent.kept,
        look=look,
        columns=sent.columns,
        choices=sent.choices,
        first_rows=[[context.mask(cell) for cell in row] for row in look.first] if look else [],
        split_columns=split_columns(rows) if rows is not None else [],
        split_values=label_counts(rows, sent.choices.split)
        if rows is not None and sent.choices and sent.choices.split
        else {},
        schemes=shared,
        metrics=METRICS,
        part_names=PARTS,
        boards=BOARDS,
        visibilities=("accounts", *(each for each in VISIBILITIES if each != "accounts")),
        largest_mb=upload_limits(request)["largest_mb"],
    )


@router.post("/challenges/new/labelled/upload")
async def make_from_file(request: Request, who: Makes, form: UploadForm) -> Response:
    """Show a labelled file, or make its challenge; what is wrong is said at the form, with all that was typed."""
    typed = {name: form_field(form, name, most=most) for name, most in TEXTS.items()}
    again = partial(_form_page, request, who, typed=typed)
    try:
        kept = await keep_files(request, form, who.id)
    except UserError as error:
        settings = context_of(request).settings
        before = await to_thread.run_sync(find_upload, settings, who.id, form_field(form, "upload"))
        sent = SentFile(before or NOTHING_SENT)
        return await to_thread.run_sync(partial(again, sent=sent, **refusal(request, error)))
    return await to_thread.run_sync(partial(_from_file, request, who, form, kept, typed))


def _from_file(request: Request, who: User, form: FormData, kept: StoredUpload, typed: Mapping[str, str]) -> Response:
    again, sent = partial(_form_page, request, who, typed=typed), SentFile(kept)
    try:
        if kept.posts is None:
            raise LocalizedError("no_upload", status=422)
        scheme = _scheme(request, who, typed["scheme"])
        sent = _read(form, kept, scheme)
        if form_field(form, "do") != "make" or "columns" not in form:
            return again(sent=sent)
        made = _make(request, who, sent, typed, scheme)
    except UserError as error:
        return again(sent=sent, **refusal(request, error))
    kept.discard()
    return render.redirect(request, f"/challenges/{made.id}", "challenge_made")


def _scheme(request: Request, who: User, name: str) -> Scheme | None:
    if not name:
        return None
    with context_of(request).store.read() as db:
        return schemes.scheme_at(db, who, "scheme", name)


def _read(form: FormData, kept: StoredUpload, scheme: Scheme | None) -> SentFile:
    """Return the file with what the form says about it, and a guess for what it does not say yet."""
    with kept.table_path() as path:
        rows = import_posts.read_table(path, kept.encoding())
    look = import_posts.look_at(rows, scheme)
    text, own_id = (form_field(form, f"column.{role}") for role in ("text", "id"))
    seen = "columns" in form and text in look.columns
    columns = PostChoices(
        text=text if seen else look.guess.text,
        id=(own_id if own_id in look.columns else None) if seen else look.guess.id,
    )
    split = form_field(form, "split")
    guessed, parts = split_column(rows, split if seen and split in look.columns else "")
    split = guessed if not seen or split else ""
    taken = {columns.text, columns.id, look.guess.lang, look.guess.image, split}
    tasks = task_columns(rows, taken, look.guess.gold if scheme is not None else None)
    places = {form_field(form, f"task.{place}.column"): place for place in range(len(tasks) + 1)}
    phases = _default_phases()
    if not seen and split and "practice" not in parts.values():
        phases["practice"] = replace(phases["practice"], chosen=False)
    return SentFile(
        kept,
        look,
        rows,
        columns,
        FileChoices(
            tasks=[_task(form, task, places[task.column]) if task.column in places else task for task in tasks],
            phases={part: _phase(form, part, phase) for part, phase in phases.items()} if seen else phases,
            split=split,
            parts={value: _one_of(form, f"part.{value}", ("", *PARTS), part) for value, part in parts.items()},
            shares={part: _number(form, f"share.{part}", share, 90) for part, share in SHARES.items()},
            seed=_number(form, "seed", 1, 10**6),
        ),
    )


def _task(form: FormData, task: TaskChoice, place: int) -> TaskChoice:
    name = f"task.{place}"
    return replace(
        task,
        chosen=bool(form.get(f"{name}.chosen")),
        title=form_field(form, f"{name}.title", most=200) or task.title,
        metric=_one_of(form, f"{name}.metric", METRICS, task.metric),
        positive=_one_of(form, f"{name}.positive", tuple(task.labels), task.positive),
    )


def _default_phases() -> dict[str, PhaseChoice]:
    today = now().date()
    days = [
        today + timedelta(days=each) for each in (0, PRACTICE_DAYS - 1, PRACTICE_DAYS, PRACTICE_DAYS + TEST_DAYS - 1)
    ]
    first, second, third, fourth = (day.isoformat() for day in days)
    return {
        "practice": PhaseChoice(first, second, 20),
        "test": PhaseChoice(third, fourth, 2, "organisers", survey=True),
    }


def _phase(form: FormData, part: str, default: PhaseChoice) -> PhaseChoice:
    name = f"phase.{part}"
    return PhaseChoice(
        form_field(form, f"{name}.opens", most=40),
        form_field(form, f"{name}.closes", most=40),
        _number(form, f"{name}.limit", default.limit, 10_000),
        _one_of(form, f"{name}.board", BOARDS, default.board),
        bool(form.get(f"{name}.survey")),
        part == "test" or bool(form.get(f"{name}.chosen")),
    )


def _one_of(form: FormData, name: str, known: tuple[str, ...], default: str) -> str:
    """Return a field's value where the form has it; one that is not known is refused."""
    if name not in form:
        return default
    value = form_field(form, name)
    if value not in known:
        raise LocalizedError("choice", status=422)
    return value


def _number(form: FormData, name: str, default: int, most: int) -> int:
    text = form_field(form, name, most=20)
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= most):
        raise LocalizedError("number", status=422, given=text)
    return int(text)


def _make(request: Request, who: User, sent: SentFile, typed: Mapping[str, str], scheme: Scheme | None) -> Challenge:
    """Make the challenge of a file that was looked at."""
    assert sent.rows is not None
    assert sent.choices is not None
    if typed["visibility"] not in VISIBILITIES:
        raise LocalizedError("choice", status=422)
    posts = import_posts.posts_from(sent.rows, sent.columns, stem=sent.kept.stem).frame
    texts = {name: typed[name] for name in ("description", "rules", "contact")}
    plan, frames = plan_challenge(
        posts,
        sent.choices,
        name=typed["name"],
        title=typed["title"],
        visibility=typed["visibility"],
        texts={**texts, "licence": ""},
        scheme=scheme,
        at=now(),
    )
    return create_from_frames(context_of(request).store, plan, frames, by=who.id, organiser=who.id)


@router.post("/challenges/new/upload")
@refused_by(_form_page)
async def make(request: Request, who: Makes, form: UploadForm) -> Response:
    """Make a challenge of a zip; what is wrong with it is shown at the form."""
    limits = UploadLimits(size=context_of(request).settings.max_upload)
    receive = partial(uploads.receive_file, sent_file(form), kinds=("zip",), limits=limits)
    upload = await to_thread.run_sync(receive)
    try:
        made = await to_thread.run_sync(_make_from_zip, request, who, upload.path)
    finally:
        upload.discard()
    return render.redirect(request, f"/challenges/{made.id}", "challenge_made")


def _make_from_zip(request: Request, who: User, archive: Path) -> Challenge:
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
