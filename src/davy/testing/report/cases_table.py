"""The cases of a check as a part of its page: data, filters, and a table that the page's script fills.

Texts go into the page in pieces, hurtful words apart with their masked form, so
that what is shown first is masked. Without a script the worst cases, a plain
table elsewhere on the page, are what there is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from davy.testing.changes import OutcomeChange
from davy.testing.run import SuiteRun
from davy.testing.suite import Suite
from davy.text.lexicons.read import Lexicon
from davy.text.mask import mask, mask_segments


def cases_part(suite: Suite, runs: Sequence[SuiteRun], words: Lexicon, changes: Sequence[OutcomeChange] = ()) -> str:
    """Return the filters, the empty table and the data, all escaped."""
    heads = "".join(f'<th scope="col" class="number">{escape(run.model)}</th>' for run in runs)
    return (
        f'<form class="filters">{_filters(suite, runs, bool(changes))}</form>\n'
        '<p id="cases-found" class="quiet" role="status"></p>\n'
        '<div class="table cases" data-words-none="No case fits. Loosen a filter." '
        'data-words-some="{found} of {all} cases, {shown} shown. The surest mistakes come first." '
        'data-words-right="right" data-words-wrong="wrong" data-words-silent="no answer" '
        'data-words-expected="expected"><table><thead><tr><th scope="col">case</th><th scope="col">expected</th>'
        f"{heads}</tr></thead><tbody></tbody></table></div>\n"
        '<p><button type="button" class="button" id="cases-more" hidden>Show 50 more</button></p>\n'
        f'<script type="application/json" id="cases-data">{_data(suite, runs, words, changes)}</script>\n'
    )


def pieces(text: str, words: Lexicon) -> list[str | list[str]]:
    """Return a text as pieces, a hurtful word as [plain, masked]."""
    return [[part.text, mask(part.text, words)] if part.hurtful else part.text for part in mask_segments(text, words)]


def _filters(suite: Suite, runs: Sequence[SuiteRun], changed: bool) -> str:
    results = {"any": "wrong"}
    if len(runs) > 1:  # the page opens with the first: what the first model gets wrong
        results = {f"model-{i}": f"wrong by {run.model}" for i, run in enumerate(runs)}
        results |= {"any": "wrong by any model", "every": "wrong by every model", "differ": "models differ"}
    if changed:
        results |= {"fixed": "fixed since the last run", "broken": "broken since the last run"}
    results |= {"none": "right" if len(runs) == 1 else "right by every model", "": "all"}
    targets = {**{str(i): name for i, name in enumerate(suite.targets)}, "none": "nobody"}
    return "".join(
        [
            _select("result", "answers", results),
            _select("functionality", "functionality", _any(enumerate(map(suite.titled, suite.functionalities)))),
            _select("set", "set", _any(enumerate(suite.sets))),
            _select("target", "target", {"": "all", **targets}),
            _select("label", "expected", {"": "all", **{label: label for label in suite.labels}}),
            '<label>words in the text<input id="filter-search" type="search" autocomplete="off"></label>',
        ]
    )


def _any(items: Any) -> dict[str, str]:
    return {"": "all", **{str(key): name for key, name in items}}


def _select(name: str, label: str, options: dict[str, str]) -> str:
    inner = "".join(f'<option value="{escape(value)}">{escape(title)}</option>' for value, title in options.items())
    return f'<label>{escape(label)}<select id="filter-{name}">{inner}</select></label>'


def _data(suite: Suite, runs: Sequence[SuiteRun], words: Lexicon, changes: Sequence[OutcomeChange]) -> str:
    functionalities, sets, targets = list(suite.functionalities), list(suite.sets), list(suite.targets)
    fixed = {case for change in changes for case in change.fixed}
    broken = {case for change in changes for case in change.broken}
    cases = []
    for at, case in enumerate(suite.cases):
        answers = [
            [out.probability, None if out.correct is None else int(out.correct)]
            for out in (run.outcomes[at] for run in runs)
        ]
        cases.append(
            {
                "i": case.id,
                "t": pieces(case.text, words),
                "f": functionalities.index(case.functionality),
                "s": sets.index(case.set),
                "g": targets.index(case.target) if case.target else None,
                "e": case.expected,
                "m": answers,
                **({"fixed": 1} if case.id in fixed else {}),
                **({"broken": 1} if case.id in broken else {}),
            }
        )
    data = {
        "cases": cases,
        "models": [run.model for run in runs],
        "functionalities": [suite.titled(name) for name in functionalities],
        "sets": sets,
        "targets": targets,
        "labels": list(suite.labels),
    }
    # `</script>` inside a text would end the element, so every < is written as an escape.
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
