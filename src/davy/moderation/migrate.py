"""Compare a log of old Perspective scores with a detector's, and fit thresholds that keep the share of flags.

A log in; for each attribute, and for each of its languages, a comparison with intervals out. `migration_report` writes
it down, `threshold_file` the thresholds that a community takes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.options import Option
from davy.core.reporter import SILENT, Reporter
from davy.core.scorer import Scorer, Scores
from davy.files.formats import display_name
from davy.files.input_paths import join_paths
from davy.measure.intervals import Bootstrap
from davy.measure.score_comparison import FEWEST, ScoreComparison, compare_scores
from davy.moderation.attribute_map import PERSPECTIVE, AttributeMap, AttributeSource, attribute_scores, load_attributes
from davy.moderation.perspective_answer import find_languages, has_word_in
from davy.moderation.perspective_log import PerspectiveLog, read_log
from davy.report.tables import Column, Table
from davy.scoring.result import model_of
from davy.scoring.scorers import load_scorer
from davy.text.lexicons.read import SHIPPED
from davy.text.lexicons.read import load as load_lexicon

THRESHOLD = 0.7
"""What Perspective's documentation starts with for research and moderation."""
HARDLY = 0.4
"""Below this rank correlation a threshold keeps the share of flags, but hardly any of the flags."""
BATCH = 512


@dataclass(frozen=True, slots=True)
class AttributeComparison:
    """One attribute in one language, or in all: what stands behind it, how it compared, and what was compared."""

    attribute: str
    source: AttributeSource
    old_threshold: float
    figures: ScoreComparison
    old: Any
    new: Any
    rows: Any
    """The posts of the log that were compared, by their place in it."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many posts of the log were not compared, by reason."""
    no_number: str | None = None
    """The first old score that is no number, as the log has it."""
    lang: str = ""
    """Its language; "" is all of the log's together."""
    languages: tuple[AttributeComparison, ...] = ()
    """The same for each language, where the log has several."""
    too_few: Mapping[str, int] = field(default_factory=dict)
    """Languages with too few posts for a threshold of their own."""

    @property
    def title(self) -> str:
        """The attribute with its language."""
        return f"{self.attribute}, {self.lang}" if self.lang else self.attribute

    @property
    def hardly_agrees(self) -> bool:
        """Whether the ranks agree so little that the threshold says nothing about single posts."""
        ranks = self.figures.rank_correlation.value
        return ranks is not None and ranks < HARDLY

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, without the scores."""
        return {
            "behind": self.source.text,
            "question": self.source.question,
            "label": self.source.label,
            "old_threshold": self.old_threshold,
            "posts": len(self.old),
            "dropped": dict(self.dropped),
            "no_number": self.no_number,
            **{name: getattr(self.figures, name).to_dict() for name in ScoreComparison.__dataclass_fields__},
            "hardly_agrees": self.hardly_agrees,
        }


@dataclass(frozen=True, slots=True)
class Migration:
    """A whole comparison: `left_out` says why an attribute of the log is not among them.

    `posts` counts the rows of the log that have a text, `dropped` the others by reason.
    """

    model: Mapping[str, str]
    posts: int
    attributes: tuple[AttributeComparison, ...]
    left_out: Mapping[str, str]
    dropped: Mapping[str, int] = field(default_factory=dict)
    texts: Sequence[str] = field(default=(), repr=False)
    languages: Mapping[str, int] = field(default_factory=dict)
    """How many posts of the log are in each language."""
    seed: int = 0

    @property
    def comparisons(self) -> list[AttributeComparison]:
        """Each attribute's comparison, then those of its languages."""
        return [one for it in self.attributes for one in (it, *it.languages)]

    def table(self) -> Table:
        """Return one row per attribute, and below it one per language."""
        columns = (
            Column("attribute"),
            Column("language"),
            Column("posts", "count"),
            Column("ranks", "metric", scale=(-1.0, 1.0)),
            Column("old", "number"),
            Column("flagged", "metric"),
            Column("new", "metric"),
            Column("kept", "metric"),
            Column("same", "metric"),
            Column("κ", "metric", scale=(-1.0, 1.0)),
        )
        rows = tuple(
            (
                it.attribute,
                it.lang or "all",
                len(it.old),
                it.figures.rank_correlation,
                it.old_threshold,
                it.figures.flagged,
                it.figures.threshold,
                it.figures.kept_flags,
                it.figures.agreement,
                it.figures.kappa,
            )
            for it in self.comparisons
        )
        note = (
            "ranks: rank correlation; old, new: thresholds; kept: the share of the old flags that are flagged again; "
            "same: the share of posts whose decision stays; κ: the same beyond chance"
        )
        return Table(columns, rows, "Old scores and ours", note)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, without the scores."""
        return {
            "model": dict(self.model),
            "posts": self.posts,
            "languages": dict(self.languages),
            "dropped": dict(self.dropped),
            "attributes": {
                it.attribute: {**it.to_dict(), "languages": {one.lang: one.to_dict() for one in it.languages}}
                for it in self.attributes
            },
            "left_out": dict(self.left_out),
        }

    def notes(self) -> list[str]:
        """Return what a reader has to know besides the table, a sentence each."""
        return [
            *self.count_notes(),
            *(_hardly(it) for it in self.comparisons if it.hardly_agrees),
            *(
                f"{it.title}: no threshold is written, because {it.figures.threshold.note}. It takes posts on both "
                "sides of the threshold, by the old scores and by the new: "
                "give a longer log, or another --flagged-from."
                for it in self.comparisons
                if it.figures.threshold.value is None
            ),
            *(
                f"{it.attribute}: {', '.join(f'{n} posts in {lang}' for lang, n in it.too_few.items())}; "
                f"a threshold of their own takes {FEWEST}."
                for it in self.attributes
                if it.too_few
            ),
            *(f"{name}: {why}." for name, why in self.left_out.items()),
        ]

    def count_notes(self) -> list[str]:
        """Return how many rows of the log and posts of each attribute were not compared, and why."""
        rows = self.posts + sum(self.dropped.values())
        notes = (
            [f"{self.posts:,} of {rows:,} rows of the log were scored.{_said(self.dropped)}"] if self.dropped else []
        )
        for it in self.attributes:
            if it.dropped:
                dropped = _said(it.dropped, it.no_number)
                notes.append(f"{it.attribute}: {len(it.old):,} of {self.posts:,} posts were compared.{dropped}")
        return notes


def compare_log(
    log: Annotated[
        str, Option("The old scores: files, folders, patterns in quotes.", "logs", metavar="F…", read=join_paths)
    ],
    model: Annotated[str | Scorer, Option("The detector.", "--model -m", metavar="M")] = "embedded",
    *,
    posts: Annotated[str | None, Option("A file with the texts, found by id, where F has none.", metavar="F2")] = None,
    thresholds: Annotated[
        Mapping[str, float] | None,
        Option(
            "From where on you flagged: 0.5, or TOXICITY=0.8; repeat. Else 0.7.",
            "--flagged-from",
            metavar="[A=]T",
            read=parse_thresholds,
        ),
    ] = None,
    attributes: Annotated[
        str | AttributeMap, Option("Which question stands behind which attribute.", metavar="F3")
    ] = PERSPECTIVE,
    text: Annotated[str | None, Option("The column with the text.", "--text-column", metavar="C")] = None,
    resamples: int = 1000,
    seed: Annotated[int, Option("The seed of the resamples, and of the disagreements that are shown.")] = 0,
    reporter: Reporter = SILENT,
) -> Migration:
    """Return the comparison; `thresholds` are the old ones by attribute, under "" the one for all others."""
    known = load_attributes(attributes) if isinstance(attributes, str) else attributes
    old = read_log(log, known.attributes, text=text, posts=posts)
    cuts = _thresholds_of(old.scores, thresholds or {}, log)
    scorer = load_scorer(model)
    ours = _NewScores(old, scorer, known, reporter)
    compared, left_out = [], {}
    for name, column in old.scores.items():
        found = ours.values(name)
        if isinstance(found, str):
            left_out[name] = found
            continue
        values, answered = found
        both = np.isfinite(column.values) & answered
        without = column.dropped(answered)
        if both.sum() < FEWEST:
            why = f"only {int(both.sum())} posts have both scores; {FEWEST} are needed"
            left_out[name] = (why + "." + _said(without, column.no_number)).removesuffix(".")
            continue

        def compare(rows: Any, lang: str, name: str = name, old: Any = column.values, new: Any = values) -> Any:
            figures = compare_scores(old[rows], new[rows], cuts[name], bootstrap=Bootstrap(resamples, seed))
            source = known.source(name, lang)
            return AttributeComparison(name, source, cuts[name], figures, old[rows], new[rows], rows, lang=lang)

        groups = {lang: np.flatnonzero(both & (ours.languages == lang)) for lang in ours.counts if lang}
        fitted = [compare(rows, lang) for lang, rows in groups.items() if len(rows) >= FEWEST]
        several = len(ours.counts) > 1
        compared.append(
            replace(
                compare(np.flatnonzero(both), ""),
                dropped=without,
                no_number=column.no_number,
                languages=tuple(fitted) if several else (),
                too_few={lang: len(it) for lang, it in groups.items() if 0 < len(it) < FEWEST} if several else {},
            )
        )
    if not compared:
        raise UserError("Nothing can be compared. " + "; ".join(f"{k}: {v}" for k, v in left_out.items()) + ".")
    without_text = {"without a text": old.without_text} if old.without_text else {}
    return Migration(
        model_of(scorer), len(old.texts), tuple(compared), left_out, without_text, old.texts, ours.counts, seed
    )


def parse_thresholds(given: Sequence[str]) -> dict[str, float]:
    """Return thresholds by attribute from `0.7` or `TOXICITY=0.8`; "" is for all others."""
    parsed: dict[str, float] = {}
    for one in given:
        name, _, number = one.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if not 0 < value <= 1:
            raise UserError(f"--flagged-from {one!r} is no threshold. Write 0.7, or TOXICITY=0.8.")
        parsed[name.upper()] = value
    return parsed


def _thresholds_of(attributes: Iterable[str], given: Mapping[str, float], log: str) -> dict[str, float]:
    """Return each attribute's old threshold; a name that the log does not have is an error, not passed over."""
    by_fold = {name.casefold(): name for name in attributes}
    cuts = dict.fromkeys(by_fold.values(), given.get("", THRESHOLD))
    for name, cut in given.items():
        if name and name.casefold() not in by_fold:
            raise UserError(
                f"--flagged-from {name}={cut:g}: {display_name(log)} has no scores of {name}; "
                f"it has {', '.join(by_fold.values())}.{nearest(name, by_fold.values())}"
            )
        if name:
            cuts[by_fold[name.casefold()]] = cut
    return cuts


class _NewScores:
    """What the detectors of a map say about the posts of a log, each post in its language."""

    def __init__(self, log: PerspectiveLog, scorer: Scorer, known: AttributeMap, reporter: Reporter) -> None:
        self._log, self._known, self._scorer = log, known, scorer
        read = frozenset(known.languages)
        language_of = scorer.abilities.language_of
        self.languages = np.array(
            [lang or _language(text, read, language_of) for text, lang in zip(log.texts, log.languages, strict=True)],
            dtype=object,
        )
        self.counts = dict(Counter(self.languages.tolist()).most_common())
        self._scores: dict[str | None, tuple[Any, Scores]] = {}
        models = dict.fromkeys(known.source(name, lang).model for name in log.scores for lang in self.counts)
        for model in (None, *(it for it in models if it)):
            mine = [lang for lang in self.counts if any(known.source(name, lang).model == model for name in log.scores)]
            rows = np.flatnonzero(np.isin(self.languages, mine)) if model else np.arange(len(log.texts))
            asked = load_scorer(model) if model else scorer
            self._scores[model] = (rows, _scored(log, self.languages, rows, asked, reporter))

    def values(self, name: str) -> tuple[Any, Any] | str:
        """Return an attribute's score of each post and whether there is one; or why there is none at all."""
        values, answered = np.full(len(self._log.texts), np.nan), np.zeros(len(self._log.texts), dtype=bool)
        why = "no question stands behind it"
        for lang in self.counts:
            source = self._known.source(name, lang)
            if not source or (source.words and lang not in (*SHIPPED, "")):
                continue
            why = f"{source.model or self._scorer.name} does not answer it"
            rows, scores = self._scores[source.model]
            places = np.flatnonzero(self.languages[rows] == lang)
            words = has_word_in([self._log.texts[row] for row in rows[places]], load_lexicon("masking"))
            found = attribute_scores(scores.take(places), source, words if source.words else None)
            if found is not None:
                values[rows[places]], answered[rows[places]] = found
                why = ""
        return why or (values, answered)


def _language(text: str, read: frozenset[str], language_of: Any) -> str:
    """Return the language that the server would take a comment for that names none."""
    default = language_of(text) if language_of is not None else None
    return (find_languages(text, None, {"detector": default}, read).used or [""])[0]


def _scored(log: PerspectiveLog, languages: Any, rows: Any, scorer: Scorer, reporter: Reporter) -> Scores:
    frame = pl.DataFrame(
        {"text": [log.texts[row] for row in rows], "lang": [languages[row] or None for row in rows]},
        schema={"text": pl.String, "lang": pl.String},
    )
    reporter.begin(f"Scoring the log with {scorer.name}", len(frame))
    parts = []
    for start in range(0, len(frame), BATCH):
        parts.append(scorer.score(frame[start : start + BATCH]))
        reporter.advance(len(parts[-1]))
    reporter.end()
    return Scores.concat(parts)


def _hardly(it: AttributeComparison) -> str:
    kept, flagged = it.figures.kept_flags, it.figures.flagged
    before = f"Of {round((flagged.value or 0) * flagged.n)} old flags"
    again = "none can be told" if kept.value is None else f"{round(kept.value * kept.n)} are flagged again"
    return (
        f"{it.title}: the ranks hardly agree ({it.figures.rank_correlation.value:.2f}). The new threshold flags other "
        f"posts. {before} {again}. Read the disagreements before you take it."
    )


def _said(dropped: Mapping[str, int], no_number: str | None = None) -> str:
    """Return what was left out as a sentence behind another; nothing where nothing was."""
    if not dropped:
        return ""
    hint = ""
    if no_number is not None:
        comma = re.fullmatch(r"\s*(\d*),(\d+)\s*", no_number)
        hint = f" {no_number[:20]!r} is no number" + (f": write {comma[1] or 0}.{comma[2]}." if comma else ".")
    return f" Left out: {', '.join(f'{n:,} {why}' for why, n in dropped.items())}.{hint}"
