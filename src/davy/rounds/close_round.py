"""Close a project's round and tell the story so far: the verbs behind `davy round`, the pages and the job.

A store and a project in; the next target, registered, and the outcome in the round's row out. Everything can be done
again after a crash: the round is `closing` until its last step, its data is frozen in its folder, and a detector that
is registered already is not registered twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases, projects
from davy.core import Scheme
from davy.core.answers import GOLD
from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.scheme import Question
from davy.corpus.collect import corpora
from davy.corpus.gold import answer_columns, spell_gold, with_gold
from davy.corpus.post_source import load_posts
from davy.detectors import store as detectors
from davy.detectors.load import load, open_folder
from davy.detectors.registered import load_with_thresholds, register_detector
from davy.files.atomic import make_folder
from davy.files.tables import open_table
from davy.rounds.candidate_training import on_fastest_device, train_candidate
from davy.rounds.candidates import BASE, EMOJI, TIMES, make_grid, measured_record, read_measured, weighted_accuracy
from davy.rounds.close import RECORD, CloseOutcome, ClosePlan, check_posts, close_round, measure_posts, read_outcome
from davy.rounds.frame import empty_frame, entries_frame, label_parts, places, split_entries
from davy.rounds.open_round import worse_line
from davy.rounds.round import Round
from davy.rounds.round_figures import without_dropped
from davy.rounds.round_report import RoundStory, tell_story
from davy.rounds.store import entries, rounds
from davy.store import Connection, Store
from davy.testing import metrics, suites
from davy.testing.run import run_suite
from davy.training.train import parse_changes

if TYPE_CHECKING:
    from davy.core.scorer import Scorer

FOLDER = "rounds"
"""Where the server's files hold closes: one folder a project, one a round in it."""
EARLIER = "base"
"""The part of posts that were there before the first round."""
NOT_VALIDATED = "not validated when the round was closed"
COLUMNS: tuple[str, ...] = ("id", "text", "lang", "pair", "part", "split")


def path_text(path: Path) -> str:
    """Return a path as settings keep it."""
    return str(path)


@dataclass(frozen=True, slots=True)
class CloseSettings:
    """What is tried, and what becomes of entries that nobody has validated: `refuse` to close, or `drop` them."""

    architectures: Annotated[
        tuple[str, ...], Option("An encoder to try, or tfidf; again for more.", "--architecture -a", metavar="NAME")
    ] = (BASE,)
    emoji: Annotated[
        tuple[str, ...], Option("How emoji are read: tokens, names, leave; again for more.", metavar="WAY")
    ] = EMOJI
    times: Annotated[tuple[int, ...], Option("How often this round's entries count; again for more.", metavar="N")] = (
        TIMES
    )
    base: Annotated[
        str,
        Option("Labelled posts to learn from too: a file, or a corpus as NAME:PATH.", metavar="F", read=path_text),
    ] = ""
    """Labelled posts that every candidate learns from too, in this round and in those after it."""
    choose_by: Annotated[str, Option("The part that chooses: dev, or test as in the paper.")] = "dev"
    pending: Annotated[str, Option("Entries that nobody validated: refuse to close, or drop them.")] = "refuse"
    seed: Annotated[int, Option("The seed of splits and trainings.")] = 0
    workers: Annotated[int, Option("How many candidates train side by side.")] = 1
    set: Annotated[
        Mapping[str, str],
        Option("Change a field of the recipe `hatemoji`.", "--set", metavar="FIELD=VALUE", read=parse_changes),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClosedRound:
    """A round that is closed: the next target, and what it was chosen from."""

    number: int
    target: str
    outcome: CloseOutcome
    suites: Mapping[str, Mapping[str, Any]]
    worse: tuple[Mapping[str, Any], ...] = ()
    """Where the new target is worse than the one before: `on` what, `now` and `then`."""
    incumbent: Mapping[str, Mapping[str, Sequence[int]]] | None = None
    """The counts of the round's own target on the same posts; None where it is gone."""


def has_encoders() -> bool:
    """Return whether encoders can be trained here: the extra `train` is installed."""
    return find_spec("torch") is not None and find_spec("transformers") is not None


def pending_entries(db: Connection, round_: Round) -> list[str]:
    """Return the ids of entries that others, or an expert, have not settled yet."""
    return [row.entry.id for row in entries.of_round(db, round_.id) if row.state in ("open", "full")]


def begin_close(db: Connection, project_id: str, *, by: str, pending: str = "refuse") -> Round:
    """Stop a project's open round from taking entries and return it; one that is closing already is returned."""
    round_ = rounds.current(db, project_id)
    if round_ is None:
        raise UserError(f"Project {project_id!r} has no open round. Open one: davy round open {project_id}", status=409)
    if pending not in ("refuse", "drop"):
        raise UserError(f"Entries that nobody validated can be dropped (drop) or waited for (refuse), not {pending!r}.")
    waiting = pending_entries(db, round_)
    if waiting and pending == "refuse":
        raise UserError(
            f"{len(waiting):,} entries of round {round_.number} are not validated yet. Validate them first, or drop "
            "them: --pending drop",
            status=409,
        )
    entries.drop(db, round_, waiting, NOT_VALIDATED, by=by)
    entries.leave_with_contrasts(db, round_, by=by)
    return round_ if round_.state == "closing" else rounds.set_state(db, round_.id, "closing", by=by)


def close_project_round(
    store: Store,
    project_id: str,
    files: Path,
    settings: Annotated[CloseSettings | None, Options(CloseSettings)] = None,
    *,
    by: str,
    reporter: Reporter = SILENT,
) -> ClosedRound:
    """Close a project's round: train the candidates, register the winner, run the suites, note the outcome.

    `files` is the server's folder for files. Where it fails before the first candidate the round is open again.
    """
    settings = settings or CloseSettings()
    grid = make_grid(settings.architectures, settings.emoji, settings.times)
    with store.read() as db:
        scheme = scheme_of(db, projects.get(db, project_id))
        every = rounds.of_project(db, project_id)
    base = _base_posts(settings.base, scheme.questions[0]) if settings.base else None
    with store.write() as db:
        # In one transaction with the check: what is refused drops no entry.
        open_before = next((it.state == "open" for it in every[-1:]), False)
        round_ = begin_close(db, project_id, by=by, pending=settings.pending)
        question = scheme.question(round_.question)
        before = _last_close(every, round_, files)
        plan = ClosePlan(
            f"R{round_.number}",
            grid,
            scheme,
            question,
            dict(before.multipliers) if before else {},
            name=f"{project_id}-target",
            choose_by=settings.choose_by,
            seed=settings.seed,
            workers=settings.workers,
            settings=settings.set,
        )
        gathered = check_posts(_gather(db, round_, scheme, before, base, settings.seed), plan) if open_before else None
    folder = make_folder(close_folder(files, round_))
    reporter.begin(f"Round {round_.number}", len(grid))
    try:
        outcome = close_round(
            folder,
            plan,
            lambda: (
                _gathered_again(store, round_, scheme, before, base, settings.seed) if gathered is None else gathered
            ),
            train_candidate,
            note=reporter.note,
            check=reporter.check,
        )
    except UserError:
        with store.write() as db:  # nothing was trained: people may go on
            if not (folder / "run.parts").exists() and not (folder / RECORD).exists():
                rounds.set_state(db, round_.id, "open", by=by)
        raise
    reporter.end()
    return _finish(store, round_, every, outcome, scheme, by=by, reporter=reporter)


def close_folder(files: Path, round_: Round) -> Path:
    """Return the folder of a round's close."""
    return files / FOLDER / round_.project / str(round_.number)


def _last_close(every: Sequence[Round], round_: Round, files: Path) -> CloseOutcome | None:
    """Return the close before this round's, whose data and multipliers go on; None for a first round."""
    earlier = [it for it in every if it.number < round_.number and it.state == "closed"]
    if not earlier:
        return None
    folder = close_folder(files, earlier[-1])
    if not (folder / RECORD).is_file():
        raise UserError(
            f"The close of round {earlier[-1].number} is not in {folder}. Name the server's folder for files: --files"
        )
    return read_outcome(folder)


def _base_posts(named: str, question: Question) -> pl.DataFrame:
    """Return labelled posts with the question's own labels: of a file, published or ours, or of a corpus NAME:PATH."""
    column = f"{question.name}{GOLD}"
    corpus, _, path = named.partition(":")
    posts = corpora.load(corpus, path).posts.collect() if corpus in corpora.names() else _file_posts(named, question)
    if column not in posts.columns:
        raise UserError(f"--base {named} does not answer {question.name!r}, which this round asks. Name other posts.")
    posts = spell_gold(posts.filter(pl.col(column).is_not_null()), [question])
    strange = set(posts[column].unique()) - set(question.label_names)
    if strange or not len(posts):
        listed = ", ".join(sorted(map(str, strange))[:5]) or "no labels"
        raise UserError(
            f"--base {named} has {listed} for {question.name!r}; its labels are {', '.join(question.label_names)}."
        )
    if "lang" not in posts.columns:
        posts = posts.with_columns(lang=pl.lit(None, dtype=pl.String))
    pair = pl.coalesce("parent", "id") if "parent" in posts.columns else pl.col("id")
    return posts.with_columns(pair=pair, part=pl.lit(EARLIER)).drop("split", strict=False)


def _file_posts(named: str, question: Question) -> pl.DataFrame:
    """Return the posts of a file with `Q.gold`; one whose columns are a published corpus's is read as that."""
    with open_table(named) as table:
        known = corpora.recognise(table.columns)
    if known is not None:
        return corpora.load(known, named).posts.collect()
    posts = load_posts(named).posts
    _, columns = answer_columns(posts, asked=[question.name], among=[question], file=named)
    return with_gold(posts, {name: column for name, column in columns.items() if name == question.name})


def _gathered_again(
    store: Store, round_: Round, scheme: Scheme, before: CloseOutcome | None, base: pl.DataFrame | None, seed: int
) -> pl.DataFrame:
    with store.read() as db:
        return _gather(db, round_, scheme, before, base, seed)


def _gather(
    db: Connection, round_: Round, scheme: Scheme, before: CloseOutcome | None, base: pl.DataFrame | None, seed: int
) -> pl.DataFrame:
    """Return all data so far: earlier closes' as they were frozen, the base posts, and this round's, split now."""
    gold = f"{round_.question}{GOLD}"
    question = scheme.question(round_.question)
    frames = []
    if before is not None:
        frames.append(pl.read_parquet(before.posts).select(*COLUMNS, gold))
    placed = places(frames[0]) if frames else {}
    if base is not None:
        if frames:  # what an earlier round brought in already stays as it was split then
            known = frames[0].select("text")
            base = base.join(known, on="text", how="anti").join(
                frames[0].filter(pl.col("part") == EARLIER).select("id"), on="id", how="anti"
            )
        if len(base):
            frames.append(split_entries(base, question, seed=seed, placed=placed).select(*COLUMNS, gold))
    own = without_dropped(entries_frame(db, round_, scheme)).filter(pl.col(gold).is_not_null())
    split = split_entries(own, question, seed=seed, placed=placed)
    return pl.concat([*frames, label_parts(split).select(*COLUMNS, gold)], how="vertical_relaxed")


def _finish(
    store: Store,
    round_: Round,
    every: Sequence[Round],
    outcome: CloseOutcome,
    scheme: Scheme,
    *,
    by: str,
    reporter: Reporter,
) -> ClosedRound:
    target = _register(store, outcome, f"{round_.project}-target", by=by)
    question = scheme.question(round_.question)
    posts = pl.read_parquet(outcome.posts)
    winner = on_fastest_device(open_folder(Path(outcome.winner.model)), outcome.winner.candidate.kind)
    measured = {}
    for name in dict.fromkeys(it.targets[0] for it in every if it.number <= round_.number):
        scorer = _load_target(store, name, reporter)
        if scorer is not None:
            measured[name] = measured_record(measure_posts(scorer, posts, question))
    measured[target] = measured_record(measure_posts(winner, posts, question))
    figures = _run_suites(winner, target, round_, reporter)
    incumbent = _load_target(store, round_.targets[0], reporter)
    before = _run_suites(incumbent, round_.targets[0], round_, reporter) if incumbent is not None else {}
    worse = find_worse(outcome, measured.get(round_.targets[0]), figures, before)
    record = {
        **outcome.to_dict(),
        "target": target,
        "folder": str(outcome.folder),
        "targets": measured,
        "suites": figures,
        "incumbent": {"name": round_.targets[0], "suites": before},
        "worse": worse,
    }
    with store.write() as db:
        rounds.set_state(db, round_.id, "closed", by=by, outcome=record)
        # Not by the phase's rule: which entries are settled was decided when the close began.
        phases.close_phase(db, round_.phase, by=by)
    reporter.note(f"Round {round_.number} is closed. The next target is {target}.")
    for each in worse:
        reporter.note(f"Warning: the new target is worse than the one before: {worse_line(each)}.")
    return ClosedRound(round_.number, target, outcome, figures, tuple(worse), measured.get(round_.targets[0]))


def find_worse(
    outcome: CloseOutcome,
    incumbent: Mapping[str, Mapping[str, Sequence[int]]] | None,
    suites_now: Mapping[str, Mapping[str, Any]],
    suites_before: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return where the new target is less accurate than the one that it replaces: the part that chose, and suites."""
    by = outcome.choose_by
    now = weighted_accuracy(outcome.winner.measured.get(by, {}), outcome.this)
    compared = [(by, now, weighted_accuracy(read_measured(incumbent or {}).get(by, {}), outcome.this))]
    compared += [
        (name, each["accuracy"], suites_before.get(name, {}).get("accuracy")) for name, each in suites_now.items()
    ]
    return [
        {"on": name, "now": new, "then": old}
        for name, new, old in compared
        if new is not None and old is not None and new < old
    ]


def _register(store: Store, outcome: CloseOutcome, name: str, *, by: str) -> str:
    """Return the winner as name@version, registered as a shadow: it answers only rounds until it is activated."""
    full_name = f"{name}@{outcome.winner.version}"
    with store.read() as db:
        known = {entry.full_name for entry in detectors.list_detectors(db)}
    if full_name in known:  # an attempt before this one came so far
        return full_name
    return register_detector(store, outcome.winner.model, by=by, name=name, shadow=True).full_name


def _load_target(store: Store, name: str, reporter: Reporter) -> Scorer | None:
    """Return a target that a round was held against; one that is gone is left out of the table, and that is noted."""
    try:
        with store.read() as db:
            known = {entry.full_name: entry for entry in detectors.list_detectors(db)}
        return load_with_thresholds(known[name]) if name in known else load(name.partition("@")[0])
    except UserError as error:
        reporter.note(f"{name} can't be measured again: {error.message}")
        return None


def _run_suites(scorer: Scorer, target: str, round_: Round, reporter: Reporter) -> dict[str, dict[str, Any]]:
    """Return the accuracy on every shipped suite that asks the round's question in one of its languages."""
    found = {}
    for name in suites.names():
        suite = suites.load(name)
        wanted = round_.rules.languages
        if suite.question not in {it.name for it in scorer.questions} or (wanted and suite.lang not in wanted):
            continue
        reporter.begin(f"Suite {name}", len(suite.cases))
        run = run_suite(suite, scorer, name=target, progress=reporter.advance)
        reporter.end()
        accuracy = next(metrics.cells(suite, run, ())).accuracy
        found[name] = {"accuracy": accuracy.value, "n": accuracy.n, "low": accuracy.low, "high": accuracy.high}
    return found


def round_story(db: Connection, project_id: str) -> RoundStory:
    """Return the story of a project's rounds so far."""
    scheme = scheme_of(db, projects.get(db, project_id))
    every = rounds.of_project(db, project_id)
    frames = [entries_frame(db, it, scheme) for it in every]
    frame = pl.concat(frames) if frames else empty_frame(scheme)
    return tell_story(_with_splits(frame, every), scheme.questions, {it.number: it.outcome for it in every})


def _with_splits(frame: pl.DataFrame, every: Sequence[Round]) -> pl.DataFrame:
    """Return the entries with the parts that the newest close put them in, where its folder is at hand."""
    closed = [it for it in every if it.outcome]
    file = Path(closed[-1].outcome["folder"]) / "posts.parquet" if closed else None
    if file is None or not file.is_file():
        return frame
    parts = pl.read_parquet(file, columns=["id", "split"])
    return frame.join(parts, on="id", how="left", maintain_order="left")
