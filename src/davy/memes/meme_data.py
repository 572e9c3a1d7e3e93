"""Memes to learn from: a folder of them in; their parts, labels and pictures out, and the features that a row looks at.

The folder is Hateful Memes as published, HarMeme, or what `davy meme benchmark` draws. Features are computed once and
kept in the cache, by what the pictures are and what reads them.
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
from davy.core.scheme import Label, Question
from davy.corpus.collect import corpora
from davy.corpus.post_source import hold_out
from davy.detectors.cache import cache_folder
from davy.files.atomic import atomic_path, make_folder
from davy.files.data_hash import rows_hash
from davy.image.picture_names import Pictures, pictures_in

if TYPE_CHECKING:
    from davy.detectors.meme_model import PictureFeatures
    from davy.detectors.meme_presets import MemePreset
    from davy.image.picture import Picture
    from davy.training.meme_trainer import MemeExamples

HATEFUL = Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful")
HARMFUL = Question("harmful", (Label("not harmful"), Label("harmful")), positive="harmful")
"""HarMeme's three grades as yes and no: somewhat and very harmful are a yes."""
PARTS: Mapping[str, tuple[str, ...]] = {
    "train": ("train",),
    "dev": ("dev_seen", "dev", "val"),
    "test": ("test_seen", "test"),
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


def load_memes(folder: Path, *, seed: int = 0) -> MemeParts:
    """Return the labelled memes of a folder by part.

    Without a labelled test part, dev is measured as test and a tenth of train chooses the checkpoint in its place, so
    that nothing is chosen on what is measured.
    """
    corpus = _corpus_name(folder)
    posts = corpora.load(corpus, folder).posts.collect()
    question, yes = _yes(corpus)
    memes = posts.select(
        "id", pl.col("text").fill_null(""), "image", "split", yes.alias("yes"), _caption(posts).alias("caption")
    ).filter(pl.col("yes").is_not_null())
    names = {part: name for part in PARTS if (name := _part_name(memes, part))}
    if "train" not in names or len(names) < 2:
        found = ", ".join(f"{name} {n:,}" for name, n in memes["split"].value_counts(sort=True).iter_rows())
        raise UserError(f"{folder} needs labelled memes in train and in dev or test; it has {found or 'none'}.")
    parts = {part: memes.filter(pl.col("split") == name).drop("split") for part, name in names.items()}
    if "test" not in parts:
        parts["test"], names["test"] = parts["dev"], names["dev"]
        del parts["dev"]
    if "dev" not in parts:
        parts["train"], parts["dev"] = hold_out(parts["train"], HELD_OUT, seed)
        names["dev"] = "a tenth of train"
    drawn = corpus != "harmeme" and memes["caption"].null_count() == 0
    return MemeParts("benchmark" if drawn else corpus, question, parts, names, pictures_in(folder), folder.resolve())


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


def _corpus_name(folder: Path) -> str:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder. Name one with train.jsonl, dev.jsonl and pictures.")
    if (folder / "annotations").is_dir():
        return "harmeme"
    if any(folder.glob("train*.jsonl")):
        return "hateful-memes"
    raise UserError(
        f"{folder} holds no memes: no train.jsonl (Hateful Memes, `davy meme benchmark`), no annotations/ (HarMeme)."
    )


def _yes(corpus: str) -> tuple[Question, pl.Expr]:
    """Return the question that memes of a corpus answer, and whether each is a yes; null where it has no label."""
    if corpus == "harmeme":
        return HARMFUL, pl.col("harm.gold") != "not harmful"
    return HATEFUL, pl.col("hate.gold") == "hateful"


def _caption(posts: pl.DataFrame) -> pl.Expr:
    if "meta" not in posts.columns or posts["meta"].null_count() == len(posts):
        return pl.lit(None, dtype=pl.String)
    return pl.col("meta").str.json_path_match("$.caption")


def _part_name(memes: pl.DataFrame, part: str) -> str | None:
    names = set(memes["split"].drop_nulls())
    return next((name for name in PARTS[part] if name in names), None)
