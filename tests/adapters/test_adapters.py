"""Davy's adapters in the programs they are for: each runs the other program's own code against a running server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from other_programs import PACKAGES, answered, asked, fetched, installed
from web_site import make_key


@pytest.fixture(scope="session")
def counterparts(tmp_path_factory) -> Path:
    """The other programs' code."""
    return installed(("threatexchange==1.2.17", "lm-eval==0.4.13"), tmp_path_factory.mktemp("counterparts"))


def test_threatexchange_prints_davys_labels_as_those_of_its_own_classifiers(live, counterparts):
    code = """
import json
from threatexchange.classifier.classifier import Classifier
from threatexchange.content_type.photo import PhotoContent
from threatexchange.content_type.text import TextContent
from davy_adapters.threatexchange_classifier import DavyClassifier

davy = DavyClassifier.get_with_default_settings()
assert isinstance(davy, Classifier) and TextContent in davy.get_content_types()
found = [davy.classify(TextContent, text) for text in ("a grumblefop", "a fine day")]
try:
    davy.classify(PhotoContent, "x.png")
except ValueError as error:
    refused = str(error)
print(json.dumps([davy.get_name(), [str(it) for it in found], [it.has_match for it in found], refused]))
"""
    name, shown, matches, refused = answered(asked(live, counterparts, code))
    assert (name, shown, matches) == ("davy", ["hate(90.00%)", "None"], [True, False])
    assert "texts" in refused


def test_lm_evaluation_harness_loads_the_task_and_gets_davys_figures(live, counterparts):
    code = """
import json, subprocess, sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import lm_eval_loader as loader

folder = Path(subprocess.run(
    [sys.executable, "-m", "davy_adapters.lm_eval_tasks"], capture_output=True, text=True, check=True
).stdout.strip())
task = loader.load_yaml(folder / "realtoxicityprompts_davy.yaml")
results = [task["process_results"]({}, [text]) for text in ("a grumblefop", "a fine day")]
print(json.dumps([task["task"], [it["metric"] for it in task["metric_list"]], results]))
"""
    shutil.copy(counterparts / "lm_eval" / "tasks" / "_yaml_loader.py", counterparts / "lm_eval_loader.py")
    task, metrics, results = answered(asked(live, counterparts, code, DAVY_ATTRIBUTE="IDENTITY_ATTACK"))
    assert task == "realtoxicityprompts_davy"
    assert [set(it) for it in results] == [set(metrics)] * 2
    assert results[0] == {"score": 1.0, "davy_toxicity_score": 0.9}
    assert results[1] == {"score": 0.0, "davy_toxicity_score": 0.0}


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"DAVY_KEY": "davy_no_key"}, "answered 401: This API key is not known"),
        ({"DAVY_URL": "http://127.0.0.1:9"}, "can't be reached"),
        ({"DAVY_KEY": "", "DAVY_URL": ""}, "Set DAVY_URL and DAVY_KEY"),
    ],
)
def test_what_can_not_be_scored_is_an_error_with_the_servers_words_and_never_harmless(live, counterparts, env, words):
    code = "from davy_adapters.server import DavyServer; DavyServer.from_environment().score('a day')"
    done = asked(live, counterparts, code, **env)
    assert done.returncode
    assert words in done.stderr.splitlines()[-1]


@pytest.fixture(scope="session")
def coop_example(tmp_path_factory) -> Path:
    """Coop's own example of a plug-in; its types are not in every registry, and are stood in for."""
    if shutil.which("npm") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI has no npm: scripts/test-machine.sh installs it")
        pytest.skip("needs npm")
    folder = tmp_path_factory.mktemp("coop")
    fetched(["npm", "pack", "-s", "@roostorg/coop-integration-example@2.0.1"], folder, "Coop's example")
    package = folder / "node_modules" / "example"
    package.mkdir(parents=True)
    archive = next(folder.glob("*.tgz"))
    subprocess.run(["tar", "xzf", archive.name, "-C", str(package), "--strip-components=1"], cwd=folder, check=True)
    types = folder / "node_modules" / "@roostorg" / "types"
    types.mkdir(parents=True)
    (types / "package.json").write_text('{"name": "@roostorg/types", "type": "module", "main": "index.js"}')
    (types / "index.js").write_text("export function assertModelCardHasRequiredSections(card) {}\n")
    shutil.copytree(PACKAGES / "davy-coop", folder / "node_modules" / "davy-coop")
    return folder


def test_coops_plug_in_has_the_form_of_its_example_and_scores_by_the_server(live, coop_example):
    _, secret = make_key(live.site)
    (coop_example / "ask.mjs").write_text(
        """
import example from "example";
import davy from "davy-coop";
const keys = (it) => Object.keys(it).sort();
const theirs = { integrationId: "E", getCredential: async () => ({}) };
const ours = { integrationId: "DAVY", getCredential: async (org) => org === "none" ? null :
  { url: process.env.DAVY_URL + "/", apiKey: process.env.DAVY_KEY } };
const [like] = example.createSignals(theirs);
const signals = davy.createSignals(ours);
const hate = signals.find((it) => it.signalTypeId === "DAVY_HATE").signal;
const said = async (input) => { try { return await hate.run(input); } catch (error) { return error.message; } };
const text = (value) => ({ orgId: "o", value: { type: "STRING", value } });
console.log(JSON.stringify({
  shape: keys(like.signal), shapes: signals.map((it) => keys(it.signal)), ids: signals.map((it) => it.signalTypeId),
  manifest: [keys(example.manifest).filter((it) => !it.startsWith("logo")), keys(davy.manifest)],
  sections: [example, davy].map((it) => it.manifest.modelCard.sections.map((one) => one.id)),
  declared: davy.manifest.signalTypeIds,
  hateful: await said(text("a grumblefop")), calm: await said(text("a fine day")),
  wrong: await said({ orgId: "o", value: { type: "IMAGE", value: { url: "x" } } }),
  off: await hate.getDisabledInfo("none"), on: await hate.getDisabledInfo("o"),
}));
"""
    )
    env = {**os.environ, "DAVY_URL": live.url, "DAVY_KEY": secret}
    done = subprocess.run(["node", "ask.mjs"], cwd=coop_example, env=env, capture_output=True, text=True, timeout=120)
    found = answered(done)
    assert found["shapes"] == [found["shape"]] * 3
    assert found["manifest"][0] == found["manifest"][1]
    assert found["sections"][0] == found["sections"][1]
    assert found["ids"] == found["declared"]
    assert found["hateful"] == {"outputType": {"scalarType": "NUMBER"}, "score": 90}
    assert found["calm"]["score"] == 0
    assert "texts" in found["wrong"]
    assert (found["off"]["disabled"], found["on"]["disabled"]) == (True, False)


def coral(operation: str, body: dict, url: str, key: str) -> httpx.Response:
    """Send what Coral's server sends (services/perspective/perspective.ts at 11d3083): the endpoint is its setting."""
    address = httpx.URL(f"{url}/v1alpha1/{operation}", params={"key": key})
    sent = json.dumps({"comment": {"text": "a grumblefop"}, "languages": ["en"], **body})
    return httpx.post(address, content=sent, headers={"Content-Type": "application/json"}, timeout=60)


def test_corals_requests_are_answered_as_it_reads_them(live):
    _, secret = make_key(live.site)
    model = "IDENTITY_ATTACK"
    scored = coral("comments:analyze", {"doNotStore": True, "requestedAttributes": {model: {}}}, live.url, secret)
    assert scored.status_code == 200
    assert scored.json()["attributeScores"][model]["summaryScore"]["value"] == 0.9
    entry = json.dumps({"url": "https://news.example/story?commentID=c1", "Coral_comment_id": "c1"})
    feedback = {
        "context": {"entries": [{"text": entry}]},
        "attributeScores": {model: {"summaryScore": {"value": 0}}},
        "communityId": "Coral:https://comments.news.example",
        "clientToken": "comment:c1",
    }
    kept = coral("comments:suggestscore", feedback, live.url, secret)
    assert (kept.status_code, kept.json()["clientToken"]) == (200, "comment:c1")
    assert coral("comments:analyze", {"requestedAttributes": {model: {}}}, live.url, "davy_wrong").status_code == 400
