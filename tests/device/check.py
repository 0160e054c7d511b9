"""Train and use small models of some families on a pretended device, and compare with the CPU.

python tests/device/check.py KIND ...
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pretend  # before regard: it replaces torch.inference_mode
import torch
from bounds import WAITS
from torch import Tensor

from regard.data.annotation import whole
from regard.data.annotations import ROOT
from regard.data.batch import Batch, Padded, Row
from regard.data.store import Offset, Share
from regard.models import Architecture
from regard.models.base import EncoderDecoder, Model
from regard.models.weights import all_finite, collect, install
from regard.nn.fast.prepare import prepare_for_search
from regard.nn.probe import capture
from regard.nn.recurrent import Cell, CellState, GRUCell, LSTMCell, TanhCell
from regard.processes.ranks import Ranks
from regard.search.beam import Beam
from regard.search.sample import Sample
from regard.training.average import AverageSettings
from regard.training.checkpoint import Checkpoints
from regard.training.gradients import SummedGradients
from regard.training.optimizers import OptimizerSettings, optimizer_tensors, restore_optimizer
from regard.training.settings import TrainingSettings

SIZE = 40
ALL_BELOW, EACH = 4, 4  # families with fewer miniatures are checked with all of them
ROWS = ([5, 6, 7, 8, 9, 10, 11], [12, 13], [14])
TREES = ([ROOT, 0, 0, 2, 2, 4, 1], [1, ROOT], [ROOT])
SEARCHES = [
    Beam(beam=3, best=2, max_length_extra=4),
    Beam(beam=1, max_length_extra=4),
    Sample(best=2, max_length_extra=4),
]
TOLERANCE = {"rtol": 2e-6, "atol": 1e-6}

# a large epsilon, or gradients that are zero but for rounding become steps of either sign
WAYS = (
    (OptimizerSettings(kind="adamw", epsilon=0.1, clip=0.01), AverageSettings(kind="ema")),
    (OptimizerSettings(kind="adam", epsilon=0.1), AverageSettings(kind="last", count=2, every=1)),
    (OptimizerSettings(kind="muon", epsilon=0.1, rate=1e-4), AverageSettings(kind="none")),
)
"""Every optimiser and every average; all families train in the first way, and the first miniature
of each in all."""


class Training:
    """What the trainer does with a model, an optimiser and an average."""

    def __init__(self, model: Model, optimizer: OptimizerSettings, average: AverageSettings):
        settings = TrainingSettings(optimizer=optimizer, average=average)
        self.model = model
        self.gradients = SummedGradients(model, settings, Ranks(), print)
        self.optimizer = optimizer.build(model, self.gradients.parameters(), Ranks())
        self.average = average.build(model)

    def step(self, number: int, batch: Batch) -> Tensor:
        self.model.train()
        share = Share(batch, batch.tokens, False, Offset())  # on the CPU, as it was read
        found = self.gradients.compute([share], stop=False, news=False)
        self.optimizer.step()
        self.average.update(number)
        self.optimizer.zero_grad(set_to_none=True)
        return torch.tensor([found.loss, found.norm])

    def saved(self, folder: Path) -> None:
        """Save, forget and load again."""
        groups = {
            "weights": collect(self.model),
            "optimizer": optimizer_tensors(self.optimizer),
            "average": self.average.tensors,
        }
        assert all(all_finite(group) for group in groups.values())
        checkpoints = Checkpoints(folder)
        checkpoints.prepare()
        checkpoints.save(1, groups, {}, {}, 0)
        found = checkpoints.latest()
        assert found is not None
        with torch.no_grad():
            for each in self.model.parameters():
                each.zero_()
        install(self.model, found.tensors("weights"))
        restore_optimizer(self.optimizer, found.tensors("optimizer"))
        self.average.restore(found.tensors("average"))

    def results(self) -> list[Tensor]:
        found = (collect(self.model), self.average.weights())
        return [tensors[name] for tensors in found for name in sorted(tensors)]


def train(model: Model, batch: Batch, ways: Any, resumed: bool) -> Iterator[Tensor]:
    """Two steps in each way from the same weights; if `resumed`, saved and loaded in between."""
    for optimizer, average in ways:
        training = Training(deepcopy(model), optimizer, average)
        yield training.step(1, batch)
        if resumed:
            with TemporaryDirectory() as folder:
                training.saved(Path(folder))
        pretend.waits.clear()
        yield training.step(2, batch)
        check_waits(pretend.waits.total(), WAITS[current].training, "a training step")
        yield from training.results()


def use(model: Model, batch: Batch, prefix: Padded, chosen: Any) -> tuple[list[Tensor], list[Any]]:
    """Scores and attention, which should be close on all devices, and what the chosen among the
    searches find."""
    model.eval()
    with capture(model) as weights:
        numbers = [model.log_probabilities(batch)]
    numbers += [each for passes in weights.values() for each in passes]
    one_pass = not isinstance(model, EncoderDecoder)  # such a model takes no prefix
    searches = SEARCHES[:2] if one_pass else SEARCHES
    searched = list(product((model, prepare_for_search(model)), searches))
    choices = []
    for number, (each, search) in enumerate(searched):
        if number not in chosen:
            continue
        begun = prefix if number % 2 and not one_pass else None  # every search, by one of the two
        pretend.waits.clear()
        with counted_steps() as steps:
            found = each.generate(batch.source, search, begun)
        waits = pretend.waits.total() / max(1, len(steps))
        check_waits(waits, WAITS[current].search, "a step of search")
        choices.append([[each.tokens for each in best] for best in found])
    return numbers, choices


@contextmanager
def counted_steps() -> Iterator[list[None]]:
    """One entry per step of the searches in this block."""
    steps: list[None] = []
    finds = {kind: kind.find for kind in (Beam, Sample)}

    def counting(find: Any) -> Any:
        def counted(search: Any, step: Any, state: Any, limits: Any, prefix: Any = None) -> Any:
            def counted_step(tokens: Tensor, state: Any) -> Any:
                steps.append(None)
                return step(tokens, state)

            return find(search, counted_step, state, limits, prefix)

        return counted

    for kind, find in finds.items():
        kind.find = counting(find)
    try:
        yield steps
    finally:
        for kind, find in finds.items():
            kind.find = find


def check_waits(found: float, most: float, what: str) -> None:
    places = ", ".join(f"{count} x {place}" for place, count in pretend.waits.most_common())
    assert found <= most, f"{what} waits {found:.1f} times: {places}"


current = ""
"""The kind of family that is checked now."""


def step_by_step(cell: Cell, x: Tensor, state: CellState) -> tuple[Tensor, CellState]:
    """What the fused kernels of recurrent cells do; they cannot run on a device made in Python."""
    written = []
    for entered in cell.enter(x).unbind(dim=1):
        state = cell.step(entered, state)
        written.append(state[0])
    return torch.stack(written, dim=1), state


@contextmanager
def plain_cells() -> Iterator[None]:
    kernels = {kind: kind.run for kind in (TanhCell, GRUCell, LSTMCell)}
    for kind in kernels:
        kind.run = step_by_step
    try:
        yield
    finally:
        for kind, kernel in kernels.items():
            kind.run = kernel


def some_batch(config: Any) -> Batch:
    if config.writes != "text" or any(kind.name != "tree" for kind in config.annotations):
        return config.example(rows=3, seed=1)
    trees = [{"tree": whole(tree)} for tree in TREES] if config.annotations else [{}, {}, {}]
    source = [Row(ids, tree) for ids, tree in zip(ROWS, trees, strict=True)]
    target = [Row(ids) for ids in ([15, 16, 17], [18, 19, 20, 21, 22], [23])]
    return Batch(Padded.of_rows(source), Padded.of_rows(target))


def check(config: Any, ways: Any, chosen: Any) -> None:
    torch.manual_seed(3)
    model = config.build(SIZE, SIZE)
    batch = some_batch(config)
    begun = [[4, 4], [4], []] if config.writes == "indices" else [[30, 31], [32], []]
    prefix = Padded.of(begun)
    expected = [each.clone() for each in train(model, batch, ways, resumed=False)]
    numbers, expected_choices = use(model, batch, prefix, chosen)
    with plain_cells(), pretend.Pretending():
        model = model.to(pretend.DEVICE)
        found = [each.detach().cpu() for each in train(model, batch, ways, resumed=True)]
        moved = batch.to(pretend.DEVICE), prefix.to(pretend.DEVICE)
        other_numbers, choices = use(model, *moved, chosen)
        found += [each.detach().cpu() for each in other_numbers]
    for one, other in zip(found, [*expected, *numbers], strict=True):
        torch.testing.assert_close(one, other.detach(), **TOLERANCE)
    assert choices == expected_choices


def main() -> None:
    global current
    families = {
        family.model_fields["kind"].default: family
        for family in get_args(get_args(Architecture)[0])
    }
    for current in sys.argv[1:]:
        configs = families[current].miniatures()
        some = configs if len(configs) < ALL_BELOW else configs[::EACH]
        for number, config in enumerate(some):
            print(config, flush=True)
            first = number == 0
            chosen = range(2 * len(SEARCHES)) if first else (number % 3, 3 + (number + 1) % 3)
            check(config, WAYS if first else WAYS[:1], chosen)


if __name__ == "__main__":
    main()
