"""Which questions of a review project answer what a community decides by, and what their answers mean.

A scheme and a community's question in, the deciding answers out; a post's settled answers in, `flag` or `pass` out.
Where an attribute with a formula decides, the yes/no questions of the formula do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from davy.core.errors import UserError
from davy.core.scheme import Scheme
from davy.moderation.attribute_map import load_attributes

Deciding = Sequence[tuple[str, str]]
"""Questions, each with the label that means yes."""


def deciding_answers(scheme: Scheme, question: str) -> Deciding:
    """Return which answers of a scheme decide about a community's question; none where it asks nothing of the kind."""
    known = {it.name: it for it in scheme.questions}
    if question in known:
        positive = known[question].positive
        return [(question, positive)] if positive is not None else []
    source = load_attributes().attributes.get(question)
    if source is None:
        return []
    formula = source.formula.answers if source.formula is not None else ()
    asked = [
        *formula,
        *([(source.question, source.label)] if source.question else []),
        *((q, None) for q in source.given),
    ]
    found: dict[str, str] = {}
    for name, label in asked:
        if name not in known:
            continue
        yes = label or known[name].positive
        if yes is not None and yes in known[name].label_names:
            found.setdefault(name, yes)
    return list(found.items())


def check_review_scheme(scheme: Scheme, question: str, project: str) -> None:
    """Raise where a project can't answer what a community decides by."""
    if not deciding_answers(scheme, question):
        preset = {"hate": "moderation", "offensive": "moderation-offensive"}.get(question, "moderation-hate-offensive")
        asked = ", ".join(it.name for it in scheme.questions)
        raise UserError(
            f"Project {project!r} asks {asked}, so its reviewers can't answer {question!r}. Choose a project with this "
            f"question, such as one made by: davy project create {preset} --name NAME",
            status=409,
        )


def reviewed_decision(scheme: Scheme, deciding: Deciding, answers: Mapping[str, Sequence[str]]) -> str | None:
    """Return `flag` or `pass` by what reviewers settled; None while a deciding question is open.

    A question that the answers above did not lead to is a no.
    """
    is_open = not deciding
    for name, yes in deciding:
        labels = answers.get(name)
        if labels is not None:
            if yes in labels:
                return "flag"
            continue
        question = scheme.question(name)
        above = answers.get(question.under[0]) if question.under else None
        is_open = is_open or above is None or question.applies_under(tuple(above))
    return None if is_open else "pass"
