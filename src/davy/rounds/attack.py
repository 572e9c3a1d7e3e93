"""Attack a target: try the papers' strategies on seed texts and list what got through.

A file of seeds and a detector in, an `AttackResult` out, and a file of proposals if one is named. It proposes and never
labels: `label` is what a text should be if the strategy works as meant, and only people say whether it does. So the
file has no gold column, and every row carries the release terms.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from davy.annotation.exchange.data_statement import RELEASE_TERMS
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import posts, projects
from davy.core import Post, Scorer, Source
from davy.core.answers import GOLD
from davy.core.errors import UserError, nearest
from davy.core.options import Option
from davy.core.reporter import SILENT, Reporter
from davy.corpus.post_source import Posts, load_posts
from davy.files import output_file
from davy.files.atomic import require_folder_of
from davy.files.yaml_nodes import load_shipped
from davy.rounds.round import ADVERSARIAL, TargetPrediction
from davy.rounds.store import round_seeds
from davy.scoring.scorers import load_scorer
from davy.store import Connection
from davy.store.columns import now
from davy.text.language import detect
from davy.text.perturb import emoji_letters, homoglyphs, spacing, swap_words

if TYPE_CHECKING:
    import polars as pl

    from davy.core import Question
    from davy.rounds.round import Round

MOST_TEXTS = 100_000
TRIES = 5

MOST_SEEDS = 500


@dataclass(frozen=True, slots=True)
class WordTable:
    """The words of one language that strategies work with."""

    verbs: Mapping[str, Sequence[str]]
    identities: Mapping[str, Sequence[str]]
    descriptors: Mapping[str, Sequence[str]]
    irony: Sequence[str]
    negative: Sequence[str]
    positive: Sequence[str]


@dataclass(frozen=True, slots=True)
class AttackSeed:
    """A text to start from. `label` is whether it is a yes (None: not known, the target's own answer counts)."""

    id: str
    text: str
    lang: str | None = None
    label: bool | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text that got through: the target gives it the wrong label if people confirm `label`."""

    seed: AttackSeed
    strategy: str
    text: str
    label: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class StrategyCount:
    """How a strategy did: seeds that it could work on, texts tried, seeds that got through."""

    strategy: str
    seeds: int
    texts: int
    through: int


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What an attack gave. `already_wrong` seeds were not attacked: the target gets them wrong as they are."""

    target: str
    question: str
    proposals: tuple[Proposal, ...]
    counts: tuple[StrategyCount, ...]
    seeds: int
    already_wrong: int


Variant = Callable[[str, WordTable, random.Random], str]


def _double_swap(text: str, words: WordTable, chance: random.Random) -> str:
    first = swap_words(text, words.identities, chance)
    second = swap_words(first, {**words.verbs, **words.descriptors}, chance)
    return second if first != text and second != first else text


def _append(text: str, words: WordTable, chance: random.Random) -> str:
    # Only a sentence about people is turned against them by a face.
    if swap_words(text, words.identities, chance) == text:
        return text
    return _after(text, chance.choice(list(words.negative)))


def _after(text: str, more: str) -> str:
    return f"{text.rstrip()} {more}"


STRATEGIES: Mapping[str, Variant] = {
    "verb swap": lambda text, words, chance: swap_words(text, words.verbs, chance),
    "identity swap": lambda text, words, chance: swap_words(text, words.identities, chance),
    "descriptor swap": lambda text, words, chance: swap_words(text, words.descriptors, chance),
    "double swap": _double_swap,
    "append": _append,
    "positive confounder": lambda text, words, chance: _after(text, chance.choice(list(words.positive))),
    "emoji letters": lambda text, words, chance: emoji_letters(text, chance),  # noqa: ARG005
    "spacing": lambda text, words, chance: spacing(text, chance),  # noqa: ARG005
    "homoglyphs": lambda text, words, chance: homoglyphs(text, chance),  # noqa: ARG005
    "irony marker": lambda text, words, chance: _after(text, chance.choice(list(words.irony))),
}
TURNS: frozenset[str] = frozenset({"append"})
"""Strategies that turn a harmless seed into a hateful text; the others hide what is hateful already."""


def attack(
    seeds: Sequence[AttackSeed],
    target: Scorer,
    *,
    question: str | None = None,
    strategies: Sequence[str] = (),
    tries: int = TRIES,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> AttackResult:
    """Return what got through, the surest wrong text for each seed and strategy; `progress` hears of texts scored."""
    names = check_strategies(strategies)
    asked = find_question(target, question)
    yes = str(asked.positive)
    before = _probabilities(target, asked, [(it.text, it.lang) for it in seeds])
    wrong = 0
    proposals: list[Proposal] = []
    tally = {name: [0, 0, 0] for name in names}
    for start, (probability, predicted) in zip(seeds, before, strict=True):
        hateful = predicted if start.label is None else start.label
        if hateful != predicted:
            wrong += 1
            continue
        tried = list(_variants(start, hateful, names, tries, seed))
        after = _probabilities(target, asked, [(text, start.lang) for _, text in tried])
        if progress is not None:
            progress(len(tried))
        for name in names:
            mine = [(one[0], one[1], text) for (which, text), one in zip(tried, after, strict=True) if which == name]
            through = [(p, text) for p, answer, text in mine if not answer]
            tally[name][0] += bool(mine)
            tally[name][1] += len(mine)
            if through:
                tally[name][2] += 1
                p, text = min(through)
                proposals.append(Proposal(start, name, text, yes, probability, p))
    counts = tuple(StrategyCount(name, *tally[name]) for name in names)
    return AttackResult(f"{target.name}@{target.version}", asked.name, tuple(proposals), counts, len(seeds), wrong)


def check_strategies(wanted: Sequence[str]) -> list[str]:
    """Return the strategies, all where none is named; one that there isn't is an error."""
    for name in wanted:
        if name not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise UserError(f"There is no strategy {name!r}; there are {known}.{nearest(name, list(STRATEGIES))}")
    return list(dict.fromkeys(wanted)) or list(STRATEGIES)


def check_cost(seeds: int, strategies: int, tries: int) -> int:
    """Return how many texts an attack may score; more than `MOST_TEXTS` is an error."""
    texts = seeds * strategies * tries
    if texts > MOST_TEXTS:
        raise UserError(
            f"{seeds:,} seeds x {strategies} strategies x {tries} tries are {texts:,} texts; at most {MOST_TEXTS:,} "
            "are tried at once. Take fewer seeds (--most), name strategies (--strategy) or lower --tries."
        )
    return texts


def find_question(target: Scorer, name: str | None) -> Question:
    """Return the yes/no question to attack: the one named, else the target's first."""
    asked = [it for it in target.questions if it.positive is not None and len(it.labels) == 2]
    for question in asked:
        if name is None or question.name == name:
            return question
    known = ", ".join(it.name for it in asked) or "none"
    raise UserError(f"{target.name} has no yes/no question {name or ''!r} to attack; it has {known}.")


def _variants(
    start: AttackSeed, hateful: bool, names: Sequence[str], tries: int, seed: int
) -> Iterator[tuple[str, str]]:
    """Yield (strategy, text) for one seed, each text once a strategy and never the seed's own."""
    lang = start.lang or detect(start.text)[0]
    words = read_words("de" if lang.startswith("de") else "en")
    for name in names:
        if (name in TURNS) == hateful:
            continue
        seen = {start.text}
        for number in range(tries):
            chance = random.Random(f"{seed} {name} {number} {start.text}")  # noqa: S311 - no secret depends on it
            text = STRATEGIES[name](start.text, words, chance)
            if text not in seen:
                seen.add(text)
                yield name, text


def _probabilities(
    target: Scorer, question: Question, texts: Sequence[tuple[str, str | None]]
) -> list[tuple[float, bool]]:
    """Return for each text the probability of yes and whether the target says yes; no answer counts as a no."""
    import polars as pl

    made: list[tuple[float, bool]] = []
    size = max(1, target.abilities.batch_size)
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        frame = pl.DataFrame(
            {"text": [text for text, _ in part], "lang": [lang for _, lang in part]},
            schema={"text": pl.String, "lang": pl.String},
        )
        scores = target.score(frame)
        yes: Any = scores.positive(question.name)
        chosen = scores.chosen(question.name)
        made += [(float(p), question.positive in labels) for p, labels in zip(yes, chosen, strict=True)]
    return made


@cache
def read_words(lang: str) -> WordTable:
    """Return the words of a language: `en` or `de`."""
    kept = load_shipped("davy.rounds", "strategies.yaml")
    return WordTable(**kept[lang], **kept["any"])


def proposals_frame(result: AttackResult) -> pl.DataFrame:
    """Return the proposals as posts with where each came from. There is no gold column: nobody has labelled them."""
    import polars as pl

    rows = [
        {
            "id": f"{it.seed.id}/{it.strategy}",
            "text": it.text,
            "lang": it.seed.lang,
            "source": "attacker",
            "parent": it.seed.id,
            "strategy": it.strategy,
            "proposed.label": it.label,
            "target": result.target,
            "probability.before": round(it.before, 6),
            "probability.after": round(it.after, 6),
            "release_terms": RELEASE_TERMS,
        }
        for it in result.proposals
    ]
    kinds = dict.fromkeys(("id", "text", "lang", "source", "parent", "strategy", "proposed.label", "target"), pl.String)
    return pl.DataFrame(
        rows,
        schema={**kinds, "probability.before": pl.Float64, "probability.after": pl.Float64, "release_terms": pl.String},
    )


def attack_target(
    seeds: Annotated[Posts, Option("A file of texts to start from, labelled or not.", "seeds", metavar="SEEDS")],
    target: Annotated[str | Scorer, Option("The detector to get past.", "--target -t", metavar="M")],
    *,
    out: Annotated[Path | None, Option("Where to write what got through.", "--out -o")] = None,
    question: Annotated[str | None, Option("The yes/no question; default: the first.")] = None,
    label: Annotated[
        str | None, Option("The column with the seeds' true labels; default: QUESTION.gold.", "--gold", metavar="C")
    ] = None,
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
