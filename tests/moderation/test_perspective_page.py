"""The blocks of docs/serve/perspective.md, run in their order by one shell, as a team would on its first afternoon."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from davy.detectors import embedded
from davy.moderation.attribute_map import load_attributes
from page_blocks import SERVE, blocks

ROOT = Path(__file__).parents[2]
SIX = ("TOXICITY", "SEVERE_TOXICITY", "IDENTITY_ATTACK", "INSULT", "PROFANITY", "THREAT")

needs_weights = pytest.mark.skipif(
    not {"embedded-en", "embedded-de"} <= set(embedded.shipped_names()), reason="no embedded detectors"
)


def script():
    """Return the page as one shell script; Python and files go in by here-documents."""
    parts = ["trap 'kill $(jobs -p) 2>/dev/null' EXIT"]
    for block in blocks("perspective.md"):
        language, text = block.language, block.text
        if language == "sh":
            parts.append(text)
        elif language == "python":
            parts.append(f"python - <<'PYTHON'\n{text}PYTHON\n")
        elif language == "yaml":
            name = re.match(r"# file: (\S+)\n", text).group(1)
            parts.append(f"cat > {name} <<'YAML'\n{text}YAML\n")
        else:
            pytest.fail(f"a block of {language!r} that nobody runs")
    return "\n".join(parts)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


@needs_weights
def test_every_block_of_the_page_runs(tmp_path):
    if shutil.which("curl") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("curl is missing")
        pytest.skip("needs curl")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in (("davy", f"{sys.executable} -m davy"), ("python", f"{sys.executable} -W ignore")):
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (programs / name).chmod(0o755)
    comments = [f"You are {'an idiot' if i % 3 else 'a lovely friend'}, number {i}." for i in range(40)]
    (tmp_path / "comments.txt").write_text("\n".join(comments) + "\n")
    port = free_port()
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DAVY_")},
        "PATH": f"{programs}:{os.environ['PATH']}",
        "DAVY_PORT": port,
        "DAVY_SECOND_PORT": free_port(),
        "DAVY_JOB_WORKERS": "0",
        "OLD_URL": f"http://127.0.0.1:{port}",
        "no_proxy": "127.0.0.1",
    }
    # The old service is a stand-in: this server, with the same key.
    text = script().replace("python - <<'PYTHON'", "OLD_KEY=$DAVY_KEY python - <<'PYTHON'")
    done = subprocess.run(
        ["bash", "-ec", text], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert set(answer["attributeScores"]) == set(SIX)
    assert json.loads((tmp_path / "ready.json").read_text())["status"] == "ready"
    assert "'approximation': True" in done.stdout
    assert "TOXICITY: {question: offensive, threshold:" in (tmp_path / "migration" / "thresholds.yaml").read_text()


def test_the_table_of_attributes_is_what_the_map_says():
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "document_attributes.py"), "--check"], check=False)
    assert done.returncode == 0, "the table in docs/serve/perspective.md is out of date: run `make docs`"


def test_the_page_names_every_attribute_of_the_map():
    text = (SERVE / "perspective.md").read_text(encoding="utf-8")
    assert [name for name in load_attributes().attributes if f"`{name}`" not in text] == []
