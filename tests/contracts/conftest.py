"""The architectures that the contract tests run, with a model and a batch of each.

The architectures come from the union; a new family is tested as soon as it is a member. Beside
their miniatures, every position of a Transformer is tested with every mixer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError

from regard.data.batch import UNKNOWN, Batch
from regard.models import Architecture
from regard.models.base import EncoderDecoder, Family, Model
from regard.models.example import EXAMPLE_SIZES
from regard.models.transformer import TransformerConfig
from regard.nn.mixers import Looking, MixerSizes
from regard.nn.position import PositionKind


def combinations() -> Iterator[Any]:
    """One layer for each pair of position and mixer that the config does not refuse."""
    sizes = MixerSizes(neighbourhood=3, block=2, random_blocks=1, projected=3)
    small = {"layers": 1, "width": 16, "inner": 24, "dropout": 0.0, "mixing": sizes}
    for position, mixer in product(get_args(PositionKind), get_args(Looking)):
        causal = "full" if mixer == "linformer" else mixer
        mixers = {"mixers": (mixer,), "decoder_mixers": (causal,)}
        try:
            config = TransformerConfig(**small, **mixers, position=position)
        except ValidationError:
            continue
        yield pytest.param(config, id=f"{position}-{mixer}")


MINIATURES = [
    pytest.param(config, id=f"{config.kind}-{number}")
    for member in get_args(get_args(Architecture)[0])
    for number, config in enumerate(member.miniatures())
]
COMBINATIONS = list(combinations())
# two mixers compare no positions, and trees need full attention
assert len(COMBINATIONS) == 9 * 5 - 3 * 2 - 4

ALL = [*MINIATURES, *COMBINATIONS]
AUTOREGRESSIVE = [
    parameter
    for parameter in ALL
    if isinstance(parameter.values[0].build(*EXAMPLE_SIZES), EncoderDecoder)
]


@pytest.fixture(params=ALL)
def config(request: pytest.FixtureRequest) -> Family:
    """Any architecture."""
    return request.param


@pytest.fixture(params=AUTOREGRESSIVE)
def autoregressive(request: pytest.FixtureRequest) -> Family:
    """One whose model is an EncoderDecoder."""
    return request.param


@pytest.fixture
def model(config: Family) -> Model:
    torch.manual_seed(0)
    return config.build(*EXAMPLE_SIZES).eval()


@pytest.fixture
def choices(config: Family, batch: Batch) -> int:
    """How many target ids there are: where they are indices, as many as the source needs."""
    if config.writes != "indices":
        return EXAMPLE_SIZES[1]
    return UNKNOWN + batch.source.values.shape[1]  # its words, without EOS


@pytest.fixture
def batch(config: Family) -> Batch:
    return config.example(rows=3, seed=1)
