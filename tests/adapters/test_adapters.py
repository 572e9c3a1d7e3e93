"""Davy's adapters in the programs they are for: each runs the other program's own code against a running server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from web_site import make_key

PACKAGES = Path(__file__).parent.parent.parent / "packages"
ADAPTERS = PACKAGES / "davy-adapters" / "src"


def fetched(command: list[str], folder: Path, what: str) -> Path:
    """Run a command that fetches from a registry; without one a test is skipped, but in CI that is a failure."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{what} can't be fetched: {done.stderr[-500:]}")
        pytest.skip(f"{what} can't be fetched here")
    return folder


@pytest.fixture(scope="session")
def counterparts(tmp_path_factory) -> Path:
    """The other programs' code, without what they depend on: their pins fight ours."""
    folder = tmp_path_factory.mktemp("counterparts")
    packages = ("threatexchange==1.2.17", "lm-eval==0.4.13", "atproto==0.0.73", "tlds", "dnspython", "zstandard<0.26")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *packages]
    return fetched(command, folder, "threatexchange, lm-eval and atproto")


def asked(live, counterparts: Path, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run code beside a program, with the server and a key in its environment."""
    _, secret = make_key(live.site)
    paths = os.pathsep.join((str(counterparts), str(ADAPTERS)))
    env = {**os.environ, "PYTHONPATH": paths, "DAVY_URL": live.url, "DAVY_KEY": secret, **env}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)


def answered(done: subprocess.CompletedProcess[str]):
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


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


LABELER = """
import json, subprocess, sys
from pathlib import Path

DID, LABELS = "did:plc:labelerlabelerlabelerla", Path("labels.jsonl")
BY = ("--did", DID, "--key", "key.hex")

def davy(command, *arguments, lines=()):
    sent = "\\n".join(it if isinstance(it, str) else json.dumps(it) for it in lines)
    whole = [sys.executable, "-m", "davy_adapters.bluesky", command, *arguments]
    return subprocess.run(whole, input=sent, capture_output=True, text=True)

def event(rkey, text, **commit):
    record = {"$type": POSTS, "text": text, "createdAt": "2026-11-01T00:00:00Z"}
    commit = {"operation": "create", "collection": POSTS, "rkey": rkey, "cid": CID, "record": record, **commit}
    return {"did": "did:plc:writerwriterwriterwriter", "time_us": 1, "kind": "commit", "commit": commit}

POSTS, CID = "app.bsky.feed.post", "bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
PAIRS = ("--label", "hate=hate-speech")
"""


def test_bluesky_reads_our_labels_and_their_signatures_with_its_own_library(live, counterparts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = """
import base64, httpx, threading
from atproto_client.models.com.atproto.label.defs import Label
from atproto_client.subscriptions import ComAtprotoLabelSubscribeLabelsClient as Subscription
from atproto_client.subscriptions import parse_com_atproto_label_subscribe_labels_message as parsed
from atproto_crypto.verify import verify_signature

did_key = davy("key", "key.hex").stdout.strip()
rude = [event(f"rude{n}", "a grumblefop") for n in range(20)]
others = [event("calm", "a fine day"), event("bare", ""), event("l", "a grumblefop", collection="app.bsky.feed.like"),
  event("gone", "", operation="delete"), event("long", "grumblefop " * 400), event("odd", 7), "no event"]
first = davy("label", *BY, *PAIRS, str(LABELS), lines=[*rude, *others])
LABELS.open("a").write('{"half a li')
again = davy("label", *BY, *PAIRS, str(LABELS), lines=[*rude, event("new", "a grumblefop")])

serving = [sys.executable, "-m", "davy_adapters.bluesky", "serve", str(LABELS), "--port", "0"]
served = subprocess.Popen(serving, stdout=subprocess.PIPE, text=True)
try:
    address = served.stdout.readline().split()[-1].rstrip("/")
    def query(**asked):
        asked = {"uriPatterns": "at://did:plc:writer*", **asked}
        return httpx.get(address + "/com.atproto.label.queryLabels", params=asked).json()

    def queried(label):
        signature = base64.b64decode(label["sig"]["$bytes"] + "==")
        return Label(**{**label, "sig": signature})

    got, some = query(limit=250)["labels"], query(limit=20)
    rest, none = query(cursor=some["cursor"]), query(sources="did:plc:anotheranotheranothera")
    one = query(uriPatterns=got[3]["uri"])
    refused = [query(cursor="x"), query(limit=251), query(uriPatterns=""), httpx.get(address + "/x").json()]

    def heard(cursor, most, then=lambda: None):
        asked, found = {"cursor": cursor} if cursor is not None else None, []
        stream = Subscription(address.replace("http", "ws"), asked)
        timers = [threading.Timer(60, stream.stop), threading.Timer(2, then)]
        for timer in timers:
            timer.start()
        def take(message):
            found.append(parsed(message))
            if len(found) == most:
                stream.stop()
        try:
            stream.start(take)
        except Exception as error:
            return type(error).__name__ + str(error)
        finally:
            timers[0].cancel()
        return found

    stream = heard(0, 21)
    taken = rude[0]["did"] + "/app.bsky.feed.post/rude0"
    took = lambda: davy("retract", *BY, str(LABELS), "at://" + taken, "hate-speech")
    live = heard(None, 1, took)
    afterwards = heard(0, 21)
    future = heard(99, 1)
finally:
    served.terminate()

def text(value):
    raw = value.encode()
    return (bytes([0x60 + len(raw)]) if len(raw) < 24 else bytes([0x78, len(raw)])) + raw

def signed(label):
    fields = {"ver": b"\\x01", "neg": b"\\xf5" if label.neg else None}
    fields |= {name: text(getattr(label, name)) for name in ("src", "uri", "cid", "val", "cts") if getattr(label, name)}
    fields = {name: value for name, value in sorted(fields.items()) if value}
    return bytes([0xa0 + len(fields)]) + b"".join(text(name) + value for name, value in fields.items())

labels = [*(it for message in [*stream, *live] for it in message.labels), *map(queried, got)]
print(json.dumps({
    "first": first.stderr, "again": again.stderr, "key": oct(Path("key.hex").stat().st_mode)[-3:],
    "pages": [len(it["labels"]) for it in (some, rest, none, one)], "end": "cursor" in rest,
    "refused": [it["error"] for it in refused],
    "numbers": [it.seq for it in stream], "values": sorted({(it.src, it.val, it.ver) for it in labels}),
    "verified": [verify_signature(did_key, signed(it), it.sig) for it in labels],
    "changed": verify_signature(did_key, signed(labels[0]), labels[1].sig),
    "live": [live[0].seq, live[0].labels[0].neg, live[0].labels[0].uri == "at://" + taken],
    "afterwards": [it.seq for it in afterwards], "future": future,
}))
"""
    found = answered(asked(live, counterparts, LABELER + code))
    assert found["first"].splitlines() == ["posts: 22, labels: 20, not judged: 1, not read: 3"]
    assert found["again"].splitlines() == ["posts: 21, labels: 1, not judged: 0, not read: 0"]
    assert found["key"] == "600"
    assert (found["pages"], found["end"]) == ([20, 1, 0, 1], False)
    assert found["refused"] == ["InvalidRequest"] * 3 + ["MethodNotImplemented"]
    assert found["numbers"] == list(range(1, 22))
    assert found["values"] == [["did:plc:labelerlabelerlabelerla", "hate-speech", 1]]
    assert (found["verified"], found["changed"]) == ([True] * 43, False)
    assert found["live"] == [22, True, True]
    assert found["afterwards"] == list(range(2, 23))
    assert "FutureCursor" in found["future"]


def test_a_labeler_listens_to_jetstream_and_goes_on_where_a_break_left_it(live, counterparts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = """
import threading
from itertools import islice
from websockets.sync.server import serve
from davy_adapters.bluesky import posts

posts.WAIT = 0
paths = []
def jetstream(stream):
    paths.append(stream.request.path)
    stream.send(json.dumps({**event(f"r{len(paths)}", "a day"), "time_us": 7 * len(paths)}))

with serve(jetstream, "127.0.0.1", 0) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    heard = islice(posts.events("ws://127.0.0.1:%d" % server.socket.getsockname()[1]), 2)
    found = [posts.post(it).uri for it in heard]
    server.shutdown()
print(json.dumps([found, paths]))
"""
    found, paths = answered(asked(live, counterparts, LABELER + code))
    assert found == [f"at://did:plc:writerwriterwriterwriter/app.bsky.feed.post/r{n}" for n in (1, 2)]
    assert paths[0] == "/subscribe?wantedCollections=app.bsky.feed.post"
    assert paths[1] == f"{paths[0]}&cursor=7"


def test_a_labeler_that_is_asked_wrongly_says_so_in_one_line_and_writes_nothing(
    live, counterparts, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code = """
davy("key", "key.hex")
Path("short.hex").write_text("ab")
rude = [event("rude", "a grumblefop")]
said = {
    "key": davy("key", "key.hex"),
    "short": davy("label", "--did", DID, "--key", "short.hex", *PAIRS, str(LABELS), lines=rude),
    "did": davy("label", "--did", "me.example", "--key", "key.hex", *PAIRS, str(LABELS), lines=rude),
    "label": davy("label", *BY, "--label", "hate=!hide", str(LABELS), lines=rude),
    "question": davy("label", *BY, "--label", "nosuch=rude", str(LABELS), lines=rude),
    "stream": davy("label", *BY, *PAIRS, "--jetstream", "https://x", str(LABELS)),
    "retract": davy("retract", *BY, str(LABELS), "at://x/y/z", "hate-speech"),
}
nothing = LABELS.exists()
LABELS.write_text("no label\\n")
said["broken"] = davy("label", *BY, *PAIRS, str(LABELS), lines=rude)
print(json.dumps([nothing, {name: [it.returncode, it.stderr.splitlines()[-1]] for name, it in said.items()}]))
"""
    nothing, said = answered(asked(live, counterparts, LABELER + code))
    assert nothing is False
    assert {code for code, _ in said.values()} == {1}
    words = {"key": "new file", "short": "64 hex", "did": "no DID", "label": "small letters", "question": "nosuch"}
    words |= {"stream": "wss://", "retract": "has no label", "broken": "line 1 is no label"}
    assert [name for name, word in words.items() if word not in said[name][1]] == []


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
