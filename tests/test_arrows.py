"""The import arrows: doors → stages → store and shared rooms → core. This test reads every import and keeps it so."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "davy"

SHARED = {"text", "image", "measure", "split", "report", "schemes", "lexicons", "suites", "recipes", "plans"}
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
    "cli": {"core", "files", "store", "models", "actions", "jobs", "serve"} | SHARED | STAGES,
}

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
    allowed = MAY_IMPORT[room] | {room, "__version__"}
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path, line, name in imports(room)
        if name.startswith("davy.") and name.split(".")[1] not in allowed
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


def test_shared_rooms_do_not_import_each_other_in_circles():
    edges = {
        room: {name.split(".")[1] for _, _, name in imports(room) if name.startswith("davy.")} & SHARED - {room}
        for room in rooms()
        if room in SHARED
    }
    seen: set[str] = set()

    def walk(room: str, path: tuple[str, ...]) -> None:
        assert room not in path, f"a circle: {' → '.join([*path, room])}"
        if room not in seen:
            for other in sorted(edges.get(room, ())):
                walk(other, (*path, room))
            seen.add(room)

    for room in edges:
        walk(room, ())


NOT_IN_BASE = {
    "torch": {"models", "train"},
    "transformers": {"models", "train"},
    "accelerate": {"train"},
    "safetensors": {"models", "train"},
    "sklearn": {"models", "train"},
    "scipy": {"models", "train"},
    "xgboost": {"models", "train"},
    "onnx": {"train"},
    "h5py": {"models"},
    "rapidocr": {"image"},
    "huggingface_hub": {"cli", "models"},
    "psycopg": {"store"},
    "datasets": {"library"},
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
