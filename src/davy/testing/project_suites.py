"""A project's own suites: text in, the suite and every problem with it out. It asks what the project's scheme asks."""

from __future__ import annotations

from davy import schemes
from davy.core import Scheme
from davy.core.errors import UserError
from davy.testing import suites
from davy.testing.suite import Suite

LONGEST = 200_000
"""Characters of a suite's text."""


def read_suite(text: str, scheme: Scheme) -> suites.SuiteReading:
    """Return what a suite's text makes. It may ask a question of the project's scheme, or of one that ships."""
    if len(text) > LONGEST:
        raise UserError(f"The suite has {len(text):,} characters; at most {LONGEST:,} are taken.", status=413)
    return suites.read_text(text, {**{name: schemes.load(name) for name in schemes.names()}, scheme.name: scheme})


def load_suite(text: str, scheme: Scheme) -> Suite:
    """Return the suite of a text, to be run; one without a case is an error that says why."""
    reading = read_suite(text, scheme)
    if reading.suite is None or not reading.suite.cases:
        problem = reading.problems[0].message if reading.problems else "It has no templates yet."
        raise UserError(f"The suite has no cases: {problem}", status=422)
    return reading.suite


def copy_shipped(name: str, new_name: str) -> str:
    """Return the text of a shipped suite under another name, without the counts that it declares."""
    if name not in suites.names():
        raise UserError(f"No suite {name[:80]!r} ships with Davy.", status=422)
    lines, skipping = [], False
    for line in suites.path_of(name).read_text("utf-8").splitlines():
        skipping = line.startswith("counts:") or (skipping and (not line or line[0] in " \t"))
        if not skipping:
            lines.append(f"name: {new_name}" if line.startswith("name:") else line)
    return "\n".join(lines) + "\n"
