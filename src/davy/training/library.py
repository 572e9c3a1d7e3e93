"""`davy.train`, `davy.calibrate`, `davy.export`: a detector from posts, its numbers set, and a folder without torch."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest
from davy.core.gold import learnable_questions
from davy.core.scheme import Scheme
from davy.core.votes import one_row_a_vote
from davy.corpus.gold import answer_columns, with_gold
from davy.corpus.votes import load_voted
from davy.detectors.training_text_index import LearntTexts
from davy.scoring.frames import gold_entries, to_posts
from davy.scoring.python_words import python_words
from davy.scoring.text_detector import TextDetector
from davy.training.baselines import BASELINES, make_baseline

KINDS = tuple(BASELINES)


@python_words
def train(
    posts: Any,
    *,
    gold: Mapping[str, str] | None = None,
    label_none: bool = False,
    kind: str = "tfidf",
    encoder: str | None = None,
    dev: Any = None,
    scheme: str | Scheme | None = None,
    text: str | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    soft: bool = False,
    seed: int = 1,
    **settings: Any,
) -> TextDetector:
    """Return a detector that learnt from posts with settled answers.

    `gold` names the column of each question: `{"sexist": "label"}`; without it every column `Q.gold` is learnt. Cells
    such as `none` are a label beside one other value, or with `label_none`; otherwise they are no answer. The
    scheme is found by its labels, or made from them. `kind` is `tfidf`, `xgboost` or `majority`; with `encoder` (a
    folder or a hub name) a transformer is fine-tuned: `dev` chooses its checkpoint, `out` is the folder of the run,
    where a killed one goes on, and `settings` are fields of its config, such as `epochs=3`. Those of `tfidf` are
    `strength`, of `xgboost` `trees` and `depth`. With `soft`, annotators' votes are learnt: columns `Q.votes`, or one
    row an answer.

    Parameters
    ----------
    posts : frame, dataset, records or texts
        The posts: pandas, polars (lazy, too), a dataset, a list of dicts or of texts.
    gold : dict, optional
        Question → column of settled answers, where it is not `Q.gold`.
    label_none : bool
        Cells such as `none` are a label, not a missing answer.
    kind : {"tfidf", "xgboost", "majority"}
        What is trained, where there is no `encoder`.
    encoder : str, optional
        A folder or a hub name of an encoder to fine-tune.
    dev : frame, dataset or records, optional
        Posts that choose an encoder's checkpoint.
    scheme : str or Scheme, optional
        The questions and their labels; else found by the labels.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.
    name : str, optional
        What the detector is called.
    out : str or Path, optional
        The folder to write to; with `encoder`, a killed run goes on there.
    soft : bool
        Learn annotators' votes: columns `Q.votes`, or one row an answer.
    seed : int
        The seed of every random act.
    **settings
        `strength` of `tfidf`, `trees` and `depth` of `xgboost`, fields of an encoder's config.

    Example:
        detector = davy.train(posts, gold={"sexist": "label"}, kind="tfidf")
        detector = davy.train(posts, gold={"sexist": "label"}, encoder="distilbert-base-uncased", epochs=3)
    """
    frame, entries = to_posts(posts, text, unique_ids=not soft), gold_entries(gold)
    if soft:
        frame, gold, entries = load_voted([frame], entries), None, []
        settings = {**settings, **({"soft": True} if encoder is not None else {})}
    rules, columns = answer_columns(frame, entries, scheme, asked=list(gold or ()), label_none=label_none)
    frame = with_gold(frame, columns)
    rules = _asked_alone(rules, [q.name for q in rules.questions if q.name in (gold or columns)])
    if encoder is not None:
        judged = None if dev is None else with_gold(to_posts(dev, text), columns)
        return _fine_tune(frame, judged, rules, encoder, name, out, seed, settings)
    if kind not in KINDS:
        raise UserError(
            f"There is no kind {kind!r}; use {', '.join(KINDS)} or encoder=NAME.{nearest(kind, list(KINDS))}"
        )
    if soft:
        frame = one_row_a_vote(frame, rules.questions)
    else:
        rules = replace(rules, questions=tuple(learnable_questions(rules.questions, frame, tuple(gold or ()))))
    scorer = make_baseline(kind, rules.questions, name or kind, settings).fit(frame, seed=seed)
    detector = TextDetector(scorer)
    if out is not None:
        detector.save(out)
    return detector


@python_words
def calibrate(
    model: str | Path | TextDetector,
    posts: Any,
    *,
    gold: Mapping[str, str] | None = None,
    label_none: bool = False,
    threshold: str | None = "macro-f1",
    temperature: bool = True,
    prior: float | Mapping[str, float] | None = None,
    text: str | None = None,
) -> TextDetector:
    """Return the detector with temperatures and thresholds set on posts that it did not learn from.

    `threshold` is `macro-f1`, `precision=0.9`, `recall=0.9`, `cost=5` (a miss is worth five false alarms) or None.
    `prior` is the share of yes among the posts that it will read, where these have another: 0.02, or {"hate": 0.01}.
    The result's `calibration` says before and after.

    Parameters
    ----------
    model : str, Path or TextDetector
        The detector, as `davy.load` takes it.
    posts : frame, dataset or records
        Posts with settled answers that the detector did not learn from.
    gold : dict, optional
        Question → column of settled answers, where it is not `Q.gold`.
    label_none : bool
        Cells such as `none` are a label, not a missing answer.
    threshold : str or None
        `macro-f1`, `precision=0.9`, `recall=0.9`, `cost=5`, or None to leave thresholds alone.
    temperature : bool
        Temper the probabilities, too.
    prior : float or dict, optional
        The share of yes among the posts that it will read: 0.02, or by question.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.

    Example:
        better = davy.calibrate(detector, dev, gold={"sexist": "label"}, threshold="macro-f1")
        print(better.calibration)
    """
    from davy.scoring.library import as_detector
    from davy.training.calibrate import calibrate as run

    scorer = as_detector(model).scorer
    frame = to_posts(posts, text)
    return TextDetector(
        *run(
            scorer,
            frame,
            gold=gold_entries(gold),
            label_none=label_none,
            threshold=threshold,
            temperature=temperature,
            prior=prior,
        )
    )


@python_words
def export(
    model: str | Path | TextDetector,
    out: str | Path,
    *,
    dev: Any = None,
    gold: Mapping[str, str] | None = None,
    threshold: str = "macro-f1",
    exact: bool = False,
    text: str | None = None,
) -> TextDetector:
    """Write a fine-tuned detector as an ONNX folder that runs without torch, and return it as it is there.

    It is rounded to int8 unless `exact`. With `dev`, its settled answers set temperatures and thresholds; the result's
    `calibration` says before and after.

    Parameters
    ----------
    model : str, Path or TextDetector
        The detector, as `davy.load` takes it.
    out : str or Path
        The folder to write to.
    dev : frame, dataset or records, optional
        Posts with settled answers that set temperatures and thresholds.
    gold : dict, optional
        Question → column of settled answers, where it is not `Q.gold`.
    threshold : str
        The rule of the thresholds, as `calibrate` takes it.
    exact : bool
        Keep 32 bits instead of rounding to int8.
    text : str, optional
        The column of the text, where its name is not one of the usual ones.

    Example:
        small = davy.export(tuned, "small", dev=dev, gold={"sexist": "label"})
    """
    from davy.scoring.library import as_detector, load
    from davy.training.export_model import export_model

    detector = as_detector(model)
    folder = Path(out).expanduser()
    frame = None if dev is None else to_posts(dev, text)
    with tempfile.TemporaryDirectory(prefix="davy-export-") as scratch:
        source = detector.scorer.abilities.folder or detector.save(Path(scratch) / "model")
        _, found = export_model(source, folder, dev=frame, gold=gold_entries(gold), threshold=threshold, exact=exact)
    return TextDetector(load(folder).scorer, found)


def _asked_alone(scheme: Scheme, names: Sequence[str]) -> Scheme:
    """Return the scheme with these questions only; one whose parent is not among them is asked of every post."""
    kept = [question for question in scheme.questions if question.name in names]
    return replace(
        scheme, questions=tuple(q if q.under and q.under[0] in names else replace(q, under=None) for q in kept)
    )


def _fine_tune(
    posts: Any,
    dev: Any,
    scheme: Scheme,
    encoder: str,
    name: str | None,
    out: str | Path | None,
    seed: int,
    settings: Mapping[str, Any],
) -> TextDetector:
    from davy.scoring.library import load
    from davy.training.config import from_values
    from davy.training.train import train as run

    config = from_values({"name": name or "mine", "encoder": encoder, **settings}, "davy.train")
    if out is not None:
        return load(run(posts, Path(out), config=config, scheme=scheme, dev=dev, seeds=(seed,)).model)
    with tempfile.TemporaryDirectory(prefix="davy-train-") as folder:
        detector = load(run(posts, Path(folder), config=config, scheme=scheme, dev=dev, seeds=(seed,)).model)
        return TextDetector(_without_folder(detector.scorer))


def _without_folder(scorer: Any) -> Any:
    """Return a scorer that no longer needs the folder it came from, which is about to go."""
    abilities = scorer.abilities
    learnt = abilities.learnt.in_memory() if isinstance(abilities.learnt, LearntTexts) else abilities.learnt
    return replace(scorer, abilities=replace(abilities, folder=None, learnt=learnt))
