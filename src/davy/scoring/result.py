"""One post's scores as a plain record: what `--json` prints, the library and HTTP return.

Scores in, JSON-ready records out. Questions that a post's answers don't lead to are left out: a label of a child
question says what a post would be if the parent's answer were yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from davy.core.scheme import Question, applicable_questions
from davy.core.scorer import Scorer, Scores, verdict_path

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
    every = [_Answers(scores, question) for question in scores.questions]
    found = [_record(scores.questions, every, row, questions) for row in range(len(scores))]
    if scores.unsupported is not None:
        for record, code in zip(found, scores.unsupported.tolist(), strict=True):
            record["unsupported_language"] = code or None
    if scores.read is not None:
        for record, read in zip(found, scores.read.tolist(), strict=True):
            record["cleared"] = not read
    return found


def _record(
    questions: tuple[Question, ...], every: Sequence[_Answers], row: int, wanted: Sequence[str] | None
) -> dict[str, Any]:
    """Return one post's record: what was chosen, and of the answers those that it leads to."""
    picked: dict[str, tuple[str, ...]] = {}
    path: dict[str, tuple[str, ...]] = {}
    answered = []
    for its in every:
        name, above = its.question.name, its.question.under
        if its.mask is not None and not its.mask[row]:
            path[name] = ()
            continue
        answered.append(its)
        path[name] = picked[name] = its.chosen(row)
        if its.is_nested and above and above[0] in path:
            path[name] = its.chosen(row, path[above[0]])
    verdict = verdict_path(questions, path) if answered else None
    reached = applicable_questions([its.question for its in answered], picked)
    return {
        "verdict": verdict,
        "path": _path(verdict),
        "questions": {
            its.question.name: its.record(row, picked[its.question.name])
            for its in answered
            if its.question.name in reached and (wanted is None or its.question.name in wanted)
        },
    }


class _Answers:
    """What all posts have to one question, as plain lists: for one post these cost a fraction of what arrays do.

    Labels are chosen as `Scores.verdicts` does.
    """

    def __init__(self, scores: Scores, question: Question) -> None:
        block, mask = scores.probabilities[question.name], scores.has_answer(question)
        cut = scores.thresholds.get(question.name, 0.5)
        unsure = scores.unsure.get(question.name)
        self.question = question
        self.mask: list[bool] | None = None if mask is None else mask.tolist()
        self.is_nested = any(label.under for label in question.labels)
        self._chances: list[list[float]] = block.tolist()
        self._shown: list[list[float]] = block.astype("float64").round(6).tolist()
        if isinstance(cut, float | int):
            # A plain number is compared in the precision of the scores, as arrays compare it.
            self._cuts: list[float] = [float(block.dtype.type(cut))] * len(scores)
            self._thresholds = [float(cut)] * len(scores)
        else:
            self._cuts = self._thresholds = cut.tolist()
        self._yes = question.label_names.index(question.positive) if question.positive is not None else None
        self._unsure: list[bool] | None = None if unsure is None else unsure.tolist()

    def chosen(self, row: int, above: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return the labels chosen for a post; with `above`, only those that fit under the parent's labels."""
        names, chances, cut = self.question.label_names, self._chances[row], self._cuts[row]
        if above is not None:
            labels = self.question.labels
            chances = [it if label.fits_under(above) else -1.0 for it, label in zip(chances, labels, strict=True)]
            if max(chances) < 0:
                return ()
        if self.question.multilabel:
            return tuple(name for name, chance in zip(names, chances, strict=True) if chance >= cut)
        if self._yes is not None and len(names) == 2:
            return (names[self._yes if chances[self._yes] >= cut else 1 - self._yes],)
        return (names[chances.index(max(chances))],)

    def record(self, row: int, labels: tuple[str, ...]) -> dict[str, Any]:
        """Return a post's answer as programs read it."""
        answer: dict[str, Any] = {"label": "|".join(labels)}
        if self._yes is not None:
            answer["probability"] = self._shown[row][self._yes]
            answer["threshold"] = round(self._thresholds[row], 6)
        if self._unsure is not None:
            answer["unsure"] = self._unsure[row]
        answer["labels"] = dict(zip(self.question.label_names, self._shown[row], strict=True))
        return answer


def _path(verdict: str | None) -> list[list[str]]:
    """Return a verdict as steps: each root question's answers from the top down."""
    if not verdict or verdict == "none":
        return []
    return [path.split(" > ") for path in verdict.split("; ")]


def model_of(scorer: Scorer) -> dict[str, str]:
    """Return the model's name and version, which every response carries."""
    return {"name": scorer.name, "version": scorer.version}
