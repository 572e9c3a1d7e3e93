"""Pictures as files: each once, under the SHA-256 of its bytes, with blurred previews beside it.

A `Picture` in (`image.picture` has read it safely), an `ImageFile` out. What is written is a fresh PNG of the pixels:
nothing else of the file that came in is kept, and the same pixels have the same key whatever format they came in.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from davy.core.errors import UserError
from davy.files.atomic import atomic_path
from davy.image.picture import Picture, make_preview, on_white, read_picture

MIME = "image/png"
PREVIEW_MIME = "image/jpeg"
PREVIEWS: dict[str, bool] = {"grey": True, "blurred": False}
"""Kinds of preview, all blurred; whether its colours are taken away too."""

_KEY = re.compile(r"[0-9a-f]{64}")
_LONGEST_PREVIEW = 1024


def is_image_key(name: str | None) -> bool:
    """Return whether a post's image is the key of a stored picture, not the name of a file that is not here yet."""
    return name is not None and _KEY.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class ImageFile:
    """A stored picture."""

    key: str
    width: int
    height: int
    size: int
    """Bytes."""
    mime: str = MIME
    is_new: bool = field(default=False, compare=False)
    """Whether this call wrote it; else it was there already, and others may rely on it."""


class ImageFolder:
    """A folder of pictures. Several processes may use it at once: files appear whole and never change."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, picture: Picture) -> ImageFile:
        """Keep a picture and its grey preview, and return the file; one that is there already is left as it is."""
        data = picture.encode("PNG")
        key = hashlib.sha256(data).hexdigest()
        if self._locked(key).is_file():
            raise UserError("This picture is locked, so it can't be added.", status=409)
        is_new = self.put_bytes(key, data)
        self._make_preview(key, "grey", picture)
        return ImageFile(key, picture.image.width, picture.image.height, len(data), is_new=is_new)

    def put_bytes(self, key: str, data: bytes) -> bool:
        """Keep the bytes of a picture that `put` made, such as one of a backup, and return whether they were written.

        They must be those of the key.
        """
        if hashlib.sha256(data).hexdigest() != key or not data.startswith(b"\x89PNG\r\n\x1a\n"):
            raise UserError(f"The picture {key[:12]}… is damaged: its bytes don't match its key.")
        target = self._file(key)
        if target.is_file() or self._locked(key).is_file():
            return False
        self._write(target, data)
        return True

    def find(self, key: str) -> Path | None:
        """Return the file of a picture, or None."""
        path = self._file(key) if is_image_key(key) else None
        return path if path is not None and path.is_file() else None

    def read(self, key: str) -> Picture:
        """Return a picture's pixels."""
        path = self.find(key)
        if path is None:
            raise UserError(f"There is no picture {key[:80]!r} in {self.path}.", status=404)
        return read_picture(path, name=f"Picture {key[:12]}")

    def preview(self, key: str, kind: str = "grey") -> Path | None:
        """Return the file of a blurred preview, made now where it is not there yet; None without the picture."""
        if self.find(key) is None:
            return None
        path = self._file(key, kind)
        if not path.is_file():
            self._make_preview(key, kind, self.read(key))
        return path

    def remove(self, key: str) -> None:
        """Remove a picture and its previews; once is enough, twice does no harm."""
        if is_image_key(key):
            for path in (self._file(key), *(self._file(key, kind) for kind in PREVIEWS)):
                path.unlink(missing_ok=True)

    def lock(self, key: str) -> None:
        """Move a picture to `locked/`, where nothing here reads it, and remove its previews; twice does no harm."""
        path = self.find(key)
        if path is not None:
            try:
                self._locked(key).parent.mkdir(mode=0o700, exist_ok=True)
                path.replace(self._locked(key))
            except OSError as error:
                raise UserError(f"Can't lock a picture in {self.path}: {error.strerror}. Do it by hand now.") from error
        self.remove(key)

    def keys(self) -> Iterator[str]:
        """Yield the keys of all pictures."""
        for path in sorted(self.path.glob("??/*.png")):
            if is_image_key(path.stem):
                yield path.stem

    def _locked(self, key: str) -> Path:
        return self.path / "locked" / f"{key}.png"

    def _file(self, key: str, preview: str | None = None) -> Path:
        ending = ".png" if preview is None else f".{preview}.jpg"
        return self.path / key[:2] / f"{key}{ending}"

    def _make_preview(self, key: str, kind: str, picture: Picture) -> None:
        target = self._file(key, kind)
        if target.is_file():
            return
        flat = on_white(picture.image) if picture.image.mode == "RGBA" else picture.image
        data = io.BytesIO()
        make_preview(flat, grey=PREVIEWS[kind], longest=_LONGEST_PREVIEW).save(data, "JPEG", quality=70)
        self._write(target, data.getvalue())

    def _write(self, target: Path, data: bytes) -> None:
        try:
            for folder in (self.path, target.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with atomic_path(target, mode=0o600) as hidden:
                hidden.write_bytes(data)
        except OSError as error:
            raise UserError(f"Can't keep pictures in {self.path}: {error.strerror}. Set DAVY_IMAGES.") from error
