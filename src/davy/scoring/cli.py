"""`davy score`: score a file of posts, or one text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from davy.core.errors import UserError
from davy.core.options import Option
from davy.engines.shards import open_engine, uses_shards
from davy.files.input_paths import join_paths
from davy.scoring.score_file import ScoredFile, score_file, score_meme, score_text
from davy.scoring.score_shards import score_shards
from davy.shell import console
from davy.shell.options import ClusterAddress, ClusterWorkers, EngineName
from davy.shell.verb_command import Run, verb_command

if TYPE_CHECKING:
    from rich.text import Text

    from davy.scoring.explain import Explanation
    from davy.scoring.score_file import ScoredText

BAR = 20
OF_FILES: Mapping[str, object] = {
    "images": None, "text_column": None, "id_column": None, "format": None, "encoding": None, "prefix": None,
    "replace": False, "batch": None, "resume": None, "engine": "local", "address": None, "workers": None,
}  # fmt: skip
"""Options that go with a file and not with one text, and what each is when it is left out."""


@verb_command(
    score_file,
    "[files] model [out] text image images lang explain json text_column id_column format encoding prefix replace "
    "batch cascade resume engine address workers",
)
def score(
    run: Run[ScoredFile],
    files: list[str] | None,
    model: str,
    out: str | None,
    explain: bool,
    cascade: bool,
    resume: bool | None,
    images: Path | None,
    text: Annotated[str | None, Option("Score this text instead of a file.", metavar="TEXT")] = None,
    image: Annotated[
        Path | None, Option("Score this meme; --text is what it says, else it is read.", metavar="F")
    ] = None,
    lang: Annotated[str | None, Option("The language of --text, such as de; else detected.")] = None,
    json: Annotated[bool, Option("Print the result as JSON.")] = False,
    engine: EngineName = "local",
    address: ClusterAddress = None,
    workers: ClusterWorkers = None,
) -> None:
    """Score a file of posts, one text, or one meme.

    The output keeps the input's columns and adds Q (the probability of yes), Q.label and verdict. A run that
    was stopped goes on when the same command is given again. A folder or URL of Parquet shards becomes a folder
    of shards; --engine ray scores them on a Ray cluster.

    Examples:

      davy score posts.csv --model embedded --out scored.parquet

      davy score january.csv february.jsonl 'older/*.parquet' --out scored.parquet

      davy score --text "What a day" --explain

      davy score --image meme.png

      davy score --image meme.png --text "what the meme says" --model memes/concat

      davy score memes.jsonl --images img/ --model ocr:embedded --out scored.jsonl

      davy score posts.jsonl --model keywords:words.txt@edos --prefix words --out scored.jsonl

      davy score posts.csv --no-cascade --out scored.csv

      cat posts.csv | davy score - --format csv --model majority --out -

      davy score shards/ --out scored/ --engine ray --address 10.0.0.1:6379

      davy score s3://archive/posts --out s3://archive/scored --engine ray --address auto
    """

    one = text is not None or image is not None
    file = join_paths(files) if files else None
    if (file is None) != one:
        raise UserError("Give a file, or --text or --image: davy score posts.csv --out scored.csv")
    if one and out is not None:
        raise UserError("--out goes with a file. For one text, --json prints what HTTP would return.")
    if file is not None and out is None:
        raise UserError("Say where to write: --out scored.csv, or --out - for stdout.")
    if json and out == "-":
        raise UserError("--json and --out - both want stdout. Write the posts to a file.")
    if file is not None and lang is not None:
        raise UserError("--lang goes with --text or --image. In a file, a column lang says each post's language.")
    if one:
        given = next((key for key, default in OF_FILES.items() if run.given[key] not in (default, "")), None)
        if given is not None:
            raise UserError(f"--{given.replace('_', '-')} goes with a file. Leave it out for one text or meme.")
        if image is None:
            _show_text(score_text(str(text), model, lang=lang, why=explain), json=json)
        else:
            _show_text(score_meme(image, text, model, lang=lang, why=explain), json=json)
        return
    if uses_shards(str(file), str(out), engine, address, workers):
        if explain or images is not None or run.given["id_column"] is not None:
            raise UserError("--explain, --images and --id-column go with one file, not with shards.")
        given_source, settings = run.arguments["file"], run.arguments.get("settings")
        with console.ShellReporter() as reporter, open_engine(engine, address, workers) as opened:
            scored = score_shards(
                given_source,
                str(out),
                model,
                settings=settings,
                cascade=cascade,
                resume=resume,
                engine=opened,
                reporter=reporter,
            )
        _show_file(scored, json=json)
        return
    scored = run()
    if "-" not in (file, out):
        _show_file(scored, json=json)


def _show_file(scored: ScoredFile, *, json: bool) -> None:
    """Print how often each verdict was given."""
    if json:
        console.json(scored.to_dict())
        return
    share = max(1, scored.posts)
    rows = [(verdict, f"{n:,}", f"{n / share:.1%}") for verdict, n in list(scored.verdicts.items())[:12]]
    console.table(["verdict", "posts", "share"], rows, right=("posts", "share"))
    more = len(scored.verdicts) - len(rows)
    without = scored.without_score
    console.note(
        (f"and {more} more verdicts. " if more > 0 else "")
        + (f"Without text or answer, so without score: {without:,}. " if without else "")
        + (f"Not judged, as no detector reads their language: {_languages(scored)}. " if scored.unsupported else "")
        + f"{scored.posts:,} posts scored by {_name_and_version(scored.model)} in {scored.seconds:.1f} s: {scored.out}"
    )


def _languages(scored: ScoredFile) -> str:
    return ", ".join(f"{language} {n:,}" for language, n in scored.unsupported.items())


def _show_text(scored: ScoredText, *, json: bool) -> None:
    """Print one text's or meme's verdict and each question's answer."""

    record = scored.record
    if json:
        console.json(scored.to_dict())
        return
    out = console.out()
    if scored.read:
        out.print(_style(" / ".join(console.masked_text(scored.text).splitlines()), "italic"))
    if scored.looked is not None:
        console.note(_what_was_scored(scored))
    if scored.other_language is not None:
        made_for = scored.model["name"]
        console.note(f"{made_for} was not made for this text's language ({scored.other_language}): don't rely on it.")
    language = record.get("unsupported_language")
    if language:
        out.print(_style(f"not judged: no detector reads its language ({language})", "bold"))
        out.print(_style(f"{_name_and_version(scored.model)}; --lang en or --lang de judges it as that", "dim"))
        return
    out.print(_style(record["verdict"] or "no answer", "bold"))
    for question in scored.scores.questions:
        answer, there = record["questions"].get(question.name), scored.scores.has_answer(question)
        if answer is not None:
            out.print(_line(question.name, answer))
        elif there is None or there[0]:
            out.print(_style(f"{question.name:<14} not asked", "dim"))
    if scored.explanation is not None:
        out.print(_explanation_line(scored.explanation))
    out.print(_style(_name_and_version(scored.model), "dim"))


def _what_was_scored(scored: ScoredText) -> str:
    """Return in words what of a meme was scored."""
    source = "the text read from the picture" if scored.read else "the text given"
    if scored.looked:
        return f"{scored.model['name']} scored the picture and {source}."
    return (
        f"{scored.model['name']} scored {source} alone: it does not look at pictures. embedded-memes-pictures and "
        "models of davy meme train do."
    )


def _name_and_version(model: dict[str, Any]) -> str:
    return f"{model['name']} (version {model['version']})"


def _line(name: str, answer: dict[str, Any]) -> Text:
    """Return a question's name, a bar, the probability and the label."""
    likeliest = answer.get("probability", max(answer["labels"].values()))
    filled = round(likeliest * BAR)
    bar = "█" * filled + "░" * (BAR - filled)
    doubt = " (unsure)" if answer.get("unsure") else ""
    return _style(f"{name:<14} {bar} {likeliest:5.3f}  {answer['label'] or 'none'}{doubt}", "")


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
