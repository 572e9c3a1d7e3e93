"""One post's scores as a plain record: what `--json` prints and HTTP returns.

Scores in, JSON-ready records out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from davy.core.scorer import Scorer, Scores

if TYPE_CHECKING:
    import polars as pl


def one_post(text: str, lang: str | None = None) -> pl.DataFrame:
    """Return a frame with one post; halves of surrogate pairs, which are no characters, become U+FFFD."""
    import polars as pl

    return pl.DataFrame({"text": [repair_text(text)], "lang": [lang]}, schema={"text": pl.String, "lang": pl.String})


def repair_text(text: str) -> str:
    """Return text that can be encoded: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def records(scores: Scores) -> list[dict[str, Any]]:
    """Return for each post its verdict and, for each question, label, probabilities and threshold.

    `unsure` and `unsupported_language` are there where the detector says so.
    """
    found: list[dict[str, Any]] = [{"verdict": verdict, "questions": {}} for verdict in scores.verdicts()]
    for question in scores.questions:
        there = scores.has_answer(question)
        if there is not None and not there.any():
            continue
        chosen = scores.chosen(question.name)
        cut = scores.thresholds.get(question.name, 0.5)
        thresholds = [cut] * len(scores) if isinstance(cut, float | int) else cut.tolist()
        yes = scores.positive(question.name)
        for i, row in enumerate(scores.probabilities[question.name].astype("float64").round(6).tolist()):
            if there is not None and not there[i]:
                continue
            answer: dict[str, Any] = {"label": "|".join(chosen[i])}
            if yes is not None:
                answer |= {"probability": round(float(yes[i]), 6), "threshold": round(float(thresholds[i]), 6)}
            if question.name in scores.unsure:
                answer["unsure"] = bool(scores.unsure[question.name][i])
            found[i]["questions"][question.name] = {
                **answer,
                "labels": dict(zip(question.label_names, row, strict=True)),
            }
    if scores.unsupported is not None:
        for record, code in zip(found, scores.unsupported.tolist(), strict=True):
            record["unsupported_language"] = code or None
    if scores.read is not None:
        for record, read in zip(found, scores.read.tolist(), strict=True):
            record["cleared"] = not read
    return found


def model_of(scorer: Scorer) -> dict[str, str]:
    """Return the model's name and version, which every response carries."""
    return {"name": scorer.name, "version": scorer.version}
