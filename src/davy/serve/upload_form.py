"""Forms with a file: checked like every form, the file checked like every upload, its posts as a frame.

A route asks for a permission first and for `UploadForm` after it, so that nobody's
bytes are read before they are known. The file is gone when the request ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from anyio import to_thread
from fastapi import Depends
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from davy.core.errors import UserError
from davy.serve import csrf, uploads
from davy.serve.context import context_of

if TYPE_CHECKING:
    import polars as pl

CHUNK = 1 << 20


async def _form(request: Request) -> AsyncIterator[FormData]:
    async with request.form(max_files=1, max_fields=200) as fields:
        token = request.headers.get("x-csrf-token") or fields.get("csrf")
        csrf.check(request, token if isinstance(token, str) else None)
        yield fields


UploadForm = Annotated[FormData, Depends(_form)]


async def read_posts(request: Request, form: FormData, name: str = "file") -> pl.DataFrame | None:
    """Return the posts in a form's file, or None where none was chosen; what can't be read safely is refused."""
    file = form.get(name)
    if not isinstance(file, UploadFile) or not (file.filename or file.size):
        return None
    limits = uploads.UploadLimits(size=context_of(request).settings.max_upload)
    kinds = (*uploads.TEXT_KINDS, "parquet")
    upload = await uploads.receive_async(_chunks(file), file.filename or "upload", kinds=kinds, limits=limits)
    try:
        return await to_thread.run_sync(_read, upload)
    finally:
        upload.discard()


async def _chunks(file: UploadFile) -> AsyncIterator[bytes]:
    while chunk := await file.read(CHUNK):
        yield chunk


def _read(upload: uploads.Upload) -> pl.DataFrame:
    """Return an upload's posts, read under its own name, which errors and made-up ids show."""
    from davy.files.post_file import read_posts

    stem = upload.name.split(".")[0] or "upload"
    ending = f"{upload.kind}.gz" if upload.gzip else upload.kind
    with tempfile.TemporaryDirectory(prefix="davy-upload-") as folder:
        path = Path(folder) / f"{stem}.{ending}"
        path.symlink_to(upload.path)
        try:
            return read_posts(path)
        except UserError as error:
            raise UserError(error.message.replace(str(path), path.name), status=422) from None
