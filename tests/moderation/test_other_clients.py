"""Clients that people use with other services, unchanged but for the address: Google's, an npm package, OpenAI's."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from web_site import make_key

CLIENTS = Path(__file__).parent.parent / "clients"
ATTRIBUTES = "name: ours\nattributes:\n  IDENTITY_ATTACK: {question: hate}\n  INSULT: {}\n"


@pytest.fixture
def settings(settings, tmp_path):
    path = tmp_path / "attributes.yaml"
    path.write_text(ATTRIBUTES)
    return replace(settings, attributes=str(path))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_googles_client_builds_itself_from_our_discovery_document_and_gets_scores(live):
    from googleapiclient import discovery
    from googleapiclient.errors import HttpError

    _, secret = make_key(live.site)
    client = discovery.build(
        "commentanalyzer",
        "v1alpha1",
        developerKey=secret,
        discoveryServiceUrl=f"{live.url}/$discovery/rest?version=v1alpha1",
        static_discovery=False,
    )
    body = {
        "comment": {"text": "What a grumblefop. A fine day."},
        "requestedAttributes": {"IDENTITY_ATTACK": {}},
        "languages": ["en"],
        "spanAnnotations": True,
        "clientToken": "t",
    }
    answer = client.comments().analyze(body=body).execute()
    scores = answer["attributeScores"]["IDENTITY_ATTACK"]
    assert scores["summaryScore"] == {"value": 0.9, "type": "PROBABILITY"}
    assert [it["score"]["value"] for it in scores["spanScores"]] == [0.9, 0.0]
    assert answer["clientToken"] == "t"
    with pytest.raises(HttpError) as caught:
        client.comments().analyze(body={**body, "requestedAttributes": {"INSULT": {}}}).execute()
    assert caught.value.resp.status == 400
    assert caught.value.error_details[0]["errorType"] == "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE"
    suggested = {"comment": body["comment"], "attributeScores": {"IDENTITY_ATTACK": {"summaryScore": {"value": 0}}}}
    assert client.comments().suggestscore(body={**suggested, "clientToken": "s"}).execute()["clientToken"] == "s"
    client.close()
    gc.collect()  # what the client left open is warned about here, where that is meant, and not in the next test


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory):
    """The npm package in the version of its lockfile. A machine without Node skips, but in CI that is a failure."""
    if shutil.which("npm") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI has no npm: scripts/test-machine.sh installs it")
        pytest.skip("needs npm")
    folder = tmp_path_factory.mktemp("npm")
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(CLIENTS / name, folder / name)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def test_the_npm_client_gets_scores_from_another_address(live, node_modules):
    _, secret = make_key(live.site)
    done = subprocess.run(
        ["node", str(CLIENTS / "perspective.js")],
        cwd=node_modules,
        env={**os.environ, "ROOT": live.url, "KEY": secret, "NODE_PATH": str(node_modules / "node_modules")},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout)
    assert answer["scored"]["attributeScores"]["IDENTITY_ATTACK"]["summaryScore"]["value"] == 0.9
    assert "INSULT does not support request languages" in answer["refused"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_openais_client_gets_moderations(live):
    import openai

    _, secret = make_key(live.site)
    with openai.OpenAI(api_key=secret, base_url=f"{live.url}/v1", max_retries=0) as client:
        answer = client.moderations.create(model="omni-moderation-latest", input=["a fine day", "what a grumblefop"])
        assert [it.flagged for it in answer.results] == [False, True]
        assert answer.results[1].categories.hate is True
        assert answer.results[1].category_scores.hate == 0.9
        assert answer.model.startswith("keywords")
        parts = [{"type": "text", "text": "what a grumblefop"}]
        assert client.moderations.create(input=parts).results[0].flagged
        with pytest.raises(openai.NotFoundError):
            client.moderations.create(model="no-such", input="x")
    with (
        openai.OpenAI(api_key="davy_wrong", base_url=f"{live.url}/v1", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.moderations.create(input="x")
