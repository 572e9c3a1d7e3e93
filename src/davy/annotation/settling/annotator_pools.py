"""How well pools of annotators do against gold: majority vote a pool, right or not, question by question.

As EDOS compared a crowd with people it had trained (App. E). The one thing to know: a question counts where gold has
an answer to it, so the finer levels are measured on gold's sexist posts only; who was not asked a question because
of their own answer above it votes for "not asked", and a tie is not right.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from davy.annotation.exchange.store.export_rows import IMPORTED
from davy.annotation.project.project import Project
from davy.annotation.project.store import members, phases
from davy.annotation.settling.agreement import answer_labels
from davy.annotation.settling.store import phase_answers
from davy.core import Metric, Question, Scheme
from davy.core.annotation import Answers
from davy.store import Connection

NO_POOL = ""
"""People of the roster who are in no pool."""


@dataclass(frozen=True, slots=True)
class PoolFigure:
    """The share of gold posts that a pool's majority got right; `among` names the gold label, None means all."""

    pool: str
    question: str
    among: str | None
    right: Metric
    people: int
    answers: int


def compare(
    scheme: Scheme, gold: Mapping[str, Answers], given: Iterable[tuple[str, str, str, Answers]]
) -> list[PoolFigure]:
    """Return the figures from gold by item, and (pool, person, item, answers); by question, pool and gold label."""
    votes: dict[str, dict[str, list[Mapping[str, str]]]] = defaultdict(lambda: defaultdict(list))
    people: dict[str, set[str]] = defaultdict(set)
    for pool, person, item, answers in given:
        if item in gold:
            votes[pool][item].append(answer_labels(scheme, answers))
            people[pool].add(person)
    right = {item: answer_labels(scheme, answers) for item, answers in gold.items()}
    found: list[PoolFigure] = []
    for question in scheme.questions:
        for pool in sorted(votes):
            found += _figures(question, pool, votes[pool], right, len(people[pool]))
    return found


def pools_of(db: Connection, project: Project, scheme: Scheme) -> list[PoolFigure]:
    """Return how each pool of a project does against the gold of its phases; empty where there is none."""
    pools = {member.user: member.pool or NO_POOL for member in members.of_project(db, project.id, left=True)}
    gold: dict[str, Answers] = {}
    rows: list[tuple[str, str, str, Answers]] = []
    for phase in phases.of_project(db, project.id):
        known = phase_answers.gold_answers(db, phase.id)
        if not known:
            continue
        gold |= {f"{phase.id} {post}": answers for post, answers in known.items()}
        rows += [
            (pool, given.annotator, f"{phase.id} {given.post}", given.answers)
            for given in phase_answers.iter_answers(db, phase.id)
            if given.post in known and (pool := _pool(given.annotator, pools)) is not None
        ]
    return compare(scheme, gold, rows)


def _pool(annotator: str, pools: Mapping[str, str]) -> str | None:
    """Return a person's pool: the roster's, or of people who came with a file `POOL/NAME` or else `imported`."""
    if annotator.startswith(IMPORTED):
        pool, parted, _ = annotator.removeprefix(IMPORTED).partition("/")
        return pool if parted else "imported"
    return pools.get(annotator)


def _figures(
    question: Question,
    pool: str,
    votes: Mapping[str, Sequence[Mapping[str, str]]],
    gold: Mapping[str, Mapping[str, str]],
    people: int,
) -> Iterator[PoolFigure]:
    from davy.measure.intervals import proportion

    name = question.name
    with_gold = {item: cells for item, cells in votes.items() if name in gold[item]}
    groups: list[str | None] = [None, *(question.label_names if question.positive else ())]
    for label in groups:
        chosen = {item: cells for item, cells in with_gold.items() if label in (None, gold[item][name])}
        hits = sum(_majority(cells, name) == gold[item][name] for item, cells in chosen.items())
        answers = sum(len(cells) for cells in chosen.values())
        if chosen:
            yield PoolFigure(pool, name, label, proportion(name, hits, len(chosen)), people, answers)


def _majority(cells: Sequence[Mapping[str, str]], question: str) -> str | None:
    """Return what most of them say, None where nobody was asked or two answers have equally many voices."""
    counts = Counter(it.get(question) for it in cells).most_common(2)
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        return None
    return counts[0][0]
