"""How well `regard plan` foretells memory and speed on this machine, for five recipes.

python -m benchmarks.plan [--seconds N] [--rounds N] [RECIPE ...]

Each recipe is planned and then trained on the built-in grammar corpus, by one process with one
thread. Seconds are those of its processor time, which stands still while another program has the
core. Other programs also fill the caches, so training is paused every few seconds to measure what
the core can do at that time, and the plan is scaled to it. Memory is the peak resident size of the
process during training, without the validation at its end.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

from regard.config import override
from regard.corpora.registry import write_corpus
from regard.data.parallel import Parallel
from regard.data.store import Batches, Offset
from regard.planning.accelerators import Reference
from regard.recipes import find_recipe
from regard.runs.folder import TRAIN, Run
from regard.runs.prepare import prepare, read_data
from regard.training.display import Display

RECIPES = ("tiny", "multi30k", "lstm_attention", "conv", "language")
PAIRS = 20_000
SLICE_SECONDS = 3.0
POLL_SECONDS = 0.05
MIN_STEPS, MAX_STEPS = 8, 200
"""Steps to be measured, however slow or fast they are; the first ones are slower and left out."""

SETTINGS = (
    "training.processes=1",
    "training.log_every=1",
    "training.validate_every=1000000",
    "training.save_every=1000000",
    "budget.epochs=null",
    "budget.minutes=null",
    "budget.steps=1000000",
)


def sample(recipe: str, corpus: Path) -> Parallel:
    target = corpus / "train.de"
    reads_source = find_recipe(recipe).reads_source
    return Parallel(corpus / "train.en", target) if reads_source else Parallel(target=target)


def planned(recipe: str, corpus: Path) -> dict[str, Any]:
    """What `regard plan --json` prints."""
    data = sample(recipe, corpus)
    files = [] if data.source is None else ["--source", str(data.source)]
    command = [sys.executable, "-m", "regard", "plan", recipe, *files, "--target"]
    done = subprocess.run(
        [*command, str(data.target), "--device", "cpu", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def prepared(recipe: str, corpus: Path, folder: Path) -> Run:
    config = override(find_recipe(recipe), SETTINGS)
    run, display = Run.create(folder, config), Display(quiet=True)
    prepare(run, read_data(config, sample(recipe, corpus), None, display), None, None, display)
    return run


def trained(run: Run, seconds: float) -> tuple[float, float, float]:
    """Tokens per second, bytes at the peak, and what the core could do meanwhile in FLOP/s."""
    reference, peaks = Reference(torch.device("cpu"), short=False), list[float]()
    tokens, seen, before = step_tokens(run), [(0, 0.0)], 0.0  # steps, and seconds at their end
    command = [sys.executable, "-m", "regard", "train", "--run", str(run.path), "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    paused = time.monotonic()
    while not peaks or not measured_enough(seen, seconds):
        time.sleep(POLL_SECONDS)
        steps = sum(each["event"] == "train" for each in run.journal)
        now = processor_seconds(process.pid)
        if steps > seen[-1][0]:
            seen.append((steps, (before + now) / 2))
        before = now
        if steps and time.monotonic() - paused > SLICE_SECONDS:
            process.send_signal(signal.SIGSTOP)
            peaks.append(reference.flops_per_second())
            process.send_signal(signal.SIGCONT)
            paused = time.monotonic()
    status = Path(f"/proc/{process.pid}/status").read_text()
    size = 1024 * int(status.split("VmHWM:")[1].split()[0])
    process.kill()
    process.wait()
    (first, began), (last, ended) = seen[max(1, len(seen) // 4)], seen[-1]
    return sum(tokens[first:last]) / (ended - began), float(size), median(peaks)


def measured_enough(seen: list[tuple[int, float]], seconds: float) -> bool:
    steps, now = seen[-1]
    long = len(seen) > 2 and steps >= MIN_STEPS and now - seen[1][1] >= seconds
    return long or steps >= MAX_STEPS


def step_tokens(run: Run) -> list[int]:
    """Of each step that may be measured, in the order of training."""
    config = run.config
    seed, sampling = config.training.seed, config.tokenizer.sampling
    kinds, count = config.annotations, config.training.accumulate
    batches = Batches(run.store(TRAIN), config.batch, run.tokenizers(), seed, sampling, kinds)
    found = [share.tokens for share in islice(batches.shares(Offset()), 2 * MAX_STEPS * count)]
    return [sum(found[start : start + count]) for start in range(0, len(found), count)]


def processor_seconds(process: int) -> float:
    """That a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compare(recipe: str, corpus: Path, folder: Path, seconds: float, rounds: int) -> str:
    """A row of the table: planned, measured and their ratio, of memory and of speed."""
    bytes_planned, bytes_measured, rates, ratios, modelled = [], [], [], [], []
    for number in range(rounds):
        plan = planned(recipe, corpus)
        rate, size, peak = trained(prepared(recipe, corpus, folder / str(number)), seconds)
        speed = plan["speed"]
        expected = speed["tokens"] / (speed["flops"] / (speed["share"] * peak))
        bytes_planned.append(plan["needed"])
        bytes_measured.append(size)
        rates.append(rate)
        ratios.append(expected / rate)
        modelled.append(expected * speed["modelled"] / speed["share"] / rate)
    memory = median(bytes_planned) / median(bytes_measured)
    cells = [
        f"`{recipe}`",
        f"{median(bytes_planned) / 1e6:,.0f} MB",
        f"{median(bytes_measured) / 1e6:,.0f} MB",
        f"{memory:.2f}",
        f"{median(rates) * median(ratios):,.0f}",
        f"{median(rates):,.0f}",
        f"{median(ratios):.2f}",
        f"{median(modelled):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--seconds", type=float, default=15.0, help="of training per round")
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    print(
        "| recipe | memory: planned | measured | ratio "
        "| tokens/s: planned | measured | ratio | ratio by operations alone |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        write_corpus("grammar", corpus, PAIRS, 1, None)
        for recipe in asked.recipes:
            place = Path(folder) / recipe
            print(compare(recipe, corpus, place, asked.seconds, asked.rounds), flush=True)


if __name__ == "__main__":
    main()
