"""The report of a check as one self-contained page.

Suite, runs, figures and gate results in, a `Page` out: at a glance, the heat
map, what changed, cases with filters, fairness, confusions, worst cases, gates,
and what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from davy.core import Metric
from davy.report import Column, Page, Provenance, Table
from davy.testing import metrics, suites
from davy.testing.changes import OutcomeChange
from davy.testing.gates import GateResult
from davy.testing.metrics import RATE_TITLES, Fairness
from davy.testing.report.cases_table import cases_part
from davy.testing.report.heat_map import heat_map, rate_plot
from davy.testing.run import SuiteRun
from davy.testing.suite import TESTS, Suite
from davy.testing.suites.display import lexicon
from davy.text.lexicons.read import Lexicon

WORST = 25


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All that a report is made from."""

    suite: Suite
    runs: tuple[SuiteRun, ...]
    fair: tuple[Fairness | None, ...]
    summary: dict[str, Any]
    changes: tuple[OutcomeChange, ...] = ()
    results: tuple[GateResult, ...] = ()
    gated: bool = False
    command: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)


def page(check: CheckReport) -> Page:
    """Return the report."""
    suite = check.suite
    models = ", ".join(f"{run.model} ({run.version})" for run in check.runs)
    origin = Provenance(
        data=f"suite {suite.name}, version {suite.version}, hash {suite.digest}, {len(suite.cases):,} cases",
        model=models,
        seed=check.summary["settings"].get("seed"),
        command=check.command,
        more={"Suite": suite.source} if suite.source else {},
    )
    lead = f"{suite.title or suite.name}: {len(suite.cases):,} cases, {len(suite.functionalities)} functionalities."
    lead = f"{lead} {suite.validation}".strip()
    report = Page(f"Functional tests: {suite.name}", lead=lead, provenance=origin, texts=True)
    words = lexicon(suite)
    _gates(report, check)
    _glance(report, check)
    _capabilities(report, check)
    _heat(report, check)
    _changes(report, check)
    _cases(report, check, words)
    _fairness(report, check)
    _confusions(report, check)
    _worst(report, check)
    _missing(report, check)
    return report


def _glance(report: Page, check: CheckReport) -> None:
    report.section(
        "At a glance", f"Share of cases that are right, with 95% intervals. {check.summary['intervals']['how']}"
    )
    for model in check.summary["models"]:
        if model["warning"]:
            report.say(f"Warning: {model['warning']}")
    scored = [Column(run.model, "metric") for run in check.runs]
    report.table(Table.of([Column("cases"), *scored], _glance_rows(check)))
    _emoji_difference(report, check)
    _pair_coverage(report, check.suite)


def _pair_coverage(report: Page, suite: Suite) -> None:
    """Show how much of each functionality the pairs cover; perturbations without any pair are named."""
    coverage = metrics.pair_coverage(suite) if suite.links else []
    if not coverage:
        return
    report.heading("Pairs")
    alone = [f"{suite.titled(name)}, {part} ({n:,} cases)" for name, part, n, paired in coverage if not paired]
    report.say(
        "How many perturbed cases have an original that differs in the perturbed place alone. Figures on pairs rest on "
        "these." + (f" No pair at all: {'; '.join(alone)}." if alone else "")
    )
    columns = [Column("functionality"), Column("set"), *(Column(each, "count") for each in ("cases", "in a pair"))]
    columns.append(Column("share", "share"))
    rows = [(suite.titled(name), part, n, paired, paired / n) for name, part, n, paired in coverage]
    report.table(Table.of(columns, rows))


def _glance_rows(check: CheckReport) -> list[tuple[Any, ...]]:
    """Return the shares of right cases: overall, by kind of test, label, set and dispute."""
    suite = check.suite
    by_cell = [
        {(c.functionality, c.set, c.label, c.target): c.accuracy for c in metrics.cells(suite, run, ("set", "label"))}
        for run in check.runs
    ]

    def row(name: str, key: tuple[str, str]) -> tuple[Any, ...]:
        return (name, *(cells.get(("all", key[0], key[1], "all")) for cells in by_cell))

    rows = [row("overall", ("all", "all"))]
    by_test = [metrics.passed_by_test(suite, run) for run in check.runs]
    for test, words in (
        ("INV", "answers that a change left as they were (INV)"),
        ("DIR", "scores that moved as they must (DIR)"),
    ):
        if any(("all", test) in passed for passed in by_test):
            rows.append((words, *(passed.get(("all", test)) for passed in by_test)))
    changed = [metrics.accuracy_after_change(suite, run) for run in check.runs]
    if any(changed):
        rows.append(("right label after a change", *changed))
    rows.append(("a constant answer", *(_constant(model["constant"]) for model in check.summary["models"])))
    rows += [row(label, ("all", label)) for label in suite.labels]
    with_labels = [name for name in suite.sets if any(("all", name, "all", "all") in cells for cells in by_cell)]
    rows += [row(f"{name} set", (name, "all")) for name in with_labels if len(with_labels) > 1]
    for disputed, words in ((True, "cases that annotators disagreed on"), (False, "cases that annotators agreed on")):
        by_dispute = [metrics.accuracy_by_dispute(suite, run).get(disputed) for run in check.runs]
        if any(by_dispute):
            rows.append((words, *by_dispute))
    pairs = [metrics.pairs_right(suite, run).get("all") for run in check.runs]
    if any(pairs):
        rows.append(("pairs with both sides right", *pairs))
    return rows


def _emoji_difference(report: Page, check: CheckReport) -> None:
    suite = check.suite
    differences = [metrics.emoji_difference(suite, run) for run in check.runs]
    if not any(one.value is not None for one in differences):
        return
    report.heading("Emoji difference")
    report.say(
        "Accuracy on the originals less accuracy on the same cases without emoji: below zero means that "
        "emoji mislead the detector. Not defined (†) where removing the emoji flips the label."
    )
    columns = [Column(run.model, "metric", scale=(-1, 1)) for run in check.runs]
    rows: list[tuple[Any, ...]] = [("overall", *differences)]
    for name in suite.functionalities:
        found = [metrics.emoji_difference(suite, run, name) for run in check.runs]
        rows.append((suite.titled(name), *(_short(one) for one in found)))
    report.table(Table.of([Column("functionality"), *columns], rows))


def _capabilities(report: Page, check: CheckReport) -> None:
    """Show CheckList's matrix, failure rates by capability and kind of test, where a suite has more than one kind."""
    kinds = [test for test in TESTS if any(case.test == test for case in check.suite.cases)]
    if not check.suite.capabilities and len(kinds) < 2:
        return
    report.section(
        "Capabilities",
        "Failure rates by what is tested and how: MFT has one right label, INV must not change the answer, DIR must "
        "move the score. Low is good.",
    )
    names = list(dict.fromkeys(check.suite.capability(case) for case in check.suite.cases))
    for run in check.runs:
        passed = metrics.passed_by_test(check.suite, run, check.suite.capability)
        rows = [(name, *(metrics.failure_rate(passed.get((name, test))) for test in kinds)) for name in names]
        columns = [Column("capability"), *(Column(test, "metric") for test in kinds)]
        report.table(Table.of(columns, rows, title=run.model))


def _constant(found: dict[str, Any] | None) -> str:
    return "" if found is None else f"{found['accuracy']:.3f} (always {found['label']!r})"


def _short(metric: Metric) -> Metric:
    note = None if metric.note is None else f"† {metric.note}"
    return Metric(metric.name, metric.value, metric.n, metric.low, metric.high, metric.level, note, metric.clusters)


def _brief(metric: Metric) -> Metric:
    return metric if metric.value is not None else Metric(metric.name, None, metric.n, note="not defined")


def _heat(report: Page, check: CheckReport) -> None:
    report.section(
        "Heat map",
        "Accuracy by functionality and set. The stronger the colour, the more is wrong. Press a cell to see its cases.",
    )
    report.part(heat_map(check.summary), style=_asset("page.css"))


def _cases(report: Page, check: CheckReport, words: Lexicon) -> None:
    report.section("Cases", "Each case with what every model said, and the probability it gave to yes.")
    part = cases_part(check.suite, check.runs, words, check.changes)
    report.part(f'<div id="cases-list">{part}</div>\n', style=_asset("page.css"), script=_asset("page.js"), texts=True)


def _changes(report: Page, check: CheckReport) -> None:
    if not check.changes:
        return
    report.section(
        "What changed since the last run", "Among the cases below, answers can be narrowed to what was fixed or broken."
    )
    rows = [
        (
            c.model,
            c.before if c.before == c.after else f"{c.before} → {c.after}",
            c.difference,
            len(c.fixed),
            len(c.broken),
            f"{'p < 0.001' if c.p < 0.001 else f'p = {c.p:.3f}'}, {c.test}",
        )
        for c in check.changes
    ]
    columns = [
        Column("model"),
        Column("version"),
        Column("accuracy, now less then", "metric", scale=(-1, 1)),
        Column("fixed", "count"),
        Column("broken", "count"),
        Column("test"),
    ]
    report.table(Table.of(columns, rows))
    for change in check.changes:
        moved = [
            (check.suite.titled(f), *found) for f, found in change.by_functionality.items() if found[1] or found[2]
        ]
        if moved:
            columns = [Column("functionality"), *(Column(name, "count") for name in ("cases", "fixed", "broken"))]
            report.table(Table.of(columns, moved, title=change.model))


def _fairness(report: Page, check: CheckReport) -> None:
    known = [(run.model, fair) for run, fair in zip(check.runs, check.fair, strict=True) if fair is not None]
    if not known:
        return
    report.section(
        "Fairness",
        "Does the detector serve the groups alike? Cases that are about nobody are left out. Dots are figures, lines "
        "their 95% intervals.",
    )
    report.plot(rate_plot(known), "Six rates by target and model, with 95% intervals.")
    true = known[0][1].true_rate
    report.say(
        "A detector that is always right would select: "
        + ", ".join(f"{target} {rate:.2f}" for target, rate in true.items())
        + "."
    )
    report.heading("Between groups")
    report.say(
        "Ratios are the lowest group's rate over the highest's: 1 is parity. Intervals are bootstrapped over "
        "templates and corrected for bias and skew (BCa); chance drives groups apart, so they still lie low."
    )
    between = {"demographic_parity_ratio": "demographic parity ratio", "equalised_odds_ratio": "equalised odds ratio"}
    rows = [(name, *(_brief(fair.between[key]) for key in between)) for name, fair in known]
    report.table(Table.of([Column("model"), *(Column(title, "metric") for title in between.values())], rows))
    for name, fair in known:
        report.heading(f"{name}, by target")
        rates = [(target, *(found[key] for key in RATE_TITLES)) for target, found in fair.by_target.items()]
        report.table(
            Table.of([Column("target"), *(Column(title, "metric", digits=2) for title in RATE_TITLES.values())], rates)
        )
        auc = [
            (target, *(found[key] for key in ("subgroup_auc", "bpsn_auc", "bnsp_auc")))
            for target, found in fair.auc.items()
        ]
        titles = ("subgroup AUC", "BPSN AUC", "BNSP AUC")
        report.table(Table.of([Column("target"), *(Column(title, "metric", digits=2) for title in titles)], auc))
    report.say(
        "BPSN is low where harmless mentions of a group are taken for hate, BNSP where hate against it is missed "
        "(Borkan and others, 2019)."
    )


def _confusions(report: Page, check: CheckReport) -> None:
    report.section("Confusions", "What is right, and how often each model said what.")
    rows = []
    for run in check.runs:
        found = metrics.confusions(check.suite, run)
        rows += [
            (run.model, gold, *(found[gold, predicted] for predicted in check.suite.labels))
            for gold in check.suite.labels
        ]
    predicted = [Column(f"predicted {label}", "count") for label in check.suite.labels]
    report.table(Table.of([Column("model"), Column("expected"), *predicted], rows))


def _worst(report: Page, check: CheckReport) -> None:
    report.section("Worst cases", f"For each model the {WORST} wrong answers that it is surest of.")
    masked = suites.masker(check.suite)
    for run in check.runs:
        wrong = metrics.worst_cases(check.suite, run)
        report.heading(f"{run.model}: {len(wrong):,} wrong")
        if not wrong:
            continue
        rows = [
            (
                masked(case.text),
                check.suite.titled(case.functionality),
                case.set,
                case.target,
                case.expected,
                out.probability,
            )
            for case, out in wrong[:WORST]
        ]
        columns = [
            Column("case", "text"),
            *map(Column, ("functionality", "set", "target", "expected")),
            Column("yes", "number"),
        ]
        report.table(Table.of(columns, rows))


def _gates(report: Page, check: CheckReport) -> None:
    if not check.gated:
        return
    failed = [result for result in check.results if not result.passed]
    report.section("Gates", f"{len(failed)} of {len(check.results)} gates failed." if failed else "All gates passed.")
    rows = [
        (result.model, "failed" if not result.passed else "passed", result.gate, result.found, result.limit)
        for result in sorted(check.results, key=lambda one: one.passed)
    ]
    columns = [Column("model"), Column("result"), Column("gate"), Column("found", "number"), Column("limit", "number")]
    report.table(Table.of(columns, rows))


def _missing(report: Page, check: CheckReport) -> None:
    unanswered = [(run.model, out.case, out.note) for run in check.runs for out in run.outcomes if not out.applies]
    report.section("What is missing")
    if not check.suite.missing and not unanswered:
        report.say("Nothing: every template was made into cases, and every case has an answer.")
    if check.suite.missing:
        report.say("The suite's file has problems, so some of its cases were left out:")
        report.table(Table.of([Column("problem")], [(line,) for line in check.suite.missing]))
    if unanswered:
        report.say(f"{len(unanswered):,} answers are missing and count neither as right nor as wrong.")
        report.table(Table.of([Column("model"), Column("case"), Column("reason")], unanswered[:200]))


def _asset(name: str) -> str:
    return resources.files("davy.testing").joinpath(name).read_text("utf-8")
