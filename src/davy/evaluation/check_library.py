"""`davy.check`: detectors run through functional tests, and whether each gate holds.

Detectors and a suite in; a result with its figures as a frame out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from davy.core.errors import UserError
from davy.evaluation.library import Models, detectors_by_name
from davy.scoring.frames import FIGURE, text_columns
from davy.scoring.python_words import python_words
from davy.testing.suites.suite_editor import SuiteEditor

if TYPE_CHECKING:
    from davy.testing.gates import GateResult
    from davy.testing.report.page import CheckReport


class GateFailed(UserError):
    """A detector did not reach what a gate asks for."""


@dataclass(frozen=True, repr=False)
class CheckResult:
    """Detectors run through functional tests, and whether each gate holds."""

    report: CheckReport

    def __repr__(self) -> str:
        return f"<CheckResult of {', '.join(run.model for run in self.report.runs)} on {self.report.suite.name}>"

    def _repr_html_(self) -> str:
        from davy.scoring.notebook import frame_html

        return frame_html(repr(self).strip("<>"), self.frame)

    @property
    def frame(self) -> pl.DataFrame:
        """Accuracy overall and by functionality, one row each with n and interval.

        Example:
            davy.check(detector, "emoji-en").frame
        """
        rows = []
        for model in self.report.summary["models"]:
            parts = {"overall": model["accuracy"]}
            parts |= {name: part["accuracy"] for name, part in model["functionalities"].items()}
            rows += [
                {"model": model["name"], "functionality": name, **{k: part[k] for k in ("value", "low", "high", "n")}}
                for name, part in parts.items()
            ]
        return pl.DataFrame(rows, schema={**text_columns("model", "functionality"), **FIGURE})

    @property
    def gates(self) -> tuple[GateResult, ...]:
        """A result for every limit and detector."""
        return self.report.results

    @property
    def passed(self) -> bool:
        """Whether every limit holds; without a gate, yes."""
        return all(result.passed for result in self.gates)

    def raise_for_gate(self) -> CheckResult:
        """Raise `GateFailed` where a limit does not hold; else return the result itself.

        Example:
            davy.check(detector, "emoji-en", gate={"accuracy": 0.8}).raise_for_gate()
        """
        failed = [f"{result.model}: {result.reason}" for result in self.gates if not result.passed]
        if failed:
            raise GateFailed(f"{'; '.join(failed)}.")
        return self

    def html(self, folder: str | Path) -> Path:
        """Write report.html, report.json, cells.csv, cases.csv and junit.xml into a folder; return the page.

        Example:
            davy.check(detector, "emoji-en").html("checks/emoji")
        """
        from davy.testing.report.files import write_report

        write_report(self.report, Path(folder))
        return Path(folder) / "report.html"


@python_words
def check(
    models: Models,
    suite: str | Path | SuiteEditor,
    *,
    gate: Mapping[str, Any] | str | Path | None = None,
    question: str = "",
    resamples: int = 1000,
    seed: int = 0,
    lang: str | None = None,
) -> CheckResult:
    """Return what detectors make of a suite of functional tests: shipped (`emoji-en`), YAML, a public CSV, or your own.

    `gate` holds limits: `{"accuracy": 0.8}`, or the YAML file of them. `question` is the detector's, where it is not
    called as the suite's; `lang` the language of a public file's cases.

    Parameters
    ----------
    models : detector, name, list or dict of them
        The detectors; the keys of a dict are what results call them.
    suite : str, Path or Suite
        A suite that ships, a YAML or public CSV file, or your own.
    gate : dict, str or Path, optional
        Limits, such as `{"accuracy": 0.8}`, or their YAML file.
    question : str
        The detector's question, where it is not called as the suite's.
    resamples : int
        How many bootstrap resamples intervals rest on.
    seed : int
        The seed of every random act.
    lang : str, optional
        The language of a public file's cases.

    Example:
        result = davy.check(detector, "emoji-en", gate={"accuracy": 0.8})
        result.raise_for_gate()
    """
    import yaml

    from davy.measure.intervals import Bootstrap
    from davy.testing.check import check as run
    from davy.testing.gates import Gates, parse_gates, read_gates

    limits: Gates | None
    if isinstance(gate, Mapping):
        limits = parse_gates(yaml.safe_dump(dict(gate)).encode(), Path("gate"))
    else:
        limits = None if gate is None else read_gates(Path(gate))
    scorers = {name: detector.scorer for name, detector in detectors_by_name(models).items()}
    bootstrap = Bootstrap(resamples, seed)
    tests = suite.build() if isinstance(suite, SuiteEditor) else str(suite)
    report = run(tests, scorers, gates=limits, question=question, lang=lang, cached=False, bootstrap=bootstrap)
    return CheckResult(report)
