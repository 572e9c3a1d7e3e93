"""The workflow that spreads the tests over systems names what exists, and the docs name what it runs."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/systems.yml").read_text())
PAGE = (ROOT / "docs/start/systems.md").read_text()


def commands():
    return [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]


def test_every_path_and_target_that_it_runs_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    paths = [word for command in commands() for word in re.findall(r"\b(?:tests|scripts|packages)/[\w./-]+", command)]
    assert len(paths) >= 7
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert {command.split()[1] for command in commands() if command.startswith("make ")} <= targets


def test_every_python_that_the_package_names_is_run():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {found[1] for each in project["classifiers"] if (found := re.search(r"Python :: (3\.\d+)$", each))}
    for job in WORKFLOW["jobs"].values():
        assert {*named, "3.14"} == set(job["strategy"]["matrix"]["python"])
        assert "3.14" in job["continue-on-error"]
    assert named == {"3.11", "3.12", "3.13"}


def test_the_page_names_every_system_of_the_workflow():
    systems = {system for job in WORKFLOW["jobs"].values() for system in job["strategy"]["matrix"]["system"]}
    words = {"ubuntu": "Linux", "macos": "macOS", "windows": "Windows"}
    assert {system.split("-")[0] for system in systems} == set(words)
    assert all(word in PAGE for word in words.values())
    assert any(system.endswith("arm") for system in systems)
    assert "ARM" in PAGE
