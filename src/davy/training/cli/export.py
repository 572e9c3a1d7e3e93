"""`davy export`: a trained model as an ONNX folder that runs without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from davy.core.options import Option
from davy.detectors.calibrated import Calibration
from davy.shell import console
from davy.shell.verb_command import Run, verb_command
from davy.training.cli.calibrate import show_calibration
from davy.training.export_model import export_model


@verb_command(
    export_model,
    "model out [dev] split gold text_column encoding threshold exact table_bits matrix_bits json",
)
def export(
    run: Run[tuple[dict[str, Any], Calibration | None]],
    out: Path,
    json: Annotated[bool, Option("Print the comparison as JSON.")] = False,
) -> None:
    """Export a trained model: ONNX, int8, with tokenizer, thresholds, calibration and card in one folder.

    With --dev, scores before and after are compared, and temperatures and thresholds are set as davy calibrate sets
    them; all of it is printed before and after.

    Examples:

      davy export runs/edos/seed-1/model --dev dev.csv --out my-model

      davy score posts.csv --model my-model --out scored.csv

      davy export memes/concat --out my-memes
    """

    found, calibration = run()
    if json:
        console.json({**found, **(calibration.to_dict() if calibration else {})})
        return
    if "gaps" in found:
        rows = [(name, it["mean"], it["largest"], it["labels moved"]) for name, it in found["gaps"].items()]
        title = f"Scores before and after, {found['posts']} posts"
        console.table(["question", "mean gap", "largest gap", "labels moved"], rows, title=title, right=["mean gap"])
    if calibration is not None:
        show_calibration(calibration)
    given = "--image meme.png" if found["engine"] == "meme-onnx" else "posts.csv"
    console.note(f"Written: {out}, {found['bytes'] / 1e6:.1f} MB. Use it: davy score {given} --model {out}")
