"""Listening: a wrong address is one sentence, and nothing stays open when a server cannot start."""

from __future__ import annotations

import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.cli import main
from regard.errors import RegardError, UsageError
from regard.serving import server
from regard.serving.app import build_app
from regard.serving.limits import Limits
from regard.serving.server import SAME_SIGNAL, Server, listen
from regard.serving.service import Service


@pytest.mark.parametrize("host", ["a..b", "", "x" * 70, "a\0b", "nowhere.invalid", "192.0.2.1"])
def test_a_wrong_host_is_wrong_use(host: str) -> None:
    with pytest.raises(UsageError, match=r"^--host cannot be .*: give an address of this"):
        listen(host, 0)


def test_the_command_says_so_too(toy_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(toy_run), "--host=a..b", "--port=0"]) == 2
    assert capsys.readouterr().err.startswith("regard: --host cannot be 'a..b': give an address")


def test_a_wrong_port_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="--port cannot be 70000"):
        listen("127.0.0.1", 70000)


def test_a_port_in_use_is_a_failure() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        sentence = rf"^Cannot listen on 127.0.0.1 port {port} \(Address already in use\): give"
        with pytest.raises(RegardError, match=sentence) as refused:
            listen("127.0.0.1", port)
    assert refused.value.exit_code == 1


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ((), "There is nothing to serve"),
        (("nowhere:en:de",), "nowhere is not a run"),
        (("{run}", "{run}:en:de"), "both translate en to de"),
        (("{run}+nowhere:en:de",), "nowhere is not a run"),
    ],
)
def test_runs_are_checked_before_anything_listens(
    runs: tuple[str, ...], sentence: str, toy_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "listen", lambda host, port: pytest.fail("it listens"))
    monkeypatch.setattr(server, "load_directions", lambda *given: pytest.fail("it loads"))
    with pytest.raises(UsageError, match=sentence):
        regard.serve([name.format(run=toy_run) for name in runs], port=0)


def test_nothing_listens_after_a_failure(toy_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[socket.socket] = []

    def remembering(host: str, port: int) -> socket.socket:
        opened.append(listen(host, port))
        return opened[-1]

    def failing(*given: Any) -> None:
        raise RegardError("The weights are damaged.")

    monkeypatch.setattr(server, "listen", remembering)
    monkeypatch.setattr(server, "load_directions", failing)
    with pytest.raises(RegardError, match="damaged"):
        regard.serve(toy_run, port=0)
    assert [each.fileno() for each in opened] == [-1]


def test_many_connections_may_be_open() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (900, before[1]))
        server._allow_descriptors(1500)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(1500, before[1])
        server._allow_descriptors(10)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(1500, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_one_run_needs_no_list(toy_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: None)
    regard.serve(str(toy_run), port=0, say=said.append)
    assert said == [f"Serving en to de with {toy_run}.", "Stopped."]


def test_small_packets_are_sent_at_once() -> None:
    """With Nagle's algorithm an answer's body waits for its headers to be acknowledged, which
    a kept connection does only after 40 ms."""
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@contextmanager
def started(run: Path, *limits: str) -> Iterator[subprocess.Popen[str]]:
    """A server of its own, once it listens."""
    command = [sys.executable, "-m", "regard", "serve", str(run), "--port", "0"]
    command += [part for limit in limits for part in ("--limit", limit)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        assert any("Listening" in line for line in iter(process.stdout.readline, ""))
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_signal_that_comes_twice_at_once_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    service, now = Service([], Limits()), [100.0]
    stopping = Server(build_app(service), service)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stopping.handle_exit(signal.SIGTERM, None)
    now[0] += 0.9 * SAME_SIGNAL
    stopping.handle_exit(signal.SIGTERM, None)
    assert (service.phase.stopping, stopping.force_exit) == (True, False)
    now[0] += 0.2 * SAME_SIGNAL
    stopping.handle_exit(signal.SIGTERM, None)
    assert stopping.force_exit


def test_a_signal_right_after_the_start_is_heard(toy_run: Path) -> None:
    with started(toy_run, "drain=0") as process:
        process.terminate()
        assert process.wait(60) == 0


def test_a_second_signal_ends_the_server_at_once(toy_run: Path) -> None:
    with started(toy_run, "drain=60") as process:
        process.terminate()
        time.sleep(2 * SAME_SIGNAL)
        process.terminate()
        assert process.wait(30) == 0
        assert process.stdout is not None
        assert process.stdout.read() == "Stopped.\n"
