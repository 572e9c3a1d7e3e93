"""Pictures that programs send with a request: checked, decoded within limits, held while a detector looks, then gone.

Base64 in, a name for the detector out. Nothing is fetched from an address: that would let a stranger use the server to
look around the operator's network.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from davy.core.errors import UserError
from davy.image.picture import Picture, count_pixels, read_picture
from davy.web.errors import LocalizedError

MOST_PIXELS = 20_000_000
MOST_PIXELS_TOGETHER = 40_000_000
"""Pixels of all pictures of one request, which are held at once: a hundred of 632 by 632, in up to 160 MB."""
_DATA_URL = re.compile(r"^data:image/[a-z0-9.+-]{1,40};base64,", re.IGNORECASE)


class HeldPictures:
    """The pictures of requests under way. As `images` it gives a detector's posts their pictures, and no others."""

    def __init__(self) -> None:
        self._held: dict[str, Picture] = {}

    def __call__(self, name: str) -> Picture:
        """Return a picture by the name that `holding` gave it."""
        if name not in self._held:
            raise UserError("The picture is not there any more. Send it again.", status=503)
        return self._held[name]

    def __len__(self) -> int:
        return len(self._held)

    @contextmanager
    def holding(self, pictures: Sequence[Picture | None]) -> Iterator[list[str | None]]:
        """Yield a name for each picture; after the block they are gone."""
        names = [secrets.token_hex(16) if picture is not None else None for picture in pictures]
        self._held |= {name: it for name, it in zip(names, pictures, strict=True) if name and it is not None}
        try:
            yield names
        finally:
            for name in names:
                self._held.pop(name or "", None)


def decode_pictures(texts: Sequence[str | None]) -> list[Picture | None]:
    """Return the pictures in base64 texts or `data:` addresses, read as from a stranger; None where there is no text.

    Their pixels are counted from the headers before any is decoded: a few kilobytes may unpack to 80 MB.
    """
    files = {place: _file_in(text, place) for place, text in enumerate(texts, 1) if text}
    pixels = sum(count_pixels(data, max_pixels=MOST_PIXELS, name=_name(place)) for place, data in files.items())
    if pixels > MOST_PIXELS_TOGETHER:
        got, most = -(-pixels // 1_000_000), MOST_PIXELS_TOGETHER // 1_000_000
        raise LocalizedError("too_many_pixels", status=413, got=got, most=most)
    read = {place: read_picture(data, max_pixels=MOST_PIXELS, name=_name(place)) for place, data in files.items()}
    return [read.get(place) for place in range(1, len(texts) + 1)]


def _name(place: int) -> str:
    return f"Image {place}"


def _file_in(text: str, place: int) -> bytes:
    """Return the bytes of a picture's file from a base64 text or a `data:` address."""
    name = _name(place)
    if text[:8].lower().startswith(("http:", "https:")):
        raise UserError(f"{name} is an address. The server fetches nothing: send the file as base64.", status=422)
    match = _DATA_URL.match(text[:80])
    try:
        return base64.b64decode(text[match.end() :] if match else text, validate=True)
    except (binascii.Error, ValueError):
        raise UserError(f"{name} is not base64. Send the file's bytes as base64.", status=422) from None
