"""Live connectors against recorded servers on loopback: cursors, limits, broken lines, nothing lost and no names."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest
from websockets.sync.server import serve

from davy.core.errors import UserError
from davy.corpus.collect import gather
from davy.corpus.collect.live import connectors
from davy.corpus.collect.live.listener import Listener, ListenLimits
from davy.corpus.collect.live.web import WebClient
from davy.corpus.collect.records import AccountHasher
from davy.corpus.collect.rule import FilterRule
from davy.corpus.collect.strategies import Strategy


class Recorded(ThreadingHTTPServer):
    """Answers a path with its recorded answers in turn, the last one for ever; notes what was asked."""

    daemon_threads = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = {path: list(given) for path, given in answers.items()}
        self.asked = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()}, body))
        given = self.server.answers[parts.path]
        status, headers, answer = given.pop(0) if len(given) > 1 else given[0]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@contextmanager
def recorded(answers):
    server = Recorded(answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ok(answer):
    return (200, {}, answer)


def kept(archive):
    return [json.loads(line)["davy"] for line in archive.read_text().splitlines()]


def listened(source, archive, slept=None, **more):
    listener = Listener(source, archive, sleep=(slept if slept is not None else []).append, **more)
    return listener.run()


def commit(n, text="hello", operation="create"):
    record = {"$type": "app.bsky.feed.post", "text": text, "langs": ["en"], "createdAt": "2024-01-01T00:00:00Z"}
    inner = {"operation": operation, "collection": "app.bsky.feed.post", "rkey": f"r{n}"}
    if operation == "create":
        inner["record"] = record
    return {"did": "did:plc:secretada", "time_us": n * 10_000_000, "kind": "commit", "commit": inner}


@contextmanager
def jetstream(connections):
    """A Jetstream that plays one list of events a connection, then hangs up; yields its URL and what was asked."""
    asked, plays = [], list(connections)

    def handler(socket):
        asked.append({k: v[0] for k, v in parse_qs(urlsplit(socket.request.path).query).items()})
        for event in plays.pop(0) if plays else []:
            socket.send(json.dumps(event))
        socket.close()

    with serve(handler, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}", asked
        server.shutdown()
        thread.join()


def test_jetstream_goes_on_from_its_cursor_after_a_break_and_keeps_each_post_once(tmp_path):
    archive = tmp_path / "b.jsonl"
    first = [commit(1), commit(2, "tea"), commit(9, operation="delete")]
    second = [commit(9, operation="delete"), commit(2, "tea"), commit(10, "more tea"), commit(11, "coffee")]
    slept = []
    with jetstream([first, second]) as (url, asked):
        rule = FilterRule.of("tea")
        heard = listened(connectors.Jetstream(url), archive, slept, rule=rule, limits=ListenLimits(posts=2))
    assert [record["text"] for record in kept(archive)] == ["tea", "more tea"]
    assert (heard.breaks, heard.repeated, heard.withdrawn) == (1, 1, 2)
    assert asked[1]["cursor"] == str(9 * 10_000_000 - connectors.JETSTREAM_OVERLAP)
    assert slept
    assert (tmp_path / "b.jsonl.withdrawn").read_text().startswith("bluesky:")
    assert "ada" not in archive.read_text()


def test_a_second_run_goes_on_where_the_first_stopped(tmp_path):
    archive = tmp_path / "b.jsonl"
    with jetstream([[commit(1), commit(2)]]) as (url, _):
        listened(connectors.Jetstream(url), archive, limits=ListenLimits(posts=2))
    with archive.open("a") as file:
        file.write('{"davy": {"id": "half a li')  # as a crash would leave it
    with jetstream([[commit(2), commit(3)]]) as (url, asked):
        heard = listened(connectors.Jetstream(url), archive, limits=ListenLimits(posts=1))
    assert heard.resumed
    assert "cursor" in asked[0]
    assert len({record["id"] for record in kept(archive)}) == len(kept(archive)) == 3


def test_a_line_that_stays_broken_is_told_after_longer_and_longer_waits(tmp_path):
    slept = []
    with jetstream([]) as (url, _), pytest.raises(UserError, match="tried 4 times"):
        listened(connectors.Jetstream(url), tmp_path / "b.jsonl", slept, limits=ListenLimits(tries=4))
    assert slept == [1.0, 2.0, 4.0, 8.0]


def status(n, text="hello"):
    uri = f"https://social.example/users/secretada/statuses/{n}"
    account = {"acct": "secretada"}
    return {"id": str(n), "uri": uri, "content": f"<p>{text}</p>", "visibility": "public", "account": account}


def test_mastodon_fetches_what_was_missed_and_then_streams(tmp_path):
    archive = tmp_path / "m.jsonl"
    stream = (
        f"event: update\ndata: {json.dumps(status(5))}\n\n:thump\nevent: delete\ndata: 3\n\n"
        f"event: update\ndata: {json.dumps(status(6))}\n\n"
    )
    later = f"event: update\ndata: {json.dumps(status(9))}\n\n"
    answers = {
        "/api/v1/streaming/public": [ok(stream), ok(later)],
        "/api/v1/timelines/public": [ok([status(8), status(7)])],
    }
    with recorded(answers) as server:
        heard = listened(connectors.PublicStream(WebClient(server.url)), archive, limits=ListenLimits(posts=5))
    assert [record["id"] for record in kept(archive)] == [f"mastodon:social.example/{n}" for n in (5, 6, 7, 8, 9)]
    assert ("/api/v1/timelines/public", {"min_id": "6", "limit": "40"}, None) in server.asked
    assert heard.withdrawn == 1
    assert "ada" not in archive.read_text()


def tweet(n, text="hello"):
    return {"id": str(n), "text": text, "author_id": "77", "lang": "en", "created_at": "2024-01-01T00:00:00Z"}


def test_the_filtered_stream_sets_its_rule_waits_as_told_and_catches_up_by_search(tmp_path):
    archive = tmp_path / "x.jsonl"
    lines = "\r\n".join(["", json.dumps({"data": tweet(1), "matching_rules": [{"tag": "davy"}]}), "", ""])
    other = json.dumps({"data": tweet(9), "matching_rules": [{"tag": "somebody else's"}]})
    answers = {
        "/2/tweets/search/stream/rules": [
            ok({"data": [{"id": "4", "value": "old", "tag": "davy"}, {"id": "5", "value": "kept", "tag": "other"}]}),
            ok({}),
            ok({"data": []}),
            ok({"data": [{"id": "6", "value": "tea -has:links", "tag": "davy"}]}),
        ],
        "/2/tweets/search/stream": [ok(lines), (429, {"Retry-After": "33"}, {}), ok(other + "\r\n")],
        "/2/tweets/search/recent": [
            ok({"data": [tweet(3)], "meta": {"next_token": "n"}}),
            ok({"data": [tweet(2)], "meta": {}}),
        ],
    }
    slept = []
    with recorded(answers) as server:
        source = connectors.FilteredStream(WebClient(server.url, "token"), "tea -filter:links")
        heard = listened(source, archive, slept, limits=ListenLimits(posts=3))
    bodies = [body for path, _, body in server.asked if path.endswith("/rules") and body]
    assert bodies == [{"delete": {"ids": ["4"]}}, {"add": [{"value": "tea -has:links", "tag": "davy"}]}]
    assert sorted(record["id"] for record in kept(archive)) == ["x:1", "x:2", "x:3"]
    searched = [query for path, query, _ in server.asked if path.endswith("/recent")]
    assert searched[0]["since_id"] == "1"
    assert heard.breaks >= 1


def test_user_posts_are_paged_and_the_next_run_asks_only_for_newer_ones(tmp_path):
    archive = tmp_path / "x.jsonl"
    answers = {
        "/2/users/by/username/ada": [ok({"data": {"id": "77"}})],
        "/2/users/77/tweets": [
            (429, {"Retry-After": "7"}, {}),
            ok({"data": [tweet(12), tweet(11)], "meta": {"next_token": "p"}}),
            ok({"data": [tweet(9)], "meta": {}}),
            ok({"data": [tweet(13)], "meta": {}}),
        ],
    }
    slept = []
    with recorded(answers) as server:
        heard = listened(connectors.UserPosts(WebClient(server.url), ["ada"]), archive, slept)
        assert (heard.kept, slept) == (3, [7.0])
        listened(connectors.UserPosts(WebClient(server.url), ["ada"]), archive)
    assert [record["id"] for record in kept(archive)] == ["x:12", "x:11", "x:9", "x:13"]
    assert server.asked[-1][1]["since_id"] == "12"


def listing(*ids, after=None):
    children = [
        {"kind": "t1", "data": {"id": key, "body": "tea", "author": "secretada", "subreddit": "tea", "created_utc": 1}}
        for key in ids
    ]
    return ok({"kind": "Listing", "data": {"children": children, "after": after}})


def test_reddit_is_asked_again_and_gives_what_is_newer(tmp_path):
    archive = tmp_path / "r.jsonl"
    answers = {
        "/r/tea/comments": [
            listing("b2", "b1"),
            listing("b6", "b5", after="t1_b5"),
            listing("b4", "b2", after="t1_b2"),
        ]
    }
    slept = []
    with recorded(answers) as server:
        source = connectors.NewPosts(WebClient(server.url), ["r/tea"], pause=10.0)
        listened(source, archive, slept, limits=ListenLimits(posts=5))
    assert [record["id"][-2:] for record in kept(archive)] == ["b1", "b2", "b4", "b5", "b6"]
    assert slept == [10.0]
    assert "ada" not in archive.read_text()


def test_a_refused_token_is_told_at_once(tmp_path):
    with recorded({"/r/tea/comments": [(401, {}, {})]}) as server, pytest.raises(UserError, match="refused the token"):
        listened(connectors.NewPosts(WebClient(server.url), ["tea"]), tmp_path / "r.jsonl")


def test_a_live_archive_is_read_by_davy_collect(tmp_path):
    archive = tmp_path / "b.jsonl"
    with jetstream([[commit(1, "tea"), commit(2, "coffee")]]) as (url, _):
        listened(connectors.Jetstream(url), archive, names=AccountHasher(b"k" * 32), limits=ListenLimits(posts=2))
    everything = [Strategy("everything", "search")]
    done = gather.gather([archive], tmp_path / "o.parquet", everything, gather.GatherSettings("bluesky"))
    posts = pl.read_parquet(tmp_path / "o.parquet")
    assert (done.kept, posts["text"].to_list(), posts["lang"].to_list()) == (2, ["tea", "coffee"], ["en", "en"])
    assert posts["author"].null_count() == 0


def test_an_archive_of_one_platform_is_not_mixed_with_another(tmp_path):
    archive = tmp_path / "b.jsonl"
    with jetstream([[commit(1)]]) as (url, _):
        listened(connectors.Jetstream(url), archive, limits=ListenLimits(posts=1))
    with pytest.raises(UserError, match="begun with bluesky"):
        listened(connectors.NewPosts(WebClient("http://127.0.0.1:1"), ["tea"]), archive)
    with pytest.raises(UserError, match="jsonl"):
        listened(connectors.Jetstream("ws://127.0.0.1:1"), tmp_path / "b.csv")


def test_what_a_server_says_in_another_way_is_passed_over_or_told(tmp_path):
    lines = f"event: update\ndata: not json\n\nevent: update\ndata: {json.dumps(status(5))}\n\n"
    answers = {
        "/api/v1/streaming/public": [ok(lines)],
        "/2/users/by/username/ada": [ok({"errors": [{"title": "Not Found"}]})],
        "/r/tea/comments": [ok({"reason": "banned"})],
    }
    with recorded(answers) as server:
        listened(connectors.PublicStream(WebClient(server.url)), tmp_path / "m.jsonl", limits=ListenLimits(posts=1))
        assert len(kept(tmp_path / "m.jsonl")) == 1
        with pytest.raises(UserError, match="no account 'ada'"):
            listened(connectors.UserPosts(WebClient(server.url), ["ada"]), tmp_path / "x.jsonl")
        with pytest.raises(UserError, match="no listing"):
            listened(connectors.NewPosts(WebClient(server.url), ["tea"]), tmp_path / "r.jsonl")


def test_posts_of_x_are_fetched_by_their_ids_and_deleted_ones_are_missing(tmp_path):
    archive = tmp_path / "x.jsonl"
    ids = [str(number) for number in range(1, 151)]
    answers = {"/2/tweets": [ok({"data": [tweet(1), tweet(2)]}), ok({"data": [tweet(101)]})]}
    with recorded(answers) as server:
        listened(connectors.PostsById(WebClient(server.url), ids), archive)
    assert [record["id"] for record in kept(archive)] == ["x:1", "x:2", "x:101"]
    assert [asked[1]["ids"].count(",") + 1 for asked in server.asked] == [100, 50]
