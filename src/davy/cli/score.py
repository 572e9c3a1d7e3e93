"""`davy score`: score a file of posts, or one text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.cli import console
from davy.cli.options import Format, TextColumn
from davy.core.errors import UserError

if TYPE_CHECKING:
    import polars as pl
    from rich.text import Text

    from davy.core.scorer import Scorer
    from davy.files.file_table import FileTable
    from davy.score.batch import ScoreSettings
    from davy.score.explain import Explanation

BAR = 20


def score(
    file: Annotated[str | None, typer.Argument(metavar="F", help="Posts to score; '-' is stdin.")] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="M", help="The detector: davy model list.")
    ] = "embedded",
    out: Annotated[str | None, typer.Option(metavar="F2", help="The file to write; '-' is stdout.")] = None,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="Score this text instead of a file.")] = None,
    image: Annotated[
        Path | None, typer.Option(metavar="F", help="Score the text on this picture; --text adds a caption to it.")
    ] = None,
    lang: Annotated[str | None, typer.Option(help="The language of --text, such as de; else detected.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say which words carried the decision.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    text_column: TextColumn = None,
    format: Format = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of F, where it is not UTF-8 or UTF-16.")] = None,
    prefix: Annotated[str, typer.Option(metavar="P", help="Call the added columns P.hate, P.verdict …")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Write over score columns that are there.")] = False,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="How many posts the detector gets at once; else what it likes best.")
    ] = None,
    cascade: Annotated[
        bool,
        typer.Option(
            "--cascade/--no-cascade", help="Let a quick screen clear what is plainly harmless, or read every post."
        ),
    ] = True,
    resume: Annotated[
        bool | None,
        typer.Option("--resume/--no-resume", help="Insist on going on where a run stopped, or start afresh."),
    ] = None,
) -> None:
    """Score a file of posts, or one text.

    The output keeps the input's columns and adds Q (the probability of yes), Q.label and verdict. A run that
    was stopped goes on when the same command is given again.

    Examples:

      davy score posts.csv --model embedded --out scored.parquet

      davy score --text "What a day" --explain

      davy score --image meme.png

      davy score posts.jsonl --model keywords:words.txt@edos --prefix words --out scored.jsonl

      davy score posts.csv --no-cascade --out scored.csv

      cat posts.csv | davy score - --format csv --model majority --out -
    """
    from davy.cli import model_files
    from davy.models.cascade_screen import as_cascade
    from davy.models.load import load
    from davy.score.batch import ScoreSettings

    one = text is not None or image is not None
    if (file is None) != one:
        raise UserError("Give a file, or --text or --image: davy score posts.csv --out scored.csv")
    if one and out is not None:
        raise UserError("--out goes with a file. For one text, --json prints what HTTP would return.")
    if file is not None and out is None:
        raise UserError("Say where to write: --out scored.csv, or --out - for stdout.")
    if json and out == "-":
        raise UserError("--json and --out - both want stdout. Write the posts to a file.")
    settings = ScoreSettings(batch=batch, prefix=f"{prefix}." if prefix else "", replace=replace)
    scorer = load(model, read=model_files.read_posts)
    if one:
        _score_text(_with_picture(text, image), lang, scorer, explain=explain, json=json, read=image is not None)
    else:
        quick = as_cascade(scorer) if cascade else scorer
        reader = scorer if explain else None
        whole = _File(str(file), str(out), format, encoding, quick, settings, text_column, reader)
        whole.run(json=json, resume=resume)


class _File:
    """One run over a file: reads, scores, writes, and says what was found. `reader` explains, where that is asked for.

    It reads every post whole: a screen's probability less the encoder's would say nothing about a word.
    """

    def __init__(
        self,
        file: str,
        out: str,
        format: str | None,
        encoding: str | None,
        scorer: Scorer,
        settings: ScoreSettings,
        text_column: str | None,
        reader: Scorer | None,
    ) -> None:
        from davy.files.formats import format_of

        self.file, self.out, self.scorer, self.settings = file, out, scorer, settings
        self.text_column, self.encoding, self.reader = text_column, encoding, reader
        self.format = None if _names_format(file) else format
        self.out_format = None if _names_format(out) else format
        format_of(out, self.out_format)
        self.verdicts: Counter[str | None] = Counter()
        self.began = time.perf_counter()

    def run(self, *, json: bool, resume: bool | None) -> None:
        """Score the file and print a summary."""
        from davy.files import post_columns, tables
        from davy.score.batch import check_columns

        with tables.open_table(self.file, format=self.format, encoding=self.encoding) as table:
            text = post_columns.text_column(table, self.text_column)
            self.settings = _with_text(self.settings, text)
            check_columns(table.columns, self.scorer, self.settings)
            with console.progress(f"Scoring {Path(self.file).name}", total=table.rows) as advance:
                if "-" in (self.file, self.out):
                    if resume:
                        raise UserError("--resume needs files: stdin and stdout can't be taken up again.")
                    self._write(self._scored(_frames(table), advance), table)
                else:
                    self._write_in_parts(table, advance, resume)
        self._say(json)

    def _write_in_parts(self, table: FileTable, advance: Any, resume: bool | None) -> None:
        from davy.score.resume import input_hash, open_parts, skip_rows, write_parts

        if not Path(self.out).parent.is_dir():
            raise UserError(f"The folder {Path(self.out).parent} does not exist. Make it first.")
        if Path(self.out).exists() and Path(self.out).samefile(self.file):
            raise UserError(f"{self.out} is the input. Write to another file, then replace the input yourself.")
        run = {
            "input": input_hash(Path(self.file)),
            "model": self.scorer.name,
            "version": self.scorer.version,
            "columns": [self.settings.text, self.settings.prefix, self.reader is not None, self.encoding],
        }
        with open_parts(Path(self.out), run, resume=resume) as parts:
            if parts.rows:
                console.note(f"Going on after {parts.rows:,} posts that were scored before.")
                advance(parts.rows)
            for frame in self._scored(skip_rows(_frames(table), parts.rows), advance):
                if len(frame) or not parts.rows:
                    parts.add(frame)
            write_parts(parts, lambda frames: self._write(self._counted(frames), table))

    def _scored(self, frames: Iterable[pl.DataFrame], advance: Any) -> Iterator[pl.DataFrame]:
        from davy.score.batch import score_frames
        from davy.score.explain import add_reasons

        scored = score_frames(frames, self.scorer, self.settings, progress=advance)
        if self.reader is None:
            return scored
        return add_reasons(scored, self.reader, text=self.settings.text, name=f"{self.settings.prefix}why")

    def _counted(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        for frame in frames:
            self.verdicts.update(frame[f"{self.settings.prefix}verdict"].to_list())
            yield frame

    def _write(self, frames: Iterable[pl.DataFrame], table: FileTable) -> None:
        from davy.files import tables

        json_columns = {*table.json, *([f"{self.settings.prefix}why"] if self.reader else [])}
        tables.write(frames, self.out, format=self.out_format, json=json_columns)

    def _say(self, json: bool) -> None:
        from davy.score.result import model_of

        if "-" in (self.file, self.out):
            return
        rows, seconds = self.verdicts.total(), time.perf_counter() - self.began
        unread = self.verdicts.pop(None, 0)
        if json:
            record = {"model": model_of(self.scorer), "out": self.out, "posts": rows, "without_score": unread}
            console.json({**record, "verdicts": dict(self.verdicts.most_common()), "seconds": round(seconds, 3)})
            return
        share = max(1, rows)
        found = [(verdict, f"{n:,}", f"{n / share:.1%}") for verdict, n in self.verdicts.most_common(12)]
        console.table(["verdict", "posts", "share"], found, right=("posts", "share"))
        more = len(self.verdicts) - len(found)
        console.note(
            (f"and {more} more verdicts. " if more > 0 else "")
            + (f"Without text or answer, so without score: {unread:,}. " if unread else "")
            + f"{rows:,} posts scored by {_name_and_version(self.scorer)} in {seconds:.1f} s: {self.out}"
        )


def _with_picture(text: str | None, image: Path | None) -> str:
    """Return the text with what stands on the picture."""
    if image is None:
        return str(text)
    from davy.image.ocr import read_lines, text_of
    from davy.image.picture import read_picture

    found = text_of(read_lines(read_picture(image, name=str(image))))
    if not found and not text:
        raise UserError(f"No text could be read on {image}. Say what it shows: --text '…'")
    return "\n".join(part for part in (text, found) if part)


def _score_text(text: str, lang: str | None, scorer: Scorer, *, explain: bool, json: bool, read: bool) -> None:
    """Print one text's verdict and each question's answer; `read` shows the text, which came from a picture."""
    from davy.core.scorer import applicable_questions
    from davy.score.explain import explain as explained
    from davy.score.result import model_of, one_post, records

    scores = scorer.score(one_post(text, lang))
    record = records(scores)[0]
    reasons = explained(text, scorer, lang=lang) if explain else None
    if json:
        why = None if reasons is None else {"question": reasons.question, "label": reasons.label}
        spans = [] if reasons is None else [asdict(weight) for weight in reasons.weights]
        console.json(
            {
                "model": model_of(scorer),
                **record,
                **({"text": text} if read else {}),
                **({"why": {**why, "spans": spans}} if why else {}),
            }
        )
        return
    out = console.out()
    if read:
        out.print(_style(" / ".join(console.masked_text(text).splitlines()), "italic"))
    out.print(_style(record["verdict"] or "no answer", "bold"))
    labels = {name: answer["label"].split("|") for name, answer in record["questions"].items()}
    asked = applicable_questions([question for question in scores.questions if question.name in labels], labels)
    for name, answer in record["questions"].items():
        out.print(_line(name, answer) if name in asked else _style(f"{name:<14} not asked", "dim"))
    if reasons is not None:
        out.print(_explanation_line(reasons))
    out.print(_style(_name_and_version(scorer), "dim"))


def _name_and_version(scorer: Scorer) -> str:
    return f"{scorer.name} (version {scorer.version})"


def _line(name: str, answer: dict[str, Any]) -> Text:
    """Return a question's name, a bar, the probability and the label."""
    likeliest = answer.get("probability", max(answer["labels"].values()))
    filled = round(likeliest * BAR)
    bar = "█" * filled + "░" * (BAR - filled)
    return _style(f"{name:<14} {bar} {likeliest:5.3f}  {answer['label'] or 'none'}", "")


def _explanation_line(reasons: Explanation) -> Text:
    """Return the text, masked, with the words that carried the decision set off."""
    strongest = sorted(reasons.strongest(), key=lambda weight: weight.start)
    line = _style(f"{reasons.question}: {reasons.label} — ", "")
    at = 0
    for weight in strongest:
        line.append(console.masked_text(_shorten(reasons.text[at : weight.start])))
        line.append(
            f"[{console.masked_text(reasons.text[weight.start : weight.end])} {weight.weight:+.2f}]", "bold reverse"
        )
        at = weight.end
    line.append(console.masked_text(_shorten(reasons.text[at:])))
    return line


def _shorten(text: str, most: int = 400) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def _style(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style)


def _frames(table: FileTable) -> Iterator[pl.DataFrame]:
    """Yield the table's rows; an empty frame first, so that a file without rows still has its columns."""
    from davy.files.file_table import translate_errors

    with translate_errors(table.name):
        yield table.frame.head(0).collect()
        yield from table.frame.collect_batches(chunk_size=10_000, maintain_order=True, engine="streaming")


def _with_text(settings: ScoreSettings, text: str) -> ScoreSettings:
    from dataclasses import replace

    return replace(settings, text=text)


def _names_format(path: str) -> bool:
    """Return whether a file's name says its format."""
    from davy.files.formats import format_of

    try:
        format_of(path)
    except UserError:
        return False
    return True
