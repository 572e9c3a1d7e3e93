"""Gates: the least that a detector must reach before it may pass.

A YAML file of limits and a summary in, one result for each limit and model out.
What can't be measured does not pass: a gate that nobody stands at is open. Neither
does anything pass on a suite with problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest
from davy.files import yaml_nodes
from davy.files.yaml_nodes import LARGEST, Problems, YamlMap, YamlNode, YamlText
from davy.schemes import scheme_fields
from davy.testing.metrics import RATES

RATIOS: tuple[str, ...] = ("demographic_parity_ratio", "equalised_odds_ratio")


@dataclass(frozen=True, slots=True)
class Gates:
    """Limits, each with the figure it is about. Floors are by path, such as `("functionalities", "append")`."""

    floors: dict[tuple[str, ...], float]
    gaps: dict[str, float] = field(default_factory=dict)
    drop: float | None = None
    drop_in_functionality: float | None = None
    unanswered: int = 0
    on: str = "value"
    baseline: Path | None = None


@dataclass(frozen=True, slots=True)
class GateResult:
    """Whether one limit holds for one model."""

    model: str
    gate: str
    limit: float
    found: float | None
    passed: bool
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {name: getattr(self, name) for name in ("model", "gate", "limit", "found", "passed", "reason")}


def read_gates(path: Path) -> Gates:
    """Return the gates of a YAML file; the first problem in it is a `UserError` with its line."""
    try:
        with path.open("rb") as file:
            return parse_gates(file.read(LARGEST + 1), path)
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror}.") from None


def parse_gates(raw: bytes, path: Path) -> Gates:
    """Return the gates of a YAML text; `path` is what errors call it, and what a baseline's path is relative to."""
    problems = Problems(str(path), what="gates file", example="docs/detectors/checking.md")
    text = yaml_nodes.decode(raw, problems)
    root = yaml_nodes.parse_tree(text, problems) if text is not None else None
    fine = scheme_fields.mapping(root, "gates", 1, problems, fields=FIELDS, needs=()) if root is not None else None
    if problems.found or not isinstance(fine, YamlMap):
        raise UserError(str(problems.sorted()[0]))
    return _gates(fine, path)


def judge_gates(gates: Gates, summary: dict[str, Any], changes: list[dict[str, Any]] | None) -> list[GateResult]:
    """Return a result for every limit and model. `changes` are against the baseline; None where there is none."""
    problems = summary["suite"]["missing"]
    return [
        result
        for model in summary["models"]
        for result in (*_problem_results(model["name"], problems), *_judged(gates, model, changes))
    ]


def _share(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    """Return a number from 0 to 1."""
    try:
        if isinstance(value, YamlText) and 0 <= float(value) <= 1:
            return value
    except ValueError:
        pass
    shown = f"{str(value)!r}" if isinstance(value, YamlText) else "no number"
    problems.add(line, f"{what} must be a number from 0 to 1, but it is {shown}.")
    return None


def _shares(value: YamlNode, what: str, line: int, problems: Problems, known: tuple[str, ...] = ()) -> YamlNode:
    """Return a mapping of names to numbers from 0 to 1."""
    if not isinstance(value, YamlMap) or not value:
        problems.add(line, f"{what} must be a mapping of names to numbers, such as `{{append: 0.8}}`.")
        return None
    for name, item in value.items():
        where = value.line_of(name)
        if known and name not in known:
            problems.add(where, f"{what} has no {str(name)!r}; known: {', '.join(known)}.{nearest(name, list(known))}")
        if isinstance(item, YamlMap):
            _shares(item, f"{what}: {name}", where, problems)
        else:
            _share(item, f"{what}: {name}", where, problems)
    return value


def _drop(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    if isinstance(value, YamlMap):
        return _shares(value, what, line, problems, ("overall", "functionality"))
    return _share(value, what, line, problems)


def _gap(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    return (
        _shares(value, what, line, problems, RATES)
        if isinstance(value, YamlMap)
        else _share(value, what, line, problems)
    )


def _whole_number(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    if isinstance(value, YamlText) and value.isdigit():
        return value
    problems.add(line, f"{what} must be a whole number from 0.")
    return None


def _on(value: YamlNode, what: str, line: int, problems: Problems) -> YamlNode:
    if value in ("value", "low"):
        return value
    problems.add(line, f"{what} must be `value` or `low` (the lower end of the interval).")
    return None


FIELDS: dict[str, scheme_fields.Check] = {
    "accuracy": _share,
    "invariance": _share,
    "accuracy_after_change": _share,
    "pairs": _share,
    "functionalities": _shares,
    "sets": _shares,
    "labels": _shares,
    "targets": _shares,
    "cells": _shares,
    "ratios": partial(_shares, known=RATIOS),
    "gap": _gap,
    "drop": _drop,
    "unanswered": _whole_number,
    "on": _on,
    "baseline": scheme_fields.text,
}


FLOORS: tuple[str, ...] = (
    "accuracy",
    "invariance",
    "accuracy_after_change",
    "pairs",
    "functionalities",
    "sets",
    "labels",
    "targets",
    "cells",
    "ratios",
)


def _gates(root: YamlMap, path: Path) -> Gates:
    floors: dict[tuple[str, ...], float] = {}
    for key in FLOORS:
        _flatten(root.get(key), (key,), floors)
    gap, drop = root.get("gap"), root.get("drop")
    gaps = {str(k): float(str(v)) for k, v in gap.items()} if isinstance(gap, YamlMap) else {}
    if isinstance(gap, YamlText):
        gaps = {"accuracy": float(gap)}
    overall, part = (drop.get("overall"), drop.get("functionality")) if isinstance(drop, YamlMap) else (drop, drop)
    return Gates(
        floors=floors,
        gaps=gaps,
        drop=None if overall is None else float(str(overall)),
        drop_in_functionality=None if part is None else float(str(part)),
        unanswered=int(str(root.get("unanswered") or 0)),
        on=str(root.get("on") or "value"),
        baseline=path.parent / str(root["baseline"]) if root.get("baseline") else None,
    )


def _flatten(node: YamlNode, path: tuple[str, ...], into: dict[tuple[str, ...], float]) -> None:
    if isinstance(node, YamlMap):
        for name, item in node.items():
            _flatten(item, (*path, str(name)), into)
    elif isinstance(node, YamlText):
        into[path] = float(node)


def _problem_results(name: str, problems: list[str]) -> Iterator[GateResult]:
    """Yield a failed gate where the suite has problems: what is left of it may be what the detector can do."""
    if problems:
        many = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
        reason = f"the suite has {many} and must have none: some of its cases may be missing"
        yield GateResult(name, "problems in the suite", 0, len(problems), False, reason)


def _judged(gates: Gates, model: dict[str, Any], changes: Any) -> Iterator[GateResult]:
    name = model["name"]
    for path, limit in gates.floors.items():
        for called, found in _figures(path, model, gates.floors):
            value = None if found is None else found.get(gates.on)
            passed = value is not None and value >= limit
            end = " at the lower end of its interval" if gates.on == "low" else ""
            how = "can't be measured" if value is None else f"is {value:.3f}{end}"
            yield GateResult(name, called, limit, value, passed, f"{called} {how}, and must be at least {limit:g}")
    for rate, limit in gates.gaps.items():
        yield _gap_result(name, rate, limit, model["fairness"])
    yield from _drops(gates, name, changes)
    many = len(model["unanswered"])
    reason = f"{many} cases have no answer, and at most {gates.unanswered} may have none"
    yield GateResult(name, "unanswered cases", gates.unanswered, many, many <= gates.unanswered, reason)


def _figures(
    path: tuple[str, ...], model: dict[str, Any], floors: dict[tuple[str, ...], float]
) -> Iterator[tuple[str, Any]]:
    """Yield (what it is called, metric) for a floor; `*` stands for every name that has no floor of its own."""
    kind, *names = path
    if kind == "accuracy":
        yield "accuracy", model["accuracy"]
    elif kind == "invariance":
        yield "answers unchanged by a change (INV)", model["tests"].get("INV")
    elif kind == "accuracy_after_change":
        yield "accuracy after a change", model["accuracy_after_change"]
    elif kind == "pairs":
        yield "pairs with both sides right", model["pairs"].get("all")
    elif kind == "ratios":
        yield names[0].replace("_", " "), (model["fairness"] or {"between": {}})["between"].get(names[0])
    elif kind == "functionalities":
        for each in _expand_star(names[0], (kind,), model["functionalities"], floors):
            yield f"accuracy on {each}", _look_up(model["functionalities"], each, "functionality")["accuracy"]
    elif kind == "cells":
        part = _look_up(model["functionalities"], names[0], "functionality")["sets"]
        for each in _expand_star(names[1] if names[1:] else "*", (kind, names[0]), part, floors):
            yield f"accuracy on {names[0]} × {each}", _look_up(part, each, "set")
    else:
        for each in _expand_star(names[0], (kind,), [n for n in model[kind] if n != "none"], floors):
            yield f"accuracy on {kind[:-1]} {each!r}", _look_up(model[kind], each, kind[:-1])


def _expand_star(
    name: str, above: tuple[str, ...], known: Iterable[str], floors: dict[tuple[str, ...], float]
) -> list[str]:
    return [each for each in known if (*above, each) not in floors] if name == "*" else [name]


def _look_up(table: dict[str, Any], name: str, what: str) -> Any:
    if name not in table:
        known = list(table)
        raise UserError(f"The gates name {what} {name!r}; the suite has {', '.join(known)}.{nearest(name, known)}")
    return table[name]


def _gap_result(name: str, rate: str, limit: float, fairness: dict[str, Any] | None) -> GateResult:
    called = f"gap between targets in {rate}"
    values = {t: rates[rate]["value"] for t, rates in (fairness or {"targets": {}})["targets"].items()}
    known = {target: value for target, value in values.items() if value is not None}
    if len(known) < 2:
        return GateResult(
            name, called, limit, None, False, f"{called} can't be measured: fewer than two targets have it"
        )
    best, worst = max(known, key=lambda t: known[t]), min(known, key=lambda t: known[t])
    found = known[best] - known[worst]
    reason = f"{called} is {found:.3f} ({best} {known[best]:.3f}, {worst} {known[worst]:.3f}), and may be {limit:g}"
    return GateResult(name, called, limit, found, found <= limit, reason)


def _drops(gates: Gates, name: str, changes: list[dict[str, Any]] | None) -> Iterator[GateResult]:
    if gates.drop is None and gates.drop_in_functionality is None:
        return
    change = next((one for one in changes or [] if one["model"] == name), None)
    if change is None:
        limit = gates.drop if gates.drop is not None else gates.drop_in_functionality or 0.0
        reason = "the drop can't be measured: there is no baseline run with this model. Give one: --earlier-run FILE"
        yield GateResult(name, "drop against the baseline", limit, None, False, reason)
        return
    if gates.drop is not None:
        yield _dropped(name, "accuracy", -change["difference"]["value"], gates.drop)
    if gates.drop_in_functionality is not None:
        for each, part in change["functionalities"].items():
            loss = (part["broken"] - part["fixed"]) / part["n"]
            yield _dropped(name, f"accuracy on {each}", loss, gates.drop_in_functionality)


def _dropped(model: str, what: str, loss: float, limit: float) -> GateResult:
    called = f"drop in {what}"
    return GateResult(
        model, called, limit, loss, loss <= limit + 1e-12, f"{what} fell by {loss:.3f}, and may fall by {limit:g}"
    )
