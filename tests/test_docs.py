"""The docs keep up with the program: every command and option, every link, every picture, every import shown."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from davy.shell.app import COMMANDS as TABLE
from davy.shell.app import load_command

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md"), *(ROOT / "scripts").glob("**/*.md")])


def leaves(command, name="davy"):
    children = getattr(command, "commands", None)
    if not children:
        return [(name, command)]
    return [leaf for child, sub in children.items() for leaf in leaves(sub, f"{name} {child}")]


COMMANDS = [leaf for name in TABLE for leaf in leaves(load_command(name), f"davy {name}")]


def test_the_command_pages_are_what_the_program_says():
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "document_commands.py"), "--check"], check=False)
    assert done.returncode == 0, "docs/commands/ is out of date: run `make docs`"


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_commands_has_the_first_line_of_each_ones_help(name):
    first, _, _ = inspect.cleandoc(load_command(name).help).partition("\n\n")
    assert TABLE[name].help == first.replace("\n", " ")


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_a_command_has_help_with_an_example_and_words_for_every_option(name, command):
    assert command.help, f"{name} has no help"
    assert f"{name} " in command.help or f"{name}\n" in f"{command.help}\n", f"{name}'s help shows no example of it"
    silent = [p.name for p in command.params if p.name != "help" and not getattr(p, "help", None)]
    assert not silent, f"{name}: no words for {', '.join(silent)}"


OPTIONS = {
    name: {"--help", *(it for p in command.params for it in (*p.opts, *p.secondary_opts))} for name, command in COMMANDS
}
SAYS_COMMANDS = [
    *PAGES,
    *(ROOT / "deploy").glob("*"),
    *(ROOT / "src").glob("**/*.py"),
    *(ROOT / "src").glob("**/*.yaml"),
]


def unknown_options(text):
    """Return the commands in a text, docs or an error sentence, that have an option which they don't take."""
    found = []
    for line in re.findall(r"(?<![\w./-])davy [a-z](?:(?!davy )[^\n`#|;)&])*", re.sub(r"\\\n\s*", " ", text)):
        name = max((name for name in OPTIONS if f"{line} ".startswith(f"{name} ")), key=len, default=None)
        asked = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", line))
        found += [line] if name and asked - OPTIONS[name] else []
    return found


def test_an_option_that_docs_and_error_sentences_name_is_one_that_the_command_takes():
    assert unknown_options("davy project create x --preset y") == ["davy project create x --preset y"]
    faults = {str(page.relative_to(ROOT)): unknown_options(page.read_text(encoding="utf-8")) for page in SAYS_COMMANDS}
    assert {page: lines for page, lines in faults.items() if lines} == {}


def test_every_command_keeps_to_the_table_of_options():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "option_table.py")], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout.partition(" differs:")[2]


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_links_and_pictures_in_the_docs_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}, which is not there"


def test_decisions_are_numbered_from_the_newest_and_have_a_date_and_a_status():
    text = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## (.*)\n(.*)", text, re.M)
    assert [title.split(". ")[0] for title, _ in entries] == [str(n) for n in range(len(entries), 0, -1)]
    status = re.compile(r"\d{4}-\d\d-\d\d · (in force|replaced by \d+).*")
    wrong = [title for title, line in entries if not status.fullmatch(line)]
    assert not wrong, f"no date and status below: {wrong}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("**/*.md")), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_can_be_reached_from_the_index(page):
    index = ROOT / "docs" / "README.md"
    links = re.findall(r"\]\(([^)#\s]+)", index.read_text(encoding="utf-8"))
    linked = {(index.parent / link).resolve() for link in links}
    beside = {path.parent for path in linked if path.name == "README.md"}
    assert page == index or page in linked or page.parent in beside


def imports_shown(page):
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M):
        for module, names in re.findall(r"^\s*from (davy[\w.]*) import ([\w, ]+)", block, re.M):
            yield module, [name.split(" as ")[0].strip() for name in names.split(",")]


def names_in(module):
    """What a module's source defines or imports; nothing is imported here, since some modules need torch."""
    path = ROOT.joinpath("src", *module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    assert file.exists(), f"{module} does not exist"
    found = {child.stem for child in path.iterdir()} if path.is_dir() else set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        else:
            found |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            found |= {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
    return found


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_what_python_examples_import_is_there(page):
    for module, names in imports_shown(page):
        absent = [name for name in names if name not in names_in(module)]
        assert not absent, f"{page.relative_to(ROOT)} imports {', '.join(absent)} from {module}"


def test_every_extra_that_docs_and_sentences_name_is_one_that_there_is():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    places = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    named = {
        (name, path.name)
        for path in places
        for found in re.findall(r"davy\[([a-z,]+)\]|\b[Ee]xtras? `([a-z]+)`", path.read_text("utf-8"))
        for name in "".join(found).split(",")
    }
    assert len(named) > 10
    assert {(name, where) for name, where in named if name not in extras} == set()


OLD_FOLDERS = {"actions", "annotate", "cli", "library", "models", "serve", "suites", "recipes", "plans", "lexicons"}
"""Folders of the package that were, so that a page that still names one is found."""
CODE_FOLDERS = {it.name for it in (ROOT / "src/davy").iterdir() if it.is_dir()} - {"runs"} | OLD_FOLDERS
TOP_FOLDERS = {"src", "tests", "scripts", "benchmarks", "packages", "deploy"}


def named_paths(text):
    """What a page names of the source, in backticks: paths without placeholders."""
    for path in re.findall(r"`((?:\w[\w.-]*/)+[\w.-]*)`", text):
        first, _, rest = path.partition("/")
        if rest and first in CODE_FOLDERS | TOP_FOLDERS and not re.search(r"[A-Z]{4}", rest):
            yield path


@pytest.mark.parametrize(
    "page",
    [it for it in PAGES if "runs" not in it.parts and it.name not in ("decisions.md", "errata.md", "CHANGELOG.md")],
    ids=lambda it: it.relative_to(ROOT).as_posix(),
)
def test_a_page_names_no_file_or_folder_that_is_not_there(page):
    wrong = [
        path
        for path in named_paths(page.read_text(encoding="utf-8"))
        if not any(
            (base / path).exists() or (base / f"{path}.py").exists()
            for base in (ROOT, ROOT / "src/davy", ROOT / "tests")
        )
    ]
    assert not wrong
