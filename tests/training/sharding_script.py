"""Run in each of two processes: a model of every family, whole and sharded, must learn the same and
write the same; what is wrong is printed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import torch
from torch.distributed.tensor import DTensor

from regard.data.store import Offset, Share
from regard.models import Architecture
from regard.models.base import Family, Model
from regard.models.example import EXAMPLE_SIZES
from regard.models.weights import collect
from regard.processes.ranks import RENDEZVOUS_FILE, Ranks
from regard.search.beam import Beam
from regard.training.build import build_gradients
from regard.training.settings import TrainingSettings
from regard.training.sharding import shard
from regard.training.shards import Part

ROWS = 5


def check(config: Family, ranks: Ranks) -> None:
    batch = config.example(ROWS, 1)
    own = batch.rows(ranks.rank, None, ranks.size)
    share = Share(own, batch.tokens, False, Offset())
    models, steps = [], []
    for sharded in (False, True):
        torch.manual_seed(1)
        model: Model = config.build(*EXAMPLE_SIZES)
        if sharded:
            shard(model, ranks, model.device)
            assert all(isinstance(each, DTensor) for each in model.parameters())
        gradients = build_gradients(model, TrainingSettings(shard=sharded), ranks, print)
        torch.manual_seed(2)
        steps.append(gradients.compute([share], False, ranks.rank == 1))
        models.append((model, gradients.parameters()))
    (whole, parameters), (divided, parts) = models
    torch.testing.assert_close(steps[0], steps[1])
    assert steps[0].norm > 1e-3
    names = [name for name, _ in whole.named_parameters()]
    compared = 0
    for name, parameter, part in zip(names, parameters, parts, strict=True):
        start, stop = Part(ranks.rank, ranks.size).rows(len(parameter))
        assert torch.equal(collect(divided)[name], parameter[start:stop]), name
        expected = torch.zeros_like(part) if parameter.grad is None else parameter.grad[start:stop]
        found = torch.zeros_like(part) if part.grad is None else part.grad
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6, msg=name)
        compared += int(found.count_nonzero())
    assert compared > 0
    written = [
        model.eval().generate(batch.source, Beam(beam=1, max_length_extra=4))
        if config.reads_source
        else []
        for model, _ in models
    ]
    assert [[h.tokens for h in row] for row in written[0]] == [
        [h.tokens for h in row] for row in written[1]
    ]


def main() -> None:
    rank, file = int(sys.argv[1]), Path(sys.argv[2])
    environment = {"RANK": str(rank), "WORLD_SIZE": "2", RENDEZVOUS_FILE: str(file)}
    torch.set_num_threads(1)
    with Ranks.join(environment) as ranks:
        for member in get_args(get_args(Architecture)[0]):
            config = member.miniatures()[0]
            check(config, ranks)
            print(config.kind, flush=True)


main()
