"""A server in a process of its own, and how much it finishes when four times as much is asked.

Its capacity is what it finishes for clients that ask again as soon as they are answered, enough of
them to keep it busy. Then requests come at four times that rate, whatever became of those before.
Both take turns, and the median of the rounds counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from toy import ABLE, WORDS, write_corpus

import regard
from faults.campaign import FULL, QUICK, Attempt, Campaign, Counts
from faults.subjects import without_drawing
from regard.data.parallel import Parallel

WIDTH = 256
"""Of the model, which makes a request as much work as ten sentences are for a model of real use:
a tenth of a second of one core."""

LINES, LENGTH = 80, 5
CLIENTS = 12
"""That keep the server busy: some are computed together while the others wait."""

TIMES, LEAST, ROUNDS = 4, 0.9, 3
WARM_UP, SECONDS = 1.0, 8.0
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def started(run: Path, **limits: Any) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`regard serve` in a process of its own, and its port; it is killed in the end."""
    command = [sys.executable, "-m", "regard", "serve", str(run), "--port", "0"]
    command += [f"--limit={name}={value}" for name, value in limits.items()]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
    )
    assert server.stdout is not None
    try:
        found = None
        while found is None:
            line = server.stdout.readline()
            assert line, "the server ended"
            found = re.search(r"http://\S+:(\d+)/", line)
        yield server, int(found[1])
    finally:
        server.kill()
        server.wait()


@contextmanager
def prepared(folder: Path) -> Iterator[Attempt]:
    without_drawing()
    corpus = write_corpus(folder, pairs=400)
    data = Parallel(corpus["source"], corpus["target"], languages=("en", "de"))
    valid = Parallel(corpus["valid_source"], corpus["valid_target"])
    run, settings = folder / "run", [*ABLE, f"model.width={WIDTH}"]
    given: dict[str, Any] = {"steps": 120, "settings": settings, "quiet": True}
    regard.train("lstm_attention", data, run=run, valid=valid, **given)
    yield lambda number, draw, inner: _attempt(run, draw)


def _attempt(run: Path, draw: random.Random) -> Counts:
    text = "\n".join(" ".join(draw.choices(WORDS, k=LENGTH)) for _ in range(LINES))
    limits = {"queue": (CLIENTS + 2) * len(text), "requests": 1_000_000, "deadline": 60}
    statuses, shares, costs = Counter[int](), list[float](), list[float]()
    with started(run, **limits) as (server, port):
        asked = Asked.of(port, text)
        for _ in range(ROUNDS):
            whole = asyncio.run(Phase(asked, server.pid).measured(closed_loop))
            assert set(whole.statuses) == {200}, whole
            rate = TIMES * whole.rate
            during = asyncio.run(Phase(asked, server.pid).measured(partial(open_loop, rate)))
            assert set(during.statuses) == {200, 503}, during
            assert during.sent >= LEAST * rate, f"only {during.sent} of {rate} were sent: {during}"
            statuses += whole.statuses + during.statuses
            shares.append(during.rate / whole.rate)
            costs.append(during.cost / whole.cost)
    share, cost = round(100 * median(shares)), round(100 * median(costs))
    assert share >= 100 * LEAST, f"{share} % of the capacity, {shares}; {cost} % of its cost"
    return {
        "overloads": 1,
        "requests answered": statuses[200],
        "requests refused": statuses[503],
        f"overload: {share} % of the capacity, {cost} % of the processor time per answer": 1,
    }


@dataclass(frozen=True)
class Asked:
    """A request, and its answer while the server has nothing else to do."""

    port: int
    request: bytes
    right: str

    @staticmethod
    def of(port: int, text: str) -> Asked:
        body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
        head = (
            "POST /translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        new = Asked(port, head.encode() + body, "")
        status, _, answer = asyncio.run(new.answer())
        assert status == 200, answer
        return replace(new, right=json.loads(answer)["translatedText"])

    async def answer(self) -> tuple[int, bytes, bytes]:
        """Status, headers and body, over a connection of its own."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(self.request)
            answer = await reader.read()
        finally:
            writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), head, body


@dataclass
class Phase:
    """Some seconds of requests, of which `sent` came per second. After the warm-up, `rate` answers
    were finished per second, each for `cost` seconds of the server's processor time."""

    asked: Asked
    server: int
    statuses: Counter[int] = field(default_factory=Counter)
    finished: list[float] = field(default_factory=list)
    rate: float = 0.0
    cost: float = 0.0
    sent: float = 0.0

    async def measured(self, sending: Sending) -> Phase:
        begin = time.monotonic() + WARM_UP
        end = begin + SECONDS
        sent = asyncio.ensure_future(sending(self.ask, end))
        await asyncio.sleep(begin - time.monotonic())
        used = _processor_seconds(self.server)
        await asyncio.sleep(end - time.monotonic())
        used = _processor_seconds(self.server) - used
        await sent
        answered = sum(begin <= each < end for each in self.finished)
        self.rate, self.cost = answered / SECONDS, used / max(1, answered)
        self.sent = self.statuses.total() / (WARM_UP + SECONDS)
        return self

    async def ask(self) -> None:
        status, head, body = await self.asked.answer()
        self.statuses[status] += 1
        if status == 200:
            assert json.loads(body)["translatedText"] == self.asked.right
            self.finished.append(time.monotonic())
        else:
            assert status == 503, (status, body)
            assert b"retry-after: 1" in head.lower(), head


Ask = Callable[[], Coroutine[Any, Any, None]]
Sending = Callable[[Ask, float], Coroutine[Any, Any, None]]
"""Asks until a time; what was sent until then is still answered."""


async def closed_loop(ask: Ask, end: float) -> None:
    async def client() -> None:
        while time.monotonic() < end:
            await ask()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def open_loop(rate: float, ask: Ask, end: float) -> None:
    """At a rate, without waiting for answers."""
    begin, asked = time.monotonic(), list[asyncio.Task[None]]()
    while (at := begin + len(asked) / rate) < end:
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        asked.append(asyncio.create_task(ask()))
    await asyncio.gather(*asked)


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


OVERLOAD = Campaign(
    "overload",
    "The server when four times as much is asked as it can do",
    {QUICK: 1, FULL: 2},
    prepared,
    {"overloads": 2},
    most_jobs=1,
)
