"""The measuring script counts what it says, on a small package where every count is known."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import measure_source

FILES = {
    "__init__.py": '"""A package."""\n',
    "core/__init__.py": "",
    "core/question.py": '''
        """The rule."""
        def applies(question, labels):
            needed = set(question.under[1])
            return bool(needed & set(labels))
        class Row:
            pass
    ''',
    "cli/run.py": '''
        """A door."""
        import hashlib, os, yaml
        class Row:
            pass
        def write(draft, path, phase):
            from davy.server import app
            if phase.kind == "training":
                yaml.safe_load("a: 1")
            os.replace(draft, path)
            draft.replace(path)
            path.name.replace("a", "b")
        def digest(frame):
            return hashlib.sha256(repr(frame.rows()).encode())
    ''',
    "server/app.py": """
        import davy.serve.page
        COPIED = 1
        def one(a, b):
            c = a + b
            d = c * 2
            e = d - a
            f = e / b
            g = f + c
            return g
    """,
    "serve/page.py": '''
        """A page."""
        def two(a, b):
            from davy.server import app
            c = a + b
            # a comment does not part a block
            d = c * 2
            e = d - a
            f = e / b
            g = f + c
            return g
    ''',
}

EXPECTED = {
    "files / lines": "5 / 39",
    "functions over 40 lines": "0 of 5",
    "modules without a header": "1",
    "public class names used twice": "1",
    "module cycles, lazy ones included": "1",
    "files under 60 lines": "5",
    "atomic writers (os.replace, os.rename, Path.replace)": "2 in 1 modules",
    "hashes of a data set": "1 in 1 modules",
    "copies of 'which questions apply'": "1 in 1 modules",
    "yaml.safe_load": "1 in 1 modules",
    "comparisons of phase.kind": "1 in 1 modules",
    "copied blocks of 6 lines or more": "1, 6 lines",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "src" / "davy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(line.removeprefix("        ") for line in text.strip("\n").split("\n")).rstrip(" "))
    return tmp_path


def test_each_count_is_right_on_a_package_that_has_one_of_each(tree):
    rows = {row.what: row.value for row in measure_source.measure(measure_source.read_tree(tree))}
    assert {what: rows[what] for what in EXPECTED} == EXPECTED


def test_a_folder_has_its_files_and_lines(tree):
    sizes = measure_source.folder_sizes(measure_source.read_tree(tree))
    assert sizes["core"] == (1, 6)
    assert sizes["(top)"] == (1, 1)


def test_trees_stand_side_by_side_and_places_are_named(tree, capsys):
    assert measure_source.main([str(tree), str(tree), "--places"]) == 0
    printed = capsys.readouterr().out
    assert "| files / lines | 5 / 39 | 5 / 39 |" in printed
    assert "davy.serve.page ↔ davy.server.app" in printed
    assert "Row: davy.cli.run, davy.core.question" in printed
