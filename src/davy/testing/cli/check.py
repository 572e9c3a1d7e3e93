"""`davy check`: run functional tests on one or more detectors, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from davy.core.options import Option
from davy.files import tables
from davy.report.tables import true_minus
from davy.shell import console
from davy.shell.verb_command import Run, verb_command
from davy.testing import check as action
from davy.testing.report.files import failed_posts
from davy.testing.report.page import CheckReport
from davy.testing.suite_source import RobustnessSample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from davy.testing.gates import GateResult
    from davy.testing.suite import Suite


@verb_command(
    action.check,
    "suite model out gate earlier_run question gold lang most cache batch resamples failures seed json",
)
def check(
    run: Run[CheckReport],
    question: str,
    gold: str | None,
    most: int,
    seed: int,
    out: Path | None,
    failures: Annotated[
        Path | None, Option("Write the failed cases as posts with their right answer, to train on.")
    ] = None,
    json: Annotated[bool, Option("Print JSON.")] = False,
) -> int:
    """Run functional tests on one or more detectors, side by side.

    Every model gets one scoring pass; answers are kept by model version and suite, so a second run is quick. Exit
    code 1 if a gate fails.

    Examples:

        davy check emoji-en --model embedded --out checks/emoji

        davy check emoji-en --model embedded --model keywords:words.txt --out checks/emoji --gate gates.yaml

        davy check hatecheck:hatecheck.csv --model embedded --json

        davy check emoji-en --model predictions:answers.csv --model python:mine:score

        davy check robustness:posts.csv --gold hate --model embedded --out checks/robust

        davy check mine.yaml --model ./model --failures missed.csv
    """

    report = run(
        sample=RobustnessSample(question or "hate", gold, most, seed),
        given=True,
        command=" ".join(console.command_line()),
    )
    missed = failed_posts(report.suite, report.runs) if failures is not None else None
    if json:
        models = [{k: v for k, v in one.items() if k != "outcomes"} for one in report.summary["models"]]
        console.json({**report.summary, "models": models})
    else:
        _show(report)
    if out is not None:
        console.note(f"Wrote {out / 'report.html'}, report.json, cells.csv, cases.csv, junit.xml")
    if failures is not None and missed is not None:
        tables.write(missed.lazy(), failures)
        console.note(f"Wrote {len(missed):,} failed cases to {failures}, texts in clear. Read them before training.")
    return _count_decided(report.results)


def _show(report: CheckReport) -> None:
    suite, runs, fair, made = report.suite, report.runs, report.fair, report.summary
    names = [run.model for run in runs]
    right = ["n", *names]
    console.table(["accuracy", *right], _overall(suite, made), right=right, title=f"{suite.name} {suite.version}")
    console.table(["functionality", *right], _by_functionality(suite, made), right=right)
    if "no emoji" in suite.sets:
        print("† not defined: without its emoji a case has the other label")
    print(made["intervals"]["how"])
    for model in made["models"]:
        if model["warning"]:
            print(f"Warning: {model['warning']}")
    for run, one in zip(runs, fair, strict=True):
        if one is not None:
            ratios = ", ".join(f"{key.replace('_', ' ')} {one.between[key]}" for key in one.between if "ratio" in key)
            print(f"{run.model}: {ratios}")
    for change in report.changes:
        print(
            f"{change.model}: {len(change.fixed)} cases fixed, {len(change.broken)} broken since the last run "
            f"({true_minus(f'{change.difference.value:+z.3f}')}, p = {change.p:.3f}, {change.test})"
        )
    for run in runs:
        unanswered = [outcome for outcome in run.outcomes if not outcome.applies]
        if unanswered:
            print(f"{run.model}: {len(unanswered)} cases have no answer, the first because {unanswered[0].note}")


def _overall(suite: Suite, made: dict[str, Any]) -> list[list[Any]]:
    models = made["models"]
    heads = [m["accuracy"] for m in models]
    rows: list[list[Any]] = [["overall", _sizes(heads), *map(_interval, heads)]]
    for key, words in (("INV", "unchanged (INV)"), ("DIR", "moved as they must (DIR)")):
        found = [m["tests"].get(key) for m in models]
        if any(found):
            rows.append([words, _sizes(found), *map(_interval, found)])
    after = [m["accuracy_after_change"] for m in models]
    if any(after):
        rows.append(["right after a change", _sizes(after), *map(_interval, after)])
    for key, words in (("yes", "annotators disagreed"), ("no", "annotators agreed")):
        found = [m["disputed"].get(key) for m in models]
        if any(found):
            rows.append([words, _sizes(found), *map(_interval, found)])
    rows.append(["a constant answer", "", *(_constant(m["constant"]) for m in models)])
    for part, keys in (("labels", suite.labels), ("sets", suite.sets if len(suite.sets) > 1 else ())):
        for key in keys:
            found = [m[part].get(key) for m in models]
            if any(one["n"] for one in found if one):
                rows.append([f"{part[:-1]}: {key}", _sizes(found), *map(_interval, found)])
    if "no emoji" in suite.sets:
        rows.append(["emoji difference", "", *(_interval(m["emoji_difference"]) for m in models)])
    if suite.links:
        pairs = [m["pairs"].get("all") for m in models]
        rows.append(["pairs both right", _sizes(pairs), *map(_interval, pairs)])
    return rows


def _by_functionality(suite: Suite, made: dict[str, Any]) -> list[list[Any]]:
    """Return a row for each functionality with all its cases, then one for each set where it has several."""
    rows: list[list[Any]] = []
    for name in suite.functionalities:
        parts = [m["functionalities"][name] for m in made["models"]]
        heads = [part["accuracy"] for part in parts]
        rows.append([suite.titled(name), _sizes(heads), *map(_short, heads)])
        sets = {key: [part["sets"].get(key) for part in parts] for key in suite.sets}
        shown = {key: cells for key, cells in sets.items() if any(cells)}
        for key, cells in shown.items() if len(shown) > 1 else ():
            rows.append([f"  {key}", _sizes(cells), *map(_short, cells)])
        if "no emoji" in suite.sets:
            found = [part["emoji_difference"]["value"] for part in parts]
            rows.append(
                ["  emoji difference", "", *("†" if one is None else true_minus(f"{one:+z.2f}") for one in found)]
            )
    return rows


def _sizes(metrics: Sequence[dict[str, Any] | None]) -> str:
    """Return how many cases figures stand on; one number for each model where they differ, in the columns' order."""
    sizes = [metric["n"] if metric else 0 for metric in metrics]
    return str(sizes[0]) if len(set(sizes)) == 1 else " / ".join(map(str, sizes))


def _constant(found: dict[str, Any] | None) -> str:
    return "" if found is None else f"{found['accuracy']:.3f} ({found['label']})"


def _interval(metric: dict[str, Any] | None) -> str:
    if metric is None or metric["value"] is None:
        return "not defined"
    if metric["low"] is None:
        return f"{metric['value']:.3f}"
    return f"{metric['value']:.3f} [{metric['low']:.3f}, {metric['high']:.3f}]"


def _short(metric: dict[str, Any] | None) -> str:
    return (
        "–"
        if metric is None or metric["value"] is None
        else f"{metric['value']:.2f} [{metric['low']:.2f}, {metric['high']:.2f}]"
    )


def _count_decided(results: Sequence[GateResult]) -> int:
    """Print the gates that failed and return the exit code."""
    failed = [result for result in results if not result.passed]
    for result in failed:
        console.error(f"gate failed, {result.model}: {result.reason}.")
    if results and not failed:
        console.note(f"All {len(results)} gates passed.")
    return 1 if failed else 0
