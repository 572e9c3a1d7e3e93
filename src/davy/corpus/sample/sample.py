"""Sample: posts for labelling out of a file, by a plan whose samplers fill their quotas.

A file and a plan in, a file with the column `sampler` and a report beside it out. The
same seed gives the same sample, byte for byte. A sampler's scores come from a
detector's answer to a yes/no question, or from a column of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.core.scorer import label_advice
from davy.corpus.post_source import PostSource, as_source
from davy.corpus.sample import plan as plans
from davy.corpus.sample.plan import Pool, SamplingPlan
from davy.corpus.sample.run import Sample
from davy.corpus.sample.run import sample as draw
from davy.detectors.cascade_screen import as_cascade
from davy.files import post_columns, tables
from davy.files.atomic import refuse_input, require_folder_of, write_json
from davy.files.file_table import FileTable, require_column, translate_errors
from davy.files.formats import output_format
from davy.scoring.scorers import load_scorer, score_posts

if TYPE_CHECKING:
    from davy.core.scorer import Scorer
    from davy.corpus.sample.run import Judge


COLUMN = "column:"


def parse_judges(given: Sequence[str], usual: Mapping[str, str], wanted: Sequence[str]) -> dict[str, str]:
    """Return who each judge is: what the plan says, or what `NAME=WHO` says instead; `wanted` are those it asks."""
    judges = dict(usual)
    for one in given:
        name, sign, who = (part.strip() for part in one.partition("="))
        if not sign or not name or not who:
            raise UserError(f"--judge {one!r}: write NAME=MODEL#QUESTION or NAME=column:C.")
        if name not in wanted:
            asked = f"it asks {', '.join(wanted)}" if wanted else "it asks none"
            raise UserError(f"--judge {one!r}: the plan has no judge {name!r}; {asked}.{nearest(name, list(wanted))}")
        judges[name] = who
    return judges


def judge_columns(who: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    """Return the columns of the file that the wanted judges read."""
    return [who[name].removeprefix(COLUMN) for name in wanted if who.get(name, "").startswith(COLUMN)]


def load_judges(who: Mapping[str, str], wanted: Sequence[str], reporter: Reporter = SILENT) -> dict[str, Judge]:
    """Return the wanted judges; those of one model share it, and it reads a post once."""
    models: dict[str, _Model] = {}
    made: dict[str, Judge] = {}
    for name in wanted:
        if name not in who:
            continue  # sampling names the judge that is missing
        if who[name].startswith(COLUMN):
            made[name] = _column(who[name].removeprefix(COLUMN))
            continue
        model, _, question = who[name].partition("#")
        if model not in models:
            models[model] = _Model(model, reporter)
        made[name] = models[model].judge(question)
    return made


def _column(name: str) -> Judge:
    def judge(posts: pl.DataFrame) -> pl.Series:
        scores = posts[name]
        if not scores.dtype.is_numeric():
            raise UserError(f"Column {name!r} holds no numbers, so it can't be a judge. Name a column of scores.")
        return scores

    return judge


class _Model:
    """A detector that remembers its score of each post."""

    def __init__(self, name: str, reporter: Reporter) -> None:
        self._name = name
        self._reporter = reporter
        self._scorer: Scorer = as_cascade(load_scorer(name))  # as davy score: a quick screen clears what is harmless
        self._scores: dict[str, dict[str, float | None]] = {}

    def judge(self, question: str) -> Judge:
        """Return the judge that answers one yes/no question, the first where none is named."""
        known = [q.name for q in self._scorer.questions if q.positive is not None]
        if not known:
            advice = label_advice(self._scorer, question or "hate") or "."
            raise UserError(f"{self._name} answers no yes/no question, so it can't be a judge{advice}")
        chosen = question or known[0]
        if chosen not in known:
            raise UserError(
                f"{self._name} has no yes/no question {chosen!r}; it has {', '.join(known)}.{nearest(chosen, known)}"
            )

        def judge(posts: pl.DataFrame) -> pl.Series:
            self._read(posts, known)
            return pl.Series([self._scores[id][chosen] for id in posts["id"]], dtype=pl.Float64)

        return judge

    def _read(self, posts: pl.DataFrame, questions: Sequence[str]) -> None:
        new = posts.filter([id not in self._scores for id in posts["id"]])
        if not len(new):
            return
        scores = score_posts(new, self._scorer, self._reporter, task=f"{self._name} reads")
        for id, *values in scores.select(*questions).insert_column(0, new["id"]).iter_rows():
            self._scores[id] = dict(zip(questions, values, strict=True))


BATCH = 20_000


@dataclass(frozen=True, slots=True)
class SampledFile:
    """What was taken by which sampler, and the report as JSON."""

    sample: Sample
    plan: SamplingPlan
    report: dict[str, Any]


def sample_file(
    file: Annotated[PostSource | Path | str, Options(PostSource)],
    out: Annotated[Path | str, Option("The file to write; a report goes beside it.", metavar="F2")],
    plan: Annotated[str | SamplingPlan, Option("edos, or the YAML file of your own.", metavar="P")] = "edos",
    *,
    judges: Annotated[
        Sequence[str],
        Option("Who a judge of the plan is: MODEL#QUESTION, or column:C of the file.", "--judge", metavar="NAME=WHO"),
    ] = (),
    pool: Annotated[
        int | None,
        Option("Look at N random posts of each source at most: judges are slow.", "--pool-size", metavar="N"),
    ] = None,
    at_least: Annotated[
        int | None, Option("Boards need N posts to be in a pool, in place of the plan's number.", metavar="N")
    ] = None,
    replace_column: Annotated[
        bool, Option("Write over columns `sampler` and `judge.…` in the file, and over --out.", "--replace")
    ] = False,
    seed: Annotated[int, Option("The seed: the same one gives the same sample.")] = 0,
    reporter: Reporter = SILENT,
) -> SampledFile:
    """Take posts by a plan, write them to `out` and the report beside it, and return both.

    `judges` are `NAME=MODEL#QUESTION` or `NAME=column:C`; `pool` and `at_least` replace the plan's numbers.
    """
    if seed < 0:
        raise UserError(f"--seed is {seed}; give 0 or more.")
    source, target = as_source(file), str(out)
    chosen = _narrow(plans.load(plan) if isinstance(plan, str) else plan, pool, at_least)
    output_format(target)
    refuse_input(target, source.path)
    require_folder_of(target)
    who = parse_judges(judges, chosen.judges, chosen.judged_by)
    with tables.open_table(source.path, format=source.format, encoding=source.encoding) as table:
        posts = post_columns.check_ids(post_columns.as_posts(table, text=source.text, id=source.id))
        written = {"sampler", "sampler.tenth", *(f"judge.{name}" for name in chosen.judged_by)}
        taken = [column for column in posts.columns if column in written]
        if taken and not replace_column:
            raise UserError(f"{posts.name} has a column {taken[0]!r} already. Write over it with --replace.")
        columns = _read_columns(posts, chosen, judge_columns(who, chosen.judged_by))
        done = draw(columns, chosen, load_judges(who, chosen.judged_by, reporter), seed=seed)
        if not int(done.samplers.is_not_null().sum()):
            raise UserError(
                "No sampler found a post, so nothing was written. Look at the plan's sources, pools and words."
            )
        tables.write(_sampled_rows(posts, done), target, json=posts.json)
    known = {name: who[name] for name in chosen.judged_by}
    report = {"plan": chosen.name, "version": chosen.version, "seed": seed, "judges": known, **done.to_dict()}
    write_json(Path(target).with_name(f"{Path(target).name.split('.')[0]}.sample.json"), report)
    return SampledFile(done, chosen, report)


def _narrow(plan: SamplingPlan, pool: int | None, at_least: int | None) -> SamplingPlan:
    """Return the plan with other numbers for its pools."""
    for name, value in (("--pool-size", pool), ("--at-least", at_least)):
        if value is not None and value < 1:
            raise UserError(f"{name} is {value}; give at least 1.")
    if not plan.pools:
        every = Pool(n=pool, at_least=at_least or 0) if pool or at_least else None
        return replace(plan, every_pool=every)
    changed = {}
    for name, one in plan.pools.items():
        n = one.n if pool is None else min(pool, one.n or pool)
        least = one.at_least if at_least is None or not one.at_least else at_least
        changed[name] = replace(one, n=n, at_least=least)
    return replace(plan, pools=changed)


def _read_columns(posts: FileTable, plan: SamplingPlan, more: list[str]) -> pl.DataFrame:
    """Return the columns that samplers and judges look at."""
    for column in more:
        require_column(column, posts.columns, posts.name, "--judge NAME=column:C")
    by = plan.by or ""
    if by and not by.startswith("meta.") and by not in posts.columns and f"{by}.gold" not in posts.columns:
        raise UserError(
            f"{posts.name} has no column {by!r}, by which the plan {plan.name!r} gives its quotas; it has "
            f"{', '.join(posts.columns)}.{nearest(by, posts.columns)} Name another column in the plan's line `by:`, or "
            f"leave out `by:` and `pools:` for one source: davy sample --plan {plan.name} --show > mine.yaml"
        )
    wanted = ["id", "text", "lang", "image", *more]
    pools = [*plan.pools.values(), *([plan.every_pool] if plan.every_pool else [])]
    for name in [plan.by, *(pool.communities for pool in pools)]:
        wanted += [name, f"{name}.gold"] if name else []
        wanted += ["meta"] if name and name.startswith("meta.") else []
    with translate_errors(posts.name):
        return posts.frame.select(c for c in posts.columns if c in wanted).collect()


def _sampled_rows(posts: FileTable, done: Sample) -> Iterator[pl.DataFrame]:
    """Yield the posts that were taken, in the file's order, with their sampler and what the judges said."""
    at = 0
    with translate_errors(posts.name):
        for batch in posts.frame.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
            here, traces = done.samplers[at : at + len(batch)], done.traces[at : at + len(batch)]
            at += len(batch)
            yield batch.with_columns(here.alias("sampler"), *traces.get_columns()).filter(here.is_not_null())
