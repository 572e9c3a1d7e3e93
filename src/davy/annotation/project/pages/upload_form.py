"""Forms with files: checked like every form, each file like every upload; posts as a frame, pictures by name.

A route asks for a permission first and for `UploadForm` after it, so that nobody's
bytes are read before they are known. The file is gone when the request ends.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from anyio import to_thread
from fastapi import Depends
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from davy.annotation.project import images, import_posts
from davy.annotation.project.images import PictureFiles
from davy.annotation.project.pages import stored_uploads
from davy.annotation.project.pages.stored_uploads import StoredUpload
from davy.files.file_safety import UploadLimits
from davy.files.file_table import list_columns
from davy.people.pages.visitor import field
from davy.web import csrf, uploads
from davy.web.context import context_of
from davy.web.errors import LocalizedError

if TYPE_CHECKING:
    import polars as pl

CHUNK = 1 << 20
MOST_FILES = 500


async def _form(request: Request) -> AsyncIterator[FormData]:
    try:
        fields = await request.form(max_files=MOST_FILES, max_fields=200)
    except HTTPException as error:
        if "Too many files" in str(error.detail):
            raise LocalizedError("too_many_files", status=413, most=MOST_FILES) from None
        raise
    try:
        token = request.headers.get("x-csrf-token") or fields.get("csrf")
        csrf.check(request, token if isinstance(token, str) else None)
        yield fields
    finally:
        await fields.close()


UploadForm = Annotated[FormData, Depends(_form)]


def sent_file(form: FormData, name: str = "file") -> UploadFile:
    """Return the file of a form; a form without one is refused."""
    sent = form.get(name)
    if not isinstance(sent, UploadFile) or not sent.filename:
        raise LocalizedError("no_upload", status=422)
    return sent


async def read_posts(request: Request, form: FormData, name: str = "file") -> pl.DataFrame | None:
    """Return the posts in a form's file, or None where none was chosen; what can't be read safely is refused."""
    file = form.get(name)
    if not isinstance(file, UploadFile) or not (file.filename or file.size):
        return None
    limits = UploadLimits(size=context_of(request).settings.max_upload)
    upload = await _receive(file, file.filename or "upload", uploads.TABLE_KINDS, limits)
    try:
        return await to_thread.run_sync(_read, upload)
    finally:
        upload.discard()


async def keep_files(request: Request, form: FormData, owner: str) -> StoredUpload:
    """Return the table and the pictures of a form, kept: those sent now, else those that it sent before."""
    settings = context_of(request).settings
    before = await to_thread.run_sync(stored_uploads.find, settings, owner, field(form, "upload"))
    tables, pictures = _chosen(form, "file"), _chosen(form, "pictures")
    if not tables and not pictures:
        return before or stored_uploads.NOTHING
    kept = before if before is not None else await to_thread.run_sync(stored_uploads.begin, settings, owner)
    limits = UploadLimits(size=settings.max_upload)
    try:
        for file in tables[:1]:
            got = await _receive(file, file.filename or "upload", uploads.TABLE_KINDS, limits, kept.folder)
            kept = replace(kept, posts=got)
        if pictures:
            kept = replace(kept, pictures=tuple([await _picture(file, limits, kept.folder) for file in pictures]))
    except BaseException:
        if before is None:
            kept.discard()
        raise
    return await to_thread.run_sync(stored_uploads.save, kept)


@asynccontextmanager
async def pictures_in(request: Request, form: FormData, name: str = "pictures") -> AsyncIterator[PictureFiles | None]:
    """Yield the pictures in a form, single files or zips, or None where none was chosen; then they are gone."""
    limits = UploadLimits(size=context_of(request).settings.max_upload)
    received: list[uploads.Upload] = []
    try:
        for file in _chosen(form, name):
            received.append(await _picture(file, limits))
        yield await to_thread.run_sync(stored_uploads.as_pictures, received) if received else None
    finally:
        for upload in received:
            upload.discard()


def sends_pictures(form: FormData) -> bool:
    """Return whether a form brings pictures."""
    return bool(_chosen(form, "pictures"))


def _chosen(form: FormData, name: str) -> list[UploadFile]:
    return [file for file in form.getlist(name) if isinstance(file, UploadFile) and (file.filename or file.size)]


async def _picture(file: UploadFile, limits: UploadLimits, folder: Path | None = None) -> uploads.Upload:
    named = file.filename or "picture"
    kinds = ("image", "zip", "csv") if named.endswith(images.CREDITS_FILE) else ("image", "zip")
    return await _receive(file, named, kinds, limits, folder)


def upload_limits(request: Request) -> dict[str, int]:
    """Return what a form may send at once, for the page that says so."""
    most = context_of(request).settings.max_upload
    return {"largest": most, "largest_mb": most // 1_000_000, "most_files": MOST_FILES}


def credit_in(form: FormData) -> images.Credit:
    """Return whose the pictures of a form are, as its fields say."""
    return images.Credit(field(form, "picture_licence") or None, field(form, "picture_credit") or None)


async def _receive(
    file: UploadFile, name: str, kinds: tuple[str, ...], limits: UploadLimits, folder: Path | None = None
) -> uploads.Upload:
    """Check a form's file in a thread, off the event loop: the form has been read, and the file lies on the disk."""
    chunks = iter(partial(file.file.read, CHUNK), b"")
    return await to_thread.run_sync(partial(uploads.receive, chunks, name, kinds=kinds, limits=limits, folder=folder))


def _read(upload: uploads.Upload) -> pl.DataFrame:
    """Return an upload's posts by the usual names of columns; other names need the form that asks for them."""
    kept = StoredUpload(posts=upload)
    with kept.table_path() as path:
        rows = import_posts.read_table(path, kept.encoding())
    look = import_posts.look_at(rows, None)
    if not look.sure:
        raise LocalizedError("columns_unclear", status=422, columns=list_columns(list(look.columns)))
    return import_posts.posts_from(rows, look.guess, stem=kept.stem).frame
