"""Find labelled memes in a file or folder: which shape it has, which question is answered, which part each meme is in.

Read are Hateful Memes as published or in MMF's folders, HarMeme, a drawn benchmark, and what `davy project corpus` and
`davy split` write. One frame out: id, text, image, split, yes (null without a label) and caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from davy.core.errors import UserError
from davy.core.scheme import Label, Question, Scheme
from davy.corpus.collect import corpora
from davy.corpus.gold import answer_columns, with_gold
from davy.corpus.post_source import load_posts
from davy.files.post_columns import IMAGE_NAMES
from davy.files.tables import open_table

HATEFUL = Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful")
HARMFUL = Question("harmful", (Label("not harmful"), Label("harmful")), positive="harmful")
"""HarMeme's three grades as yes and no: somewhat and very harmful are a yes."""
SPLIT = "split"
FOLDERS = ("", "annotations", "defaults/annotations")
"""Where the files of the parts lie in a folder: as the challenge, as HarMeme, as MMF downloads them."""


@dataclass(frozen=True)
class LabelledMemes:
    """Memes of all parts with a yes, a no or no label; `folder` is where their pictures are if nobody says."""

    name: str
    question: Question
    frame: pl.DataFrame
    folder: Path


def read_labelled(data: Path, question: str | None = None, scheme: str | Scheme | None = None) -> LabelledMemes:
    """Return the memes of a file or folder; `question` is the yes/no question where a corpus answers several.

    `scheme` has it, where no scheme that ships does.
    """
    if data.is_file():
        return _of_posts([load_posts(str(data)).posts], data, data.parent, question, scheme)
    if not data.is_dir():
        raise UserError(f"{data} is not a folder, nor a file. Name a corpus with a column split, or a folder of memes.")
    folder = next((place for each in FOLDERS if _train_file(place := data / each)), None)
    first = _train_file(folder) if folder else None
    if folder is None or first is None:
        raise UserError(
            f"{data} holds no memes: no train.jsonl (Hateful Memes, `davy meme benchmark`), no annotations/ (HarMeme, "
            "MMF). To learn from a project's corpus, name the file that `davy split` wrote."
        )
    with open_table(first) as table:
        columns = table.columns
    if "labels" in columns:
        return _of_corpus("harmeme", data)
    if "label" in columns and "img" in columns:
        return _of_corpus("hateful-memes", folder, data)
    known = corpora.describe("hateful-memes")
    files = [file for pattern in known.files for file in sorted(folder.glob(pattern))]
    frames = [_with_part(load_posts(str(file)).posts, file, known.splits) for file in dict.fromkeys(files)]
    return _of_posts(frames, data, data, question, scheme)


def _train_file(folder: Path) -> Path | None:
    return next(iter(sorted(folder.glob("train*.jsonl"))), None) if folder.is_dir() else None


def _with_part(posts: pl.DataFrame, file: Path, splits: Mapping[str, str]) -> pl.DataFrame:
    """Return posts with the part that their file's name says, unless a column says it."""
    part = next((value for name, value in splits.items() if name in file.name.lower()), None)
    return posts if SPLIT in posts.columns else posts.with_columns(pl.lit(part).alias(SPLIT))


def _of_corpus(corpus: str, folder: Path, pictures: Path | None = None) -> LabelledMemes:
    posts = corpora.load(corpus, folder).posts.collect()
    if corpus == "harmeme":
        question, yes = HARMFUL, pl.col("harm.gold") != "not harmful"
    elif "hate.gold" in posts.columns:
        question, yes = HATEFUL, pl.col("hate.gold") == "hateful"
    else:
        raise UserError(f"{folder} has memes without labels alone. Train on files that have a column `label`.")
    frame = _frame(posts, yes)
    drawn = corpus != "harmeme" and frame["caption"].null_count() == 0
    return LabelledMemes("benchmark" if drawn else corpus, question, frame, (pictures or folder).resolve())


def _of_posts(
    frames: Sequence[pl.DataFrame], data: Path, folder: Path, asked: str | None, given: str | Scheme | None
) -> LabelledMemes:
    """Return memes with answers in `Q.gold`, as Davy writes them, or in a plain `label`."""
    posts = pl.concat(frames, how="diagonal_relaxed")
    for column, advice in (
        ("image", f"Its pictures' names are wanted in a column {' or '.join(IMAGE_NAMES)}."),
        (SPLIT, f"Write the parts first: davy split {data} --plan memes --out split.jsonl"),
    ):
        if column not in posts.columns:
            raise UserError(f"{data} has no column {column!r}; it has {', '.join(posts.columns)}. {advice}")
    scheme, columns = answer_columns(posts, scheme=given, asked=[asked] if asked else [], file=str(data))
    plain = {q.name: q for q in scheme.questions if q.name in columns and q.positive is not None}
    name = asked or (HATEFUL.name if HATEFUL.name in plain else next(iter(plain)) if len(plain) == 1 else None)
    if name is None or name not in plain:
        raise UserError(
            f"{data} answers {', '.join(plain) or 'no yes/no question'}. A meme model learns one yes/no question: "
            "name it with --question."
        )
    question = plain[name]
    answers = with_gold(posts, {name: columns[name]})
    folded = pl.col(f"{name}.gold").map_elements(lambda cell: question.label(cell).name, return_dtype=pl.String)
    return LabelledMemes(data.stem, question, _frame(answers, folded == question.positive), folder.resolve())


def _frame(posts: pl.DataFrame, yes: pl.Expr) -> pl.DataFrame:
    return posts.select(
        "id",
        pl.col("text").fill_null(""),
        "image",
        pl.col(SPLIT).cast(pl.String),
        yes.alias("yes"),
        _caption(posts).alias("caption"),
    ).filter(pl.col("yes").is_not_null())


def _caption(posts: pl.DataFrame) -> pl.Expr:
    if "meta" not in posts.columns or posts["meta"].null_count() == len(posts):
        return pl.lit(None, dtype=pl.String)
    return pl.col("meta").str.json_path_match("$.caption")
