"""Train and use small models of one family on a pretended device, and compare with the CPU.

python tests/device/check.py KIND
"""

from __future__ import annotations

import sys
from copy import deepcopy
from itertools import product
from typing import Any, get_args

import pretend  # before regard: it replaces torch.inference_mode
import torch
from torch import Tensor

from regard.data.annotations import ROOT, whole
from regard.data.batch import Batch, Padded, Row
from regard.models import Architecture
from regard.models.base import EncoderDecoder
from regard.nn.fast.prepare import prepare_for_search
from regard.nn.probe import capture
from regard.nn.recurrent import Cell, CellState, GRUCell, LSTMCell, TanhCell
from regard.search.beam import Beam
from regard.search.sample import Sample

SIZE = 40
ALL_BELOW = 4  # families with fewer miniatures are checked with all of them, others with a third
ROWS = ([5, 6, 7, 8, 9, 10, 11], [12, 13], [14])
TREES = ([ROOT, 0, 0, 2, 2, 4, 1], [1, ROOT], [ROOT])
SEARCHES = [
    Beam(beam=3, best=2, max_length_extra=4),
    Beam(beam=1, max_length_extra=4),
    Sample(best=2, max_length_extra=4),
]


def step_by_step(cell: Cell, x: Tensor, state: CellState) -> tuple[Tensor, CellState]:
    """What the fused kernels of recurrent cells do; they cannot run on a device made in Python."""
    written = []
    for entered in cell.enter(x).unbind(dim=1):
        state = cell.step(entered, state)
        written.append(state[0])
    return torch.stack(written, dim=1), state


def some_batch(config: Any) -> Batch:
    if config.writes != "text" or any(kind.name != "tree" for kind in config.annotations):
        return config.example(rows=3, seed=1)
    trees = [{"tree": whole(tree)} for tree in TREES] if config.annotations else [{}, {}, {}]
    source = [Row(ids, tree) for ids, tree in zip(ROWS, trees, strict=True)]
    target = [Row(ids) for ids in ([15, 16, 17], [18, 19, 20, 21, 22], [23])]
    return Batch(Padded.of_rows(source), Padded.of_rows(target))


def everything(model: Any, batch: Batch, prefix: Padded) -> tuple[list[Tensor], list[Any]]:
    """Numbers that should be close on all devices, and choices that should be the same."""
    # a large eps, or gradients that are zero but for rounding become steps of either sign
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=0.1, foreach=False)
    numbers = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = model.train()(batch)
        loss.total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        optimizer.step()
        numbers += [loss.total, loss.nll]
    numbers += list(model.parameters())
    model.eval()
    with capture(model) as weights:
        numbers.append(model.log_probabilities(batch))
    numbers += [each for passes in weights.values() for each in passes]
    one_pass = not isinstance(model, EncoderDecoder)  # such a model takes no prefix
    searches = SEARCHES[:2] if one_pass else SEARCHES
    searched = product((model, prepare_for_search(model)), searches)
    found = [  # every search with and without a prefix, by one of the two
        each.generate(batch.source, search, prefix if number % 2 and not one_pass else None)
        for number, (each, search) in enumerate(searched)
    ]
    choices = [[[each.tokens for each in best] for best in sentences] for sentences in found]
    return [number.detach().cpu() for number in numbers], choices


def check(config: Any) -> None:
    torch.manual_seed(3)
    model = config.build(SIZE, SIZE)
    other = deepcopy(model)
    batch, prefix = some_batch(config), Padded.of([[30, 31], [32], []])
    expected_numbers, expected_choices = everything(model, batch, prefix)
    kernels = {kind: kind.run for kind in (TanhCell, GRUCell, LSTMCell)}
    for kind in kernels:
        kind.run = step_by_step
    try:
        with pretend.Pretending():
            other = other.to(pretend.DEVICE)
            moved = batch.to(pretend.DEVICE), prefix.to(pretend.DEVICE)
            numbers, choices = everything(other, *moved)
    finally:
        for kind, kernel in kernels.items():
            kind.run = kernel
    for found, expected in zip(numbers, expected_numbers, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert choices == expected_choices


def main() -> None:
    families = {
        family.model_fields["kind"].default: family
        for family in get_args(get_args(Architecture)[0])
    }
    configs = families[sys.argv[1]].miniatures()
    for config in configs if len(configs) < ALL_BELOW else configs[::3]:
        print(config, flush=True)
        check(config)


if __name__ == "__main__":
    main()
