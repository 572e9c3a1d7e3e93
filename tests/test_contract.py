"""The house's contract: a feature is a folder, a layer is a file in it. These tests read every import, lazy ones too.

Shelves: a feature imports only features of its own shelf or a lower one. Layers: a file imports only files of its own
layer or a lower one. Names in strings, as `"module:name"`, count as imports.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "davy"

SHELVES = (
    {"core", "version"},
    {"files", "text", "image", "measure", "report", "engines", "store", "web", "shell", "jobs", "people", "schemes"},
    {"corpus", "detectors", "scoring"},
    {"training", "testing", "evaluation"},
    {"annotation", "scheme_editor", "reviews", "runs"},
    {"moderation", "rounds", "memes", "challenges"},
    {"davy", "client", "demo", "features", "schema", "server", "sklearn", "__main__"},
)
SHELF = {folder: number for number, folders in enumerate(SHELVES) for folder in folders}
LIBRARIES = SHELVES[0] | SHELVES[1] - {"people", "schemes"}
"""Folders that serve every feature. Layers hold in features, not in them."""

NOUNS, STORE, WORK, JOBS, DOORS, FEATURE = range(6)
LAYER_NAMES = ("nouns", "store", "work", "jobs", "doors", "feature")

NOUN_MODULES = {
    "davy.annotation.project.phase_kind",
    "davy.annotation.project.project",
    "davy.challenges.challenge",
    "davy.rounds.round",
    "davy.testing.suite",
}
"""Dataclasses and their rules, without I/O, that tables are made from. Those that every feature shares are in core."""

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("davy.core.feature", "davy.features"): "the one list of features that everything else asks",
}
"""Importing module → imported module, each with the reason. This list only gets shorter."""

CROSSINGS: set[tuple[str, str]] = {
    ("annotation", "challenges"),
    ("annotation", "memes"),
    ("annotation", "rounds"),
    ("annotation", "schema"),
    ("challenges", "server"),
    ("corpus", "annotation"),
    ("detectors", "moderation"),
    ("evaluation", "memes"),
    ("jobs", "annotation"),
    ("jobs", "challenges"),
    ("jobs", "moderation"),
    ("jobs", "rounds"),
    ("jobs", "runs"),
