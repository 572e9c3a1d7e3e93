"""A restart loses no request: the socket outlives the server, and whoever is connected is answered and sent on."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections import Counter

import pytest
from benchmarks.restart import SocketHolder, make_database, restart_under_load
from benchmarks.serve import Server

from davy.core.errors import UserError
from davy.server.service_manager import inherited_socket, notify


@pytest.mark.slow
@pytest.mark.parametrize("rolling", [True, False], ids=["rolling", "one after the other"])
def test_no_request_fails_while_two_workers_are_restarted(tmp_path, rolling):
    url, secret = make_database(tmp_path)
    options = ("--database", url, "--model", "uniform", "--job-workers", "0", "--max-wait", "60")
    holder = SocketHolder(tmp_path, *options, "--workers", "2")
    try:
        answers, restarts = asyncio.run(restart_under_load(holder, secret, requests=1_500, every=0.5, rolling=rolling))
    finally:
        holder.close()
    assert restarts >= 1
    assert dict(answers.outcomes) == {"200": 1_500}


@pytest.mark.slow
def test_a_server_that_stops_refuses_new_connections_and_resets_none(tmp_path):
    server = Server(tmp_path, "--model", "uniform", "--workers", "2")
    outcomes: Counter[str] = Counter()
    request = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

    def ask() -> None:
        while not outcomes["refused"]:
            try:
                with socket.create_connection(("127.0.0.1", int(server.port)), timeout=60) as asked:
                    asked.sendall(request)
                    outcomes[asked.recv(12).decode() or "closed without an answer"] += 1
            except ConnectionRefusedError:
                outcomes["refused"] += 1
            except OSError as error:
                outcomes[type(error).__name__] += 1

    askers = [threading.Thread(target=ask) for _ in range(8)]
    for asker in askers:
        asker.start()
    time.sleep(0.5)
    server.stop()
    for asker in askers:
        asker.join(60)
    assert set(outcomes) == {"HTTP/1.1 200", "refused"}


def test_what_the_service_manager_passes_is_taken_once_and_checked(monkeypatch):
    assert inherited_socket() is None
    monkeypatch.setenv("LISTEN_FDS", "1")
    monkeypatch.setenv("LISTEN_PID", "1")  # for another process
    assert inherited_socket() is None
    for count, words in (("2", "takes one"), ("1", "not a")):
        monkeypatch.setenv("LISTEN_FDS", count)
        monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
        with socket.socket() as not_listening:
            monkeypatch.setattr("davy.server.service_manager.FIRST", os.dup(not_listening.fileno()))
            with pytest.raises(UserError, match=words):
                inherited_socket()
        assert "LISTEN_FDS" not in os.environ
    with socket.create_server(("127.0.0.1", 0)) as held:
        monkeypatch.setattr("davy.server.service_manager.FIRST", os.dup(held.fileno()))
        monkeypatch.setenv("LISTEN_FDS", "1")
        monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
        with inherited_socket() as found:
            assert found.getsockname() == held.getsockname()
            assert not os.get_inheritable(found.fileno())


def test_a_state_is_told_to_a_socket_in_a_folder_and_to_one_outside_the_file_system(tmp_path, monkeypatch):
    notify("READY=1")  # nobody asks
    for address, bound in (
        (str(tmp_path / "n"), str(tmp_path / "n")),
        (f"@davy-{os.getpid()}", f"\0davy-{os.getpid()}"),
    ):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(bound)
            monkeypatch.setenv("NOTIFY_SOCKET", address)
            notify("READY=1")
            assert told.recv(100) == b"READY=1"


@pytest.mark.slow
def test_the_manager_hears_when_the_server_is_ready_and_when_it_stops(tmp_path):
    url, _ = make_database(tmp_path)
    holder = SocketHolder(tmp_path, "--database", url, "--model", "uniform", "--job-workers", "0")
    try:
        process = holder.start()  # returns at READY=1
        with socket.create_connection(("127.0.0.1", holder.port), timeout=60) as asked:
            asked.sendall(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert asked.recv(12) == b"HTTP/1.1 200"
        process.send_signal(signal.SIGTERM)
        holder.wait_for(b"STOPPING=1", process)
        assert process.wait(60) == 0
    finally:
        holder.close()
