"""The examples of docs/serve/clients.md, each run against a server that listens on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from davy.client import Client, ClientError
from davy.moderation.webhooks import sign
from davy.people.store import keys
from page_blocks import blocks


def examples(language: str) -> list[str]:
    return [block.text for block in blocks("clients.md") if block.language == language]


@pytest.fixture
def address(live):
    """A running server and a key for it, as the examples find them."""
    with live.site.store.write() as db:
        _, secret = keys.create(db, name="x", owner=live.site.people["expert"].id, scopes=["score"], by="shell")
    return {**os.environ, "DAVY_URL": live.url, "DAVY_KEY": secret, "no_proxy": "127.0.0.1"}


def run(command: list[str], settings: dict[str, str]) -> str:
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is missing")
        pytest.skip(f"{name} is missing")
    return path


def test_curl_gets_scores_in_both_shapes(address):
    program("curl")
    ours, theirs = (json.loads(run(["sh", "-ec", text], address)) for text in examples("sh"))
    assert ours["results"][0]["verdict"] == "none"
    assert ours["results"][0]["id"] == "c1"
    assert 0 <= theirs["attributeScores"]["IDENTITY_ATTACK"]["summaryScore"]["value"] <= 1


def test_python_gets_scores(address):
    lines = run([sys.executable, "-c", examples("python")[0]], address).splitlines()
    assert lines[0].startswith("none ")
    assert lines[1:3] == ["none", "none"]
    assert "IDENTITY_ATTACK" in lines[3]


def test_javascript_gets_scores(address, tmp_path):
    node = program("node")
    (tmp_path / "example.mjs").write_text(examples("js")[0], encoding="utf-8")
    assert " none " in run([node, str(tmp_path / "example.mjs")], address)


def test_the_webhooks_example_believes_what_we_sign_and_nothing_else():
    known: dict[str, object] = {}
    exec(examples("python")[1], known)  # noqa: S102 — our own documentation
    is_genuine = known["is_genuine"]
    body = b'{"community": "forum"}'
    signature = sign("secret", body, 1_000)
    assert is_genuine("secret", signature, body, now=1_100)
    assert not is_genuine("secret", signature, body + b" ", now=1_100)
    assert not is_genuine("other", signature, body, now=1_100)
    assert not is_genuine("secret", signature, body, now=2_000)
    assert not is_genuine("secret", "nonsense", body, now=1_100)


def test_the_client_says_what_the_server_said(address):
    with Client(address["DAVY_URL"], key="davy_wrong") as client, pytest.raises(ClientError) as refused:
        client.score("fine")
    assert refused.value.status == 401
    with Client("http://127.0.0.1:1", key="x") as client, pytest.raises(ClientError, match="could not be reached"):
        client.score("fine")
    with Client(address["DAVY_URL"], key=address["DAVY_KEY"]) as client:
        assert len(client.score_many(["fine"] * 150)) == 150
        assert client.score_many([]) == []
