"""`davy pretrain`: teach an encoder the language of unlabelled posts before it is fine-tuned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from davy.core.options import Option
from davy.shell import console
from davy.shell.verb_command import Run, verb_command
from davy.training import distil_action as action


@verb_command(action.pretrain, "files encoder out encoding hide seed set json")
def pretrain(
    run: Run[dict[str, Any]],
    out: Path,
    json: Annotated[bool, Option("Print the record as JSON.")] = False,
) -> None:
    """Continue an encoder's pre-training: it guesses whole words that are hidden in your posts.

    The folder it writes is an encoder for davy train. A killed run goes on when the same command is given again.

    Examples:

      davy pretrain reddit.csv --encoder ./minilm --out runs/minilm-reddit --set epochs=2 --set rate=1e-4

      davy train train.csv --encoder runs/minilm-reddit --scheme edos --out runs/edos
    """

    record = run(command=console.command_line())
    if json:
        console.json(record)
    else:
        console.note(f"Written: {out}. Fine-tune it: davy train F --encoder {out} --out runs/mine")
