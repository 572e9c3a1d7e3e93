"""`davy round replay`: the loop on recorded rounds, with the papers' figures beside ours."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from davy.actions.round_replay import ReplaySettings, replay_rounds
from davy.actions.train import parse_changes
from davy.cli import console
from davy.cli.options import Architectures, EmojiReadings
from davy.rounds.candidates import BASE, EMOJI, TIMES


def replay(
    corpus: Annotated[str, typer.Argument(help="Whose rounds: hatemojibuild or gahd.")],
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="The folder with the corpus's published files.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where every close and the report go.")],
    base: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Rounds 1 to 4 (dynahate), which HatemojiBuild's first target learns from."),
    ] = None,
    architecture: Architectures = None,
    emoji: EmojiReadings = None,
    times: Annotated[
        list[int] | None, typer.Option(metavar="N", help="How often the newest round counts; again for more.")
    ] = None,
    round_: Annotated[
        list[int] | None, typer.Option("--round", metavar="N", help="Replay this round; again for more.")
    ] = None,
    splits: Annotated[str, typer.Option(help="ours (pairs kept together) or official.")] = "ours",
    choose_by: Annotated[str, typer.Option(help="The part that chooses the winner: dev, or test as in the paper.")] = (
        "dev"
    ),
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Change a field of the recipe `hatemoji`.")
    ] = None,
    workers: Annotated[int, typer.Option(help="How many candidates train side by side.")] = 1,
    seed: Annotated[int, typer.Option(help="The seed of splits and trainings.")] = 0,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Train nothing: only measure what the files recorded.")
    ] = False,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Draw report.html as well.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Replay recorded rounds: close each as its people left it, and let the winner meet the next one.

    HatemojiBuild's rounds 5 to 7 follow rounds 1 to 4 (--base). Its files hold no predictions: the error rate is that
    of our target on the next round's originals. GAHD's files hold its targets' predictions: --recorded measures those
    alone, in seconds. Without --architecture the candidates are n-grams with a regression, which need no GPU.

    Examples:

      davy round replay gahd --data gahd/ --recorded --out runs/gahd

      davy round replay hatemojibuild --data hatemojibuild/ --base dynahate/ -a ./minilm --out runs/replay --workers 4
    """
    settings = ReplaySettings(
        tuple(architecture or (BASE,)),
        tuple(emoji or EMOJI),
        tuple(times or TIMES),
        splits,
        choose_by,
        tuple(round_ or ()),
        seed,
        workers,
        parse_changes(set_ or ()),
    )
    with console.ShellReporter() as reporter:
        made = replay_rounds(
            corpus,
            data,
            out,
            settings,
            base=base,
            train=not recorded,
            reporter=reporter,
        )
    if page:
        made.write_page(out, command=shlex.join(console.command_line()), seed=seed)
    console.note(f"Written: {out}/replay.json{', report.html' if page else ''}")
    if json:
        console.json(made.to_dict())
        return
    printed = console.out()
    for table in made.tables():
        printed.print(table.rich())
    for line in made.notes:
        printed.print(line, style="dim", markup=False)
