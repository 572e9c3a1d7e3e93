"""Memes to learn from: a file or folder of them in; their parts and pictures out, and the features that a row looks at.

`meme_files` knows the shapes. Features are computed once and kept in the cache, by what the pictures are and what
reads them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import Question, Scheme
from davy.corpus.post_source import hold_out
from davy.detectors.cache import cache_folder
from davy.files.atomic import atomic_path, make_folder
from davy.files.data_hash import rows_hash
from davy.image.picture_names import Pictures, pictures_in
from davy.memes.meme_files import read_labelled

if TYPE_CHECKING:
    from davy.detectors.meme_model import PictureFeatures
    from davy.detectors.meme_presets import MemePreset
    from davy.image.picture import Picture
    from davy.training.meme_trainer import MemeExamples

PARTS: Mapping[str, tuple[str, ...]] = {
    "train": ("train",),
    "dev": ("dev_seen", "dev", "val", "dev_unseen"),
    "test": ("test_seen", "test", "test_unseen"),
}
"""What a part may be called in the files, the first that has labels first."""
HELD_OUT = 0.1
BATCH = 32


@dataclass(frozen=True)
class MemeParts:
    """Memes by part (`train`, `dev`, `test`): columns id, text, image, yes and caption. `names` are the files' own."""

    name: str
    question: Question
    parts: Mapping[str, pl.DataFrame]
    names: Mapping[str, str]
    pictures: Pictures
    folder: Path

    @property
    def data_hash(self) -> str:
        """The hash of all memes: part, text, picture's name and label."""
        whole = pl.concat([memes.with_columns(part=pl.lit(part)) for part, memes in self.parts.items()])
        return rows_hash(whole.select("part", "text", "image", pl.col("yes").cast(pl.String)))


def load_memes(
    data: Path,
    *,
    images: Path | None = None,
    question: str | None = None,
    scheme: str | Scheme | None = None,
    seed: int = 0,
) -> MemeParts:
    """Return the labelled memes of a file or folder by part. `images` is the folder of pictures, if they lie elsewhere.

    Without a labelled test part, dev is measured as test and a tenth of train chooses the checkpoint in its place, so
    that nothing is chosen on what is measured.
    """
    found = read_labelled(data, question, scheme)
    memes = found.frame
    names = {part: name for part in PARTS if (name := _part_name(memes, part))}
    if "train" not in names or len(names) < 2:
        counts = memes["split"].value_counts(sort=True).iter_rows()
        listed = ", ".join(f"{name or 'no part'} {n:,}" for name, n in counts)
        raise UserError(f"{data} needs labelled memes in train and in dev or test; it has {listed or 'none'}.")
    parts = {part: memes.filter(pl.col("split") == name).drop("split") for part, name in names.items()}
    if "test" not in parts:
        parts["test"], names["test"] = parts["dev"], names["dev"]
        del parts["dev"]
    if "dev" not in parts:
        parts["train"], parts["dev"] = hold_out(parts["train"], HELD_OUT, seed)
        names["dev"] = "a tenth of train"
    folder = (images or found.folder).resolve()
    return MemeParts(found.name, found.question, parts, names, pictures_in(folder), folder)


def examples(
    memes: MemeParts, part: str, preset: MemePreset, *, kinds: tuple[str, ...] = (), reporter: Reporter = SILENT
) -> MemeExamples:
    """Return a part as a trainer takes it, with the picture features of a preset."""
    import numpy as np

    from davy.training.meme_trainer import MemeExamples

    frame = memes.parts[part]
    wanted = kinds or ((preset.network.features,) if preset.network.features else ())
    features = {kind: picture_features(memes, part, preset, kind, reporter) for kind in wanted}
    captions = frame["caption"].to_list()
    return MemeExamples(
        frame["text"].to_list(),
        np.asarray(frame["yes"].to_list(), dtype=np.int64),
        features,
        captions if all(captions) else (),
    )


def picture_features(
    memes: MemeParts, part: str, preset: MemePreset, kind: str, reporter: Reporter = SILENT
) -> PictureFeatures:
    """Return the features of a part's pictures, from the cache where they were computed before."""
    import numpy as np

    from davy.detectors.meme_model import PictureFeatures

    names = memes.parts[part]["image"].to_list()
    cells = preset.network.cells if kind == "grid" else preset.regions
    key = "\x1e".join(
        [str(memes.folder), memes.data_hash, part, preset.image_encoder, kind, str(cells), *map(str, names)]
    )
    path = cache_folder() / "meme-features" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as kept:
            return PictureFeatures(kept["vectors"], kept.get("boxes"))
    reporter.begin(f"Reading pictures of {part} ({kind})", len(names))
    features = _read(memes, names, preset, kind, reporter)
    reporter.end()
    if not preset.takes_pixels:  # pixels are quicker to read again than to keep
        make_folder(path.parent)
        arrays: dict[str, Any] = {"vectors": features.vectors} | (
            {} if features.boxes is None else {"boxes": features.boxes}
        )
        with atomic_path(path) as hidden, hidden.open("wb") as file:
            np.savez(file, **arrays)
    return features


def _read(memes: MemeParts, names: list[str], preset: MemePreset, kind: str, reporter: Reporter) -> PictureFeatures:
    import numpy as np

    from davy.detectors.meme_model import PictureFeatures, PictureReader

    reader = PictureReader(replace(preset, network=replace(preset.network, features=kind)))
    vectors, boxes = [], []
    for batch in _batches(memes, names):
        found = reader.read(batch)
        assert found is not None
        vectors.append(found.vectors)
        boxes += [found.boxes] if found.boxes is not None else []
        reporter.advance(len(batch))
    return PictureFeatures(np.concatenate(vectors), np.concatenate(boxes) if boxes else None)


def _batches(memes: MemeParts, names: list[str]) -> Iterator[list[Picture]]:
    for start in range(0, len(names), BATCH):
        yield [memes.pictures(name) for name in names[start : start + BATCH]]


def _part_name(memes: pl.DataFrame, part: str) -> str | None:
    names = set(memes["split"].drop_nulls())
    return next((name for name in PARTS[part] if name in names), None)
