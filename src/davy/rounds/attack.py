"""Attack a target: try the papers' strategies on seed texts and list what got through.

A file of seeds and a detector in, an `AttackResult` out, and a file of proposals where one is named. Only people label:
the file has no gold column, and every row carries the release terms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import posts, projects
from davy.core import Post, Scorer, Source
from davy.core.answers import GOLD
from davy.core.errors import UserError
from davy.core.options import Option
from davy.core.reporter import SILENT, Reporter
from davy.corpus.post_source import Posts, load_posts
from davy.files import output_file
from davy.files.atomic import require_folder_of
from davy.rounds.attacker import (
    STRATEGIES,
    TRIES,
    AttackResult,
    AttackSeed,
    attack,
    check_cost,
    check_strategies,
    find_question,
    proposals_frame,
)
from davy.rounds.round import ADVERSARIAL, TargetPrediction
from davy.rounds.store import round_seeds
from davy.scoring.scorers import load_scorer
from davy.store import Connection
from davy.store.columns import now

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Question
    from davy.rounds.round import Round

MOST_SEEDS = 500


def attack_target(
    seeds: Annotated[Posts, Option("A file of texts to start from, labelled or not.", "seeds", metavar="SEEDS")],
    target: Annotated[str | Scorer, Option("The detector to get past.", "--target -t", metavar="M")],
    *,
    out: Annotated[Path | None, Option("Where to write what got through.", "--out -o")] = None,
    question: Annotated[str | None, Option("The yes/no question; default: the first.")] = None,
    label: Annotated[str | None, Option("The column with the seeds' true labels; default: QUESTION.gold.")] = None,
    strategies: Annotated[Sequence[str], Option(f"One of {', '.join(STRATEGIES)}; again for more.", "--strategy")] = (),
    tries: Annotated[int, Option("Texts a seed and strategy.", min=1, max=50)] = TRIES,
    most: Annotated[int, Option("How many seeds to take.", min=1)] = MOST_SEEDS,
    seed: Annotated[int, Option("Seed of what is drawn by chance.")] = 0,
    reporter: Reporter = SILENT,
) -> AttackResult:
    """Attack a detector with the first `most` seeds, write what got through to `out` and return it.

    `label` is the column that says what a seed truly is, `QUESTION.gold` unless named; seeds without one count as what
    the target says of them.
    """
    names = check_strategies(strategies)
    if out is not None:
        require_folder_of(out)
    frame = load_posts(seeds).posts
    scorer = load_scorer(target)
    asked = find_question(scorer, question)
    if len(frame) > most:
        reporter.note(f"{len(frame):,} seeds; the first {most:,} are taken. Change it with --most.")
    texts = read_seeds(frame.head(most), asked, label)
    if not texts:
        raise UserError("There are no seeds: no row has a text.")
    reporter.begin(f"Attacking {scorer.name}", check_cost(len(texts), len(names), tries))
    result = attack(
        texts, scorer, question=asked.name, strategies=names, tries=tries, seed=seed, progress=reporter.advance
    )
    reporter.end()
    if out is not None:
        output_file.write([proposals_frame(result)], out)
    return result


def read_seeds(frame: pl.DataFrame, question: Question, label: str | None = None) -> list[AttackSeed]:
    """Return the seeds of a frame, each text once, with their labels where a column has them."""
    column = label or f"{question.name}{GOLD}"
    if label is not None and label not in frame.columns:
        raise UserError(f"There is no column {label!r}; there are {', '.join(frame.columns)}.")
    made: dict[str, AttackSeed] = {}
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        text = (row["text"] or "").strip()
        given = row.get(column)
        truth: bool | None = None
        if given is not None and str(given).strip():
            try:
                truth = question.label(str(given)).name == question.positive
            except KeyError:
                known = ", ".join(question.label_names)
                raise UserError(
                    f"Row {number} has {str(given)[:40]!r} in column {column!r}; {question.name!r} has {known}."
                ) from None
        if text:
            made.setdefault(text, AttackSeed(str(row["id"]), text, row.get("lang"), truth))
    return list(made.values())


def put_proposals(db: Connection, round_: Round, rows: Sequence[Mapping[str, Any]], *, by: str) -> int:
    """Put proposals into a round as texts that people take, label truly and enter; return how many are new.

    `rows` are those of `proposals_frame`. Two others then label each entry: a proposal counts once three people did.
    """
    if round_.state != "open":
        raise UserError(f"Round {round_.number} is {round_.state}: it takes no more texts.", status=409)
    scheme = scheme_of(db, projects.get(db, round_.project))
    question = scheme.question(round_.question)
    source = Source("attacker", licence=ADVERSARIAL, collected_at=now())
    seeds: list[round_seeds.SeedRow] = []
    for row in rows:
        # The same text from the same seed is the same proposal, however often it is put.
        post = Post(
            f"proposal-{hashlib.sha256(row['text'].encode()).hexdigest()[:16]}",
            row["text"],
            row["lang"],
            source=source,
            meta={"strategy": row["strategy"]},
        )
        if post.id not in posts.keys_of(db, round_.project, [post.id]):
            posts.add(db, post, project=round_.project, by=by)
        prediction = TargetPrediction(row["target"], question.no or "", row["probability.after"])
        seeds.append((post.id, [prediction]))
    return round_seeds.add(db, round_, "proposal", seeds, by=by) if seeds else 0
