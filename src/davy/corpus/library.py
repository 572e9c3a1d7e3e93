"""`davy.read`, `clean`, `sample`, `split`, `describe` and `agree`: posts and people's answers, in memory.

Frames of any kind in; the same kind, or what was measured, out. Texts and lazy frames come out as polars frames.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

import polars as pl

from davy.core.errors import UserError
from davy.scoring.frames import FIGURE, same_kind, text_columns, to_polars, to_posts
from davy.scoring.python_words import python_words

if TYPE_CHECKING:
    from davy.core.scorer import Scorer
    from davy.corpus.clean.run import Funnel
    from davy.corpus.describe.describe import CorpusStatistics
    from davy.corpus.sample.run import Judge
    from davy.measure.agreement_study import AgreementStudy
    from davy.scoring.text_detector import TextDetector

Data = TypeVar("Data")


@python_words
def read(
    source: str | Path | Sequence[str | Path],
    *,
    corpus: str | None = None,
    text: str | None = None,
    id: str | None = None,
    encoding: str | None = None,
) -> pl.DataFrame:
    """Return the posts of a file, a folder, a pattern or several of them, with columns `id` and `text`.

    CSV, TSV, JSONL, JSON and text (one post a line), packed or not (.gz, .xz, .bz2, .zst), Excel's .xlsx and Parquet.
    With `corpus`, a public corpus is read as Davy knows it, settled answers included.

    Parameters
    ----------
    source : str, Path or list of them
        A file, a folder, a pattern, or several.
    corpus : str, optional
        The public corpus that the files are, such as `edos`.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.
    id : str, optional
        The column of the ids.
    encoding : str, optional
        The encoding, where it is not UTF-8 or UTF-16.

    Example:
        posts = davy.read("posts.csv")
        posts = davy.read("parts/*.parquet", text="body")
        posts = davy.read("edos/", corpus="edos")
    """
    from davy.files.tables import read_all

    if corpus is not None:
        from davy.corpus.post_source import PostSource, load_posts

        if not isinstance(source, str | Path):
            raise UserError("A public corpus is one file or one folder: give its path.")
        return load_posts(PostSource(str(source), corpus, text, id, encoding=encoding)).posts
    sources = [source] if isinstance(source, str | Path) else list(source)
    return read_all(sources, text=text, id=id, encoding=encoding)


@overload
def clean(
    posts: Data, recipe: str = ..., *, text: str | None = ..., workers: int = ..., funnel: Literal[False] = ...
) -> Data: ...


@overload
def clean(
    posts: Data, recipe: str = ..., *, text: str | None = ..., workers: int = ..., funnel: Literal[True]
) -> tuple[Data, Funnel]: ...


@python_words
def clean(posts: Any, recipe: str = "edos", *, text: str | None = None, workers: int = 1, funnel: bool = False) -> Any:
    """Return the posts that a cleaning recipe leaves; with `funnel`, also what each step dropped and changed.

    A recipe is `edos`, `gmhp7k` or the YAML file of your own.

    Parameters
    ----------
    posts : frame, dataset, records or texts
        The posts: pandas, polars (lazy, too), a dataset, a list of dicts or of texts.
    recipe : str
        `edos`, `gmhp7k`, or the YAML file of your own.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.
    workers : int
        How many processes clean.
    funnel : bool
        Return what each step dropped and changed, too.

    Example:
        posts = davy.clean(posts, "edos")
        posts, funnel = davy.clean(posts, "gmhp7k", funnel=True)
    """
    from davy.corpus.clean import recipe as recipes
    from davy.corpus.clean.run import clean as run

    frame = to_posts(posts, text)
    with tempfile.TemporaryDirectory(prefix="davy-clean-", ignore_cleanup_errors=True) as folder:
        done = run([frame], recipes.load(recipe), Path(folder), rows=len(frame), workers=workers)
        left = same_kind(posts, pl.concat(list(done.frames())), text)
        return (left, done.funnel) if funnel else left


@python_words
def sample(
    posts: Data,
    plan: str = "edos",
    *,
    judges: Mapping[str, str | TextDetector | Scorer] | None = None,
    text: str | None = None,
    seed: int = 0,
) -> Data:
    """Return posts worth labelling: each sampler of the plan fills its quota, and column `sampler` says who took which.

    `judges` says who the plan's judges are: a detector, or the name of a column that holds scores.

    Parameters
    ----------
    posts : frame, dataset, records or texts
        The posts: pandas, polars (lazy, too), a dataset, a list of dicts or of texts.
    plan : str
        `edos`, or the YAML file of your own.
    judges : dict, optional
        Judge of the plan → a detector, or a column of scores.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.
    seed : int
        The seed of every random act.

    Example:
        chosen = davy.sample(posts, "plan.yaml", judges={"hate": davy.load("embedded")})
    """
    from davy.corpus.sample import plan as plans
    from davy.corpus.sample.run import sample as run

    frame, chosen = to_posts(posts, text), plans.load(plan)
    known = {**chosen.judges, **(judges or {})}
    asked = {name: _judge(known[name], frame) for name in chosen.judged_by if name in known}
    samplers = run(frame, chosen, asked, seed=seed).samplers
    chosen_posts = frame.with_columns(samplers.alias("sampler")).filter(samplers.is_not_null())
    return cast(Data, same_kind(posts, chosen_posts, text))


@python_words
def split(
    posts: Data,
    plan: str = "80/10/10",
    *,
    stratify: str | Sequence[str] | None = None,
    group: str | Sequence[str] | None = None,
    text: str | None = None,
    seed: int = 0,
) -> tuple[Data, ...]:
    """Return the posts in parts that look alike; near duplicates and posts of one group stay together.

    Parameters
    ----------
    posts : frame, dataset, records or texts
        The posts: pandas, polars (lazy, too), a dataset, a list of dicts or of texts.
    plan : str
        Shares (`80/10/10`), sizes (`train=500,test=rest`), a name or a YAML file.
    stratify : str or list, optional
        Columns to balance by; else every settled answer and the source.
    group : str or list, optional
        Columns whose equal values stay together.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.
    seed : int
        The seed of every random act.

    Example:
        train, dev = davy.split(posts, "80/20", stratify=["label"])
    """
    from davy.corpus.split.plan import load
    from davy.corpus.split.run import split as run

    frame, chosen = to_posts(posts, text), load(plan)
    chosen = replace(
        chosen,
        seed=seed,
        stratify=_columns(stratify) if stratify is not None else chosen.stratify,
        groups=_columns(group) if group is not None else chosen.groups,
    )
    done = run(frame, chosen)
    return tuple(same_kind(posts, frame.filter(done.parts == name), text) for name in done.sizes())


@python_words
def describe(
    posts: Any,
    *,
    name: str = "posts",
    scheme: str | None = None,
    gold: Mapping[str, str] | None = None,
    text: str | None = None,
    least: int = 5,
) -> CorpusStatistics:
    """Return what is in a corpus: labels, sources, lengths, emoji, and the words of each class.

    `gold` names the columns of settled answers by question, where they are not called `Q.gold`.

    Parameters
    ----------
    posts : frame, dataset, records or texts
        The posts: pandas, polars (lazy, too), a dataset, a list of dicts or of texts.
    name : str
        What the corpus is called.
    scheme : str or Scheme, optional
        The questions and their labels; else found by the labels.
    gold : dict, optional
        Question → column of settled answers, where it is not `Q.gold`.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.
    least : int
        Words in fewer posts are left out.

    Example:
        davy.describe(posts, gold={"hate": "label"}).to_dict()["posts"]
    """
    from davy.corpus.describe.describe_corpus import describe as run
    from davy.scoring.frames import gold_entries

    frame = to_posts(posts, text, unique_ids=False)
    return run(frame, name=name, scheme=scheme, gold=gold_entries(gold), least=least).statistics


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far people agree: a study for each question and group."""

    studies: tuple[AgreementStudy, ...]

    def __repr__(self) -> str:
        alphas = [f"{name} {value:.3f}" for name, value in self.frame.select("coefficient", "value").iter_rows()]
        return f"<Agreement on {', '.join(study.question for study in self.studies)}: {', '.join(alphas)}>"

    def _repr_html_(self) -> str:
        from davy.scoring.notebook import frame_html

        return frame_html("Agreement", self.frame)

    @property
    def frame(self) -> pl.DataFrame:
        """Every coefficient with its interval, one row each.

        Example:
            davy.agree(answers, item="post", annotator="who", label="hate").frame
        """
        rows = [
            {
                "question": study.question,
                "group": study.group,
                "coefficient": metric.name,
                "value": metric.value,
                "low": metric.low,
                "high": metric.high,
                "n": metric.n,
            }
            for study in self.studies
            for metric in study.metrics
        ]
        return pl.DataFrame(rows, schema={**text_columns("question", "group", "coefficient"), **FIGURE})


@python_words
def agree(
    answers: Any,
    *,
    item: str,
    annotator: str,
    label: str | Sequence[str],
    by: str | None = None,
    text: str | None = None,
    repeats: Literal["refuse", "first", "last"] = "refuse",
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Return how far people agree, from one row an answer: κ, Krippendorff's α, Gwet's AC1, each with an interval.

    With `text`, the column of the posts' text, the answers are words that people marked in it, such as `12-17|20-25`
    (`none` where they marked nothing): agreement is then by word, with token and IoU F1 of pairs beside it. `repeats`
    says which answer counts where one person answered one item twice.

    Parameters
    ----------
    answers : frame, dataset or records
        One row an answer.
    item : str
        The column of the post's id.
    annotator : str
        The column of who answered.
    label : str or list
        The columns of answers.
    by : str, optional
        A column of groups that are measured apart.
    text : str, optional
        The column of the texts, where answers are words marked in them.
    repeats : {"refuse", "first", "last"}
        Which answer counts where one person answered one item twice.
    resamples : int
        How many bootstrap resamples intervals rest on.
    seed : int
        The seed of every random act.

    Example:
        davy.agree(answers, item="post", annotator="who", label="hate").frame
    """
    from davy.measure.agreement_study import StudyQuestion, study_table
    from davy.measure.intervals import Bootstrap
    from davy.scoring.frames import require_columns

    rows = to_polars(answers)
    labels = _columns(label)
    require_columns(rows.columns, [item, annotator, *labels, *([by] if by else []), *([text] if text else [])])
    questions = [StudyQuestion(name, name, text=text) for name in labels]
    bootstrap = Bootstrap(resamples, seed)
    found = study_table(rows, questions, item=item, annotator=annotator, by=by, repeats=repeats, bootstrap=bootstrap)
    return Agreement(tuple(found))


def _columns(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return one column or several as a tuple."""
    return (given,) if isinstance(given, str) else tuple(given)


def _judge(given: str | TextDetector | Scorer, posts: pl.DataFrame) -> Judge:
    """Return a judge of posts: a column of theirs, or a detector's probability of yes to its main question."""
    if isinstance(given, str) and given.removeprefix("column:") in posts.columns:
        return lambda some: some[given.removeprefix("column:")]
    from davy.scoring.library import as_detector

    model, _, question = given.partition("#") if isinstance(given, str) else (given, "", "")
    detector = as_detector(model)
    asked = detector.question(question or None)
    if asked.positive is None:
        raise UserError(f"{detector.name} answers no yes/no question, so it can't be a judge.")
    place = asked.label_names.index(asked.positive)
    return lambda some: pl.Series(detector.predict_proba(some, asked.name)[:, place]).fill_nan(None)
