"""`davy calibrate`: temperatures and thresholds of a detector, set on posts with settled answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from davy.core.options import Option
from davy.detectors.calibrated import CalibratedScorer, Calibration
from davy.files.atomic import replaced_folder, require_empty_folder
from davy.shell import console
from davy.shell.verb_command import Run, verb_command
from davy.training import calibrate as action


@verb_command(
    action.calibrate,
    "model files out threshold temperature split gold corpus scheme text_column id_column encoding json",
)
def calibrate(
    run: Run[tuple[CalibratedScorer, Calibration]],
    out: Annotated[Path, Option("The new model folder.", metavar="DIR")],
    json: Annotated[bool, Option("Print before and after as JSON.")] = False,
) -> None:
    """Set a detector's temperatures and thresholds on posts, and print its figures before and after.

    A temperature makes 0.9 mean nine in ten; a threshold says from where on a yes/no question is a yes.

    Examples:

      davy calibrate mine/seed-1/model dev.csv --out mine-calibrated

      davy calibrate embedded-en edos/ --corpus edos --split dev --threshold precision=0.9 --out careful
    """
    require_empty_folder(out)
    calibrated, found = run()
    with replaced_folder(out) as draft:
        calibrated.save(draft)
    if json:
        console.json({**found.to_dict(), "model": str(out)})
        return
    show_calibration(found)
    console.note(f"Written: {out}. Use it: davy score posts.csv --model {out}")


def show_calibration(found: Calibration) -> None:
    """Print each question's numbers and figures before and after, and what to be wary of."""
    rows = [
        (question, figure, f"{before:.3f}", f"{after:.3f}", f"{found.posts[question]:,}")
        for question, figure, before, after in found.frame.iter_rows()
    ]
    console.table(["question", "figure", "before", "after", "posts"], rows, right=["before", "after", "posts"])
    for warning in found.warnings:
        console.note(f"Warning: {warning}")
