"""`davy distil`: a small model learns from one or several large ones."""

from __future__ import annotations

from typing import Annotated

from davy.core.options import Option
from davy.shell import console
from davy.shell.verb_command import Run, verb_command
from davy.training import distil_action as action
from davy.training.train import TrainingRun


@verb_command(action.distil, "files teacher encoder out [dev] gold encoding hard seed set json")
def distil(
    run: Run[TrainingRun],
    json: Annotated[bool, Option("Print the record as JSON.")] = False,
) -> None:
    """Distil teachers into a student, on labelled and unlabelled posts.

    The student learns the teachers' mean probabilities for the questions that they share.

    Examples:

      davy distil train.csv reddit.csv --teacher runs/a/seed-1/model --teacher runs/a/seed-2/model
      --encoder ./minilm --dev dev.csv --out runs/student --set epochs=8 --set rate=3e-4
    """

    made = run(command=console.command_line())
    if json:
        console.json(made.record)
    else:
        console.note(f"Written: {made.model}. Make it small and fast: davy export {made.model} --out my-model")
