"""Files that a form sent, kept while their sender looks at a preview or mends another field: nothing is sent twice.

A form names them by an id; the folder's name has the account's, so that nobody gets another's. They go when the form
is done, when their sender has sent five others, or with the sweep of old files.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from davy.annotation.project import images, import_posts
from davy.annotation.project.images import PictureFiles
from davy.core.errors import UserError
from davy.jobs import job_files
from davy.store.columns import new_id
from davy.web.settings import ServerSettings
from davy.web.uploads import Upload

MOST_KEPT = 5
_ID = re.compile(r"[0-9a-z]{20}")
_ABOUT = "about.json"


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


NOTHING = StoredUpload()


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


def begin(settings: ServerSettings, owner: str) -> StoredUpload:
    """Return an empty place for what somebody sends; their oldest ones make room."""
    root = _root(settings)
    upload_id = new_id()
    for old in sorted(root.glob(f"upload-{owner}-*"))[: -MOST_KEPT + 1 or None]:
        shutil.rmtree(old, ignore_errors=True)
    return StoredUpload(upload_id, job_files.make_folder(root, f"upload-{owner}-{upload_id}"))


def find(settings: ServerSettings, owner: str, upload_id: str) -> StoredUpload | None:
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


def save(kept: StoredUpload) -> StoredUpload:
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
