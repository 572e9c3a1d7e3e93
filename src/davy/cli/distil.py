"""`davy distil`: a small model learns from one or several large ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.cli import console


def distil(
    files: Annotated[list[str], typer.Argument(metavar="F…", help="Posts, labelled or not; several are joined.")],
    teacher: Annotated[list[str], typer.Option("--teacher", metavar="M", help="A model; again for more.")],
    encoder: Annotated[str, typer.Option(metavar="NAME", help="What the student starts from: a folder or hub name.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The run's folder; give it again to go on.")],
    dev: Annotated[str | None, typer.Option(metavar="F", help="Labelled posts to choose the checkpoint by.")] = None,
    hard: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How much settled answers count beside the teachers'.")
    ] = 0.3,
    seed: Annotated[int, typer.Option(help="The seed.")] = 1,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="epochs, rate, batch, emoji …")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Distil teachers into a student, on labelled and unlabelled posts.

    The student learns the teachers' mean probabilities for the questions that they share.

    Examples:

      davy distil train.csv reddit.csv --teacher runs/a/seed-1/model --teacher runs/a/seed-2/model
      --encoder ./minilm --dev dev.csv --out runs/student --set epochs=8 --set rate=3e-4
    """
    from davy.cli.train import check_out, parse_changes, print_evaluation, read_joined
    from davy.files import tables as collected
    from davy.models.load import load
    from davy.train import run_record
    from davy.train.config import from_values, with_changes
    from davy.train.distil import distil as distilled

    config = with_changes(
        from_values({"name": "student", "encoder": encoder, "rate": 1e-4}, "the defaults"), parse_changes(set_)
    )
    check_out(out)
    teachers = [load(name, read=collected.batches) for name in teacher]
    posts = read_joined(files, None)
    judged = read_joined([dev], None) if dev else None
    console.note(f"{len(teachers)} teachers, {len(posts)} posts")
    done = distilled(posts, judged, teachers, config, out, hard_share=hard, seed=seed, tell=print_evaluation)
    data = {
        "posts": len(posts),
        "hash": run_record.data_hash(posts),
        "teachers": [f"{t.name} {t.version}" for t in teachers],
    }
    written = run_record.write_run(out, "distil", config, data, {seed: done.history})
    labels = {question.name: list(question.label_names) for question in done.scorer.questions}
    (done.folder / "card.md").write_text(
        run_record.model_card(config, data, written["summary"], labels), encoding="utf-8"
    )
    run_record.write_manifest(done.folder)
    if json:
        console.json(written)
    else:
        console.note(f"Written: {done.folder}. Make it small and fast: davy export {done.folder} --out my-model")
