"""Forms with files: checked like every form, each file like every upload; posts as a frame, pictures by name.

A route asks for a permission first and for `UploadForm` after it, so that no bytes of unknown people are read. The file
is gone when the request ends. A `StoredUpload` stays while its sender looks at a preview or corrects another
field. A form names it by an id; the folder's name has the account's, so that nobody gets another's. It is deleted when
the form is done, when its sender has sent five others, or with the sweep of old files.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
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
from davy.core.errors import UserError
from davy.files.file_safety import UploadLimits
from davy.files.file_table import list_columns
from davy.jobs import job_files
from davy.people.pages.visitor import field
from davy.store.columns import new_id
from davy.web import csrf, uploads
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.settings import ServerSettings
from davy.web.uploads import Upload

if TYPE_CHECKING:
    import polars as pl


CHUNK = 1 << 20
MOST_FILES = 500
MOST_KEPT = 5
_ID = re.compile(r"[0-9a-z]{20}")
_ABOUT = "about.json"


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
    before = await to_thread.run_sync(find_upload, settings, owner, field(form, "upload"))
    tables, pictures = _chosen(form, "file"), _chosen(form, "pictures")
    if not tables and not pictures:
        return before or NOTHING_SENT
    kept = before if before is not None else await to_thread.run_sync(begin_upload, settings, owner)
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
    return await to_thread.run_sync(save_upload, kept)


@asynccontextmanager
async def pictures_in(request: Request, form: FormData, name: str = "pictures") -> AsyncIterator[PictureFiles | None]:
    """Yield the pictures in a form, single files or zips, or None where none was chosen; then they are gone."""
    limits = UploadLimits(size=context_of(request).settings.max_upload)
    received: list[uploads.Upload] = []
    try:
        for file in _chosen(form, name):
            received.append(await _picture(file, limits))
        yield await to_thread.run_sync(as_pictures, received) if received else None
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


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """What a form sent: a table of posts, pictures, or both."""

    id: str = ""
    folder: Path | None = None
    """Where it waits; None where nothing was sent."""
    posts: Upload | None = None
    pictures: tuple[Upload, ...] = ()

    @property
    def picture_names(self) -> str:
        """What the pictures' files are called, for a page; the first few of many."""
        names = [upload.name for upload in self.pictures]
        return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")

    def encoding(self) -> str:
        """Return what the table's text seems to be encoded in."""
        if self.posts is None or self.posts.kind in ("parquet", "xlsx"):
            return "utf-8"
        return import_posts.encoding_of(self.posts.path, packed=self.posts.gzip)

    @contextmanager
    def table_path(self) -> Iterator[Path]:
        """Yield the table under its own name, which says its format and which made-up ids show."""
        assert self.posts is not None
        ending = "txt" if self.posts.name.lower().endswith(".txt") else self.posts.kind
        with tempfile.TemporaryDirectory(prefix="davy-upload-") as folder:
            path = Path(folder) / f"{self.stem}.{ending}{'.gz' if self.posts.gzip else ''}"
            path.symlink_to(self.posts.path)
            try:
                yield path
            except UserError as error:
                error.message = error.message.replace(str(path), path.name)
                raise

    @property
    def stem(self) -> str:
        """The table's name without its endings."""
        return (self.posts.name.split(".")[0] if self.posts else "") or "upload"

    def picture_files(self) -> PictureFiles | None:
        """Return the pictures by name, each read when it is wanted; None where there are none."""
        return as_pictures(self.pictures) if self.pictures else None

    def discard(self) -> None:
        """Remove the files; once is enough, twice does no harm."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


NOTHING_SENT = StoredUpload()


def as_pictures(received: Iterable[Upload]) -> PictureFiles:
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


def begin_upload(settings: ServerSettings, owner: str) -> StoredUpload:
    """Return an empty place for what somebody sends; their oldest ones make room."""
    root = _root(settings)
    upload_id = new_id()
    for old in sorted(root.glob(f"upload-{owner}-*"))[: -MOST_KEPT + 1 or None]:
        shutil.rmtree(old, ignore_errors=True)
    return StoredUpload(upload_id, job_files.make_folder(root, f"upload-{owner}-{upload_id}"))


def find_upload(settings: ServerSettings, owner: str, upload_id: str) -> StoredUpload | None:
    """Return what somebody sent before; another's, or what has gone, is None."""
    if not _ID.fullmatch(upload_id):
        return None
    folder = _root(settings) / f"upload-{owner}-{upload_id}"
    try:
        about = json.loads((folder / _ABOUT).read_text())
    except (OSError, ValueError):
        return None
    files = [Upload(**{**kept, "path": folder / kept["path"]}) for kept in about["files"]]
    posts = files.pop(0) if about["posts"] else None
    return StoredUpload(upload_id, folder, posts, tuple(files))


def save_upload(kept: StoredUpload) -> StoredUpload:
    """Note what was sent, so that `find` gives it again."""
    files = [upload for upload in (kept.posts, *kept.pictures) if upload is not None]
    rows = [
        {"path": it.path.name, "name": it.name, "kind": it.kind, "size": it.size, "sha256": it.sha256, "gzip": it.gzip}
        for it in files
    ]
    assert kept.folder is not None
    (kept.folder / _ABOUT).write_text(json.dumps({"posts": kept.posts is not None, "files": rows}))
    return kept


def _root(settings: ServerSettings) -> Path:
    """Return where uploads wait: with the server's files, else in the system's folder for such."""
    return settings.files_folder or Path(tempfile.gettempdir()) / "davy-uploads"
