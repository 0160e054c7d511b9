"""The server under generated requests, slow clients, hostile text and signals."""

from __future__ import annotations

import http.client
import json
import random
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from toy import ABLE, write_corpus

import regard
from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts
from faults.overload import started
from faults.subjects import without_drawing
from regard.data.parallel import Parallel

sys.path.append(str(Path(__file__).parent.parent / "serving"))

from clients import serving
from generated import BUSY, send_generated

WORDS = "ant bee cat"
RIGHT = "CAT BEE ANT"
JSON = {"Content-Type": "application/json"}


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    without_drawing()
    corpus = write_corpus(folder, pairs=400)
    data = Parallel(corpus["source"], corpus["target"], languages=("en", "de"))
    valid = Parallel(corpus["valid_source"], corpus["valid_target"])
    run = folder / "run"
    given: dict[str, Any] = {"steps": 120, "settings": ABLE, "quiet": True}
    regard.train("lstm_attention", data, run=run, valid=valid, **given)
    assert regard.load(run)(WORDS) == RIGHT

    def attempt(number: int, draw: random.Random, inner: Path) -> Counts:
        return KINDS[number % len(KINDS)](run, draw)

    yield attempt


def _generated(run: Path, draw: random.Random) -> Counts:
    """Requests that schemathesis makes of the description of the API, right ones and wrong ones."""
    with serving([str(run)], deadline=10) as client:
        found = send_generated(client.address, EXAMPLES, draw.getrandbits(32))
        assert client.get("/health").status == 200
    wrong = {status for status in found if status >= 500 and status not in BUSY}
    assert not wrong, found
    statuses = {f"status: {status}": count for status, count in found.items()}
    return {"generated requests": found.total(), **statuses}


EXAMPLES = 250
"""For each route and each mode, in one attempt."""


def _body(text: str) -> bytes:
    return json.dumps({"q": text, "source": "en", "target": "de"}).encode()


def _slow(run: Path, draw: random.Random) -> Counts:
    """Clients that send a byte now and then, or nothing, or go away; others are still served."""
    sockets = list[socket.socket]()
    with serving([str(run)], header_seconds=2, body_seconds=2, deadline=10) as client:
        for number in range(40):
            opened = socket.create_connection(("127.0.0.1", client.port), 30)
            sockets.append(opened)
            opened.sendall(SLOW[number % len(SLOW)])
        for _ in range(20):
            answer = client.translate(WORDS)
            assert answer.status == 200, answer
            assert answer.json["translatedText"] == RIGHT
        for opened in sockets:
            _drip(opened, draw)
        assert client.translate(WORDS).status == 200
        ended = sum(_ends(opened) for opened in sockets)
        assert ended == len(sockets), f"{len(sockets) - ended} slow clients are still connected"
    return {"slow clients": len(sockets)}


SLOW = (
    b"",
    b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{",
    b"POST /translate HTTP/1.1\r\nHost:",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 1000,
)


def _drip(opened: socket.socket, draw: random.Random) -> None:
    with suppress(OSError):
        opened.sendall(draw.choice([b"a", b"\r", b"{"]))


def _ends(opened: socket.socket) -> bool:
    """Whether the server answers and closes the connection."""
    opened.settimeout(30)
    try:
        while opened.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    opened.close()
    return True


HOSTILE = (
    "<script>alert(1)</script>",
    "\u202eant\u202c",
    "\ud800",
    "ant\0bee",
    "A" * 100_000,
    "a\u0300" * 3000,
    "\U000e0041" * 100,
    "ant " * 5000,
    "‮" * 50 + "../../etc/passwd",
    "%s%n{0}${jndi:ldap://x}",
    "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "\x1b[31mred",
    "ﷺ" * 500,
    "👩‍👩‍👧‍👦" * 200,
)


def _hostile(run: Path, draw: random.Random) -> Counts:
    """Text that is meant to break something: answered as text, or refused."""
    counts = Counter[str]()
    with serving([str(run)], deadline=10) as client:
        for _ in range(60):
            text = draw.choice(HOSTILE) + draw.choice(["", " ant", "\n"]) + draw.choice(HOSTILE)
            for kind in ("text", "html"):
                answer = client.translate(text, format=kind)
                assert answer.status < 500 or answer.status in BUSY, (answer, text[:80])
                assert answer.headers["Content-Type"].startswith("application/json")
                assert isinstance(answer.json, dict)
                counts["hostile texts"] += 1
                counts[f"hostile: {answer.status}"] += 1
        assert client.translate(WORDS).json["translatedText"] == RIGHT
    return counts


def _terminated(run: Path, draw: random.Random) -> Counts:
    """SIGTERM to loaded servers, each a process of its own: every accepted request is answered."""
    answered = sum(_terminate(run, draw) for _ in range(SIGNALS))
    return {"signals under load": SIGNALS, "requests under load": answered}


def _terminate(run: Path, draw: random.Random) -> int:
    """How many requests one server answered, some of them after its signal."""
    limits = {"batch": 4, "batch_wait": 0.02, "requests": 1_000_000, "deadline": PATIENCE}
    with started(run, **limits) as (server, port):
        told = threading.Event()
        with ThreadPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(_ask_until, told, port) for _ in range(CLIENTS)]
            time.sleep(draw.uniform(0.2, 1.0))
            server.send_signal(signal.SIGTERM)
            time.sleep(0.3)  # new requests are still taken while the server says that it stops
            told.set()
            answered = sum(client.result(timeout=2 * PATIENCE) for client in clients)
        assert answered >= CLIENTS
        assert server.stdout is not None
        assert server.wait(PATIENCE) == 0
        assert server.stdout.read().endswith("Stopped.\n")
    return int(answered)


CLIENTS, SIGNALS = 12, 3

PATIENCE = 240
"""Seconds for an answer: on a busy machine it may come late, but it must come."""


def _ask_until(told: threading.Event, port: int) -> int:
    """Ask on new connections until a moment after the signal; how many answers there were.

    A connection that is refused was not accepted; one that breaks afterwards is a lost request.
    """
    count, text = 0, "\n".join([WORDS] * 30)
    while not told.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.connect()
        except ConnectionRefusedError:
            break
        connection.request("POST", "/translate", _body(text), JSON)
        with connection.getresponse() as answer:
            assert answer.status == 200
            assert json.load(answer)["translatedText"] == "\n".join([RIGHT] * 30)
        connection.close()
        count += 1
    return count


KINDS: tuple[Callable[[Path, random.Random], Counts], ...] = (
    *(_generated, _hostile, _terminated),
    *(_generated, _slow, _terminated),
)
"""What the attempts do, in turn."""

SERVER = Campaign(
    "server",
    "The server under generated requests, slow clients, hostile text and SIGTERM",
    {QUICK: 2, FULL: 24},
    prepared,
    {"generated requests": 20_000, "signals under load": 20},
    seconds=600,
)
