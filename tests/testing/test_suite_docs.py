"""The page about suites keeps its word: its example is a suite, its counts are the suites' own."""

import re
from pathlib import Path

from davy.testing import suites

PAGE = (Path(__file__).parents[2] / "docs" / "detectors" / "suites.md").read_text("utf-8")


def test_the_example_is_a_whole_suite_without_problems(tmp_path):
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if block.startswith("name:"))
    path = tmp_path / "example.yaml"
    path.write_text(example, encoding="utf-8")
    assert suites.read(path).problems == ()


def test_the_page_names_every_suite_with_its_number_of_cases():
    for name in suites.names():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}`"))
        assert f"{len(suites.load(name).cases):,}" in row
