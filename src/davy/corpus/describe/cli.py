"""`davy describe`: what is in a corpus, as a page with pictures, JSON and the papers that go with it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from davy.core.errors import UserError, nearest
from davy.core.options import Option
from davy.corpus.describe import describe_corpus as action
from davy.corpus.describe.memes import answer_table, class_table
from davy.corpus.describe.page import CLOUD_SIZES, label_table, overview
from davy.files.input_paths import join_paths
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

if TYPE_CHECKING:
    from davy.corpus.describe.describe import CorpusStatistics
    from davy.corpus.describe.documents import CorpusDocuments
    from davy.corpus.describe.memes import MemeStatistics


@verb_command(
    action.describe,
    "files out corpus scheme gold label_none name about at_least lang images clouds text_column id_column "
    "encoding format json latex",
)
def describe(
    run: Run[action.DescribedCorpus],
    files: list[str],
    corpus: str | None,
    images: Path | None,
    out: Annotated[Path | None, Option("Write the report, pictures and papers here.", metavar="DIR")] = None,
    cloud_size: Annotated[
        str, Option("Size of words in clouds: npmi, or frequency in the class.", "--clouds", metavar="BY")
    ] = "npmi",
    json: Annotated[bool, Option("Print the description as JSON.")] = False,
    latex: Annotated[bool, Option("Print the tables as LaTeX, for booktabs.")] = False,
) -> None:
    """Describe a corpus: labels, sources, lengths, emoji, words by class with NPMI, word clouds, papers.

    DIR gets report.html, description.json, words.csv, clouds/, data_statement.md, datasheet.md, harm.md and README.md
    (a Hugging Face dataset card). What only people can answer is marked OPEN; answer it in a file and give --about.
    Memes are also described as in the Hateful Memes paper: kinds by split, words and objects by class.

    Examples:

      davy describe edos_labelled_aggregated.csv --corpus edos --out about-edos

      davy describe posts.csv --gold hate=label --about answers.yaml --out about

      davy describe hateful_memes/ --corpus hateful-memes --out about-memes
    """

    console.use_latex(latex, json=json)
    if out is not None and out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file. Name a folder for the report.")
    if cloud_size not in CLOUD_SIZES:
        raise UserError(
            f"--clouds {cloud_size!r} is not known. Use npmi or frequency.{nearest(cloud_size, CLOUD_SIZES)}"
        )
    folder = Path(join_paths(files))
    described = run(images=images or (folder if corpus is not None and folder.is_dir() else None))
    if out is not None:
        action.write_description(described, out, cloud_size=cloud_size, command=shlex.join(console.command_line()))
    if json:
        console.json(described.to_dict())
    else:
        _print(described.statistics, described.documents)
        if described.memes is not None:
            _print_memes(described.memes)
    if out is not None:
        words = "words.csv, clouds/" if (out / "words.csv").is_file() else "clouds/"
        console.note(f"Written: {out}/report.html, description.json, {words} and four papers")


def _print_memes(memes: MemeStatistics) -> None:
    console.show(class_table(memes))
    for question in memes.answers:
        console.show(answer_table(memes, question))
    for name, frequent in (("word", memes.words), ("object", memes.objects)):
        for each, ranked in frequent.items():
            listed = ", ".join(f"{console.masked_text(one.name)} {one.share:.1%}" for one in ranked[:5])
            console.line(f"{name}s of {each}: {listed or 'none'}")
    if memes.objects_note:
        console.note(memes.objects_note)


def _print(found: CorpusStatistics, papers: CorpusDocuments) -> None:

    console.show(overview(found))
    if not found.levels:
        console.note("No settled answers were found. Name their columns: --gold Q=COLUMN")
    for level in found.levels:
        console.line()
        console.line(level.question)
        console.show(label_table(found, level))
    for topic in found.topics[:10]:
        console.note(
            f"Topic word: {console.masked_text(topic.word)!r} goes with {topic.question}: {topic.label}"
            f" ({topic.posts} of {topic.posts_with_word} posts, NPMI {topic.npmi:.2f})"
        )
    if len(found.topics) > 10:
        console.note(f"… and {len(found.topics) - 10} more topic words; the report lists them.")
    console.note(f"{papers.answered} questions of the papers are answered, {len(papers.open)} are open (--about F).")
