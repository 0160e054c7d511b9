"""The server of pages: to this machine only, with limits, one computation at a time."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from served import ask, post, serving

from regard.errors import UsageError
from regard.inspection.local_server import MAX_BODY, Answer, Newest, Request, own_names


def echo(request: Request) -> Answer:
    return Answer(json.dumps([dict(request.query), request.body]), "application/json")


def refuse(request: Request) -> Answer:
    raise UsageError("Shorten it.")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving({"GET /": echo, "POST /echo": echo, "POST /refuse": refuse}) as found:
        yield found


def test_requests_are_routed_by_method_and_path(port: int) -> None:
    assert ask(port, "/?a=1&b=%C3%A4") == (200, json.dumps([{"a": "1", "b": "ä"}, None]).encode())
    assert post(port, "/echo", {"text": "ä"}) == (200, json.dumps([{}, {"text": "ä"}]).encode())
    assert post(port, "/refuse", {}) == (400, b"Shorten it.")
    assert ask(port, "/nothing")[0] == post(port, "/", {})[0] == ask(port, "/echo")[0] == 404
    assert ask(port, "/", "PUT")[0] == ask(port, "/echo", "OPTIONS")[0] == 501


def test_pages_of_the_network_are_refused(port: int) -> None:
    assert ask(port, "/", headers={"Host": "example.org"})[0] == 403
    assert post(port, "/echo", {}, Origin="http://example.org")[0] == 403
    assert post(port, "/echo", {}, Origin=f"http://127.0.0.1:{port}")[0] == 200
    plain = {"Content-Type": "text/plain"}  # what a foreign page can send without asking
    assert ask(port, "/echo", "POST", plain, b"{}")[0] == 415
    assert own_names(8765) == ["127.0.0.1:8765", "localhost:8765"]
    assert {"127.0.0.1", "localhost"} < set(own_names(80))


def test_what_is_too_long_or_not_json_is_refused(port: int) -> None:
    kind = {"Content-Type": "application/json"}
    assert ask(port, "/echo", "POST", kind, b'"' + b"a" * (MAX_BODY - 2) + b'"')[0] == 200
    assert ask(port, "/echo", "POST", kind, b'"' + b"a" * (MAX_BODY - 1) + b'"')[0] == 413
    assert ask(port, "/echo", "POST", kind, b"{")[0] == 400
    assert ask(port, "/echo", "POST", kind, b"\xff")[0] == 400
    assert ask(port, "/echo", "POST", kind, b"[" * 50_000)[0] == 400
    assert ask(port, "/echo", "POST", {**kind, "Content-Length": "-1"})[0] == 411
    assert ask(port, "x://[")[0] == 400


def test_a_browser_that_leaves_is_no_news_for_the_terminal(
    port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(("127.0.0.1", port)) as gone:
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        gone.sendall(b"GET / HT")
    time.sleep(0.2)
    assert ask(port, "/")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_of_those_that_wait_only_the_newest_is_answered() -> None:
    newest, first, go_on, arrived = Newest(), threading.Event(), threading.Event(), []

    def compute(request: Request) -> Answer:
        arrived.append(request.body)
        with newest.turn():
            first.set()
            assert go_on.wait(30)
        return Answer("done")

    found: dict[int, int] = {}
    with serving({"POST /compute": compute}) as port:

        def send(number: int) -> None:
            found[number] = post(port, "/compute", number)[0]

        threads = [threading.Thread(target=send, args=(number,)) for number in range(3)]
        for number, thread in enumerate(threads):
            thread.start()
            assert first.wait(30)
            until(lambda number=number: number in arrived)
            if number == 2:
                until(lambda: 1 in found)  # its place was taken while the first still computes
                assert 0 not in found
                go_on.set()
        for thread in threads:
            thread.join()
    assert found == {0: 200, 1: 503, 2: 200}


def until(condition: object) -> None:
    assert callable(condition)
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not happen")
