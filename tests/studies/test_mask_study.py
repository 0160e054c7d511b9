"""The leak test finds a decoder without a mask, and only that."""

from __future__ import annotations

import pytest
import torch

from regard.data.batch import Padded
from regard.models.convolutional import ConvolutionalConfig
from regard.models.recurrent import RecurrentConfig
from regard.search.beam import Beam
from regard.studies import mask


def test_with_the_mask_removed_the_leak_test_fails() -> None:
    masked, free = (mask.leak(mask.build((30, 30), 1, each), 30, 1) for each in (True, False))
    assert masked < 1e-4
    assert free > 1e-2


@pytest.mark.parametrize("config", [RecurrentConfig.miniatures()[0], ConvolutionalConfig()])
def test_other_families_do_not_leak(config: RecurrentConfig | ConvolutionalConfig) -> None:
    torch.manual_seed(1)
    assert mask.leak(config.build(30, 30), 30, 1) < 1e-4


def test_step_by_step_there_is_nothing_to_leak() -> None:
    source = Padded.of([[5, 6, 7, 2]])
    outputs = [
        mask.build((30, 30), 1, each).eval().generate(source, Beam(beam=1))[0][0].tokens
        for each in (True, False)
    ]
    assert outputs[0] == outputs[1]


def test_the_printed_mask_leaves_the_first_position_nothing() -> None:
    assert mask.printed_mask(4) == pytest.approx(0.25)
