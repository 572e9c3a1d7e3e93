"""Describe: what is in a corpus, as figures and as the documents that go with it.

Posts in; statistics, a data statement, a datasheet, a harm statement and a dataset
card out, which `write_description` puts into a folder with a page and pictures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from davy.core.answers import GOLD
from davy.core.errors import UserError
from davy.core.options import Option
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import Scheme
from davy.corpus.describe.describe import EN_DE, CorpusStatistics
from davy.corpus.describe.describe import describe as measure
from davy.corpus.describe.documents import CorpusDocuments, read_about, write_documents
from davy.corpus.describe.memes import MemeStatistics, count_objects, describe_memes, objects_total
from davy.corpus.describe.page import clouds, page
from davy.corpus.empty_cells import LabelNone
from davy.corpus.gold import GivenGold, answer_columns, plain_column, spell_gold, with_gold
from davy.corpus.post_source import GivenPosts, load_posts
from davy.files.atomic import write_text
from davy.image.picture_names import Pictures, pictures_in


@dataclass(frozen=True, slots=True)
class DescribedCorpus:
    """A corpus in figures, and its documents."""

    statistics: CorpusStatistics
    documents: CorpusDocuments
    memes: MemeStatistics | None = None
    """What is particular to memes, where posts have pictures."""
    pictures: Pictures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        memes = {} if self.memes is None else {"memes": self.memes.to_dict()}
        return self.statistics.to_dict() | memes | {"open_questions": list(self.documents.open)}


def describe(
    posts: GivenPosts,
    *,
    name: Annotated[str | None, Option("What to call the corpus; else the file's name.", metavar="NAME")] = None,
    scheme: Annotated[str | Scheme | None, Option("The scheme of the answers; else the corpus's.", metavar="S")] = None,
    gold: GivenGold = (),
    label_none: LabelNone = False,
    about: Annotated[
        Mapping[str, Any] | None,
        Option("Your answers to the papers' open questions, as YAML.", metavar="F", read=read_about),
    ] = None,
    least: Annotated[int, Option("Leave out words in fewer posts.", "--at-least", metavar="N", min=1)] = 5,
    langs: Annotated[
        Sequence[str], Option("Leave out function words of this language; en, de.", "--lang", metavar="L")
    ] = EN_DE,
    images: Annotated[
        Path | None,
        Option("The folder with memes' pictures; else F, where it is a folder of memes.", metavar="DIR"),
    ] = None,
    reporter: Reporter = SILENT,
) -> DescribedCorpus:
    """Return a corpus's statistics and documents; `gold` are columns of answers `[Q=]COLUMN`.

    `about` answers what only people know, `least` leaves out words in fewer posts, `langs` their function words.
    `images` is the folder of memes' pictures, for objects and examples.
    """
    source = load_posts(posts, unique_ids=False)
    rows, rules = source.posts, None
    named = scheme or source.scheme
    settled = any(column.endswith(GOLD) for column in rows.columns)
    if named or gold or settled or plain_column(rows):
        try:
            rules, columns = answer_columns(
                rows, gold, named, file=source.path, label_none=label_none, reporter=reporter
            )
            rows = spell_gold(with_gold(rows, columns), rules.questions)
        except UserError as error:
            if named or gold:
                raise
            reporter.note(f"Described without {'a scheme' if settled else 'answers'}: {error.message}")
    statistics = measure(
        rows, name=name or source.name, scheme=rules, least=least, langs=tuple(langs), split_of=source.split_of
    )
    papers = write_documents(statistics, rows.columns, about or {})
    if not statistics.images:
        return DescribedCorpus(statistics, papers)
    questions = [level.question for level in statistics.levels if level.answered]
    memes = describe_memes(rows, questions, langs=tuple(langs))
    pictures = pictures_in(images) if images is not None else None
    return DescribedCorpus(statistics, papers, _with_objects(memes, rows, pictures, reporter), pictures)


def _with_objects(
    memes: MemeStatistics, posts: pl.DataFrame, pictures: Pictures | None, reporter: Reporter
) -> MemeStatistics:
    """Return the figures with the objects on the pictures, or with the reason why there are none."""
    if pictures is None:
        return replace(memes, objects_note="Objects are counted where the pictures' folder is named: --images DIR.")
    try:
        from davy.detectors.object_boxes import MIN_SCORE, ObjectDetector

        detector = ObjectDetector()
    except UserError as error:
        return replace(memes, objects_note=error.message)
    reporter.begin("Looking for objects", objects_total(posts))
    found = count_objects(posts, memes, pictures, detector, min_score=MIN_SCORE, progress=reporter.advance)
    reporter.end()
    return replace(memes, objects=found)


def write_description(corpus: DescribedCorpus, out: Path, *, cloud_size: str = "npmi", command: str = "") -> None:
    """Write everything into a folder, each file whole; the report last, since its presence means all is there.

    Words of the clouds are sized by `npmi`, or by `frequency` in the class.
    """
    statistics, papers = corpus.statistics, corpus.documents
    try:
        (out / "clouds").mkdir(parents=True, exist_ok=True)
        for (question, label), picture in clouds(statistics, cloud_size).items():
            stem = "".join(c if c.isalnum() else "-" for c in f"{question}-{label}").strip("-").lower()[:80]
            picture.write(out / "clouds" / f"{stem}.svg")
            picture.write(out / "clouds" / f"{stem}.png")
        texts = {
            "data_statement.md": papers.statement, "datasheet.md": papers.datasheet, "harm.md": papers.harm,
            "README.md": papers.card,
            "description.json": json.dumps(corpus.to_dict(), ensure_ascii=False, indent=1) + "\n",
        }  # fmt: skip
        for file, text in texts.items():
            write_text(out / file, text)
        frames = [frame.with_columns(question=pl.lit(q)) for q, frame in statistics.words.items()]
        if frames:
            pl.concat(frames).select("question", pl.exclude("question")).write_csv(out / "words.csv")
    except OSError as error:
        raise UserError(f"Can't write in {out}: {error.strerror}.") from None
    shown = page(
        statistics, papers, cloud_size=cloud_size, memes=corpus.memes, pictures=corpus.pictures, command=command
    )
    shown.write(out / "report.html")
