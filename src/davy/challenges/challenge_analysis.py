"""What the best systems of a board still get wrong: a kept board in; its top systems' errors, or posts to read, out.

For organisers: the counts are over hidden labels. Only the predictions of the systems that are analysed are read.
"""

from __future__ import annotations

from pathlib import Path

from davy.challenges.challenge import Challenge, ChallengePhase, ChallengeTask
from davy.challenges.challenge_file import board_task
from davy.challenges.run_challenge import find_phase, find_task, gold_frame, prediction_frame
from davy.challenges.store import challenges, submissions
from davy.core.errors import UserError
from davy.evaluation.error_analysis import ErrorAnalysis, analyse_errors
from davy.evaluation.prediction_matrix import PredictionMatrix, pack_predictions
from davy.reviews.inspection import MissedItem, write_queue
from davy.store import Connection, Store

TOP = 10
"""EDOS looks at its ten best systems."""


def board_predictions(
    db: Connection, challenge: Challenge, phase: ChallengePhase, task: ChallengeTask, *, top: int = TOP
) -> PredictionMatrix | None:
    """Return gold and what the best ranked systems of a board said; None where nobody is ranked by labels."""
    kept = challenges.find_board(db, phase.id, task.name)
    if kept is None or task.kind != "labels":
        return None
    sent = kept.content.get("submissions", {})
    best = [row["system"] for row in kept.content["rows"] if row["rank"] is not None and row["system"] in sent][:top]
    if not best:
        return None
    values = submissions.predictions(db, [sent[name] for name in best])
    ids, labels = challenges.gold(db, challenge.id, phase.data, task.name)
    frames = {name: prediction_frame(task, ids, values[sent[name]]) for name in best}
    return pack_predictions(gold_frame(ids, labels), frames, board_task(task))


def analyse_board(
    db: Connection, challenge: Challenge, phase: ChallengePhase, task: ChallengeTask, *, top: int = TOP
) -> ErrorAnalysis | None:
    """Return the error analysis of the best ranked systems of a board; None where nobody is ranked."""
    matrix = board_predictions(db, challenge, phase, task, top=top)
    if matrix is None:
        return None
    groups = {}
    for other in challenge.tasks:
        if other.name != task.name:
            theirs = dict(zip(*challenges.gold(db, challenge.id, phase.data, other.name), strict=True))
            if any(each in theirs for each in matrix.ids):
                groups[other.name] = [theirs.get(each) for each in matrix.ids]
    return analyse_errors(matrix, groups=groups)


def write_challenge_queue(
    store: Store, challenge: str, phase: str, task: str, folder: Path, *, top: int, most: int, seed: int
) -> list[MissedItem]:
    """Write the queue of what the best systems of a challenge's board all miss; it holds hidden labels."""
    with store.read() as db:
        kept = challenges.get(db, challenge)
        chosen = find_phase(kept, phase)
        matrix = board_predictions(db, kept, chosen, find_task(kept, task), top=top)
        texts = challenges.entry_texts(db, kept.id, chosen.data) if matrix else {}
    if matrix is None:
        raise UserError(f"The board of {phase!r}, task {task!r} ranks no system by labels yet, so nothing is missed.")
    title = f"{kept.id} {phase}"
    return write_queue(matrix, analyse_errors(matrix), texts, folder, title=title, most=most, seed=seed)
