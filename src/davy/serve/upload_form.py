"""Forms with files: checked like every form, each file like every upload; posts as a frame, pictures by name.

A route asks for a permission first and for `UploadForm` after it, so that nobody's
bytes are read before they are known. The file is gone when the request ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from anyio import to_thread
from fastapi import Depends
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from davy.actions.file_checks import UploadLimits
from davy.annotate import images
from davy.annotate.images import PictureFiles
from davy.core.errors import UserError
from davy.files import tables
from davy.serve import csrf, uploads
from davy.serve.context import context_of
from davy.serve.visitor import field

if TYPE_CHECKING:
    import polars as pl

CHUNK = 1 << 20
MOST_FILES = 500


async def _form(request: Request) -> AsyncIterator[FormData]:
    async with request.form(max_files=MOST_FILES, max_fields=200) as fields:
        token = request.headers.get("x-csrf-token") or fields.get("csrf")
        csrf.check(request, token if isinstance(token, str) else None)
        yield fields


UploadForm = Annotated[FormData, Depends(_form)]


async def read_posts(request: Request, form: FormData, name: str = "file") -> pl.DataFrame | None:
    """Return the posts in a form's file, or None where none was chosen; what can't be read safely is refused."""
    file = form.get(name)
    if not isinstance(file, UploadFile) or not (file.filename or file.size):
        return None
    limits = UploadLimits(size=context_of(request).settings.max_upload)
    kinds = (*uploads.TEXT_KINDS, "parquet")
    upload = await _receive(file, file.filename or "upload", kinds, limits)
    try:
        return await to_thread.run_sync(_read, upload)
    finally:
        upload.discard()


@asynccontextmanager
async def pictures_in(request: Request, form: FormData, name: str = "pictures") -> AsyncIterator[PictureFiles | None]:
    """Yield the pictures in a form, single files or zips, or None where none was chosen; then they are gone."""
    chosen = [file for file in form.getlist(name) if isinstance(file, UploadFile) and (file.filename or file.size)]
    limits = UploadLimits(size=context_of(request).settings.max_upload)
    received: list[uploads.Upload] = []
    try:
        for file in chosen:
            named = file.filename or "picture"
            kinds = ("image", "zip", "csv") if named.endswith(images.CREDITS_FILE) else ("image", "zip")
            received.append(await _receive(file, named, kinds, limits))
        yield await to_thread.run_sync(_pictures, received) if received else None
    finally:
        for upload in received:
            upload.discard()


def credit_in(form: FormData) -> images.Credit:
    """Return whose the pictures of a form are, as its fields say."""
    return images.Credit(field(form, "picture_licence") or None, field(form, "picture_credit") or None)


def _pictures(received: list[uploads.Upload]) -> PictureFiles:
    """Return uploaded pictures as one source; of tables, only one of credits has a meaning."""
    parts = []
    for upload in received:
        if upload.kind == "zip":
            parts.append(images.pictures_in_zip(upload.path, upload.name))
        elif upload.kind == "csv":
            parts.append(PictureFiles(upload.name, {}, images.read_credits(upload.path.read_bytes())))
        else:
            parts.append(PictureFiles(upload.name, {upload.name: upload.path.read_bytes}))
    return images.joined(parts)


async def _receive(file: UploadFile, name: str, kinds: tuple[str, ...], limits: UploadLimits) -> uploads.Upload:
    """Check a form's file in a thread, off the event loop: the form has been read, and the file lies on the disk."""
    chunks = iter(partial(file.file.read, CHUNK), b"")
    return await to_thread.run_sync(partial(uploads.receive, chunks, name, kinds=kinds, limits=limits))


def _read(upload: uploads.Upload) -> pl.DataFrame:
    """Return an upload's posts, read under its own name, which errors and made-up ids show."""
    stem = upload.name.split(".")[0] or "upload"
    ending = f"{upload.kind}.gz" if upload.gzip else upload.kind
    with tempfile.TemporaryDirectory(prefix="davy-upload-") as folder:
        path = Path(folder) / f"{stem}.{ending}"
        path.symlink_to(upload.path)
        try:
            return tables.read_posts(path)
        except UserError as error:
            raise UserError(error.message.replace(str(path), path.name), status=422) from None
