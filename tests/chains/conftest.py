"""A chain for each test."""

from pathlib import Path

import pytest
from chain import Chain


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Chain:
    """An empty folder with a database to come."""
    return Chain(tmp_path, monkeypatch, capsys)
