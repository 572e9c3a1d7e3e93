"""Remote detectors, against a real server on the loopback."""

import json
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from davy import schemes
from davy.core import UserError
from davy.detectors import remote
from davy.detectors.cache import DiskCache
from davy.detectors.http import Service, _retry_after
from davy.detectors.load import load
from davy.detectors.remote import OpenAiShape, PerspectiveShape, RemoteScorer
from davy.scoring.result import records


class Server:
    """Answers in three shapes by the texts' first letters; can be told to be busy first."""

    def __init__(self):
        outer = self
        self.requests, self.answers, self.lock = [], [], threading.Lock()
        self.scorer = load("majority@edos")

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.requests.append((self.path, dict(self.headers), body))
                    status, headers, answer = outer.answers.pop(0) if outer.answers else (200, {}, None)
                if answer is None:
                    answer = outer.scored(self.path, body) if status == 200 else {"error": {"status": "BUSY"}}
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def scored(self, path, body):
        if "analyze" in path:
            value = 0.9 if body["comment"]["text"].startswith("bad") else 0.1
            scores = {"IDENTITY_ATTACK": value / 2, "TOXICITY": value, "SEXUALLY_EXPLICIT": 0.8 if value > 0.5 else 0.2}
            return {"attributeScores": {name: {"summaryScore": {"value": it}} for name, it in scores.items()}}
        if "moderations" in path:
            each = [{"hate": 0.2, "hate/threatening": 0.6 if text.startswith("bad") else 0.0,
                     "harassment": 0.3, "harassment/threatening": 0.1} for text in body["input"]]  # fmt: skip
            return {"results": [{"category_scores": scores} for scores in each]}
        found = records(self.scorer.score(pl.DataFrame({"text": body["texts"]})))
        return {"model": {"name": "m", "version": self.scorer.version}, "results": found}

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("DAVY_API_KEY", raising=False)
    server = Server()
    yield server
    server.close()


def posts(*texts, **columns):
    return pl.DataFrame({"text": list(texts), **columns}, schema_overrides={"text": pl.String})


def at(server, path="/v1alpha1/comments:analyze", shape=None, **options):
    waits = []
    service = Service(server.url + path, pause=0.001, sleep=waits.append, **options)
    return RemoteScorer("test", service, shape or PerspectiveShape()), waits


def test_perspective_is_asked_in_its_own_shape(server, monkeypatch):
    monkeypatch.setattr(remote, "PERSPECTIVE", server.url + "/v1alpha1/comments:analyze")
    monkeypatch.setenv("PERSPECTIVE_API_KEY", "secret")
    scores = load("perspective").score(posts("bad thing", "fine", lang=["en", None]))
    assert scores.positive("hate").tolist() == [0.45, 0.05]
    assert scores.positive("offensive").tolist() == [0.9, 0.1]
    assert scores.verdicts() == ["offensive", "none"]
    path, _, body = next(it for it in server.requests if it[2]["comment"]["text"] == "bad thing")
    assert path.endswith("?key=secret")
    assert body["languages"] == ["en"]
    assert body["doNotStore"] is True


def test_perspective_answers_further_attributes(server, monkeypatch):
    monkeypatch.setattr(remote, "PERSPECTIVE", server.url + "/v1alpha1/comments:analyze")
    monkeypatch.setenv("PERSPECTIVE_API_KEY", "secret")
    scorer = load("perspective:sexually_explicit")
    assert [question.name for question in scorer.questions] == ["hate", "offensive", "sexually_explicit"]
    assert scorer.score(posts("bad thing", "fine")).positive("sexually_explicit").tolist() == pytest.approx([0.8, 0.2])
    assert set(server.requests[0][2]["requestedAttributes"]) == {"IDENTITY_ATTACK", "TOXICITY", "SEXUALLY_EXPLICIT"}
    with pytest.raises(UserError, match="Did you mean 'SEXUALLY_EXPLICIT'"):
        load("perspective:SEXUALY_EXPLICIT")


def test_openai_is_asked_in_its_own_shape(server, monkeypatch):
    monkeypatch.setattr(remote, "OPENAI", server.url + "/v1/moderations")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    scores = load("openai").score(posts("bad thing", "fine"))
    assert scores.positive("hate").tolist() == [0.6, 0.2]
    assert scores.positive("offensive").tolist() == [0.6, 0.3]
    assert server.requests[0][1]["Authorization"] == "Bearer secret"


def test_another_davy_answers_the_questions_that_harmless_texts_lead_to_as_at_home(server):
    scorer = load(f"url:{server.url}/v1/score")
    assert scorer.questions == schemes.load("edos").questions[:1]
    assert scorer.version == server.scorer.version
    frame = posts("a", "b")
    far, near = scorer.score(frame).columns(), server.scorer.score(frame).columns()
    assert {name: far[name] for name in ("sexist", "sexist.label")} == {
        name: near[name] for name in ("sexist", "sexist.label")
    }


def test_the_address_says_the_shape_and_the_key_goes_along(server, monkeypatch):
    monkeypatch.setenv("DAVY_API_KEY", "mine")
    assert load(f"url:{server.url}/x/comments:analyze?tenant=7").score(posts("bad")).positive("offensive")[0] == 0.9
    assert "tenant=7" in server.requests[-1][0]
    assert "key=mine" in server.requests[-1][0]
    assert load(f"url:{server.url}/v1/moderations").score(posts("bad")).positive("hate")[0] == 0.6
    assert server.requests[-1][1]["Authorization"] == "Bearer mine"
    with pytest.raises(UserError, match="does not say what it speaks"):
        load(f"url:{server.url}/else")
    with pytest.raises(UserError, match="no address"):
        load("url:ftp://x")


@pytest.mark.parametrize(("name", "variable"), [("perspective", "PERSPECTIVE_API_KEY"), ("openai", "OPENAI_API_KEY")])
def test_no_key_is_one_clear_line(monkeypatch, name, variable):
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UserError, match=f"export {variable}"):
        load(name)


def test_a_text_is_sent_once_and_never_stored(server, tmp_path):
    first = load(f"url:{server.url}/v1/moderations")
    once = first.score(posts("bad grumblefop", "fine", "bad grumblefop"))
    assert [len(body["input"]) for _, _, body in server.requests] == [2]
    again = load(f"url:{server.url}/v1/moderations").score(posts("fine", "bad grumblefop"))
    assert len(server.requests) == 1
    assert again.positive("hate").tolist() == once.positive("hate").tolist()[1:]
    for path in (tmp_path / "cache").rglob("*"):
        assert path.is_dir() or b"grumblefop" not in path.read_bytes()


def test_a_line_that_a_killed_process_left_is_skipped(tmp_path):
    cache = DiskCache(tmp_path, "x")
    cache.put("a", None, {"hate": [0.5, 0.5]})
    file = next(tmp_path.glob("*.jsonl"))
    file.write_bytes(file.read_bytes() + b'["abc", {"ha')
    again = DiskCache(tmp_path, "x")
    assert again.get("a", None) == {"hate": [0.5, 0.5]}
    assert again.get("a", "de") is None
    assert len(DiskCache(tmp_path, "y")) == 0


def test_a_busy_service_is_asked_again_and_its_wait_is_kept(server):
    server.answers += [(429, {"Retry-After": "7"}, None), (503, {}, None)]
    scorer, waits = at(server)
    assert scorer.score(posts("bad")).positive("offensive")[0] == 0.9
    assert waits[0] == 7
    assert waits[1] < 1
    assert len(server.requests) == 3


def test_a_wait_may_be_a_date():
    """RFC 9110, 10.2.3: Retry-After is a number of seconds or an HTTP date."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25 < _retry_after(date) <= 30
    assert _retry_after("120") == 120
    assert _retry_after("soon") == _retry_after(None) == _retry_after("-3") == 0


def test_a_service_that_stays_busy_is_given_up_with_one_line(server):
    server.answers += [(503, {}, None)] * 3
    scorer, waits = at(server, tries=3)
    with pytest.raises(UserError, match=r"127\.0\.0\.1 is busy \(status 503\); asked 3 times") as caught:
        scorer.score(posts("bad"))
    assert caught.value.status == 503
    assert len(waits) == 2


def test_a_service_that_is_not_there_is_one_line(server):
    scorer, _ = at(server, tries=2)
    server.close()
    with pytest.raises(UserError, match="can't be reached"):
        scorer.score(posts("bad"))
    server.__init__()


WRONG = {
    "key": ((403, {}, None), "refused the key"),
    "request": ((400, {}, {"error": {"status": "INVALID_ARGUMENT", "message": "grumblefop"}}), r"\(INVALID_ARGUMENT\)"),
    "redirect": ((302, {"Location": "http://elsewhere.invalid/"}, {}), "elsewhere"),
    "no json": ((200, {}, b"<html>"), "JSON"),
    "another shape": ((200, {}, {"hello": 1}), "another shape"),
}


@pytest.mark.parametrize(("answer", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_is_one_line_that_quotes_no_post(server, answer, message):
    server.answers.append(answer)
    scorer, _ = at(server)
    with pytest.raises(UserError, match=message) as caught:
        scorer.score(posts("grumblefop"))
    assert "grumblefop" not in caught.value.message


def test_too_few_answers_are_noticed(server):
    server.answers.append((200, {}, {"results": []}))
    scorer, _ = at(server, "/v1/moderations", OpenAiShape())
    with pytest.raises(UserError, match="answered 0 of 2"):
        scorer.score(posts("a", "b"))


def test_nothing_is_sent_for_a_text_of_white_space_and_a_long_one_is_cut(server):
    scorer, _ = at(server)
    scores = scorer.score(posts("", " \n", None, "bad" + "ä" * 400_000))
    assert scores.positive("offensive").tolist() == [0, 0, 0, 0.9]
    assert len(server.requests) == 1
    assert len(server.requests[0][2]["comment"]["text"].encode()) <= 20_000


def test_what_was_paid_for_is_kept_when_a_later_request_fails(server, tmp_path):
    server.answers += [(200, {}, None), (400, {}, None)]
    service = Service(server.url + "/v1alpha1/comments:analyze", pause=0.001)
    cache = DiskCache(tmp_path / "c", "x")
    with pytest.raises(UserError):
        RemoteScorer("t", service, PerspectiveShape(), cache=cache, parallel=1).score(posts("one", "two"))
    assert len(DiskCache(tmp_path / "c", "x")) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 7, -0.5])
def test_a_number_that_is_no_probability_is_one_clear_line_and_is_not_kept(server, value):
    wrong = {"attributeScores": {name: {"summaryScore": {"value": value}} for name in ("IDENTITY_ATTACK", "TOXICITY")}}
    server.answers.append((200, {}, wrong))
    name = f"url:{server.url}/v1alpha1/comments:analyze"
    with pytest.raises(UserError, match="no probability"):
        load(name).score(posts("bad thing"))
    assert load(name).score(posts("bad thing")).positive("offensive").tolist() == [0.9]


def test_a_cache_that_can_not_be_written_says_what_to_set(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="DAVY_CACHE"):
        load("url:http://127.0.0.1:9/v1/moderations")


def test_a_line_of_the_cache_that_was_cut_to_a_number_is_passed_over(tmp_path):
    DiskCache(tmp_path, "x").put("text", None, {"hate": [0.5, 0.5]})
    with next(tmp_path.glob("*.jsonl")).open("a") as file:
        file.write("5\n")
    assert len(DiskCache(tmp_path, "x")) == 1


def test_a_text_in_a_language_that_perspective_does_not_judge_is_no_answer_and_the_run_goes_on(server):
    refusal = {"error": {"code": 400, "details": [{"errorType": "LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE"}]}}
    server.answers.append((400, {}, refusal))
    scorer = load(f"url:{server.url}/v1alpha1/comments:analyze")
    assert scorer.score(posts("jó reggelt")).verdicts() == [None]
    assert scorer.score(posts("bad thing")).verdicts() == ["offensive"]
    server.answers.append((400, {}, {"error": {"status": "INVALID_ARGUMENT"}}))
    with pytest.raises(UserError, match="INVALID_ARGUMENT"):
        scorer.score(posts("another"))
