"""Score a submission on Codabench. Reads reference and predictions, writes scores.json; needs Python alone.

Called as `score.py INPUT OUTPUT`: INPUT/ref holds reference.jsonl, INPUT/res
the submission, a file predictions.csv or predictions.jsonl with a column `id`
and one for each question. Several labels in a cell are joined by a bar. A
question counts for the posts where the reference answers it; a prediction that
is missing there is wrong.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from typing import Any


def main(source: str, target: str) -> None:
    """Write the scores of one submission."""
    reference = {row["id"]: row["answers"] for row in read_lines(os.path.join(source, "ref", "reference.jsonl"))}
    predictions = read_predictions(os.path.join(source, "res"))
    scores: dict[str, float] = {}
    questions = sorted({name for answers in reference.values() for name in answers})
    for name in questions:
        pairs = [
            (set(it[name]), predictions.get(post, {}).get(name, set())) for post, it in reference.items() if name in it
        ]
        scores[name + "_macro_f1"] = macro_f1(pairs)
        scores[name + "_accuracy"] = sum(gold == guess for gold, guess in pairs) / len(pairs)
    means = [scores[name + "_macro_f1"] for name in questions]
    scores["macro_f1"] = sum(means) / len(means)
    scores["answered"] = sum(post in predictions for post in reference) / len(reference)
    os.makedirs(target, exist_ok=True)
    with open(os.path.join(target, "scores.json"), "w", encoding="utf-8") as file:
        json.dump(scores, file, indent=2)
    print(json.dumps(scores, indent=2))


def macro_f1(pairs: list[tuple[set[str], set[str]]]) -> float:
    """Return the mean F1 over the labels that the reference has."""
    labels = sorted({label for gold, _ in pairs for label in gold})
    scores = []
    for label in labels:
        hits = sum(label in gold and label in guess for gold, guess in pairs)
        wrong = sum((label in gold) != (label in guess) for gold, guess in pairs)
        scores.append(2 * hits / (2 * hits + wrong) if hits else 0.0)
    return sum(scores) / len(scores) if scores else 0.0


def read_predictions(folder: str) -> dict[str, dict[str, set[str]]]:
    """Return post id → question → set of labels."""
    for name in ("predictions.jsonl", "predictions.csv"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            rows = read_lines(path) if name.endswith("l") else read_table(path)
            return {str(row.pop("id")): {name: labels(cell) for name, cell in row.items()} for row in rows}
    sys.exit("The submission has neither predictions.csv nor predictions.jsonl at its top.")


def labels(cell: object) -> set[str]:
    """Return the labels of a cell: a list, or text joined by bars; `none` and nothing are no label."""
    parts = cell if isinstance(cell, list) else str(cell or "").split("|")
    return {str(part).strip() for part in parts} - {"", "none"}


def read_lines(path: str) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file."""
    with open(path, encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file if line.strip()]


def read_table(path: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV file."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    if rows and "id" not in rows[0]:
        sys.exit("predictions.csv has no column id.")
    return rows


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(sys.argv[1], sys.argv[2])
    else:
        main("/app/input", "/app/output")
