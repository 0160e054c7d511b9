"""Whether search in bfloat16 pays on this CPU: seconds of beam search, in turns.

python -m benchmarks.search_precision [--rounds N] [RECIPE ...]

An untrained model of each recipe translates random sentences with a beam of five to a fixed length:
as regard does it (float32, prepared for search), without preparation, and without preparation under
torch's autocast to bfloat16. Prints the times relative to the first, and the share of equal tokens.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch

from regard.data.batch import Padded
from regard.models.base import Model
from regard.nn.fast.prepare import prepare_for_search
from regard.processes.cores import cores
from regard.recipes import find_recipe
from regard.search.base import Hypothesis
from regard.search.beam import Beam

ROWS, SOURCE, TARGET = 40, 20, 20

Search = Callable[[], list[list[Hypothesis]]]


def searches(recipe: str) -> dict[str, Search]:
    config = find_recipe(recipe)
    torch.manual_seed(1)
    size = config.tokenizer.vocabulary
    model: Model = config.model.build(size, size).eval()
    ids = torch.randint(4, size, (ROWS, SOURCE)).tolist()
    source, limits = Padded.of(ids), torch.full((ROWS,), TARGET)
    prepared, beam = prepare_for_search(model), Beam(beam=5)

    def rounded() -> list[list[Hypothesis]]:
        with torch.autocast("cpu", torch.bfloat16):
            return model.generate(source, beam, limits=limits)

    return {
        "float32, prepared": lambda: prepared.generate(source, beam, limits=limits),
        "float32": lambda: model.generate(source, beam, limits=limits),
        "bfloat16": rounded,
    }


def measure(recipe: str, rounds: int) -> None:
    ways = searches(recipe)
    times: dict[str, list[float]] = {name: [] for name in ways}
    tokens = {}
    for number in range(rounds + 1):
        for name, search in ways.items():
            began = time.perf_counter()
            found = search()
            if number:  # the first round warms up
                times[name].append(time.perf_counter() - began)
            tokens[name] = [token for best in found for token in best[0].tokens]
    first = "float32, prepared"
    for name, seconds in times.items():
        ratio = median(a / b for a, b in zip(seconds, times[first], strict=True))
        pairs = list(zip(tokens[name], tokens[first], strict=False))
        same = sum(a == b for a, b in pairs) / max(1, len(pairs))
        print(f"{recipe:8} {name:18} {median(seconds):7.2f} s {ratio:5.2f} x, {same:.0%} equal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recipes", nargs="*", default=("tiny", "base"))
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(cores())
    for recipe in asked.recipes:
        measure(recipe, asked.rounds)


if __name__ == "__main__":
    main()
