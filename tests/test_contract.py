"""The house's contract: a feature is a folder, a layer is a file in it. These tests read every import, lazy ones too.

Shelves: a feature imports only features of its own shelf or a lower one. Layers: a file imports only files of its own
layer or a lower one. Names in strings, as `"module:name"`, count as imports.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "davy"

SHELVES = (
    {"core", "version"},
    {"files", "text", "image", "measure", "report", "engines", "store", "web", "shell", "jobs", "people", "schemes"},
    {"corpus", "detectors", "scoring"},
    {"training", "testing", "evaluation"},
    {"annotation", "scheme_editor", "reviews", "runs"},
    {"moderation", "rounds", "memes", "challenges"},
    {"davy", "client", "demo", "features", "server", "sklearn", "__main__"},
)
SHELF = {folder: number for number, folders in enumerate(SHELVES) for folder in folders}
LIBRARIES = SHELVES[0] | SHELVES[1] - {"people", "schemes"}
"""Folders that serve every feature. Layers hold in features, not in them."""

NOUNS, STORE, WORK, JOBS, DOORS, FEATURE = range(6)
LAYER_NAMES = ("nouns", "store", "work", "jobs", "doors", "feature")

NOUN_MODULES = {
    "davy.annotation.project.phase_kind",
    "davy.annotation.project.project",
    "davy.testing.suite",
}
"""Nouns that are not called as their folder is, less its s: dataclasses and their rules, without I/O."""

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("davy.core.feature", "davy.features"): "the one list of features that everything else asks",
}
"""Importing module → imported module, each with the reason. This list only gets shorter."""


BUDGETS = {
    "annotation": 25008,
    "challenges": 4952,
    "core": 2194,
    "corpus": 10936,
    "demo": 882,
    "detectors": 8623,
    "engines": 550,
    "evaluation": 6686,
    "files": 3917,
    "image": 740,
    "jobs": 1348,
    "measure": 3211,
    "memes": 5443,
    "moderation": 6418,
    "people": 3675,
    "report": 878,
    "reviews": 1035,
    "rounds": 5897,
    "runs": 2252,
    "scheme_editor": 1073,
    "schemes": 1384,
    "scoring": 3707,
    "server": 1831,
    "shell": 1327,
    "store": 2287,
    "testing": 4839,
    "text": 2219,
    "training": 5268,
    "web": 2870,
}
"""Lines by folder. They only fall, unless a feature gains something that users can do."""

LONGEST_MODULE = 400
LONG_MODULES = {
    "davy.detectors.meme_networks": "the networks of one paper's table, side by side",
    "davy.detectors.onnx": "one scorer: its session, cascade and exit share their state",
    "davy.jobs.store": "the queue's statements, which tests count",
}
"""Modules over the limit, each with the reason. This list only gets shorter."""


def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    named = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        named[".".join(("davy", *parts))] = path
    return named


MODULES = modules()
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


@cache
def imports(module: str) -> tuple[tuple[int, str], ...]:
    """Return line and module of each import of a module: in functions and in strings, too."""
    strings = [
        (node.lineno, name[1])
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (name := re.fullmatch(r"(davy(?:\.\w+)+):\w+(?:\.\w+)*", node.value))
    ]
    return (*imports_by_code(module), *strings)


def imports_by_code(module: str) -> Iterator[tuple[int, str]]:
    """Yield line and module of each import statement of a module."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: write imports in full"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield node.lineno, full if full in MODULES else node.module or ""


def folder(module: str) -> str:
    """Return the folder of a module: the first part of its name after the package's."""
    return [*module.split("."), "davy"][1] if module != "davy" else "davy"


def layer(module: str) -> int:
    """Return the layer of a module by the names of its file and its folders."""
    *folders, name = module.split(".")[1:]
    if name == "feature":
        return FEATURE
    if {"cli", "pages", "api"} & {*folders[1:], name}:
        return DOORS
    if "jobs" in {*folders[1:], name}:
        return JOBS
    if any(part == "store" or part.startswith("store_") for part in (*folders[1:], name)):
        return STORE
    is_named_after_folder = bool(folders) and name == folders[-1].removesuffix("s") != folders[-1]
    return NOUNS if is_named_after_folder or module in NOUN_MODULES else WORK


def wrong_imports() -> list[tuple[str, int, str, str]]:
    """Return importing module, line, imported module and what is wrong, for each import against the contract."""
    wrong = []
    for module in MODULES:
        for line, target in imports(module):
            if folder(target) not in SHELF or not target.startswith("davy"):
                continue
            mine, theirs = SHELF[folder(module)], SHELF[folder(target)]
            if theirs > mine:
                wrong.append((module, line, target, f"shelf {mine} imports shelf {theirs}"))
            elif {folder(module), folder(target)} & (LIBRARIES | SHELVES[-1]):
                continue
            elif layer(target) > layer(module):
                wrong.append(
                    (module, line, target, f"{LAYER_NAMES[layer(module)]} import {LAYER_NAMES[layer(target)]}")
                )
    return wrong


def test_every_folder_has_a_shelf():
    missing = {folder(module) for module in MODULES} - SHELF.keys()
    assert not missing, f"say in SHELVES where they belong: {sorted(missing)}"


def test_imports_go_to_the_same_shelf_or_layer_or_a_lower_one():
    wrong = [
        f"src/davy/{MODULES[module].relative_to(SOURCE)}:{line} imports {target} ({why})"
        for module, line, target, why in wrong_imports()
        if (module, target) not in EXCEPTIONS
    ]
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_still_needed():
    needed = {(module, target) for module, _, target, _ in wrong_imports()}
    assert not EXCEPTIONS.keys() - needed, "take these out of EXCEPTIONS"


def folder_lines() -> dict[str, int]:
    """Return the lines of each folder; the lists right below the package grow with each feature and don't count."""
    lines: dict[str, int] = {}
    for path in SOURCE.glob("*/**/*.py"):
        name = path.relative_to(SOURCE).parts[0]
        lines[name] = lines.get(name, 0) + len(path.read_text(encoding="utf-8").splitlines())
    return lines


def test_no_folder_grows_over_its_budget():
    over = {
        name: (lines, BUDGETS.get(name, 0)) for name, lines in folder_lines().items() if lines > BUDGETS.get(name, 0)
    }
    assert not over, f"lines and budget: {over}"


def test_no_module_is_longer_than_the_limit_but_those_that_say_why():
    long = {name for name, path in MODULES.items() if len(path.read_text("utf-8").splitlines()) > LONGEST_MODULE}
    assert long == LONG_MODULES.keys()


HEAVY = {
    "torch": {"detectors", "training"},
    "sqlalchemy": {"store", "*.store"},
    "fastapi": {"web", "server", "*.pages"},
    "typer": {"shell", "*.cli"},
}
"""Where a heavy package may be imported: folders, or layers of any folder."""

NOT_IN_BASE = {
    "torch": {"detectors", "training"},
    "transformers": {"detectors", "training"},
    "accelerate": {"training"},
    "safetensors": {"detectors", "training"},
    "sklearn": {"detectors", "evaluation", "sklearn", "training"},
    "scipy": {"detectors", "training"},
    "xgboost": {"detectors", "training"},
    "onnx": {"training"},
    "ml_dtypes": {"detectors"},
    "rapidocr": {"image"},
    "cv2": {"detectors"},
    "huggingface_hub": {"detectors"},
    "psycopg": {"store"},
    "datasets": {"scoring"},
    "pyarrow": {"engines", "files"},
    "ray": {"engines"},
}
"""What the base install does not bring → the folders that may ask for it, having said which extra to install."""

DISTRIBUTIONS = {
    "yaml": "pyyaml",
    "PIL": "pillow",
    "argon2": "argon2-cffi",
    "multipart": "python-multipart",
    "vl_convert": "vl-convert-python",
    "starlette": "fastapi",
    "anyio": "fastapi",
    "pydantic": "fastapi",
    "markupsafe": "jinja2",
    "fasttext": "fasttext-predict",
    "markdown_it": "markdown-it-py",
}
"""Names that are imported → the distribution that brings them, where they differ."""


def door(module: str) -> str:
    """Return what a module belongs to by its names: `cli`, `pages` or `store`; else nothing."""
    parts = module.split(".")[1:]
    return next((name for name in ("cli", "pages", "store") if name in parts or parts[-1].startswith(f"{name}_")), "")


def packages(module: str) -> set[str]:
    """Return the top names of all that a module imports."""
    return {target.split(".")[0] for _, target in imports(module)} - {"davy", ""}


@pytest.mark.parametrize("package", HEAVY)
def test_a_heavy_package_stays_in_its_places(package):
    wrong = [
        module
        for module in MODULES
        if package in packages(module) and not ({folder(module), f"*.{door(module)}"} & HEAVY[package])
    ]
    assert not wrong, f"{package} is imported outside {HEAVY[package]}: {wrong}"


def test_only_packages_of_the_base_install_are_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base = {re.split(r"[^A-Za-z0-9._-]", name)[0].lower().replace("_", "-") for name in project["dependencies"]}
    wrong = [
        f"{module} imports {package}"
        for module in MODULES
        for package in packages(module) - sys.stdlib_module_names
        if DISTRIBUTIONS.get(package, package).lower().replace("_", "-") not in base
        and folder(module) not in NOT_IN_BASE.get(package, ())
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_no_modules_import_each_other_in_circles_not_even_in_functions():
    edges = {
        module: {target for _, target in imports_by_code(module)} & MODULES.keys() - {"davy", module}
        for module in MODULES
        if module != "davy"
    }
    done: set[str] = set()

    def walk(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a circle: {' → '.join([*way[way.index(module) :], module])}"
        if module not in done:
            for other in sorted(edges[module]):
                walk(other, (*way, module))
            done.add(module)

    for module in edges:
        walk(module, ())


def test_no_module_uses_private_names_of_another():
    wrong = []
    for module, tree in TREES.items():
        called: dict[str, int] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                called |= {a.asname or a.name: node.lineno for a in node.names if a.name in MODULES}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "davy":
                called |= {a.asname or a.name: node.lineno for a in node.names}
                wrong += [f"{module}:{node.lineno} imports {a.name}" for a in node.names if is_private(a.name)]
        wrong += [
            f"{module}:{node.lineno} uses {node.value.id}.{node.attr}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in called
            and node.value.id.islower()
            and is_private(node.attr)
        ]
    assert not wrong, "\n".join(wrong)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
