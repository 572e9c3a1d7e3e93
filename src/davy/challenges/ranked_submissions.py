"""Who is on a board: of each team the submission that counts, and why others are left out.

Submissions and teams in, those that a board ranks out. A team is ranked when its entry was scored, its survey was
answered where the phase asks for that, and no organiser left it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from davy.challenges.challenge import ChallengePhase, Submission, Team

SURVEY: Mapping[str, tuple[str, ...]] = {
    "architecture": ("transformer", "other_deep", "traditional", "prompted", "rules"),
    "training": ("fine_tuned", "pretrained", "auxiliary_task", "prompting", "ensemble", "none"),
    "data": ("labelled_only", "unlabelled_kit", "other_labelled", "other_unlabelled", "augmented"),
    "features": ("none", "embeddings", "emoji", "lexicons", "other"),
}
"""The survey: four questions, each with the answers of EDOS's Figure 1; several fit. Pages have the words."""


def is_answered(survey: Mapping[str, object] | None) -> bool:
    """Return whether every question of the survey has an answer."""
    return survey is not None and all(survey.get(question) for question in SURVEY)


def counted(submissions: Sequence[Submission], teams: Mapping[str, Team], phase: ChallengePhase) -> list[Submission]:
    """Return the submission of each team that the board ranks, in the order in which they were sent."""
    chosen: dict[str, Submission] = {}
    for submission in submissions:
        team = teams[submission.team]
        if submission.figure is None or submission.figure["value"] is None or team.withdrawn_at is not None:
            continue
        before = chosen.get(team.id)
        if before is None or phase.counts == "last" or _value(submission) > _value(before):
            chosen[team.id] = submission
    # Chosen first: which entry counts must not depend on which survey a team fills in once it knows its figures.
    asked = [each for each in chosen.values() if phase.survey and teams[each.team].kind == "team"]
    left_out = {each.id for each in asked if not is_answered(each.survey)}
    return sorted((each for each in chosen.values() if each.id not in left_out), key=lambda each: each.id)


def waiting_for_survey(submissions: Sequence[Submission], teams: Mapping[str, Team], phase: ChallengePhase) -> int:
    """Return how many teams have a scored entry and no answered survey, so that the board leaves them out."""
    scored = {each.team for each in submissions if each.figure is not None and teams[each.team].kind == "team"}
    ranked = {each.team for each in counted(submissions, teams, phase)}
    return len([team for team in scored - ranked if teams[team].withdrawn_at is None]) if phase.survey else 0


def _value(submission: Submission) -> float:
    assert submission.figure is not None  # only scored ones are compared
    return float(submission.figure["value"])
