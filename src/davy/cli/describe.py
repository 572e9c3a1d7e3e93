"""`davy describe`: what is in a corpus, as a page with pictures, JSON and the papers that go with it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy.cli import console
from davy.cli.options import Corpus, Format, IdColumn, TextColumn
from davy.core.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from davy.core.scheme import Scheme
    from davy.describe.describe import CorpusStatistics
    from davy.describe.documents import CorpusDocuments


def describe(
    file: Annotated[str, typer.Argument(metavar="F", help="Posts; '-' is stdin. With --corpus, or a folder.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the report, pictures and papers here.")] = None,
    corpus: Corpus = None,
    scheme: Annotated[
        str | None, typer.Option(metavar="S", help="The scheme of the answers; else the corpus's.")
    ] = None,
    gold: Annotated[
        list[str] | None, typer.Option("--gold", metavar="[Q=]C", help="A column with answers to Q; again for more.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call the corpus; else the file's name.")
    ] = None,
    about: Annotated[
        Path | None, typer.Option(metavar="F", help="Your answers to the papers' open questions, as YAML.")
    ] = None,
    least: Annotated[int, typer.Option("--least", metavar="N", min=1, help="Leave out words in fewer posts.")] = 5,
    lang: Annotated[
        list[str] | None, typer.Option("--lang", metavar="L", help="Leave out function words of this language; en, de.")
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: Format = None,
    json: Annotated[bool, typer.Option("--json", help="Print the description as JSON.")] = False,
) -> None:
    """Describe a corpus: labels, sources, lengths, emoji, words by class with NPMI, word clouds, papers.

    DIR gets report.html, description.json, words.csv, clouds/, data_statement.md, datasheet.md, harm.md and README.md
    (a Hugging Face dataset card). What only people can answer is marked OPEN; answer it in a file and give --about.

    Examples:

      davy describe edos_labelled_aggregated.csv --corpus edos --out about-edos

      davy describe posts.csv --gold hate=label --about answers.yaml --out about
    """
    from davy.describe.describe import EN_DE
    from davy.describe.describe import describe as described
    from davy.describe.documents import read_about, write_documents

    answers = read_about(about) if about is not None else {}
    _check_out(out)
    posts, rules = _posts(file, corpus, scheme, format, text_column, id_column, gold or [])
    langs = tuple(lang) if lang else EN_DE
    found = described(posts, name=name or corpus or Path(file).name, scheme=rules, least=least, langs=langs)
    papers = write_documents(found, posts.columns, answers)
    if out is not None:
        _write(found, papers, out)
    if json:
        console.json(found.to_dict() | {"open_questions": list(papers.open)})
    else:
        _print(found, papers)
    if out is not None:
        console.note(f"Written: {out}/report.html, description.json, words.csv, clouds/ and four papers")


def _check_out(out: Path | None) -> None:
    if out is not None and out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file. Name a folder for the report.")


def _posts(
    file: str,
    corpus: str | None,
    scheme: str | None,
    format: str | None,
    text: str | None,
    id: str | None,
    gold: list[str],
) -> tuple[pl.DataFrame, Scheme | None]:
    """Return all posts, with columns `Q.gold` for what --gold names, and the scheme."""
    import polars as pl

    from davy import schemes
    from davy.collect import corpora
    from davy.files import post_columns, tables
    from davy.files.file_table import require_column, translate_errors

    if corpus is not None:
        if text or id or format:
            raise UserError("--corpus knows the file's columns: leave out --text-column, --id-column, --format.")
        loaded = corpora.load(corpus, file)
        rows, scheme = loaded.posts.collect(), scheme or loaded.scheme
    else:
        if Path(file).is_dir():
            raise UserError(f"{file} is a folder. Name a file, or say which public corpus it holds: --corpus NAME.")
        with tables.open_table(file, format=format) as table:
            made = post_columns.as_posts(table, text=text, id=id)
            with translate_errors(table.name):
                rows = made.frame.collect()
    for given in gold:
        question, _, column = given.rpartition("=")
        require_column(column, rows.columns, file, "--gold")
        name = question or column.removesuffix(".gold")
        rows = rows.with_columns(pl.col(column).cast(pl.String).alias(f"{name}.gold"))
    return rows, schemes.load(scheme) if scheme else None


def _write(found: CorpusStatistics, papers: CorpusDocuments, out: Path) -> None:
    """Write everything into a folder, each file whole; the report last, since its presence means all is there."""
    import json

    import polars as pl

    from davy.describe.page import clouds, page
    from davy.files.atomic import write_text

    try:
        (out / "clouds").mkdir(parents=True, exist_ok=True)
        for (question, label), picture in clouds(found).items():
            stem = "".join(c if c.isalnum() else "-" for c in f"{question}-{label}").strip("-").lower()[:80]
            picture.write(out / "clouds" / f"{stem}.svg")
            picture.write(out / "clouds" / f"{stem}.png")
        texts = {
            "data_statement.md": papers.statement, "datasheet.md": papers.datasheet, "harm.md": papers.harm,
            "README.md": papers.card,
            "description.json": json.dumps(found.to_dict(), ensure_ascii=False, indent=1) + "\n",
        }  # fmt: skip
        for file, text in texts.items():
            write_text(out / file, text)
        frames = [frame.with_columns(question=pl.lit(q)) for q, frame in found.words.items()]
        if frames:
            pl.concat(frames).select("question", pl.exclude("question")).write_csv(out / "words.csv")
    except OSError as error:
        raise UserError(f"Can't write in {out}: {error.strerror}.") from None
    page(found, papers, command=shlex.join(["davy", *sys.argv[1:]])).write(out / "report.html")


def _print(found: CorpusStatistics, papers: CorpusDocuments) -> None:
    from davy.describe.page import label_table, overview

    console.out().print(overview(found).rich())
    for level in found.levels:
        console.out().print(f"\n{level.question}")
        console.out().print(label_table(found, level).rich())
    for topic in found.topics[:10]:
        console.note(
            f"Topic word: {console.masked_text(topic.word)!r} goes with {topic.question}: {topic.label}"
            f" ({topic.posts} of {topic.posts_with_word} posts, NPMI {topic.npmi:.2f})"
        )
    if len(found.topics) > 10:
        console.note(f"… and {len(found.topics) - 10} more topic words; the report lists them.")
    console.note(f"{papers.answered} questions of the papers are answered, {len(papers.open)} are open (--about F).")
