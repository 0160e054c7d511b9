"""Eight-bit products: close to the exact ones, wherever there is a linear map."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.data.batch import Padded
from regard.models.base import Family
from regard.models.convolutional import ByteNetConfig, ConvolutionalConfig
from regard.models.transformer import TransformerConfig
from regard.nn.fast.int8 import Int8Linear
from regard.nn.fast.prepare import quantize
from regard.search.beam import Beam


@torch.no_grad()
def test_a_product_is_right_to_a_few_percent() -> None:
    torch.manual_seed(0)
    exact = nn.Linear(128, 384)
    exact.weight.data[5] *= 100  # a row of another size has steps of its own
    x = torch.randn(3, 7, 128)
    rough = Int8Linear(exact.weight, exact.bias)(x)
    error = (rough - exact(x)).norm(dim=(0, 1)) / exact(x).norm(dim=(0, 1))
    assert rough.shape == (3, 7, 384)
    assert float(error.max()) < 0.04
    assert float(error.max()) > 0  # it is not the exact product after all


def test_rows_of_zeros_stay_zeros() -> None:
    product = Int8Linear(torch.zeros(4, 8), torch.arange(4.0))
    assert torch.equal(product(torch.randn(2, 8)), torch.arange(4.0).expand(2, 4))


def test_no_exact_map_is_left_in_a_model_and_it_still_translates() -> None:
    torch.manual_seed(0)
    model = TransformerConfig(layers=2, width=32, inner=48, heads=2).build(50, 50).eval()
    source = Padded.of([[7, 8, 9, 2], [4, 2]])
    before = model.generate(source, Beam(beam=2))
    quantized = quantize(model)
    assert not any(isinstance(part, nn.Linear) for part in quantized.modules())
    assert any(isinstance(part, Int8Linear) for part in quantized.output.modules())
    after = quantized.generate(source, Beam(beam=2))
    for exact, rough in zip(before, after, strict=True):
        assert abs(exact[0].score - rough[0].score) < 0.05


@pytest.mark.parametrize(
    "config", [ConvolutionalConfig.miniatures()[0], ByteNetConfig.miniatures()[0]]
)
def test_convolutional_models_translate_with_eight_bits_too(config: Family) -> None:
    torch.manual_seed(0)
    model = quantize(config.build(23, 19).eval())
    found = model.generate(config.example(3, seed=1).source, Beam(beam=2))
    assert all(len(hypotheses) == 1 for hypotheses in found)
