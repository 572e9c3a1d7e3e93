"""Rate limits let normal use through, slow the rest down, hold for all processes, and never fill the disk."""

from __future__ import annotations

import multiprocessing
import threading
import time
from dataclasses import replace

from starlette.testclient import TestClient

from davy.server.app import create_app
from davy.web.limits import Drawn, Limiter, Rate
from davy.web.metrics import GAUGE_SECONDS, Metrics
from davy.web.process_counters import SharedFile
from web_site import post, token_in

RATES = {"sign-in": Rate(burst=3, per_minute=60)}


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_passes_then_one_a_second():
    clock = Clock()
    limiter = Limiter(RATES, clock=clock)
    assert [limiter.take("sign-in", "ada") for _ in range(3)] == [0, 0, 0]
    assert limiter.take("sign-in", "ada") == 1.0
    clock.now += 0.5
    assert limiter.take("sign-in", "ada") == 0.5
    clock.now += 0.5
    assert limiter.take("sign-in", "ada") == 0


def test_one_name_does_not_use_up_anothers():
    limiter = Limiter(RATES, clock=Clock())
    for _ in range(5):
        limiter.take("sign-in", "mallory")
    assert limiter.take("sign-in", "ada") == 0


def test_a_bucket_never_holds_more_than_its_burst():
    clock = Clock()
    limiter = Limiter(RATES, clock=clock)
    limiter.take("sign-in", "ada")
    clock.now += 10_000
    assert [limiter.take("sign-in", "ada") > 0 for _ in range(4)] == [False, False, False, True]


def test_a_flood_of_names_stays_within_the_size():
    limiter = Limiter(RATES, size=100, clock=Clock())
    for number in range(10_000):
        limiter.take("sign-in", f"name{number}")
    assert len(limiter) == 100


def test_threads_can_not_take_more_than_there_is():
    limiter = Limiter({"x": Rate(burst=50, per_minute=0.001)}, clock=Clock())
    passed = []

    def take() -> None:
        passed.extend(limiter.take("x", "ada") == 0 for _ in range(50))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(passed) == 50


def test_a_request_dearer_than_the_burst_passes_when_the_bucket_is_full():
    limiter = Limiter(RATES, clock=Clock())
    assert limiter.take("sign-in", "ada", cost=99) == 0
    assert limiter.take("sign-in", "ada") > 0


def test_processes_share_their_limits(tmp_path):
    path, clock = tmp_path / "shared.sqlite", Clock()
    first, second = (Limiter(RATES, shared=SharedFile(path), clock=clock) for _ in range(2))
    assert [limiter.take("sign-in", "ada") for limiter in (first, second, first)] == [0, 0, 0]
    assert second.take("sign-in", "ada") == 1.0
    first.forget("sign-in", "ada")
    assert second.take("sign-in", "ada") == 0


def take_often(path, n, passed):
    limiter = Limiter({"x": Rate(burst=50, per_minute=0.001)}, shared=SharedFile(path))
    taken = sum(limiter.take("x", "ada") == 0 for _ in range(n))
    with passed.get_lock():
        passed.value += taken


def test_processes_at_once_can_not_take_more_than_there_is(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    path, passed = tmp_path / "shared.sqlite", spawn.Value("i", 0)
    SharedFile(path).close()
    processes = [spawn.Process(target=take_often, args=(path, 100, passed)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert passed.value == 50


def test_the_shared_file_holds_no_address_and_no_login(tmp_path):
    path = tmp_path / "shared.sqlite"
    limiter = Limiter(RATES, shared=SharedFile(path))
    limiter.take("sign-in", "ada@example.org")
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"ada@example" not in written


def test_a_flood_does_not_free_one_who_has_to_wait():
    limiter = Limiter(RATES, size=10, clock=Clock())
    while limiter.take("sign-in", "mallory") == 0:
        pass
    for number in range(100):
        limiter.take("sign-in", f"name{number}")
    assert limiter.take("sign-in", "mallory") > 0


def test_metrics_are_summed_over_processes_and_one_that_ended_keeps_its_part(tmp_path):
    path = tmp_path / "shared.sqlite"
    first, second = Metrics(SharedFile(path)), Metrics(SharedFile(path), worker=1)
    first.answered("GET", "/", 200, 0.004)
    first.flush()
    del first
    second.answered("GET", "/", 200, 0.3)
    second.scored("lantern@1", 7, 0.02)
    text = second.text()
    for worker in (0, 1):
        assert f'davy_requests_total{{method="GET",route="/",status="200",worker="{worker}"}} 1' in text
    assert 'davy_request_seconds_bucket{route="/",le="0.005"} 1' in text
    assert 'davy_request_seconds_bucket{route="/",le="+Inf"} 2' in text
    assert 'davy_request_seconds_sum{route="/"} 0.304' in text
    assert 'davy_texts_scored_total{model="lantern@1"} 7' in text
    assert 'davy_scoring_seconds_bucket{model="lantern@1",le="0.025"} 1' in text
    assert "davy_rate_limited_total 0" in text


def test_gauges_of_all_processes_are_told_by_whichever_answers_until_one_is_gone(tmp_path, monkeypatch):
    path = tmp_path / "shared.sqlite"
    first, second = Metrics(SharedFile(path)), Metrics(SharedFile(path), worker=1)
    for waiting, metrics in ((3, first), (5, second)):
        metrics.gauges = lambda waiting=waiting: [("davy_queue", {"model": "lantern@1", "what": "waiting"}, waiting)]
    first.flush()
    lines = second.text().splitlines()
    assert 'davy_queue{model="lantern@1",what="waiting",worker="0"} 3' in lines
    assert 'davy_queue{model="lantern@1",what="waiting",worker="1"} 5' in lines
    later = time.time() + GAUGE_SECONDS + 1
    monkeypatch.setattr("davy.web.metrics.time.time", lambda: later)
    assert not any('worker="0"' in line for line in second.text().splitlines() if line.startswith("davy_queue"))


def test_what_is_left_of_a_bucket_is_told(tmp_path):
    clock = Clock()
    limiter = Limiter(RATES, clock=clock)
    assert limiter.draw("sign-in", "ada") == Drawn(wait=0, left=2, limit=3, full_in=1)
    limiter.draw("sign-in", "ada")
    limiter.draw("sign-in", "ada")
    assert limiter.draw("sign-in", "ada") == Drawn(wait=1, left=0, limit=3, full_in=3)


def test_two_processes_of_a_server_count_one_persons_sign_ins_together(settings, tmp_path):
    shared = replace(settings, shared=tmp_path / "shared.sqlite")
    answers = []
    with (
        TestClient(create_app(shared), base_url=settings.base_url) as one,
        TestClient(create_app(shared), base_url=settings.base_url) as other,
    ):
        for client in (one, other) * 6:
            answers.append(post(client, "/sign-in", {"login": "ada", "password": "wrong"}, page="/sign-in").status_code)
    assert answers == [401] * 8 + [429] * 4


def test_spellings_of_one_login_are_one_account(site):
    client = site.visitor()
    spellings = ["expert", "EXPERT", "ｅxpert", "𝐞xpert", " expert", "exPert", "eｘpert", "expｅrt", "ⓔxpert"]
    page = token_in(client.get("/sign-in").text)
    answers = [
        client.post("/sign-in", data={"csrf": page, "login": login, "password": "wrong"}).status_code
        for login in spellings
    ]
    assert answers == [401] * 8 + [429]


def test_scoring_through_a_session_is_limited_by_texts(site):
    client = site.as_("annotator")
    headers = {"x-csrf-token": token_in(client.get("/score").text)}
    first = client.post("/v1/score", json={"texts": ["a"] * 100}, headers=headers)
    second = client.post("/v1/score", json={"texts": ["a"] * 100}, headers=headers)
    assert (first.status_code, second.status_code) == (200, 429)
    assert int(second.headers["retry-after"]) > 30
