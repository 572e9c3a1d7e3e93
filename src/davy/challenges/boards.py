"""A challenge's boards: which submission of each team counts, and a kept board as rows and as CSV.

Submissions and teams in, those that a board ranks out. A team is ranked when its entry was scored, its survey was
answered if the phase asks for that, and no organiser left it out. Teams choose their names, so a cell that a
spreadsheet would run as a formula gets an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from davy.challenges.challenge import ChallengePhase, Submission, Team
from davy.core.errors import UserError

_RISKY = "=+-@\t\r\n|%＝＋－＠"
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")

SURVEY: Mapping[str, tuple[str, ...]] = {
    "architecture": ("transformer", "other_deep", "traditional", "prompted", "rules"),
    "training": ("fine_tuned", "pretrained", "auxiliary_task", "prompting", "ensemble", "none"),
    "data": ("labelled_only", "unlabelled_kit", "other_labelled", "other_unlabelled", "augmented"),
    "features": ("none", "embeddings", "emoji", "lexicons", "other"),
}
"""The survey: four questions, each with the answers of EDOS's Figure 1; several fit. Pages have the words."""

UNRANKED: Mapping[str, str] = {
    "survey": "It is not ranked before its survey is answered. The questions are on its page.",
    "no_figure": "It is not ranked: the metric gives no figure for it.",
    "later": "It is not ranked: a later file of your team counts.",
    "better": "It is not ranked: a better file of your team counts.",
    "left_out": "It is not ranked: an organiser left the team out.",
}
"""Why a board does not rank a submission, as the shell says it; pages have words of their own."""


def board_rows(content: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the board's heads and rows as people read them."""
    heads = ["rank", "team", "figure", "95 %", "ranks", "p, next", "Holm"]
    rows = []
    for row in content["rows"]:
        figure, span = row["figure"], row["rank_range"]
        rows.append([
            row["mark"] or str(row["rank"] or "–"),
            row["system"],
            "–" if figure["value"] is None else f"{figure['value']:.4f}",
            "–" if figure["low"] is None else f"{figure['low']:.3f}–{figure['high']:.3f}",
            "–" if span is None else (str(span[0]) if span[0] == span[1] else f"{span[0]}–{span[1]}"),
            _chance(row["next_p"]),
            _chance(row["next_p_holm"]),
        ])  # fmt: skip
    return heads, rows


def board_csv(content: Mapping[str, Any]) -> str:
    """Return the board as CSV, unrounded; cells that could start a formula are made harmless."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["rank", "mark", "team", "value", "low", "high", "n", "rank_low", "rank_high", "next_p",
                     "next_p_holm", "tied_with"])  # fmt: skip
    for row in content["rows"]:
        figure, span = row["figure"], row["rank_range"] or (None, None)
        cells = [row["rank"], row["mark"], row["system"], figure["value"], figure["low"], figure["high"], figure["n"],
                 *span, row["next_p"], row["next_p_holm"], "; ".join(row["tied_with"])]  # fmt: skip
        writer.writerow([_harmless(cell) for cell in cells])
    return target.getvalue()


def _chance(p: float | None) -> str:
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell:
        return cell
    start = cell.lstrip(" \u00a0\ufeff'")[:1] or cell[:1]
    return "'" + cell if start in _RISKY and not _NUMBER.fullmatch(cell) else cell


def is_answered(survey: Mapping[str, object] | None) -> bool:
    """Return whether every question of the survey has an answer."""
    return survey is not None and all(survey.get(question) for question in SURVEY)


def counted(submissions: Sequence[Submission], teams: Mapping[str, Team], phase: ChallengePhase) -> list[Submission]:
    """Return the submission of each team that the board ranks, in the order in which they were sent."""
    chosen = _chosen([each for each in submissions if teams[each.team].withdrawn_at is None], phase)
    # Chosen first: which entry counts must not depend on which survey a team fills in once it knows its figures.
    asked = [each for each in chosen.values() if phase.survey and teams[each.team].kind == "team"]
    left_out = {each.id for each in asked if not is_answered(each.survey)}
    return sorted((each for each in chosen.values() if each.id not in left_out), key=lambda each: each.id)


def _chosen(submissions: Sequence[Submission], phase: ChallengePhase) -> dict[str, Submission]:
    """Return by team which of its scored submissions counts: the last or the best."""
    chosen: dict[str, Submission] = {}
    for submission in submissions:
        if submission.figure is None or submission.figure["value"] is None:
            continue
        before = chosen.get(submission.team)
        if before is None or phase.counts == "last" or _value(submission) > _value(before):
            chosen[submission.team] = submission
    return chosen


def why_unranked(submission: Submission, own: Sequence[Submission], team: Team, phase: ChallengePhase) -> str:
    """Return why a board does not rank a submission, "" where it does or will once it is scored.

    `own` are the team's submissions for this phase and task. The reasons: the team was left out, there is no figure,
    the survey has no answers, a later or a better submission of the team counts.
    """
    if team.withdrawn_at is not None:
        return "left_out"
    if submission.figure is not None and submission.figure["value"] is None:
        return "no_figure"
    counts = _chosen(own, phase).get(team.id)
    if submission.figure is not None and counts is not None and counts.id != submission.id:
        return "later" if phase.counts == "last" else "better"
    return "survey" if phase.survey and team.kind == "team" and not is_answered(submission.survey) else ""


def waiting_for_survey(submissions: Sequence[Submission], teams: Mapping[str, Team], phase: ChallengePhase) -> int:
    """Return how many teams have a scored entry and no answered survey, so that the board leaves them out."""
    scored = {each.team for each in submissions if each.figure is not None and teams[each.team].kind == "team"}
    ranked = {each.team for each in counted(submissions, teams, phase)}
    return len([team for team in scored - ranked if teams[team].withdrawn_at is None]) if phase.survey else 0


def _value(submission: Submission) -> float:
    assert submission.figure is not None  # only scored ones are compared
    return float(submission.figure["value"])


def ladder(scores: Sequence[float], step: float = 0.01) -> list[float]:
    """Return the shown score after each submission: the best, rounded to steps, once it is better by a step or more.

    Blum and Hardt 2015: who asks often learns little of the hidden labels, since a ladder moves only for a submission
    that is clearly better. Higher scores are better, and the ladder is at 0 before the first.
    """
    if not step > 0:
        raise UserError(f"A ladder's step is above 0, not {step}. 0.01 is usual")
    shown: list[float] = []
    best = 0.0
    for score in scores:
        if score > best + step:
            best = round(round(score / step) * step, 12)
        shown.append(best)
    return shown
