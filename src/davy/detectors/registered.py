"""Tell the server about a detector, and load one that it knows.

A model folder or a model's name in, a row of the store or a scorer out. A detector is loaded once before
it is registered, so that a server never hears of one that can't be loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from davy.core.errors import UserError
from davy.core.scorer import Scorer
from davy.detectors import store as detectors
from davy.detectors.calibrated import ThresholdScorer
from davy.detectors.load import MAKERS, load
from davy.detectors.store import RegisteredDetector
from davy.image.picture_names import Pictures
from davy.store import Store

LOCAL_FILES: tuple[str, ...] = ("majority", "uniform", "keywords", "tfidf", "xgboost", "ensemble")
"""Names that depend on files or on other models: they are saved as a folder first."""


def register_detector(
    store: Store,
    source: str,
    *,
    by: str,
    name: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    shadow: bool = False,
    default: bool = False,
) -> RegisteredDetector:
    """Load a detector and add it to the store; active unless `shadow`, and then it replaces its name's last version."""
    if shadow and default:
        raise UserError("A shadow answers only whoever names its version, so it can't be the default.")
    source = _absolute(source.strip())
    scorer = load(source)
    questions = tuple(question.name for question in scorer.questions)
    for question, threshold in (thresholds or {}).items():
        if question not in questions:
            raise UserError(f"{scorer.name} does not answer {question!r}; it answers {', '.join(questions)}.")
        if not 0 < threshold < 1:
            raise UserError(f"A threshold lies between 0 and 1; {question!r} has {threshold:g}.")
    with store.write() as db:
        entry = detectors.add(
            db,
            name=(name or scorer.name).strip(),
            version=scorer.version,
            source=source,
            questions=questions,
            thresholds=thresholds,
            data_hash=scorer.abilities.data_hash,
            state="shadow" if shadow else "active",
            by=by,
        )
        return detectors.set_default(db, entry.id, by=by) if default else entry


def load_registered(entry: RegisteredDetector, *, images: Pictures | None = None) -> Scorer:
    """Return the scorer of a registered version; a folder that holds another version by now is refused."""
    scorer = load(entry.source, images=images)
    if scorer.version != entry.version:
        raise UserError(
            f"Detector {entry.full_name} can't be loaded: {entry.source} holds version {scorer.version} by now. "
            "Put the old folder back, or add the new version.",
            status=503,
        )
    return scorer


def load_with_thresholds(entry: RegisteredDetector) -> Scorer:
    """Return the scorer of a registered version as it answers: with the thresholds that it was registered with."""
    scorer = load_registered(entry)
    return ThresholdScorer(scorer, entry.thresholds) if entry.thresholds else scorer


def _absolute(source: str) -> str:
    """Return the name as any process can load it: folders by their full path."""
    path = Path(source).expanduser()
    kind = source.partition(":")[0].partition("@")[0]
    if path.is_dir():
        return str(path.resolve())
    if kind in LOCAL_FILES:
        raise UserError(
            f"A server's detector is a folder or an embedded or remote model, not {source!r}. Save it first."
        )
    if kind not in MAKERS:
        raise UserError(f"There is no model folder {source!r} on this machine.", status=404)
    return source
