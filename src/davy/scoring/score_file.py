"""Score: a file of posts into a file with the detector's columns added, or one text.

A file goes through in bounded memory. Parts that are scored lie beside the output
until all are there: the same call after a kill goes on where it stopped, and the
output appears whole or not at all.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.scorer import Scorer, Scores
from davy.corpus.post_source import PostSource, as_source
from davy.detectors.cascade_screen import as_cascade
from davy.detectors.load import load
from davy.files import post_columns, tables
from davy.files.atomic import refuse_input
from davy.files.data_hash import file_hash
from davy.files.file_table import FileTable, translate_errors
from davy.files.formats import STDIO, names_format, output_format
from davy.files.input_paths import short_name
from davy.files.run_folder import RunFolder, open_run_folder, skip_rows
from davy.image.ocr import read_lines, text_of
from davy.image.picture import Picture, read_picture
from davy.scoring.batch import (
    PROBABILITIES,
    WINDOW,
    ScoreSettings,
    added_columns,
    check_columns,
    score_frames,
    stale_columns,
)
from davy.scoring.explain import Explanation, add_reasons, explain
from davy.scoring.result import model_of, one_post, other_language, records
from davy.scoring.scorers import load_scorer

BATCH = 10_000
SAVE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """What scoring a file did. `verdicts` counts posts from the most frequent verdict to the rarest."""

    model: dict[str, Any]
    out: str
    posts: int
    without_score: int
    verdicts: dict[str, int]
    seconds: float
    unsupported: dict[str, int] = field(default_factory=dict)
    """How many posts were not judged because of their language, by language."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class ScoredText:
    """One text's scores, as `records` has them, and the words that carried the decision where they were wanted."""

    text: str
    model: dict[str, Any]
    scores: Scores
    record: dict[str, Any]
    explanation: Explanation | None = None
    looked: bool | None = None
    """Of a meme: whether the detector looked at the picture, or read the text alone."""
    read: bool = False
    """Whether the text was read from a picture."""
    other_language: str | None = None
    """The language of the text where the detector was made for others, and judged it all the same."""

    def to_dict(self) -> dict[str, Any]:
        """Return what HTTP returns; of a meme, its text and whether the picture was looked at too."""
        found = {"model": self.model, **self.record}
        if self.other_language is not None:
            found["other_language"] = self.other_language
        if self.looked is not None:
            found |= {"text": self.text, "text_was_read": self.read, "looked_at_picture": self.looked}
        if self.explanation is None:
            return found
        why = self.explanation
        spans = [asdict(weight) for weight in why.weights]
        return found | {"why": {"question": why.question, "label": why.label, "spans": spans}}


def score_text(
    text: str, model: str | Scorer = "embedded", *, lang: str | None = None, why: bool = False
) -> ScoredText:
    """Return one text's scores; `why` explains them. `lang` is detected where it is None."""
    scorer = load_scorer(model)
    scores = scorer.score(one_post(text, lang))
    explanation = explain(text, scorer, lang=lang) if why else None
    other = other_language(scorer, text, lang)
    return ScoredText(text, model_of(scorer), scores, records(scores)[0], explanation, other_language=other)


def score_meme(
    image: Path | Picture,
    text: str | None = None,
    model: str | Scorer = "embedded",
    *,
    lang: str | None = None,
    why: bool = False,
) -> ScoredText:
    """Return one meme's scores. `text` is what stands on the picture; where it is None it is read (extra `memes`).

    A detector that looks at pictures gets picture and text, any other the text alone; `looked` says which it was.
    """
    name = "The image" if isinstance(image, Picture) else str(image)
    picture = image if isinstance(image, Picture) else read_picture(image, name=name)
    scorer = load(model, images=lambda _: picture) if isinstance(model, str) else model
    looks = scorer.abilities.images
    if scorer.abilities.with_images is not None:
        scorer = scorer.abilities.with_images(lambda _: picture)
    reads = text is None and not (looks and scorer.name.startswith("ocr:"))
    words = text or ""
    if reads:
        words = text_of(read_lines(picture))
        if not words and not looks:
            raise UserError(f"No text could be read on {name}. Say what it says: --text '…'")
    posts = one_post(words, lang)
    if looks:
        posts = posts.with_columns(pl.lit("meme").alias("image"))
    scores = scorer.score(posts)
    if looks and not posts["text"][0] and scores.verdicts() == [None]:
        raise UserError(
            f"{name} has one colour, and no text could be read on it: there is nothing to judge. "
            "If it says something: --text '…'"
        )
    if why and looks:
        raise UserError(f"{scorer.name} looks at the picture, so words alone don't explain it. Leave out --explain.")
    explanation = explain(words, scorer, lang=lang) if why else None
    return ScoredText(
        posts["text"][0], model_of(scorer), scores, records(scores)[0], explanation, looked=looks, read=reads,
        other_language=other_language(scorer, posts["text"][0], lang),
    )  # fmt: skip


def score_file(
    file: Annotated[PostSource | Path | str, Options(PostSource)],
    out: Annotated[Path | str, Option("The file to write; '-' is stdout.", metavar="F2")],
    model: Annotated[str | Scorer, Option("The detector: davy model list.", "--model -m", metavar="M")] = "embedded",
    *,
    settings: Annotated[ScoreSettings | None, Options(ScoreSettings)] = None,
    cascade: Annotated[
        bool,
        Option("Let a quick screen clear what is plainly harmless, or read every post.", "--cascade/--no-cascade"),
    ] = True,
    why: Annotated[bool, Option("Say which words carried the decision.", "--explain")] = False,
    resume: Annotated[
        bool | None, Option("Insist on going on where a run stopped, or start afresh.", "--resume/--fresh")
    ] = None,
    images: Annotated[
        Path | None, Option("The folder with the pictures that posts name: ocr:MODEL, meme models.", metavar="DIR")
    ] = None,
    reporter: Reporter = SILENT,
) -> ScoredFile:
    """Score a file and write it with the columns Q, Q.label and verdict added; return what was done.

    `-` is stdin or stdout. `cascade` lets a quick screen clear what is plainly harmless. `why` adds a column of the
    words that carried each decision. `resume` goes on after a kill where it can (None), must (True) or never (False).
    `images` is the folder of the pictures that posts name, for detectors that look at them.
    """
    scorer = load_scorer(model, images=images)
    run = _FileRun(as_source(file), str(out), scorer, settings or ScoreSettings(), reporter, cascade=cascade, why=why)
    return run.run(resume)


class _FileRun:
    """One run over a file. `explainer` reads every post whole: a screen's scores would say nothing about a word."""

    def __init__(
        self,
        source: PostSource,
        out: str,
        scorer: Scorer,
        settings: ScoreSettings,
        reporter: Reporter,
        *,
        cascade: bool,
        why: bool,
    ) -> None:
        self.source, self.out, self.settings, self.reporter = source, out, settings, reporter
        self.scorer = as_cascade(scorer) if cascade else scorer
        self.explainer = scorer if why else None
        self.out_format = None if names_format(out) else source.format
        output_format(out, self.out_format)
        self.verdicts: Counter[str | None] = Counter()
        self.unsupported: Counter[str | None] = Counter()

    def run(self, resume: bool | None) -> ScoredFile:
        began = time.perf_counter()
        path = self.source.path
        format = None if names_format(path) else self.source.format
        with tables.open_table(path, format=format, encoding=self.source.encoding) as table:
            text = post_columns.text_column(table, self.source.text)
            table = post_columns.plain_texts(table, text)
            table = post_columns.with_ids_from(table, self.source.id)
            self.settings = replace(self.settings, text=text)
            check_columns(table.columns, self.scorer, self.settings)
            self.reporter.begin(f"Scoring {short_name(path)}", table.rows)
            if STDIO in (path, self.out):
                if resume:
                    raise UserError("--resume needs files: stdin and stdout can't be taken up again.")
                self._write(self._score(_frames(table)), table)
            else:
                self._write_in_parts(table, resume)
            self.reporter.end()
        posts, without = self.verdicts.total(), self.verdicts.pop(None, 0)
        verdicts = {str(verdict): n for verdict, n in self.verdicts.most_common()}
        unsupported = {str(language): n for language, n in self.unsupported.most_common() if language}
        seconds = time.perf_counter() - began
        without -= sum(unsupported.values())
        return ScoredFile(model_of(self.scorer), self.out, posts, without, verdicts, seconds, unsupported)

    def _write_in_parts(self, table: FileTable, resume: bool | None) -> None:
        file, out = self.source.path, Path(self.out)
        refuse_input(out, file)
        identity = {
            "input": file_hash(file),
            "model": self.scorer.name,
            "version": self.scorer.version,
            "columns": [self.settings.text, self.settings.prefix, self.explainer is not None, self.source.encoding]
            + [self.source.id] * (self.source.id is not None),
        }
        with open_run_folder(out, identity, resume=resume) as parts:
            if parts.rows:
                self.reporter.note(f"Going on after {parts.rows:,} posts that were scored before.")
                self.reporter.advance(parts.rows)
            self._keep_parts(self._score(skip_rows(_frames(table), parts.rows)), parts, table.rows)
            parts.finish(lambda frames: self._write(frames, table))

    def _keep_parts(self, frames: Iterable[pl.DataFrame], parts: RunFolder, rows: int) -> None:
        """Keep what is scored, a part at a time: when it is large, every few seconds, and when the run is stopped."""
        held: list[pl.DataFrame] = []
        saved = time.monotonic()

        def save() -> None:
            nonlocal saved
            if held:
                parts.add(pl.concat(held))
                held.clear()
                parts.save()
                self.reporter.keep(f"{parts.rows:,} of {rows:,} posts, in {parts.folder}")
            saved = time.monotonic()

        try:
            for frame in frames:
                if len(frame) or not (parts.rows or held):
                    held.append(frame)
                if sum(map(len, held)) >= WINDOW or time.monotonic() - saved > SAVE_SECONDS:
                    save()
        finally:
            save()

    def _score(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        scored = score_frames(frames, self.scorer, self.settings, progress=self.reporter.advance)
        if self.explainer is None:
            return scored
        name, replaced = f"{self.settings.prefix}why", self.settings.replace
        return add_reasons(scored, self.explainer, text=self.settings.text, name=name, replace=replaced)

    def _count(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        for frame in frames:
            self.verdicts.update(frame[f"{self.settings.prefix}verdict"].to_list())
            if self.scorer.abilities.refuses_languages:
                self.unsupported.update(frame[f"{self.settings.prefix}unsupported_language"].to_list())
            yield frame

    def _write(self, frames: Iterable[pl.DataFrame], table: FileTable) -> None:
        made = [name for name in added_columns(self.scorer, self.settings.prefix) if name.endswith(PROBABILITIES)]
        json_columns = {*table.json, *made, *([f"{self.settings.prefix}why"] if self.explainer else [])}
        tables.write(self._count(frames), self.out, format=self.out_format, json=json_columns)
        if self.settings.replace:
            note_stale(self.reporter, table.columns, self.scorer, self.settings, why=self.explainer is not None)


def note_stale(
    reporter: Reporter, columns: Sequence[str], scorer: Scorer, settings: ScoreSettings, *, why: bool = False
) -> None:
    """Say which columns of an earlier run are not in the output because this run has no such answers."""
    made = f"{settings.prefix}why" if why else None
    stale = [name for name in stale_columns(columns, scorer, settings) if name != made]
    if stale:
        reporter.note(f"Left out, as an earlier run wrote them and {scorer.name} does not: {', '.join(stale)}.")


def _frames(table: FileTable) -> Iterator[pl.DataFrame]:
    """Yield the table's rows; an empty frame first, so that a file without rows still has its columns."""
    with translate_errors(table.name):
        yield table.frame.head(0).collect()
        yield from table.frame.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")
