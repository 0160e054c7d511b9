"""Shards over the workers of a Ray cluster: the same lines as one `regard translate`, once each,
whatever is killed meanwhile."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import pytest
from toy import some_lines, train_small, write_corpus

from regard.cli import main
from regard.files import hash_file
from regard.interop.shards import MANIFEST

pytest.importorskip("ray", reason="Ray is not installed (extra ray)")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.timeout(1800)  # starting Ray takes minutes on a busy machine

UNSHARED = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
ADDRESS = "127.0.0.1:6379"
POLITE = {"OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}
"""Ray's workers step back for other programs, which on a busy machine may be for ever."""

LINES = 2000
SHARDS = 6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    return train_small(folder / "run", write_corpus(folder / "corpus")).path


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines that are all different, so that a lost or repeated one shows."""
    folder = tmp_path_factory.mktemp("sources")
    for number in range(SHARDS):
        lines = [f"{line} {index}" for index, line in enumerate(some_lines(LINES, number))]
        lines[7] = ""
        text = "".join(f"{line}\n" for line in lines).encode()
        packed = number % 2 == 0
        name = f"{number}.en.gz" if packed else f"{number}.en"
        (folder / name).write_bytes(gzip.compress(text) if packed else text)
    (folder / "_SUCCESS").write_bytes(b"")
    return folder


def command(run: Path, shards: Path, output: Path, *more: str) -> list[str]:
    files = [f"--input={shards}", f"--output={output}"]
    return ["translate", str(run), *files, "--beam=1", *more]


def check(run: Path, shards: Path, output: Path) -> None:
    """Every line of every shard is what one command translates it to."""
    for source in sorted(shards.glob("*.en*")):
        alone = output.parent / "alone"
        assert (
            main(["translate", str(run), f"--input={source}", f"--output={alone}", "--beam=1"]) == 0
        )
        target = output / source.name.removesuffix(".gz")
        assert target.read_bytes() == alone.read_bytes()
    manifest = json.loads((output / MANIFEST).read_text())
    assert len(manifest["shards"]) == SHARDS
    for each in manifest["shards"]:
        assert each["done"]
        assert each["lines"] == LINES
        assert each["target_sha256"] == hash_file(output / each["target"])
        assert each["source_sha256"] == hash_file(shards / each["source"])
    assert {each.name for each in output.iterdir()} == {
        *(each["target"] for each in manifest["shards"]),
        MANIFEST,
        "lock",
    }


@contextmanager
def started(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which ends with the block and all that it started."""
    process = subprocess.Popen(
        [sys.executable, "-m", "regard.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **POLITE},
    )
    try:
        yield process
    finally:
        for each in [process.pid, *descendants(process.pid)] if process.poll() is None else ():
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)


def workers(process: int) -> list[int]:
    """The processes below this one in which Ray runs a worker of ours."""
    found = []
    for each in descendants(process):
        with suppress(OSError):
            if b"MapWorker" in Path(f"/proc/{each}/cmdline").read_bytes():
                found.append(each)
    return found


def descendants(process: int) -> list[int]:
    return [each for child in children(process) for each in (child, *descendants(child))]


def children(process: int) -> list[int]:
    try:
        return [
            int(child)
            for task in Path(f"/proc/{process}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def wait_for(what: Any, process: subprocess.Popen[str], seconds: float = 900) -> Any:
    """What is found, once something is."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if found := what():
            return found
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("it does not come")


def done(output: Path) -> int:
    path = output / MANIFEST
    if not path.exists():
        return 0
    return sum(each["done"] for each in json.loads(path.read_text())["shards"])


class Machines:
    """A cluster of two nodes with one CPU each, in a network of its own that reaches nothing else;
    whatever runs in it ends with it."""

    def __init__(self, folder: Path) -> None:
        start = "ip link set lo up && echo up && exec sleep 3600"
        self._outer = subprocess.Popen(
            [*UNSHARED, "sh", "-c", start],
            stdout=subprocess.PIPE,
        )
        assert self._outer.stdout is not None
        if self._outer.stdout.readline() != b"up\n":
            pytest.skip("a network namespace needs root")
        self._inside = ["nsenter", f"--target={children(self._outer.pid)[0]}"]
        self._inside += ["--net", "--pid", "--mount"]
        self._environment = {
            **os.environ,
            **POLITE,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": "0123456789abcdef" * 4,
        }
        node = ["--num-cpus=1", "--object-store-memory=100000000", "--block"]
        head = ["--head", "--port=6379", "--include-dashboard=false", f"--temp-dir={folder}"]
        self.first = self.run("ray.scripts.scripts", "start", *head, *node)
        wait_for(lambda: self._nodes() == 1, self.first)
        self.second = self.run("ray.scripts.scripts", "start", f"--address={ADDRESS}", *node)
        wait_for(lambda: self._nodes() == 2, self.second)

    def run(self, module: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._inside, sys.executable, "-m", module, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
        )

    def _nodes(self) -> int:
        code = f"import ray; ray.init('{ADDRESS}'); print(len(ray.nodes()))"
        found = subprocess.run(
            [*self._inside, sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=self._environment,
            check=False,
        )
        return int(found.stdout or 0)

    def end(self) -> None:
        self._outer.kill()
        self._outer.wait()


def test_a_killed_node_loses_no_line_and_repeats_none(
    run: Path, shards: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    folder = Path(mkdtemp(prefix="ray-"))  # in a longer path, Ray's sockets have no room
    machines = Machines(folder)
    try:
        process = machines.run("regard.cli", *command(run, shards, output, f"--ray={ADDRESS}"))
        wait_for(lambda: done(output), process)
        lost = wait_for(lambda: workers(machines.second.pid), process)
        for each in descendants(machines.second.pid):
            os.kill(each, signal.SIGKILL)
        said = process.communicate(timeout=900)[1]
    finally:
        machines.end()
        rmtree(folder, ignore_errors=True)
    assert process.returncode == 0, said
    assert lost
    assert f"Translating {SHARDS} shards with 2 workers." in said
    assert "Traceback" not in said
    check(run, shards, output)


def test_a_killed_worker_loses_no_line_and_repeats_none(
    run: Path, shards: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    with started(command(run, shards, output, "--ray=local", "--workers=2")) as process:
        wait_for(lambda: done(output), process)
        both = wait_for(lambda: len(found := workers(process.pid)) == 2 and found, process)
        os.kill(both[0], signal.SIGKILL)
        said = process.communicate(timeout=900)[1]
    assert process.returncode == 0, said
    assert f"Translating {SHARDS} shards with 2 workers." in said
    assert f"has the translations of {SHARDS * LINES:,} lines." in said
    assert "Traceback" not in said
    check(run, shards, output)


def test_a_command_that_was_stopped_is_resumed(run: Path, shards: Path, tmp_path: Path) -> None:
    """No process and no temporary file is left behind, and what was done is not done again."""
    output = tmp_path / "out"
    again = command(run, shards, output, "--ray=local", "--workers=2")
    with started(again) as process:
        wait_for(lambda: done(output), process)
        own = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        assert process.returncode == 130
    ends = time.monotonic() + 60
    while (alive := [each for each in own if runs(each)]) and time.monotonic() < ends:
        time.sleep(0.1)
    assert not alive
    before = done(output)
    assert 0 < before < SHARDS
    assert not list(output.glob(".*"))
    finished = {each: each.stat().st_mtime_ns for each in output.glob("*.en")}
    with started(again) as process:
        said = process.communicate(timeout=900)[1]
    assert process.returncode == 0, said
    assert f"{before} of {SHARDS} shards are done already." in said
    kept = [path for path, when in finished.items() if path.stat().st_mtime_ns == when]
    assert len(kept) >= before
    check(run, shards, output)


def runs(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
