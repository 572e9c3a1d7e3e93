"""Check: functional tests on one or more detectors, side by side.

A suite and detectors in, a `CheckReport` out: every outcome, fairness ratios, what
changed since an earlier run, and which gates failed. Answers are cached by model
version and suite, so that a second check is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from davy.core import Scorer
from davy.core.errors import UserError
from davy.core.options import Option, Options
from davy.core.reporter import SILENT, Reporter
from davy.files.atomic import make_folder
from davy.measure.intervals import Bootstrap
from davy.scoring.scorers import Models, check_names, load_scorer
from davy.testing.changes import OutcomeChange, change_record, explain_uncompared, find_changes, read_summary
from davy.testing.gates import Gates, judge_gates, read_gates
from davy.testing.given_answers import FUNCTION, PREDICTIONS, FunctionScorer, run_predictions
from davy.testing.metrics import measure_fairness
from davy.testing.report.files import write_report
from davy.testing.report.page import CheckReport
from davy.testing.report.summary import summarise
from davy.testing.run import AnswerCache, SuiteRun, run_suite
from davy.testing.suite import Suite
from davy.testing.suite_source import RobustnessSample, load_suite


def check(
    suite: Annotated[
        str | Suite, Option("A shipped suite, a YAML file, or a public suite's CSV: see davy suite.", "suite")
    ],
    models: Annotated[
        Models,
        Option(
            "Detector, predictions:FILE or python:MODULE:FUNCTION; repeat it for several. See davy model list.",
            "--model -m",
        ),
    ] = ("embedded",),
    *,
    out: Annotated[
        Path | None, Option("Folder for the report: HTML, JSON, CSV, JUnit.", "--out -o", metavar="DIR")
    ] = None,
    gates: Annotated[Path | Gates | None, Option("YAML file of limits; exit code 1 if one fails.", "--gate")] = None,
    baseline: Annotated[
        Path | None, Option("Earlier run to compare with; default: the last one in --out.", "--earlier-run")
    ] = None,
    question: Annotated[str, Option("The detector's question, where it is not called as the suite's.")] = "",
    sample: Annotated[RobustnessSample | None, Options(RobustnessSample)] = None,
    lang: Annotated[str | None, Option("Language of a public suite's file, such as de; default: as it says.")] = None,
    cached: Annotated[bool, Option("Use answers that were given before.", "--cache/--no-cache")] = True,
    batch: Annotated[int, Option("Cases that go to the detector at once.", min=1)] = 256,
    bootstrap: Annotated[
        Bootstrap | None,
        Options(
            Bootstrap,
            {
                "resamples": Option("Bootstrap resamples of the fairness ratios."),
                "seed": "Seed of the resampling.",
            },
        ),
    ] = None,
    given: bool = False,
    command: str = "",
    reporter: Reporter = SILENT,
) -> CheckReport:
    """Run a suite on every detector, write the report to `out` and return it.

    `gates` are limits, `baseline` an earlier run to compare with (else the last one in `out`), `question` the
    detectors' question where it is not called as the suite's, `sample` how robustness tests are drawn from a file,
    `lang` the language of a public suite's file. With `given`, models may be `predictions:FILE` and
    `python:MODULE:FUNCTION`, which read files and run code with the caller's rights: only for the caller's own shell.
    """
    limits = read_gates(gates) if isinstance(gates, Path) else gates
    if out is not None:
        make_folder(out)
    tests = load_suite(suite, sample, lang) if isinstance(suite, str) else suite
    for problem in tests.missing:
        reporter.note(f"Problem in the suite: {problem}")
    drawn = bootstrap or Bootstrap()
    runs = _runs(tests, models, question, cached, batch, reporter, given)
    fair = [measure_fairness(tests, run, bootstrap=drawn) for run in runs]
    settings = {
        "seed": drawn.seed,
        "resamples": drawn.resamples,
        "level": drawn.level,
        "question": question or tests.question,
    }
    summary = summarise(tests, runs, fair, settings)
    named = baseline or (limits.baseline if limits is not None else None)
    changes = _changes(summary, tests, _earlier(named, out, reporter), named, reporter)
    summary["changes"] = [change_record(change) for change in changes]
    results = judge_gates(limits, summary, summary["changes"]) if limits is not None else []
    summary["gates"] = [result.to_dict() for result in results]
    report = CheckReport(
        tests, tuple(runs), tuple(fair), summary, tuple(changes), tuple(results), limits is not None, command
    )
    if out is not None:
        write_report(report, out)
    return report


def _runs(
    suite: Suite, models: Models, question: str, cached: bool, batch: int, reporter: Reporter, given: bool
) -> list[SuiteRun]:
    cache = AnswerCache.default() if cached else None
    check_names(list(models))
    named = models if isinstance(models, Mapping) else {name: name for name in models}
    # Everything is loaded before the first detector reads a case, so that a wrong name is an error at once.
    loaded = {name: _load(suite, model, question, given) for name, model in named.items()}
    runs = []
    for name, scorer in loaded.items():
        if isinstance(scorer, SuiteRun):
            runs.append(scorer)
            continue
        # A function may call code that changed though its own file did not, so its answers are not kept.
        kept = None if isinstance(scorer, FunctionScorer) else cache
        reporter.begin(name, len(suite.cases))
        runs.append(
            run_suite(suite, scorer, name=name, question=question, cache=kept, batch=batch, progress=reporter.advance)
        )
        reporter.end()
    return runs


def _load(suite: Suite, model: str | Scorer, question: str, given: bool) -> Scorer | SuiteRun:
    """Return the scorer that a name stands for, or the run that a file of predictions holds already."""
    if given and isinstance(model, str) and model.startswith(PREDICTIONS):
        return run_predictions(suite, model, question)
    if given and isinstance(model, str) and model.startswith(FUNCTION):
        return FunctionScorer(model, suite, question)
    return load_scorer(model)


def _earlier(named: Path | None, out: Path | None, reporter: Reporter) -> dict[str, Any] | None:
    """Return the run to compare with: the one named, else the last one in the folder."""
    if named is not None:
        return read_summary(named)
    if out is not None and (out / "report.json").is_file():
        try:
            return read_summary(out)
        except UserError as error:  # nobody asked for this comparison, so it must not stop the check
            reporter.note(f"Not compared with the last run: {error.message}")
    return None


def _changes(
    summary: dict[str, Any], suite: Suite, earlier: dict[str, Any] | None, named: Path | None, reporter: Reporter
) -> list[OutcomeChange]:
    if earlier is None:
        return []
    changes = find_changes(summary, earlier, suite)
    for reason in explain_uncompared(summary, earlier, changes) if named is not None else ():
        reporter.note(f"Not compared: {named} {reason}.")
    return changes
