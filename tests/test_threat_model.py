"""The threat model names tests; each of them is there."""

import re
from pathlib import Path

TESTS = Path(__file__).parent


def test_every_test_that_the_threat_model_names_is_there():
    text = (TESTS.parent / "docs/serve/threat-model.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)*test_\w+)`", text))
    assert len(named) > 20
    assert named <= {path.relative_to(TESTS).with_suffix("").as_posix() for path in TESTS.rglob("test_*.py")}
