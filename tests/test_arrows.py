"""The import arrows: doors → actions → stages → store, files and shared rooms → core. These tests read every import."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "davy"

SHARED = {"text", "image", "measure", "split", "report", "schemes", "lexicons", "suites", "recipes", "plans", "engines"}
STAGES = {
    "collect",
    "clean",
    "sample",
    "describe",
    "annotate",
    "rounds",
    "memes",
    "train",
    "check",
    "compare",
    "score",
}

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "files": {"core"},
    **{room: {"core", "files"} | (SHARED - {room}) for room in SHARED},
    "store": {"core", "files"},
    "models": {"core", "files"} | SHARED,
    **{stage: {"core", "files", "store", "models"} | SHARED for stage in STAGES},
    "actions": {"core", "files", "store", "models"} | SHARED | STAGES,
    "library": {"actions", "core", "files", "models"} | SHARED | STAGES,
    "jobs": {"core", "files", "store", "models", "actions"} | SHARED | STAGES,
    "serve": {"core", "files", "store", "models", "actions", "jobs"} | SHARED | STAGES,
    "cli": {"core", "files", "store", "models", "actions", "jobs"} | SHARED | STAGES,
}
STARTS_THE_SERVER = "davy.server.start"
"""What `server/cli/serve.py` imports of the web door; apart from that, no door imports a door."""

HEAVY = {"torch": {"models", "train"}, "sqlalchemy": {"store"}, "fastapi": {"serve"}, "typer": {"cli"}}


def rooms() -> list[str]:
    return sorted(p.name for p in SOURCE.iterdir() if p.is_dir() and any(p.glob("**/*.py")))


def imports(room: str) -> list[tuple[Path, int, str]]:
    found = []
    for path in (SOURCE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found += [(path, node.lineno, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno}: write imports in full"
                found.append((path, node.lineno, node.module or ""))
                if node.module == "davy":
                    found += [(path, node.lineno, f"davy.{alias.name}") for alias in node.names]
    return found


@pytest.mark.parametrize("room", rooms())
def test_a_room_imports_only_what_the_arrows_allow(room):
    assert room in MAY_IMPORT, f"{room} is a new room: say in this test what it may import"
    allowed = MAY_IMPORT[room] | {room, "version"}
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path, line, name in imports(room)
        if name.startswith("davy.")
        and name.split(".")[1] not in allowed
        and (path.relative_to(SOURCE).as_posix(), name) != ("server/cli/serve.py", STARTS_THE_SERVER)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", HEAVY)
def test_a_heavy_package_stays_in_its_rooms(package):
    wrong = [
        f"{path.relative_to(SOURCE)}:{line}"
        for room in rooms()
        if room not in HEAVY[package]
        for path, line, name in imports(room)
        if name.split(".")[0] == package
    ]
    assert not wrong, f"{package} is imported outside {HEAVY[package]}: {wrong}"


def modules() -> dict[str, Path]:
    """Every module but the root package, which Python imports before all others."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(("davy", *parts[:-1])) if parts[-1] == "__init__" else ".".join(("davy", *parts))
        if name != "davy":
            found[name] = path
    return found


def imported_modules(path: Path, known: dict[str, Path]) -> dict[str, tuple[str, int]]:
    """Return our modules that a file imports, in functions too: what it calls each → its name and the line."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {it.asname or it.name: (it.name, node.lineno) for it in node.names if it.name in known}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for it in node.names:
                full = f"{node.module}.{it.name}"
                if full in known:
                    found[it.asname or it.name] = (full, node.lineno)
                elif node.module in known:
                    found[f"{node.module}:{it.name}"] = (node.module, node.lineno)
    return found


def test_no_modules_import_each_other_in_circles_not_even_in_functions():
    known = modules()
    edges = {name: {other for other, _ in imported_modules(path, known).values()} for name, path in known.items()}
    done: set[str] = set()

    def walk(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a circle: {' → '.join([*way[way.index(module) :], module])}"
        if module not in done:
            for other in sorted(edges[module] - {module}):
                walk(other, (*way, module))
            done.add(module)

    for module in known:
        walk(module, ())


def test_no_module_uses_another_ones_private_names():
    known = modules()
    wrong = []
    for path in known.values():
        called = imported_modules(path, known)
        place = path.relative_to(SOURCE)
        wrong += [
            f"{place}:{line} imports {name}" for name, (_, line) in called.items() if is_private(name.split(":")[-1])
        ]
        wrong += [
            f"{place}:{node.lineno} uses {node.value.id}.{node.attr}"
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in called
            and is_private(node.attr)
        ]
    assert not wrong, "\n".join(wrong)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


NOT_IN_BASE = {
    "torch": {"models", "train"},
    "transformers": {"models", "train"},
    "accelerate": {"train"},
    "safetensors": {"models", "train"},
    "sklearn": {"compare", "models", "train"},
    "scipy": {"models", "train"},
    "xgboost": {"models", "train"},
    "onnx": {"train"},
    "ml_dtypes": {"models"},
    "rapidocr": {"image"},
    "cv2": {"models"},
    "huggingface_hub": {"cli", "models"},
    "psycopg": {"store"},
    "datasets": {"library"},
    "pyarrow": {"files"},
    "ray": {"engines"},
}
"""What the base install does not bring → the rooms that may ask for it, having said which extra to install."""

NAMES = {"yaml": "pyyaml", "PIL": "pillow", "argon2": "argon2-cffi", "multipart": "python-multipart",
         "vl_convert": "vl-convert-python", "starlette": "fastapi", "anyio": "fastapi", "pydantic": "fastapi",
         "markupsafe": "jinja2",
         "fasttext": "fasttext-predict", "alembic": "alembic", "markdown_it": "markdown-it-py"}  # fmt: skip


@pytest.mark.parametrize("room", rooms())
def test_a_room_asks_only_for_packages_that_the_base_install_brings(room):
    import re
    import sys
    import tomllib

    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base = {re.split(r"[^A-Za-z0-9._-]", name)[0].lower().replace("_", "-") for name in project["dependencies"]}
    wrong = []
    for path, line, module in imports(room):
        top = module.split(".")[0]
        if top in ("davy", "") or top in sys.stdlib_module_names or room in NOT_IN_BASE.get(top, ()):
            continue
        if NAMES.get(top, top).lower().replace("_", "-") not in base:
            wrong.append(f"{path}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)
