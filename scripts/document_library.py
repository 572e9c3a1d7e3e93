"""Write docs/start/reference.md, every public name of the library, from the docstrings.

`--check` changes nothing and exits 1 where the page is out of date.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import davy

PAGE = Path(__file__).parent.parent / "docs" / "start" / "reference.md"
HEAD = """# Every public name of the library

Made by `make docs` from the package itself; `help(davy.score)` shows the same. Every example is run by a test.
[Davy in Python](library.md) shows them in one flow.
"""
RESULTS = (
    "davy.corpus.library:Agreement",
    "davy.evaluation.library:EvaluationResult",
    "davy.evaluation.check_library:CheckResult",
    "davy.evaluation.comparison_library:ComparisonResult",
)
"""What verbs return and nobody makes by name."""
SKLEARN = ("DavyClassifier", "DavyScores", "GroupedKFold")
MANY = 100
"""A signature of more letters than this stands with one parameter a line."""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for heading, names in sections().items():
        parts += [f"## {heading}\n", *(_entry(name, thing) for name, thing in names.items())]
    return "\n".join(parts).rstrip() + "\n"


def sections() -> dict[str, dict[str, Any]]:
    """Return every public name with what it is, members after their class, by the page's sections."""
    public = {f"davy.{name}": getattr(davy, name) for name in davy.PUBLIC}
    results = {name.partition(":")[2]: resolve_name(name) for name in RESULTS}
    sklearn = {f"davy.sklearn.{name}": resolve_name(f"davy.sklearn:{name}") for name in SKLEARN}
    verbs = {name: thing for name, thing in public.items() if inspect.isfunction(thing)}
    rest = {name: thing for name, thing in public.items() if name not in verbs}
    return {
        "Verbs": verbs,
        "Detectors, suites and errors": _with_members(rest),
        "What verbs return": _with_members(results),
        "For scikit-learn": sklearn,
    }


def examples() -> Iterator[tuple[str, str]]:
    """Yield each name with the code of its example."""
    for names in sections().values():
        for name, thing in names.items():
            code = _parts(thing)[2]
            if code:
                yield name, code


def _with_members(classes: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, kind in classes.items():
        found[name] = kind
        plain = name.partition("davy.")[2] or name
        for key, member in vars(kind).items():
            if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                found[f"{plain}.{key}"] = member
    return found


def _entry(name: str, thing: Any) -> str:
    summary, parameters, example = _parts(thing)
    lines = [f"### `{name}`\n"]
    if inspect.isfunction(thing):
        lines.append(f"```python\n{_signature(name, thing)}\n```\n")
    lines.append(summary + "\n")
    if parameters:
        lines += ["| parameter | type | what it is |", "| --- | --- | --- |"]
        lines += [f"| `{key}` | {kind} | {words} |".replace("||", "\\|\\|") for key, kind, words in parameters]
        lines.append("")
    if example:
        lines.append(f"```python\n{example}\n```\n")
    return "\n".join(lines)


def _signature(name: str, function: Any) -> str:
    shown = []
    marked = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not marked:
            shown.append("*")
            marked = True
        stars = {parameter.VAR_KEYWORD: "**", parameter.VAR_POSITIONAL: "*"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        shown.append(f"{stars}{parameter.name}{default}")
    line = f"{name}({', '.join(shown)})"
    return line if len(line) <= MANY else f"{name}(\n    " + ",\n    ".join(shown) + ",\n)"


def _parts(thing: Any) -> tuple[str, list[tuple[str, str, str]], str]:
    """Return what a docstring says: its words, its parameters with type and meaning, and its example."""
    doc = inspect.getdoc(thing) or ""
    doc, _, example = doc.partition("Example:\n")
    words, _, listed = doc.partition("Parameters\n----------\n")
    entries = re.findall(r"^(\S[^:\n]*?) : ([^\n]*)\n((?:    [^\n]*\n?)+)", listed, re.M)
    parameters = [
        (key, kind.replace("|", "\\|"), " ".join(textwrap.dedent(meaning).split()).replace("|", "\\|"))
        for key, kind, meaning in entries
    ]
    return words.strip(), parameters, textwrap.dedent(example).strip()


def main() -> int:
    """Write the page, or with --check say whether it is up to date."""
    text = page()
    if "--check" in sys.argv[1:]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
        if current != text:
            print(f"{PAGE.name} is out of date: run make docs")
        return int(current != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
