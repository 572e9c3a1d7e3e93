"""Measure a source tree: sizes, headers, names used twice, cycles, and concepts that are coded more than once.

    python scripts/measure_source.py [--places] [--folders] [--walks] TREE [TREE …]

A tree is a checkout or the package's folder; each is a column of the table. Everything is read by `ast`, nothing is
imported. Counts of concepts are by pattern, so `--places` lists where each was seen: read them before you trust one.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

LONG_FUNCTION = 40
BLOCK_LINES = 6
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file: its dotted name, its lines and its syntax tree."""

    name: str
    folders: tuple[str, ...]
    lines: list[str]
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The feature: the folder below the package; of `annotation` and `corpus` the folder below that."""
        depth = 2 if self.folders[:1] in (("annotation",), ("corpus",)) else 1
        return "/".join(self.folders[:depth]) or "(top)"

    def functions(self) -> Iterator[Function]:
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))


@dataclass(frozen=True)
class Measure:
    """A row of the table: what is counted, the value, and the places where it was seen."""

    what: str
    value: str
    places: list[str]


def read_tree(root: Path) -> list[Module]:
    """Return the modules of the package in a checkout, or of the package folder itself."""
    package = next((p for p in (root / "src" / "davy", root / "davy") if p.is_dir()), root)
    modules = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text("utf-8")
        if not text.strip():
            continue
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        name = ".".join(parts).removesuffix(".__init__")
        modules.append(Module(name, parts[1:-1], text.splitlines(), ast.parse(text)))
    return modules


def measure(modules: list[Module]) -> list[Measure]:
    """Return every row of the table for one tree."""
    total = sum(len(module.lines) for module in modules)
    sizes = [len(module.lines) for module in modules] or [0]
    lengths = {
        f"{module.name}:{function.lineno} {function.name}": (function.end_lineno or 0) - function.lineno + 1
        for module in modules
        for function in module.functions()
    }
    long = [name for name, n in lengths.items() if n > LONG_FUNCTION]
    bare = [module.name for module in modules if not ast.get_docstring(module.tree)]
    lazy = [f"{m.name}:{line}" for m in modules for line in imports_in_functions(m)]
    copies = copied_blocks(modules)
    copied = sum(lines for _, _, lines in copies)
    rows = [
        Measure("files / lines", f"{len(modules)} / {total:,}", []),
        Measure("median / longest file", f"{median(sizes):.0f} / {max(sizes)}", []),
        Measure("files over 300 lines", *counted([m.name for m in modules if len(m.lines) > 300])),
        Measure("median function", f"{median(lengths.values() or [0]):.0f}", []),
        Measure(f"functions over {LONG_FUNCTION} lines", f"{len(long)} of {len(lengths):,}", long),
        Measure("modules without a header", *counted(bare)),
        Measure("public class names used twice", *counted(repeated_classes(modules))),
        Measure("imports inside functions, per 1,000 lines", f"{1000 * len(lazy) / max(total, 1):.1f}", lazy),
        Measure("module cycles, lazy ones included", *counted(cycles(modules))),
        Measure("files under 60 lines", *counted([m.name for m in modules if len(m.lines) < 60])),
    ]
    for what, test in CONCEPTS.items():
        places = [f"{m.name}:{node.lineno}" for m in modules for node in ast.walk(m.tree) if test(node)]
        rows.append(Measure(what, f"{len(places)} in {len({p.split(':')[0] for p in places})} modules", places))
    copy_places = [f"{first} = {second} ({lines} lines)" for first, second, lines in copies]
    rows.append(Measure(f"copied blocks of {BLOCK_LINES} lines or more", f"{len(copies)}, {copied} lines", copy_places))
    return rows


def counted(places: list[str]) -> tuple[str, list[str]]:
    return str(len(places)), places


def repeated_classes(modules: list[Module]) -> list[str]:
    """Return public top-level class names that more than one module defines; migrations are left out."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        if "migrations" not in module.name:
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(module.name)
    return [f"{name}: {', '.join(where)}" for name, where in sorted(homes.items()) if len(where) > 1]


def imports_in_functions(module: Module) -> set[int]:
    return {n.lineno for f in module.functions() for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)}


def imported(module: Module, known: set[str]) -> set[str]:
    """Return our modules that this one imports anywhere in it, under `TYPE_CHECKING` and in functions too."""
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inner & known if inner <= known else {node.module, *(inner & known)}
    return names & known - {module.name}


def cycles(modules: list[Module]) -> list[str]:
    """Return the groups of modules that import each other in a circle (strongly connected components)."""
    known = {module.name for module in modules}
    edges = {module.name: imported(module, known) for module in modules}

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(edges[start])
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += edges[name]
        return seen

    below = {name: reachable(name) for name in known}
    groups = {frozenset(b for b in below[a] if a in below[b]) for a in known if a in below[a]}
    return sorted(" ↔ ".join(sorted(group)) for group in groups)


def folder_sizes(modules: list[Module]) -> dict[str, tuple[int, int]]:
    """Return files and lines of each feature's folder."""
    sizes: dict[str, tuple[int, int]] = {}
    for module in modules:
        files, lines = sizes.get(module.folder, (0, 0))
        sizes[module.folder] = (files + 1, lines + len(module.lines))
    return dict(sorted(sizes.items()))


def walks(root: Path) -> list[str]:
    """Return how many files run for one act each, as the tests of walks print it."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-n", "0", "tests/test_walks.py"]
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    # The sign that a test passed may stand before the next one's line.
    return re.findall(r"^\W*walk: (.+)$", printed, re.MULTILINE)


def called_name(node: ast.AST) -> str:
    """Return the dotted name that a call calls, such as `os.replace`; empty where it is no plain name."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def is_atomic_write(node: ast.AST) -> bool:
    """Return whether a call moves a finished file into place: `os.replace`, `os.rename`, `Path.replace`."""
    name = called_name(node)
    if name in ("os.replace", "os.rename"):
        return True
    # A text's `replace` takes two arguments, a time's takes keywords, a column's a table: a path's takes one path.
    one = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    path = one and isinstance(node, ast.Call) and isinstance(node.args[0], ast.Name | ast.BinOp | ast.Attribute)
    return path and name.endswith(".replace") and "." not in name.removesuffix(".replace").strip("()").split(" / ")[0]


def is_data_hash(node: ast.AST) -> bool:
    """Return whether a function hashes the rows of a frame."""
    if not isinstance(node, Function):
        return False
    names = {called_name(call).rpartition(".")[2] for call in ast.walk(node)}
    return any(called_name(c).startswith("hashlib.") for c in ast.walk(node)) and bool(
        names & {"iter_rows", "write_csv", "hash_rows", "rows", "write_ipc"}
    )


def is_applies_rule(node: ast.AST) -> bool:
    """Return whether a function takes a question's `under` apart and looks for its labels among a parent's answers."""
    if not isinstance(node, Function):
        return False
    parts = list(ast.walk(node))
    names = {ast.unparse(n) for n in parts if isinstance(n, ast.Name | ast.Subscript)}
    takes = any(isinstance(n, ast.Attribute) and n.attr == "under" for n in parts) and (
        "needed" in names or any(name.endswith(".under[1]") for name in names)
    )
    meets = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitAnd) for n in parts)
    searches = {called_name(n).rpartition(".")[2] for n in parts} & {"is_in", "isdisjoint", "intersection", "index"}
    return takes and (meets or bool(searches))


def is_phase_kind_test(node: ast.AST) -> bool:
    """Return whether a comparison looks at the kind of a phase: `phase.kind == …`, `self.phase.kind in …`."""
    if not isinstance(node, ast.Compare):
        return False
    return any(ast.unparse(side).lower().endswith("phase.kind") for side in (node.left, *node.comparators))


CONCEPTS = {
    "atomic writers (os.replace, os.rename, Path.replace)": is_atomic_write,
    "hashes of a data set": is_data_hash,
    "copies of 'which questions apply'": is_applies_rule,
    "yaml.safe_load": lambda node: called_name(node) == "yaml.safe_load",
    "comparisons of phase.kind": is_phase_kind_test,
}


def copied_blocks(modules: list[Module]) -> list[tuple[str, str, int]]:
    """Return (first place, second place, lines) of equal runs of code lines; each copied line is counted once.

    Lines are compared without indentation; blank lines, comments, docstrings, imports and lone brackets don't count.
    """
    first: dict[tuple[str, ...], tuple[int, int]] = {}
    texts = [code_lines(module) for module in modules]
    found = []
    for at, lines in enumerate(texts):
        i = 0
        while i + BLOCK_LINES <= len(lines):
            key = tuple(text for _, text in lines[i : i + BLOCK_LINES])
            other, j = first.setdefault(key, (at, i))
            if (other, j) == (at, i) or (other == at and j + BLOCK_LINES > i):
                i += 1
                continue
            n = BLOCK_LINES
            while i + n < len(lines) and j + n < len(texts[other]) and lines[i + n][1] == texts[other][j + n][1]:
                n += 1
            where = (f"{modules[other].name}:{texts[other][j][0]}", f"{modules[at].name}:{lines[i][0]}")
            found.append((*where, n))
            i += n
    return found


def code_lines(module: Module) -> list[tuple[int, str]]:
    """Return (number, text) of the lines that hold code."""
    skipped: set[int] = set()
    for node in ast.walk(module.tree):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    numbered = ((number, line.strip()) for number, line in enumerate(module.lines, 1) if number not in skipped)
    return [(number, text) for number, text in numbered if text.strip("()[]{},:") and not text.startswith("#")]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--places", action="store_true", help="also list where each thing was seen, for the last tree")
    parser.add_argument("--folders", action="store_true", help="also print the last tree's files and lines by folder")
    parser.add_argument(
        "--walks", action="store_true", help="also do three things in the last checkout, and count files"
    )
    options = parser.parse_args(arguments)
    trees = [read_tree(tree) for tree in options.trees]
    columns = [measure(modules) for modules in trees]
    print("| | " + " | ".join(str(tree) for tree in options.trees) + " |")
    print("| --- |" + " --- |" * len(columns))
    for rows in zip(*columns, strict=True):
        print(f"| {rows[0].what} | " + " | ".join(row.value for row in rows) + " |")
    if options.places:
        for row in columns[-1]:
            if row.places and not row.what.startswith("imports inside"):
                print(f"\n{row.what}:\n  " + "\n  ".join(row.places))
    if options.folders:
        print(
            "\n".join(
                ["", *(f"{name}: {n} files, {lines:,} lines" for name, (n, lines) in folder_sizes(trees[-1]).items())]
            )
        )
    if options.walks:
        print("", *walks(options.trees[-1]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
