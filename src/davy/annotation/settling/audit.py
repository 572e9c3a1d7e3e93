"""The annotation audit: settled posts that a detector or a model of the annotators doubts go back to experts.

A phase in; doubts out, most doubtful first, and from these as many cases of kind `audit` as the budget allows. The
one thing to know: a doubt is no verdict. Nothing changes until an expert has looked and given a reason.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from davy.annotation.exchange.store import export_rows
from davy.annotation.exchange.store.export_rows import ExportedPost
from davy.annotation.labelling.store import items
from davy.annotation.project.project import Phase, Project
from davy.annotation.settling.agreement import answer_labels, ratings_of
from davy.annotation.settling.store import cases
from davy.core import Scheme, Scorer, UserError
from davy.store import Connection

AT_ONCE = 2_000
CHECK = "check"
"""The source of a case that nobody doubts: all of a part is checked by an expert."""
SMOOTHING = 0.1
"""Imagined answers a cell of a confusion matrix: people with few answers are not taken for perfect."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """One settled answer that something doubts: `doubt` is the probability, by its account, that it is wrong."""

    post: str
    question: str
    settled: str
    instead: str
    doubt: float
    source: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found: all doubts above the mark, and the posts that were sent back."""

    looked_at: int
    doubts: Sequence[Doubt] = field(default_factory=tuple)
    opened: Sequence[str] = field(default_factory=tuple)


def doubts_of_annotators(db: Connection, project: Project, phase: Phase, scheme: Scheme) -> Iterator[Doubt]:
    """Yield what a Dawid–Skene model of the phase's annotators thinks of each settled answer, whatever the doubt."""
    from davy.measure.dawid_skene import dawid_skene

    settled = {kept.key: (kept.post["id"], _settled(kept, scheme)) for kept in _settled_posts(db, project, phase)}
    for question, ratings in ratings_of(db, project, phase, scheme, every=1):
        model = dawid_skene(ratings, smoothing=SMOOTHING)
        place = {name: number for number, name in enumerate(ratings.items)}
        column = {name: number for number, name in enumerate(ratings.labels)}
        for key, (post, cells) in settled.items():
            cell = cells.get(question.name)
            if cell is None or cell not in column or key not in place:
                continue
            row = model.probability[place[key]]
            best = ratings.labels[int(row.argmax())]
            yield Doubt(str(post), question.name, cell, best, float(1 - row[column[cell]]), "annotators")


def doubts_of_detector(
    db: Connection, project: Project, phase: Phase, scheme: Scheme, scorer: Scorer
) -> Iterator[Doubt]:
    """Yield what a detector thinks of each settled answer to the questions that it shares with the scheme."""
    shared = [asked for asked in scorer.questions if asked.name in {question.name for question in scheme.questions}]
    shared = [question for question in shared if not question.multilabel]
    if not shared:
        theirs, ours = (
            ", ".join(question.name for question in questions) for questions in (scorer.questions, scheme.questions)
        )
        raise UserError(
            f"Detector {scorer.name!r} answers {theirs}; this project asks {ours}. Choose another detector."
        )
    rest = _settled_posts(db, project, phase)
    while part := list(islice(rest, AT_ONCE)):
        yield from _scored(part, scheme, scorer, [question.name for question in shared])


def checks_of_posts(
    db: Connection, project: Project, phase: Phase, scheme: Scheme, ids: Collection[str]
) -> Iterator[Doubt]:
    """Yield every settled answer about these posts that no expert gave, such as all of a dev and a test set."""
    for kept in _settled_posts(db, project, phase):
        if str(kept.post["id"]) not in ids:
            continue
        for name, cell in _settled(kept, scheme).items():
            if scheme.question(name).derived is None:
                yield Doubt(str(kept.post["id"]), name, cell, cell, 1.0, CHECK)


def audit(
    db: Connection,
    project: Project,
    phase: Phase,
    doubts: Iterable[Doubt],
    *,
    by: str,
    budget: int = 50,
    at_least: float = 0.5,
) -> Audit:
    """Open cases for the most doubtful posts, `budget` at most, and return what was found; 0 only looks.

    A post comes back once, for the answers about it that are in doubt. One that waits for an expert, was dropped or
    went through an audit before is passed over.
    """
    if budget < 0 or not 0 < at_least < 1:
        raise UserError("An audit takes a budget of 0 or more posts, and doubts from a probability between 0 and 1.")
    every = list(doubts)
    strongest = sorted(
        (one for one in every if one.doubt >= at_least), key=lambda one: (-one.doubt, one.post, one.question)
    )
    by_post: dict[str, list[Doubt]] = {}
    for doubt in strongest:
        by_post.setdefault(doubt.post, []).append(doubt)
    opened: list[str] = []
    for post, its in by_post.items():
        if len(opened) >= budget:
            break
        if _send_back(db, project, phase, post, its, by=by):
            opened.append(post)
    return Audit(len({doubt.post for doubt in every}), strongest, opened)


def _settled_posts(db: Connection, project: Project, phase: Phase) -> Iterator[ExportedPost]:
    """Yield the posts that this project settled, with their verdicts."""
    return (kept for kept in export_rows.iter_posts(db, project, [phase.id]) if kept.verdicts)


def _settled(kept: ExportedPost, scheme: Scheme) -> dict[str, str]:
    """Return question → settled cell, without what an expert decided."""
    answers = {verdict.question: verdict.labels for verdict in kept.verdicts}
    experts = {verdict.question for verdict in kept.verdicts if verdict.basis == "expert"}
    return {
        name: cell for name, cell in answer_labels(scheme, answers).items() if name in answers and name not in experts
    }


def _scored(part: Sequence[ExportedPost], scheme: Scheme, scorer: Scorer, names: Sequence[str]) -> Iterator[Doubt]:
    import polars as pl

    columns = {name: [kept.post[name] for kept in part] for name in ("id", "text", "lang", "image")}
    scores = scorer.score(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    cells: list[Mapping[str, str]] = [_settled(kept, scheme) for kept in part]
    for name in names:
        question = scores.question(name)
        block, answered = scores.probabilities[name], scores.has_answer(question)
        for row, (kept, settled) in enumerate(zip(part, cells, strict=True)):
            if name not in settled or (answered is not None and not answered[row]):
                continue
            try:
                column = question.label_names.index(question.label(settled[name]).name)
            except KeyError:
                continue
            best = question.label_names[int(block[row].argmax())]
            doubt = float(1 - block[row, column])
            yield Doubt(str(kept.post["id"]), name, settled[name], best, doubt, scorer.name)


def _send_back(db: Connection, project: Project, phase: Phase, post: str, its: Sequence[Doubt], *, by: str) -> bool:
    item = items.of_post(db, phase, post)
    if item is None or item.state != "settled":
        return False
    if any(case.kind == "audit" or case.state == "open" for case in cases.of_item(db, item.id)):
        return False
    cases.add(
        db,
        project=project.id,
        item=item.id,
        post=item.post,
        kind="audit",
        questions=[doubt.question for doubt in its],
        why=[doubt.source for doubt in its],
        by=by,
        outcome={"doubts": {one.question: {"settled": one.settled, "doubt": round(one.doubt, 4)} for one in its}},
        doubt=its[0].doubt,
    )
    return True
