"""Build memes: a layout to start from, and a finished layout as a stored picture with the credits of its parts.

The one thing to know: a meme's picture belongs to its project, and its licence and credit name those of every picture
that it was made of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from davy.annotation.project.store import images
from davy.annotation.project.store.images import StoredImage
from davy.core.errors import UserError
from davy.image.image_folder import ImageFolder
from davy.image.perceptual_hash import distance, pdq
from davy.image.picture import read_picture
from davy.memes import emoji_artwork
from davy.memes.meme_layout import MemeLayout, caption, stack
from davy.memes.meme_render import MemeRenderer
from davy.store import Connection, Store
from davy.text import emoji


@dataclass(frozen=True, slots=True)
class BuiltMeme:
    """A meme that was drawn and stored: its picture's key, its text, its layout."""

    key: str
    text: str
    layout: MemeLayout


def start_layout(
    store: Store, project: str, keys: Sequence[str], text: str = "", *, source: str | None = None
) -> MemeLayout:
    """Return the pictures below each other with the text over them: its first half at the top, the rest at the bottom.

    Without a text, that of the picture `source` is read, where the extra for it is installed.
    """
    with store.read() as db:
        found = usable_pictures(db, project, keys)
    layout = stack([(it.key, it.width, it.height) for it in found]) if found else MemeLayout(600, 450)
    lines = [line.strip() for line in (text or _text_on(store, source)).splitlines() if line.strip()]
    half = (len(lines) + 1) // 2
    return caption(layout, "\n".join(lines[:half]), "\n".join(lines[half:]))


def usable_pictures(db: Connection, project: str, keys: Sequence[str]) -> list[StoredImage]:
    """Return pictures that a project may build with, in the order of `keys`: its own and the shelf's, none locked."""
    known = {it.key: it for it in images.of_posts(db, project, keys)}
    missing = [key for key in keys if key not in known]
    if missing:
        raise UserError(f"There is no picture {missing[0][:12]!r} here to build with. Choose another.", status=404)
    return [known[key] for key in keys]


def keep_meme(store: Store, project: str, layout: MemeLayout, *, by: str) -> BuiltMeme:
    """Draw a meme, keep it as a picture of the project with the credits of its parts, and return it."""
    keys = list(dict.fromkeys(placed.image for placed in layout.images))
    with store.read() as db:
        parts = usable_pictures(db, project, keys)
    folder = picture_folder(store)
    picture = read_picture(MemeRenderer(folder.read).png(layout), name="The meme")
    drawn = folder.put(picture)
    credits = [part.credit for part in parts]
    if emoji.count(layout.text):
        credits.append(emoji_artwork.CREDIT)
    row = StoredImage(
        drawn.key,
        f"meme-{drawn.key[:12]}.png",
        drawn.width,
        drawn.height,
        drawn.size,
        drawn.mime,
        licence=_joined(part.licence for part in parts),
        credit=_joined(credits),
        source=_joined(part.source for part in parts),
    )
    with store.write() as db:
        images.lock_files(db)
        images.add(db, project, [row], by=by)
        if folder.find(drawn.key) is None:  # whoever wrote it first, with an upload that failed, has taken it away
            folder.put(picture)
    return BuiltMeme(drawn.key, layout.text, layout)


def picture_folder(store: Store) -> ImageFolder:
    """Return where a store's pictures are kept."""
    path = images.folder_path(store.url)
    if path is None:
        raise UserError("With this database set DAVY_IMAGES to the folder for pictures, one that all servers share.")
    return ImageFolder(path)


def picture_distance(store: Store, one: str | None, other: str) -> int | None:
    """Return in how many of 256 bits the hashes (PDQ) of two stored pictures differ; None where one is not there."""
    folder = picture_folder(store)
    if one is None or folder.find(one) is None:
        return None
    first, second = (pdq(folder.read(key).image)[0] for key in (one, other))
    return distance(first, second)


def require_same(base: MemeLayout, layout: MemeLayout, keep: Collection[str]) -> None:
    """Raise where a layout changed a side that had to stay: "text" word for word, "image" picture for picture."""
    if "text" in keep and layout.text != base.text:
        raise UserError("Here only the picture is replaced: the text must stay as it is, word for word.", status=422)
    if "image" in keep and layout.images != base.images:
        raise UserError("Here only the text is replaced: the picture must stay as it is.", status=422)


def _text_on(store: Store, source: str | None) -> str:
    from davy.image import ocr

    if source is None:
        return ""
    try:
        return ocr.text_of(ocr.read_lines(picture_folder(store).read(source)))
    except UserError as error:
        if error.status == 501:  # the extra is not installed: people type the text
            return ""
        raise


def _joined(parts: Iterable[str | None]) -> str | None:
    return "; ".join(dict.fromkeys(part for part in parts if part)) or None
