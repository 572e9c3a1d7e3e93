"""One thing, one name: no public class of the package has the name of another."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "davy"


def test_no_public_class_name_is_used_twice():
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        if "migrations" in path.parts:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert len(places) > 400
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, f"give one of each a name of its own: {twice}"


def test_no_two_test_files_have_one_name():
    """Tests are collected by the names of their files: of two with one name, the second stops the whole run."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) > 300
    assert sorted({name for name in names if names.count(name) > 1}) == []
