"""The examples in docs/project/schemes.md are true."""

import re
from pathlib import Path

import pytest

from davy import schemes

PAGE = (Path(__file__).parents[2] / "docs" / "project" / "schemes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.S))
def test_an_example_scheme_in_the_docs_passes_the_check(tmp_path, example):
    path = tmp_path / "example.yaml"
    path.write_text(example, encoding="utf-8")
    assert schemes.check(path) == []


@pytest.mark.parametrize("name", schemes.names())
def test_the_docs_name_every_scheme_and_its_questions(name):
    row = next(line for line in PAGE.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    own = [question.name for question in schemes.load(name).questions]
    if name != "embedded-en" and "one yes/no question each" not in row:
        assert all(f"`{question}`" in row for question in own)


def test_the_docs_name_every_field():
    from davy.schemes.scheme_fields import GUIDELINE, LABEL, QUESTION, SCHEME

    assert all(f"`{field}`" in PAGE for field in [*SCHEME, *QUESTION, *LABEL, *GUIDELINE])
