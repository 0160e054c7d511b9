"""Load and time: what is too much is refused at once, and stopping loses no accepted request."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from clients import Serve

from regard.serving.batching import LATER, Check, Queue, Work
from regard.serving.directions import Translating
from regard.serving.limits import Limits
from regard.serving.refusal import RefusedError


def test_a_large_body_is_refused(serve: Serve) -> None:
    client = serve(body=1000)
    answer = client.translate("ant " * 300)
    assert (answer.status, answer.json) == (
        413,
        {"error": "The request is larger than 1,000 bytes: send less at once."},
    )
    assert client.translate("ant").status == 200


def test_a_late_request_is_cancelled(serve: Serve) -> None:
    client = serve(deadline=0.1, batch_wait=1)
    answer = client.translate("ant bee")
    assert answer.status == 504
    assert answer.json == {"error": "This took too long and was cancelled: send less text."}


SLOW_BODY = (
    b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
    b"Content-Type: application/json\r\n\r\n{"
)


@pytest.mark.parametrize(
    ("sent", "answer"), [(b"", b""), (b"GET / HTTP/1.1\r\nHo", b""), (SLOW_BODY, b"HTTP/1.1 408")]
)
def test_slow_clients_are_cut_off(sent: bytes, answer: bytes, serve: Serve) -> None:
    client = serve(header_seconds=0.3, body_seconds=0.3)
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as slow:
        slow.sendall(sent)
        found = slow.recv(1000)
        assert found[: len(answer)] == answer
        assert bool(found) == bool(answer)
    assert client.translate("ant").status == 200


def test_connections_beyond_the_limit_are_refused_and_the_others_served(serve: Serve) -> None:
    client = serve(connections=2)
    kept = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    with socket.create_connection(("127.0.0.1", client.port)):
        for _ in range(2):
            kept.request("GET", "/health")
            with kept.getresponse() as answer:
                assert (answer.status, json.load(answer)) == (200, {"status": "ok"})
            refused = client.translate("ant")
            assert refused.json == {"error": "The server is busy: try again in a moment."}
            assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
            assert refused.headers["Connection"] == "close"
            assert refused.headers["Access-Control-Allow-Origin"] == "*"
    kept.close()
    until = time.monotonic() + 30
    while client.translate("ant").status != 200:  # once the server has seen that they are closed
        assert time.monotonic() < until
        time.sleep(0.01)


class Endless(Work[str, str]):
    """Computes until nobody waits for it."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()

    @property
    def group(self) -> Hashable:
        return id(self)

    def size(self, item: str) -> int:
        return len(item)

    def compute(self, items: Sequence[str], check: Check) -> list[str]:
        self.begun.set()
        try:
            while True:
                check()
                time.sleep(0.005)
        finally:
            self.ended.set()


def test_a_full_queue_refuses_at_once(serve: Serve) -> None:
    client = serve(queue=10)
    queue, work = client.service.directions[0].queue, Endless()
    (busy,) = queue.submit(work, ["ant"], time.monotonic() + 600)
    assert work.begun.wait(60)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.translate, "ant bee")
        while queue.waiting == 0:
            time.sleep(0.01)
        refused = client.translate("cat dog")
        busy.cancel()
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        assert refused.json == {"error": "The server is busy: try again in a moment."}
        assert first.result().status == 200


def test_a_full_queue_refuses_before_a_text_is_divided(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve(queue=10)
    queue, work = client.service.directions[0].queue, Endless()
    (first,) = queue.submit(work, ["ant"], time.monotonic() + 600)
    assert work.begun.wait(60)
    (second,) = queue.submit(work, ["bee cat"], time.monotonic() + 600)
    monkeypatch.setattr("regard.serving.translating.split", None)
    assert [client.translate("cat dog", details=flag).status for flag in (False, True)] == [503] * 2
    first.cancel()
    second.cancel()


def test_what_was_translated_is_aligned_although_the_queue_is_full(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve(queue=10)
    queue, others = client.service.directions[0].queue, [Endless(), Endless()]
    really, until, futures = Translating.compute, time.monotonic() + 600, list[Future[str]]()

    def filling(self: Translating, *given: Any) -> Any:
        """Before this translation is ready, others come, of which one will wait."""
        for other in others:
            futures.extend(queue.submit(other, ["dog eel"], until, is_begun=True))
        return really(self, *given)

    monkeypatch.setattr(Translating, "compute", filling)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.translate, "ant bee", details=True)
        assert others[0].begun.wait(60)
        while queue.waiting <= len("dog eel") and not asked.done():
            time.sleep(0.01)
        for each in futures:
            each.cancel()
        answer = asked.result()
    assert answer.status == 200
    assert len(answer.json["details"]["sentences"][0]["alignment"]) == 2


class Echo(Work[str, str]):
    """Is done at once."""

    @property
    def group(self) -> Hashable:
        return Echo

    def size(self, item: str) -> int:
        return len(item)

    def compute(self, items: Sequence[str], check: Check) -> list[str]:
        return list(items)


def test_nothing_waits_for_others_longer_than_the_limit_says() -> None:
    """Many sentences of one request give way to others that come later, if there are any."""
    queue, until = Queue(Limits(batch=64)), time.monotonic() + 600
    started = time.monotonic()
    last = queue.submit(Echo(), ["ant"] * 5000, until)[-1]
    assert queue.submit(Echo(), ["bee"], until)[0].result(60) == "bee"
    assert last.result(60) == "ant"
    assert time.monotonic() - started < 5000 * LATER / 10
    queue.close()


@pytest.mark.parametrize("cancelled", [False, True])
def test_work_ends_when_nobody_waits(cancelled: bool) -> None:
    queue, work = Queue(Limits()), Endless()
    (future,) = queue.submit(work, ["ant"], time.monotonic() + (60 if cancelled else 0.2))
    if cancelled:
        time.sleep(0.1)
        future.cancel()
    assert work.ended.wait(60)
    if not cancelled:
        with pytest.raises(RefusedError, match="took too long"):
            future.result(60)
    queue.close()


def ask(address: str, text: str) -> str:
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    request = urllib.request.Request(
        f"{address}translate", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        return str(json.load(answer)["translatedText"])


def ask_until(told: threading.Event, address: str, text: str) -> list[str]:
    """Ask again and again, so that a request is under way at the moment of the signal."""
    answers = [ask(address, text)]
    while not told.is_set():
        answers.append(ask(address, text))
    return answers


@pytest.mark.parametrize("attempt", [1, 2])
def test_a_signal_loses_no_accepted_request(toy_run: Path, attempt: int) -> None:
    command = [sys.executable, "-m", "regard", "serve", str(toy_run), "--port", "0"]
    command += ["--limit", "batch=4", "--limit", "batch_wait=0.02", "--limit", "deadline=120"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
    )
    assert server.stdout is not None
    try:
        found = None
        while found is None:
            line = server.stdout.readline()
            assert line, "the server ended"
            found = re.search(r"http://\S+/", line)
        address, text = found[0], "\n".join(["ant bee cat"] * 40)
        told = threading.Event()
        with ThreadPoolExecutor(12) as pool:
            clients = [pool.submit(ask_until, told, address, text) for _ in range(12)]
            time.sleep(0.5)
            server.send_signal(signal.SIGTERM)
            told.set()
            answers = [answer for client in clients for answer in client.result()]
        assert set(answers) == {"\n".join(["CAT BEE ANT"] * 40)}
        assert len(answers) >= 12
        assert server.wait(60) == 0
        assert server.stdout.read().endswith("Stopped.\n")
    finally:
        server.kill()
        server.wait()


def test_the_page_lists_every_limit() -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "serve.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| (.+) \|$", text, flags=re.MULTILINE)
    fields = Limits.model_fields.items()
    assert rows == [(name, str(field.default), field.description) for name, field in fields]
