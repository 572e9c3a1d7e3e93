"""The file of thresholds that `davy migrate compare` writes and a community takes: one per attribute and language.

A comparison in, YAML out; YAML in, thresholds by what they belong to out. A threshold belongs to a yes/no question, or,
where a formula or a single label stands behind the attribute, to the attribute itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.files.yaml_nodes import Problems, YamlMap, YamlNode
from davy.files.yaml_objects import read_root
from davy.moderation.migrate import AttributeComparison, Migration


@dataclass(frozen=True, slots=True)
class LanguageThresholds:
    """Thresholds by question or attribute: those of all languages, and those of languages that have their own."""

    common: Mapping[str, float]
    languages: Mapping[str, Mapping[str, float]]


def thresholds_yaml(migration: Migration) -> str:
    """Return the thresholds as the YAML file that a community takes."""
    langs = dict.fromkeys(one.lang for it in migration.attributes for one in it.languages)
    lines = [
        "# Thresholds that flag the same share of posts as Perspective's scores did.",
        "# Use them: davy community set NAME --thresholds THIS-FILE",
        *(f"# {note}" for note in migration.count_notes()),
        f"model: {json.dumps(migration.model['name'])}",
        f"version: {json.dumps(migration.model['version'])}",
        "thresholds:",
        *(_line(it, "  ") for it in migration.attributes),
    ]
    if langs:
        lines.append("languages:")
    for lang in langs:
        found = [one for it in migration.attributes for one in it.languages if one.lang == lang]
        lines += [f"  {json.dumps(lang)}:", *(_line(it, "    ") for it in found)]
    return "\n".join(lines) + "\n"


def _line(it: AttributeComparison, indent: str) -> str:
    cut, flagged = it.figures.threshold, it.figures.flagged
    if cut.value is None:
        return f"{indent}# {it.attribute}: no threshold, because {cut.note}"
    source = it.source
    behind = f"formula: {json.dumps(source.text)}" if source.formula else f"question: {source.question}"
    label = "" if source.label is None else f", label: {json.dumps(source.label)}"
    interval = "no interval" if cut.low is None else f"95 % interval {cut.low:.3f} to {cut.high:.3f}"
    hardly = "; the ranks hardly agree" if it.hardly_agrees else ""
    return (
        f"{indent}{it.attribute}: {{{behind}{label}, threshold: {cut.value:.6f}}}"
        f"  # fitted on {len(it.old)} posts; {interval}; flags {flagged.value:.1%} as {it.old_threshold:g} did{hardly}"
    )


def read_thresholds(path: Path) -> LanguageThresholds:
    """Return the thresholds of a file of `davy migrate compare`."""
    problems = Problems(str(path), what="file of thresholds", example="docs/serve/migrate-from-perspective.md")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"Can't read the thresholds {path}: {error.strerror}.") from None
    root = read_root(raw, problems, ("model", "version", "thresholds", "languages"))
    common = _thresholds(root.get("thresholds"), root.line, problems)
    blocks = root.get("languages")
    languages: dict[str, Mapping[str, float]] = {}
    for lang, block in blocks.items() if isinstance(blocks, YamlMap) else ():
        languages[str(lang)] = _thresholds(block, root.line_of("languages"), problems)
    problems.raise_first()
    if not common:
        raise UserError(f"{path} has no thresholds.")
    return LanguageThresholds(common, {lang: it for lang, it in languages.items() if it})


def _thresholds(given: YamlNode, line: int, problems: Problems) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, node in given.items() if isinstance(given, YamlMap) else ():
        value = _fraction(node.get("threshold")) if isinstance(node, YamlMap) else None
        if not isinstance(node, YamlMap) or value is None or not (node.get("question") or node.get("formula")):
            problems.add(line, f"{name}: write {{question: offensive, threshold: 0.41}}.")
            continue
        by_attribute = node.get("formula") or node.get("label")
        found.setdefault(str(name if by_attribute else node["question"]), value)
    return found


def _fraction(value: Any) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None
