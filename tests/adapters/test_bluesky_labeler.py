"""The labeler for Bluesky, read by atproto's own library."""

from __future__ import annotations

from pathlib import Path

import pytest

from other_programs import answered, asked, installed


@pytest.fixture(scope="session")
def atproto(tmp_path_factory) -> Path:
    """atproto for Python, and what its models need."""
    return installed(("atproto==0.0.73", "tlds", "dnspython", "zstandard<0.26"), tmp_path_factory.mktemp("atproto"))


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


def test_bluesky_reads_our_labels_and_their_signatures_with_its_own_library(live, atproto, tmp_path, monkeypatch):
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
    found = answered(asked(live, atproto, LABELER + code))
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


def test_a_labeler_listens_to_jetstream_and_goes_on_where_a_break_left_it(live, atproto, tmp_path, monkeypatch):
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
    found, paths = answered(asked(live, atproto, LABELER + code))
    assert found == [f"at://did:plc:writerwriterwriterwriter/app.bsky.feed.post/r{n}" for n in (1, 2)]
    assert paths[0] == "/subscribe?wantedCollections=app.bsky.feed.post"
    assert paths[1] == f"{paths[0]}&cursor=7"


def test_a_labeler_that_is_asked_wrongly_says_so_in_one_line_and_writes_nothing(live, atproto, tmp_path, monkeypatch):
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
    nothing, said = answered(asked(live, atproto, LABELER + code))
    assert nothing is False
    assert {code for code, _ in said.values()} == {1}
    words = {"key": "new file", "short": "64 hex", "did": "no DID", "label": "small letters", "question": "nosuch"}
    words |= {"stream": "wss://", "retract": "has no label", "broken": "line 1 is no label"}
    assert [name for name, word in words.items() if word not in said[name][1]] == []
