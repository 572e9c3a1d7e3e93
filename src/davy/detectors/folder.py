"""A model folder on disk: its manifest, and the check that nothing in it is missing or changed.

A folder in, a `Manifest` out, or the other way round. The manifest is written
last, so its presence means that the folder is complete. `docs/detectors/models.md`
describes every field.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from davy.core.errors import UserError
from davy.core.question_kind import DEFAULT_KIND, QUESTION_KINDS
from davy.core.scheme import Label, Question
from davy.core.scorer import Abilities
from davy.detectors.training_text_index import CALIBRATED, read_learnt
from davy.detectors.training_text_index import FILE as LEARNT
from davy.files.atomic import write_json
from davy.files.data_hash import file_hash

FORMAT = 1
MANIFEST = "manifest.json"
_LOADED = frozenset({".onnx", ".data", ".safetensors", ".npz", ".py"})
"""Endings of what an engine loads; beside a manifest they have to be in it."""
CARD = "card.md"
DATA = "data"
"""The setting that holds the hash of the posts which a model learnt from."""
BESIDE = (CARD, LEARNT, CALIBRATED)
"""Files that change no score, so that they may change within a version."""
PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".joblib", ".ckpt"})


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a model folder says of itself. `files` maps each file's path to its SHA-256; `write` fills it."""

    engine: str
    name: str
    questions: tuple[Question, ...]
    version: str = ""
    languages: tuple[str, ...] = ()
    temperatures: Mapping[str, float] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    shifts: Mapping[str, float] = field(default_factory=dict)
    """What is added to the log odds of yes after the temperature, by question."""
    prevalence: Mapping[str, float] = field(default_factory=dict)
    """The share of yes among posts at which the probabilities hold, by question. It changes no score by itself."""

    def recalibrated(
        self,
        temperatures: Mapping[str, float],
        thresholds: Mapping[str, float],
        shifts: Mapping[str, float] = MappingProxyType({}),
    ) -> Manifest:
        """Return it with its temperatures times these, with these shifts after them, and with these thresholds."""
        product = {name: self.temperatures.get(name, 1.0) * value for name, value in temperatures.items()}
        moved = {name: value / temperatures.get(name, 1.0) for name, value in self.shifts.items()}
        moved |= {name: moved.get(name, 0.0) + value for name, value in shifts.items()}
        cuts = {**self.thresholds, **thresholds}
        return replace(self, temperatures={**self.temperatures, **product}, thresholds=cuts, shifts=moved)


def write(folder: Path, manifest: Manifest) -> Manifest:
    """Write the manifest of a folder whose other files are all there; return it with its hashes and version."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    refuse_pickles(folder)
    files = {path.relative_to(folder).as_posix(): file_hash(path) for path in paths}
    full = replace(manifest, files=files, version="")
    scoring = {**_as_json(full), "files": {name: it for name, it in files.items() if name not in BESIDE}}
    scoring.pop("prevalence", None)
    version = hashlib.sha256(json.dumps(scoring, sort_keys=True).encode()).hexdigest()[:12]
    full = replace(full, version=version)
    write_json(folder / MANIFEST, _as_json(full))
    return full


def saved_version(save: Callable[[Path], object]) -> str:
    """Return the version of the model folder that `save` writes, so that a scorer has it before it is saved."""
    with tempfile.TemporaryDirectory(prefix="davy-version-") as folder:
        save(Path(folder))
        return read(Path(folder), check=False).version


def read(folder: Path, *, check: bool = True) -> Manifest:
    """Return a folder's manifest after hashing every file it lists; `check=False` skips the hashing."""
    path = folder / MANIFEST
    if not path.is_file():
        refuse_pickles(folder)
        raise UserError(f"{folder} has no {MANIFEST}, so it is no model folder. {_advice(folder)}")
    try:
        manifest = _from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is malformed ({_brief(error)}). Export the model again.") from error
    if check:
        _check_files(folder, manifest)
    return manifest


def abilities(folder: Path, manifest: Manifest) -> Abilities:
    """Return the abilities of a plain scorer that was loaded from a folder."""
    languages = tuple(manifest.languages) or None
    return Abilities(
        folder=folder,
        data_hash=manifest.settings.get(DATA),
        learnt=read_learnt(folder),
        calibrated=read_learnt(folder, CALIBRATED),
        languages=languages,
    )


def refuse_pickles(folder: Path) -> None:
    """Raise where a folder holds pickled weights: unpickling a stranger's file runs the stranger's code."""
    for path in sorted(folder.glob("*")):
        if path.suffix.lower() in PICKLES:
            raise UserError(
                f"{path} may be a pickle, and Davy loads only .safetensors and .onnx. "
                f"Convert it once: davy model convert {path}"
            )


def question_to_json(question: Question) -> dict[str, Any]:
    """Return what a manifest keeps of a question: names and rules, no wording."""
    labels = [{"name": it.name, "under": list(it.under)} if it.under else it.name for it in question.labels]
    record: dict[str, Any] = {"name": question.name, "kind": question.kind, "labels": labels}
    if question.positive is not None:
        record["positive"] = question.positive
    if question.under is not None:
        record["under"] = [question.under[0], list(question.under[1])]
    if question.open:
        record["open"] = True
    return record


def question_from_json(record: Mapping[str, Any]) -> Question:
    """Return the question that a manifest's record describes."""
    labels = tuple(
        Label(it) if isinstance(it, str) else Label(it["name"], under=tuple(it["under"])) for it in record["labels"]
    )
    kind = record.get("kind", DEFAULT_KIND)
    if kind not in QUESTION_KINDS or not labels:
        raise ValueError(f"question {record['name']!r} has kind {kind!r} and {len(labels)} labels")
    positive = record.get("positive")
    if positive is not None and positive not in {label.name for label in labels}:
        raise ValueError(f"question {record['name']!r} has no label {positive!r}, its positive one")
    under = record.get("under")
    return Question(
        name=record["name"],
        labels=labels,
        kind=kind,
        positive=positive,
        under=(under[0], tuple(under[1])) if under else None,
        open=bool(record.get("open", False)),
    )


def _advice(folder: Path) -> str:
    """Return what to name or do where a folder is no model folder."""
    found = [*folder.glob(f"*/{MANIFEST}"), *folder.glob(f"seed-*/model/{MANIFEST}")]
    models = sorted(path.parent for path in found if not path.parent.name.startswith("."))
    if models:
        return f"Name the one in it: {models[0]}"
    if (folder / "config.json").is_file() and not (folder / LEARNT).is_file():
        return f"It looks like transformers' own: hf:{folder}"
    if any(path.suffix.lower() in _LOADED for path in folder.glob("*")):
        return "It is not whole, since the manifest is written last: train, export or copy the model again."
    if any(folder.glob("seed-*")) or (folder / "checkpoint").is_dir():
        return "It is a training that has not ended: run its `davy train` again."
    return "`davy train` makes one."


def _as_json(manifest: Manifest) -> dict[str, Any]:
    rare = {"shifts": dict(manifest.shifts), "prevalence": dict(manifest.prevalence)}
    return {
        "format": FORMAT,
        "engine": manifest.engine,
        "name": manifest.name,
        "version": manifest.version,
        "languages": list(manifest.languages),
        "questions": [question_to_json(question) for question in manifest.questions],
        "temperatures": dict(manifest.temperatures),
        "thresholds": dict(manifest.thresholds),
        "settings": dict(manifest.settings),
        "files": dict(manifest.files),
        **{name: it for name, it in rare.items() if it},
    }


def _from_json(record: Mapping[str, Any]) -> Manifest:
    if record["format"] != FORMAT:
        raise ValueError(f"format {record['format']!r}, this Davy reads {FORMAT}")
    questions = tuple(question_from_json(it) for it in record["questions"])
    if not questions:
        raise ValueError("no questions")
    temperatures = {str(name): float(value) for name, value in record.get("temperatures", {}).items()}
    if any(not 0 < value < float("inf") for value in temperatures.values()):
        raise ValueError("a temperature is not above zero")
    return Manifest(
        engine=str(record["engine"]),
        name=str(record["name"]),
        version=str(record["version"]),
        languages=tuple(record.get("languages", ())),
        questions=questions,
        temperatures=temperatures,
        thresholds={str(name): float(value) for name, value in record.get("thresholds", {}).items()},
        settings=dict(record.get("settings", {})),
        files=dict(record["files"]),
        shifts={str(name): float(value) for name, value in record.get("shifts", {}).items()},
        prevalence={str(name): float(value) for name, value in record.get("prevalence", {}).items()},
    )


def _check_files(folder: Path, manifest: Manifest) -> None:
    root = folder.resolve()
    unlisted = [path.name for path in sorted(folder.glob("*")) if path.suffix.lower() in _LOADED]
    if unlisted := [name for name in unlisted if name not in manifest.files]:
        raise UserError(
            f"{folder} holds {unlisted[0]}, which its manifest does not list. Remove it or get the model again."
        )
    for name, digest in manifest.files.items():
        path = folder / name
        if not path.resolve().is_relative_to(root):
            raise UserError(f"{folder / MANIFEST} names {name!r}, outside its folder. Get the model again.")
        if path.suffix.lower() in PICKLES:
            refuse_pickles(folder)
        if not path.is_file():
            raise UserError(f"Model {manifest.name!r} lacks {path}. Get or export the model again.")
        if file_hash(path) != digest:
            raise UserError(f"{path} has changed since the model was saved (its hash differs). Get the model again.")


def _brief(error: Exception) -> str:
    return f"no field {error}" if isinstance(error, KeyError) else str(error).splitlines()[0]
