"""One post's scores as a plain record: what `--json` prints, the library and HTTP return.

Scores in, JSON-ready records out. Questions that a post's answers don't lead to are left out: a label of a child
question says what a post would be if the parent's answer were yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from davy.core.scheme import applicable_questions
from davy.core.scorer import Scorer, Scores

if TYPE_CHECKING:
    import polars as pl


def one_post(text: str, lang: str | None = None) -> pl.DataFrame:
    """Return a frame with one post; halves of surrogate pairs, which are no characters, become U+FFFD."""
    import polars as pl

    return pl.DataFrame({"text": [repair_text(text)], "lang": [lang]}, schema={"text": pl.String, "lang": pl.String})


def other_language(scorer: Scorer, text: str, lang: str | None = None) -> str | None:
    """Return a text's language if a detector judges it though it was made for others; None where nothing is wrong."""
    from davy.detectors.embedded import detect_languages

    made_for = scorer.abilities.languages
    if not made_for or scorer.abilities.refuses_languages or not text.strip():
        return None
    code = lang or detect_languages([text])[0]
    return code if code and code not in made_for else None


def repair_text(text: str) -> str:
    """Return text that can be encoded: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def records(scores: Scores, questions: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return for each post its verdict, also as a path, and for each question label, probabilities and threshold.

    The questions are those that the post's answers lead to; of these, the ones named. `unsure` and
    `unsupported_language` are there where the detector says so.
    """
    found: list[dict[str, Any]] = [{"verdict": verdict, "questions": {}} for verdict in scores.verdicts()]
    for question in scores.questions:
        answered = scores.has_answer(question)
        if answered is not None and not answered.any():
            continue
        chosen = scores.chosen(question.name)
        cut = scores.thresholds.get(question.name, 0.5)
        thresholds = [cut] * len(scores) if isinstance(cut, float | int) else cut.tolist()
        yes = scores.positive(question.name)
        for i, row in enumerate(scores.probabilities[question.name].astype("float64").round(6).tolist()):
            if answered is not None and not answered[i]:
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
    for record in found:
        record["path"] = _path(record["verdict"])
        record["questions"] = _reached(scores, record["questions"], questions)
    return found


def _reached(scores: Scores, answers: dict[str, Any], wanted: Sequence[str] | None) -> dict[str, Any]:
    labels = {name: tuple(it["label"].split("|")) for name, it in answers.items()}
    reached = set(applicable_questions([it for it in scores.questions if it.name in labels], labels))
    return {name: it for name, it in answers.items() if name in reached and (wanted is None or name in wanted)}


def _path(verdict: str | None) -> list[list[str]]:
    """Return a verdict as steps: each root question's answers from the top down."""
    if not verdict or verdict == "none":
        return []
    return [path.split(" > ") for path in verdict.split("; ")]


def model_of(scorer: Scorer) -> dict[str, str]:
    """Return the model's name and version, which every response carries."""
    return {"name": scorer.name, "version": scorer.version}
