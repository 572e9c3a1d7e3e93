"""Replay recorded rounds: train the first target, close round after round, and set the figures beside the paper's.

A folder of published files in, a folder with every close and `replay.json` out. Called again with the
same folder it goes on. What a round's target said was published for GAHD alone; for HatemojiBuild the error rate is
that of our target on the next round's originals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from davy import schemes
from davy.core.answers import GOLD
from davy.core.errors import UserError, nearest
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import Question, Scheme
from davy.corpus.collect import corpora
from davy.detectors.load import open_folder
from davy.files.atomic import check_folder, make_folder, write_json
from davy.report import Column, Page, Provenance, Table
from davy.rounds.candidate_training import on_fastest_device, train_candidate
from davy.rounds.candidates import BASE, EMOJI, TIMES, Measured, choice_table, make_grid, measured_record, target_table
from davy.rounds.close import CloseOutcome, ClosePlan, close_round, measure_posts
from davy.rounds.frame import label_parts, places, read_base, read_entries, split_entries, straddling_pairs
from davy.rounds.round_figures import (
    PUBLISHED,
    RoundErrorRate,
    compose_rounds,
    composition_table,
    error_rate_plot,
    error_rate_table,
    error_rates,
    quality_rows,
    quality_table,
)
from davy.testing.hatemoji import load_published
from davy.training.train import parse_changes

CORPORA: tuple[str, ...] = ("hatemojibuild", "gahd")
SPLITS: tuple[str, ...] = ("ours", "official")
FIRST_ROUNDS: Mapping[str, int] = {"R1": 5, "R2": 100, "R3": 1, "R4": 1}
"""The multipliers that rounds 1 to 4 were given by their authors."""
CHOSEN: Mapping[str, str] = {"R5": "DeBERTa, ×100", "R6": "DeBERTa, ×1", "R7": "DeBERTa, ×5"}
"""What the Hatemoji paper chose after each round."""
COLUMNS: tuple[str, ...] = ("id", "text", "lang", "pair", "part", "split")


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """What is tried after each round, and on which splits."""

    architectures: Annotated[
        tuple[str, ...], Option("An encoder to try, or tfidf; again for more.", "--architecture -a", metavar="NAME")
    ] = (BASE,)
    emoji: Annotated[
        tuple[str, ...], Option("How emoji are read: tokens, names, leave; again for more.", metavar="WAY")
    ] = EMOJI
    times: Annotated[tuple[int, ...], Option("How often the newest round counts; again for more.", metavar="N")] = TIMES
    splits: Annotated[str, Option("ours (pairs kept together) or official.")] = "ours"
    choose_by: Annotated[str, Option("The part that chooses the winner: dev, or test as in the paper.")] = "dev"
    rounds: Annotated[tuple[int, ...], Option("Replay this round; again for more.", "--round", metavar="N")] = ()
    """Which rounds are replayed; all that were recorded where empty."""
    seed: Annotated[int, Option("The seed of splits and trainings.")] = 0
    workers: Annotated[int, Option("How many candidates train side by side.")] = 1
    settings: Annotated[
        Mapping[str, str],
        Option("Change a field of the recipe `hatemoji`.", "--set", metavar="FIELD=VALUE", read=parse_changes),
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.splits not in SPLITS:
            hint = nearest(self.splits, list(SPLITS))
            raise UserError(f"Splits are {' or '.join(SPLITS)}, not {self.splits!r}.{hint}")


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay gave: the recorded figures, each close, and every target on every part."""

    corpus: str
    splits: str
    entries: pl.DataFrame
    question: Question
    outcomes: tuple[CloseOutcome, ...]
    rates: tuple[RoundErrorRate, ...]
    targets: Mapping[str, Measured]
    notes: tuple[str, ...]
    questions: tuple[Question, ...] = ()
    """What the entries were labelled with, for the table of what rounds are made of."""

    def tables(self) -> list[Table]:
        """Return the tables with the papers' figures beside ours, where there are any."""
        paper = PUBLISHED if self.corpus == "hatemojibuild" else None
        found = [error_rate_table(self.rates, paper=paper)]
        rows = [row for row in quality_rows(self.entries, self.question) if row.agreement.n]
        if rows:
            found.append(quality_table(rows, title="Agreement and review, where labels were published"))
        found.append(composition_table(compose_rounds(self.entries, self.questions or [self.question])))
        found += [choice_table(each.results, each.this, by=each.choose_by) for each in self.outcomes]
        if self.outcomes:
            found.append(self._choices())
        for split in ("dev", "test"):
            if any(split in measured for measured in self.targets.values()):
                found += [target_table(self.targets, groups, split=split) for groups in self._groups()]
        return [*found, *([_published_table_2()] if self.corpus == "hatemojibuild" else [])]

    def _choices(self) -> Table:
        rows = [
            (
                each.this,
                each.winner.candidate.name,
                "–" if each.by_test is None else each.by_test.candidate.name,
                CHOSEN.get(each.this, "–") if self.corpus == "hatemojibuild" else "–",
            )
            for each in self.outcomes
        ]
        columns = ["after", "chosen by dev", "test would choose", "the paper chose (on test)"]
        return Table.of([Column(name) for name in columns], rows, title="Choices")

    def _groups(self) -> list[dict[str, list[str]]]:
        """Return the columns of Table 2 (the recorded rounds, what came before them, all), then each round's."""
        parts = [part for measured in self.targets.values() for split in measured.values() for part in split]
        every = list(dict.fromkeys(parts))
        own = {f"R{number}" for number in self.entries["round"].unique().to_list()}
        recorded = sorted(part for part in every if part in own)
        before = [part for part in every if part not in own]
        groups = {_span(recorded): recorded, **({_span(before): before, "all": every} if before else {})}
        return [groups, *([{part: [part] for part in recorded}] if len(recorded) > 1 else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return every figure as JSON has it."""
        return {
            "corpus": self.corpus,
            "splits": self.splits,
            "notes": list(self.notes),
            "error_rates": [
                {"round": it.round, "target": it.model, "raw": it.raw.to_dict(), "confirmed": it.confirmed.to_dict()}
                for it in self.rates
            ],
            "targets": {name: measured_record(measured) for name, measured in self.targets.items()},
            "closes": [outcome.to_dict() for outcome in self.outcomes],
        }

    def write_page(self, folder: Path, *, command: str = "", seed: int | None = None) -> None:
        """Write report.html."""
        origin = Provenance(data=self.corpus, model=", ".join(self.targets), seed=seed, command=command)
        page = Page(f"Rounds of {self.corpus}, replayed on {self.splits} splits", provenance=origin)
        for note in self.notes:
            page.say(note)
        page.plot(error_rate_plot(self.rates))
        for table in self.tables():
            page.section(table.title)
            page.table(table)
        page.write(folder / "report.html")


def replay_rounds(
    corpus: Annotated[str, Option("Whose rounds: hatemojibuild or gahd.", "corpus")],
    data: Annotated[Path, Option("The folder with the corpus's published files.", metavar="DIR")],
    out: Annotated[Path, Option("Where every close and the report go.", "--out -o", metavar="DIR")],
    settings: Annotated[ReplaySettings | None, Options(ReplaySettings)] = None,
    *,
    base: Annotated[
        Path | None,
        Option("Rounds 1 to 4 (dynahate), which HatemojiBuild's first target learns from.", metavar="DIR"),
    ] = None,
    train: bool = True,
    reporter: Reporter = SILENT,
) -> Replay:
    """Replay a corpus's rounds in the folder `out`, and write `replay.json` there after each.

    With `train` false only what was recorded is measured.

    `data` holds the corpus's files, `base` those of rounds 1 to 4 (dynahate), which HatemojiBuild's follow.
    """
    settings = settings or ReplaySettings()
    if corpus not in CORPORA:
        raise UserError(
            f"Rounds were recorded in {' and '.join(CORPORA)}, not in {corpus!r}.{nearest(corpus, list(CORPORA))}"
        )
    check_folder(out)
    read = corpora.load(corpus, data)
    scheme = schemes.load(read.scheme)
    entries = read_entries(read.posts.collect(), scheme)
    notes = [_straddling_note(entries)]
    if train and BASE in settings.architectures and tuple(settings.emoji) != EMOJI:
        notes.append(f"N-grams hold emoji as they are: {BASE} is tried one way, and --emoji goes with encoders.")
    if settings.splits == "ours":
        entries = _split_rounds(entries, scheme.questions[0], settings.seed)
    make_folder(out)
    run = _ReplayRun(corpus, out, settings, scheme, entries, reporter)
    return run.run(base if train else None, notes, train=train)


@dataclass(slots=True)
class _ReplayRun:
    """One call of `replay_rounds`."""

    corpus: str
    out: Path
    settings: ReplaySettings
    scheme: Scheme
    entries: pl.DataFrame
    reporter: Reporter

    @property
    def question(self) -> Question:
        return self.scheme.questions[0]

    def run(self, base: Path | None, notes: list[str], *, train: bool) -> Replay:
        numbers = sorted(self.entries["round"].unique().to_list())
        wanted = [number for number in numbers if not self.settings.rounds or number in self.settings.rounds]
        recorded = self.entries["model.label"].is_not_null().any()
        outcomes: list[CloseOutcome] = []
        rates = error_rates(self.entries, self.question) if recorded else ()
        if not train:
            return self._write(outcomes, rates, notes)
        earlier, multipliers, first = self._first_target(base, notes)
        targets = [first] if first is not None else []
        for number in wanted:
            part = label_parts(self.entries.filter(pl.col("round") == number))
            if targets and not recorded:
                rates = (*rates, self._own_rate(targets[-1], number, part))
            outcome = self._close(f"R{number}", [*earlier, part], multipliers)
            earlier, multipliers = [*earlier, part], dict(outcome.multipliers)
            outcomes.append(outcome)
            targets.append((f"R{number + 1}-T", outcome))
            replay = self._write(outcomes, rates, notes, targets)
        return replay

    def _first_target(
        self, base: Path | None, notes: list[str]
    ) -> tuple[list[pl.DataFrame], dict[str, int], tuple[str, CloseOutcome] | None]:
        """Return the earlier data, its multipliers and the target trained on it; nothing where there is no base."""
        if base is None:
            notes.append("No data before the first round: the first target of our own is trained on that round.")
            return [], {}, None
        posts = corpora.load("dynahate", base).posts.collect()
        frame, parts = read_base(posts, "R1–4")
        multipliers = {part: FIRST_ROUNDS.get(part, 1) for part in parts}
        if parts == ["R1–4"]:
            notes.append("The file of rounds 1 to 4 names no rounds, so they are one round and count once each.")
        notes.append("Round 0, the data that the paper's first target also learnt from, was never released.")
        outcome = self._close(parts[-1], [frame], multipliers, times=(multipliers[parts[-1]],), folder="first")
        return [frame], multipliers, ("R5-T", outcome)

    def _close(
        self,
        this: str,
        frames: Sequence[pl.DataFrame],
        multipliers: Mapping[str, int],
        *,
        times: Sequence[int] | None = None,
        folder: str = "",
    ) -> CloseOutcome:
        chosen = self.settings
        plan = ClosePlan(
            this,
            make_grid(chosen.architectures, chosen.emoji, times or chosen.times),
            self.scheme,
            self.question,
            {part: each for part, each in multipliers.items() if part != this},
            name=f"{self.corpus}-{folder or this.lower()}",
            choose_by=chosen.choose_by,
            seed=chosen.seed,
            workers=chosen.workers,
            settings=chosen.settings,
        )
        golds = [f"{self.question.name}{GOLD}"]
        gather = partial(pl.concat, [frame.select(*COLUMNS, *golds) for frame in frames], how="vertical_relaxed")
        return close_round(
            self.out / (folder or this.lower()),
            plan,
            gather,
            train_candidate,
            note=self.reporter.note,
            check=self.reporter.check,
        )

    def _own_rate(self, target: tuple[str, CloseOutcome], number: int, part: pl.DataFrame) -> RoundErrorRate:
        """Return how often our target errs on a round's originals, none of which it has learnt from."""
        originals = part.filter(pl.col("set") == "original")
        predicted = _scorer(target[1]).score(originals).chosen(self.question.name)
        labels = pl.Series([answer[0] if answer else None for answer in predicted], dtype=pl.String)
        scored = originals.with_columns(labels.alias("model.label"), model=pl.lit(target[0]))
        (rate,) = error_rates(scored, self.question)
        assert rate.round == number
        return rate

    def _write(
        self,
        outcomes: Sequence[CloseOutcome],
        rates: Sequence[RoundErrorRate],
        notes: Sequence[str],
        targets: Sequence[tuple[str, CloseOutcome]] = (),
    ) -> Replay:
        """Measure every target on the data so far and write what there is: a replay that is stopped leaves this."""
        measured: dict[str, Measured] = {}
        if outcomes:
            posts = pl.read_parquet(outcomes[-1].posts)
            measured = {name: measure_posts(_scorer(each), posts, self.question) for name, each in targets}
        replay = Replay(
            self.corpus,
            self.settings.splits,
            self.entries,
            self.question,
            tuple(outcomes),
            tuple(rates),
            measured,
            tuple(notes),
            self.scheme.questions,
        )
        write_json(self.out / "replay.json", replay.to_dict())
        return replay


def _scorer(outcome: CloseOutcome) -> Any:
    winner = outcome.winner
    return on_fastest_device(open_folder(Path(winner.model)), winner.candidate.kind)


def _split_rounds(entries: pl.DataFrame, question: Question, seed: int) -> pl.DataFrame:
    parts: list[pl.DataFrame] = []
    placed: dict[str, str] = {}
    for number in sorted(entries["round"].unique().to_list()):
        parts.append(split_entries(entries.filter(pl.col("round") == number), question, seed=seed, placed=placed))
        placed |= places(parts[-1])
    return pl.concat(parts)


def _straddling_note(entries: pl.DataFrame) -> str:
    apart, both = straddling_pairs(entries)
    return (
        f"On the official splits {apart:,} of {both:,} pairs that are here with both halves lie in different parts; "
        "on ours none does."
    )


def _span(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{parts[0]}–{parts[-1].removeprefix('R')}" if parts else "none"


def _published_table_2() -> Table:
    """Return the paper's Table 2, which was measured on its test parts."""
    paper = load_published()["table_8"]
    sets = ("emoji rounds", "text rounds", "all rounds")
    rows = [
        (name, *(paper[key][figure][i] for key in sets for figure in ("accuracy", "f1")))
        for i, name in enumerate(paper["models"])
        if name.endswith("-T")
    ]
    heads = [f"{paper[key]['what']}, n={paper[key]['n']:,}: accuracy" for key in sets]
    columns = [Column("target")]
    for head in heads:
        columns += [Column(head, "number"), Column("F1", "number")]
    return Table.of(columns, rows, title="Table 2 of the paper, on its test parts")
