"""How many requests a server answers per second, with batching on and off.

python -m benchmarks.serving --run RUN [--engines torch ctranslate2] [--sentences FILE]
    [--clients 1 8 64] [--seconds 5] [--rounds 2] [--beside URL] [--output results.json]

The servers and their clients are processes of their own; each client sends one sentence, waits for
the answer and sends the next. The same sentences in the same order go, in turns, to a server that
batches and to one with batch=1, for each engine, and with --beside to another server with the same
API. Printed are requests per second, and the median and 99th percentile of their times in
milliseconds, of all rounds together.

LibreTranslate with the same model: `regard export RUN en-de.argosmodel --to argos`, unpack it in a
folder, and, in an environment with LibreTranslate, `ARGOS_PACKAGES_DIR=FOLDER
ARGOS_CHUNK_TYPE=MINISBD libretranslate --load-only en,de --port 5050`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, Optional
from urllib.parse import urlsplit

import numpy as np

from regard.corpora import grammar
from regard.runs.folder import Run
from regard.runs.languages import languages_of

WARM_UP = 1.0
"""Seconds that are not measured."""

BESIDE = "beside"


@contextmanager
def serving(run: str, engine: str, batch: int) -> Iterator[str]:
    """The address of a server that runs as long as it is needed."""
    limits = (f"batch={batch}", "requests=1000000000")
    command = [sys.executable, "-m", "regard", "serve", run, "--port", "0", "--engine", engine]
    command += [part for limit in limits for part in ("--limit", limit)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"http://\S+/", line):
                yield found[0]
                break
        else:
            raise SystemExit("The server ended before it listened.")
    finally:
        process.terminate()
        process.wait(60)


class Load(NamedTuple):
    """What clients found: the time of each request, and the status of those that failed."""

    times: list[float]
    failures: list[int]
    seconds: float

    def joined(self, other: Load) -> Load:
        times, failures = self.times + other.times, self.failures + other.failures
        return Load(times, failures, self.seconds + other.seconds)

    def row(self) -> dict[str, float]:
        middle, late = np.quantile(self.times, (0.5, 0.99)) if self.times else (math.nan,) * 2
        return {
            "requests_per_second": round(len(self.times) / self.seconds, 1),
            "p50_ms": round(1000 * float(middle), 1),
            "p99_ms": round(1000 * float(late), 1),
            "failures": len(self.failures),
        }


def load(
    address: str, clients: int, seconds: float, pair: tuple[str, str], sentences: Sequence[str]
) -> Load:
    """Ask with so many clients for so long."""
    times: list[list[float]] = [[] for _ in range(clients)]
    failures: list[int] = []
    begin = time.perf_counter() + WARM_UP
    end = begin + seconds

    def ask(number: int) -> None:
        parts = urlsplit(address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        at = number
        while (started := time.perf_counter()) < end:
            fields = {"q": sentences[at % len(sentences)], "source": pair[0], "target": pair[1]}
            body = json.dumps(fields).encode()
            connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            done = time.perf_counter()
            if answer.status != 200:
                failures.append(answer.status)
            elif begin <= done <= end:  # whenever it started: else slow servers seem slower
                times[number].append(done - started)
            at += clients

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Load([each for some in times for each in some], failures, seconds)


def measure(
    servers: Mapping[str, str], options: argparse.Namespace, sentences: Sequence[str]
) -> list[dict[str, Any]]:
    """One row per server and number of clients, who are in a process of their own."""
    rows, pair = list[dict[str, Any]](), (options.source, options.target)
    with get_context("spawn").Pool(1) as pool:
        for clients in options.clients:
            found = {name: Load([], [], 0.0) for name in servers}
            for _ in range(options.rounds):
                for name, address in servers.items():
                    asked = (address, clients, options.seconds, pair, sentences)
                    found[name] = found[name].joined(pool.apply(load, asked))
            for name, each in found.items():
                rows.append({"server": name, "clients": clients, **each.row()})
                print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    return rows


def gains(rows: Sequence[Mapping[str, Any]], engines: Sequence[str]) -> dict[str, float]:
    """How many times the throughput batching gives with the most clients."""
    most = max(row["clients"] for row in rows)
    speed = {row["server"]: row["requests_per_second"] for row in rows if row["clients"] == most}
    found = {}
    for engine in engines:
        alone = speed[f"{engine}, batch=1"]
        found[engine] = round(speed[f"{engine}, batched"] / alone, 2) if alone else math.nan
        print(f"{engine}: batching at {most} clients: {found[engine]} times the throughput")
    return found


def read_sentences(path: Optional[Path]) -> list[str]:
    if path is None:
        return [example.source for example in grammar.generate(2000).test]
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()][:2000]


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--engines", nargs="+", default=["torch"])
    parser.add_argument("--sentences", type=Path, help="one per line; default: the grammar's")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--beside", help="address of another server with the same API")
    parser.add_argument("--source")
    parser.add_argument("--target")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    languages = languages_of(Run.open(Path(options.run)))
    options.source = options.source or languages.source
    options.target = options.target or languages.target
    return options


def main() -> None:
    options = read_options()
    with ExitStack() as stack:
        servers = {
            f"{engine}, {name}": stack.enter_context(serving(options.run, engine, batch))
            for engine in options.engines
            for name, batch in (("batched", options.batch), ("batch=1", 1))
        }
        if options.beside:
            servers[BESIDE] = options.beside
        rows = measure(servers, options, read_sentences(options.sentences))
    found = {"rows": rows, "gains": gains(rows, options.engines)}
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
