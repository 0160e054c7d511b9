"""A toy language and small runs in it, which many tests train: the words of a line turned round."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

import regard
from regard.data.annotations import INSIDE_WORD
from regard.data.parallel import Parallel
from regard.runs.folder import Run

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]

SMALL = (
    "tokenizer.kind=word",
    "batch.tokens=64",
    "model.layers=1",
    "model.width=16",
    "model.inner=16",
    "model.heads=2",
    "model.dropout=0.2",
    "training.optimizer.rate=0.003",
    "training.optimizer.warmup=5",
    "training.log_every=1",
    "training.validate_every=1000",
    "training.validation_lines=5",
)
"""A Transformer that takes a step in a few milliseconds; dropout is on."""

ABLE = (
    "tokenizer.kind=word",
    "batch.tokens=512",
    "model.width=32",
    "model.dropout=0",
    "training.optimizer.rate=0.02",
    "training.optimizer.warmup=20",
    "training.validate_every=60",
    "training.metric=exact",
)
"""With the recipe lstm_attention: learns the language in seconds."""


def turned(line: str) -> str:
    """The right translation."""
    return " ".join(word.upper() for word in reversed(line.split()))


def some_lines(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 5))) for _ in range(count)]


def write_corpus(folder: Path, pairs: int = 120, seed: int = 1) -> dict[str, Path]:
    """train, valid and test files; `regard.train(**parallel(corpus))` trains on them."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count, offset in (("train", pairs, 0), ("valid", 20, 1), ("test", 30, 2)):
        lines = some_lines(count, 10 * seed + offset)
        write_lines(folder / f"{part}.source", lines)
        write_lines(folder / f"{part}.target", map(turned, lines))
    return {
        "source": folder / "train.source",
        "target": folder / "train.target",
        "valid_source": folder / "valid.source",
        "valid_target": folder / "valid.target",
    }


def parallel(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in which files by the names of their options are made data, valid and test."""
    found = dict(given)
    for prefix, part in (("", "data"), ("valid_", "valid"), ("test_", "test")):
        kinds = ("source", "target", "pairs", "trees", "alignments")
        files = {kind: found.pop(f"{prefix}{kind}", None) for kind in kinds}
        if any(files.values()):
            found[part] = Parallel(**files)
    return found


def write_lines(path: Path, lines: Any) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def train_small(
    run: Path, corpus: dict[str, Path], *settings: str, steps: Optional[int] = 8, **more: Any
) -> Run:
    """Train in this process; the same call again resumes."""
    own = [f"training.{n}={more.pop(n)}" for n in ("save_every", "seed") if n in more]
    chosen = [*own, *SMALL, *settings]
    files = parallel(corpus)
    return regard.train("tiny", run=run, steps=steps, settings=chosen, quiet=True, **files, **more)


def small_command(
    run: Path, corpus: dict[str, Path], *more: str, settings: tuple[str, ...] = SMALL
) -> list[str]:
    """What `train_small` does, as arguments of the command line."""
    files = [f"--{name.replace('_', '-')}={path}" for name, path in corpus.items()]
    chosen = [part for setting in settings for part in ("--set", setting)]
    return ["train", "tiny", "--run", str(run), *files, *chosen, *more]


def start(arguments: list[str], **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "regard.cli", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, preexec_fn=_hear_hangups, **{**pipes, **options})


def _hear_hangups() -> None:
    """Even if the tests were started by nohup, whose wish to ignore SIGHUP would be inherited."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def wait_for_step(process: subprocess.Popen[str], run: Path, step: int) -> None:
    """Until the journal has come so far; it may be a little farther by then."""
    path = run / "journal.jsonl"
    deadline = time.monotonic() + 120
    while process.poll() is None:
        if path.exists() and f'"step": {step},' in path.read_text():
            return
        if time.monotonic() > deadline:
            kill(process)
        time.sleep(0.005)
    raise AssertionError(f"ended before step {step}: {process.communicate()}")


def output(process: subprocess.Popen[str]) -> str:
    """What a process says until its end, which must come."""
    try:
        return process.communicate(timeout=120)[0]
    except subprocess.TimeoutExpired:
        process.terminate()
        raise


def kill(process: subprocess.Popen[str]) -> None:
    """As the kernel does when memory runs out: no chance to clean up."""
    process.send_signal(signal.SIGKILL)
    process.communicate()


def tensors(run: Path, step: int) -> dict[str, bytes]:
    """The tensors a checkpoint holds, file by file, as bytes."""
    folder = run / "checkpoints" / f"step-{step}"
    found = {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}
    assert sorted(found) == ["average.safetensors", "optimizer.safetensors", "weights.safetensors"]
    return found


def journal(run: Path) -> list[dict[str, Any]]:
    """What happened, without how fast it went."""
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if k not in ("tokens_per_second", "time")} for r in records]


def heads_of_words(pieces: list[int]) -> tuple[int, ...]:
    """The heads of the words again, from those of their pieces."""
    starts = [index for index, head in enumerate(pieces) if head != INSIDE_WORD]
    word_at = {index: word for word, index in enumerate(starts, 1)}
    return tuple(word_at.get(pieces[index], 0) for index in starts)


def strays(run: Path) -> list[str]:
    """Files under names that only live while something is written."""
    endings = (".tmp", ".part", ".old")
    return [os.path.relpath(p, run) for p in run.rglob("*") if p.name.endswith(endings)]


def saved_steps(run: Path) -> list[int]:
    return Run.open(run).checkpoints().steps()


class Crash(Exception):
    """Ends a run between two saves, as a kill does."""


@contextmanager
def at_step(number: int, act: Any) -> Iterator[None]:
    """Do something right after the n-th update from now on."""
    done = 0

    def count(optimizer: torch.optim.Optimizer, arguments: Any, options: Any) -> None:
        nonlocal done
        done += 1
        if done == number:
            act()

    handle = register_optimizer_step_post_hook(count)
    try:
        yield
    finally:
        handle.remove()


def crash() -> None:
    raise Crash


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
