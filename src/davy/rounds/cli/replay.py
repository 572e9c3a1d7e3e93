"""`davy round replay`: the loop on recorded rounds, with the papers' figures beside ours."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from davy.core.options import Option
from davy.rounds.replay import Replay, replay_rounds
from davy.shell import console
from davy.shell.verb_command import Run, verb_command


@verb_command(
    replay_rounds,
    "corpus data out base architecture emoji times round splits choose_by set workers seed recorded page json",
)
def replay(
    run: Run[Replay],
    out: Path,
    seed: int,
    recorded: Annotated[bool, Option("Train nothing: only measure what the files recorded.")] = False,
    page: Annotated[bool, Option("Draw report.html as well.", "--page/--no-page")] = True,
    json: Annotated[bool, Option("Print the result as JSON.")] = False,
) -> None:
    """Replay recorded rounds: close each as its people left it, and let the winner meet the next one.

    HatemojiBuild's rounds 5 to 7 follow rounds 1 to 4 (--base). Its files hold no predictions: the error rate is that
    of our target on the next round's originals. GAHD's files hold its targets' predictions: --recorded measures those
    alone, in seconds. Without --architecture the candidates are n-grams with a regression, which need no GPU.

    Examples:

      davy round replay gahd --data gahd/ --recorded --out runs/gahd

      davy round replay hatemojibuild --data hatemojibuild/ --base dynahate/ -a ./minilm --out runs/replay --workers 4
    """
    made = run(train=not recorded)
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
