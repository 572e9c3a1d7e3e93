"""How far people agree in a phase, whether that opens its gate, and the posts that divide them most.

A phase's current answers in, one `AgreementStudy` per question out: what `davy agree`
prints of the phase's export, to the last digit. The one thing to know is what an unasked
question counts as (`answer_labels`): where a yes/no question hangs on an answer that was
not given, it counts as "no", because a post that is not hateful is not
misogynistic either; where other questions were not asked, there is no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from davy.annotation.project.project import Phase, Project
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members
from davy.annotation.settling.store import phase_answers
from davy.annotation.settling.store.phase_answers import PhasePost
from davy.core import Metric, Question, Scheme, UserError
from davy.core.annotation import Answers
from davy.core.errors import nearest
from davy.store import Connection

if TYPE_CHECKING:
    from davy.annotation.settling.store.phase_answers import PostAnswers
    from davy.measure.agreement_study import AgreementStudy
    from davy.measure.intervals import Bootstrap
    from davy.measure.ratings import Ratings
    from davy.measure.span_agreement import MarkedPost


__all__ = [
    "AgreementGateResult",
    "GateLine",
    "answer_labels",
    "coefficient",
    "gate",
    "marked_posts",
    "pseudonyms",
    "ratings_of",
    "scheme_of",
    "studies_of",
]

OVERLAPS: tuple[str, ...] = ("token_f1", "iou_f1")
"""What only questions about words are measured by (`measure.span_agreement`)."""

WORD_LABELS: tuple[str, ...] = ("marked", "not marked")
"""What a word is to them."""

NONE = "none"
"""What a question with any number of answers says when it got none; as `davy agree` reads an empty list."""

MOST_ANSWERS = 60_000
"""Annotations that one study reads; a longer phase is measured on every n-th of its items."""

COEFFICIENTS: dict[str, str] = {
    "fleiss kappa": "fleiss",
    "cohen kappa": "cohen",
    "randolph kappa": "randolph",
    "krippendorff alpha": "alpha",
    "gwet ac1": "ac1",
    "percent": "percent",
}
"""A gate's coefficient, as a project's file names it; the short names of `davy agree` do too."""
MOST_ITEMS = 1_000
"""Posts that people can still talk about; a longer phase is settled by adjudication."""


@dataclass(frozen=True, slots=True)
class GateLine:
    """One question before its gate."""

    question: str
    metric: Metric | None
    at_least: float
    passed: bool


@dataclass(frozen=True, slots=True)
class AgreementGateResult:
    """Whether a phase's agreement lets the work go on. `lines` has a line a question; none means there is no gate."""

    passed: bool
    sentence: str
    coefficient: str
    lines: tuple[GateLine, ...] = ()


def studies_of(
    db: Connection, project: Project, phase: Phase, *, bootstrap: Bootstrap | None = None, every: int | None = None
) -> list[AgreementStudy]:
    """Return a study for each question that has answers in the phase, people under their pseudonyms.

    Refused posts are no answers. `every` measures only every n-th item (default: so many that `MOST_ANSWERS`
    suffice, which is every item up to then).
    """
    from davy.measure.agreement_study import MOST_LABELS, StudyQuestion, study_marks, study_question

    scheme = scheme_of(db, project)
    studies = []
    for question, ratings in ratings_of(db, project, phase, scheme, every=every):
        if len(ratings.labels) > MOST_LABELS:  # sets of labels without end; each label alone is in the export
            continue
        asked = StudyQuestion(question.name, question.name, ratings.labels, question.ordered)
        studies.append(study_question(asked, phase.name, ratings, bootstrap=bootstrap))
    for question, posts in marked_posts(db, project, phase, scheme, every=every):
        asked = StudyQuestion(question.name, question.name, question.label_names)
        studies.append(study_marks(asked, phase.name, posts, bootstrap))
    order = [question.name for question in scheme.questions]
    return sorted(studies, key=lambda study: order.index(study.question))


def marked_posts(
    db: Connection, project: Project, phase: Phase, scheme: Scheme, *, every: int | None = None
) -> Iterator[tuple[Question, list[MarkedPost]]]:
    """Yield each question about words that has answers in the phase, with the posts and what people marked in them."""
    from davy.measure.span_agreement import MarkedPost

    asked = [question for question in scheme.questions if question.marks_text]
    if not asked:
        return
    names = pseudonyms(db, project)
    given: dict[str, dict[str, Answers]] = {}
    for one in _answers(db, phase, every):
        given.setdefault(one.post, {})[names.get(one.annotator, one.annotator)] = one.answers
    keys = list(given)
    texts = {
        row.post: row.text
        for start in range(0, len(keys), phase_answers.AT_ONCE)
        for row in phase_answers.phase_posts(db, phase.id, keys[start : start + phase_answers.AT_ONCE])
    }
    for question in asked:
        marks = {
            post: {name: answers[question.name] for name, answers in people.items() if question.name in answers}
            for post, people in given.items()
        }
        posts = [MarkedPost(post, texts[post], people) for post, people in marks.items() if people and post in texts]
        if posts:
            yield question, posts


def _answers(db: Connection, phase: Phase, every: int | None) -> Iterator[PostAnswers]:
    """Return the phase's answers, of every n-th item where there are too many to read."""
    every = every if every is not None else stride(db, phase)
    return phase_answers.iter_answers(db, phase.id) if every <= 1 else phase_answers.sample_answers(db, phase.id, every)


def ratings_of(
    db: Connection, project: Project, phase: Phase, scheme: Scheme, *, every: int | None = None
) -> Iterator[tuple[Question, Ratings]]:
    """Yield each question that has answers in the phase with its ratings, annotators in order of pseudonym."""
    from davy.measure.ratings import Ratings, order_labels

    names = pseudonyms(db, project)
    columns: dict[str, tuple[list[str], list[str], list[str]]] = {q.name: ([], [], []) for q in scheme.questions}
    for one in _answers(db, phase, every):
        for name, cell in answer_labels(scheme, one.answers).items():
            posts, people, labels = columns[name]
            posts.append(one.post)
            people.append(names.get(one.annotator, one.annotator))
            labels.append(cell)
    for question in scheme.questions:
        posts, people, labels = columns[question.name]
        if not labels:
            continue
        known = question.label_names if question.has_fixed_answers else ()
        ratings = Ratings.from_rows(posts, people, labels, among=known)
        yield question, ratings.by(order_labels(ratings.annotators))


def stride(db: Connection, phase: Phase) -> int:
    """Return n, where measuring every n-th item of the phase reads at most about `MOST_ANSWERS` annotations."""
    given = sum(tally.given for tally in phase_answers.tallies_of(db, [phase.id]))
    return max(1, -(-given // MOST_ANSWERS))


def answer_labels(scheme: Scheme, answers: Answers) -> dict[str, str]:
    """Return each question's cell as `davy agree` and the long export have it: labels in order, joined by `|`.

    A yes/no question that was not asked because of the answer above it says no; others that were not asked are left
    out. A question with any number of answers that got none says `none`. Marked words are no labels: `marked_posts`
    has them.
    """
    if not answers:
        return {}
    full = scheme.implied(answers)
    return {
        q.name: "|".join(sorted(full[q.name])) or NONE for q in scheme.questions if q.name in full and not q.marks_text
    }


class HasMetrics(Protocol):
    """A question with its figures: an `AgreementStudy`, or one read back from a snapshot."""

    @property
    def question(self) -> str:
        """The question's name."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """Its coefficients."""


def gate(studies: Sequence[HasMetrics], settings: Mapping[str, Any]) -> AgreementGateResult:
    """Return whether a phase's agreement is high enough; `settings` are the phase's, with `gate` among them.

    Every question that the gate names (default: each one measured) must reach `at_least`, by value, not by the low
    end of its interval. Without a gate the way is open; without answers it is shut.
    """
    wanted = settings.get("gate")
    if not wanted:
        return AgreementGateResult(True, "This phase has no gate.", "fleiss")
    name = coefficient(str(wanted.get("coefficient", "fleiss kappa")))
    least = _least(wanted.get("at_least"))
    by_question = {study.question: study for study in studies}
    questions = list(wanted.get("questions") or by_question)
    lines = tuple(_line(question, by_question.get(question), name, least) for question in questions)
    passed = bool(lines) and all(line.passed for line in lines)
    return AgreementGateResult(passed, _sentence(lines, name, least, passed), name, lines)


def coefficient(name: str) -> str:
    """Return the short name of a coefficient, such as `fleiss` for "Fleiss kappa"."""
    plain = " ".join(
        name.lower().replace("'s", "").replace("'", "").replace("κ", "kappa").replace("α", "alpha").split()
    )
    if plain in COEFFICIENTS.values():
        return plain
    if plain not in COEFFICIENTS:
        raise UserError(
            f"A gate has no coefficient {name[:40]!r}. Use one of: {', '.join(COEFFICIENTS)}."
            f"{nearest(plain, list(COEFFICIENTS))}"
        )
    return COEFFICIENTS[plain]


def pseudonyms(db: Connection, project: Project) -> dict[str, str]:
    """Return what everyone who is or was in the project is called in it, by user id."""
    return {member.user: member.pseudonym for member in members.of_project(db, project.id, left=True)}


def _least(value: Any) -> float:
    try:
        least = float(value)
    except (TypeError, ValueError):
        least = float("nan")
    if not -1 <= least <= 1:
        raise UserError(f"A gate's at_least is a number from -1 to 1, such as 0.6; got {str(value)[:40]!r}.")
    return least


def _line(question: str, study: HasMetrics | None, name: str, least: float) -> GateLine:
    metric = next((m for m in study.metrics if m.name == name), None) if study else None
    reached = metric is not None and metric.value is not None and metric.value >= least
    return GateLine(question, metric, least, reached)


def _sentence(lines: Iterable[GateLine], name: str, least: float, passed: bool) -> str:
    from davy.measure.agreement import COEFFICIENTS as TITLES

    figures = [f"{line.question} {_figure(line.metric)}" for line in lines]
    title = TITLES.get(name, name)
    if not figures:
        return f"The gate is shut: it asks for {title} of at least {least:g}, and there are no answers yet."
    state = "open" if passed else "shut"
    return f"The gate is {state}: {title} must be at least {least:g}, and it is: {', '.join(figures)}."


def _figure(metric: Metric | None) -> str:
    if metric is None:
        return "has no answers"
    return f"{metric.value:.3f}" if metric.value is not None else str(metric.note)


@dataclass(frozen=True, slots=True)
class DividedPost:
    """A post that people answered, and how divided they are: 0 all alike, 1 no two alike."""

    post: str
    disagreement: float
    answers: Mapping[str, Mapping[str, str]]
    """Question → pseudonym → what they said."""


def divided_posts(db: Connection, project: Project, phase: Phase, scheme: Scheme) -> list[DividedPost]:
    """Return the posts on which people differ, most divided first; none for a phase that is too long to talk about."""
    if phase.size > MOST_ITEMS:
        return []
    names = pseudonyms(db, project)
    given: dict[str, dict[str, dict[str, str]]] = {}
    for one in phase_answers.iter_answers(db, phase.id):
        of_post = given.setdefault(one.post, {})
        for question, cell in answer_labels(scheme, one.answers).items():
            of_post.setdefault(question, {})[names.get(one.annotator, one.annotator)] = cell
    found = [DividedPost(post, _disagreement(answers), answers) for post, answers in given.items()]
    return sorted((it for it in found if it.disagreement > 0), key=lambda it: (-it.disagreement, it.post))


def posts_with_answers(
    db: Connection, phase: Phase, some: Sequence[DividedPost]
) -> list[tuple[DividedPost, PhasePost]]:
    """Return divided posts with their texts."""
    by_post = {it.post: it for it in some}
    return [(by_post[row.post], row) for row in phase_answers.phase_posts(db, phase.id, list(by_post))]


def _disagreement(answers: Mapping[str, Mapping[str, str]]) -> float:
    shares = []
    for cells in answers.values():
        n = len(cells)
        if n > 1:
            alike = sum(count * (count - 1) for count in Counter(cells.values()).values())
            shares.append(1 - alike / (n * (n - 1)))
    return sum(shares) / len(shares) if shares else 0.0
